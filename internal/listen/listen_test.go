//go:build unix

package listen_test

import (
	"errors"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"

	"warranty.example/svc/internal/listen"
)

func open(t *testing.T, address string) (net.Listener, error) {
	t.Helper()
	opener, err := listen.New()
	if err != nil {
		t.Fatal(err)
	}
	defer opener.Close()
	return opener.Open(address, 0o640)
}

// dead creates the socket of a process that has ended.
func dead(t *testing.T, path string) {
	t.Helper()
	l, err := net.ListenUnix("unix", &net.UnixAddr{Name: path, Net: "unix"})
	if err != nil {
		t.Fatal(err)
	}
	l.SetUnlinkOnClose(false)
	l.Close()
}

func TestUnixSocket(t *testing.T) {
	path := filepath.Join(t.TempDir(), "s")
	dead(t, path)
	defer syscall.Umask(syscall.Umask(0))
	l, err := open(t, "unix:"+path)
	if err != nil {
		t.Fatal(err)
	}
	if info, err := os.Lstat(path); err != nil || info.Mode() != fs.ModeSocket|0o640 {
		t.Error(info.Mode(), err)
	}
	if again, err := open(t, "unix:"+path); err == nil {
		again.Close()
		t.Error("a live socket was replaced")
	}
	conn, err := net.Dial("unix", path)
	if err != nil {
		t.Fatal(err)
	}
	conn.Close()
	l.Close()
	if _, err := os.Lstat(path); !errors.Is(err, fs.ErrNotExist) {
		t.Error("the socket is left behind:", err)
	}
}

// TestOnlySocketsAreReplaced keeps everything else at the path.
func TestOnlySocketsAreReplaced(t *testing.T) {
	dir := t.TempDir()
	file, link, folder, target := filepath.Join(dir, "file"), filepath.Join(dir, "link"), filepath.Join(dir, "folder"), filepath.Join(dir, "target")
	dead(t, target)
	if err := errors.Join(os.WriteFile(file, []byte("x"), 0o600), os.Symlink(target, link), os.Mkdir(folder, 0o700)); err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{file, link, folder, filepath.Join(dir, "missing", "s")} {
		var wrong listen.AddressError
		if l, err := open(t, "unix:"+path); err == nil {
			l.Close()
			t.Errorf("%s was replaced", path)
		} else if !errors.As(err, &wrong) {
			t.Errorf("%s: %v", path, err)
		}
	}
	for _, path := range []string{file, link, folder, target} {
		if _, err := os.Lstat(path); err != nil {
			t.Error(err)
		}
	}
}

// TestOneOfManyGetsAStaleSocket starts several listeners at once: one gets the path, and
// it can be reached.
func TestOneOfManyGetsAStaleSocket(t *testing.T) {
	for range 50 {
		path := filepath.Join(t.TempDir(), "s")
		dead(t, path)
		var got atomic.Int32
		var all sync.WaitGroup
		for range 8 {
			all.Go(func() {
				if l, err := open(t, "unix:"+path); err == nil {
					got.Add(1)
					t.Cleanup(func() { l.Close() })
				}
			})
		}
		all.Wait()
		conn, err := net.Dial("unix", path)
		if got.Load() != 1 || err != nil {
			t.Fatalf("%d listeners, %v", got.Load(), err)
		}
		conn.Close()
	}
}

func TestAddressThatCannotBeUsed(t *testing.T) {
	for _, address := range []string{"no-such-host.invalid:0", "192.0.2.1:0", "systemd", "systemd:web"} {
		l, err := open(t, address)
		var wrong listen.AddressError
		if !errors.As(err, &wrong) {
			t.Errorf("%s: %v", address, err)
		}
		if err == nil {
			l.Close()
		}
	}
}
