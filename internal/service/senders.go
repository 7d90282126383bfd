package service

import (
	"context"
	"errors"
	"time"

	"warranty.example/svc/internal/store"
	"warranty.example/svc/warranty"
)

// Emails to other people pass one of two gates (ADR 17). contact is for an address that the sender chose, such as
// that of an offer or an invitation: over a limit it is refused. Emails about records, to people who have a role on
// them, are never refused: over a limit they wait for a digest.

// PerStranger is the number of emails per day from one sender to an address that took nothing from the account.
const PerStranger = 3

const (
	perKnown   = 20 // emails per day from one sender to an address that did
	perMailbox = 9  // emails per day from all senders without a verified domain to an address that took nothing from them
	// verifiedMails is how many times more emails an organization with a verified domain may cause.
	verifiedMails = 50
)

// sender is a locked person who causes emails to others for a locked account. It remembers what was counted in the
// transaction.
type sender struct {
	store.Account
	person    warranty.ID
	service   string // its name
	verified  *bool  // the account has a verified domain
	strangers *struct{ byAccount, byPerson int64 }
}

// id returns the sender as it is counted.
func (from *sender) id() store.MailSender {
	return store.MailSender{Account: from.ID, Person: from.person}
}

// writeMailing is WriteToAccount for writes that email other people. The person is locked too, so that their emails
// for several organizations are counted exactly.
func (s *Service) writeMailing(
	ctx context.Context, p warranty.Principal, needed warranty.MemberRole, fn func(*store.Tx, *sender) error,
) error {
	var from sender
	service := s.Name(ctx)
	lock := func(tx *store.Tx) error {
		locked, err := tx.LockUsers(p.User.ID, p.Account.ID)
		from = sender{Account: locked[p.Account.ID], person: p.User.ID, service: service} // nothing is counted yet
		return err
	}
	return s.writeWithLocks(ctx, p, needed, lock, func(tx *store.Tx) error { return fn(tx, &from) })
}

// contact emails an address that the sender chose, unless a limit is reached.
func (s *Service) contact(tx *store.Tx, from *sender, m store.Mail, topic warranty.ID, now time.Time) error {
	if err := s.mayContact(tx, from, m.To, now); err != nil {
		return err
	}
	if err := from.sign(tx, &m); err != nil {
		return err
	}
	return tx.InsertMailToChosen(m, from.id(), topic, now)
}

// sign writes an email in the name of the sender's organization, or in the name and the color of its brand. They are shown
// only if it has a verified domain:
// elsewhere an unverified name says so, but not in front of an address. Answers go to its verified address, unless there
// is a code in the email: an answer would quote it.
func (from *sender) sign(tx *store.Tx, m *store.Mail) error {
	if from.Kind != warranty.OrganizationKind {
		return nil
	}
	verified, err := from.hasDomain(tx)
	if err != nil {
		return err
	}
	if verified {
		brand, err := tx.Brand(from.ID)
		if err != nil {
			return err
		}
		m.Color, m.From = brand.Color, senderOf(from.Name, from.service)
		if brand.SenderName != nil {
			m.From = senderOf(*brand.SenderName, from.service)
		}
	}
	if m.Code == "" {
		m.ReplyTo, err = tx.VerifiedContact(from.ID)
	}
	return err
}

// mayContact returns an error if the sender has emailed an address, or new addresses, too often in 24 hours.
func (s *Service) mayContact(tx *store.Tx, from *sender, address string, now time.Time) error {
	sent, err := tx.CountToAddress(from.id(), address, now)
	if err != nil {
		return err
	}
	over, err := tooMany(tx, from, sent.BySender, sent.Known)
	if err != nil {
		return err
	}
	if over {
		return warranty.Refuse(warranty.RateLimited,
			"You have emailed this address %d times in 24 hours, which is the limit. Try again later.", sent.BySender).
			After(digestDelay)
	}
	if sent.Unverified >= perMailbox && !sent.Known {
		verified, err := from.hasDomain(tx)
		if err != nil {
			return err
		}
		if !verified {
			return warranty.Refuse(warranty.RateLimited,
				"Others have emailed this address too often in 24 hours. Verify your domain, or try again later.").After(digestDelay)
		}
	}
	if sent.Known || sent.BySender > 0 || s.MailLimit == 0 {
		return nil // not another stranger
	}
	if from.strangers == nil {
		from.strangers = new(struct{ byAccount, byPerson int64 })
		from.strangers.byAccount, from.strangers.byPerson, err = tx.CountStrangers(from.id(), now)
		if err != nil {
			return err
		}
	}
	over, err = s.overMailLimit(tx, from, from.strangers.byAccount, from.strangers.byPerson)
	if err != nil {
		return err
	}
	if over {
		return warranty.Refuse(warranty.RateLimited,
			"You have reached your limit of emails to new people in 24 hours. Try again later.").After(digestDelay)
	}
	from.strangers.byAccount++
	from.strangers.byPerson++
	return nil
}

// tooMany reports whether n emails in a day to one address are the limit.
func tooMany(tx *store.Tx, from *sender, n int64, known bool) (bool, error) {
	if !known || n < perKnown {
		return n >= PerStranger && !known, nil
	}
	verified, err := from.hasDomain(tx)
	return !verified || n >= perKnown*verifiedMails, err
}

// hasDomain reports whether the account has a verified domain.
func (from *sender) hasDomain(tx *store.Tx) (bool, error) {
	if from.verified == nil {
		verified, err := tx.HasDomain(from.ID)
		if err != nil {
			return false, err
		}
		from.verified = &verified
	}
	return *from.verified, nil
}

// overMailLimit reports whether an account, or a person for all accounts without a verified domain, has reached the
// daily limit of emails.
func (s *Service) overMailLimit(tx *store.Tx, from *sender, byAccount, byPerson int64) (bool, error) {
	most := int64(s.MailLimit)
	if most == 0 || byAccount < most && byPerson < most {
		return false, nil
	}
	verified, err := from.hasDomain(tx)
	return !verified || byAccount >= most*verifiedMails, err
}

// isMailLimit reports whether an error is a refusal of mayContact.
func isMailLimit(err error) bool {
	var refusal *warranty.Error
	return errors.As(err, &refusal) && refusal.Code == warranty.RateLimited
}
