package service

import (
	"bytes"
	"context"
	"errors"
	"slices"
	"time"

	"warranty.example/svc/internal/mail"
	"warranty.example/svc/internal/store"
	"warranty.example/svc/warranty"
)

// Notices are emails to an account about its records, gathered for some time (ADR 48).

const (
	gatherFor      = 10 * time.Minute // from the first change to the email
	gatherNew      = time.Hour        // from the first warranty that waits for a confirmation to the email
	noticeRecords  = 20               // warranties listed in an email
	noticesAtATime = 50
)

func noticeFrom(p warranty.Principal) store.MailSender {
	return store.MailSender{Account: p.Account.ID, Person: p.User.ID}
}

// tellOwner notes a change of a promise for the owner of the warranty, unless the owner made it.
func (s *Service) tellOwner(
	tx *store.Tx, p warranty.Principal, before warranty.Warranty, e warranty.Event,
) error {
	if s.Silent || before.Roles.Has(warranty.Owner) || len(warranty.PromiseChanges([]warranty.Event{e})) == 0 {
		return nil
	}
	n := store.Notice{Kind: store.PromiseNotice, Warranty: before.ID, From: noticeFrom(p), Event: e.ID}
	return tx.TellOwners(n, e.At.Add(gatherFor))
}

// askSeller notes a warranty that names a seller for the account that has verified the address.
func (s *Service) askSeller(tx *store.Tx, p warranty.Principal, w warranty.Warranty, now time.Time) error {
	if s.Silent || w.SellerEmail == nil || !p.User.EmailVerified {
		return nil
	}
	n := store.Notice{Kind: store.ToConfirmNotice, Warranty: w.ID, From: noticeFrom(p), Event: w.ID}
	return tx.TellSellers(n, *w.SellerEmail, now.Add(gatherNew))
}

// tellConfirmed notes for its owner that a seller confirmed a warranty, for a row of a job if there is one.
func (s *Service) tellConfirmed(tx *store.Tx, p warranty.Principal, e warranty.Event, row *JobRow) error {
	if s.Silent {
		return nil
	}
	n := store.Notice{Kind: store.ConfirmedNotice, Warranty: e.SubjectID, From: noticeFrom(p), Event: e.ID}
	due := e.At.Add(gatherFor)
	if row != nil {
		due = e.At.Add(warranty.BulkUndo + bulkRuns)
	}
	return tx.TellOwners(n, due)
}

// tellIssuer notes for the organization that issued a warranty that a customer registered it, or that it has a new owner.
func (s *Service) tellIssuer(tx *store.Tx, p warranty.Principal, kind store.NoticeKind, e warranty.Event) error {
	if s.Silent {
		return nil
	}
	n := store.Notice{Kind: kind, Warranty: e.SubjectID, From: noticeFrom(p), Event: e.ID}
	return tx.TellIssuer(n, e.At.Add(gatherNew))
}

// SendNotices puts the notices that are due into the outbox, one transaction per account and kind.
func (s *Service) SendNotices(ctx context.Context) error {
	return sendDue(ctx, s, noticesAtATime, s.Store.DueNotices, s.sendNotices)
}

func (s *Service) sendNotices(tx *store.Tx, d store.DueNotice, now time.Time) error {
	if _, err := tx.LockUser(d.Account); err != nil {
		return err
	}
	recipients, err := tx.Recipients(d.Account)
	if err != nil {
		return err
	}
	later, err := s.noticesDue(tx, d, recipients, now)
	if err != nil {
		return err
	}
	if later.After(now) {
		return tx.PostponeNotices(d, later)
	}
	list, err := tx.TakeNotices(d)
	if err != nil || len(list) == 0 {
		return err
	}
	slices.SortFunc(list, func(a, b store.Notice) int { return bytes.Compare(b.Event[:], a.Event[:]) })
	write, err := s.noticeWriter(tx, d, list)
	if err != nil {
		return err
	}
	for _, to := range recipients {
		write := write
		others := slices.DeleteFunc(slices.Clone(list), func(n store.Notice) bool { return n.From.Person == to.User })
		if len(others) < len(list) { // they made some of the changes themselves
			if write, err = s.noticeWriter(tx, d, others); err != nil {
				return err
			}
		}
		if write == nil {
			continue
		}
		m := write(to)
		if m == nil {
			continue
		}
		if err := tx.InsertNotice(*m, others, d.Account, now); err != nil {
			return err
		}
	}
	return nil
}

