//go:build !linux

package main

// hasACL is not known on this system.
func hasACL(string) bool { return false }
