package store

import (
	"context"
	"sync"
	"time"

	"warranty.example/svc/internal/store/engine"
	"warranty.example/svc/warranty"
)

// Credential is a token or session found by its secret.
type Credential struct {
	ID            warranty.ID // of the token or the session
	Hash          warranty.Hash
	User          warranty.User   // who is signed in, or who made the token
	Account       warranty.Acting // that it acts for
	Locale        warranty.Locale // that the person chose; of a token, the language of who made it
	Disabled      bool
	Admin         bool                  // a session of an operator
	CreatedAt     time.Time             // of a session
	ConfirmedAt   time.Time             // of a session
	SeenAt        time.Time             // of a session
	Method        warranty.SignInMethod // of a session
	TwoStep       bool                  // the person of a session has two-step sign-in
	TokenName     string
	Client        string // of a connected app
	Scopes        warranty.Scopes
	RateLimit     int
	ExpiresAt     time.Time
	RevokedAt     *time.Time
	SecretExpires *time.Time // an older secret of a rotated token
}

// credentials caches tokens, because every request presents one. Any change to what a token shows
// increments its user's epoch in the same transaction, in whichever process, and a cached token is
// never used without checking the epoch: every process sees a revocation on the next request.
type credentials struct {
	mu     sync.RWMutex
	tokens map[warranty.Hash]rememberedToken
}

type rememberedToken struct {
	Credential
	epoch int64
}

// maxCredentials bounds the cache to a few MiB.
const maxCredentials = 10_000

func (c *credentials) get(secret warranty.Hash) (rememberedToken, bool) {
	c.mu.RLock()
	defer c.mu.RUnlock()
	token, ok := c.tokens[secret]
	return token, ok
}

func (c *credentials) put(secret warranty.Hash, token rememberedToken) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for other := range c.tokens {
		if len(c.tokens) < maxCredentials {
			break
		}
		delete(c.tokens, other)
	}
	c.tokens[secret] = token
}

// ForgetTokens empties the token cache. It is for benchmarks.
func (s *Store) ForgetTokens() {
	s.credentials.mu.Lock()
	defer s.credentials.mu.Unlock()
	clear(s.credentials.tokens)
}

// nextEpoch is part of every statement that changes a user.
const nextEpoch = `credential_epoch = credential_epoch + 1`

// tokenChanged makes all processes reload the tokens of a token's user.
func (t *Tx) tokenChanged(id warranty.ID) error {
	return t.exactlyOne(`UPDATE users SET `+nextEpoch+` WHERE id = (SELECT user_id FROM tokens WHERE id = $1)`, id)
}

// TokenBySecret returns an integration token by the hash of one of its secrets.
func (s *Store) TokenBySecret(ctx context.Context, secret warranty.Hash) (Credential, error) {
	if token, ok := s.credentials.get(secret); ok {
		epoch := int64(-1)
		err := s.db.Query(ctx, `SELECT credential_epoch FROM users WHERE id = $1`,
			func(r *engine.Row) error { epoch = r.Int(); return nil }, token.Account.ID)
		if err != nil || epoch == token.epoch {
			return token.Credential, err
		}
	}
	return s.lookUpToken(ctx, secret)
}

func (s *Store) lookUpToken(ctx context.Context, secret warranty.Hash) (Credential, error) {
	var token rememberedToken
	// u is the person who made the token: that of a personal account, or a member of the organization a. A connected
	// app has that person's role.
	err := queryRow(ctx, s.db, `SELECT `+userColumns+`, a.id, a.name, a.kind, a.disabled_at, u.disabled_at, m.role, t.id,
			t.name, t.client_id, t.scopes, t.rate_limit, t.expires_at, t.revoked_at, s.expires_at, s.secret_hash,
			u.language, a.credential_epoch
		FROM token_secrets s JOIN tokens t ON t.id = s.token_id JOIN users a ON a.id = t.user_id
			JOIN users u ON u.id = COALESCE(t.created_by, t.user_id)
			LEFT JOIN members m ON t.client_id IS NOT NULL AND m.account_id = a.id AND m.user_id = u.id
		WHERE s.secret_hash = $1`,
		func(r *engine.Row) {
			token.Credential = Credential{
				User:     readUser(r),
				Account:  readActing(r, warranty.Member),
				Disabled: r.Set(),
			}
			c := &token.Credential
			personDisabled, role := r.Set(), r.Int()
			c.ID, c.TokenName, c.Client = r.ID(), r.Text(), r.Text()
			if c.Client != "" {
				c.Disabled = c.Disabled || personDisabled
			}
			if c.Client != "" && c.Account.Kind == warranty.OrganizationKind {
				c.Disabled = c.Disabled || role == 0
				c.Account.Role = warranty.EnumOf[warranty.MemberRole](role)
			}
			c.Scopes, c.RateLimit = warranty.ScopesOf(r.Int()), int(r.Int())
			c.ExpiresAt, c.RevokedAt, c.SecretExpires = r.Time(), r.OptionalTime(), r.OptionalTime()
			c.Hash = warranty.Hash(r.Bytes())
			c.Locale = warranty.Locale{Language: r.Text()}
			token.epoch = r.Int()
		}, secret)
	// What an app may do in an organization also depends on the person, who has another epoch.
	if err == nil && (token.Client == "" || token.Account.ID == token.User.ID) {
		s.credentials.put(secret, token)
	}
	return token.Credential, err
}

// SessionBySecret returns a session by the hash of its secret.
func (s *Store) SessionBySecret(ctx context.Context, secret warranty.Hash) (Credential, error) {
	var c Credential
	err := queryRow(ctx, s.db, `SELECT `+userColumns+`, u.language, u.zone, u.disabled_at, u.admin_since, s.id, s.created_at,
			s.confirmed_at, `+lastSeen+`, s.method, u.two_step_since, s.expires_at, s.secret_hash
		FROM sessions s JOIN users u ON u.id = s.user_id WHERE s.secret_hash = $1 AND u.kind = `+kindPerson,
		func(r *engine.Row) {
			c = Credential{
				User:        readUser(r),
				Locale:      warranty.Locale{Language: r.Text(), Zone: r.Text()},
				Disabled:    r.Set(),
				Admin:       r.Set(),
				ID:          r.ID(),
				CreatedAt:   r.Time(),
				ConfirmedAt: r.Time(),
				SeenAt:      r.Time(),
				Method:      enum[warranty.SignInMethod](r),
				TwoStep:     r.Set(),
				ExpiresAt:   r.Time(),
				Scopes:      warranty.AllScopes,
				Hash:        warranty.Hash(r.Bytes()),
			}
			c.Account = warranty.OwnAccount(c.User)
		}, secret)
	return c, err
}

// readActing reads the id, name and kind of an account. role applies to organizations.
func readActing(r *engine.Row, role warranty.MemberRole) warranty.Acting {
	a := warranty.Acting{ID: r.ID(), Name: r.Text(), Kind: enum[warranty.AccountKind](r), Role: warranty.Admin}
	if a.Kind == warranty.OrganizationKind {
		a.Role = role
	}
	return a
}
