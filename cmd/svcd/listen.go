package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"

	"warranty.example/svc/internal/config"
	"warranty.example/svc/internal/listen"
	"warranty.example/svc/internal/operate"
)

// listeners are the open sockets of the service.
type listeners struct {
	public   net.Listener
	redirect net.Listener // nil without --http-listen
}

// Close closes the sockets. Closing them again is a no-op.
func (l listeners) Close() {
	_ = l.public.Close() // already closed after a normal stop
	if l.redirect != nil {
		_ = l.redirect.Close()
	}
}

// openListeners listens on the addresses of --listen and --http-listen.
func openListeners(c config.Config) (l listeners, err error) {
	opener, err := listen.New()
	if err != nil {
		return l, operate.UsageError{Err: err}
	}
	if l.public, err = openListener(opener, c, "--listen", c.Listen); err != nil {
		return l, err
	}
	if c.HTTPListen != "" {
		if l.redirect, err = openListener(opener, c, "--http-listen", c.HTTPListen); err != nil {
			l.Close()
			return l, err
		}
	}
	if err := opener.Close(); err != nil {
		l.Close()
		return l, operate.UsageError{Err: err}
	}
	return l, nil
}

func openListener(opener *listen.Opener, c config.Config, flag, address string) (net.Listener, error) {
	listener, err := opener.Open(address, c.SocketMode)
	var wrong listen.AddressError
	switch {
	case errors.As(err, &wrong):
		return nil, operate.UsageError{Err: fmt.Errorf("%s: cannot listen on %s: %w", flag, address, err)}
	case err != nil:
		return nil, fmt.Errorf("cannot listen on %s: %w; choose another address with %s", address, err, flag)
	}
	return listener, nil
}

// openAdmin listens on the address of --admin-listen. It returns nil without one.
func openAdmin(c config.Config) (net.Listener, error) {
	if c.AdminListen == "" {
		return nil, nil
	}
	admin, err := net.Listen("tcp", c.AdminListen)
	if err != nil {
		return nil, fmt.Errorf("--admin-listen: %w; choose another port", err)
	}
	return admin, nil
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
