package server

import (
	"context"
	"crypto/tls"
	"errors"
	"io"
	"log"
	"log/slog"
	"net"
	"net/http"
	"strings"
)

// maxStreams is the number of concurrent requests on an HTTP/2 connection.
const maxStreams = 100

// TLSConfig returns the settings for connections that are encrypted with a certificate.
func TLSConfig(certificate func(*tls.ClientHelloInfo) (*tls.Certificate, error)) *tls.Config {
	return &tls.Config{
		MinVersion:     tls.VersionTLS12,
		GetCertificate: certificate,
		// The last one is for the challenges of a certificate authority (RFC 8737).
		NextProtos: []string{"h2", "http/1.1", "acme-tls/1"},
	}
}

// serve serves a listener, with TLS if it is configured. net/http bounds the time of a
// handshake by ReadHeaderTimeout.
func (s *Server) serve(server *http.Server, listener net.Listener) error {
	if s.TLS == nil {
		return server.Serve(listener)
	}
	server.TLSConfig = s.TLS
	server.HTTP2 = &http.HTTP2Config{MaxConcurrentStreams: maxStreams}
	return server.ServeTLS(listener, "", "")
}

// errorLog returns the log of an http.Server. Failed handshakes are logged at debug,
// because scanners and browsers that reject a certificate cause many.
func errorLog(to *slog.Logger) *log.Logger {
	return log.New(errorWriter{to}, "", 0)
}

type errorWriter struct{ log *slog.Logger }

// Write logs one message.
func (w errorWriter) Write(line []byte) (int, error) {
	level, message := slog.LevelWarn, strings.TrimSpace(string(line))
	if strings.HasPrefix(message, "http: TLS handshake error") {
		level = slog.LevelDebug
	}
	w.log.Log(context.Background(), level, message)
	return len(line), nil
}

// Redirect serves plain HTTP beside TLS until the context is done: it redirects pages to
// the public URL and answers the challenges of a certificate authority. Requests to
// the API are refused, so that a client that sends its credential unencrypted fails.
func (s *Server) Redirect(ctx context.Context, listener net.Listener, challenge func(path string) (string, bool)) {
	handler := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header()["X-Content-Type-Options"] = nosniff
		if challenge != nil && r.Method == http.MethodGet {
			if answer, ok := challenge(r.URL.Path); ok {
				w.Header().Set("Content-Type", "text/plain")
				_, _ = io.WriteString(w, answer) // fails only if the client has disconnected
				return
			}
		}
		isPage := (r.Method == http.MethodGet || r.Method == http.MethodHead) && !strings.HasPrefix(r.URL.Path, "/api/")
		if !isPage || !strings.HasPrefix(r.URL.Path, "/") {
			http.Error(w, "Use "+s.PublicURL+". Revoke credentials that you sent to this address: they were not encrypted.",
				http.StatusForbidden)
			return
		}
		target := s.PublicURL + r.URL.EscapedPath()
		if r.URL.RawQuery != "" {
			target += "?" + r.URL.RawQuery
		}
		w.Header().Set("Location", target)
		w.WriteHeader(http.StatusPermanentRedirect)
	})
	server := newHTTPServer(handler, s.Log)
	open := newConnections(listener, maxConnections, s.ConnectionsPerAddress, s.Proxies, s.Log)
	server.ConnState = open.track
	go func() {
		<-ctx.Done()
		_ = server.Close() // a redirect can be repeated
	}()
	if err := server.Serve(open); err != nil && !errors.Is(err, http.ErrServerClosed) {
		s.Log.Error("the HTTP listener failed", "error", err.Error())
	}
}
