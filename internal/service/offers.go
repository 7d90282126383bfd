package service

import (
	"context"
	"time"

	"warranty.example/svc/internal/mail"
	"warranty.example/svc/internal/store"
	"warranty.example/svc/warranty"
)

// offer is the offer of a warranty to a customer, with the code that takes it.
type offer struct {
	code    string
	hash    warranty.Hash
	product string
	email   string // "" for a code to print
	texts   mail.Texts
	issuer  warranty.Party
	expires time.Time
	signsIn time.Time // until when the code of an email signs in
}

func (o offer) mailed() bool { return o.email != "" }

// stored returns the code as it is stored for a warranty.
func (o offer) stored(p warranty.Principal, id warranty.ID) store.OfferCode {
	c := store.OfferCode{
		Hash: o.hash, Warranty: id, Giver: p.Account.ID, By: p.User.ID, Email: warranty.Optional(o.email), Expires: o.expires,
	}
	if o.mailed() {
		c.SignsInUntil = &o.signsIn
	}
	return c
}

// printed reports whether the code is given to the customer on paper. There may be no offer at all.
func (o offer) printed() bool { return o.code != "" && !o.mailed() }

// newOffer sets the offer of a warranty. Without an email address, it has a code to print.
func (s *Service) newOffer(
	ctx context.Context, p warranty.Principal, w *warranty.Warranty, email, customer string, now time.Time,
) (offer, error) {
	code, err := warranty.NewCode(s.Random)
	if err != nil {
		return offer{}, err
	}
	o := offer{
		code: code, hash: warranty.HashCode(code), product: w.ProductName, email: email,
		expires: now.Add(warranty.PrintedHandoverLifetime),
	}
	if o.mailed() {
		o.expires, o.signsIn = now.Add(warranty.MailedHandoverLifetime), now.Add(warranty.SignInByOffer)
		domain, err := s.Store.VerifiedDomain(ctx, p.Account.ID)
		if err != nil {
			return offer{}, err
		}
		if o.texts, err = s.textsAt(ctx, email, p); err != nil {
			return offer{}, err
		}
		o.issuer = *warranty.NewParty(p.Account.Name, domain)
	}
	w.Offer = warranty.Offer{Email: warranty.Optional(email), OfferedAt: &now, ExpiresAt: &o.expires}
	if customer != "" {
		w.CustomerName = &customer
	}
	return o, nil
}

// offerMail returns the email with offers to one address.
func (s *Service) offerMail(offers []offer) store.Mail {
	first := offers[0]
	list := make([]mail.Offered, len(offers))
	for i, o := range offers {
		list[i] = mail.Offered{Product: o.product, Code: o.code}
	}
	m := s.outgoing(first.texts.HandoverOffered(first.email, first.issuer, list, s.PublicURL))
	m.Expires = &first.expires
	return m
}

// mailAgain emails an offer of a warranty that may have been offered before, and returns the id of the email. Nobody is
// emailed twice about one.
func (s *Service) mailAgain(
	tx *store.Tx, from *sender, w warranty.Warranty, o offer, row *JobRow, now time.Time,
) (*warranty.ID, error) {
	if !o.mailed() {
		return nil, nil //nolint:nilnil // there is no email
	}
	first, err := tx.InsertOfferMail(w.ID, from.ID, o.email, now)
	if err != nil {
		return nil, err
	}
	if !first {
		var c warranty.Checks
		c.Add("customer_email", "already_offered",
			"This address was emailed an offer of this warranty before. Print a code instead.")
		return nil, c.Err()
	}
	m := s.offerMail([]offer{o})
	if row != nil {
		m.HeldBy, m.NotBefore = &row.Job, now.Add(warranty.BulkUndo+bulkRuns)
	}
	return &m.ID, s.contact(tx, from, m, w.ID, now)
}

// issuing is a new warranty with the offer to its customer, if it has one.
type issuing struct {
	*warranty.Warranty
	offer
}

// writeIssuing is writeAs for new warranties. The sender is locked if an offer is emailed, and otherwise nil.
func (s *Service) writeIssuing(
	ctx context.Context, p warranty.Principal, mails bool, fn func(*store.Tx, *sender) error,
) error {
	if mails {
		return s.writeMailing(ctx, p, warranty.Member, fn)
	}
	return s.writeAs(ctx, p, func(tx *store.Tx) error { return fn(tx, nil) })
}

// offersPerMail is how many offers to one address an email has.
const offersPerMail = 20

// mailOffers emails the offers of warranties that are created in the transaction, those for one address together.
// If a limit is reached, the warranties are created without an offer and say so.
func (s *Service) mailOffers(tx *store.Tx, from *sender, list []issuing, now time.Time) error {
	var addresses []string
	byAddress := map[string][]issuing{}
	for _, i := range list {
		if !i.mailed() {
			continue
		}
		if byAddress[i.email] == nil {
			addresses = append(addresses, i.email)
		}
		byAddress[i.email] = append(byAddress[i.email], i)
	}
	for _, address := range addresses {
		for rest := byAddress[address]; len(rest) > 0; {
			n := min(len(rest), offersPerMail)
			if err := s.mailTogether(tx, from, rest[:n], now); err != nil {
				return err
			}
			rest = rest[n:]
		}
	}
	return nil
}

// mailTogether emails offers to one address in one email.
func (s *Service) mailTogether(tx *store.Tx, from *sender, list []issuing, now time.Time) error {
	offers := make([]offer, len(list))
	for i, one := range list {
		offers[i] = one.offer
	}
	err := s.contact(tx, from, s.offerMail(offers), list[0].ID, now)
	if !isMailLimit(err) {
		return err
	}
	reason := warranty.NotEmailed(warranty.AsError(err).Message)
	for _, i := range list {
		i.Offer = warranty.Offer{Email: &i.email}
		i.Handover = &warranty.Handover{Status: warranty.HandoverNone, NotEmailed: &reason}
	}
	return nil
}

// insertIssued adds a warranty and its offer, which is printed, or which mailOffers emailed or not.
func (s *Service) insertIssued(tx *store.Tx, p warranty.Principal, i issuing) error {
	account := p.Account.ID
	if err := tx.InsertWarranty(*i.Warranty, account); err != nil {
		return err
	}
	if err := s.askSeller(tx, p, *i.Warranty, i.CreatedAt); err != nil || i.Offer.OfferedAt == nil {
		return err
	}
	if !i.mailed() {
		return tx.InsertOfferCode(i.stored(p, i.ID))
	}
	if _, err := tx.InsertOfferMail(i.ID, account, i.email, i.CreatedAt); err != nil {
		return err
	}
	return tx.InsertOfferCode(i.stored(p, i.ID))
}
