package files

import (
	"bytes"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"testing/iotest"
	"time"
)

// open opens a folder for files that is the test's own.
func open(t *testing.T) (*Dir, string) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "files")
	d, err := Open(path)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = d.Close() }) // a handle of a folder that goes away with the test
	return d, path
}

// names lists the files in a folder, with the folders they are in.
func names(t *testing.T, path string) []string {
	t.Helper()
	list := []string{}
	err := filepath.WalkDir(path, func(name string, entry fs.DirEntry, err error) error {
		if err == nil && !entry.IsDir() {
			name, err = filepath.Rel(path, name)
			list = append(list, name)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return list
}

func expectNames(t *testing.T, path string, want ...string) {
	t.Helper()
	if got := names(t, path); !slices.Equal(got, want) {
		t.Errorf("the folder holds %q, want %q", got, want)
	}
}

func put(t *testing.T, d *Dir, key, content string) {
	t.Helper()
	if err := d.Put(key, strings.NewReader(content)); err != nil {
		t.Fatal(err)
	}
}

func TestFilesAreKeptAndRemoved(t *testing.T) {
	d, path := open(t)
	content := strings.Repeat("a page. ", 10_000)
	put(t, d, "one", content)
	put(t, d, "two", "another")
	expectNames(t, path, "complete/one", "complete/two")
	file, err := d.Get("one")
	if err != nil {
		t.Fatal(err)
	}
	got, err := io.ReadAll(file)
	if err != nil || string(got) != content {
		t.Errorf("read %d bytes, %v", len(got), err)
	}
	if err := file.Close(); err != nil {
		t.Error(err)
	}
	for range 2 { // what is gone is no error
		if err := d.Delete("one"); err != nil {
			t.Error(err)
		}
	}
	if _, err := d.Get("one"); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("a removed file: %v", err)
	}
	expectNames(t, path, "complete/two")
}

// TestPutLeavesNothingBehind ends files early: at their beginning, and in the middle.
func TestPutLeavesNothingBehind(t *testing.T) {
	d, path := open(t)
	broken := errors.New("the line broke")
	for _, before := range []string{"", "a", strings.Repeat("a", 1<<20)} {
		if err := d.Put("key", io.MultiReader(strings.NewReader(before), iotest.ErrReader(broken))); !errors.Is(err, broken) {
			t.Errorf("after %d bytes: %v", len(before), err)
		}
		expectNames(t, path)
	}
	put(t, d, "key", "whole")
	expectNames(t, path, "complete/key")
}

// TestPutTakesAKeyOnce lets one of many that use the same key at once write it.
func TestPutTakesAKeyOnce(t *testing.T) {
	d, path := open(t)
	var running sync.WaitGroup
	release := make(chan struct{})
	for i := range 8 {
		running.Go(func() {
			content := fmt.Sprintf("%d", i)
			_ = d.Put("key", io.MultiReader(strings.NewReader(content), gate(release), strings.NewReader(content))) // all but one are refused
		})
	}
	close(release)
	running.Wait()
	expectNames(t, path, "complete/key")
	got, err := os.ReadFile(filepath.Join(path, complete, "key"))
	if err != nil || len(got) != 2 || got[0] != got[1] {
		t.Errorf("the file is %q, %v", got, err)
	}
}

// gate is a reader that has nothing and ends when it is released.
type gate chan struct{}

func (g gate) Read([]byte) (int, error) { <-g; return 0, io.EOF }

// TestKeysStayInTheFolder tries keys that would be elsewhere. The service makes
// its keys itself; this is for the day when somebody makes a mistake.
func TestKeysStayInTheFolder(t *testing.T) {
	d, path := open(t)
	outside := filepath.Join(filepath.Dir(path), "outside")
	if err := os.WriteFile(outside, []byte("secret"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(outside, filepath.Join(path, complete, "link")); err != nil {
		t.Fatal(err)
	}
	for _, key := range []string{"../../outside", "../../../etc/passwd", "/etc/passwd", outside, "link", "a/b", ""} {
		if file, err := d.Get(key); err == nil {
			if content, _ := io.ReadAll(file); len(content) > 0 {
				t.Errorf("%q gives out %q", key, content)
			}
			_ = file.Close()
		}
		if err := d.Put(key, strings.NewReader("x")); err == nil && key != "link" {
			t.Errorf("%q was written", key)
		}
		_ = d.Delete(key) // removes the link, not what it leads to
	}
	if got, err := os.ReadFile(outside); err != nil || string(got) != "secret" {
		t.Errorf("the file outside is %q, %v", got, err)
	}
}

// TestOnlyTheOwnerReads holds the modes whatever the umask.
func TestOnlyTheOwnerReads(t *testing.T) {
	old := syscall.Umask(0)
	defer syscall.Umask(old)
	d, path := open(t)
	put(t, d, "key", "x")
	for name, want := range map[string]fs.FileMode{".": 0o700, complete: 0o700, arriving: 0o700, complete + "/key": 0o600} {
		info, err := os.Stat(filepath.Join(path, name))
		if err != nil || info.Mode().Perm() != want {
			t.Errorf("%s has the mode %v, want %v (%v)", name, info.Mode().Perm(), want, err)
		}
	}
}

// TestSweep removes what no record speaks of, and leaves alone what is young:
// beside PostgreSQL another replica may be about to write its record.
func TestSweep(t *testing.T) {
	known := func(_ context.Context, key string) (bool, error) { return key == "known" || key == "known-old", nil }
	fill := func(t *testing.T) (*Dir, string) {
		d, path := open(t)
		for _, key := range []string{"known", "known-old", "lost", "lost-old"} {
			put(t, d, key, "x")
		}
		for _, key := range []string{"half", "half-old"} {
			if err := os.WriteFile(filepath.Join(path, arriving, key), []byte("x"), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		then := time.Now().Add(-61 * time.Minute)
		for _, name := range []string{arriving + "/half-old", complete + "/known-old", complete + "/lost-old"} {
			if err := os.Chtimes(filepath.Join(path, name), then, then); err != nil {
				t.Fatal(err)
			}
		}
		return d, path
	}
	t.Run("alone", func(t *testing.T) {
		d, path := fill(t)
		if removed, err := d.Sweep(t.Context(), 0, known); removed != 4 || err != nil {
			t.Errorf("removed %d, %v", removed, err)
		}
		expectNames(t, path, "complete/known", "complete/known-old")
	})
	t.Run("beside others", func(t *testing.T) {
		d, path := fill(t)
		if removed, err := d.Sweep(t.Context(), time.Hour, known); removed != 2 || err != nil {
			t.Errorf("removed %d, %v", removed, err)
		}
		expectNames(t, path, "arriving/half", "complete/known", "complete/known-old", "complete/lost")
	})
	t.Run("without an answer", func(t *testing.T) {
		d, path := fill(t)
		broken := errors.New("the database is away")
		_, err := d.Sweep(t.Context(), 0, func(context.Context, string) (bool, error) { return false, broken })
		if !errors.Is(err, broken) {
			t.Error(err)
		}
		if left := names(t, filepath.Join(path, complete)); len(left) != 4 {
			t.Errorf("%q are left of what may be known", left)
		}
	})
}

// TestSweepWhileFilesArrive lets uploads finish while somebody sweeps again and again.
func TestSweepWhileFilesArrive(t *testing.T) {
	d, path := open(t)
	var running sync.WaitGroup
	for i := range 4 {
		running.Go(func() {
			for j := range 25 {
				if err := d.Put(fmt.Sprintf("%d-%d", i, j), bytes.NewReader(make([]byte, 10_000))); err != nil {
					t.Error(err)
				}
			}
		})
	}
	stop := make(chan struct{})
	var sweeping sync.WaitGroup
	sweeping.Go(func() {
		for {
			select {
			case <-stop:
				return
			default:
			}
			if removed, err := d.Sweep(t.Context(), time.Hour, func(context.Context, string) (bool, error) { return false, nil }); removed != 0 || err != nil {
				t.Errorf("removed %d, %v", removed, err)
			}
		}
	})
	running.Wait()
	close(stop)
	sweeping.Wait()
	if got := names(t, path); len(got) != 100 {
		t.Errorf("%d files are left of 100", len(got))
	}
}

// TestNewKeySaysNothing makes keys that differ and are plain names on any file system.
func TestNewKeySaysNothing(t *testing.T) {
	seen := map[string]bool{}
	for range 1000 {
		key, err := NewKey(rand.Reader)
		if err != nil || len(key) != 20 || strings.Trim(key, "0123456789abcdefghjkmnpqrstvwxyz") != "" || seen[key] {
			t.Fatalf("%q, %v", key, err)
		}
		seen[key] = true
	}
	if _, err := NewKey(iotest.ErrReader(io.ErrUnexpectedEOF)); err == nil {
		t.Error("a key without randomness")
	}
}