// noticeWriter returns what writes the email with notices; nil if there is nothing left to say. It returns nil for people who
// do not want it.
func (s *Service) noticeWriter(
	tx *store.Tx, d store.DueNotice, list []store.Notice,
) (write func(store.Recipient) *store.Mail, err error) {
	if d.Kind == store.PromiseNotice { // always sent
		records, more, err := s.changedRecords(tx, d.Account, list)
		if err != nil || len(records) == 0 {
			return nil, err
		}
		return func(to store.Recipient) *store.Mail {
			m := s.outgoing(mail.In(to.Locale).PromiseChanged(to.Email, to.Name, records, more, s.PublicURL))
			return &m
		}, nil
	}
	find := map[store.NoticeKind]func(*store.Tx, warranty.ID, warranty.ID) (mail.Listed, error){
		store.ToConfirmNotice:  s.waitingRecord,
		store.ConfirmedNotice:  s.confirmedRecord,
		store.RegisteredNotice: s.issuedRecord,
		store.MovedNotice:      s.issuedRecord,
	}[d.Kind]
	var records []mail.Listed
	more := 0
	for i, n := range list {
		if len(records) == noticeRecords {
			more = len(list) - i
			break
		}
		r, err := find(tx, d.Account, n.Warranty)
		if errors.Is(err, warranty.ErrNotFound) {
			continue // it was decided, transferred or deleted
		}
		if err != nil {
			return nil, err
		}
		records = append(records, r)
	}
	if len(records) == 0 {
		return nil, nil
	}
	return func(to store.Recipient) *store.Mail {
		if !to.Mails.Claims {
			return nil
		}
		t := mail.In(to.Locale)
		text := map[store.NoticeKind]func(to, name string, list []mail.Listed, more int, publicURL string) mail.Message{
			store.ToConfirmNotice:  t.ToConfirm,
			store.ConfirmedNotice:  t.Confirmed,
			store.RegisteredNotice: t.Registered,
			store.MovedNotice:      t.Moved,
		}[d.Kind]
		m := s.outgoingTo(to, store.ClaimMails, text(to.Email, to.Name, records, more, s.PublicURL))
		return &m
	}, nil
}

// waitingRecord returns a warranty that waits for the confirmation of an account.
func (s *Service) waitingRecord(tx *store.Tx, account, id warranty.ID) (mail.Listed, error) {
	c, _, err := tx.Confirmation(account, warranty.WarrantyKey{ID: id})
	if err == nil && c.Status != warranty.ConfirmationPending {
		err = warranty.ErrNotFound
	}
	return mail.Listed{Product: c.ProductName, Reference: c.ReferenceNumber, By: c.From.Name}, err
}

// confirmedRecord returns a warranty of its owner that a seller confirmed.
func (s *Service) confirmedRecord(tx *store.Tx, owner, id warranty.ID) (mail.Listed, error) {
	w, err := tx.OwnedWarranty(owner, id)
	if err == nil && w.Seller == nil {
		err = warranty.ErrNotFound
	}
	return mail.Listed{Product: w.ProductName, Reference: w.ReferenceNumber, By: derefText(w.SellerName)}, err
}

// issuedRecord returns a warranty of its issuer that someone else owns. By is the customer in the issuer's records.
func (s *Service) issuedRecord(tx *store.Tx, issuer, id warranty.ID) (mail.Listed, error) {
	w, err := tx.IssuedWarranty(issuer, id)
	return mail.Listed{Product: w.ProductName, Reference: w.ReferenceNumber, By: derefText(w.CustomerName)}, err
}

// noticesDue returns when to send the notices of a locked account: now, or later if there were too many emails.
func (s *Service) noticesDue(
	tx *store.Tx, d store.DueNotice, recipients []store.Recipient, now time.Time,
) (time.Time, error) {
	senders, err := tx.NoticeSenders(d)
	if err != nil {
		return now, err
	}
	for _, to := range recipients {
		for _, from := range senders {
			sent, err := tx.CountMails(from, to.Email, warranty.ID{}, now)
			if err != nil {
				return now, err
			}
			by := &sender{Account: store.Account{User: warranty.User{ID: from.Account}}, person: from.Person}
			later, err := s.digestDue(tx, by, sent, now)
			if err != nil || later.After(now) {
				return later, err
			}
		}
	}
	return now, nil
}

// changedRecords returns what notices of changed promises say to the owner, and how many more there are.
func (s *Service) changedRecords(
	tx *store.Tx, owner warranty.ID, list []store.Notice,
) (records []mail.Changed, more int, err error) {
	for i, n := range list {
		if len(records) == noticeRecords {
			return records, len(list) - i, nil
		}
		w, err := tx.OwnedWarranty(owner, n.Warranty)
		if errors.Is(err, warranty.ErrNotFound) {
			continue // it was transferred or deleted
		}
		if err != nil {
			return nil, 0, err
		}
		events, err := tx.PromiseEventsFrom(owner, n.Warranty, n.Event)
		if err != nil {
			return nil, 0, err
		}
		if changes := warranty.PromiseChanges(events); len(changes) > 0 {
			records = append(records, mail.Changed{
				Warranty: w, By: events[len(events)-1].By(), Changes: changes, Reason: warranty.ReasonOf(events),
			})
		}
	}
	return records, 0, nil
}

// Reductions returns what was taken away from the promise of an issued warranty since its customer took it, newest
// first.
func (s *Service) Reductions(
	ctx context.Context, p warranty.Principal, w warranty.Warranty,
) ([]warranty.Reduction, error) {
	if w.Roles.SelfRecorded() {
		return nil, nil
	}
	events, err := s.Store.PromiseEvents(ctx, p.Account.ID, w.ID)
	return warranty.Reductions(w, events), err
}
