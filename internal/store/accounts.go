package store

import (
	"bytes"
	"context"
	"slices"
	"time"

	"warranty.example/svc/internal/store/engine"
	"warranty.example/svc/warranty"
)

// Account is a user with fields that are internal to the service.
type Account struct {
	warranty.User
	Kind         warranty.AccountKind
	PasswordHash string
	Disabled     bool
	Admin        bool // may open the admin page
	TwoStep      bool // signs in with a second step
	Mails        warranty.MailChoices
	Locale       warranty.Locale // what the person chose
}

// Public returns what the person sees of the account.
func (a Account) Public() warranty.Account {
	public := warranty.Account{User: a.User, Mails: a.Mails}
	if a.Locale.Language != "" {
		public.Language = &a.Locale.Language
	}
	if a.Locale.Zone != "" {
		public.TimeZone = &a.Locale.Zone
	}
	return public
}

// Acting returns the account as one that its admin acts for.
func (a Account) Acting() warranty.Acting {
	return warranty.Acting{ID: a.ID, Name: a.Name, Kind: a.Kind, Role: warranty.Admin}
}

const (
	userColumns    = `u.id, u.name, u.email, u.verified_at, u.created_at`
	accountColumns = userColumns + `, u.kind, u.password_hash, u.disabled_at, u.admin_since, u.mail_choices,
		u.language, u.zone, u.two_step_since`
)

func readUser(r *engine.Row) warranty.User {
	return warranty.User{
		ID:            r.ID(),
		Name:          r.Text(),
		Email:         r.Text(),
		EmailVerified: r.Set(),
		CreatedAt:     r.Time(),
	}
}

func readAccount(r *engine.Row, a *Account) {
	a.User, a.Kind = readUser(r), enum[warranty.AccountKind](r)
	a.PasswordHash, a.Disabled, a.Admin = r.Text(), r.Set(), r.Set()
	a.Mails = readChoices(r.Int())
	a.Locale = warranty.Locale{Language: r.Text(), Zone: r.Text()}
	a.TwoStep = r.Set()
}

// The bits of mail_choices.
const (
	wantsWarrantyEnd = 1 << iota
	wantsClaims
	wantsTokenExpiry
)

