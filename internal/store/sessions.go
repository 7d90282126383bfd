package store

import (
	"context"
	"time"

	"warranty.example/svc/internal/store/engine"
	"warranty.example/svc/warranty"
)

// Session is a session that begins.
type Session struct {
	ID, User warranty.ID
	Secret   warranty.Hash
	Method   warranty.SignInMethod
	Second   warranty.SecondFactor // or ""
	Identity *warranty.ID          // of the provider that signed in
	// Program, System and Network describe the device to the person.
	Program, System, Network string
	Created, Expires         time.Time
	// Confirmed is when the person proved who they are.
	Confirmed time.Time
}

// InsertSession adds a session of a locked account. Only the function that completes a sign-in calls it.
func (t *Tx) InsertSession(s Session) error {
	if err := t.later(`UPDATE users SET last_sign_in_at = $2 WHERE id = $1`, s.User, s.Created); err != nil {
		return err
	}
	return t.later(`INSERT INTO sessions (id, secret_hash, user_id, expires_at, created_at, method, second, confirmed_at,
			seen_at, program, system, network, identity_id)
		VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $5, $9, $10, $11, $12)`,
		s.ID, s.Secret, s.User, s.Expires, s.Created, s.Method, s.Second, s.Confirmed,
		s.Program, s.System, s.Network, s.Identity)
}

// RenewSession replaces the secret of a session of a locked account. On PostgreSQL it waits for the writes that hold the
// session; those that follow are refused if they were authenticated with the old secret.
func (t *Tx) RenewSession(id warranty.ID, secret warranty.Hash) error {
	return t.exactlyOne(`UPDATE sessions SET secret_hash = $2 WHERE id = $1`, id, secret)
}

// MarkConfirmed notes that the person of a session proved who they are.
func (t *Tx) MarkConfirmed(id warranty.ID, now time.Time) error {
	return t.exactlyOne(`UPDATE sessions SET confirmed_at = $2 WHERE id = $1`, id, now)
}

// MoveSession gives a session to another person, who proved who they are by a method.
func (t *Tx) MoveSession(id, user warranty.ID, method warranty.SignInMethod) error {
	return t.exactlyOne(`UPDATE sessions SET user_id = $2, method = $3, second = 0, identity_id = NULL WHERE id = $1`,
		id, user, method)
}

// endSessions ends sessions. On PostgreSQL, writes may hold the row, so it is deleted after the
// commit.
const endSessions = `/*pg: UPDATE sessions SET expires_at = 0 *//*sqlite: DELETE FROM sessions */`

// DeleteSession ends a session.
func (t *Tx) DeleteSession(id warranty.ID) error {
	t.await(sessionHolders, id)
	if err := t.later(`DELETE FROM session_proofs WHERE session_id = $1`, id); err != nil {
		return err
	}
	return t.exactlyOne(endSessions+` WHERE id = $1`, id)
}

// DeleteSessions ends all sessions of a locked user.
func (t *Tx) DeleteSessions(user warranty.ID) error {
	return t.DeleteOtherSessions(user, warranty.ID{})
}

// DeleteOtherSessions ends all sessions of a locked user but one.
func (t *Tx) DeleteOtherSessions(user, kept warranty.ID) error {
	t.awaitAll(sessionHolders, user)
	err := t.later(`DELETE FROM session_proofs WHERE session_id IN
		(SELECT id FROM sessions WHERE user_id = $1 AND id <> $2)`, user, kept)
	if err != nil {
		return err
	}
	return t.later(endSessions+` WHERE user_id = $1 AND id <> $2`, user, kept)
}

// InsertProof notes that the person of a session proved to the provider of an organization who they are.
func (t *Tx) InsertProof(session, organization, provider warranty.ID, now time.Time) error {
	return t.later(`INSERT INTO session_proofs (session_id, account_id, provider_id, proved_at) VALUES ($1, $2, $3, $4)
		ON CONFLICT (session_id, account_id) DO UPDATE SET provider_id = excluded.provider_id, proved_at = excluded.proved_at`,
		session, organization, provider, now)
}

// lastSeen is when the session s was last used. Sessions of 1.0.0 may have no seen_at.
const lastSeen = `CASE WHEN s.seen_at > s.created_at THEN s.seen_at ELSE s.created_at END`

