// Package listen opens the sockets of the service: TCP addresses, Unix sockets, and
// sockets passed by systemd. It also tells systemd when the service starts and stops.
package listen

import (
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"time"
)

// Prefixes of addresses that are not host:port.
const (
	unixPrefix    = "unix:"    // then the absolute path of a Unix socket
	systemdSocket = "systemd"  // the only socket that systemd passed
	systemdPrefix = "systemd:" // then the name of a socket (FileDescriptorName=)
)

// IsTCP reports whether an address is host:port.
func IsTCP(address string) bool {
	return !strings.HasPrefix(address, unixPrefix) && !strings.HasPrefix(address, systemdPrefix) && address != systemdSocket
}

// Check returns an error if an address that is not host:port is invalid.
func Check(address string) error {
	path, isUnix := strings.CutPrefix(address, unixPrefix)
	if !isUnix {
		if address == systemdPrefix {
			return errors.New("lacks a name; write systemd, or systemd: and the name of the socket")
		}
		return nil
	}
	const longest = 103 // of darwin; Linux allows 107
	if !filepath.IsAbs(path) || path != filepath.Clean(path) || len(path) > longest {
		return fmt.Errorf("unix: needs an absolute path of at most %d bytes", longest)
	}
	return nil
}

// AddressError is an error of the address, not of the system: it cannot be used as it is.
type AddressError struct{ error }

// Unwrap returns the cause.
func (e AddressError) Unwrap() error { return e.error }

// Opener opens listeners.
type Opener struct {
	passed []socket // by systemd, not used yet
}

// New takes the sockets that systemd passed to this process.
func New() (*Opener, error) {
	passed, err := passedSockets(os.Getenv, os.Getpid())
	return &Opener{passed}, err
}

// Open listens on an address. A new Unix socket gets the mode.
func (o *Opener) Open(address string, mode fs.FileMode) (net.Listener, error) {
	if address == systemdSocket {
		return o.take("")
	}
	if name, ok := strings.CutPrefix(address, systemdPrefix); ok {
		return o.take(name)
	}
	if path, ok := strings.CutPrefix(address, unixPrefix); ok {
		listener, err := listenUnix(path, mode)
		if errors.Is(err, fs.ErrNotExist) {
			err = AddressError{err} // the folder
		}
		return listener, err
	}
	listener, err := net.Listen("tcp", address)
	var dns *net.DNSError
	if errors.As(err, &dns) || errors.Is(err, syscall.EADDRNOTAVAIL) {
		err = AddressError{err}
	}
	return listener, err
}

// Close closes the sockets that were passed but not used. It returns an error if there
// are any: their clients would wait forever.
func (o *Opener) Close() error {
	names := make([]string, 0, len(o.passed))
	for _, s := range o.passed {
		names = append(names, s.name)
		_ = s.Close() // nothing was accepted
	}
	o.passed = nil
	if len(names) > 0 {
		return AddressError{fmt.Errorf("systemd passed a socket that no setting uses: %s; set --listen systemd",
			strings.Join(names, ", "))}
	}
	return nil
}

// take returns the passed socket with this name, or the only one if the name is empty.
func (o *Opener) take(name string) (net.Listener, error) {
	found := -1
	for i, s := range o.passed {
		if name != "" && s.name != name {
			continue
		}
		if found >= 0 {
			return nil, AddressError{errors.New("systemd passed several sockets; name one of them with systemd:NAME")}
		}
		found = i
	}
	if found < 0 {
		return nil, AddressError{errors.New("systemd passed no such socket; start the service by its .socket unit")}
	}
	s := o.passed[found]
	o.passed = append(o.passed[:found], o.passed[found+1:]...)
	return s.Listener, nil
}

// removeStale removes the socket of a process that has ended. It is an error if a
// process listens on the path or if the path is something else.
func removeStale(path string) error {
	info, err := os.Lstat(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	if info.Mode().Type() != fs.ModeSocket {
		return AddressError{fmt.Errorf("%s exists and is not a socket", path)}
	}
	conn, err := net.DialTimeout("unix", path, time.Second)
	if err == nil {
		_ = conn.Close() // nothing was sent
		return fmt.Errorf("another process listens on %s", path)
	}
	if !errors.Is(err, syscall.ECONNREFUSED) {
		return err
	}
	return os.Remove(path)
}
