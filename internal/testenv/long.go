package testenv

import (
	"flag"
	"os"
	"sync"
	"testing"

	"pgregory.net/rapid"
)

// Long reports whether tests try everything that "make test" tries only a part of. "make long" sets it.
func Long() bool { return os.Getenv("SVC_TEST_LONG") != "" }

// Times returns the number of repetitions: usual, or many in a long run.
func Times(usual, many int) int {
	if Long() {
		return many
	}
	return usual
}

// seedOfCI is the seed of properties in CI.
const seedOfCI = "1"

var seedOnce sync.Once

// Property is rapid.Check. With CI set it checks the same values each time, so that luck does not decide whether a change
// lands; "make long" and runs without CI look for new ones. -rapid.seed overrides both.
func Property(t *testing.T, property func(*rapid.T)) {
	t.Helper()
	seedOnce.Do(func() {
		if seed := flag.Lookup("rapid.seed").Value; seed.String() == "0" && os.Getenv("CI") != "" && !Long() {
			_ = seed.Set(seedOfCI) // it is a number
		}
	})
	rapid.Check(t, property)
}

// Check is Property with a number of checks, unless -rapid.checks sets it. Tests cannot set the flag, because it
// would change other tests, which run at the same time.
func Check(t *testing.T, times int, property func(*rapid.T)) {
	t.Helper()
	checks := flag.Lookup("rapid.checks")
	given := checks.Value.String() != checks.DefValue
	ran, failed := 0, false
	Property(t, func(t *rapid.T) {
		if ran++; ran > times && !given && !failed { // after a failure, rapid looks for a shorter one
			return
		}
		ended := false
		defer func() { failed = failed || !ended || t.Failed() }()
		property(t)
		ended = true
	})
}
