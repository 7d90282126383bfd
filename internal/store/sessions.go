package store

import (
	"time"

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
