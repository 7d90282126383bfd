package service

import (
	"context"
	"encoding/hex"
	"errors"
	"strings"
	"time"

	"warranty.example/svc/internal/mail"
	"warranty.example/svc/internal/store"
	"warranty.example/svc/warranty"
)

// whyNot returns why a code takes nothing.
func (s *Service) whyNot(ctx context.Context, code warranty.Hash, err error) error {
	if !errors.Is(err, warranty.ErrNotFound) {
		return err
	}
	state, business, err := s.Store.CodeState(ctx, code, s.now())
	if err != nil {
		return err
	}
	return refuseCode(state, contactOf(business))
}

// contactOf returns whom someone with a code can ask about it: the domain of a verified organization, because anyone can
// use any name, or the name of another one in quotation marks.
func contactOf(business *warranty.Party) any {
	switch {
	case business == nil:
		return warranty.Textf("the person who gave you the code")
	case business.Domain != nil:
		return *business.Domain
	case business.MixedScript:
		return warranty.Textf("the shop")
	}
	return warranty.Textf(`"%s"`, business.Name)
}

// refuseCode says why a code takes nothing, and whom to ask.
func refuseCode(state store.CodeState, contact any) error {
	var c warranty.Checks
	switch state {
	case store.CodeTaken:
		c.Add("code", string(state), "This warranty is already registered. If that wasn't you, contact %s.", contact)
	case store.CodeExpired:
		c.Add("code", string(state), "This code has expired. Ask %s for a new one.", contact)
	case store.CodeNotValid:
		c.Add("code", string(state), "This warranty is not valid. Ask %s.", contact)
	case store.CodeWithdrawn:
		c.Add("code", string(state), "This warranty was withdrawn. Ask %s.", contact)
	case store.CodeCancelled:
		c.Add("code", string(state), "This code was cancelled or replaced by a newer one. Ask %s for a new code.", contact)
	default:
		c.Add("code", "invalid_code", "We don't know this code. Check it against your slip or email.")
	}
	return c.Err()
}

// PreviewHandover shows what a code takes to someone who has the code.
func (s *Service) PreviewHandover(
	ctx context.Context, p warranty.Principal, in warranty.PreviewHandover,
) (warranty.HandoverPreview, error) {
	if err := in.Check(); err != nil {
		return warranty.HandoverPreview{}, err
	}
	if err := s.throttle(ctx, VerifyAttempts, p.Address); err != nil {
		return warranty.HandoverPreview{}, err
	}
	code := warranty.HashCode(in.Code)
	h, err := s.Store.OfferCode(ctx, code, s.now())
	if err != nil {
		return warranty.HandoverPreview{}, s.whyNot(ctx, code, err)
	}
	return h.Preview, nil
}

// Take makes the principal's account the owner of a warranty with the code of a hand-over or a transfer.
func (s *Service) Take(
	ctx context.Context, p warranty.Principal, in warranty.TakeHandover,
) (warranty.Warranty, error) {
	var w warranty.Warranty
	if err := in.Check(); err != nil {
		return w, err
	}
	if !p.User.EmailVerified {
		return w, warranty.Refuse(warranty.EmailNotVerified, "Verify your email address first.")
	}
	if err := s.throttle(ctx, VerifyAttempts, p.Address); err != nil {
		return w, err
	}
	now, code := s.now(), warranty.HashCode(in.Code)
	seen, err := s.Store.OfferCode(ctx, code, now)
	if err != nil {
		return w, s.whyNot(ctx, code, err)
	}
	if seen.Email != nil {
		own, err := s.isOwnAddress(ctx, p, *seen.Email)
		if err != nil {
			return w, err
		}
		if !own {
			return w, warranty.Refuse(warranty.RoleNotAllowed,
				"This warranty was offered to another address. Sign in with the address that got the email.")
		}
	}
	err = s.writeAs(ctx, p, func(tx *store.Tx) error {
		w, err = s.take(tx, code, p, now)
		return err
	})
	s.wakeMail()
	s.show(&w)
	return w, s.whyNot(ctx, code, err)
}

