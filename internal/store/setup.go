package store

import (
	"context"
	"time"

	"warranty.example/svc/internal/store/engine"
	"warranty.example/svc/warranty"
)

// firstAccount is the milestone of the first account. Transactions that reach it at once are serialized.
const firstAccount = "first account"

// IsSetUp reports whether the service ever had an account.
func (s *Store) IsSetUp(ctx context.Context) (bool, error) {
	found := false
	err := s.db.Query(ctx, `SELECT 1 FROM milestones WHERE name = $1 UNION ALL SELECT 1 FROM users LIMIT 1`,
		func(*engine.Row) error { found = true; return nil }, firstAccount)
	return found, err
}

// InsertSetupCode adds a code that makes the first administrator.
func (t *Tx) InsertSetupCode(hash warranty.Hash, expires time.Time) error {
	return t.later(`INSERT INTO setup_codes (code_hash, expires_at) VALUES ($1, $2)`, hash, expires)
}

// IsSetupCode reports whether a code makes the first administrator.
func (s *Store) IsSetupCode(ctx context.Context, hash warranty.Hash, now time.Time) (bool, error) {
	found := false
	err := s.db.Query(ctx, `SELECT 1 FROM setup_codes WHERE code_hash = $1 AND expires_at > $2`,
		func(*engine.Row) error { found = true; return nil }, hash, now)
	return found, err
}

// ReachFirstAccount ends the set-up and all its codes. It comes before the account is inserted. It reports whether the
// account is the first one; a concurrent transaction waits and then gets false.
func (t *Tx) ReachFirstAccount(now time.Time) (bool, error) {
	first, err := t.ReachMilestone(firstAccount, now)
	if err != nil || !first {
		return first, err
	}
	return true, t.later(`DELETE FROM setup_codes`)
}

// The values of service_settings.signup.
const (
	signupOpen   = "open"
	signupClosed = "closed"
)

// ChooseSignup stores who can register.
func (t *Tx) ChooseSignup(closed bool) error {
	signup := signupOpen
	if closed {
		signup = signupClosed
	}
	return t.exactlyOne(`INSERT INTO service_settings (one, signup) VALUES (1, $1)
		ON CONFLICT (one) DO UPDATE SET signup = excluded.signup`, signup)
}

// SignupClosed reports whether nobody can register, as it was chosen at the set-up.
func (s *Store) SignupClosed(ctx context.Context) (closed bool, err error) {
	err = s.db.Query(ctx, `SELECT signup FROM service_settings`,
		func(r *engine.Row) error { closed = r.Text() == signupClosed; return nil })
	return closed, err
}
