// Package version holds the version of the programs.
package version

import "runtime/debug"

// Release is the current or next release. server.json has the same value.
const Release = "1.0.0"

// build is set by the linker; see the Makefile.
var build string

// String returns the version set at build time. A plain go build is "dev" with the commit, if it is known: only the
// Makefile makes releases.
func String() string {
	if build != "" {
		return build
	}
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return "dev"
	}
	return development(info.Settings)
}

// development returns the version of a plain go build.
func development(settings []debug.BuildSetting) string {
	commit, dirty := "", ""
	for _, s := range settings {
		switch {
		case s.Key == "vcs.revision":
			commit = "+" + s.Value[:min(len(s.Value), 7)]
		case s.Key == "vcs.modified" && s.Value == "true":
			dirty = ".dirty"
		}
	}
	if commit == "" {
		return "dev"
	}
	return "dev" + commit + dirty
}
