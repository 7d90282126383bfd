package service

import (
	"context"
	"strings"
	"time"

	"warranty.example/svc/internal/store"
	"warranty.example/svc/warranty"
)

// NewCalendar creates a calendar feed of end dates and returns its secret, which is
// shown once. It replaces an earlier feed.
func (s *Service) NewCalendar(ctx context.Context, p warranty.Principal) (string, error) {
	code, err := warranty.NewCode(s.Random)
	if err != nil {
		return "", err
	}
	now := s.now()
	secret := strings.ToLower(strings.ReplaceAll(code, "-", ""))
	return secret, s.manage(ctx, p, func(tx *store.Tx, account store.Account) error {
		if err := s.requireVerified(account); err != nil {
			return err
		}
		return tx.SetCalendar(p.Account.ID, p.User.ID, warranty.HashCode(secret), now)
	})
}

// DropCalendar removes the principal's calendar feed.
func (s *Service) DropCalendar(ctx context.Context, p warranty.Principal) error {
	return s.manage(ctx, p, func(tx *store.Tx, _ store.Account) error { return tx.DropCalendar(p.Account.ID) })
}

// CalendarSince returns when the principal's calendar feed was created, or nil.
func (s *Service) CalendarSince(ctx context.Context, p warranty.Principal) (*time.Time, error) {
	return s.Store.HasCalendar(ctx, p.Account.ID)
}

// calendarMost is the maximum number of entries in a calendar feed.
const calendarMost = 1000

// Calendar lists the active warranties of the feed's owner that end within ten years,
// in the order of their end dates.
func (s *Service) Calendar(ctx context.Context, secret string) ([]warranty.Warranty, error) {
	user, err := s.Store.CalendarOwner(ctx, warranty.HashCode(secret))
	if err != nil {
		return nil, err
	}
	return s.Store.Ending(ctx, user, s.today(), s.today()+3650, calendarMost)
}
