package testenv

import (
	"fmt"
	"math/rand/v2"
	"net"
	"os"
	"path/filepath"
	"syscall"
	"testing"
)

// FreeAddress returns a loopback address that nothing listens on. A file lock reserves its port until the
// test ends, across processes. It is for servers that restart on the same address; other servers listen on
// port 0. The ports are below the kernel's ephemeral range.
func FreeAddress(t testing.TB) string {
	t.Helper()
	folder := filepath.Join(os.TempDir(), fmt.Sprint("svc-test-ports-", os.Getuid()))
	if err := os.MkdirAll(folder, 0o700); err != nil {
		t.Fatal(err)
	}
	for range 1000 {
		port := 10_000 + rand.IntN(10_000) //nolint:gosec // not a secret
		address := fmt.Sprintf("127.0.0.1:%d", port)
		lock, err := os.OpenFile(filepath.Join(folder, fmt.Sprint(port)), os.O_CREATE|os.O_RDWR, 0o600)
		if err != nil {
			t.Fatal(err)
		}
		if syscall.Flock(int(lock.Fd()), syscall.LOCK_EX|syscall.LOCK_NB) == nil {
			if l, err := net.Listen("tcp", address); err == nil {
				_ = l.Close()
				t.Cleanup(func() { _ = lock.Close() })
				return address
			}
		}
		_ = lock.Close()
	}
	t.Fatal("no free port found after 1000 attempts")
	return ""
}
