package store

import (
	"context"
	"time"

	"warranty.example/svc/warranty"
)

// Account is a user with what only the store and the service may know.
type Account struct {
	warranty.User
	PasswordHash string
	Disabled     bool
	Mails        warranty.MailChoices
}

const userColumns = `u.id, u.name, u.email, u.verified_at, u.created_at`

func readUser(r Row) warranty.User {
	return warranty.User{ID: r.ID(0), Name: r.Text(1), Email: r.Text(2), EmailVerified: !r.Null(3), CreatedAt: instant(r, 4)}
}

func readAccount(r Row, a *Account) {
	a.User, a.PasswordHash, a.Disabled, a.Mails = readUser(r), r.Text(5), !r.Null(6), readChoices(r.Int(7))
}

// The bits of a person's choice of mails.
const (
	wantsWarrantyEnd = 1 << iota
	wantsClaims
	wantsTokenExpiry
)

func readChoices(bits int64) warranty.MailChoices {
	return warranty.MailChoices{WarrantyEnd: bits&wantsWarrantyEnd != 0, Claims: bits&wantsClaims != 0, TokenExpiry: bits&wantsTokenExpiry != 0}
}

func choiceBits(c warranty.MailChoices) (bits int) {
	for _, choice := range []struct {
		wanted bool
		bit    int
	}{{c.WarrantyEnd, wantsWarrantyEnd}, {c.Claims, wantsClaims}, {c.TokenExpiry, wantsTokenExpiry}} {
		if choice.wanted {
			bits |= choice.bit
		}
	}
	return bits
}

// UpdateAccount writes a locked account's name and choice of mails.
func (t *Tx) UpdateAccount(a warranty.Account) error {
	return t.exactlyOne(`UPDATE users SET name = $2, mail_choices = $3, `+nextEpoch+` WHERE id = $1`, a.ID, a.Name, choiceBits(a.Mails))
}

// AccountByEmail finds an account by its normalised address.
func (s *Store) AccountByEmail(ctx context.Context, email string) (Account, error) {
	var a Account
	err := one(ctx, s.engine, `SELECT `+userColumns+`, u.password_hash, u.disabled_at, u.mail_choices FROM users u WHERE u.email = $1`,
		func(r Row) { readAccount(r, &a) }, email)
	return a, err
}

// Account finds an account by its id.
func (s *Store) Account(ctx context.Context, id warranty.ID) (Account, error) {
	var a Account
	err := one(ctx, s.engine, `SELECT `+userColumns+`, u.password_hash, u.disabled_at, u.mail_choices FROM users u WHERE u.id = $1`,
		func(r Row) { readAccount(r, &a) }, id)
	return a, err
}

// HasUsers tells whether anybody has registered.
func (s *Store) HasUsers(ctx context.Context) (bool, error) {
	found := false
	err := s.engine.query(ctx, `SELECT 1 FROM users LIMIT 1`, func(Row) error { found = true; return nil })
	return found, err
}

// ReachMilestone notes that something happened for the first time, and tells
// whether it did. Of two transactions at once one waits, and then hears no.
func (t *Tx) ReachMilestone(name string, now time.Time) (bool, error) {
	n, err := t.exec(`INSERT INTO milestones (name, reached_at) VALUES ($1, $2) ON CONFLICT (name) DO NOTHING`, name, now)
	return n == 1, err
}

// ReachedMilestone tells whether something has happened.
func (s *Store) ReachedMilestone(ctx context.Context, name string) (bool, error) {
	reached := false
	err := s.engine.query(ctx, `SELECT 1 FROM milestones WHERE name = $1`, func(Row) error { reached = true; return nil }, name)
	return reached, err
}

// InsertUser adds an account. A duplicate is one whose address is taken.
func (t *Tx) InsertUser(u warranty.User, passwordHash string) error {
	var verified *time.Time
	if u.EmailVerified {
		verified = &u.CreatedAt
	}
	_, err := t.exec(`INSERT INTO users (id, email, name, password_hash, verified_at, created_at) VALUES ($1, $2, $3, $4, $5, $6)`,
		u.ID, u.Email, u.Name, passwordHash, verified, u.CreatedAt)
	return err
}

// LockUser locks an account until the transaction ends: whatever must be counted
// or changed for one user at a time begins with it.
func (t *Tx) LockUser(id warranty.ID) (Account, error) {
	var a Account
	err := one(t.ctx, t.tx, `SELECT `+userColumns+`, u.password_hash, u.disabled_at, u.mail_choices FROM users u WHERE u.id = $1 /*pg: FOR UPDATE */`,
		func(r Row) { readAccount(r, &a) }, id)
	return a, err
}

// VerifyUser marks the address as the user's own.
func (t *Tx) VerifyUser(id warranty.ID, now time.Time) error {
	return t.exactlyOne(`UPDATE users SET verified_at = COALESCE(verified_at, $2), `+nextEpoch+` WHERE id = $1`, id, now)
}

