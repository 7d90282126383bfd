package engine

import (
	"errors"
	"time"

	"warranty.example/svc/warranty"
)

// outage is an Unavailable error that keeps its cause for the log.
type outage struct {
	refusal *warranty.Error
	cause   error
}

// Error returns the refusal and its cause in one line.
func (o outage) Error() string { return o.refusal.Error() + ": " + o.cause.Error() }

// Unwrap returns the refusal and its cause.
func (o outage) Unwrap() []error { return []error{o.refusal, o.cause} }

func unavailable(cause error) error {
	return outage{cause: cause, refusal: &warranty.Error{
		Code: warranty.Unavailable,
		Wait: 2 * time.Second,
		Message: "The database is unavailable. Try again in a moment. " +
			"Retries with the same Idempotency-Key create no duplicates.",
	}}
}

// joinErrors returns err unwrapped if second is nil, and both otherwise.
func joinErrors(err, second error) error {
	if second == nil {
		return err
	}
	return errors.Join(err, second)
}
