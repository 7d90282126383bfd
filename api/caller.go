package api

import (
	"context"
	"errors"

	"warranty.example/svc/warranty"
)

// Caller is who asks and by which request, as the server found out before an
// edge gets to see it.
type Caller struct {
	warranty.Principal
	RequestID string
	// FormCounted says that a form was counted against its person's limit, and
	// FormRefused what came of it: a request counts once, whatever it writes.
	FormCounted bool
	FormRefused error
}

// StatusClientGone is logged for a request whose client closed the connection
// before it was answered. It is nginx's number; no client ever sees it.
const StatusClientGone = 499

// ClientGone reports whether a request failed only because its client has gone
// away: nobody is left to be told, and nothing is broken.
func ClientGone(ctx context.Context, err error) bool {
	return errors.Is(ctx.Err(), context.Canceled) && (errors.Is(err, context.Canceled) || warranty.AsError(err).Code == warranty.Unavailable)
}

type callerKey struct{}

// WithCaller puts the caller into the context of a request.
func WithCaller(ctx context.Context, c *Caller) context.Context {
	return context.WithValue(ctx, callerKey{}, c)
}

// CallerOf is the caller of a request; an anonymous one when there is none.
func CallerOf(ctx context.Context) *Caller {
	if c, ok := ctx.Value(callerKey{}).(*Caller); ok {
		return c
	}
	return &Caller{}
}