// take uses up a code and makes the principal's account the owner of its warranty. A former owner is told.
func (s *Service) take(
	tx *store.Tx, code warranty.Hash, p warranty.Principal, now time.Time,
) (w warranty.Warranty, err error) {
	taking, err := tx.UseOfferCode(code, now)
	if err != nil {
		return w, err
	}
	if taking.Giver == p.Account.ID {
		return w, warranty.Refuse(warranty.RoleNotAllowed, "Your account already owns this warranty.")
	}
	if err := tx.Take(taking, p.Account.ID, now); err != nil {
		return w, err
	}
	action, notice := warranty.HandoverWasTaken, store.RegisteredNotice
	if taking.Transfer {
		action, notice = warranty.TransferAccepted, store.MovedNotice
	}
	event := s.event(p, action, taking.Warranty.ID, now)
	if err := tx.InsertEvent(taking.Warranty.ID, event); err != nil {
		return w, err
	}
	if err := s.tellIssuer(tx, p, notice, event); err != nil {
		return w, err
	}
	w, err = tx.LockWarranty(p.Account.ID, warranty.WarrantyKey{ID: taking.Warranty.ID})
	if err != nil || !taking.Transfer {
		return w, err
	}
	if err := tx.InsertHandedOver(taking, event.ID, now); err != nil {
		return w, err
	}
	return w, s.tellGiver(tx, p, taking.Giver, w)
}

// EmailHandover emails six digits and a link to someone who has a printed code. They verify the address, sign in and take
// the warranty. The digits only work on the page that asked, which has the flow. The printed code keeps working until one
// of them is used. The response does not reveal whether the address has an account.
func (s *Service) EmailHandover(
	ctx context.Context, p warranty.Principal, in warranty.EmailHandover,
) (asked warranty.EmailedCode, err error) {
	if err := in.Check(); err != nil {
		return asked, err
	}
	// Only requests with a code that works count against the address: anyone can send others.
	if err := s.throttle(ctx, CodeRequests, p.Address); err != nil {
		return asked, err
	}
	now, hash := s.now(), warranty.HashCode(in.Code)
	h, err := s.Store.OfferCode(ctx, hash, now)
	if err == nil && h.Email != nil {
		var c warranty.Checks
		c.Add("code", "already_mailed", "This code was emailed. It registers you by itself.")
		err = c.Err()
	}
	if err != nil {
		return asked, s.whyNot(ctx, hash, err)
	}
	if err := s.throttle(ctx, PrintedCodeMails, hex.EncodeToString(hash[:])); err != nil {
		return asked, err
	}
	if err := s.throttleAddress(ctx, p, store.ForVerification, in.Email); err != nil {
		return asked, err
	}
	code, err := s.newAskedCode(now)
	if err != nil {
		return asked, err
	}
	texts, err := s.textsAt(ctx, in.Email, p)
	if err != nil {
		return asked, err
	}
	message := s.outgoing(texts.HandoverCode(in.Email, h.Preview, code.digits, code.link, s.PublicURL))
	message.Expires, message.Urgent = &code.ExpiresAt, true
	service := s.Name(ctx)
	err = s.Store.Write(ctx, func(tx *store.Tx) error {
		// Whoever prints codes chooses where such emails go, so they count as the giver's.
		locked, err := tx.LockUsers(h.Giver)
		if err != nil {
			return err
		}
		// The offer may have ended since it was read.
		if err := tx.LockOffered(hash, now); err != nil {
			return err
		}
		if err := tx.InsertAskedCode(h, code.stored(in.Email)); err != nil {
			return err
		}
		from := &sender{Account: locked[h.Giver], person: h.MadeBy, service: service}
		if err := s.contact(tx, from, message, h.Warranty.ID, now); isMailLimit(err) {
			return warranty.Refuse(warranty.RateLimited,
				"We cannot email another code for this today. Sign in or register first, then enter the code.").After(digestDelay)
		} else if err != nil {
			return err
		}
		return nil
	})
	s.wakeMail()
	if err != nil {
		return asked, s.whyNot(ctx, hash, err)
	}
	return code.EmailedCode, nil
}

// askedCode is what an email with six digits has, and the page that asked for it.
type askedCode struct {
	warranty.EmailedCode
	digits, link string
}

