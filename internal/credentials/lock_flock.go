//go:build darwin || dragonfly || freebsd || linux || netbsd || openbsd

package credentials

import (
	"errors"
	"os"
	"syscall"
)

// lock locks an open file without waiting. Closing the file releases the lock.
func lock(file *os.File) error {
	err := syscall.Flock(int(file.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
	if errors.Is(err, syscall.EWOULDBLOCK) || errors.Is(err, syscall.EINTR) {
		return errHeld
	}
	return err
}
