package main

import (
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"time"

	"warranty.example/svc/internal/archive"
)

// backupName returns the name of a backup in a folder.
func backupName(now time.Time) string {
	return "svcd-" + now.UTC().Format("20060102T150405Z") + ".tar"
}

// backupNames matches the names that backupName returns; they sort by time.
var backupNames = regexp.MustCompile(`^svcd-\d{8}T\d{6}Z\.tar$`)

// rotate deletes the oldest backups in the folder of a new one, and leaves keep of them. It touches no
// files with other names, and never the new one, even if the clock was ahead earlier. It deletes nothing
// if the new one lacks files: an older one may have them.
func rotate(w io.Writer, newest string, keep int, done archive.Summary) error {
	if len(done.Missing)+len(done.Damaged) > 0 {
		fmt.Fprintln(w, "svcd: kept all older backups, which may have the files that this one lacks")
		return nil
	}
	folder := filepath.Dir(newest)
	entries, err := os.ReadDir(folder) // sorted
	if err != nil {
		return err
	}
	var older []string
	for _, e := range entries {
		if e.Type().IsRegular() && backupNames.MatchString(e.Name()) && e.Name() != filepath.Base(newest) {
			older = append(older, filepath.Join(folder, e.Name()))
		}
	}
	for ; len(older) >= keep; older = older[1:] {
		if err := os.Remove(older[0]); err != nil {
			return err
		}
		fmt.Fprintf(w, "deleted %s\n", older[0])
	}
	return nil
}
