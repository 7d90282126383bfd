// Package version holds the version of the programs.
package version

// Release is the current or next release. server.json has the same value.
const Release = "0.1.0"

// build is set by the linker; see the Makefile.
var build string

// String returns the version set at build time, or Release.
func String() string {
	if build != "" {
		return build
	}
	return Release
}
