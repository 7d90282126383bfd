//go:build unix

package operate

import (
	"io/fs"
	"syscall"
)

// ownerOf returns the owner of a file and its number of hard links.
func ownerOf(info fs.FileInfo) (owner, uint64) {
	stat, ok := info.Sys().(*syscall.Stat_t)
	if !ok {
		return owner{}, 0
	}
	links := uint64(stat.Nlink) //nolint:unconvert // the type differs between systems
	return owner{int(stat.Uid), int(stat.Gid)}, links
}

// mayWrite fails unless this process may read, write and enter a folder.
func mayWrite(folder string) error { return syscall.Access(folder, 7) }
