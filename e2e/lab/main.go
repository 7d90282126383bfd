// Package lab runs the programs as processes for tests: svcd and its requests, mailboxes, and connections that can be
// interrupted.
package lab

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"warranty.example/svc/internal/testenv"
)

// Binaries is the folder of the programs under test.
var Binaries string

var atExit []func()

// AtExit ends what several tests share after the last of them, such as a process.
func AtExit(end func()) { atExit = append(atExit, end) }

// Run builds the programs, runs the tests of a package and returns the exit status.
func Run(m *testing.M) int {
	dir, err := os.MkdirTemp("", "svc-e2e")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer os.RemoveAll(dir)
	Binaries = dir
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

// Svcd is the path of the server.
func Svcd() string { return filepath.Join(Binaries, "svcd") }

// Svc is the path of the command-line client.
func Svc() string { return filepath.Join(Binaries, "svc") }
