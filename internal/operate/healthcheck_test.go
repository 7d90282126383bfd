package operate

import (
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"testing"

	"warranty.example/svc/internal/config"
)

func TestHealthcheck(t *testing.T) {
	handler := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != "/healthz" {
			w.WriteHeader(http.StatusServiceUnavailable)
		}
	})
	check := func(listen, path, want string) {
		t.Helper()
		got := ""
		if err := healthcheck(t.Context(), config.Config{Listen: listen, PublicURL: "https://w.example"}, path); err != nil {
			got = err.Error()
		}
		if got == "" != (want == "") || !strings.Contains(got, want) {
			t.Errorf("%s at %s: %q, want %q", path, listen, got, want)
		}
	}
	plain, secure := httptest.NewServer(handler), httptest.NewUnstartedServer(handler)
	secure.Config.ErrorLog = log.New(t.Output(), "", 0)
	secure.StartTLS()
	defer secure.Close()
	for _, s := range []*httptest.Server{plain, secure} {
		port := s.URL[strings.LastIndex(s.URL, ":")+1:]
		check("127.0.0.1:"+port, "/healthz", "")
		check("0.0.0.0:"+port, "/healthz", "")
		check(":"+port, "/healthz", "")
		check("127.0.0.1:"+port, "/readyz", "/readyz returned 503")
	}
	plain.Close()
	check(plain.Listener.Addr().String(), "/healthz", "no answer from "+plain.Listener.Addr().String()+": dial tcp")

	socket := filepath.Join(t.TempDir(), "s")
	listener, err := net.Listen("unix", socket)
	if err != nil {
		t.Fatal(err)
	}
	local := &httptest.Server{Listener: listener, Config: &http.Server{Handler: handler}}
	local.Start()
	defer local.Close()
	check("unix:"+socket, "/healthz", "")
	check("unix:"+socket, "/readyz", "/readyz returned 503")
	check("systemd:svcd", "/healthz", "give the one of the socket unit")
}