func (s *Service) newAskedCode(now time.Time) (c askedCode, err error) {
	c.ExpiresAt = now.Add(warranty.ShortCodeLifetime)
	if c.Flow, err = warranty.NewSecret(warranty.FlowSecret, s.Random); err != nil {
		return c, err
	}
	if c.digits, err = warranty.NewShortCode(s.Random); err != nil {
		return c, err
	}
	c.link, err = warranty.NewCode(s.Random)
	return c, err
}

func (c askedCode) stored(email string) store.AskedCode {
	return store.AskedCode{
		Page: warranty.HashSecret(c.Flow), Email: email, Expires: c.ExpiresAt,
		Link: warranty.HashCode(c.link), Digits: warranty.HashShortCode(c.Flow, c.digits),
	}
}

// tryDigits counts six digits that were entered on a page, and returns the code that they stand for.
func (s *Service) tryDigits(ctx context.Context, in warranty.RegisterHandover, now time.Time) (code warranty.Hash, err error) {
	page := warranty.HashSecret(in.Flow)
	asked, err := s.Store.AskedCode(ctx, page)
	if errors.Is(err, warranty.ErrNotFound) {
		var c warranty.Checks
		c.Add("code", "invalid_code", "This code is wrong. Check the latest email.")
		return code, c.Err()
	}
	if err != nil {
		return code, err
	}
	if err := s.throttle(ctx, ShortCodeTries, warranty.Mailbox(asked.Email)); err != nil {
		return code, err
	}
	code = warranty.HashShortCode(in.Flow, in.Code)
	// The try is counted in a transaction of its own, so that nothing takes it back.
	counted, allowed := false, true
	err = s.Store.Write(ctx, func(tx *store.Tx) (err error) {
		if counted, err = tx.CountTry(page, warranty.ShortCodeTries); err != nil || !counted {
			return err
		}
		// Whoever offers warranties chooses to whom digits are emailed, and could guess those of many addresses.
		allowed, err = tx.CountWrongDigits(asked, warranty.DateOf(now), code != asked.Digits, warranty.WrongDigits)
		return err
	})
	if err != nil {
		return code, err
	}
	if !allowed {
		return code, errWrongDigits
	}
	var c warranty.Checks
	switch {
	case !counted:
		c.Add("code", "too_many_tries", "You entered five wrong codes. Send a new code.")
	case !asked.Expires.After(now):
		c.Add("code", "expired", "This code has expired. Send a new one.")
	case code != asked.Digits:
		c.Add("code", "invalid_code", "This code is wrong. Check the latest email.")
	}
	return code, c.Err()
}

// errWrongDigits refuses digits, also the right ones, for offers of someone for whose offers many wrong ones were entered.
var errWrongDigits = warranty.Refuse(warranty.RateLimited,
	"Too many wrong codes were entered today for offers of this sender. Use the link in the email.")

// RegisterHandover takes a warranty for someone who is not signed in: the emailed code proves that the address
// is theirs. Without an account, they get one. It also signs in to their account, but not after SignInByOffer: an old
// email must not open an account (ADR 51). If the account has two-step sign-in, nothing is taken: once signed in, the
// person takes the warranty with the same code.
func (s *Service) RegisterHandover(
	ctx context.Context, p warranty.Principal, in warranty.RegisterHandover,
) (warranty.HandoverSession, error) {
	var out warranty.HandoverSession
	if err := in.Check(); err != nil {
		return out, err
	}
	if err := s.throttle(ctx, CodeRequests, p.Address); err != nil {
		return out, err
	}
	now, code := s.now(), warranty.HashCode(in.Code)
	if in.Flow != "" {
		var err error
		if code, err = s.tryDigits(ctx, in, now); err != nil {
			return out, err
		}
	}
	h, err := s.Store.OfferCode(ctx, code, now)
	if err != nil {
		return out, s.whyNot(ctx, code, err)
	}
	if h.Email == nil {
		var c warranty.Checks
		c.Add("code", "address_required", "This code was printed. Request a code by email with it first.")
		return out, c.Err()
	}
	name := in.Name
	if name == "" {
		name, _, _ = strings.Cut(*h.Email, "@")
	}
	newcomer := warranty.User{ID: s.NewID(), Name: name, Email: *h.Email, EmailVerified: true, CreatedAt: now}
	c, err := s.completing(p, firstFactor{Method: warranty.MethodOfferCode})
	if err != nil {
		return out, err
	}
	// Customers of a business are invited by it.
	closed := false
	if h.Transfer {
		if closed, err = s.signupClosed(ctx); err != nil {
			return out, err
		}
	}
	err = s.Store.Write(ctx, func(tx *store.Tx) error {
		signsIn := h.SignsInUntil != nil && now.Before(*h.SignsInUntil)
		user, err := s.lockTaker(tx, p, newcomer, signsIn, closed, now)
		if err != nil {
			return err
		}
		if signedIn, err := c.complete(tx, user.ID); err != nil || !signedIn {
			return err
		}
		p.User, p.Account = user, warranty.OwnAccount(user)
		out.Warranty, err = s.take(tx, code, p, now)
		return err
	})
	if s.Store.IsDuplicate(err) {
		err = ErrHasAccount
	}
	s.wakeMail()
	if err != nil {
		return out, s.whyNot(ctx, code, err)
	}
	if out.Session, err = c.session(ctx); err == nil {
		s.show(&out.Warranty)
	}
	return out, err
}

