package store

import (
	"context"
	"time"

	"warranty.example/svc/warranty"
)

// A write holds the credential that it is made with, and whoever ends a credential
// waits for the writes that hold it (ADR 8). On SQLite there is one writer, so all
// of this is about PostgreSQL:
//
//   - A write locks the row of its credential in the weakest mode, KEY SHARE, and
//     only then looks, in a statement of its own, whether the credential is alive.
//   - Ending a credential changes its row, which KEY SHARE does not hold up, and
//     commits: from then on no other write begins with it. Write then waits until
//     the row can be locked FOR UPDATE, which KEY SHARE does hold up.
//
// A write that locked the row before that has ended by then. One that locks it
// afterwards looks after the end was committed, and is refused.

// HoldCredential checks, inside a transaction, that the caller's credential is
// alive, and keeps it so until the end: nothing is written for a credential whose
// end has been acknowledged.
func (t *Tx) HoldCredential(p warranty.Principal, now time.Time) error {
	if p.Credential == warranty.BySession {
		if err := t.hold(`SELECT 1 FROM sessions WHERE id = $1 FOR KEY SHARE`, p.CredentialID); err != nil {
			return err
		}
		gone := warranty.Refuse(warranty.SessionExpired, "This session ended while the request was under way; sign in again.")
		return t.tx.expect(t.ctx, gone, `SELECT 1 FROM sessions c JOIN users u ON u.id = c.user_id
			WHERE c.id = $1 AND c.expires_at > $2 AND u.disabled_at IS NULL`, p.CredentialID, now)
	}
	if err := t.hold(`SELECT 1 FROM tokens WHERE id = $1 FOR KEY SHARE`, p.CredentialID); err != nil {
		return err
	}
	gone := warranty.Refuse(warranty.TokenRevoked, "This integration token was revoked or has expired while the request was under way.")
	return t.tx.expect(t.ctx, gone, `SELECT 1 FROM tokens c JOIN users u ON u.id = c.user_id JOIN token_secrets s ON s.token_id = c.id AND s.secret_hash = $3
		WHERE c.id = $1 AND c.expires_at > $2 AND c.revoked_at IS NULL AND u.disabled_at IS NULL AND (s.expires_at IS NULL OR s.expires_at > $2)`,
		p.CredentialID, now, p.SecretHash)
}

// hold sends a statement that locks rows, where several transactions write at once.
func (t *Tx) hold(sql string, args ...any) error {
	if !t.store.concurrent {
		return nil
	}
	return t.later(sql, args...)
}

// ended is the expiry of a session or secret that was ended early. It is long ago,
// so that a replica whose clock is behind, or a write that read the clock a while
// ago, agrees that it is over.
var ended = time.UnixMicro(0)

// holders finds the writes that hold a kind of credential. Each statement is a
// transaction of its own: it holds nothing while it waits, so nobody waits in a ring.
type holders struct {
	busy string // lists which credentials of a user are held right now, without waiting
	wait string // returns when nobody holds one credential any more
}

var (
	tokenHolders = holders{
		busy: `SELECT id FROM tokens WHERE user_id = $1 AND id NOT IN (SELECT id FROM tokens WHERE user_id = $1 FOR UPDATE SKIP LOCKED)`,
		wait: `SELECT 1 FROM tokens WHERE id = $1 FOR UPDATE`,
	}
	// Sessions that were ended are removed once nobody holds them; Sweep removes what a crash leaves.
	sessionHolders = holders{
		busy: `WITH gone AS (DELETE FROM sessions WHERE id IN
			(SELECT id FROM sessions WHERE user_id = $1 AND expires_at = 0 FOR UPDATE SKIP LOCKED) RETURNING id)
			SELECT id FROM sessions WHERE user_id = $1 AND expires_at = 0 AND id NOT IN (SELECT id FROM gone)`,
		wait: `DELETE FROM sessions WHERE id = $1`,
	}
)

// awaited is what Write waits for after the commit: the holders of one credential,
// or of all that a user has.
type awaited struct {
	holders
	id, user warranty.ID
}

// await makes Write wait for the holders of a credential that the transaction ends.
func (t *Tx) await(h holders, id warranty.ID) { t.ended = append(t.ended, awaited{holders: h, id: id}) }

// awaitAll makes Write wait for the holders of all credentials of a user.
func (t *Tx) awaitAll(h holders, user warranty.ID) {
	t.ended = append(t.ended, awaited{holders: h, user: user})
}

// outlast waits for the writes that hold what a committed transaction has ended.
func (s *Store) outlast(ctx context.Context, list []awaited) error {
	if !s.concurrent {
		return nil
	}
	for _, a := range list {
		ids := []warranty.ID{a.id}
		if a.id.IsZero() {
			ids = nil
			if err := s.engine.query(ctx, a.busy, func(r Row) error { ids = append(ids, r.ID(0)); return nil }, a.user); err != nil {
				return err
			}
		}
		for _, id := range ids {
			if err := s.engine.query(ctx, a.wait, func(Row) error { return nil }, id); err != nil {
				return err
			}
		}
	}
	return nil
}
