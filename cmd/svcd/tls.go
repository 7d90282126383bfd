package main

import (
	"context"
	"fmt"
	"log/slog"
	"net"
	"net/url"
	"time"

	"warranty.example/svc/internal/certs"
	"warranty.example/svc/internal/config"
	"warranty.example/svc/internal/server"
)

// openCertificate reads the certificate of --tls-cert. It returns nil without one.
func openCertificate(c config.Config, log *slog.Logger) (*certs.Files, error) {
	if c.TLSCert == "" {
		return nil, nil
	}
	files, err := certs.OpenFiles(c.TLSCert, c.TLSKey, log)
	if err != nil {
		return nil, usageError{fmt.Errorf("--tls-cert: %w", err)}
	}
	u, err := url.Parse(c.PublicURL)
	if err != nil {
		return nil, err
	}
	// Clients reject such a certificate. The operator may be about to replace it.
	if err := files.Check(u.Hostname(), time.Now()); err != nil {
		log.Warn("the certificate is not valid for the public URL", "error", err.Error())
	}
	return files, nil
}

// startTLS makes the server use the certificate and starts what runs beside it, until the
// returned function is called.
func startTLS(ctx context.Context, srv *server.Server, files *certs.Files, redirect net.Listener) (stop func()) {
	running, stop := context.WithCancel(context.WithoutCancel(ctx))
	if files != nil {
		srv.TLS, srv.CertificateExpires = server.TLSConfig(files.Certificate), files.Expires
		go files.Watch(running)
	}
	if redirect != nil {
		go srv.Redirect(running, redirect, nil)
	}
	return stop
}
