package files

import (
	"bytes"
	"errors"
	"io/fs"
	"syscall"
	"testing"

	"warranty.example/svc/internal/testenv"
)

// TestFullServer stores files until the server's disk is full. A file that does not fit
// leaves nothing, and there is space for others once some are deleted.
func TestFullServer(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	if err := syscall.Mount("tmpfs", folder, "tmpfs", 0, "size=12m"); err != nil {
		t.Skipf("a small disk needs the right to mount one: %v", err)
	}
	t.Cleanup(func() {
		if err := syscall.Unmount(folder, syscall.MNT_DETACH); err != nil {
			t.Error(err)
		}
	})
	server := testenv.NewS3Server(t, folder)
	b := bucket(t, server.URL("x", ""), defaultLimits)
	first, want := newKey(t), content(partSize+1)
	if err := b.Put(t.Context(), first, bytes.NewReader(want)); err != nil {
		t.Fatal(err)
	}
	for _, size := range []int{2*partSize + 1, 4 * partSize} {
		key := newKey(t)
		if err := b.Put(t.Context(), key, bytes.NewReader(content(size))); !isOutage(err, key) {
			t.Errorf("%d bytes: %v", size, err)
		}
		if _, err := b.Get(t.Context(), key, ""); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("%d bytes: %v", size, err)
		}
	}
	expect(t, func() []string { return objects(t, b) }, "complete/"+first)
	if err := b.Delete(t.Context(), first); err != nil {
		t.Fatal(err)
	}
	if err := b.Put(t.Context(), newKey(t), bytes.NewReader(want)); err != nil {
		t.Errorf("after a file was deleted: %v", err)
	}
}
