package service

import (
	"context"
	"errors"
	"fmt"
	"time"

	"warranty.example/svc/api"
	"warranty.example/svc/internal/mail"
	"warranty.example/svc/internal/store"
	"warranty.example/svc/warranty"
)

const (
	tokenStage   = 7 // days before a token expires
	remindPage   = 200
	remindListed = 50 // warranties in an email
)

// reminderOperations binds the operations on reminders.
func (s *Service) reminderOperations() []api.Bound {
	return []api.Bound{
		api.Bind(api.GetReminders, s.GetReminders),
		api.Bind(api.UpdateReminders, s.UpdateReminders),
		api.Bind(api.GetWarrantyReminders, s.GetWarrantyReminders),
		api.Bind(api.UpdateWarrantyReminders, s.UpdateWarrantyReminders),
	}
}

// GetReminders returns the choice of the principal's account.
func (s *Service) GetReminders(
	ctx context.Context, p warranty.Principal, _ warranty.GetReminders,
) (warranty.Reminders, error) {
	return s.Store.Reminders(ctx, p.Account.ID)
}

// UpdateReminders changes the choice of the principal's account.
func (s *Service) UpdateReminders(
	ctx context.Context, p warranty.Principal, in warranty.UpdateReminders,
) (changed warranty.Reminders, err error) {
	if err := in.Check(); err != nil {
		return changed, err
	}
	week := weekOf(s.now())
	return changed, s.manage(ctx, p, func(tx *store.Tx, account store.Account) error {
		before, err := tx.Reminders(account.ID)
		if err != nil {
			return err
		}
		changed = in.Apply(before)
		return tx.SetReminders(account.ID, changed, week)
	})
}

// GetWarrantyReminders returns the choice of the principal's account for a warranty.
func (s *Service) GetWarrantyReminders(
	ctx context.Context, p warranty.Principal, in warranty.GetWarrantyReminders,
) (warranty.WarrantyReminders, error) {
	w, err := s.GetWarranty(ctx, p, warranty.GetWarranty{ID: in.ID})
	if err != nil {
		return warranty.WarrantyReminders{}, err
	}
	return s.warrantyReminders(ctx, p, w)
}

func (s *Service) warrantyReminders(
	ctx context.Context, p warranty.Principal, w warranty.Warranty,
) (warranty.WarrantyReminders, error) {
	own, err := s.Store.WarrantyReminders(ctx, p.Account.ID, w.ID)
	switch {
	case err != nil:
		return warranty.WarrantyReminders{}, err
	case own == nil:
		choice := warranty.WarrantyReminders{Choice: warranty.AccountReminders, Days: warranty.ReminderDays{}}
		account, err := s.Store.Reminders(ctx, p.Account.ID)
		if w.Roles.Has(warranty.Owner) && !account.Weekly {
			choice.Days = account.Days
		}
		return choice, err
	case len(*own) == 0:
		return warranty.WarrantyReminders{Choice: warranty.NoReminders, Days: warranty.ReminderDays{}}, nil
	}
	return warranty.WarrantyReminders{Choice: warranty.OwnReminders, Days: *own}, nil
}

// UpdateWarrantyReminders sets the choice of the principal's account for a warranty that it has access to.
func (s *Service) UpdateWarrantyReminders(
	ctx context.Context, p warranty.Principal, in warranty.UpdateWarrantyReminders,
) (changed warranty.WarrantyReminders, err error) {
	if err := in.Check(); err != nil {
		return changed, err
	}
	var w warranty.Warranty
	err = s.writeAs(ctx, p, func(tx *store.Tx) error {
		if w, err = tx.LockWarranty(p.Account.ID, in.ID); err != nil {
			return err
		}
		days := &in.Days
		if in.Choice == warranty.AccountReminders {
			days = nil
		}
		return tx.SetWarrantyReminders(p.Account.ID, w.ID, days)
	})
	if err != nil {
		return changed, err
	}
	return s.warrantyReminders(ctx, p, w)
}

// Remind emails users about warranties and tokens that end soon, once a day. A reminder is recorded first, and
// put into an email of its account in one transaction, so it is sent exactly once, regardless of the number of
// runs and replicas, and an account gets one email a day, however many warranties end. The milestone is set after
// the work and only saves other replicas a scan. Reminders of a day on which the work failed or no replica was
// running are sent later, but not after warranty.ReminderGrace days.
func (s *Service) Remind(ctx context.Context) error {
	now := s.now()
	today := warranty.DateOf(now)
	milestone := fmt.Sprintf("reminders of %s", today)
	if done, err := s.Store.ReachedMilestone(ctx, milestone); err != nil || done {
		return err
	}
	if err := errors.Join(s.markDue(ctx, today), s.mailDue(ctx), s.remindOfTokens(ctx, now)); err != nil {
		return err
	}
	return s.Store.Write(ctx, func(tx *store.Tx) error {
		_, err := tx.ReachMilestone(milestone, now)
		return err
	})
}

