package operate

import "syscall"

// hasACL reports whether a file has an access control list, which says more than its mode.
func hasACL(path string) bool {
	size, err := syscall.Getxattr(path, "system.posix_acl_access", nil)
	return err == nil && size > 0
}
