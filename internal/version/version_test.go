package version

import (
	"runtime/debug"
	"testing"
)

// TestPlainBuildClaimsNoRelease // Finding O10.
func TestPlainBuildClaimsNoRelease(t *testing.T) {
	for want, settings := range map[string][]debug.BuildSetting{
		"dev":               {{Key: "GOOS", Value: "linux"}, {Key: "vcs.modified", Value: "true"}},
		"dev+2639f91":       {{Key: "vcs.revision", Value: "2639f91b7a"}, {Key: "vcs.modified", Value: "false"}},
		"dev+2639f91.dirty": {{Key: "vcs.revision", Value: "2639f91b7a"}, {Key: "vcs.modified", Value: "true"}},
	} {
		if got := development(settings); got != want {
			t.Errorf("%s, want %s", got, want)
		}
	}
	if String() == Release {
		t.Error("a test is not a release")
	}
}
