package service

import (
	"context"
	"time"

	"warranty.example/svc/api"
	"warranty.example/svc/internal/mail"
	"warranty.example/svc/internal/store"
	"warranty.example/svc/warranty"
)

// tokenOperations binds the operations on integration tokens.
func (s *Service) tokenOperations() []api.Bound {
	return []api.Bound{
		api.Bind(api.CreateToken, s.CreateToken),
		api.Bind(api.ListTokens, s.ListTokens),
		api.Bind(api.GetToken, s.GetToken),
		api.Bind(api.RotateToken, s.RotateToken),
		api.Bind(api.RevokeToken, s.RevokeToken),
		api.Bind(api.ListTokenHistory, s.ListTokenHistory),
		api.Bind(api.ListTokenRequests, s.ListTokenRequests),
	}
}

// CreateToken creates an integration token. It locks the account, so that concurrent
// requests cannot exceed the maximum number of active tokens.
func (s *Service) CreateToken(
	ctx context.Context, p warranty.Principal, in warranty.CreateToken,
) (warranty.NewToken, error) {
	now := s.now()
	if err := in.Check(now, s.MaxTokenRate); err != nil {
		return warranty.NewToken{}, err
	}
	if err := s.requireConfirmedOnWeb(p); err != nil {
		return warranty.NewToken{}, err
	}
	secret, err := warranty.NewSecret(warranty.TokenSecret, s.Random)
	if err != nil {
		return warranty.NewToken{}, err
	}
	token := warranty.Token{
		ID:                 s.NewID(),
		Name:               in.Name,
		Prefix:             secret[:warranty.PrefixLength],
		Scopes:             in.ScopeSet(),
		RateLimitPerMinute: *in.RateLimitPerMinute,
		ExpiresAt:          in.ExpiresAt.UTC().Truncate(time.Microsecond),
		CreatedAt:          now,
		CreatedBy:          p.User.Name,
		Usage:              []warranty.DayUsage{},
	}
	token.Show(now)
	created := s.event(p, warranty.TokenCreated, token.ID, now, warranty.Change{Field: "name", To: &token.Name})
	err = s.manage(ctx, p, func(tx *store.Tx, account store.Account) error {
		if err := s.requireVerified(account); err != nil {
			return err
		}
		count, named, err := tx.ActiveTokens(p.Account.ID, token.Name, now)
		switch {
		case err != nil:
			return err
		case named > 0:
			return warranty.Refuse(warranty.AlreadyExists,
				"This account already has an active token with this name. Choose another name.")
		case count >= warranty.MaxActiveTokens:
			return warranty.Refuse(
				warranty.TokenLimitReached,
				"This account has reached the limit of %d active tokens. Revoke one that you no longer use.", count,
			)
		}
		if err := tx.InsertToken(p.Account.ID, p.User.ID, token, warranty.HashSecret(secret)); err != nil {
			return err
		}
		if err := tx.InsertEvent(token.ID, created); err != nil {
			return err
		}
		return s.notifyAdmins(tx, p, account, func(t mail.Texts, to warranty.User) mail.Message {
			return t.TokenCreated(to.Email, to.Name, token.Name, organizationName(p), s.circumstances(p, now))
		})
	})
	s.wakeMail()
	return warranty.NewToken{Token: token, Secret: secret}, err
}

// requireVerified rejects accounts without a verified address, because tokens and feeds
// must not be created before the owner of the mailbox is known.
func (s *Service) requireVerified(account store.Account) error {
	if !s.RequireVerified || account.EmailVerified {
		return nil
	}
	return warranty.Refuse(warranty.EmailNotVerified,
		"Verify your email address first. Request a code with POST /api/auth/verify-email/resend "+
			"and send it to POST /api/auth/verify-email.")
}

// ListTokens lists the principal's tokens.
func (s *Service) ListTokens(
	ctx context.Context, p warranty.Principal, in warranty.ListTokens,
) (warranty.Page[warranty.Token], error) {
	if err := in.Check(); err != nil {
		return warranty.Page[warranty.Token]{}, err
	}
	list, total, err := s.Store.Tokens(ctx, p.Account.ID, in.Paging, s.today()-warranty.UsageDays)
	for i := range list {
		list[i].Show(s.now())
	}
	return warranty.PageOf(list, in.Paging, total), err
}

// CountActiveTokens counts the principal's active tokens, for the web pages.
func (s *Service) CountActiveTokens(ctx context.Context, p warranty.Principal) (int, error) {
	n, err := s.Store.ActiveTokens(ctx, p.Account.ID, s.now())
	return int(n), err
}

// GetToken returns one of the principal's tokens.
func (s *Service) GetToken(ctx context.Context, p warranty.Principal, in warranty.GetToken) (warranty.Token, error) {
	token, err := s.Store.Token(ctx, p.Account.ID, in.ID, s.today()-warranty.UsageDays)
	token.Show(s.now())
	return token, err
}

// RotateToken gives a token a new secret.
func (s *Service) RotateToken(
	ctx context.Context, p warranty.Principal, in warranty.RotateToken,
) (warranty.NewToken, error) {
	if err := in.Check(); err != nil {
		return warranty.NewToken{}, err
	}
	if err := s.requireConfirmedOnWeb(p); err != nil {
		return warranty.NewToken{}, err
	}
	secret, err := warranty.NewSecret(warranty.TokenSecret, s.Random)
	if err != nil {
		return warranty.NewToken{}, err
	}
	now := s.now()
	oldEnds := now
	if in.OverlapSeconds != nil {
		oldEnds = now.Add(time.Duration(*in.OverlapSeconds) * time.Second)
	}
	rotated := s.event(p, warranty.TokenRotated, in.ID, now)
	err = s.manage(ctx, p, func(tx *store.Tx, _ store.Account) error {
		token, err := tx.LockToken(p.Account.ID, in.ID)
		if err != nil {
			return err
		}
		if token.Show(now); token.Status != warranty.TokenIsActive {
			return warranty.Refuse(warranty.InvalidTransition,
				"This token is %s and cannot be rotated. Create a new one.", token.Status)
		}
		token.Prefix = secret[:warranty.PrefixLength]
		if err := tx.RotateToken(token, warranty.HashSecret(secret), now, oldEnds); err != nil {
			return err
		}
		return tx.InsertEvent(token.ID, rotated)
	})
	if err != nil {
		return warranty.NewToken{}, err
	}
	token, err := s.GetToken(ctx, p, warranty.GetToken{ID: in.ID})
	return warranty.NewToken{Token: token, Secret: secret}, err
}

// RevokeToken revokes a token. When it returns, no replica accepts the token and no
// write made with it commits.
func (s *Service) RevokeToken(
	ctx context.Context, p warranty.Principal, in warranty.RevokeToken,
) (warranty.None, error) {
	now := s.now()
	revoked := s.event(p, warranty.TokenWasRevoked, in.ID, now)
	return warranty.None{}, s.manage(ctx, p, func(tx *store.Tx, _ store.Account) error {
		token, err := tx.LockToken(p.Account.ID, in.ID)
		if err != nil {
			return err
		}
		if err := tx.RevokeToken(in.ID, now); err != nil || token.RevokedAt != nil {
			return err
		}
		return tx.InsertEvent(in.ID, revoked)
	})
}
