package server

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"time"
)

// Run serves until the context ends. Then it drains: for s.Drain it keeps serving
// while /readyz answers 503, so that balancers send new requests elsewhere before
// the listener closes. Requests under way get s.StopTimeout to finish; after that
// they are cut off. At the end it writes what was only counted.
func (s *Server) Run(ctx context.Context, listener net.Listener) error {
	handler, err := s.Handler()
	if err != nil {
		return err
	}
	open := newConnections(listener, s.MaxConnections, s.ConnectionsPerAddress, s.Proxies, s.Log)
	if s.Metrics != nil {
		s.Metrics.watch(open)
	}
	httpServer := newHTTPServer(handler, s.Log)
	httpServer.ConnState = open.track
	worker, stopWorker := context.WithCancel(context.WithoutCancel(ctx))
	worked := make(chan struct{})
	go func() { defer close(worked); s.Service.Run(worker) }()

	failed := make(chan error, 1)
	go func() { failed <- httpServer.Serve(open) }()
	err = s.serveUntil(ctx.Done(), failed)
	s.draining.Store(true)
	if err == nil && s.Drain > 0 {
		s.Log.Info("draining: new requests are still served, another signal ends the process at once", "drain", s.Drain.String())
		drained, cancel := context.WithTimeout(context.WithoutCancel(ctx), s.Drain)
		err = s.serveUntil(drained.Done(), failed)
		cancel()
	}
	s.Log.Info("stopping")
	stop, cancel := context.WithTimeout(context.WithoutCancel(ctx), s.StopTimeout)
	defer cancel()
	if stopping := httpServer.Shutdown(stop); stopping != nil {
		s.Log.Warn("requests that took longer to end were cut off", "longest", s.StopTimeout.String())
		err = errors.Join(err, httpServer.Close())
	}
	stopWorker()
	<-worked
	return errors.Join(err, s.Service.FlushUsage(context.WithoutCancel(ctx)))
}

// serveUntil waits for the channel, or for a reason to stop at once.
func (s *Server) serveUntil(done <-chan struct{}, failed <-chan error) error {
	select {
	case <-done:
		return nil
	case err := <-failed:
		return err
	case <-s.Service.Store.Failed():
		return errors.New("the disk can not be trusted; the service stops so that nothing is acknowledged that may be lost")
	}
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
