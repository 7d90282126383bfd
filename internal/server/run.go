package server

import (
	"context"
	"errors"
	"log/slog"
	"net"
	"net/http"
	"sync"
	"time"
)

// Run serves until the context is done. Then it drains: for s.Drain it keeps serving
// while /readyz returns 503, so that load balancers send new requests elsewhere before
// the listener closes. Requests in progress get s.StopTimeout to finish; after that
// their connections are closed. Finally it writes the usage counts that are still in memory.
func (s *Server) Run(ctx context.Context, listener net.Listener) error {
	handler, err := s.Handler()
	if err != nil {
		return err
	}
	open := newConnections(listener, s.MaxConnections, s.ConnectionsPerAddress, s.Proxies, s.Log)
	if s.Metrics != nil {
		s.Metrics.watch(s, open)
	}
	httpServer := newHTTPServer(handler, s.Log)
	httpServer.ConnState = open.track
	worker, stopWorker := context.WithCancel(context.WithoutCancel(ctx))
	var workers sync.WaitGroup
	workers.Go(func() { s.Service.Run(worker) })
	workers.Go(func() { s.Jobs.Run(worker) })

	failed := make(chan error, 1)
	go func() { failed <- s.serve(httpServer, open) }()
	err = s.serveUntil(ctx.Done(), failed)
	s.draining.Store(true)
	if err == nil && s.Drain > 0 {
		s.Log.Info("draining: requests are still served; a second signal stops the process immediately",
			"drain", s.Drain.String())
		drained, cancel := context.WithTimeout(context.WithoutCancel(ctx), s.Drain)
		err = s.serveUntil(drained.Done(), failed)
		cancel()
	}
	s.Log.Info("stopping")
	stop, cancel := context.WithTimeout(context.WithoutCancel(ctx), s.StopTimeout)
	defer cancel()
	if stopping := httpServer.Shutdown(stop); stopping != nil {
		s.Log.Warn("closed connections with unfinished requests", "timeout", s.StopTimeout.String())
		err = errors.Join(err, httpServer.Close())
	}
	stopWorker()
	workers.Wait()
	return errors.Join(err, s.Service.FlushUsage(context.WithoutCancel(ctx)))
}

// serveUntil waits for done, or returns the error that requires stopping immediately.
func (s *Server) serveUntil(done <-chan struct{}, failed <-chan error) error {
	select {
	case <-done:
		return nil
	case err := <-failed:
		return err
	case <-s.Service.Store.Failed():
		return errors.New("writing to disk failed; stopping so that no write is acknowledged that may be lost")
	}
}

// newHTTPServer returns a server with limits on the time and memory of each connection.
func newHTTPServer(handler http.Handler, log *slog.Logger) *http.Server {
	return &http.Server{
		Handler:           handler,
		ReadHeaderTimeout: readHeaderTimeout,
		ReadTimeout:       readTimeout,
		WriteTimeout:      writeTimeout,
		IdleTimeout:       idleTimeout,
		MaxHeaderBytes:    maxHeaderBytes,
		ErrorLog:          errorLog(log),
	}
}

// Admin serves profiles and metrics on a separate listener until the context is done.
func Admin(ctx context.Context, listener net.Listener, log *slog.Logger, metrics http.Handler) {
	httpServer := newHTTPServer(adminRoutes(metrics), log)
	httpServer.WriteTimeout = 5 * time.Minute // profiles run for the requested duration
	go func() {
		<-ctx.Done()
		_ = httpServer.Close() // no need to wait for admin requests
	}()
	if err := httpServer.Serve(listener); err != nil && !errors.Is(err, http.ErrServerClosed) {
		log.Error("the admin listener failed", "error", err.Error())
	}
}
