package service

import (
	"cmp"
	"context"
	"errors"
	"time"

	"warranty.example/svc/api"
	"warranty.example/svc/internal/mail"
	"warranty.example/svc/internal/store"
	"warranty.example/svc/warranty"
)

// What the holder of an account does with it (ADR 77): another address, deleting it and taking that back, and "This was
// not me".

// ChangeEmail emails a code to the new address of a person. Only the session that asks can enter it. If the address
// belongs to someone, it gets an email that says so, and the answer is the same.
func (s *Service) ChangeEmail(
	ctx context.Context, p warranty.Principal, in warranty.ChangeEmail,
) (warranty.None, error) {
	p = p.Self()
	if err := in.CheckFor(p.User.Email); err != nil {
		return warranty.None{}, err
	}
	if err := s.requireConfirmed(p); err != nil {
		return warranty.None{}, err
	}
	if err := s.throttleCode(ctx, p, store.ForVerification, in.Email); err != nil {
		return warranty.None{}, err
	}
	code, err := warranty.NewCode(s.Random)
	if err != nil {
		return warranty.None{}, err
	}
	now := s.now()
	c := store.AddressCode{
		Account: p.User.ID, Email: in.Email, Session: &p.CredentialID, Expires: now.Add(warranty.VerifyLifetime),
	}
	texts, err := s.textsAt(ctx, in.Email, p)
	if err != nil {
		return warranty.None{}, err
	}
	message := s.outgoing(texts.ConfirmEmail(in.Email, code, s.PublicURL))
	message.Expires, message.Urgent = &c.Expires, true
	err = s.writeMailing(ctx, p, warranty.Member, func(tx *store.Tx, from *sender) error {
		if err := tx.InsertAddressCode(c, warranty.HashCode(code)); err != nil {
			return err
		}
		err := s.notify(tx, p, from.User, func(t mail.Texts) mail.Message {
			return t.EmailChangeAsked(from.Email, from.Name, in.Email, s.circumstances(p, now))
		})
		if err != nil {
			return err
		}
		taken, err := tx.IsTaken(in.Email)
		if err != nil {
			return err
		}
		if taken {
			message = s.outgoing(texts.EmailTaken(in.Email, s.PublicURL))
		}
		return s.contact(tx, from, message, from.ID, now)
	})
	s.wakeMail()
	return warranty.None{}, err
}

// ConfirmEmail gives a person the address that a code was emailed to. All other sessions, codes and flows end, and the
// session of the request gets a new secret. Tokens, connected apps and calendar feeds end if in.RevokeTokens is set.
func (s *Service) ConfirmEmail(
	ctx context.Context, p warranty.Principal, in warranty.ConfirmEmail,
) (warranty.Session, error) {
	var session warranty.Session
	if err := in.Check(); err != nil {
		return session, err
	}
	p = p.Self()
	now, code := s.now(), warranty.HashCode(in.Code)
	sent, err := s.Store.AddressCode(ctx, code, now)
	if err == nil && (sent.Account != p.User.ID || sent.Session == nil || *sent.Session != p.CredentialID) {
		err = warranty.ErrNotFound // it is for something else, or another session asked for it
	}
	if err != nil {
		return session, badCode(err)
	}
	secret, err := warranty.NewSecret(warranty.SessionSecret, s.Random)
	if err != nil {
		return session, err
	}
	lock := func(tx *store.Tx) error { return s.lockWithOwner(tx, p.User.ID, sent.Email) }
	err = s.writeWithLocks(ctx, p, warranty.Member, lock, func(tx *store.Tx) error {
		if _, err := tx.UseAddressCode(p.User.ID, code, now); err != nil {
			return badCode(err)
		}
		account, err := tx.LockUser(p.User.ID)
		if err != nil {
			return err
		}
		if err := s.freeAddress(tx, p, sent.Email, p.User.ID, now); err != nil {
			return err
		}
		if err := tx.ChangeEmail(p.User.ID, sent.Email, now); err != nil {
			return err
		}
		if err := s.endOthers(tx, p, account, in.RevokeTokens != nil && *in.RevokeTokens, now); err != nil {
			return err
		}
		p.User.Email, p.User.EmailVerified = sent.Email, true
		if session, err = s.renewSession(tx, p, secret); err != nil {
			return err
		}
		for _, user := range []warranty.User{account.User, p.User} {
			err := s.notify(tx, p, user, func(t mail.Texts) mail.Message {
				return t.EmailChanged(user.Email, user.Name, sent.Email, s.circumstances(p, now))
			})
			if err != nil {
				return err
			}
		}
		return nil
	})
	s.wakeMail()
	if s.Store.IsDuplicate(err) {
		err = errAddressTaken
	}
	if err == nil {
		s.logEnd(ctx, p, p.User.ID, "address changed")
	}
	return session, err
}

