package server

import (
	"net"
	"net/http"
	"net/http/pprof"
	"net/netip"
	"strings"
)

func adminRoutes(metrics http.Handler) http.Handler {
	mux := http.NewServeMux()
	mux.Handle("GET /metrics", metrics)
	mux.HandleFunc("GET /debug/pprof/", pprof.Index)
	mux.HandleFunc("GET /debug/pprof/cmdline", pprof.Cmdline)
	mux.HandleFunc("GET /debug/pprof/profile", pprof.Profile)
	mux.HandleFunc("GET /debug/pprof/symbol", pprof.Symbol)
	mux.HandleFunc("GET /debug/pprof/trace", pprof.Trace)
	return loopbackHost(mux)
}

// loopbackHost rejects requests whose Host is not localhost or a loopback address.
// This prevents DNS rebinding: a website that resolves its own name to 127.0.0.1
// could otherwise read everything through a browser on this machine.
func loopbackHost(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		host := r.Host
		if name, _, err := net.SplitHostPort(host); err == nil {
			host = name
		}
		ip, err := netip.ParseAddr(strings.Trim(host, "[]"))
		if !strings.EqualFold(host, "localhost") && (err != nil || !ip.Unmap().IsLoopback()) {
			http.Error(w, "The admin listener only accepts requests to localhost or a loopback address.",
				http.StatusMisdirectedRequest)
			return
		}
		next.ServeHTTP(w, r)
	})
}
