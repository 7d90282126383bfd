// Package version knows which version of the programs this is.
package version

// Release is the version that this code is, or is going to be. server.json
// repeats it.
const Release = "0.1.0"

// build is set by the linker: see the Makefile.
var build string

// String is the version that a program tells of itself: what it was built as, or
// Release when it was built by hand.
func String() string {
	if build != "" {
		return build
	}
	return Release
}
