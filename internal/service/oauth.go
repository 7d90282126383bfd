package service

import (
	"context"
	"errors"
	"slices"
	"time"

	"warranty.example/svc/internal/mail"
	"warranty.example/svc/internal/store"
	"warranty.example/svc/warranty"
)

// The authorization server (ADR 41): apps register, a person decides about a request, and the app gets a code, which
// it exchanges for tokens.

// OAuthError is an error with its code in RFC 6749 and the specifications that extend it.
type OAuthError struct{ Code, Message string }

func (e *OAuthError) Error() string { return e.Message }

// Errors for apps. They do not tell an unknown code or token from one of another client.
var (
	errUnknownClient = &OAuthError{"invalid_client", "Unknown client_id. Register the client again."}
	errBadDocument   = &OAuthError{"invalid_client_metadata", "The document of the app cannot be read."}
	errBadCode       = &OAuthError{"invalid_grant", "The code is wrong, already used or expired, or is for another request."}
	errBadRefresh    = &OAuthError{"invalid_grant", "The refresh token is wrong, already used or expired. Connect the app again."}
	errBadTarget     = &OAuthError{"invalid_target", "resource must be the address of the MCP endpoint."}
)

// MCPAddress returns the address of the MCP endpoint, for which access tokens are issued.
func (s *Service) MCPAddress() string { return s.PublicURL + "/api/mcp" }

// CheckResource returns an error unless a resource parameter is absent or the resource of the client.
func (s *Service) CheckResource(client, resource string) error {
	address := s.MCPAddress()
	if client == warranty.CommandClient {
		address = s.PublicURL + "/api/v1"
	}
	if resource == "" || resource == address || resource == address+"/" {
		return nil
	}
	return errBadTarget
}

// StartAuthorization keeps a request until the person decides, and returns its id. It can be used once, with the
// same session.
func (s *Service) StartAuthorization(
	ctx context.Context, p warranty.Principal, a warranty.Authorization,
) (id string, err error) {
	if id, err = warranty.NewSecret(warranty.AuthRequest, s.Random); err != nil {
		return "", err
	}
	now := s.now()
	return id, s.Store.Write(ctx, func(tx *store.Tx) error {
		if err := tx.HoldCredential(p.Self(), warranty.Viewer, now); err != nil {
			return err
		}
		if err := tx.UseClient(a.Client.ID, now); err != nil {
			return err
		}
		return tx.InsertAuthorization(warranty.HashSecret(id), p.CredentialID, a, now.Add(warranty.AuthorizationLifetime))
	})
}

// Authorization returns a request that waits for the decision of the principal.
func (s *Service) Authorization(ctx context.Context, p warranty.Principal, id string) (warranty.Authorization, error) {
	a, err := s.Store.Authorization(ctx, warranty.HashSecret(id), p.CredentialID, s.now())
	if err != nil {
		return a, err
	}
	if a.Client, _, err = s.knownClient(ctx, a.Client.ID); err == nil && !a.Client.Allows(a.Redirect) {
		err = warranty.ErrNotFound
	}
	return a, err
}

// DenyAuthorization uses up a request without granting anything.
func (s *Service) DenyAuthorization(ctx context.Context, p warranty.Principal, id string) error {
	now := s.now()
	return s.Store.Write(ctx, func(tx *store.Tx) error {
		if err := tx.HoldCredential(p.Self(), warranty.Viewer, now); err != nil {
			return err
		}
		_, err := tx.UseAuthorization(warranty.HashSecret(id), p.CredentialID, now)
		return err
	})
}

