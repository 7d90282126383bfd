package client

import (
	"time"

	"warranty.example/svc/warranty"
)

// Error is a refusal by the service.
type Error struct {
	warranty.Problem
	// RetryAfter is how long the service asks to wait; 0 when it does not say.
	RetryAfter time.Duration
}

// Error is the problem in one line.
func (e *Error) Error() string { return string(e.Code) + ": " + e.Detail }

// Unwrap gives the refusal as the service's own error type.
func (e *Error) Unwrap() error {
	return &warranty.Error{Code: e.Code, Message: e.Detail, Fields: e.Errors, Wait: e.RetryAfter}
}

// NetworkError is a failure to reach the service or to understand its answer.
type NetworkError struct{ Err error }

// Error says what failed.
func (e *NetworkError) Error() string { return "can not reach the service: " + e.Err.Error() }

// Unwrap gives the cause.
func (e *NetworkError) Unwrap() error { return e.Err }
