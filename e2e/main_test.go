// Package e2e runs the real svcd as a process and looks at it from outside. A
// script in testdata is named after what it promises; what needs goroutines or a
// stopwatch is a Go test.
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

// atExit is what ends when all tests have: what they share outlives each of them.
var atExit []func()

func TestMain(m *testing.M) { os.Exit(run(m)) }

// run gets what ships, as it ships, and then runs the tests.
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
