package service

import (
	"cmp"
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"sync"

	"warranty.example/svc/internal/mail"
	"warranty.example/svc/internal/store"
	"warranty.example/svc/warranty"
)

// An address that unsubscribes names a recipient and a kind of email, signed with a key of the database, so that
// it needs no row and no session and works as long as the recipient has the email address. It can do nothing
// else (ADR 38).

// unsubscribePage is the path of the page, followed by the token.
const unsubscribePage = "/unsubscribe/"

const macSize = 16

// unsubscribeKey is the key, read once.
type unsubscribeKey struct {
	mu  sync.Mutex
	key []byte
}

// get returns the key, and makes it if there is none and create is set.
func (k *unsubscribeKey) get(ctx context.Context, s *Service, create bool) ([]byte, error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.key != nil {
		return k.key, nil
	}
	key, err := s.Store.UnsubscribeKey(ctx)
	if errors.Is(err, warranty.ErrNotFound) && create {
		made := make([]byte, 32)
		if _, err := io.ReadFull(s.Random, made); err != nil {
			return nil, fmt.Errorf("make the key of unsubscribe addresses: %w", err)
		}
		// Another replica may be faster.
		if err := s.Store.Write(ctx, func(tx *store.Tx) error { return tx.AddUnsubscribeKey(made) }); err != nil {
			return nil, err
		}
		key, err = s.Store.UnsubscribeKey(ctx)
	}
	if err == nil {
		k.key = key
	}
	return key, err
}

// unsubscribeMAC signs a recipient and a kind of email. The address is part of it: another address of the same
// person or organization has other tokens.
func unsubscribeMAC(key []byte, u store.Unsubscribe, email string) []byte {
	h := hmac.New(sha256.New, key)
	h.Write([]byte("unsubscribe\x00"))
	h.Write(u.Bytes())
	h.Write([]byte(email))
	return h.Sum(nil)[:macSize]
}

// finish adds to an email of the outbox what is below it, with the addresses that unsubscribe and that mute a claim.
func (s *Service) finish(
	ctx context.Context, m mail.Message, u *store.Unsubscribe, claim *warranty.ID,
) (mail.Message, error) {
	var l mail.Links
	if u != nil {
		key, err := s.unsubscribe.get(ctx, s, true)
		if err != nil {
			return m, err
		}
		address := func(u store.Unsubscribe) string {
			token := append(u.Bytes(), unsubscribeMAC(key, u, m.To)...)
			return s.PublicURL + unsubscribePage + base64.RawURLEncoding.EncodeToString(token)
		}
		l.Unsubscribe = address(*u)
		if claim != nil {
			l.Mute = address(store.Unsubscribe{Kind: store.MutedClaim, Account: u.Account, User: u.User, Claim: *claim})
		}
		m.Language = cmp.Or(m.Language, u.Language) // of an email of 1.0.0
	}
	m.Service = s.Name(ctx)
	return mail.In(warranty.Locale{Language: m.Language}).Finish(m, l), nil
}

// Subscription is a kind of email that an address gets or not.
type Subscription struct {
	Email   string
	Kind    store.MailKind
	Wanted  bool
	Account string             // name of the organization, if the emails are about one
	Claim   warranty.Reference // number of the claim, if they are about one

	of store.Unsubscribe
}

// Subscription returns what a token of an email turns off. All invalid tokens have the same error, and are
// throttled per network.
func (s *Service) Subscription(ctx context.Context, p warranty.Principal, token string) (Subscription, error) {
	sub, err := s.subscription(ctx, token)
	if errors.Is(err, warranty.ErrNotFound) {
		if limited := s.throttle(ctx, UnknownSubscriptions, p.Address); limited != nil {
			err = limited
		}
	}
	return sub, err
}

func (s *Service) subscription(ctx context.Context, token string) (sub Subscription, err error) {
	raw, err := base64.RawURLEncoding.Strict().DecodeString(token)
	if err != nil || len(raw) < macSize {
		return sub, warranty.ErrNotFound
	}
	signed, mac := raw[:len(raw)-macSize], raw[len(raw)-macSize:]
	u, ok := store.ParseUnsubscribe(signed)
	if !ok {
		return sub, warranty.ErrNotFound
	}
	key, err := s.unsubscribe.get(ctx, s, false)
	if err != nil {
		return sub, err
	}
	to, err := s.Store.Recipient(ctx, u.Account, u.User)
	if err != nil {
		return sub, err
	}
	if !hmac.Equal(mac, unsubscribeMAC(key, u, to.Email)) {
		return sub, warranty.ErrNotFound
	}
	sub = Subscription{Email: to.Email, Kind: u.Kind, Wanted: to.Wants(u.Kind), of: u}
	if u.Kind == store.MutedClaim {
		c, err := s.Store.Claim(ctx, u.Account, warranty.ClaimKey{ID: u.Claim})
		if err != nil {
			return Subscription{}, err // they lost access to it
		}
		muted, err := s.Store.Muted(ctx, u.Mute())
		if err != nil {
			return Subscription{}, err
		}
		sub.Claim, sub.Wanted = c.ClaimNumber, !muted
	}
	account, err := s.Store.Account(ctx, u.Account)
	if account.Kind == warranty.OrganizationKind {
		sub.Account = account.Name
	}
	return sub, err
}

// Subscribe turns the emails of a token on or off. The token is all that it needs: mail programs send it without
// a session (RFC 8058).
func (s *Service) Subscribe(
	ctx context.Context, p warranty.Principal, token string, wanted bool,
) (Subscription, error) {
	sub, err := s.Subscription(ctx, p, token)
	if err != nil || sub.Wanted == wanted {
		return sub, err
	}
	err = s.Store.Write(ctx, func(tx *store.Tx) error {
		if _, err := tx.LockUser(sub.of.Account); err != nil {
			return err
		}
		return tx.SetWanted(sub.of, wanted)
	})
	sub.Wanted = wanted
	return sub, err
}
