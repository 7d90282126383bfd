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

// ServiceSettings are what the administrators choose in the web app, at the set-up or later.
type ServiceSettings struct {
	Name         string // of the service; empty for the name of the program
	SignupClosed bool   // nobody can register
}

const serviceSettingsQuery = `SELECT name, signup FROM service_settings`

func readServiceSettings(r *engine.Row) ServiceSettings {
	return ServiceSettings{Name: r.Text(), SignupClosed: r.Text() == signupClosed}
}

// ServiceSettings returns what was chosen. If nothing was, anyone can register.
func (s *Store) ServiceSettings(ctx context.Context) (set ServiceSettings, err error) {
	err = s.db.Query(ctx, serviceSettingsQuery,
		func(r *engine.Row) error { set = readServiceSettings(r); return nil })
	return set, err
}

// LockServiceSettings returns what was chosen, and until the end of the transaction nobody else changes it.
func (t *Tx) LockServiceSettings() (set ServiceSettings, err error) {
	err = t.exactlyOne(`INSERT INTO service_settings (one, signup, name) VALUES (1, $1, '')
		ON CONFLICT (one) DO UPDATE SET one = excluded.one`, signupOpen)
	if err == nil {
		err = t.tx.Query(t.ctx, serviceSettingsQuery,
			func(r *engine.Row) error { set = readServiceSettings(r); return nil })
	}
	return set, err
}

// ChooseServiceSettings stores what was chosen.
func (t *Tx) ChooseServiceSettings(set ServiceSettings) error {
	signup := signupOpen
	if set.SignupClosed {
		signup = signupClosed
	}
	return t.exactlyOne(`INSERT INTO service_settings (one, signup, name) VALUES (1, $1, $2)
		ON CONFLICT (one) DO UPDATE SET signup = excluded.signup, name = excluded.name`, signup, set.Name)
}
