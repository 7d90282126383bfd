package server

import (
	"log/slog"
	"testing"
	"time"
)

// TestConnectionsAreBounded reads how long a connection may take; TestSlowClientsAreSentAway in e2e sees it.
func TestConnectionsAreBounded(t *testing.T) {
	s := newHTTPServer(nil, slog.New(slog.DiscardHandler))
	if s.ReadHeaderTimeout != 5*time.Second || s.ReadTimeout != 30*time.Second || s.WriteTimeout != time.Minute || s.MaxHeaderBytes != 32<<10 {
		t.Errorf("a header has %v and %d bytes, a request %v, an answer %v", s.ReadHeaderTimeout, s.MaxHeaderBytes, s.ReadTimeout, s.WriteTimeout)
	}
}
