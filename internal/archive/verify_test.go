package archive_test

import (
	"bytes"
	"errors"
	"io"
	"math/rand/v2"
	"testing"
	"testing/iotest"
	"time"

	"warranty.example/svc/internal/archive"
	"warranty.example/svc/internal/servertest"
	"warranty.example/svc/internal/store"
)

// verify verifies a backup that may be encrypted.
func verify(b []byte, ids archive.Identities) (archive.Header, archive.Summary, error) {
	content, _, err := archive.Decrypt(bytes.NewReader(b), ids)
	if err != nil {
		return archive.Header{}, archive.Summary{}, err
	}
	return archive.Verify(ctx, content, quiet)
}

// TestVerifyFindsEveryChange flips bits at random positions of a backup, and cuts it off at every 1/50 and near
// its end, plain and encrypted. Verify accepts only the whole one.
func TestVerifyFindsEveryChange(t *testing.T) {
	servertest.Each(t, func(t *testing.T, w *servertest.World) {
		populate(t, w)
		plain := backup(t, w)
		recipient, ids := newKey(t)
		for kind, whole := range map[string][]byte{"plain": plain, "encrypted": encrypt(t, plain, recipient)} {
			h, found, err := verify(whole, ids)
			if err != nil || found.Files != 5 || found.Rows == 0 || h.Database != found.Database || len(found.Tables) != len(h.Tables) {
				t.Fatalf("%s: %+v, %+v, %v", kind, h, found, err)
			}
			for part := range 50 {
				cut := len(whole) * part / 50
				if _, _, err := verify(whole[:cut], ids); !archive.IsBad(err) {
					t.Errorf("%s: cut off at %d of %d bytes: %v", kind, cut, len(whole), err)
				}
			}
			for missing := 1; missing < 3000; missing += 61 {
				if _, _, err := verify(whole[:len(whole)-missing], ids); !archive.IsBad(err) {
					t.Errorf("%s: without its last %d bytes: %v", kind, missing, err)
				}
			}
			random := rand.New(rand.NewPCG(3, uint64(len(whole))))
			for i := range 200 {
				at := random.IntN(len(whole))
				if i < 50 {
					at = len(whole) - 1 - random.IntN(2500) // around the end
				} else if i < 100 {
					at = random.IntN(1500) // around the header
				}
				changed := bytes.Clone(whole)
				changed[at] ^= 1 << random.IntN(8)
				if _, _, err := verify(changed, ids); err == nil {
					t.Errorf("%s: a bit flipped in byte %d of %d: %v", kind, at, len(whole), err)
				}
			}
			if _, _, err := verify(append(bytes.Clone(whole), 0), ids); !archive.IsBad(err) {
				t.Errorf("%s: with one more byte: %v", kind, err)
			}
		}
	})
}

// TestVerifyTellsAFailedReadFromABadBackup: a network error says nothing about the backup.
func TestVerifyTellsAFailedReadFromABadBackup(t *testing.T) {
	t.Parallel()
	w := servertest.New(t, servertest.SQLite(t))
	whole := backup(t, w)
	recipient, ids := newKey(t)
	broken := errors.New("the connection was closed")
	for kind, b := range map[string][]byte{"plain": whole, "encrypted": encrypt(t, whole, recipient)} {
		for _, at := range []int{0, 10, 600, len(b) / 2, len(b) - 1} {
			from := io.MultiReader(bytes.NewReader(b[:at]), iotest.ErrReader(broken))
			content, _, err := archive.Decrypt(from, ids)
			if err == nil {
				_, _, err = archive.Verify(ctx, content, quiet)
			}
			if !errors.Is(err, broken) || archive.IsBad(err) {
				t.Errorf("%s, after %d bytes: %v", kind, at, err)
			}
		}
	}
}

// TestVerifyNamesLostFiles: the files that were lost before the backup are in its summary.
func TestVerifyNamesLostFiles(t *testing.T) {
	t.Parallel()
	w := servertest.New(t, servertest.SQLite(t))
	populate(t, w)
	var key string
	err := w.Store.EachFile(ctx, func(f store.StoredFile) error { key = f.Key; return nil })
	if err != nil {
		t.Fatal(err)
	}
	if err := w.Service.Files.Delete(ctx, key); err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	if _, err := archive.Backup(ctx, w.Store, w.Service.Files, &out, "test", time.Now(), quiet); err != nil {
		t.Fatal(err)
	}
	_, found, err := verify(out.Bytes(), nil)
	if err != nil || len(found.Missing) != 1 || found.Missing[0] != key {
		t.Errorf("missing %v, %v; want %s", found.Missing, err, key)
	}
}

// TestARestoredDatabaseHasNoBackups: a restore does not claim that its database was backed up.
func TestARestoredDatabaseHasNoBackups(t *testing.T) {
	servertest.Each(t, func(t *testing.T, w *servertest.World) {
		at := time.Date(2026, 11, 1, 3, 0, 0, 0, time.UTC)
		want := store.BackupStatus{LastSuccess: at, Duration: time.Second, Bytes: 7, LostFiles: 1, Place: "/backups/b.tar",
			Failures: 1, LastFailure: at.Add(-time.Hour), Error: "the disk is full"}
		if err := w.Store.RecordBackupFailure(ctx, want.Error, want.LastFailure); err != nil {
			t.Fatal(err)
		}
		earlier := want
		earlier.LastSuccess = at.Add(-time.Minute)
		for _, b := range []store.BackupStatus{want, earlier} { // the later one stays
			if err := w.Store.RecordBackup(ctx, b); err != nil {
				t.Fatal(err)
			}
		}
		if got, err := w.Store.BackupStatus(ctx); err != nil || got != want || got.Failing() {
			t.Errorf("recorded %+v, %v; want %+v", got, err, want)
		}
		b := backup(t, w)
		for kind := range emptyDatabases {
			for _, keep := range []bool{true, false} {
				r := restore(t, kind, b, keep)
				if got, err := r.Store.BackupStatus(ctx); err != nil || got != (store.BackupStatus{}) {
					t.Errorf("restored to %s: %+v, %v", kind, got, err)
				}
				if err := r.Store.RecordBackupFailure(ctx, "again", at); err != nil {
					t.Error(err)
				}
				if got, err := r.Store.BackupStatus(ctx); err != nil || got.Failures != 1 || !got.Failing() {
					t.Errorf("after a failure: %+v, %v", got, err)
				}
			}
		}
	})
}

// TestInspectRecognizesBackups looks at beginnings and ends only.
func TestInspectRecognizesBackups(t *testing.T) {
	t.Parallel()
	w := servertest.New(t, servertest.SQLite(t))
	whole := backup(t, w)
	recipient, _ := newKey(t)
	for _, test := range []struct {
		name      string
		content   []byte
		encrypted bool
		err       error
	}{
		{"whole", whole, false, nil},
		{"encrypted", encrypt(t, whole, recipient), true, nil},
		{"cut off", whole[:len(whole)-1], false, archive.ErrIncomplete},
		{"only its start", whole[:1000], false, archive.ErrIncomplete},
		{"text", []byte("hello"), false, archive.ErrFormat},
		{"empty", nil, false, archive.ErrFormat},
	} {
		h, encrypted, err := archive.Inspect(bytes.NewReader(test.content))
		if encrypted != test.encrypted || !errors.Is(err, test.err) || err == nil && !encrypted && h.Format != archive.Format {
			t.Errorf("%s: %+v, %v, %v", test.name, h.Format, encrypted, err)
		}
	}
}