func readChoices(bits int64) warranty.MailChoices {
	return warranty.MailChoices{
		WarrantyEnd: bits&wantsWarrantyEnd != 0,
		Claims:      bits&wantsClaims != 0,
		TokenExpiry: bits&wantsTokenExpiry != 0,
	}
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

// UpdateAccount updates the name, the email preferences, the language and the time zone of a locked person. Tokens that the person made in
// organizations show the name, too.
func (t *Tx) UpdateAccount(a warranty.Account) error {
	if err := t.later(`UPDATE users SET `+nextEpoch+` WHERE id IN
		(SELECT t.user_id FROM members m JOIN tokens t ON t.user_id = m.account_id AND t.created_by = m.user_id
			WHERE m.user_id = $1)`, a.ID); err != nil {
		return err
	}
	return t.exactlyOne(`UPDATE users SET name = $2, mail_choices = $3, language = $4, zone = $5, `+nextEpoch+` WHERE id = $1`,
		a.ID, a.Name, choiceBits(a.Mails), a.Locale().Language, a.Locale().Zone)
}

// AccountByEmail returns the person's account with a normalized email address.
func (s *Store) AccountByEmail(ctx context.Context, email string) (Account, error) {
	var a Account
	err := queryRow(ctx, s.db, `SELECT `+accountColumns+` FROM users u WHERE u.email = $1 AND u.kind = `+kindPerson,
		func(r *engine.Row) { readAccount(r, &a) }, email)
	return a, err
}

// Account returns an account.
func (s *Store) Account(ctx context.Context, id warranty.ID) (Account, error) {
	var a Account
	err := queryRow(ctx, s.db, `SELECT `+accountColumns+` FROM users u WHERE u.id = $1`,
		func(r *engine.Row) { readAccount(r, &a) }, id)
	return a, err
}

// Locale returns the language and the time zone that an account chose.
func (t *Tx) Locale(id warranty.ID) (l warranty.Locale, err error) {
	err = queryRow(t.ctx, t.tx, `SELECT language, zone FROM users WHERE id = $1`,
		func(r *engine.Row) { l = warranty.Locale{Language: r.Text(), Zone: r.Text()} }, id)
	return l, err
}

// LocaleAt returns the language and the time zone that the person with an email address chose, if there is one.
func (s *Store) LocaleAt(ctx context.Context, email string) (l warranty.Locale, err error) {
	err = s.db.Query(ctx, `SELECT language, zone FROM users WHERE email = $1 AND kind = `+kindPerson,
		func(r *engine.Row) error { l = warranty.Locale{Language: r.Text(), Zone: r.Text()}; return nil }, email)
	return l, err
}

// SetLanguage sets the language of an account that was just inserted.
func (t *Tx) SetLanguage(id warranty.ID, language string) error {
	return t.exactlyOne(`UPDATE users SET language = $2 WHERE id = $1`, id, language)
}

// HasUsers reports whether any account exists.
func (s *Store) HasUsers(ctx context.Context) (bool, error) {
	found := false
	err := s.db.Query(ctx, `SELECT 1 FROM users LIMIT 1`, func(*engine.Row) error { found = true; return nil })
	return found, err
}

// ReachMilestone records a milestone and reports whether it was reached for the first time. A
// concurrent transaction waits and then gets false.
func (t *Tx) ReachMilestone(name string, now time.Time) (bool, error) {
	n, err := t.exec(`INSERT INTO milestones (name, reached_at) VALUES ($1, $2) ON CONFLICT (name) DO NOTHING`, name, now)
	return n == 1, err
}

// ReachedMilestone reports whether a milestone was reached.
func (s *Store) ReachedMilestone(ctx context.Context, name string) (bool, error) {
	reached := false
	err := s.db.Query(ctx, `SELECT 1 FROM milestones WHERE name = $1`,
		func(*engine.Row) error { reached = true; return nil }, name)
	return reached, err
}

// InsertUser adds an account. It fails with a duplicate if the email address is taken.
func (t *Tx) InsertUser(u warranty.User, passwordHash string) error {
	var verified *time.Time
	if u.EmailVerified {
		verified = &u.CreatedAt
	}
	_, err := t.exec(`INSERT INTO users (id, email, name, password_hash, verified_at, created_at)
		VALUES ($1, $2, $3, $4, $5, $6)`,
		u.ID, u.Email, u.Name, passwordHash, verified, u.CreatedAt)
	if err != nil {
		return err
	}
	_, err = t.exec(`INSERT INTO addresses (email, account_id) VALUES ($1, $2)`, u.Email, u.ID)
	return err
}

// LockUser locks an account until the transaction ends. Changes that must be serialized per user
// start with it.
func (t *Tx) LockUser(id warranty.ID) (Account, error) {
	var a Account
	err := queryRow(t.ctx, t.tx, `SELECT `+accountColumns+` FROM users u WHERE u.id = $1 /*pg: FOR UPDATE */`,
		func(r *engine.Row) { readAccount(r, &a) }, id)
	return a, err
}

// LockUsers locks accounts in the order of their ids, so that transactions that lock the same ones do not
// deadlock.
func (t *Tx) LockUsers(ids ...warranty.ID) (map[warranty.ID]Account, error) {
	slices.SortFunc(ids, func(a, b warranty.ID) int { return bytes.Compare(a[:], b[:]) })
	locked := make(map[warranty.ID]Account, len(ids))
	for _, id := range slices.Compact(ids) {
		a, err := t.LockUser(id)
		if err != nil {
			return nil, err
		}
		locked[id] = a
	}
	return locked, nil
}

// VerifyUser marks the email address as verified.
func (t *Tx) VerifyUser(id warranty.ID, now time.Time) error {
	return t.exactlyOne(`UPDATE users SET verified_at = COALESCE(verified_at, $2), `+nextEpoch+` WHERE id = $1`, id, now)
}

// SetPassword replaces the password.
func (t *Tx) SetPassword(id warranty.ID, passwordHash string) error {
	return t.exactlyOne(`UPDATE users SET password_hash = $2, `+nextEpoch+` WHERE id = $1`, id, passwordHash)
}

// DisableUser disables an account and all its credentials, and releases its domains for others.
func (t *Tx) DisableUser(id warranty.ID, now time.Time) error {
	t.awaitMembers(id)
	if err := t.releaseDomains(id); err != nil {
		return err
	}
	return t.exactlyOne(`UPDATE users SET disabled_at = COALESCE(disabled_at, $2), `+nextEpoch+` WHERE id = $1`, id, now)
}

// VerifiedAccount returns the account that has verified an email address.
func (t *Tx) VerifiedAccount(email string) (id warranty.ID, found bool, err error) {
	err = t.tx.Query(t.ctx, `SELECT a.account_id, COALESCE(a.verified_at, u.verified_at)
		FROM addresses a JOIN users u ON u.id = a.account_id WHERE a.email = $1`, func(r *engine.Row) error {
		id, found = r.ID(), r.Set()
		return nil
	}, email)
	return id, found, err
}

// HoldWarranties waits for every write to warranties that is under way and blocks new ones. SQLite has
// one writer and needs no lock.
func (t *Tx) HoldWarranties() error {
	return t.later(`/*pg: LOCK TABLE warranties IN EXCLUSIVE MODE *//*sqlite: SELECT 1 */`)
}

// Purpose is the purpose of a one-time code.
type Purpose uint8

// The purposes.
const (
	ForVerification Purpose = iota + 1
	ForReset
	ForSignIn
)

// String returns the name of the purpose, which is part of rate limit keys.
func (p Purpose) String() string {
	return []string{"", "verification", "reset", "sign-in"}[p]
}

// InsertCode adds a code. A verification code replaces earlier ones, because only the account
// itself can request it. Other codes remain valid: anyone can request them, and a stranger's
// request must not invalidate the code that the owner is about to use.
func (t *Tx) InsertCode(code warranty.Hash, purpose Purpose, user warranty.ID, expires time.Time) error {
	if purpose == ForVerification {
		err := t.later(`DELETE FROM one_time_codes WHERE user_id = $1 AND purpose = $2`, user, purpose)
		if err != nil {
			return err
		}
	}
	return t.later(`INSERT INTO one_time_codes (code_hash, purpose, user_id, expires_at) VALUES ($1, $2, $3, $4)`,
		code, purpose, user, expires)
}

// DeleteCodes deletes all codes of an account, including those of a conversion and of addresses, and the sign-ins to it that
// are not complete.
func (t *Tx) DeleteCodes(user warranty.ID) error {
	if err := t.later(`DELETE FROM address_codes WHERE account_id = $1`, user); err != nil {
		return err
	}
	if err := t.StopSigningIn(user); err != nil {
		return err
	}
	if err := t.DeleteFlows(user); err != nil {
		return err
	}
	return t.later(`DELETE FROM one_time_codes WHERE user_id = $1`, user)
}

// CodeOwner returns the user of a valid code without using it.
func (s *Store) CodeOwner(
	ctx context.Context, code warranty.Hash, purpose Purpose, now time.Time,
) (warranty.ID, error) {
	var user warranty.ID
	err := queryRow(ctx, s.db, `SELECT user_id FROM one_time_codes
		WHERE code_hash = $1 AND purpose = $2 AND expires_at > $3`,
		func(r *engine.Row) { user = r.ID() }, code, purpose, now)
	return user, err
}

// UseCode uses up a valid code and returns its user.
func (t *Tx) UseCode(code warranty.Hash, purpose Purpose, now time.Time) (warranty.ID, error) {
	var user warranty.ID
	err := queryRow(t.ctx, t.tx, `DELETE FROM one_time_codes
		WHERE code_hash = $1 AND purpose = $2 AND expires_at > $3 RETURNING user_id`,
		func(r *engine.Row) { user = r.ID() }, code, purpose, now)
	return user, err
}
