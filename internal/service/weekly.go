package service

import (
	"context"
	"slices"
	"time"

	"warranty.example/svc/internal/mail"
	"warranty.example/svc/internal/store"
	"warranty.example/svc/warranty"
)

const (
	weeklyHour   = 6  // UTC, on Monday
	weeklyAhead  = 28 // days of the endings in a weekly email
	weeklyListed = 20
)

// weekOf returns the Monday of the latest weekly email that is due.
func weekOf(now time.Time) warranty.Date {
	now = now.UTC().Add(-weeklyHour * time.Hour)
	return warranty.DateOf(now.AddDate(0, 0, -(int(now.Weekday())+6)%7))
}

// SendWeekly writes the weekly emails that are due. That an account got it is recorded in the transaction that
// writes the email, so it is sent once a week, regardless of the number of replicas. An email that was due while
// no replica was running is sent later in the week.
func (s *Service) SendWeekly(ctx context.Context) error {
	week := weekOf(s.now())
	for {
		accounts, err := s.Store.WeeklyDue(ctx, week, digestBatch)
		if err != nil || len(accounts) == 0 {
			return err
		}
		for _, id := range accounts {
			if err := s.sendWeekly(ctx, id, week); err != nil {
				return err
			}
		}
		s.wakeMail()
	}
}

func (s *Service) sendWeekly(ctx context.Context, account warranty.ID, week warranty.Date) error {
	content, err := s.week(ctx, account)
	if err != nil {
		return err
	}
	return s.Store.Write(ctx, func(tx *store.Tx) error {
		if _, err := tx.LockUser(account); err != nil {
			return err
		}
		first, err := tx.TakeWeekly(account, week)
		if err != nil || !first || content.EndingTotal+content.EndedTotal+int64(len(content.Waiting)) == 0 {
			return err
		}
		claims := make([]warranty.ID, len(content.Waiting))
		for i, c := range content.Waiting {
			claims[i] = c.ID
		}
		muted, err := tx.Mutes(claims...)
		if err != nil {
			return err
		}
		return s.mailRecipients(tx, account, store.WarrantyEndMails, func(to store.Recipient) *mail.Message {
			own := content
			own.Waiting = slices.DeleteFunc(slices.Clone(content.Waiting), func(c warranty.Claim) bool { return muted(to, c.ID) })
			if own.EndingTotal+own.EndedTotal+int64(len(own.Waiting)) == 0 {
				return nil
			}
			m := mail.In(to.Locale).WeeklyDigest(to.Email, to.Name, own, s.PublicURL)
			return &m
		})
	})
}

// week returns what ends in the next weeks and what ended in the last of the warranties that an account owns, and
// the claims that wait for it.
func (s *Service) week(ctx context.Context, account warranty.ID) (w mail.Week, err error) {
	today := s.today()
	list := func(status warranty.Status, from, to warranty.Date) ([]mail.Ending, int64, error) {
		off, err := s.Store.RemindersOff(ctx, account, from, to)
		if err != nil {
			return nil, 0, err
		}
		in := warranty.ListWarranties{Sort: warranty.ByEndDate}
		in.Paging = warranty.Paging{Page: 1, Limit: weeklyListed + len(off)}
		in.Status, in.Role, in.EndsFrom, in.EndsTo = status, warranty.Owner, from, to
		found, total, err := s.Store.Warranties(ctx, account, in, today)
		var endings []mail.Ending
		for _, r := range found {
			if off[r.ID] {
				total--
			} else if len(endings) < weeklyListed {
				endings = append(endings, mail.Ending{
					ID: r.ID, Product: r.ProductName, Reference: r.ReferenceNumber, Last: r.EndDate.Time(),
				})
			}
		}
		return endings, total, err
	}
	if w.Ending, w.EndingTotal, err = list(warranty.Active, today, today+weeklyAhead); err != nil {
		return w, err
	}
	if w.Ended, w.EndedTotal, err = list(warranty.Expired, today-7, today-1); err != nil {
		return w, err
	}
	w.Waiting, err = s.Store.WaitingClaims(ctx, account, weeklyListed)
	return w, err
}
