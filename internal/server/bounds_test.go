package server

import (
	"log/slog"
	"testing"
	"time"
)

// TestConnectionsAreBounded checks the timeouts that TestSlowClientsAreSentAway in e2e observes.
func TestConnectionsAreBounded(t *testing.T) {
	s := newHTTPServer(nil, slog.New(slog.DiscardHandler))
	if s.ReadHeaderTimeout != 5*time.Second || s.ReadTimeout != 30*time.Second || s.WriteTimeout != time.Minute || s.MaxHeaderBytes != 32<<10 {
		t.Errorf("header timeout %v and limit %d bytes, read timeout %v, write timeout %v",
			s.ReadHeaderTimeout, s.MaxHeaderBytes, s.ReadTimeout, s.WriteTimeout)
	}
}
