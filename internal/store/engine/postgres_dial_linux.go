package engine

import "syscall"

// tcpUserTimeout is TCP_USER_TIMEOUT, which package syscall does not define.
const tcpUserTimeout = 0x12

// limitUnacknowledged makes the kernel close a connection whose sent data is not acknowledged in
// time. The default is about 15 minutes.
func limitUnacknowledged(network, _ string, conn syscall.RawConn) error {
	if network == "unix" {
		return nil
	}
	var err error
	controlled := conn.Control(func(fd uintptr) {
		err = syscall.SetsockoptInt(int(fd), syscall.IPPROTO_TCP, tcpUserTimeout, int(maxUnacknowledged.Milliseconds()))
	})
	return joinErrors(err, controlled)
}
