package service

import (
	"context"
	"errors"
	"sync"
	"time"

	"warranty.example/svc/internal/store"
	"warranty.example/svc/warranty"
)

// usage counts the uses of tokens in memory; the worker writes them every few
// seconds, so that no request waits for it.
type usage struct {
	mu   sync.Mutex
	uses map[usageKey]*store.TokenUse
}

type usageKey struct {
	token warranty.ID
	day   warranty.Date
}

func newUsage() *usage { return &usage{uses: map[usageKey]*store.TokenUse{}} }

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

func (u *usage) take() []store.TokenUse {
	u.mu.Lock()
	defer u.mu.Unlock()
	list := make([]store.TokenUse, 0, len(u.uses))
	for _, use := range u.uses {
		list = append(list, *use)
	}
	clear(u.uses)
	return list
}

// Used counts one request of a principal's token.
func (s *Service) Used(p warranty.Principal) {
	if p.Credential != warranty.ByToken {
		return
	}
	now := s.now()
	s.usage.add(store.TokenUse{Token: p.CredentialID, Day: warranty.DateOf(now), Requests: 1, Last: now})
}

// FlushUsage writes what was counted and recorded. What can not be written is kept for the next time.
func (s *Service) FlushUsage(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, 10*time.Second)
	defer cancel()
	return errors.Join(s.flushUses(ctx), s.flushRequests(ctx))
}

func (s *Service) flushUses(ctx context.Context) error {
	uses := s.usage.take()
	if len(uses) == 0 {
		return nil
	}
	err := s.Store.Write(ctx, func(tx *store.Tx) error { return tx.AddUsage(uses) })
	if err != nil {
		for _, use := range uses {
			s.usage.add(use)
		}
	}
	return err
}
