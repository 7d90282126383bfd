package main

import (
	"archive/tar"
	"encoding/json"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"warranty.example/svc/internal/archive"
	"warranty.example/svc/warranty"
)

// TestRotateDeletesOnlyOlderBackups checks which files --keep deletes.
func TestRotateDeletesOnlyOlderBackups(t *testing.T) {
	const newest = "svcd-20261103T030000Z.tar"
	others := []string{"notes.tar", "svcd-20261101T030000Z.tar.gz", "svcd-2026.tar", "svcd-20261101T030000Z.tar.1.partial"}
	older := []string{"svcd-20261030T030000Z.tar", "svcd-20261031T030000Z.tar", "svcd-20261102T030000Z.tar"}
	const ahead = "svcd-20270101T030000Z.tar" // written while the clock was wrong
	mine, foreign := warranty.ID{1}, warranty.ID{2}
	kept := map[string]string{ // named like backups
		"svcd-20261010T030000Z.tar": backupHeader(t, foreign),
		"svcd-20261011T030000Z.tar": backupHeader(t, warranty.ID{}), // of a version that did not write the database
		"svcd-20261012T030000Z.tar": "",
	}
	for _, test := range []struct {
		name    string
		keep    int
		done    archive.Summary
		deleted []string
	}{
		{"some", 3, archive.Summary{}, older[:2]},
		{"all but the new one", 1, archive.Summary{}, append(slices.Clone(older), ahead)},
		{"fewer than kept", 6, archive.Summary{}, nil},
		{"a missing file", 1, archive.Summary{Manifest: archive.Manifest{Missing: []string{"key"}}}, nil},
		{"a damaged file", 1, archive.Summary{Manifest: archive.Manifest{Damaged: map[string]string{"key": "sum"}}}, nil},
	} {
		t.Run(test.name, func(t *testing.T) {
			folder := t.TempDir()
			want := []string{"svcd-20261001T030000Z.tar"} // a folder
			if err := os.Mkdir(filepath.Join(folder, want[0]), 0o700); err != nil {
				t.Fatal(err)
			}
			for _, name := range slices.Concat(others, older, []string{newest, ahead}, slices.Collect(maps.Keys(kept))) {
				content, ok := kept[name]
				if !ok {
					content = backupHeader(t, mine)
				}
				if err := os.WriteFile(filepath.Join(folder, name), []byte(content), 0o600); err != nil {
					t.Fatal(err)
				}
				if !slices.Contains(test.deleted, name) {
					want = append(want, name)
				}
			}
			test.done.Database = mine
			if err := rotate(io.Discard, filepath.Join(folder, newest), test.keep, test.done); err != nil {
				t.Fatal(err)
			}
			var got []string
			entries, err := os.ReadDir(folder)
			if err != nil {
				t.Fatal(err)
			}
			for _, e := range entries {
				got = append(got, e.Name())
			}
			slices.Sort(want)
			if !slices.Equal(got, want) {
				t.Errorf("left %s, want %s", strings.Join(got, " "), strings.Join(want, " "))
			}
		})
	}
}

// backupHeader returns the beginning of a backup of a database.
func backupHeader(t *testing.T, database warranty.ID) string {
	t.Helper()
	text, err := json.Marshal(archive.Header{Format: archive.Format, Database: database})
	if err != nil {
		t.Fatal(err)
	}
	var out strings.Builder
	w := tar.NewWriter(&out)
	if err := w.WriteHeader(&tar.Header{Name: "header.json", Size: int64(len(text)), Mode: 0o600}); err != nil {
		t.Fatal(err)
	}
	if _, err := w.Write(text); err != nil {
		t.Fatal(err)
	}
	return out.String()
}
