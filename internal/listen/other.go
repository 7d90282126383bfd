//go:build !unix

package listen

import (
	"io/fs"
	"net"
)

// listenUnix creates a socket. These systems have no modes.
func listenUnix(path string, _ fs.FileMode) (net.Listener, error) {
	if err := removeStale(path); err != nil {
		return nil, err
	}
	return net.Listen("unix", path)
}
