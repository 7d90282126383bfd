package client

import (
	"errors"
	"net/http"
	"strconv"
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
	return &warranty.Error{Code: e.Code, Message: e.Detail, Fields: e.Errors, Wait: e.RetryAfter, ExistingID: e.ExistingID}
}

// NetworkError is a failure to reach the service or to understand its answer.
type NetworkError struct{ Err error }

// Error says what failed.
func (e *NetworkError) Error() string {
	var unexpected *UnexpectedAnswer
	if errors.As(e.Err, &unexpected) {
		return unexpected.Error()
	}
	return "cannot reach the service: " + e.Err.Error()
}

// Unwrap gives the cause.
func (e *NetworkError) Unwrap() error { return e.Err }

// UnexpectedAnswer is an answer that is not the service's: the page of a proxy in
// front of it, or of another program. It comes inside a NetworkError.
type UnexpectedAnswer struct {
	Status      int
	ContentType string
	Reason      string // what is unexpected
}

// Error says what came.
func (e *UnexpectedAnswer) Error() string {
	text := "unexpected response: status " + strconv.Itoa(e.Status)
	if name := http.StatusText(e.Status); name != "" {
		text += " " + name
	}
	if e.ContentType != "" {
		text += ", " + e.ContentType
	}
	return text + "; " + e.Reason
}
