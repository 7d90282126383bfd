// Package identity verifies what people sign in with: passkeys, one-time passwords, recovery codes and the ID tokens of
// providers. It also seals the secrets behind them. It is the only package that knows WebAuthn and OpenID Connect
// libraries. It stores nothing: callers pass in what is stored, and store what it returns.
package identity

import (
	"errors"
	"fmt"
)

// ErrRejected is in the chain of every error about an answer that does not prove what it has to. Callers give all of
// them one response.
var ErrRejected = errors.New("identity: rejected")

// RejectedError says why an answer was rejected, for the log. It never contains a secret.
type RejectedError struct{ Reason string }

func (e *RejectedError) Error() string { return "identity: rejected: " + e.Reason }

// Is makes every RejectedError an ErrRejected.
func (*RejectedError) Is(target error) bool { return target == ErrRejected }

func reject(format string, args ...any) error { return &RejectedError{fmt.Sprintf(format, args...)} }

// Unavailable says why passkeys cannot be used with the public URL.
type Unavailable string

// The reasons why passkeys are unavailable.
const (
	NeedsHTTPS  Unavailable = "passkeys need a public URL that starts with https://, or the host localhost"
	NeedsDomain Unavailable = "passkeys need a public URL with a domain name: browsers refuse IP addresses"
)

func (u Unavailable) Error() string { return string(u) }
