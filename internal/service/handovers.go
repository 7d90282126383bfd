package service

import (
	"context"
	"encoding/hex"
	"errors"
	"strings"
	"time"

	"warranty.example/svc/api"
	"warranty.example/svc/internal/store"
	"warranty.example/svc/warranty"
)

// handoverOperations binds the operations on hand-overs.
func (s *Service) handoverOperations() []api.Bound {
	return []api.Bound{
		api.Bind(api.OfferHandover, s.OfferHandover),
		api.Bind(api.CancelHandover, s.CancelHandover),
		api.Bind(api.TakeHandover, s.TakeHandover),
		api.Bind(api.PreviewHandover, s.PreviewHandover),
		api.Bind(api.EmailHandover, s.EmailHandover),
		api.Bind(api.RegisterHandover, s.RegisterHandover),
	}
}

// checkIssues returns an error unless the principal acts for an organization, which can hand over.
func checkIssues(p warranty.Principal, customerEmail string) error {
	if p.ActsForOrganization() || p.Account.Kind == warranty.OrganizationKind {
		return nil
	}
	const advice = "Only organizations can hand over warranties. Create an organization first, and act for it."
	if customerEmail == "" {
		return warranty.Refuse(warranty.RoleNotAllowed, advice)
	}
	var c warranty.Checks
	c.Add("customer_email", "organization_required", advice)
	return c.Err()
}

// OfferHandover offers a warranty that the principal's organization issued and still owns to a customer.
func (s *Service) OfferHandover(
	ctx context.Context, p warranty.Principal, in warranty.OfferHandover,
) (warranty.HandoverOffer, error) {
	var out warranty.HandoverOffer
	if err := in.Check(); err != nil {
		return out, err
	}
	if err := p.Account.Require(warranty.Member); err != nil {
		return out, err
	}
	now := s.now()
	found, err := s.Store.Warranty(ctx, p.Account.ID, in.ID)
	if err != nil {
		return out, err
	}
	if err := checkIssues(p, in.CustomerEmail); err != nil {
		return out, err
	}
	o, err := s.newOffer(ctx, p, &found, in.CustomerEmail, in.CustomerName, now)
	if err != nil {
		return out, err
	}
	offered := s.event(p, warranty.HandoverWasOffered, found.ID, now)
	// The response is stored without the code, which is shown only once.
	out = warranty.HandoverOffer{WarrantyID: found.ID, Email: found.Offer.Email, ExpiresAt: *found.Offer.ExpiresAt}
	key := in.IdempotencyKey
	in.IdempotencyKey = nil
	out, err = once(s, p, api.OfferHandover.Name, key, in, out, func(replay func(*store.Tx) (bool, error)) error {
		return s.writeMailing(ctx, p, warranty.Member, func(tx *store.Tx, from *sender) error {
			if done, err := replay(tx); err != nil || done {
				return err
			}
			w, err := tx.LockWarranty(p.Account.ID, warranty.WarrantyKey{ID: found.ID})
			if err != nil {
				return err
			}
			if err := w.MayHandOver(); err != nil {
				return err
			}
			w.Offer, w.CustomerName = found.Offer, found.CustomerName
			if err := s.mailAgain(tx, from, w, o, now); err != nil {
				return err
			}
			if err := tx.OfferHandover(w, o.hash, p.Account.ID, p.User.ID, now); err != nil {
				return err
			}
			return tx.InsertEvent(w.ID, offered)
		})
	})
	switch {
	case err != nil || o.mailed():
	case out.Replay:
		out.Note = warranty.Optional(warranty.CodeShownOnce)
	default:
		url := s.PublicURL + "/take#" + o.code
		out.Code, out.TakeURL = &o.code, &url
	}
	s.wakeMail()
	return out, err
}

// CancelHandover cancels the open offer of a warranty that the principal's organization still owns.
func (s *Service) CancelHandover(
	ctx context.Context, p warranty.Principal, in warranty.CancelHandover,
) (warranty.None, error) {
	now := s.now()
	cancelled := s.event(p, warranty.HandoverCancelled, unknownYet, now)
	return warranty.None{}, s.writeAs(ctx, p, func(tx *store.Tx) error {
		w, err := tx.LockWarranty(p.Account.ID, in.ID)
		if err != nil {
			return err
		}
		if err := w.Roles.May(warranty.HandOver); err != nil {
			return err
		}
		if !w.Offer.Open(now) {
			return warranty.ErrNotFound
		}
		if err := tx.CancelHandover(w.ID, now); err != nil {
			return err
		}
		cancelled.SubjectID = w.ID
		return tx.InsertEvent(w.ID, cancelled)
	})
}

