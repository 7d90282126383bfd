package main

import (
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"time"

	"warranty.example/svc/internal/archive"
	"warranty.example/svc/warranty"
)

// backupName returns the name of a backup in a folder.
func backupName(now time.Time) string {
	return "svcd-" + now.UTC().Format("20060102T150405Z") + ".tar"
}

// backupNames matches the names that backupName returns; they sort by time.
var backupNames = regexp.MustCompile(`^svcd-\d{8}T\d{6}Z\.tar$`)

// rotate deletes the oldest backups in the folder of a new one, and leaves keep of them. It touches no
// files with other names, no backups of other databases, and never the new one, even if the clock was
// ahead earlier. It deletes nothing if the new one lacks files: an older one may have them.
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
	others := 0
	for _, e := range entries {
		if !e.Type().IsRegular() || !backupNames.MatchString(e.Name()) || e.Name() == filepath.Base(newest) {
			continue
		}
		path := filepath.Join(folder, e.Name())
		if isBackupOf(path, done.Database) {
			older = append(older, path)
		} else {
			others++
		}
	}
	if others > 0 {
		fmt.Fprintf(w, "svcd: kept %d files named like backups, which are not known to be backups of this database\n", others)
	}
	for ; len(older) >= keep; older = older[1:] {
		if err := os.Remove(older[0]); err != nil {
			return err
		}
		fmt.Fprintf(w, "deleted %s\n", older[0])
	}
	return nil
}

// isBackupOf reports whether a file is a backup of a database.
func isBackupOf(path string, database warranty.ID) bool {
	file, err := os.Open(path)
	if err != nil {
		return false
	}
	defer file.Close()
	h, err := archive.ReadHeader(file)
	return err == nil && h.Database == database && !database.IsZero()
}
