package service

import (
	"context"
	"errors"
	"sync"
	"time"

	"warranty.example/svc/internal/store"
	"warranty.example/svc/warranty"
)

const (
	requestsWaiting = 20_000 // requests buffered in memory, about 8 MiB
	requestsAtOnce  = 4000   // requests per transaction, about 40 ms in which other writes may wait
	requestsPruned  = 500    // requests of a user between removals of the oldest
)

// requestLog buffers requests until the worker writes them. It never blocks: when the
// buffer is full, it drops and counts new requests.
type requestLog struct {
	mu      sync.Mutex
	waiting []store.Request
	dropped int
	written map[warranty.ID]int // by user, since the last removal of the oldest
}

func newRequestLog() *requestLog { return &requestLog{written: map[warranty.ID]int{}} }

func (l *requestLog) add(list ...store.Request) {
	l.mu.Lock()
	defer l.mu.Unlock()
	room := min(len(list), requestsWaiting-len(l.waiting))
	l.waiting = append(l.waiting, list[:room]...)
	l.dropped += len(list) - room
}

func (l *requestLog) take() (list []store.Request, dropped int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	list, dropped = l.waiting, l.dropped
	l.waiting, l.dropped = nil, 0
	return list, dropped
}

// wrote counts written requests and returns the users whose oldest ones are to be
// removed.
func (l *requestLog) wrote(list []store.Request) (users []warranty.ID) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, r := range list {
		if l.written[r.User]++; l.written[r.User] >= requestsPruned {
			delete(l.written, r.User)
			users = append(users, r.User)
		}
	}
	return users
}

// RequestInfo describes a completed HTTP request.
type RequestInfo struct {
	Method, Route, RequestID, Client string
	Status                           int
	Took                             time.Duration
}

var knownMethods = map[string]bool{
	"GET": true, "HEAD": true, "POST": true, "PUT": true, "PATCH": true, "DELETE": true, "OPTIONS": true,
}

// Record records a request made with a token. It ignores other credentials.
func (s *Service) Record(p warranty.Principal, a RequestInfo) {
	if p.Credential != warranty.ByToken {
		return
	}
	if !knownMethods[a.Method] {
		a.Method = "-" // clients can send any word
	}
	s.requests.add(store.Request{
		User: p.Account.ID,
		RequestRecord: warranty.RequestRecord{
			ID:        s.NewID(),
			Token:     warranty.TokenName{ID: p.CredentialID},
			At:        s.now(),
			Method:    a.Method,
			Route:     a.Route,
			Status:    a.Status,
			Ms:        int((a.Took + time.Millisecond - 1) / time.Millisecond),
			RequestID: warranty.Printable(a.RequestID, 64),
			Address:   p.Address,
			Client:    warranty.Printable(a.Client, warranty.MaxRequestClient),
			Door:      p.Door,
		},
	})
}

// flushRequests writes the buffered requests. If a write fails, they are buffered again
// as far as there is room.
func (s *Service) flushRequests(ctx context.Context) error {
	list, dropped := s.requests.take()
	if dropped > 0 {
		s.Log.Warn("requests not recorded: buffer full", "requests", dropped)
	}
	for len(list) > 0 {
		some := list[:min(len(list), requestsAtOnce)]
		if err := s.Store.Write(ctx, func(tx *store.Tx) error { return tx.InsertRequests(some) }); err != nil {
			s.requests.add(list...)
			return err
		}
		list = list[len(some):]
		for _, user := range s.requests.wrote(some) {
			prune := func(tx *store.Tx) error { return tx.PruneRequests(user, warranty.MaxRequestsKept) }
			if err := s.Store.Write(ctx, prune); err != nil {
				s.requests.add(list...)
				return err
			}
		}
	}
	return nil
}

// SweepRequests removes old requests, and those beyond the limit of each user.
func (s *Service) SweepRequests(ctx context.Context) error {
	return s.Store.SweepRequests(ctx, s.now().Add(-warranty.RequestLifetime), warranty.MaxRequestsKept)
}

// ListTokenRequests lists the requests of one of the principal's tokens.
func (s *Service) ListTokenRequests(
	ctx context.Context, p warranty.Principal, in warranty.ListTokenRequests,
) (warranty.Page[warranty.RequestRecord], error) {
	if err := in.Check(); err != nil {
		return warranty.Page[warranty.RequestRecord]{}, err
	}
	list, total, err := s.Store.TokenRequests(ctx, p.Account.ID, in.ID, in.Paging)
	return warranty.PageOf(list, in.Paging, total), err
}

// ListRequests lists the requests of all of the principal's tokens, for the web pages.
func (s *Service) ListRequests(
	ctx context.Context, p warranty.Principal, page warranty.Paging,
) (warranty.Page[warranty.RequestRecord], error) {
	var c warranty.Checks
	if page.Check(&c); c.Err() != nil {
		return warranty.Page[warranty.RequestRecord]{}, c.Err()
	}
	list, total, err := s.Store.Requests(ctx, p.Account.ID, page)
	return warranty.PageOf(list, page, total), err
}

// LastRequests returns the newest recorded request of each token that has one.
func (s *Service) LastRequests(
	ctx context.Context, p warranty.Principal, tokens []warranty.Token,
) (map[warranty.ID]warranty.RequestRecord, error) {
	last := map[warranty.ID]warranty.RequestRecord{}
	for _, t := range tokens {
		if t.LastUsedAt == nil {
			continue
		}
		request, err := s.Store.LastRequest(ctx, p.Account.ID, t.ID)
		switch {
		case err == nil:
			last[t.ID] = request
		case !errors.Is(err, warranty.ErrNotFound):
			return nil, err
		}
	}
	return last, nil
}
