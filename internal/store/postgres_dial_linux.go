package store

import "syscall"

// tcpUserTimeout is TCP_USER_TIMEOUT, which package syscall has no name for.
const tcpUserTimeout = 0x12

// limitUnacknowledged makes the kernel give a connection up on which sent data was
// not acknowledged in time; by default it tries for a quarter of an hour.
func limitUnacknowledged(network, _ string, conn syscall.RawConn) error {
	if network == "unix" {
		return nil
	}
	var err error
	controlled := conn.Control(func(fd uintptr) {
		err = syscall.SetsockoptInt(int(fd), syscall.IPPROTO_TCP, tcpUserTimeout, int(unacknowledged.Milliseconds()))
	})
	return also(err, controlled)
}
