package service

import (
	"context"
	"crypto/subtle"
	"errors"
	"time"

	"warranty.example/svc/internal/store"
	"warranty.example/svc/warranty"
)

// Authenticate returns the principal of a secret. asKey means that it was sent as
// x-api-key, which accepts only integration tokens. It queries the store every time, so
// that a revocation takes effect with the next request on every replica.
func (s *Service) Authenticate(ctx context.Context, secret string, asKey bool) (warranty.Principal, error) {
	kind, wellFormed := warranty.ParseSecret(secret)
	switch {
	case !wellFormed:
		return warranty.Principal{}, warranty.Refuse(warranty.InvalidCredential,
			"The credential is malformed. Copy all of it and try again.")
	case kind == warranty.TokenSecret:
		return s.authenticateToken(ctx, warranty.HashSecret(secret), kind)
	case asKey:
		return warranty.Principal{}, warranty.Refuse(warranty.InvalidCredential,
			"x-api-key accepts integration tokens only. Send a session as Authorization: Bearer.")
	case kind == warranty.AccessSecret:
		return s.authenticateToken(ctx, warranty.HashSecret(secret), kind)
	case kind == warranty.SessionSecret:
		return s.authenticateSession(ctx, warranty.HashSecret(secret))
	}
	return warranty.Principal{}, errUnknownSecret // a code or a refresh token, which are no credentials here
}

var errUnknownSecret = warranty.Refuse(warranty.InvalidCredential,
	"Unknown credential. Check that it is for this service.")

func (s *Service) authenticateToken(
	ctx context.Context, hash warranty.Hash, kind warranty.SecretKind,
) (warranty.Principal, error) {
	c, err := s.Store.TokenBySecret(ctx, hash)
	if err := checkCredential(c, hash, err); err != nil {
		return warranty.Principal{}, err
	}
	now := s.Now()
	switch {
	case (kind == warranty.AccessSecret) != (c.Client != ""):
		return warranty.Principal{}, errUnknownSecret
	case c.Client != "" && (c.RevokedAt != nil || !now.Before(c.ExpiresAt)):
		return warranty.Principal{}, warranty.Refuse(warranty.TokenRevoked,
			"This app was disconnected, or was not used for a long time. Connect it again.")
	case c.Client != "" && c.SecretExpires != nil && !now.Before(*c.SecretExpires):
		return warranty.Principal{}, warranty.Refuse(warranty.TokenExpired,
			"This access token has expired. Get a new one with the refresh token.")
	case c.RevokedAt != nil:
		return warranty.Principal{}, warranty.Refuse(warranty.TokenRevoked,
			"This integration token was revoked. Use another one.")
	case !now.Before(c.ExpiresAt):
		return warranty.Principal{}, warranty.Refuse(warranty.TokenExpired,
			"This integration token has expired. Create a new one.")
	case c.SecretExpires != nil && !now.Before(*c.SecretExpires):
		return warranty.Principal{}, warranty.Refuse(warranty.TokenExpired,
			"This token was rotated and its old secret has expired. Use the new secret.")
	}
	return warranty.Principal{
		User:         c.User,
		Account:      c.Account,
		Locale:       c.Locale,
		Credential:   warranty.ByToken,
		CredentialID: c.ID,
		SecretHash:   hash,
		TokenName:    c.TokenName,
		Client:       c.Client,
		Scopes:       c.Scopes,
		RateLimit:    c.RateLimit,
		ExpiresAt:    earliest(c.ExpiresAt, c.SecretExpires),
	}, nil
}

func (s *Service) authenticateSession(ctx context.Context, hash warranty.Hash) (warranty.Principal, error) {
	c, err := s.Store.SessionBySecret(ctx, hash)
	if err := checkCredential(c, hash, err); err != nil {
		return warranty.Principal{}, err
	}
	now := s.now()
	if !now.Before(c.ExpiresAt) || !now.Before(c.SeenAt.Add(warranty.SessionIdle)) {
		return warranty.Principal{}, warranty.Refuse(warranty.SessionExpired,
			"Your session has expired. Sign in again.")
	}
	if !now.Before(c.SeenAt.Add(warranty.SeenInterval)) {
		s.seen.add(c.ID, now)
	}
	return warranty.Principal{
		User:         c.User,
		Account:      c.Account,
		Locale:       c.Locale,
		Credential:   warranty.BySession,
		CredentialID: c.ID,
		SecretHash:   hash,
		Admin:        c.Admin,
		SignedInAt:   c.CreatedAt,
		ConfirmedAt:  c.ConfirmedAt,
		Method:       c.Method,
		LacksTwoStep: !c.TwoStep && s.requiresTwoStep(c.Admin),
		Scopes:       warranty.AllScopes,
		RateLimit:    s.RateLimit,
		ExpiresAt:    c.ExpiresAt,
	}, nil
}

// ActFor returns the principal acting for an account: its own, or an organization that the person is a
// member of. A token acts only for the account that it was made in.
func (s *Service) ActFor(ctx context.Context, p warranty.Principal, account warranty.ID) (warranty.Principal, error) {
	switch {
	case account == p.Account.ID:
		return p, nil
	case p.Credential != warranty.BySession:
		return p, warranty.ErrAccountNotAllowed
	case account == p.User.ID:
		return p.Self(), nil
	}
	acting, err := s.Store.Membership(ctx, account, p.User.ID)
	if errors.Is(err, warranty.ErrNotFound) {
		err = warranty.ErrAccountNotAllowed
	}
	if err != nil {
		return p, err
	}
	p.Account = acting
	return p, nil
}

// checkCredential rejects unknown credentials and those of disabled accounts.
func checkCredential(c store.Credential, hash warranty.Hash, err error) error {
	if err != nil && !errors.Is(err, warranty.ErrNotFound) {
		return err
	}
	if err != nil || c.Disabled || subtle.ConstantTimeCompare(c.Hash[:], hash[:]) != 1 {
		return errUnknownSecret
	}
	return nil
}

func earliest(t time.Time, other *time.Time) time.Time {
	if other != nil && other.Before(t) {
		return *other
	}
	return t
}

// GetAuthStatus describes the principal.
func (s *Service) GetAuthStatus(
	_ context.Context, p warranty.Principal, _ warranty.GetAuthStatus,
) (warranty.AuthStatus, error) {
	status := warranty.AuthStatus{
		User:               p.User,
		Account:            p.Account,
		Credential:         "session",
		Scopes:             p.Scopes,
		RateLimitPerMinute: p.RateLimit,
		ExpiresAt:          p.ExpiresAt,
	}
	if p.Credential == warranty.ByToken {
		status.Credential, status.Token = "token", &warranty.TokenName{ID: p.CredentialID, Name: p.TokenName}
	}
	return status, nil
}
