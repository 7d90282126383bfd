//go:build !linux

package operate

// hasACL is not known on this system.
func hasACL(string) bool { return false }
