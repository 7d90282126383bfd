package operate

import (
	"bytes"
	"context"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"warranty.example/svc/internal/archive"
	"warranty.example/svc/internal/store"
	"warranty.example/svc/internal/testenv"
	"warranty.example/svc/warranty"
)

// emptyBackup returns a complete backup of a new database, and the id of the database.
func emptyBackup(t *testing.T) ([]byte, warranty.ID) {
	t.Helper()
	ctx := context.Background()
	st, err := store.Open(ctx, filepath.Join(t.TempDir(), "svc.db"))
	if err != nil {
		t.Fatal(err)
	}
	defer st.Close()
	var out bytes.Buffer
	done, err := archive.Backup(ctx, st, noFiles{}, &out, "test", time.Now(), func(string, int64) {})
	if err != nil {
		t.Fatal(err)
	}
	return out.Bytes(), done.Database
}

// newShelf returns a new folder or prefix of a bucket.
func newShelf(t *testing.T, kind string) shelf {
	t.Helper()
	if kind == "folder" {
		return newFolderShelf(t.TempDir())
	}
	place, err := parsePlace("--to:", testenv.S3(t))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = place.close() })
	return place.shelf
}

// TestOnlyOurOlderBackupsAreDeleted checks which files --keep deletes, in a folder and in S3.
func TestOnlyOurOlderBackupsAreDeleted(t *testing.T) {
	t.Parallel()
	whole, mine := emptyBackup(t)
	foreign, _ := emptyBackup(t)
	name := func(day int, encrypted bool) string {
		return archive.Name(time.Date(2026, 11, day, 3, 0, 0, 0, time.UTC), mine, encrypted)
	}
	newest := name(20, false)
	contents := map[string][]byte{
		newest: whole, name(19, false): whole, name(18, false): whole, name(17, false): whole,
		name(16, true):  []byte("age-encryption.org/v1\n-> X25519"),
		name(15, false): whole[:len(whole)-1], // cut off
		name(14, false): foreign,              // renamed
		name(13, true):  []byte("hello"),
		name(12, false): nil,
		name(25, false): whole, // made while the clock was ahead
		archive.Name(time.Date(2026, 11, 1, 3, 0, 0, 0, time.UTC), warranty.ID{7}, false): whole, // of another database
		"svcd-20261101T030000Z.tar":      whole,
		"monday.tar":                     whole,
		name(11, false) + ".123.partial": whole,
	}
	unknown := []string{name(15, false), name(14, false), name(13, true), name(12, false)}
	for _, test := range []struct {
		name    string
		policy  archive.Policy
		done    archive.Summary
		deleted []string
	}{
		{"some", archive.Policy{Daily: 3}, archive.Summary{}, []string{name(18, false), name(17, false), name(16, true)}},
		{"all but the new one", archive.Policy{Last: 1}, archive.Summary{},
			[]string{name(19, false), name(18, false), name(17, false), name(16, true)}},
		{"fewer than kept", archive.Policy{Daily: 7}, archive.Summary{}, nil},
		{"a missing file", archive.Policy{Last: 1}, archive.Summary{Manifest: archive.Manifest{Missing: []string{"key"}}}, nil},
		{"a damaged file", archive.Policy{Last: 1}, archive.Summary{Manifest: archive.Manifest{Damaged: map[string]string{"key": "sum"}}}, nil},
	} {
		for _, kind := range []string{"folder", "bucket"} {
			t.Run(test.name+" in a "+kind, func(t *testing.T) {
				ctx, place := context.Background(), newShelf(t, kind)
				var want []string
				for name, content := range contents {
					err := place.write(ctx, name, 0, func(w io.Writer) error { _, err := w.Write(content); return err })
					if err != nil {
						t.Fatal(err)
					}
					if !slices.Contains(test.deleted, name) && strings.HasPrefix(name, "svcd-") {
						want = append(want, name)
					}
				}
				test.done.Database = mine
				b := backup{place: backupPlace{shelf: place}, policy: &test.policy}
				var notes strings.Builder
				if err := b.deleteSurplus(ctx, &notes, written{Summary: test.done, name: newest}); err != nil {
					t.Fatal(err)
				}
				got, err := place.names(ctx)
				if err != nil {
					t.Fatal(err)
				}
				got = slices.DeleteFunc(got, func(name string) bool { return name == "monday.tar" })
				slices.Sort(got)
				slices.Sort(want)
				if !slices.Equal(got, want) {
					t.Errorf("left %s, want %s", strings.Join(got, " "), strings.Join(want, " "))
				}
				for _, name := range unknown {
					if len(test.done.Missing)+len(test.done.Damaged) == 0 && !strings.Contains(notes.String(), "kept "+place.path(name)+": ") {
						t.Errorf("%s is not named: %s", name, &notes)
					}
				}
				for _, name := range want {
					if slices.Contains(unknown, name) || len(test.done.Missing)+len(test.done.Damaged) > 0 {
						continue
					}
					if strings.Contains(notes.String(), name) {
						t.Errorf("%s is named: %s", name, &notes)
					}
				}
			})
		}
	}
}

// TestPlacesOfBackups parses places. Errors do not contain keys.
func TestPlacesOfBackups(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	file := filepath.Join(folder, "b.tar")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	const keys = "key:verysecret"
	for text, want := range map[string][2]string{
		folder:                             {"", folder + "/x"},
		file:                               {"b.tar", folder + "/x"},
		"s3://" + keys + "@bucket/pre/fix": {"", "s3://bucket/pre/fix/x"},
		"s3://" + keys + "@bucket":         {"", "s3://bucket/x"},
		"s3://" + keys + "@bucket/pre/a.tar?region=eu-central-1": {"a.tar", "s3://bucket/pre/x"},
		"s3://" + keys + "@bucket/a.tar.age":                     {"a.tar.age", "s3://bucket/x"},
	} {
		p, err := parsePlace("--to:", text)
		if err != nil || p.name != want[0] || p.shelf.path("x") != want[1] {
			t.Errorf("%s: %v, %v", text, p, err)
		}
	}
	for _, text := range []string{"s3://" + keys + "@bucket/a//b", "s3://" + keys + "@bucket?x=1", "s3://verysecret@bucket", folder + "/missing/"} {
		if _, err := parsePlace("--to:", text); err == nil || strings.Contains(err.Error(), "verysecret") {
			t.Errorf("%s: %v", text, err)
		}
	}
}
