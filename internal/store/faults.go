package store

import (
	"context"
	"errors"
)

// Fault is what goes wrong with one transaction.
type Fault uint8

// The faults that a database shows to its callers.
const (
	NoFault Fault = iota
	// CommitFails undoes the transaction.
	CommitFails
	// AnswerLost commits the transaction and reports a failure all the same, as a
	// connection does that breaks between the two.
	AnswerLost
)

var errInjected = errors.New("a fault that was injected")

// InjectFaults makes transactions fail as next says. It is for tests, and must be
// called before the first use.
func (s *Store) InjectFaults(next func() Fault) { s.engine = faultyEngine{s.engine, next} }

type faultyEngine struct {
	engine
	next func() Fault
}

func (e faultyEngine) write(ctx context.Context, fn func(engineTx) error) error {
	fault := e.next()
	err := e.engine.write(ctx, func(tx engineTx) error {
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
