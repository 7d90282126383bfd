package api

import (
	"context"

	"warranty.example/svc/warranty"
)

// Caller is who asks and by which request, as the server found out before an
// edge gets to see it.
type Caller struct {
	warranty.Principal
	RequestID string
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
