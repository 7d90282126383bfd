package service

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/google/uuid"

	"warranty.example/svc/internal/store"
	"warranty.example/svc/warranty"
)

// usage counts requests per token in memory. The worker writes the counts every few
// seconds.
type usage struct {
	mu   sync.Mutex
	uses map[usageKey]*store.TokenUse

	flushing sync.Mutex       // held while a batch is written
	batch    store.UsageBatch // the batch being written, or one whose write failed
}

type usageKey struct {
	token warranty.ID
	day   warranty.Date
}

func newUsage() *usage {
	return &usage{
		uses:  map[usageKey]*store.TokenUse{},
		batch: store.UsageBatch{Writer: warranty.ID(uuid.Must(uuid.NewV7()))},
	}
}

func (u *usage) add(use store.TokenUse) {
	u.mu.Lock()
	defer u.mu.Unlock()
	key := usageKey{use.Token, use.Day}
	have, ok := u.uses[key]
	if !ok {
		u.uses[key] = &use
		return
	}
	have.Requests += use.Requests
	if use.Last.After(have.Last) {
		have.Last = use.Last
	}
}

// take starts a new batch with the counts since the last one.
func (u *usage) take() {
	u.mu.Lock()
	defer u.mu.Unlock()
	u.batch.Uses = make([]store.TokenUse, 0, len(u.uses))
	for _, use := range u.uses {
		u.batch.Uses = append(u.batch.Uses, *use)
	}
	u.batch.Number++
	clear(u.uses)
}

// Used counts one request of a principal's token.
func (s *Service) Used(p warranty.Principal) {
	if p.Credential != warranty.ByToken {
		return
	}
	now := s.now()
	s.usage.add(store.TokenUse{Token: p.CredentialID, Day: warranty.DateOf(now), Requests: 1, Last: now})
}

// FlushUsage writes usage counts, requests and server errors, and keeps them if a write fails; and the last uses of
// sessions.
func (s *Service) FlushUsage(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, 10*time.Second)
	defer cancel()
	return errors.Join(s.flushUses(ctx), s.flushSeen(ctx), s.flushRequests(ctx), s.flushErrors(ctx))
}

// flushUses writes a batch of counts. A failed batch is written again unchanged, because
// its transaction may have been committed.
func (s *Service) flushUses(ctx context.Context) error {
	s.usage.flushing.Lock()
	defer s.usage.flushing.Unlock()
	for range 2 { // a failed batch, and a new one
		if len(s.usage.batch.Uses) == 0 {
			s.usage.take()
		}
		if len(s.usage.batch.Uses) == 0 {
			return nil
		}
		now := s.now()
		if err := s.Store.Write(ctx, func(tx *store.Tx) error { return tx.AddUsage(s.usage.batch, now) }); err != nil {
			return err
		}
		s.usage.batch.Uses = nil
	}
	return nil
}