// ApproveAuthorization connects an app to the account that the principal acts for, with those of the scopes that it
// asked for, and returns the authorization code. The connection ends if the code is not used in time.
func (s *Service) ApproveAuthorization(
	ctx context.Context, p warranty.Principal, id string, scopes warranty.Scopes,
) (code string, err error) {
	if s.RequireVerified && !p.User.EmailVerified {
		return "", warranty.Refuse(warranty.EmailNotVerified, "Verify your email address first.")
	}
	a, err := s.Authorization(ctx, p, id)
	if err != nil {
		return "", err
	}
	if code, err = warranty.NewSecret(warranty.AuthCode, s.Random); err != nil {
		return "", err
	}
	now := s.now()
	g := warranty.AppGrant{
		ID:        s.NewID(),
		Account:   p.Account.ID,
		Person:    p.User.ID,
		ClientID:  a.Client.ID,
		Name:      a.Client.Name,
		Host:      hostOf(a),
		Scopes:    slices.DeleteFunc(slices.Clone(a.Scopes), func(s warranty.Scope) bool { return !scopes.Has(s) }),
		RateLimit: min(warranty.DefaultTokenRate, s.MaxTokenRate),
		CreatedAt: now,
		ExpiresAt: now.Add(warranty.AuthCodeLifetime),
	}
	if len(g.Scopes) == 0 {
		var c warranty.Checks
		c.Add("scope", "required", "Choose at least one.")
		return "", c.Err()
	}
	connected := s.event(p, warranty.AppConnected, g.ID, now, warranty.Change{Field: "name", To: &g.Name},
		warranty.Change{Field: "scopes", To: warranty.Optional(g.Scopes.String())})
	err = s.WriteToAccount(ctx, p, warranty.Viewer, func(tx *store.Tx, _ store.Account) error {
		if _, err := tx.UseAuthorization(warranty.HashSecret(id), p.CredentialID, now); err != nil {
			return err
		}
		switch n, err := tx.ActiveGrants(p.Account.ID, p.User.ID, now); {
		case err != nil:
			return err
		case n >= warranty.MaxConnectedApps:
			return warranty.Refuse(warranty.TokenLimitReached,
				"You have connected %d apps, which is the limit. Disconnect one that you no longer use.", n)
		}
		if err := tx.InsertGrant(g); err != nil {
			return err
		}
		if err := tx.InsertAuthCode(warranty.HashSecret(code), g.ID, a, g.ExpiresAt); err != nil {
			return err
		}
		if err := tx.InsertEvent(g.ID, connected); err != nil {
			return err
		}
		return s.notify(tx, p, p.User, func(t mail.Texts) mail.Message {
			return t.AppConnected(p.User.Email, p.User.Name, g.Name, organizationName(p), s.circumstances(p, now))
		})
	})
	s.wakeMail()
	return code, err
}

// hostOf returns the host that is shown for a connection: the one that the client proved, or the one that gets the
// answer. It is empty for an app on the person's computer.
func hostOf(a warranty.Authorization) string {
	switch {
	case a.Client.Host() != "":
		return a.Client.Host()
	case warranty.OnThisComputer(a.Redirect):
		return ""
	}
	return warranty.RedirectHost(a.Redirect)
}

// AppTokens are the tokens of a connected app.
type AppTokens struct {
	Access, Refresh string
	Lifetime        time.Duration // of the access token
	Scopes          warranty.Scopes
}

// ExchangeCode exchanges an authorization code. A request that has everything right but whose code was used before
// ends the connection, because someone copied the code.
func (s *Service) ExchangeCode(ctx context.Context, client, code, redirect, verifier string) (AppTokens, error) {
	if _, _, err := s.knownClient(ctx, client); err != nil {
		return AppTokens{}, err
	}
	hash := warranty.HashSecret(code)
	c, err := s.Store.AuthCode(ctx, hash)
	if errors.Is(err, warranty.ErrNotFound) {
		err = errBadCode
	}
	if err != nil {
		return AppTokens{}, err
	}
	if c.Grant.ClientID != client || c.Redirect != redirect || !warranty.Verifies(verifier, c.Challenge) {
		return AppTokens{}, errBadCode
	}
	return s.issue(ctx, c.Grant, errBadCode, func(tx *store.Tx, now time.Time) (bool, error) {
		used, err := tx.UseAuthCode(hash, now)
		return used || !now.Before(c.Expires) && !c.Used, err
	}, func(now time.Time) bool { return now.Before(c.Expires) }, nil)
}

// RefreshTokens exchanges a refresh token for a new pair. A rotated one works a little longer and gets a pair of its
// own, unless the app already used what it got; then and after that it ends the connection, because someone copied it.
func (s *Service) RefreshTokens(ctx context.Context, client, secret string) (AppTokens, error) {
	if _, _, err := s.knownClient(ctx, client); err != nil {
		return AppTokens{}, err
	}
	hash := warranty.HashSecret(secret)
	f, err := s.Store.RefreshToken(ctx, hash)
	if errors.Is(err, warranty.ErrNotFound) {
		err = errBadRefresh
	}
	if err != nil {
		return AppTokens{}, err
	}
	if f.Grant.ClientID != client {
		return AppTokens{}, errBadRefresh
	}
	return s.issue(ctx, f.Grant, errBadRefresh, func(tx *store.Tx, now time.Time) (bool, error) {
		locked, err := tx.LockRefreshToken(hash)
		if err != nil {
			return false, err
		}
		if locked.Rotated != nil {
			switch pairs, used, err := tx.Successors(f.Grant.ID, hash); {
			case err != nil:
				return false, err
			case used > 0 || !now.Before(locked.Rotated.Add(warranty.RefreshGrace)):
				return false, nil
			case pairs >= warranty.MaxRefreshPairs:
				return false, errBadRefresh
			}
		}
		return true, tx.RotateRefreshToken(hash, now)
	}, func(now time.Time) bool { return now.Before(f.Expires) }, &hash)
}