// SetPassword replaces the password.
func (t *Tx) SetPassword(id warranty.ID, passwordHash string) error {
	return t.exactlyOne(`UPDATE users SET password_hash = $2, `+nextEpoch+` WHERE id = $1`, id, passwordHash)
}

// DisableUser shuts an account out, with every credential it has.
func (t *Tx) DisableUser(id warranty.ID, now time.Time) error {
	return t.exactlyOne(`UPDATE users SET disabled_at = COALESCE(disabled_at, $2), `+nextEpoch+` WHERE id = $1`, id, now)
}

// HoldSeller keeps an account from being verified until the transaction ends, if
// its address has yet to be: a verification that comes meanwhile then sees this
// transaction's record. It comes before HoldCredential, as accounts are locked
// first. Records that name one unverified account wait for each other; others share
// nothing, so that no change of a busy seller's account has to wait for them.
func (t *Tx) HoldSeller(email string) error {
	return t.hold(`SELECT 1 FROM users WHERE email = $1 AND verified_at IS NULL FOR NO KEY UPDATE`, email)
}

// VerifiedUser finds who has shown the address to be theirs.
func (t *Tx) VerifiedUser(email string) (id warranty.ID, found bool, err error) {
	err = t.tx.query(t.ctx, `SELECT id, verified_at FROM users WHERE email = $1`, func(r Row) error {
		id, found = r.ID(0), !r.Null(1)
		return nil
	}, email)
	return id, found, err
}

// HoldWarranties waits for every write to a warranty that is under way, and makes
// the next ones wait. A record that is being made for an address without an
// account finds no row that it could hold: who adds one that is verified from its
// first moment begins with this. On SQLite there is one writer at a time anyhow.
func (t *Tx) HoldWarranties() error {
	return t.later(`/*pg: LOCK TABLE warranties IN EXCLUSIVE MODE *//*sqlite: SELECT 1 */`)
}

// InsertSession adds a session by the hash of its secret.
func (t *Tx) InsertSession(id, user warranty.ID, secret warranty.Hash, now, expires time.Time) error {
	return t.later(`INSERT INTO sessions (id, secret_hash, user_id, expires_at, created_at) VALUES ($1, $2, $3, $4, $5)`,
		id, secret, user, expires, now)
}

// endSessions ends sessions. Where writes may hold them, the row goes after the commit.
const endSessions = `/*pg: UPDATE sessions SET expires_at = 0 *//*sqlite: DELETE FROM sessions */`

// DeleteSession ends one session.
func (t *Tx) DeleteSession(id warranty.ID) error {
	t.await(sessionHolders, id)
	return t.exactlyOne(endSessions+` WHERE id = $1`, id)
}

// DeleteSessions ends all sessions of a user, whose account is locked.
func (t *Tx) DeleteSessions(user warranty.ID) error {
	t.awaitAll(sessionHolders, user)
	return t.later(endSessions+` WHERE user_id = $1`, user)
}

// Purpose is what a one-time code is for.
type Purpose uint8

// The purposes.
const (
	ForVerification Purpose = iota + 1
	ForReset
	ForSignIn
)

// String names the purpose, for the windows in which codes are counted.
func (p Purpose) String() string {
	return []string{"", "verification", "reset", "sign-in"}[p]
}

// InsertCode adds a code. A code for verification replaces earlier ones, since only
// the account itself asks for it. The others stay valid: anyone may ask for them, and
// a stranger's request must not end the code that the owner is about to use.
func (t *Tx) InsertCode(code warranty.Hash, purpose Purpose, user warranty.ID, expires time.Time) error {
	if purpose == ForVerification {
		if err := t.later(`DELETE FROM one_time_codes WHERE user_id = $1 AND purpose = $2`, user, purpose); err != nil {
			return err
		}
	}
	return t.later(`INSERT INTO one_time_codes (code_hash, purpose, user_id, expires_at) VALUES ($1, $2, $3, $4)`, code, purpose, user, expires)
}

// DeleteCodes ends all codes of a user.
func (t *Tx) DeleteCodes(user warranty.ID) error {
	return t.later(`DELETE FROM one_time_codes WHERE user_id = $1`, user)
}

// CodeOwner tells whose a code is that is still good, without using it.
func (s *Store) CodeOwner(ctx context.Context, code warranty.Hash, purpose Purpose, now time.Time) (warranty.ID, error) {
	var user warranty.ID
	err := one(ctx, s.engine, `SELECT user_id FROM one_time_codes WHERE code_hash = $1 AND purpose = $2 AND expires_at > $3`,
		func(r Row) { user = r.ID(0) }, code, purpose, now)
	return user, err
}

// UseCode takes a code that is still good, so that it can not be used again, and
// tells whose it was.
func (t *Tx) UseCode(code warranty.Hash, purpose Purpose, now time.Time) (warranty.ID, error) {
	var user warranty.ID
	err := one(t.ctx, t.tx, `DELETE FROM one_time_codes WHERE code_hash = $1 AND purpose = $2 AND expires_at > $3 RETURNING user_id`,
		func(r Row) { user = r.ID(0) }, code, purpose, now)
	return user, err
}
