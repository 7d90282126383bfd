package service

import (
	"bytes"
	"context"
	"errors"
	"maps"
	"slices"
	"sync"
	"time"

	"warranty.example/svc/api"
	"warranty.example/svc/internal/store"
	"warranty.example/svc/warranty"
)

// ListSessions lists the sessions of the principal, the most recently used first.
func (s *Service) ListSessions(
	ctx context.Context, p warranty.Principal, _ warranty.ListSessions,
) (warranty.AccountSessions, error) {
	list, err := s.Store.Sessions(ctx, p.User.ID, s.now())
	for i := range list {
		list[i].Current = list[i].ID == p.CredentialID
	}
	return warranty.AccountSessions{Sessions: list}, err
}

// SignOut ends the session of the request.
func (s *Service) SignOut(ctx context.Context, p warranty.Principal, _ warranty.SignOut) (warranty.None, error) {
	err := s.Store.Write(ctx, func(tx *store.Tx) error { return tx.DeleteSession(p.CredentialID) })
	if errors.Is(err, warranty.ErrNotFound) {
		return warranty.None{}, nil // the session has ended already
	}
	if err == nil {
		s.logEnd(ctx, p, p.User.ID, "signed out")
	}
	return warranty.None{}, err
}

// EndSession ends one of the principal's sessions. Another one than that of the request needs a confirmed session.
func (s *Service) EndSession(ctx context.Context, p warranty.Principal, in warranty.EndSession) (warranty.None, error) {
	if in.ID == p.CredentialID {
		return s.SignOut(ctx, p, warranty.SignOut{})
	}
	if err := s.requireConfirmed(p); err != nil {
		return warranty.None{}, err
	}
	now := s.now()
	err := s.writeLocked(ctx, p.Self(), func(tx *store.Tx, _ store.Account) error {
		return tx.EndSessionOf(p.User.ID, in.ID, now)
	})
	if err == nil {
		s.logEnd(ctx, p, p.User.ID, "signed out another session", "session", in.ID.String())
	}
	return warranty.None{}, err
}

// EndOtherSessions ends all sessions of the principal but that of the request, and sign-ins that are not complete. It
// needs a confirmed session.
func (s *Service) EndOtherSessions(
	ctx context.Context, p warranty.Principal, in warranty.EndOtherSessions,
) (warranty.None, error) {
	if !in.Others {
		var c warranty.Checks
		c.Add("others", "required", "Must be true: this ends all sessions but the current one.")
		return warranty.None{}, c.Err()
	}
	return warranty.None{}, s.endAllBut(ctx, p, p.CredentialID, "signed out all other sessions")
}

// SignOutEverywhere ends all sessions of the principal, including that of the request, and sign-ins that are not
// complete. It needs a confirmed session.
func (s *Service) SignOutEverywhere(ctx context.Context, p warranty.Principal) error {
	return s.endAllBut(ctx, p, warranty.ID{}, "signed out everywhere")
}

// endAllBut ends the sessions of the principal but one, for whoever confirmed their own.
func (s *Service) endAllBut(ctx context.Context, p warranty.Principal, kept warranty.ID, what string) error {
	if err := s.requireConfirmed(p); err != nil {
		return err
	}
	err := s.writeLocked(ctx, p.Self(), func(tx *store.Tx, _ store.Account) error {
		return endSessions(tx, p.User.ID, kept)
	})
	if err == nil {
		s.logEnd(ctx, p, p.User.ID, what)
	}
	return err
}

// endSessions ends all sessions of a locked person but one, and sign-ins that are not complete.
func endSessions(tx *store.Tx, user, kept warranty.ID) error {
	if err := tx.StopSigningIn(user); err != nil {
		return err
	}
	if err := tx.DeleteFlows(user); err != nil {
		return err
	}
	return tx.DeleteOtherSessions(user, kept)
}

// logEnd logs what a person did to their ways of signing in.
func (s *Service) logEnd(ctx context.Context, p warranty.Principal, user warranty.ID, what string, more ...any) {
	attrs := []any{"request_id", api.CallerOf(ctx).RequestID, "ip", p.Address, "door", p.Door.String(),
		"user", user.String()}
	if p.Method != "" {
		attrs = append(attrs, "method", string(p.Method))
	}
	s.Log.InfoContext(ctx, what, append(attrs, more...)...)
}

// UserSessions lists the sessions of a person for the operator.
func (s *Service) UserSessions(ctx context.Context, email string) ([]warranty.AccountSession, error) {
	account, err := s.accountOf(ctx, email)
	if err != nil {
		return nil, err
	}
	return s.Store.Sessions(ctx, account.ID, s.now())
}

// SignOutUser ends all sessions of a person for the operator, and sign-ins that are not complete. It returns how many
// sessions there were.
func (s *Service) SignOutUser(ctx context.Context, email string) (ended int, err error) {
	found, err := s.accountOf(ctx, email)
	if err != nil {
		return 0, err
	}
	return s.signOutUser(ctx, found.ID)
}

// SignOutAll does so for everyone, one by one.
func (s *Service) SignOutAll(ctx context.Context) (ended int, err error) {
	users, err := s.Store.SignedInUsers(ctx)
	for _, user := range users {
		n, err := s.signOutUser(ctx, user)
		if err != nil && !errors.Is(err, warranty.ErrNotFound) {
			return ended, err
		}
		ended += n
	}
	return ended, err
}

func (s *Service) signOutUser(ctx context.Context, user warranty.ID) (ended int, err error) {
	now := s.now()
	err = s.Store.Write(ctx, func(tx *store.Tx) (err error) {
		if _, err = tx.LockUser(user); err != nil {
			return err
		}
		if ended, err = tx.CountSessions(user, now); err != nil {
			return err
		}
		return endSessions(tx, user, warranty.ID{})
	})
	if err == nil {
		s.logEnd(ctx, operator, user, "signed out by the operator", "sessions", ended)
	}
	return ended, err
}

// seen collects when sessions were used. The worker writes it every few seconds; what is lost in a crash is harmless.
type seen struct {
	mu sync.Mutex
	at map[warranty.ID]time.Time
}

func newSeen() *seen { return &seen{at: map[warranty.ID]time.Time{}} }

func (s *seen) add(session warranty.ID, at time.Time) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.at[session] = at
}

func (s *seen) take() map[warranty.ID]time.Time {
	s.mu.Lock()
	defer s.mu.Unlock()
	taken := s.at
	s.at = map[warranty.ID]time.Time{}
	return taken
}

// flushSeen writes when sessions were used.
func (s *Service) flushSeen(ctx context.Context) error {
	at := s.seen.take()
	if len(at) == 0 {
		return nil
	}
	return s.Store.Write(ctx, func(tx *store.Tx) error {
		for _, id := range slices.SortedFunc(maps.Keys(at), func(a, b warranty.ID) int { return bytes.Compare(a[:], b[:]) }) {
			if err := tx.SeeSession(id, at[id]); err != nil {
				return err
			}
		}
		return nil
	})
}
