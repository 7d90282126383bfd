package operate

import "syscall"

// spaceOf returns the bytes that this process may still write to a file system, and its size.
func spaceOf(path string) (free, total uint64, err error) {
	var s syscall.Statfs_t
	err = syscall.Statfs(path, &s)
	return uint64(max(0, s.F_bavail)) * uint64(s.F_bsize), s.F_blocks * uint64(s.F_bsize), err
}
