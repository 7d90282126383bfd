//go:build !(darwin || dragonfly || freebsd || linux || netbsd || openbsd)

package files

import "os"

const hasLocks = false

// lock does nothing on systems without flock; see docs/operations.md.
func lock(*os.File) error { return nil }
