//go:build !(linux || darwin || freebsd || openbsd)

package operate

import "errors"

// spaceOf is not supported on this system.
func spaceOf(string) (free, total uint64, err error) { return 0, 0, errors.ErrUnsupported }
