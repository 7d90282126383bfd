package files

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"warranty.example/svc/warranty"
)

// TestFolderID writes and reads the id, and detects a damaged one. // A1
func TestFolderID(t *testing.T) {
	d, path := open(t)
	if _, err := d.ID(t.Context()); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("a new folder: %v", err)
	}
	for i := range byte(2) { // including over another one
		id := ID{Database: warranty.ID{1, i}, Folder: warranty.ID{2, i}}
		if err := d.SetID(t.Context(), id); err != nil {
			t.Fatal(err)
		}
		if got, err := d.ID(t.Context()); err != nil || got != id {
			t.Errorf("got %v, %v", got, err)
		}
	}
	expectNames(t, path, "id")
	whole, err := os.ReadFile(filepath.Join(path, "id"))
	if err != nil {
		t.Fatal(err)
	}
	for length := range len(whole) {
		if err := os.WriteFile(filepath.Join(path, "id"), whole[:length], 0o600); err != nil {
			t.Fatal(err)
		}
		if got, err := d.ID(t.Context()); !errors.Is(err, ErrDamaged) {
			t.Errorf("%d of %d bytes: %v, %v", length, len(whole), got, err)
		}
	}
}

// TestFolderThatIsReplaced is detected: the open handle leads to the old one. // D4
func TestFolderThatIsReplaced(t *testing.T) {
	d, path := open(t)
	if err := d.SetID(t.Context(), ID{}); err != nil {
		t.Fatal(err)
	}
	if err := os.Rename(path, path+" away"); err != nil {
		t.Fatal(err)
	}
	if _, err := d.ID(t.Context()); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("no folder: %v", err)
	}
	if err := os.CopyFS(path, os.DirFS(path+" away")); err != nil {
		t.Fatal(err)
	}
	if _, err := d.ID(t.Context()); err == nil || !strings.Contains(err.Error(), "was replaced") {
		t.Errorf("another folder: %v", err)
	}
}

// TestLockIsHeldByOneProcess starts a process that holds a lock, and kills it. // D1
func TestLockIsHeldByOneProcess(t *testing.T) {
	path := filepath.Join(os.Getenv("SVC_TEST_LOCK"), "lock")
	if os.Getenv("SVC_TEST_LOCK") != "" { // in the child process
		if _, err := AcquireLock(path); err != nil {
			t.Fatal(err)
		}
		os.Stdout.WriteString("held\n")
		time.Sleep(time.Minute)
		return
	}
	path = filepath.Join(t.TempDir(), "lock")
	cmd := exec.Command(os.Args[0], "-test.run=^TestLockIsHeldByOneProcess$")
	cmd.Env = append(os.Environ(), "SVC_TEST_LOCK="+filepath.Dir(path))
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	if _, err := out.Read(make([]byte, 5)); err != nil {
		t.Fatal(err)
	}
	var locked LockedError
	if _, err := AcquireLock(path); !errors.As(err, &locked) ||
		!strings.Contains(err.Error(), fmt.Sprint(cmd.Process.Pid)) {
		t.Errorf("a second process: %v", err)
	}
	if err := cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = cmd.Wait() // killed on purpose
	for range 2 {
		lock, err := AcquireLock(path)
		if err != nil {
			t.Fatalf("after kill -9, and after a release: %v", err)
		}
		if _, err := AcquireLock(path); !errors.As(err, &locked) {
			t.Errorf("the same process, again: %v", err)
		}
		if err := lock.Release(); err != nil {
			t.Fatal(err)
		}
	}
}
