package store

import (
	"context"
	"time"

	"warranty.example/svc/internal/store/engine"
	"warranty.example/svc/warranty"
)

// Every write holds the credential it is made with, and ending a credential waits for the writes
// that hold it (ADR 8). SQLite has one writer, so this only concerns PostgreSQL:
//
//   - A write locks the row of its credential in the weakest mode, KEY SHARE, and then checks in a
//     separate statement that the credential is valid.
//   - Ending a credential updates its row, which KEY SHARE does not block, and commits: from then on
//     no other write starts with it. Write then waits until the row can be locked FOR UPDATE, which
//     KEY SHARE does block.
//
// A write that locked the row earlier has ended by then. A write that locks it later runs its check
// after the commit and is rejected.

// HoldCredential checks that the caller's credential is valid and holds it until the transaction
// ends: nothing is written with a credential whose end was acknowledged. For a person who acts for an
// organization, with a session or through a connected app, it also holds the membership, whose role must include
// needed.
func (t *Tx) HoldCredential(p warranty.Principal, needed warranty.MemberRole, now time.Time) error {
	if p.Credential == warranty.BySession {
		if err := t.hold(`SELECT 1 FROM sessions WHERE id = $1 FOR KEY SHARE`, p.CredentialID); err != nil {
			return err
		}
		if p.ActsForOrganization() {
			if err := t.holdMembership(p, needed); err != nil {
				return err
			}
		}
		refusal := warranty.Refuse(warranty.SessionExpired, "Your session ended during this request. Sign in again.")
		const valid = `SELECT 1 FROM sessions c JOIN users u ON u.id = c.user_id
			WHERE c.id = $1 AND c.expires_at > $2 AND u.disabled_at IS NULL
				AND CASE WHEN c.seen_at > c.created_at THEN c.seen_at ELSE c.created_at END > $3`
		idle := now.Add(-warranty.SessionIdle)
		if p.SecretHash == (warranty.Hash{}) { // a job keeps its session, whatever its secret is now
			return t.tx.Expect(t.ctx, refusal, valid, p.CredentialID, now, idle)
		}
		return t.tx.Expect(t.ctx, refusal, valid+` AND c.secret_hash = $4`, p.CredentialID, now, idle,
			p.SecretHash)
	}
	if err := t.hold(`SELECT 1 FROM tokens WHERE id = $1 FOR KEY SHARE`, p.CredentialID); err != nil {
		return err
	}
	if p.Client != "" && p.ActsForOrganization() {
		if err := t.holdMembership(p, needed); err != nil {
			return err
		}
	}
	refusal := warranty.Refuse(warranty.TokenRevoked, "This integration token was revoked or expired during this request.")
	return t.tx.Expect(t.ctx, refusal, `SELECT 1 FROM tokens c JOIN users u ON u.id = c.user_id
			JOIN token_secrets s ON s.token_id = c.id AND s.secret_hash = $3
		WHERE c.id = $1 AND c.expires_at > $2 AND c.revoked_at IS NULL AND u.disabled_at IS NULL
			AND (s.expires_at IS NULL OR s.expires_at > $2) AND c.scopes & $4 = $4`,
		p.CredentialID, now, p.SecretHash, p.Scopes.Mask())
}

func (t *Tx) holdMembership(p warranty.Principal, needed warranty.MemberRole) error {
	err := t.hold(`SELECT 1 FROM members WHERE account_id = $1 AND user_id = $2 FOR KEY SHARE`, p.Account.ID, p.User.ID)
	if err != nil {
		return err
	}
	refusal := warranty.Refuse(warranty.AccountNotAllowed,
		"Your membership or your role in this organization changed during this request.")
	return t.tx.Expect(t.ctx, refusal, `SELECT 1 FROM members m JOIN users o ON o.id = m.account_id
		WHERE m.account_id = $1 AND m.user_id = $2 AND m.role > 0 AND m.role <= $3 AND o.disabled_at IS NULL`,
		p.Account.ID, p.User.ID, needed)
}

