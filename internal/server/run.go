package server

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"time"

	"golang.org/x/net/netutil"
)

// Run serves until the context ends. Then it says that it is not ready, lets
// requests that are under way finish, and writes what was only counted.
func (s *Server) Run(ctx context.Context, listener net.Listener) error {
	handler, err := s.Handler()
	if err != nil {
		return err
	}
	httpServer := newHTTPServer(handler, s.Log)
	worker, stopWorker := context.WithCancel(context.WithoutCancel(ctx))
	worked := make(chan struct{})
	go func() { defer close(worked); s.Service.Run(worker) }()

	failed := make(chan error, 1)
	go func() { failed <- httpServer.Serve(netutil.LimitListener(listener, maxConnections)) }()
	select {
	case <-ctx.Done():
	case err = <-failed:
	case <-s.Service.Store.Failed():
		err = errors.New("the disk can not be trusted; the service stops so that nothing is acknowledged that may be lost")
	}
	s.stopped.Store(true)
	s.Log.Info("stopping")
	stop, cancel := context.WithTimeout(context.WithoutCancel(ctx), stopTimeout)
	defer cancel()
	if stopping := httpServer.Shutdown(stop); stopping != nil {
		err = errors.Join(err, fmt.Errorf("requests that took longer than %s to end were cut off: %w", stopTimeout, stopping))
	}
	stopWorker()
	<-worked
	return errors.Join(err, s.Service.FlushUsage(context.WithoutCancel(ctx)))
}

// newHTTPServer bounds what one connection may take of time and memory.
func newHTTPServer(handler http.Handler, log *slog.Logger) *http.Server {
	return &http.Server{Handler: handler, ReadHeaderTimeout: readHeaderTimeout, ReadTimeout: readTimeout, WriteTimeout: writeTimeout,
		IdleTimeout: idleTimeout, MaxHeaderBytes: maxHeaderBytes, ErrorLog: slog.NewLogLogger(log.Handler(), slog.LevelWarn)}
}

// Listen opens a TCP port, with an error that says what to do.
func Listen(address string) (net.Listener, error) {
	listener, err := net.Listen("tcp", address)
	if err != nil {
		return nil, fmt.Errorf("can not listen on %s: %w; choose another with --listen", address, err)
	}
	return listener, nil
}

// Admin serves profiles and metrics on a listener of their own until the context ends.
func Admin(ctx context.Context, listener net.Listener, log *slog.Logger, metrics http.Handler) {
	httpServer := newHTTPServer(adminRoutes(metrics), log)
	httpServer.WriteTimeout = 5 * time.Minute // a profile takes its time
	go func() {
		<-ctx.Done()
		_ = httpServer.Close() // nothing on it is worth waiting for
	}()
	if err := httpServer.Serve(listener); err != nil && !errors.Is(err, http.ErrServerClosed) {
		log.Error("the admin listener ended", "error", err.Error())
	}
}
