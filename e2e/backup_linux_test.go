package e2e

import (
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"warranty.example/svc/e2e/lab"
)

// TestBackupOnAFullDisk backs up to, and restores to, a disk of 1 MiB.
func TestBackupOnAFullDisk(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	p := lab.StartIn(t, dir, lab.Unthrottled...)
	session := p.Register(t, "olga")
	record := p.Want(t, 201, lab.Create(session, "Kettle", "")).Must(t, "data.id")
	if a, err := upload(p, session, record, 1, 2<<20); err != nil || a.Status != 201 {
		t.Fatalf("upload: %d %s %v", a.Status, a.Body, err)
	}
	mustSvcd(t, dir, "backup", "b.tar")
	small := filepath.Join(dir, "small")
	if err := os.Mkdir(small, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := syscall.Mount("tmpfs", small, "tmpfs", 0, "size=1m"); err != nil {
		t.Skipf("cannot mount a small disk: %v", err)
	}
	t.Cleanup(func() {
		if err := syscall.Unmount(small, syscall.MNT_DETACH); err != nil {
			t.Error(err)
		}
	})
	refuseSvcd(t, 1, "the backup needs about ", dir, "backup", "small/b.tar")
	if out, code := runSvcd(t, dir, "restore", "b.tar", "--data=small/data"); code != 1 || strings.Count(out, "\n") != 1 {
		t.Errorf("exit %d: %s", code, out)
	}
	left := 0
	err := filepath.WalkDir(small, func(_ string, e os.DirEntry, err error) error {
		if err == nil && !e.IsDir() && !strings.HasSuffix(e.Name(), "-lock") {
			left++
		}
		return err
	})
	if err != nil || left > 0 {
		t.Errorf("%d files are left, %v", left, err)
	}
}