// hold runs a statement that locks rows, on databases with concurrent writers.
func (t *Tx) hold(sql string, args ...any) error {
	if !t.store.db.Concurrent() {
		return nil
	}
	return t.later(sql, args...)
}

// ended is the expiry of a session or secret that was ended early. It is far in the past, so that a
// replica whose clock is behind, or a write that read the clock earlier, also treats it as expired.
var ended = time.UnixMicro(0)

// holders finds the writes that hold a kind of credential. Each statement runs in a separate
// transaction that holds no other locks, so it cannot deadlock.
type holders struct {
	busy string // lists the credentials or members of an account that are held, without waiting
	wait string // returns once a credential is not held
}

var (
	tokenHolders = holders{
		busy: `SELECT id FROM tokens WHERE ` + ofUser + `
			AND id NOT IN (SELECT id FROM tokens WHERE ` + ofUser + ` FOR UPDATE SKIP LOCKED)`,
		wait: `SELECT 1 FROM tokens WHERE id = $1 FOR UPDATE`,
	}
	// Ended sessions are deleted once nothing holds them. Sweep deletes those left by a crash.
	sessionHolders = holders{
		busy: `WITH gone AS (DELETE FROM sessions WHERE id IN
			(SELECT id FROM sessions WHERE user_id = $1 AND expires_at = 0 FOR UPDATE SKIP LOCKED) RETURNING id)
			SELECT id FROM sessions WHERE user_id = $1 AND expires_at = 0 AND id NOT IN (SELECT id FROM gone)`,
		wait: `DELETE FROM sessions WHERE id = $1`,
	}
	// A removed or demoted member: the row of user_id $1 in the organization $2. A removed row is deleted
	// once nothing holds it.
	memberHolders = holders{
		busy: `SELECT user_id FROM members WHERE account_id = $1
			AND user_id NOT IN (SELECT user_id FROM members WHERE account_id = $1 FOR UPDATE SKIP LOCKED)`,
		wait: `WITH held AS (SELECT account_id, user_id FROM members WHERE user_id = $1 AND account_id = $2 FOR UPDATE)
			DELETE FROM members m USING held WHERE m.account_id = held.account_id AND m.user_id = held.user_id
			AND m.role = ` + memberRemoved,
	}
)

// awaited is what Write waits for after the commit: the holders of one credential, or of all
// credentials of a user.
type awaited struct {
	holders
	id, user warranty.ID
	in       warranty.ID // the organization of a member
}

// await makes Write wait for the holders of a credential that the transaction ends.
func (t *Tx) await(h holders, id warranty.ID) { t.ended = append(t.ended, awaited{holders: h, id: id}) }

// awaitMember makes Write wait for the writes of a member for an organization, after the member's role
// was taken away or lowered.
func (t *Tx) awaitMember(organization, user warranty.ID) {
	t.ended = append(t.ended, awaited{holders: memberHolders, id: user, in: organization})
}

// awaitMembers makes Write wait for the writes of all members for an organization.
func (t *Tx) awaitMembers(organization warranty.ID) {
	t.ended = append(t.ended, awaited{holders: memberHolders, user: organization, in: organization})
}

// awaitAll makes Write wait for the holders of all credentials of a user.
func (t *Tx) awaitAll(h holders, user warranty.ID) {
	t.ended = append(t.ended, awaited{holders: h, user: user})
}

// awaitHolders waits for the writes that hold the credentials ended by a committed transaction.
func (s *Store) awaitHolders(ctx context.Context, list []awaited) error {
	if !s.db.Concurrent() {
		return nil
	}
	for _, a := range list {
		ids := []warranty.ID{a.id}
		if a.id.IsZero() {
			ids = nil
			err := s.db.Query(ctx, a.busy, func(r *engine.Row) error { ids = append(ids, r.ID()); return nil }, a.user)
			if err != nil {
				return err
			}
		}
		for _, id := range ids {
			args := []any{id}
			if !a.in.IsZero() {
				args = append(args, a.in)
			}
			if err := s.db.Query(ctx, a.wait, func(*engine.Row) error { return nil }, args...); err != nil {
				return err
			}
		}
	}
	return nil
}
