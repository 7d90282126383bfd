package files

import (
	"errors"
	"path/filepath"
	"syscall"
	"testing"
)

// TestFolderThatCannotBeWritten is rejected by Open.
func TestFolderThatCannotBeWritten(t *testing.T) {
	path := filepath.Join(t.TempDir(), "files")
	d, err := Open(path)
	if err != nil {
		t.Fatal(err)
	}
	_ = d.Close()
	if err := syscall.Mount("tmpfs", path, "tmpfs", 0, "size=1m"); err != nil {
		t.Skipf("a read-only folder needs the right to mount one: %v", err)
	}
	t.Cleanup(func() {
		if err := syscall.Unmount(path, syscall.MNT_DETACH); err != nil {
			t.Error(err)
		}
	})
	if d, err = Open(path); err != nil {
		t.Fatal(err)
	}
	_ = d.Close()
	if err := syscall.Mount("", path, "", syscall.MS_REMOUNT|syscall.MS_RDONLY, ""); err != nil {
		t.Fatal(err)
	}
	if d, err := Open(path); !errors.Is(err, syscall.EROFS) {
		t.Errorf("a read-only folder was opened: %v, %v", d, err)
	}
}
