package server_test

import (
	"strings"
	"testing"

	"warranty.example/svc/internal/servertest"
)

// TestProbesAreNotInTheLog asks for /healthz and /readyz, which balancers do every second: the log at info has other
// requests only.
func TestProbesAreNotInTheLog(t *testing.T) {
	w := servertest.NewSQLite(t)
	for _, path := range []string{"/healthz", "/readyz", "/openapi.json"} {
		w.Get(path, "")
	}
	w.HTTP.Close() // waits for the log
	if log := w.Log.String(); strings.Contains(log, "/healthz") || strings.Contains(log, "/readyz") || !strings.Contains(log, "/openapi.json") {
		t.Errorf("the log is %s", log)
	}
}