// badHandover returns why the code of an offer does not work.
func (s *Service) badHandover(ctx context.Context, code warranty.Hash, err error) error {
	if !errors.Is(err, warranty.ErrNotFound) {
		return err
	}
	state, issuer, err := s.Store.HandoverState(ctx, code, s.now())
	if err != nil {
		return err
	}
	return refuseCode(state, contactOf(issuer))
}

// contactOf returns whom a customer can ask about an offer: the domain of a verified organization, because anyone can use
// any name, or the name of another one in quotation marks.
func contactOf(issuer warranty.Party) string {
	switch {
	case issuer.Domain != nil:
		return *issuer.Domain
	case issuer.MixedScript:
		return "the shop"
	}
	return `"` + issuer.Name + `"`
}

// refuseCode says why a code takes nothing, and whom to ask.
func refuseCode(state store.CodeState, contact string) error {
	var c warranty.Checks
	switch state {
	case store.CodeTaken:
		c.Add("code", string(state), "This warranty is already registered. If that wasn't you, contact "+contact+".")
	case store.CodeExpired:
		c.Add("code", string(state), "This code has expired. Ask "+contact+" for a new one.")
	case store.CodeNotValid:
		c.Add("code", string(state), "This warranty is not valid. Ask "+contact+".")
	case store.CodeWithdrawn:
		c.Add("code", string(state), "This warranty was withdrawn. Ask "+contact+".")
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
	if err := s.Throttle(ctx, VerifyAttempts, p.Address); err != nil {
		return warranty.HandoverPreview{}, err
	}
	code := warranty.HashCode(in.Code)
	h, err := s.Store.HandoverCode(ctx, code, s.now())
	if err != nil {
		return warranty.HandoverPreview{}, s.badHandover(ctx, code, err)
	}
	return h.Preview, nil
}

// TakeHandover makes the principal's account the owner of a warranty with the code of its offer.
func (s *Service) TakeHandover(
	ctx context.Context, p warranty.Principal, in warranty.TakeHandover,
) (warranty.Warranty, error) {
	var w warranty.Warranty
	if err := in.Check(); err != nil {
		return w, err
	}
	if !p.User.EmailVerified {
		return w, warranty.Refuse(warranty.EmailNotVerified, "Verify your email address first.")
	}
	if err := s.Throttle(ctx, VerifyAttempts, p.Address); err != nil {
		return w, err
	}
	now, code := s.now(), warranty.HashCode(in.Code)
	seen, err := s.Store.HandoverCode(ctx, code, now)
	if err != nil {
		return w, s.badHandover(ctx, code, err)
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
	taken := s.event(p, warranty.HandoverWasTaken, unknownYet, now)
	err = s.writeAs(ctx, p, func(tx *store.Tx) error {
		id, err := s.take(tx, code, p, taken, now)
		if err != nil {
			return err
		}
		w, err = tx.LockWarranty(p.Account.ID, warranty.WarrantyKey{ID: id})
		return err
	})
	s.show(&w)
	return w, s.badHandover(ctx, code, err)
}

// take uses up a code and makes the principal's account the owner of its warranty.
func (s *Service) take(
	tx *store.Tx, code warranty.Hash, p warranty.Principal, taken warranty.Event, now time.Time,
) (warranty.ID, error) {
	h, err := tx.UseHandoverCode(code, now)
	if err != nil {
		return warranty.ID{}, err
	}
	if h.Issuer == p.Account.ID {
		return warranty.ID{}, warranty.Refuse(warranty.RoleNotAllowed, "Your account issued this warranty and already owns it.")
	}
	if err := tx.TakeHandover(h, p.Account.ID, now); err != nil {
		return warranty.ID{}, err
	}
	taken.SubjectID = h.Warranty.ID
	return h.Warranty.ID, tx.InsertEvent(h.Warranty.ID, taken)
}

// EmailHandover emails a code to someone who has a printed one. It verifies the address, signs in and takes
// the warranty. The printed code keeps working until one of them is used. The response does not reveal whether
// the address has an account.
func (s *Service) EmailHandover(
	ctx context.Context, p warranty.Principal, in warranty.EmailHandover,
) (warranty.None, error) {
	if err := in.Check(); err != nil {
		return warranty.None{}, err
	}
	if err := s.throttleCode(ctx, p, store.ForVerification, in.Email); err != nil {
		return warranty.None{}, err
	}
	now, hash := s.now(), warranty.HashCode(in.Code)
	if err := s.Throttle(ctx, PrintedCodeMails, hex.EncodeToString(hash[:])); err != nil {
		return warranty.None{}, err
	}
	h, err := s.Store.HandoverCode(ctx, hash, now)
	if err == nil && h.Email != nil {
		var c warranty.Checks
		c.Add("code", "already_mailed", "This code was emailed. It registers you by itself.")
		err = c.Err()
	}
	if err != nil {
		return warranty.None{}, s.badHandover(ctx, hash, err)
	}
	code, err := warranty.NewCode(s.Random)
	if err != nil {
		return warranty.None{}, err
	}
	expires := now.Add(warranty.SignInCodeLifetime)
	texts, err := s.textsAt(ctx, in.Email, p)
	if err != nil {
		return warranty.None{}, err
	}
	message := s.outgoing(texts.HandoverCode(in.Email, code, s.PublicURL))
	message.Expires, message.Urgent = &expires, true
	err = s.Store.Write(ctx, func(tx *store.Tx) error {
		// Whoever prints codes chooses where such emails go, so they count as the issuer's.
		locked, err := tx.LockUsers(h.Issuer)
		if err != nil {
			return err
		}
		if err := tx.InsertHandoverCode(h.Warranty.ID, warranty.HashCode(code), &in.Email, true, expires); err != nil {
			return err
		}
		from := &sender{Account: locked[h.Issuer], person: h.Issuer}
		if err := s.contact(tx, from, message, h.Warranty.ID, now); isMailLimit(err) {
			return &warranty.Error{Code: warranty.RateLimited, Wait: digestDelay,
				Message: "We cannot email another code for this today. Sign in or register first, then enter the code."}
		} else if err != nil {
			return err
		}
		return nil
	})
	s.wakeMail()
	return warranty.None{}, err
}

// RegisterHandover takes a warranty for someone who is not signed in: the emailed code proves that the address
// is theirs. Without an account, they get one. A code that they asked for also signs in to their account; the
// code of an offer does not, because it is valid for too long.
func (s *Service) RegisterHandover(
	ctx context.Context, p warranty.Principal, in warranty.RegisterHandover,
) (warranty.HandoverSession, error) {
	var out warranty.HandoverSession
	if err := in.Check(); err != nil {
		return out, err
	}
	if err := s.Throttle(ctx, CodeRequests, p.Address); err != nil {
		return out, err
	}
	now, code := s.now(), warranty.HashCode(in.Code)
	h, err := s.Store.HandoverCode(ctx, code, now)
	if err != nil {
		return out, s.badHandover(ctx, code, err)
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
	session, err := s.newSession(newcomer, p.Door)
	if err != nil {
		return out, err
	}
	err = s.Store.Write(ctx, func(tx *store.Tx) error {
		user, err := s.lockTaker(tx, p, newcomer, h.Asked, now)
		if err != nil {
			return err
		}
		p.User, p.Account, session.User = user, warranty.OwnAccount(user), user
		if err := session.start(tx, p); err != nil {
			return err
		}
		if err := s.seeDevice(tx, p, user, now); err != nil {
			return err
		}
		id, err := s.take(tx, code, p, s.event(p, warranty.HandoverWasTaken, unknownYet, now), now)
		if err != nil {
			return err
		}
		out.Warranty, err = tx.LockWarranty(user.ID, warranty.WarrantyKey{ID: id})
		return err
	})
	if s.Store.IsDuplicate(err) {
		err = ErrHasAccount
	}
	s.wakeMail()
	if err == nil {
		s.logSignIn(ctx, p, session.User, "hand-over code")
	}
	out.Session = session.Session
	s.show(&out.Warranty)
	return out, s.badHandover(ctx, code, err)
}

// ErrHasAccount means that an emailed offer is for an address that has an account.
var ErrHasAccount = warranty.Refuse(warranty.AlreadyExists,
	"This address has an account. Sign in, then take the warranty with the same code.")

// lockTaker locks the account of an address that its owner has just verified, or creates it. An account that
// has the address without having verified it is set aside (ADR 16). Unless signIn is set, an account with the
// address is an error.
func (s *Service) lockTaker(
	tx *store.Tx, p warranty.Principal, newcomer warranty.User, signIn bool, now time.Time,
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
	if s.SignupClosed {
		return newcomer, errSignupClosed
	}
	return newcomer, insertUser(tx, p, newcomer, "")
}
