package main

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"warranty.example/svc/internal/config"
)

func TestHealthcheck(t *testing.T) {
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != "/healthz" {
			w.WriteHeader(http.StatusServiceUnavailable)
		}
	}))
	_, port, _ := strings.Cut(strings.TrimPrefix(s.URL, "http://"), ":")
	check := func(listen, path, want string) {
		t.Helper()
		got := ""
		if err := healthcheck(t.Context(), config.Config{Listen: listen}, path); err != nil {
			got = err.Error()
		}
		if got == "" != (want == "") || !strings.Contains(got, want) {
			t.Errorf("%s at %s: %q, want %q", path, listen, got, want)
		}
	}
	check("127.0.0.1:"+port, "/healthz", "")
	check("0.0.0.0:"+port, "/healthz", "")
	check(":"+port, "/healthz", "")
	check("127.0.0.1:"+port, "/readyz", "/readyz returned 503")
	s.Close()
	check("127.0.0.1:"+port, "/healthz", "no answer from 127.0.0.1:"+port)
}
