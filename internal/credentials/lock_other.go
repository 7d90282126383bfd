//go:build !(darwin || dragonfly || freebsd || linux || netbsd || openbsd || windows)

package credentials

import "os"

// lock does nothing on systems without flock.
func lock(*os.File) error { return nil }
