package service

import (
	"context"
	"errors"
	"sync"
	"time"

	"warranty.example/svc/warranty"
)

// turns gives one account after the other a turn to do work that needs much memory or time. An account has one place in the
// queue, so that its work does not hold up that of others.
type turns struct {
	turn     chan struct{}
	mu       sync.Mutex
	accounts map[warranty.ID]*accountPlace
}

// accountPlace is the place of an account in the queue.
type accountPlace struct {
	held  chan struct{}
	users int // requests that wait for it or have it
}

// newTurns returns turns for the work of as many accounts at a time.
func newTurns(atOnce int) *turns {
	return &turns{turn: make(chan struct{}, atOnce), accounts: map[warranty.ID]*accountPlace{}}
}

var errPlaceTaken = errors.New("the account has the turn")

// wait waits for the turn of an account. The caller must call done. The error is that of ctx, with errPlaceTaken if the
// account itself has the turn.
func (q *turns) wait(ctx context.Context, account warranty.ID) (done func(), err error) {
	q.mu.Lock()
	place := q.accounts[account]
	if place == nil {
		place = &accountPlace{held: make(chan struct{}, 1)}
		q.accounts[account] = place
	}
	place.users++
	q.mu.Unlock()
	leave := func() {
		q.mu.Lock()
		defer q.mu.Unlock()
		if place.users--; place.users == 0 {
			delete(q.accounts, account)
		}
	}
	for n, next := range []chan struct{}{place.held, q.turn} {
		select {
		case next <- struct{}{}:
			before := leave
			leave = func() { <-next; before() }
		case <-ctx.Done():
			leave()
			if n == 0 {
				return nil, errors.Join(errPlaceTaken, ctx.Err())
			}
			return nil, ctx.Err()
		}
	}
	return leave, nil
}

const (
	// papersAtOnce is the number of PDFs that a process makes at the same time. A sheet of 1,000 labels takes a second.
	papersAtOnce = 2
	// paperWait is the longest that a request waits for its turn.
	paperWait = 10 * time.Second
)

// PaperTurn waits for the turn to make a PDF. Everyone without a session has one place together, so that there is always a
// turn for others. The caller must call done.
func (s *Service) PaperTurn(ctx context.Context, p warranty.Principal) (done func(), err error) {
	waiting, cancel := context.WithTimeout(ctx, s.paperWait)
	defer cancel()
	done, err = s.papers.wait(waiting, p.Account.ID)
	switch {
	case err == nil:
		return done, nil
	case ctx.Err() != nil:
		return nil, ctx.Err()
	case errors.Is(err, errPlaceTaken):
		return nil, warranty.Refuse(warranty.RateLimited, "Another PDF is being made. Try again in a few seconds.").After(s.paperWait / 2)
	}
	return nil, &warranty.Error{
		Code: warranty.Unavailable, Wait: s.paperWait / 2, Message: "Too many PDFs are being made. Try again in a few seconds.",
	}
}