// endOthers ends all other sessions, the codes and the flows of a locked person, and on request what they made for
// programs.
func (s *Service) endOthers(
	tx *store.Tx, p warranty.Principal, account store.Account, tokens bool, now time.Time,
) error {
	if err := tx.DeleteOtherSessions(account.ID, p.CredentialID); err != nil {
		return err
	}
	if err := tx.DeleteCodes(account.ID); err != nil || !tokens {
		return err
	}
	if err := s.revokeAll(tx, byHolder(account.User, p), account.User, now); err != nil {
		return err
	}
	return s.eachOrganizationOf(tx, p, account.ID, func(by warranty.Principal) error {
		return tx.DropCalendarBy(by.Account.ID, account.ID)
	})
}

// NotMe ends what someone else may have got hold of, for who received a security email, without a sign-in: all
// sessions, tokens, connected apps, feeds, codes and flows end, and the password no longer works. The account gets back
// the address that the email was sent to, unless it belongs to another one meanwhile. If its person deleted the account,
// that is taken back. With two-step sign-in factors stay; without it, those that were added since the email end. Codes that went to an earlier address still work.
func (s *Service) NotMe(ctx context.Context, p warranty.Principal, in warranty.NotMe) (warranty.None, error) {
	if err := in.Check(); err != nil {
		return warranty.None{}, err
	}
	if err := s.throttle(ctx, CodeRequests, p.Address); err != nil {
		return warranty.None{}, err
	}
	now, code := s.now(), warranty.HashCode(in.Code)
	sent, err := s.Store.NotMe(ctx, code, now)
	if err != nil {
		return warranty.None{}, badCode(err)
	}
	err = s.enabling(func() error {
		return s.Store.Write(ctx, func(tx *store.Tx) error {
			if err := s.lockWithOwner(tx, sent.User, sent.Email); err != nil {
				return err
			}
			if err := tx.UseNotMe(sent, code, now); err != nil {
				return badCode(err)
			}
			return s.takeBack(tx, p, sent, now)
		})
	})
	s.wakeMail()
	if err == nil {
		s.logEnd(ctx, p, sent.User, "this was not me")
	}
	return warranty.None{}, err
}

// takeBack does what NotMe says, to a locked account.
func (s *Service) takeBack(tx *store.Tx, p warranty.Principal, sent store.NotMeCode, now time.Time) error {
	account, err := tx.LockUser(sent.User)
	if err != nil {
		return err
	}
	if account.Kind != warranty.PersonKind {
		return badCode(warranty.ErrNotFound) // it became an organization
	}
	if err := s.restoreClosing(tx, p, account, now); err != nil {
		return err
	}
	if err := tx.SetPassword(account.ID, ""); err != nil {
		return err
	}
	// A passkey signs in alone. With two-step sign-in factors stay: whoever reads the mailbox must not remove them.
	if !account.TwoStep {
		if err := tx.DeleteFactorsSince(account.ID, sent.Ends.Add(-warranty.NotMeLifetime-time.Minute)); err != nil {
			return err
		}
	}
	user := account.User
	if user.Email != sent.Email {
		switch err := s.freeAddress(tx, p, sent.Email, user.ID, now); {
		case errors.Is(err, errAddressTaken): // it belongs to someone meanwhile
		case err != nil:
			return err
		default:
			if err := tx.ChangeEmail(user.ID, sent.Email, now); err != nil {
				return err
			}
			user.Email, user.EmailVerified = sent.Email, true
		}
	}
	if err := s.endCredentials(tx, byHolder(user, p), user, true, now); err != nil {
		return err
	}
	c := s.circumstances(p, now)
	if err := s.tellAdmins(tx, p, user, c, mail.Texts.MemberReset); err != nil {
		return err
	}
	told := user
	told.Email = sent.Email
	return s.notify(tx, p, told, func(t mail.Texts) mail.Message { return t.NotMeDone(told.Email, told.Name, c) })
}

