package service

import (
	"context"
	"crypto/subtle"
	"errors"
	"time"

	"warranty.example/svc/internal/store"
	"warranty.example/svc/warranty"
)

// Authenticate tells who a secret belongs to. asKey says that it came as
// x-api-key, where only integration tokens are taken. The store is asked each
// time: a revocation is seen by the next request on every replica.
func (s *Service) Authenticate(ctx context.Context, secret string, asKey bool) (warranty.Principal, error) {
	kind, wellFormed := warranty.ParseSecret(secret)
	switch {
	case !wellFormed:
		return warranty.Principal{}, warranty.Refuse(warranty.InvalidCredential, "This credential is mistyped or cut off; copy the whole of it again.")
	case kind == warranty.TokenSecret:
		return s.authenticateToken(ctx, warranty.HashSecret(secret))
	case asKey:
		return warranty.Principal{}, warranty.Refuse(warranty.InvalidCredential, "This is a session, which is sent as Authorization: Bearer; x-api-key takes integration tokens.")
	}
	return s.authenticateSession(ctx, warranty.HashSecret(secret))
}

var errUnknownSecret = warranty.Refuse(warranty.InvalidCredential, "This credential is not known here; check that it is for this service.")

func (s *Service) authenticateToken(ctx context.Context, hash warranty.Hash) (warranty.Principal, error) {
	c, err := s.Store.TokenBySecret(ctx, hash)
	if err := known(c, hash, err); err != nil {
		return warranty.Principal{}, err
	}
	now := s.Now()
	switch {
	case c.RevokedAt != nil:
		return warranty.Principal{}, warranty.Refuse(warranty.TokenRevoked, "This integration token was revoked; use another.")
	case !now.Before(c.ExpiresAt):
		return warranty.Principal{}, warranty.Refuse(warranty.TokenExpired, "This integration token has expired; generate a new one.")
	case c.SecretExpires != nil && !now.Before(*c.SecretExpires):
		return warranty.Principal{}, warranty.Refuse(warranty.TokenExpired, "This token was rotated and its old secret has ended; use the new one.")
	}
	return warranty.Principal{User: c.User, Credential: warranty.ByToken, CredentialID: c.ID, SecretHash: hash, TokenName: c.TokenName, Scopes: c.Scopes,
		RateLimit: c.RateLimit, ExpiresAt: earliest(c.ExpiresAt, c.SecretExpires)}, nil
}

func (s *Service) authenticateSession(ctx context.Context, hash warranty.Hash) (warranty.Principal, error) {
	c, err := s.Store.SessionBySecret(ctx, hash)
	if err := known(c, hash, err); err != nil {
		return warranty.Principal{}, err
	}
	if !s.Now().Before(c.ExpiresAt) {
		return warranty.Principal{}, warranty.Refuse(warranty.SessionExpired, "This session has ended; sign in again.")
	}
	return warranty.Principal{User: c.User, Credential: warranty.BySession, CredentialID: c.ID, Scopes: warranty.AllScopes,
		RateLimit: s.RateLimit, ExpiresAt: c.ExpiresAt}, nil
}

// known refuses what was not found, and every credential of a disabled account.
func known(c store.Credential, hash warranty.Hash, err error) error {
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

// GetAuthStatus tells the principal who it is.
func (s *Service) GetAuthStatus(_ context.Context, p warranty.Principal, _ warranty.GetAuthStatus) (warranty.AuthStatus, error) {
	status := warranty.AuthStatus{User: p.User, Credential: "session", Scopes: p.Scopes, RateLimitPerMinute: p.RateLimit, ExpiresAt: p.ExpiresAt}
	if p.Credential == warranty.ByToken {
		status.Credential, status.Token = "token", &warranty.TokenName{ID: p.CredentialID, Name: p.TokenName}
	}
	return status, nil
}
