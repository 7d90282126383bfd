//go:build unix

package listen

import (
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"syscall"
)

// listenUnix creates a socket. The lock on its folder keeps two processes that start
// together from removing each other's socket as stale.
func listenUnix(path string, mode fs.FileMode) (net.Listener, error) {
	folder, err := os.Open(filepath.Dir(path))
	if err != nil {
		return nil, err
	}
	defer folder.Close() // releases the lock
	if err := syscall.Flock(int(folder.Fd()), syscall.LOCK_EX); err != nil {
		return nil, err
	}
	if err := removeStale(path); err != nil {
		return nil, err
	}
	// Without permissions at first, so that nobody can connect before Chmod.
	old := syscall.Umask(0o777)
	listener, err := net.Listen("unix", path)
	syscall.Umask(old)
	if err != nil {
		return nil, err
	}
	if err := os.Chmod(path, mode); err != nil {
		_ = listener.Close() // the error of Chmod matters
		return nil, err
	}
	return listener, nil
}