// markDue records the reminders that are due, one page per transaction. It reads only warranties that end on
// days for which someone chose a reminder.
func (s *Service) markDue(ctx context.Context, today warranty.Date) error {
	stages, err := s.Store.ReminderStages(ctx)
	if err != nil {
		return err
	}
	for _, stage := range stages {
		var after *store.Due
		for {
			due, last, err := s.Store.WarrantiesDue(ctx, today, stage, after, remindPage)
			if err != nil {
				return err
			}
			if err := s.markPage(ctx, due, stage); err != nil {
				return err
			}
			if after = last; after == nil {
				break
			}
		}
	}
	return nil
}

func (s *Service) markPage(ctx context.Context, due []store.Due, stage int) error {
	if len(due) == 0 {
		return nil
	}
	return s.Store.Write(ctx, func(tx *store.Tx) error {
		for _, d := range due {
			if err := tx.MarkDue(d, stage); err != nil {
				return err
			}
		}
		return nil
	})
}

// mailDue emails the recorded reminders, those of an account together.
func (s *Service) mailDue(ctx context.Context) error {
	for {
		accounts, err := s.Store.AccountsDue(ctx, digestBatch)
		if err != nil || len(accounts) == 0 {
			return err
		}
		for _, id := range accounts {
			if err := s.Store.Write(ctx, func(tx *store.Tx) error { return s.mailAccountDue(tx, id) }); err != nil {
				return err
			}
		}
		s.wakeMail()
	}
}

func (s *Service) mailAccountDue(tx *store.Tx, account warranty.ID) error {
	if _, err := tx.LockUser(account); err != nil {
		return err
	}
	list, total, err := tx.TakeDue(account, s.now(), remindListed)
	if err != nil || total == 0 {
		return err
	}
	endings := make([]mail.Ending, len(list))
	for i, d := range list {
		endings[i] = mail.Ending{ID: d.Subject, Product: d.Name, Reference: d.Reference, Last: d.Ends}
	}
	return s.mailRecipients(tx, account, store.WarrantyEndMails, func(to store.Recipient) *mail.Message {
		if total == 1 {
			m := mail.In(to.Locale).WarrantyEnds(to.Email, to.Name, endings[0], s.PublicURL)
			return &m
		}
		m := mail.In(to.Locale).WarrantiesEnd(to.Email, to.Name, endings, total, s.PublicURL)
		return &m
	})
}

// mailRecipients emails the recipients of an account who want a kind of email. message may return nil.
func (s *Service) mailRecipients(
	tx *store.Tx, account warranty.ID, kind store.MailKind, message func(store.Recipient) *mail.Message,
) error {
	recipients, err := tx.Recipients(account)
	if err != nil {
		return err
	}
	for _, to := range recipients {
		if !to.Wants(kind) {
			continue
		}
		m := message(to)
		if m == nil {
			continue
		}
		if err := tx.InsertMail(s.outgoingTo(to, kind, *m)); err != nil {
			return err
		}
	}
	return nil
}

// outgoingTo returns a message for the outbox that its recipient can unsubscribe from.
func (s *Service) outgoingTo(to store.Recipient, kind store.MailKind, m mail.Message) store.Mail {
	out := s.outgoing(m)
	out.Unsubscribe = to.From(kind)
	out.Unsubscribe.Language = m.Language
	return out
}

// remindOfTokens writes the reminders of tokens that expire soon, one page per transaction.
func (s *Service) remindOfTokens(ctx context.Context, now time.Time) error {
	var after store.Due
	for {
		page, err := s.Store.TokensExpiring(ctx, now, now.Add(tokenStage*24*time.Hour), tokenStage, after, remindPage)
		if err != nil || len(page) == 0 {
			return err
		}
		err = s.Store.Write(ctx, func(tx *store.Tx) error {
			for _, d := range page {
				first, err := tx.RemindOfToken(d, tokenStage, s.now())
				if err == nil && first {
					err = s.mailRecipients(tx, d.Account, store.TokenExpiryMails, func(to store.Recipient) *mail.Message {
						m := mail.In(to.Locale).TokenExpires(to.Email, to.Name, d.Name, d.Ends, s.PublicURL)
						return &m
					})
				}
				if err != nil {
					return err
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
