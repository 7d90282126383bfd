package store

import (
	"context"
	"strings"
	"time"

	"warranty.example/svc/internal/store/engine"
	"warranty.example/svc/warranty"
)

// OAuthClient returns a client that registered, or whose document was read. fresh is until when the document is
// kept; it is nil for a registered client.
func (s *Store) OAuthClient(ctx context.Context, id string) (c warranty.OAuthClient, fresh *time.Time, err error) {
	err = queryRow(ctx, s.db, `SELECT id, name, redirect_uris, fresh_until FROM oauth_clients WHERE id = $1`,
		func(r *engine.Row) {
			c = warranty.OAuthClient{ID: r.Text(), Name: r.Text(), Redirects: strings.Split(r.Text(), "\n")}
			fresh = r.OptionalTime()
		}, id)
	return c, fresh, err
}

// SaveClient adds a client, or replaces what is known about it.
func (t *Tx) SaveClient(c warranty.OAuthClient, fresh *time.Time, now time.Time) error {
	return t.exactlyOne(`INSERT INTO oauth_clients (id, name, redirect_uris, fresh_until, used_at)
		VALUES ($1, $2, $3, $4, $5)
		ON CONFLICT (id) DO UPDATE SET name = excluded.name, redirect_uris = excluded.redirect_uris,
			fresh_until = excluded.fresh_until, used_at = excluded.used_at`,
		c.ID, c.Name, strings.Join(c.Redirects, "\n"), fresh, now)
}

// UseClient notes that someone decides about a client. The built-in client has no row.
func (t *Tx) UseClient(id string, now time.Time) error {
	return t.later(`UPDATE oauth_clients SET used_at = $2 WHERE id = $1`, id, now)
}

// InsertAuthorization adds a request that waits for the decision of the person of a session.
func (t *Tx) InsertAuthorization(id warranty.Hash, session warranty.ID, a warranty.Authorization, expires time.Time) error {
	return t.later(`INSERT INTO oauth_requests
			(code_hash, session_id, client_id, redirect_uri, state, scopes, challenge, expires_at)
		VALUES ($1, $2, $3, $4, $5, $6, $7, $8)`,
		id, session, a.Client.ID, a.Redirect, a.State, a.Scopes.Mask(), a.Challenge, expires)
}

const authorizationColumns = `client_id, redirect_uri, state, scopes, challenge`

func readAuthorization(r *engine.Row) warranty.Authorization {
	return warranty.Authorization{
		Client:    warranty.OAuthClient{ID: r.Text()},
		Redirect:  r.Text(),
		State:     r.Text(),
		Scopes:    warranty.ScopesOf(r.Int()),
		Challenge: r.Text(),
	}
}

// Authorization returns a request of a session without using it. Of the client it has only the id.
func (s *Store) Authorization(
	ctx context.Context, id warranty.Hash, session warranty.ID, now time.Time,
) (a warranty.Authorization, err error) {
	err = queryRow(ctx, s.db, `SELECT `+authorizationColumns+` FROM oauth_requests
		WHERE code_hash = $1 AND session_id = $2 AND expires_at > $3`,
		func(r *engine.Row) { a = readAuthorization(r) }, id, session, now)
	return a, err
}

// UseAuthorization uses up a request of a session.
func (t *Tx) UseAuthorization(id warranty.Hash, session warranty.ID, now time.Time) (a warranty.Authorization, err error) {
	err = queryRow(t.ctx, t.tx, `DELETE FROM oauth_requests
		WHERE code_hash = $1 AND session_id = $2 AND expires_at > $3 RETURNING `+authorizationColumns,
		func(r *engine.Row) { a = readAuthorization(r) }, id, session, now)
	return a, err
}

// AuthCode is an authorization code.
type AuthCode struct {
	Grant               warranty.AppGrant
	Redirect, Challenge string
	Expires             time.Time
	Used                bool
}

// InsertAuthCode adds a code for a connection.
func (t *Tx) InsertAuthCode(code warranty.Hash, grant warranty.ID, a warranty.Authorization, expires time.Time) error {
	return t.later(`INSERT INTO oauth_codes (code_hash, token_id, redirect_uri, challenge, expires_at)
		VALUES ($1, $2, $3, $4, $5)`, code, grant, a.Redirect, a.Challenge, expires)
}

// AuthCode returns a code without using it.
func (s *Store) AuthCode(ctx context.Context, code warranty.Hash) (c AuthCode, err error) {
	err = queryRow(ctx, s.db, `SELECT c.redirect_uri, c.challenge, c.expires_at, c.used_at, `+grantColumns+`
		FROM oauth_codes c JOIN tokens t ON t.id = c.token_id WHERE c.code_hash = $1`,
		func(r *engine.Row) {
			c = AuthCode{Redirect: r.Text(), Challenge: r.Text(), Expires: r.Time(), Used: r.Set()}
			c.Grant = readGrant(r)
		}, code)
	return c, err
}

// UseAuthCode uses up a code and reports whether it was valid. Of concurrent transactions, one gets true.
func (t *Tx) UseAuthCode(code warranty.Hash, now time.Time) (bool, error) {
	n, err := t.exec(`UPDATE oauth_codes SET used_at = $2 WHERE code_hash = $1 AND used_at IS NULL AND expires_at > $2`,
		code, now)
	return n == 1, err
}

