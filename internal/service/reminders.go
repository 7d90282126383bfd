package service

import (
	"context"
	"errors"
	"fmt"
	"time"

	"warranty.example/svc/internal/mail"
	"warranty.example/svc/internal/store"
	"warranty.example/svc/warranty"
)

// Reminders are sent this many days before the end. A record that is created later than
// that gets only the last reminder.
const (
	firstStage = 30
	lastStage  = 7
	remindPage = 200
)

// Remind emails users about warranties and tokens that end soon, once a day. Each
// reminder is recorded in the transaction that writes its email, so it is sent exactly
// once, regardless of the number of runs and replicas. The milestone is set after the
// work and only saves other replicas a scan. Reminders of a day on which the work failed
// or no replica was running are sent later.
func (s *Service) Remind(ctx context.Context) error {
	now := s.now()
	today := warranty.DateOf(now)
	milestone := fmt.Sprintf("reminders of %s", today)
	if done, err := s.Store.ReachedMilestone(ctx, milestone); err != nil || done {
		return err
	}
	warranties := func(first, last warranty.Date, stage int) func(context.Context, store.Due) ([]store.Due, error) {
		return func(ctx context.Context, after store.Due) ([]store.Due, error) {
			return s.Store.WarrantiesEnding(ctx, first, last, stage, after, remindPage)
		}
	}
	tokens := func(ctx context.Context, after store.Due) ([]store.Due, error) {
		return s.Store.TokensExpiring(ctx, now, now.Add(lastStage*24*time.Hour), lastStage, after, remindPage)
	}
	err := errors.Join(
		s.remindAll(ctx, firstStage, warranties(today+lastStage+1, today+firstStage, firstStage), s.endingMail),
		s.remindAll(ctx, lastStage, warranties(today, today+lastStage, lastStage), s.endingMail),
		s.remindAll(ctx, lastStage, tokens, s.expiryMail))
	if err != nil {
		return err
	}
	return s.Store.Write(ctx, func(tx *store.Tx) error {
		_, err := tx.ReachMilestone(milestone, now)
		return err
	})
}

// endingMail returns the reminder for a warranty, and whether a recipient wants it.
func (s *Service) endingMail(d store.Due, to store.Recipient) (mail.Message, bool) {
	return mail.WarrantyEnds(to.Email, to.Name, d.Name, d.Reference, d.Ends, s.PublicURL), to.Mails.WarrantyEnd
}

// expiryMail returns the reminder for a token, and whether a recipient wants it.
func (s *Service) expiryMail(d store.Due, to store.Recipient) (mail.Message, bool) {
	return mail.TokenExpires(to.Email, to.Name, d.Name, d.Ends, s.PublicURL), to.Mails.TokenExpiry
}

// remindAll writes the reminders that are due, one page per transaction.
func (s *Service) remindAll(
	ctx context.Context,
	stage int,
	due func(context.Context, store.Due) ([]store.Due, error),
	message func(store.Due, store.Recipient) (mail.Message, bool),
) error {
	var after store.Due
	for {
		page, err := due(ctx, after)
		if err != nil || len(page) == 0 {
			return err
		}
		now := s.now()
		err = s.Store.Write(ctx, func(tx *store.Tx) error {
			for _, d := range page {
				recipients, err := tx.Remind(d, stage, now)
				if err != nil {
					return err
				}
				for _, to := range recipients {
					if m, wanted := message(d, to); wanted {
						if err := tx.InsertMail(s.outgoing(m)); err != nil {
							return err
						}
					}
				}
			}
			return nil
		})
		if err != nil {
			return err
		}
		after = page[len(page)-1]
		s.wakeMail()
	}
}
