// Package e2e tests svcd, svc and svc-mcp as processes. Scripts in testdata are named
// after the behavior that they check; tests that need goroutines or timing are in Go.
package e2e

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"warranty.example/svc/internal/testenv"
)

// binaries is the folder of the programs under test.
var binaries string

// atExit stops processes that several tests share.
var atExit []func()

func TestMain(m *testing.M) {
	if os.Getenv(actAsBrowser) != "" {
		os.Exit(openInBrowser())
	}
	os.Exit(run(m))
}

// run builds the programs and runs the tests.
func run(m *testing.M) int {
	dir, err := os.MkdirTemp("", "svc-e2e")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer os.RemoveAll(dir)
	binaries = dir
	defer func() {
		for _, end := range atExit {
			end()
		}
	}()
	if err := testenv.Programs(dir, "svcd", "svc", "svc-mcp"); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return m.Run()
}

// svcd is the path of the server.
func svcd() string { return filepath.Join(binaries, "svcd") }