// RefreshToken is a refresh token.
type RefreshToken struct {
	Grant   warranty.AppGrant
	Expires time.Time
	Rotated *time.Time
}

const selectRefreshToken = `SELECT s.expires_at, s.rotated_at, ` + grantColumns + `
	FROM refresh_tokens s JOIN tokens t ON t.id = s.token_id WHERE s.secret_hash = $1`

func readRefreshToken(r *engine.Row) RefreshToken {
	f := RefreshToken{Expires: r.Time(), Rotated: r.OptionalTime()}
	f.Grant = readGrant(r)
	return f
}

// RefreshToken returns a refresh token by the hash of its secret.
func (s *Store) RefreshToken(ctx context.Context, secret warranty.Hash) (f RefreshToken, err error) {
	err = queryRow(ctx, s.db, selectRefreshToken, func(r *engine.Row) { f = readRefreshToken(r) }, secret)
	return f, err
}

// LockRefreshToken returns a refresh token and locks it until the transaction ends.
func (t *Tx) LockRefreshToken(secret warranty.Hash) (f RefreshToken, err error) {
	err = queryRow(t.ctx, t.tx, selectRefreshToken+` /*pg: FOR UPDATE OF s */`,
		func(r *engine.Row) { f = readRefreshToken(r) }, secret)
	return f, err
}

// Successors counts the refresh tokens that a locked one was exchanged for, and those of them that were used.
func (t *Tx) Successors(grant warranty.ID, secret warranty.Hash) (all, used int64, err error) {
	err = queryRow(t.ctx, t.tx, `SELECT count(*), count(rotated_at) FROM refresh_tokens
		WHERE token_id = $1 AND parent_hash = $2`, func(r *engine.Row) { all, used = r.Int(), r.Int() }, grant, secret)
	return all, used, err
}

// RotateRefreshToken notes that a locked refresh token was used.
func (t *Tx) RotateRefreshToken(secret warranty.Hash, now time.Time) error {
	return t.exactlyOne(`UPDATE refresh_tokens SET rotated_at = COALESCE(rotated_at, $2) WHERE secret_hash = $1`, secret, now)
}

// AppSecrets are the secrets of a connection that are issued together.
type AppSecrets struct {
	Access, Refresh warranty.Hash
	Parent          *warranty.Hash // the refresh token that was exchanged, if any
	AccessEnds      time.Time
	Ends            time.Time // of the refresh token and the connection
}

// IssueSecrets adds secrets to the connection of a locked account, and deletes access tokens that have expired.
func (t *Tx) IssueSecrets(grant warranty.ID, s AppSecrets, now time.Time) error {
	if err := t.tokenChanged(grant); err != nil {
		return err
	}
	if err := t.later(`DELETE FROM token_secrets WHERE token_id = $1 AND expires_at < $2`, grant, now); err != nil {
		return err
	}
	if err := t.later(`INSERT INTO token_secrets (secret_hash, token_id, expires_at) VALUES ($1, $2, $3)`,
		s.Access, grant, s.AccessEnds); err != nil {
		return err
	}
	if err := t.later(`INSERT INTO refresh_tokens (secret_hash, token_id, parent_hash, expires_at) VALUES ($1, $2, $3, $4)`,
		s.Refresh, grant, s.Parent, s.Ends); err != nil {
		return err
	}
	return t.exactlyOne(`UPDATE tokens SET expires_at = $2 WHERE id = $1 AND revoked_at IS NULL`, grant, s.Ends)
}

// usedCodesKept is how long used authorization codes are recognized.
const usedCodesKept = 24 * time.Hour

// sweepOAuth deletes what has expired, and clients that are not connected and were not used for a while.
func (t *Tx) sweepOAuth(now time.Time) error {
	for _, s := range []struct {
		sql    string
		before time.Time
	}{
		{`DELETE FROM oauth_requests WHERE code_hash IN
			(SELECT code_hash FROM oauth_requests WHERE expires_at <= $1 /*pg: FOR UPDATE SKIP LOCKED */)`, now},
		{`DELETE FROM oauth_codes WHERE code_hash IN
			(SELECT code_hash FROM oauth_codes WHERE expires_at <= $1 /*pg: FOR UPDATE SKIP LOCKED */)`, now.Add(-usedCodesKept)},
		{`DELETE FROM refresh_tokens WHERE secret_hash IN
			(SELECT secret_hash FROM refresh_tokens WHERE expires_at <= $1 /*pg: FOR UPDATE SKIP LOCKED */)`, now},
		{`DELETE FROM oauth_clients WHERE id IN (SELECT c.id FROM oauth_clients c WHERE c.used_at <= $1
			AND NOT EXISTS (SELECT 1 FROM tokens t WHERE t.client_id = c.id AND t.revoked_at IS NULL AND t.expires_at > $1)
			/*pg: FOR UPDATE SKIP LOCKED */)`, now.Add(-warranty.UnusedClientLifetime)},
	} {
		if err := t.later(s.sql, s.before); err != nil {
			return err
		}
	}
	return nil
}