// DeleteAccount deletes the account of a person: all its credentials end, and it is erased after 30 days unless they
// take that back. The only admin of an organization is not deleted.
func (s *Service) DeleteAccount(
	ctx context.Context, p warranty.Principal, in warranty.DeleteAccount,
) (warranty.DeletedAccount, error) {
	p = p.Self()
	if err := in.CheckFor(p.User.Email); err != nil {
		return warranty.DeletedAccount{}, err
	}
	if err := s.requireConfirmed(p); err != nil {
		return warranty.DeletedAccount{}, err
	}
	now := s.now()
	due := now.Add(store.ErasureDelay)
	var locked map[warranty.ID]store.Account
	lock := func(tx *store.Tx) (err error) {
		locked, err = lockWithOrganizations(tx, p.User.ID)
		return err
	}
	err := s.writeWithLocks(ctx, p, warranty.Member, lock, func(tx *store.Tx) error {
		account := locked[p.User.ID]
		if err := s.mayErase(tx, account); err != nil {
			return err
		}
		if account.Admin {
			return warranty.Refuse(warranty.LastAdmin,
				"This account may open the admin page of the service. Ask the operator to change that first.")
		}
		if err := s.close(tx, byHolder(account.User, p), account, false, now); err != nil {
			return err
		}
		if err := tx.PlanErasure(account.ID, due, true); err != nil {
			return err
		}
		e := s.event(byHolder(account.User, p), warranty.AccountToBeErased, account.ID, now,
			warranty.Change{Field: "erase_at", To: new(warranty.DateOf(due).String())})
		if err := tx.InsertEvent(account.ID, e); err != nil {
			return err
		}
		return s.notify(tx, p, account.User, func(t mail.Texts) mail.Message {
			return t.AccountDeleted(account.Email, account.Name, due, s.circumstances(p, now))
		})
	})
	s.wakeMail()
	if err != nil {
		return warranty.DeletedAccount{}, err
	}
	s.logEnd(ctx, p, p.User.ID, "account deleted by its person")
	return warranty.DeletedAccount{ErasedAt: due}, nil
}

// closing returns the planned erasure of a locked and disabled person who may take it back.
func (s *Service) closing(tx *store.Tx, account store.Account, now time.Time) (e store.Erasure, ok bool, err error) {
	e, err = tx.LockErasure(account.ID)
	if errors.Is(err, warranty.ErrNotFound) {
		return e, false, nil
	}
	return e, err == nil && e.Restorable && !e.Started && e.Due.After(now), err
}

// restoreClosing enables a locked person who deleted the account themselves.
func (s *Service) restoreClosing(tx *store.Tx, p warranty.Principal, account store.Account, now time.Time) error {
	if !account.Disabled {
		return nil
	}
	_, ok, err := s.closing(tx, account, now)
	if err != nil || !ok {
		return err
	}
	return s.enable(tx, byHolder(account.User, p), account, now)
}

// RestoreAccount takes back the deletion of an account, with the flow in which its person proved to be its holder, and
// signs them in.
func (s *Service) RestoreAccount(
	ctx context.Context, p warranty.Principal, in warranty.RestoreAccount,
) (warranty.Session, error) {
	if err := in.Check(); err != nil {
		return warranty.Session{}, err
	}
	if err := s.throttle(ctx, SignInAttempts, p.Address); err != nil {
		return warranty.Session{}, err
	}
	now := s.now()
	flow, err := s.flowOf(ctx, p, in.Flow, store.FlowRestore, now)
	if err != nil {
		return warranty.Session{}, err
	}
	c, err := s.continuing(p, flow)
	if err != nil {
		return warranty.Session{}, err
	}
	err = s.enabling(func() error {
		return s.Store.Write(ctx, func(tx *store.Tx) error {
			account, err := tx.LockUser(*flow.User)
			if err != nil {
				return err
			}
			if err := tx.UseFlow(flow.Hash, now); err != nil {
				return codeGone(err, errFlow)
			}
			if _, ok, err := s.closing(tx, account, now); err != nil || !ok {
				return cmp.Or[error](err, errFlow)
			}
			if err := s.enable(tx, byHolder(account.User, p), account, now); err != nil {
				return err
			}
			if _, err = c.complete(tx, account.ID); err != nil {
				return err
			}
			return s.notify(tx, p, account.User, func(t mail.Texts) mail.Message {
				return t.AccountRestored(account.Email, account.Name, s.circumstances(p, now))
			})
		})
	})
	s.wakeMail()
	if err != nil {
		return warranty.Session{}, err
	}
	s.Log.InfoContext(ctx, "account restored by its person", "request_id", api.CallerOf(ctx).RequestID, "ip", p.Address,
		"user", flow.User.String())
	return c.session(ctx)
}
