package server_test

import (
	"net"
	"net/http"
	"testing"

	"warranty.example/svc/internal/server"
	"warranty.example/svc/internal/servertest"
)

// TestAdminListenerWantsALoopbackHost rejects requests with another Host (B12), which
// prevents DNS rebinding.
func TestAdminListenerWantsALoopbackHost(t *testing.T) {
	t.Parallel()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	w := newWorld(t, servertest.SQLite(t))
	go server.Admin(t.Context(), listener, w.Server.Log, server.NewMetrics("test").Handler())
	for host, status := range map[string]int{
		"localhost": 200, "LOCALHOST:8081": 200, "127.0.0.1": 200, "127.0.0.1:9": 200, "127.8.8.8": 200, "[::1]:9": 200, "[::1]": 200,
		"evil.example": 421, "evil.example:8081": 421, "127.0.0.1.evil.example": 421, "localhost.evil.example": 421, "10.0.0.1": 421, "0.0.0.0": 421, "[2001:db8::1]": 421,
	} {
		for _, path := range []string{"/metrics", "/debug/pprof/cmdline"} {
			req, err := http.NewRequest("GET", "http://"+listener.Addr().String()+path, nil)
			if err != nil {
				t.Fatal(err)
			}
			req.Host = host
			resp, err := http.DefaultTransport.RoundTrip(req)
			if err != nil {
				t.Fatal(err)
			}
			resp.Body.Close()
			equal(t, host+path, resp.StatusCode, status)
		}
	}
}
