//go:build !linux

package e2e

import "os/exec"

// atTerminal is only implemented on Linux; scripts skip it elsewhere.
func atTerminal(*exec.Cmd, int, string, string, bool) (string, int, error) {
	return "", 0, errNoTerminal
}
