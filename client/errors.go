package client

import (
	"errors"
	"net/http"
	"strconv"
	"time"

	"warranty.example/svc/warranty"
)

// Error is an error that the service returned.
type Error struct {
	warranty.Problem
	// RetryAfter is the wait that the service asks for, or 0.
	RetryAfter time.Duration
}

// Error returns the code and the detail.
func (e *Error) Error() string { return string(e.Code) + ": " + e.Detail }

// Unwrap returns the error as a *warranty.Error.
func (e *Error) Unwrap() error {
	refusal := &warranty.Error{
		Code:       e.Code,
		Message:    e.Detail,
		Fields:     e.Errors,
		Wait:       e.RetryAfter,
		ExistingID: e.ExistingID,
	}
	if e.FlowExpires != nil {
		refusal.SecondStep = &warranty.SecondStep{Flow: e.Flow, Methods: e.Methods, ExpiresAt: *e.FlowExpires}
	}
	return refusal
}

// NetworkError means that the service cannot be reached or its response is invalid.
type NetworkError struct{ Err error }

// Error describes the failure.
func (e *NetworkError) Error() string {
	var unexpected *UnexpectedResponse
	if errors.As(e.Err, &unexpected) {
		return unexpected.Error()
	}
	return "cannot reach the service: " + e.Err.Error()
}

// Unwrap returns the cause.
func (e *NetworkError) Unwrap() error { return e.Err }

// UnexpectedResponse is a response from something other than the service, such as a
// proxy. It is wrapped in a NetworkError.
type UnexpectedResponse struct {
	Status      int
	ContentType string
	Reason      string
}

// Error returns the status, the content type and the reason.
func (e *UnexpectedResponse) Error() string {
	text := "unexpected response: status " + strconv.Itoa(e.Status)
	if name := http.StatusText(e.Status); name != "" {
		text += " " + name
	}
	if e.ContentType != "" {
		text += ", " + e.ContentType
	}
	return text + "; " + e.Reason
}