// issue gives a connection new tokens. use uses up what the app sent, in the transaction, and returns false if that
// was used before: then the connection ends. valid reports whether what the app sent has not expired. parent is the
// refresh token that it sent, if any.
func (s *Service) issue(
	ctx context.Context, g warranty.AppGrant, refusal error,
	use func(*store.Tx, time.Time) (bool, error), valid func(time.Time) bool, parent *warranty.Hash,
) (tokens AppTokens, err error) {
	if tokens.Access, err = warranty.NewSecret(warranty.AccessSecret, s.Random); err != nil {
		return tokens, err
	}
	if tokens.Refresh, err = warranty.NewSecret(warranty.RefreshSecret, s.Random); err != nil {
		return tokens, err
	}
	now := s.now()
	secrets := store.AppSecrets{
		Access:     warranty.HashSecret(tokens.Access),
		Refresh:    warranty.HashSecret(tokens.Refresh),
		Parent:     parent,
		AccessEnds: now.Add(warranty.AccessLifetime),
		Ends:       warranty.ConnectionEnd(g.CreatedAt, now),
	}
	copied, refused := false, false
	err = s.Store.Write(ctx, func(tx *store.Tx) error {
		copied, refused = false, false
		if _, err := tx.LockUser(g.Account); err != nil {
			return err
		}
		locked, err := tx.LockGrant(g.Account, g.ID)
		if err != nil {
			return err
		}
		fresh, err := use(tx, now)
		if err != nil {
			return err
		}
		if !fresh {
			copied = locked.RevokedAt == nil
			return s.endCopied(tx, locked, now)
		}
		may, err := tx.MayUse(locked)
		if err != nil {
			return err
		}
		if !may || locked.RevokedAt != nil || !now.Before(locked.ExpiresAt) || !valid(now) {
			refused = true
			return nil
		}
		tokens.Scopes = locked.Scopes
		return tx.IssueSecrets(g.ID, secrets, now)
	})
	if copied {
		s.Log.WarnContext(ctx, "app disconnected: a code or refresh token was used twice",
			"user", g.Person.String(), "app", g.ID.String())
	}
	switch {
	case err != nil:
		return AppTokens{}, err
	case copied || refused || tokens.Scopes == nil:
		return AppTokens{}, refusal
	}
	tokens.Lifetime = secrets.AccessEnds.Sub(now)
	return tokens, nil
}

// endCopied ends a locked connection whose code or refresh token was used twice.
func (s *Service) endCopied(tx *store.Tx, g warranty.AppGrant, now time.Time) error {
	if err := tx.RevokeToken(g.ID, now); err != nil || g.RevokedAt != nil {
		return err
	}
	e := s.event(warranty.Principal{User: warranty.User{ID: g.Person, Name: g.Name}, Door: warranty.DoorAPI, TokenName: g.Name},
		warranty.AppDisconnected, g.ID, now)
	return tx.InsertEvent(g.ID, e)
}

// RevokeAppToken ends the connection of an access or refresh token, if there is one. client is checked if it is set.
func (s *Service) RevokeAppToken(ctx context.Context, client, secret string) error {
	g, err := s.Store.GrantBySecret(ctx, warranty.HashSecret(secret))
	if errors.Is(err, warranty.ErrNotFound) || err == nil && client != "" && g.ClientID != client {
		return nil
	}
	if err != nil {
		return err
	}
	now := s.now()
	return s.Store.Write(ctx, func(tx *store.Tx) error {
		if _, err := tx.LockUser(g.Account); err != nil {
			return err
		}
		locked, err := tx.LockGrant(g.Account, g.ID)
		if err != nil {
			return err
		}
		return s.endCopied(tx, locked, now)
	})
}
