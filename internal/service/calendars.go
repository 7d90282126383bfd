package service

import (
	"context"
	"strings"
	"time"

	"warranty.example/svc/internal/store"
	"warranty.example/svc/warranty"
)

// NewCalendar gives the principal a calendar of end dates and returns its secret,
// which is shown once. An earlier address stops working.
func (s *Service) NewCalendar(ctx context.Context, p warranty.Principal) (string, error) {
	code, err := warranty.NewCode(s.Random)
	if err != nil {
		return "", err
	}
	now := s.now()
	secret := strings.ToLower(strings.ReplaceAll(code, "-", ""))
	return secret, s.writeAlone(ctx, p, func(tx *store.Tx, account store.Account) error {
		if err := s.demandVerified(account); err != nil {
			return err
		}
		return tx.SetCalendar(p.User.ID, warranty.HashCode(secret), now)
	})
}

// DropCalendar takes the principal's calendar away.
func (s *Service) DropCalendar(ctx context.Context, p warranty.Principal) error {
	return s.writeAs(ctx, p, func(tx *store.Tx) error { return tx.DropCalendar(p.User.ID) })
}

// CalendarSince tells since when the principal has a calendar; nil when there is none.
func (s *Service) CalendarSince(ctx context.Context, p warranty.Principal) (*time.Time, error) {
	return s.Store.HasCalendar(ctx, p.User.ID)
}

// calendarMost bounds a calendar: more than this is nothing to look at day by day.
const calendarMost = 1000

// Calendar lists the warranties in force of whoever has given out the secret, as
// far as they end within ten years. Those that end first come first.
func (s *Service) Calendar(ctx context.Context, secret string) ([]warranty.Warranty, error) {
	user, err := s.Store.CalendarOwner(ctx, warranty.HashCode(secret))
	if err != nil {
		return nil, err
	}
	return s.Store.Ending(ctx, user, s.today(), s.today()+3650, calendarMost)
}
