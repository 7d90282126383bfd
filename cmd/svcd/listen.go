package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"

	"warranty.example/svc/internal/config"
	"warranty.example/svc/internal/listen"
)

// openListener listens on the address of --listen.
func openListener(c config.Config) (net.Listener, error) {
	opener, err := listen.New()
	if err != nil {
		return nil, usageError{err}
	}
	listener, err := opener.Open(c.Listen, c.SocketMode)
	var wrong listen.AddressError
	switch {
	case errors.As(err, &wrong):
		return nil, usageError{fmt.Errorf("--listen: cannot listen on %s: %w", c.Listen, err)}
	case err != nil:
		return nil, fmt.Errorf("cannot listen on %s: %w; choose another address with --listen", c.Listen, err)
	}
	if err := opener.Close(); err != nil {
		return nil, errors.Join(usageError{err}, listener.Close())
	}
	return listener, nil
}

// addressOf returns the address of a listener in the form of --listen.
func addressOf(listener net.Listener) string {
	if _, ok := listener.Addr().(*net.UnixAddr); ok {
		return "unix:" + listener.Addr().String()
	}
	return listener.Addr().String()
}

// notify tells systemd that the service is ready and, once the context is done, that it
// is stopping. The watchdog runs until the returned function is called.
func notify(ctx context.Context, log *slog.Logger) (stop func()) {
	tell := func(state string) {
		if err := listen.Notify(state); err != nil {
			log.Warn("cannot notify systemd", "state", state, "error", err.Error())
		}
	}
	tell(listen.Ready)
	context.AfterFunc(ctx, func() { tell(listen.Stopping) })
	watched, stop := context.WithCancel(context.WithoutCancel(ctx))
	go listen.Watchdog(watched)
	return stop
}
