// Package e2e tests svcd, svc and svc-mcp as processes. Scripts in testdata are named
// after the behavior that they check; tests that need goroutines or timing are in Go.
package e2e

import (
	"os"
	"testing"

	"warranty.example/svc/e2e/lab"
)

func TestMain(m *testing.M) {
	if os.Getenv(actAsBrowser) != "" {
		os.Exit(openInBrowser())
	}
	os.Exit(lab.Run(m))
}
