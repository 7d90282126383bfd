package main

import (
	"context"
	"fmt"
	"log/slog"
	"net"
	"net/url"
	"sync"
	"time"

	"warranty.example/svc/internal/certs"
	"warranty.example/svc/internal/config"
	"warranty.example/svc/internal/server"
	"warranty.example/svc/internal/store"
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
func startTLS(
	ctx context.Context, c config.Config, srv *server.Server, files *certs.Files, redirect net.Listener,
) (stop func(), err error) {
	running, cancel := context.WithCancel(context.WithoutCancel(ctx))
	var beside sync.WaitGroup
	stop = func() { cancel(); beside.Wait() }
	var answer func(path string) (string, bool)
	if files != nil {
		srv.TLS, srv.CertificateExpires = server.TLSConfig(files.Certificate), files.Expires
		beside.Go(func() { files.Watch(running) })
	}
	if c.ACME {
		a, err := newACME(c, srv.Service.Store, srv.Log)
		if err != nil {
			return stop, err
		}
		a.HTTP = redirect != nil
		srv.TLS, srv.CertificateExpires, answer = server.TLSConfig(a.Certificate), a.Expires, a.Answer
		beside.Go(func() { a.Run(running) })
	}
	if redirect != nil {
		beside.Go(func() { srv.Redirect(running, redirect, answer) })
	}
	return stop, nil
}

func newACME(c config.Config, st *store.Store, log *slog.Logger) (*certs.ACME, error) {
	u, err := url.Parse(c.PublicURL)
	if err != nil {
		return nil, err
	}
	return &certs.ACME{
		Host:      u.Hostname(),
		Directory: c.ACMEDirectory,
		Email:     c.ACMEEmail,
		Store:     st,
		Log:       log,
	}, nil
}
