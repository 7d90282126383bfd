//go:build !linux

package e2e

import "os/exec"

// atTerminal is for Linux; the scripts that want it say so.
func atTerminal(*exec.Cmd, int, string, string, bool) (string, int, error) {
	return "", 0, errNoTerminal
}