// liveSession selects the sessions s of a user that have not ended. Its arguments are those of live.
const liveSession = `s.user_id = $1 AND s.expires_at > $2 AND ` + lastSeen + ` > $3`

// live returns the arguments of liveSession.
func live(user warranty.ID, now time.Time) []any {
	return []any{user, now, now.Add(-warranty.SessionIdle)}
}

// Sessions lists the sessions of a user, the most recently used first.
func (s *Store) Sessions(ctx context.Context, user warranty.ID, now time.Time) ([]warranty.AccountSession, error) {
	list := []warranty.AccountSession{}
	err := s.db.Query(ctx, `SELECT s.id, s.method, s.second, s.program, s.system, s.network, s.created_at, `+lastSeen+`,
			s.expires_at FROM sessions s WHERE `+liveSession+` ORDER BY 8 DESC, s.created_at DESC, s.id DESC`,
		func(r *engine.Row) error {
			list = append(list, warranty.AccountSession{
				ID:         r.ID(),
				Method:     optionalEnum[warranty.SignInMethod](r),
				Second:     optionalEnum[warranty.SecondFactor](r),
				Program:    r.Text(),
				System:     r.Text(),
				Network:    r.Text(),
				CreatedAt:  r.Time(),
				LastSeenAt: r.Time(),
				ExpiresAt:  r.Time(),
			})
			return nil
		}, live(user, now)...)
	return list, err
}

// SignedInUsers lists the people with sessions, or who are signing in.
func (s *Store) SignedInUsers(ctx context.Context) (users []warranty.ID, err error) {
	err = s.db.Query(ctx, `SELECT user_id FROM sessions WHERE expires_at > 0 UNION
		SELECT user_id FROM sign_in_flows WHERE user_id IS NOT NULL UNION SELECT user_id FROM one_time_codes`,
		func(r *engine.Row) error { users = append(users, r.ID()); return nil })
	return users, err
}

// CountSessions counts the sessions of a locked user.
func (t *Tx) CountSessions(user warranty.ID, now time.Time) (n int, err error) {
	err = queryRow(t.ctx, t.tx, `SELECT count(*) FROM sessions s WHERE `+liveSession,
		func(r *engine.Row) { n = int(r.Int()) }, live(user, now)...)
	return n, err
}

// EndSessionOf ends a session of a locked user. It returns ErrNotFound if the user has no such session.
func (t *Tx) EndSessionOf(user, id warranty.ID, now time.Time) error {
	found := false
	err := t.tx.Query(t.ctx, `SELECT 1 FROM sessions s WHERE `+liveSession+` AND s.id = $4`,
		func(*engine.Row) error { found = true; return nil }, append(live(user, now), id)...)
	if err == nil && !found {
		err = warranty.ErrNotFound
	}
	if err != nil {
		return err
	}
	return t.DeleteSession(id)
}

// EndUnusedSessions ends the sessions of a locked user that were not used for the longest time, so that at most some
// are left.
func (t *Tx) EndUnusedSessions(user warranty.ID, left int, now time.Time) error {
	var ids []warranty.ID
	err := t.tx.Query(t.ctx, `SELECT s.id FROM sessions s WHERE `+liveSession+`
		ORDER BY `+lastSeen+` DESC, s.created_at DESC, s.id DESC`,
		func(r *engine.Row) error { ids = append(ids, r.ID()); return nil }, live(user, now)...)
	if err != nil {
		return err
	}
	for _, id := range ids[min(left, len(ids)):] {
		t.await(sessionHolders, id)
		if err := t.later(`DELETE FROM session_proofs WHERE session_id = $1`, id); err != nil {
			return err
		}
		// Its browser may sign out at the same time.
		if err := t.later(endSessions+` WHERE id = $1`, id); err != nil {
			return err
		}
	}
	return nil
}

// SeeSession notes when a session was last used. It skips a session that is just ended or renewed: a lost note is
// harmless.
func (t *Tx) SeeSession(id warranty.ID, at time.Time) error {
	return t.later(`UPDATE sessions SET seen_at = $2 WHERE id IN
		(SELECT id FROM sessions WHERE id = $1 AND seen_at < $2 /*pg: FOR NO KEY UPDATE SKIP LOCKED */)`, id, at)
}
