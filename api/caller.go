package api

import (
	"context"
	"errors"

	"warranty.example/svc/warranty"
)

// Caller is the authenticated caller of a request. The server's middleware sets it.
type Caller struct {
	warranty.Principal
	RequestID string
	// FormCounted is true once a form was counted against the user's rate limit, and
	// FormRefused is the result. A request counts once, even if it writes several times.
	FormCounted bool
	FormRefused error
	// OnFailure, if set, gets the internal error that the request failed with, from any goroutine.
	OnFailure func(error)
}

// Fail reports the internal error that the request failed with. It is never sent to the client.
func (c *Caller) Fail(err error) {
	if c.OnFailure != nil {
		c.OnFailure(err)
	}
}

// StatusClientGone is logged for a request whose client closed the connection before
// the response. It is nginx's status; clients never see it.
const StatusClientGone = 499

// ClientGone reports whether a request failed only because its client disconnected.
func ClientGone(ctx context.Context, err error) bool {
	return errors.Is(ctx.Err(), context.Canceled) &&
		(errors.Is(err, context.Canceled) || warranty.AsError(err).Code == warranty.Unavailable)
}

type callerKey struct{}

// WithCaller returns a context with the caller.
func WithCaller(ctx context.Context, c *Caller) context.Context {
	return context.WithValue(ctx, callerKey{}, c)
}

// CallerOf returns the caller in ctx, or an anonymous one.
func CallerOf(ctx context.Context) *Caller {
	if c, ok := ctx.Value(callerKey{}).(*Caller); ok {
		return c
	}
	return &Caller{}
}
