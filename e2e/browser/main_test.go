//go:build browser

// Package browser tests the pages of a running svcd in Chromium.
package browser

import (
	"os"
	"testing"

	"warranty.example/svc/e2e/lab"
)

func TestMain(m *testing.M) { os.Exit(lab.Run(m)) }
