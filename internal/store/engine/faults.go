package engine

import (
	"context"
	"errors"
)

// Fault is a failure to inject into one transaction.
type Fault uint8

// The faults that callers of a database can see.
const (
	NoFault Fault = iota
	// CommitFails rolls the transaction back.
	CommitFails
	// AnswerLost commits the transaction but returns an error, like a connection that breaks after
	// the commit.
	AnswerLost
)

var errInjected = errors.New("injected fault")

// InjectFaults makes transactions fail as next decides. It is for tests and must be called before
// first use.
func (db *DB) InjectFaults(next func() Fault) { db.backend = faultyBackend{db.backend, next} }

type faultyBackend struct {
	backend
	next func() Fault
}

func (e faultyBackend) write(ctx context.Context, fn func(Tx) error) error {
	fault := e.next()
	err := e.backend.write(ctx, func(tx Tx) error {
		if err := fn(tx); err != nil || fault != CommitFails {
			return err
		}
		return errInjected
	})
	if errors.Is(err, errInjected) || err == nil && fault == AnswerLost {
		return unavailable(errInjected)
	}
	return err
}
