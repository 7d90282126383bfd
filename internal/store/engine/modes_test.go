//go:build unix

package engine

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// childShowsModes opens a database with umask 0 and prints the modes of its files and directory.
func childShowsModes(path string) error {
	syscall.Umask(0)
	db, err := Open(context.Background(), path, config)
	if err != nil {
		return err
	}
	defer db.Close()
	if err := db.Write(background, func(tx Tx) error { return tx.Later(background, `DELETE FROM mails`) }); err != nil {
		return err
	}
	fmt.Println("ready")
	for _, file := range []string{filepath.Dir(path), path, path + "-wal", path + "-shm"} {
		info, err := os.Stat(file)
		if err != nil {
			return err
		}
		fmt.Printf("%s %o\n", filepath.Base(file), info.Mode().Perm())
	}
	return nil
}

func TestOnlyTheOwnerReadsTheFiles(t *testing.T) {
	path := filepath.Join(t.TempDir(), "data", "svc.db")
	for range 2 { // the second time the files exist
		c := startChild(t, "modes", path)
		var got []string
		for c.out.Scan() {
			got = append(got, c.out.Text())
		}
		if err := c.Wait(); err != nil {
			t.Fatalf("%v: %s", err, &c.stderr)
		}
		if want := "data 700, svc.db 600, svc.db-wal 600, svc.db-shm 600"; strings.Join(got, ", ") != want {
			t.Errorf("modes are %s, want %s", strings.Join(got, ", "), want)
		}
	}
}