// ErrOrganizationAddress means that an emailed offer is for the address of an organization.
var ErrOrganizationAddress = warranty.Refuse(warranty.AlreadyExists,
	"This address belongs to an organization. Sign in as one of its members, then take the warranty with the same code.")

// ErrHasAccount means that an emailed offer is for an address that has an account.
var ErrHasAccount = warranty.Refuse(warranty.AlreadyExists,
	"This address has an account. Sign in, then take the warranty with the same code.")

// lockTaker locks the account of an address that its owner has just verified, or creates it. An account that
// has the address without having verified it is set aside (ADR 16). Unless signIn is set, an account with the
// address is an error; if closed is set, creating one is.
func (s *Service) lockTaker(
	tx *store.Tx, p warranty.Principal, newcomer warranty.User, signIn, closed bool, now time.Time,
) (warranty.User, error) {
	owner, err := tx.AddressOwner(newcomer.Email)
	if err != nil && !errors.Is(err, warranty.ErrNotFound) {
		return newcomer, err
	}
	if err == nil {
		account, err := tx.LockUser(owner)
		if err != nil {
			return newcomer, err
		}
		switch verified := account.EmailVerified || account.Kind == warranty.OrganizationKind; {
		case verified && signIn && account.Kind == warranty.PersonKind && !account.Disabled:
			return account.User, nil
		case account.Kind == warranty.OrganizationKind && !account.Disabled:
			return newcomer, ErrOrganizationAddress
		case verified || account.Disabled:
			return newcomer, ErrHasAccount
		}
		if _, err := lockWithOrganizations(tx, account.ID); err != nil {
			return newcomer, err
		}
		if err := s.endCredentials(tx, byHolder(account.User, p), account.User, true, now); err != nil {
			return newcomer, err
		}
		if err := tx.SetAside(account.ID, newcomer.ID, now); err != nil {
			return newcomer, err
		}
	}
	if closed {
		return newcomer, errSignupClosed
	}
	return newcomer, insertUser(tx, p, newcomer, "")
}

// tellGiver emails the former owner that the warranty has a new owner, but not to the person who took it.
func (s *Service) tellGiver(tx *store.Tx, p warranty.Principal, from warranty.ID, w warranty.Warranty) error {
	if s.Silent {
		return nil
	}
	recipients, err := tx.Recipients(from)
	if err != nil {
		return err
	}
	for _, to := range recipients {
		if isOf(p, to) {
			continue
		}
		m := s.outgoing(mail.In(to.Locale).TransferAccepted(to.Email, to.Name, w, s.PublicURL))
		if err := tx.InsertMail(m); err != nil {
			return err
		}
	}
	return nil
}

// maxHandedOver is how many warranties the list of those that an account handed over has.
const maxHandedOver = 500

// HandedOver lists the warranties that the principal's account transferred to others, newest first.
func (s *Service) HandedOver(ctx context.Context, p warranty.Principal) ([]warranty.HandedOver, error) {
	return s.Store.HandedOver(ctx, p.Account.ID, maxHandedOver)
}
