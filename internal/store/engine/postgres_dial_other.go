//go:build !linux

package engine

import "syscall"

// limitUnacknowledged does nothing: TCP_USER_TIMEOUT is specific to Linux. Elsewhere only the pulse
// notices.
func limitUnacknowledged(string, string, syscall.RawConn) error { return nil }
