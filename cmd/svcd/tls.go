package main

import (
	"context"
	"net"
	"sync"

	"warranty.example/svc/internal/certs"
	"warranty.example/svc/internal/config"
	"warranty.example/svc/internal/operate"
	"warranty.example/svc/internal/server"
)

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
		a, err := operate.NewACME(c, srv.Service.Store, srv.Log)
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
