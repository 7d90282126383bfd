package store

import (
	"context"
	"time"

	"warranty.example/svc/internal/store/engine"
	"warranty.example/svc/warranty"
)

// A connected app is a token with a client (ADR 41).

const grantColumns = `t.id, t.user_id, COALESCE(t.created_by, t.user_id), t.client_id, t.name, t.client_host, t.scopes,
	t.rate_limit, t.created_at, t.expires_at, t.revoked_at`

func readGrant(r *engine.Row) warranty.AppGrant {
	return warranty.AppGrant{
		ID:        r.ID(),
		Account:   r.ID(),
		Person:    r.ID(),
		ClientID:  r.Text(),
		Name:      r.Text(),
		Host:      r.Text(),
		Scopes:    warranty.ScopesOf(r.Int()),
		RateLimit: int(r.Int()),
		CreatedAt: r.Time(),
		ExpiresAt: r.Time(),
		RevokedAt: r.OptionalTime(),
	}
}

// InsertGrant adds a connection of a locked account.
func (t *Tx) InsertGrant(g warranty.AppGrant) error {
	return t.later(`INSERT INTO tokens
			(id, user_id, created_by, client_id, name, client_host, prefix, scopes, rate_limit, created_at, expires_at)
		VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11)`,
		g.ID, g.Account, g.Person, g.ClientID, g.Name, g.Host, string(warranty.AccessSecret), g.Scopes.Mask(), g.RateLimit,
		g.CreatedAt, g.ExpiresAt)
}

// LockGrant returns a connection of an account and locks it until the transaction ends. It does not wait for writes
// that hold it.
func (t *Tx) LockGrant(account, id warranty.ID) (g warranty.AppGrant, err error) {
	err = queryRow(t.ctx, t.tx, `SELECT `+grantColumns+` FROM tokens t
		WHERE t.id = $1 AND t.user_id = $2 AND t.client_id IS NOT NULL /*pg: FOR NO KEY UPDATE OF t */`,
		func(r *engine.Row) { g = readGrant(r) }, id, account)
	return g, err
}

// GrantBySecret returns the connection of an access or refresh token.
func (s *Store) GrantBySecret(ctx context.Context, secret warranty.Hash) (g warranty.AppGrant, err error) {
	err = queryRow(ctx, s.db, `SELECT `+grantColumns+` FROM tokens t WHERE t.client_id IS NOT NULL AND t.id IN
			(SELECT token_id FROM refresh_tokens WHERE secret_hash = $1
			UNION ALL SELECT token_id FROM token_secrets WHERE secret_hash = $1)`,
		func(r *engine.Row) { g = readGrant(r) }, secret)
	return g, err
}

// ActiveGrants counts the connections that a person has in an account.
func (t *Tx) ActiveGrants(account, person warranty.ID, now time.Time) (n int64, err error) {
	err = queryRow(t.ctx, t.tx, `SELECT count(*) FROM tokens WHERE created_by = $2 AND user_id = $1
		AND client_id IS NOT NULL AND revoked_at IS NULL AND expires_at > $3`,
		func(r *engine.Row) { n = r.Int() }, account, person, now)
	return n, err
}

// SetScopes changes what a locked connection may do.
func (t *Tx) SetScopes(grant warranty.ID, scopes warranty.Scopes) error {
	if err := t.tokenChanged(grant); err != nil {
		return err
	}
	t.await(tokenHolders, grant) // no write with a scope that was taken away is under way afterwards
	return t.exactlyOne(`UPDATE tokens SET scopes = $2 WHERE id = $1`, grant, scopes.Mask())
}

// MayUse reports whether the person of a connection can still act for its account.
func (t *Tx) MayUse(g warranty.AppGrant) (may bool, err error) {
	err = t.tx.Query(t.ctx, `SELECT 1 FROM users a JOIN users p ON p.id = $2
		WHERE a.id = $1 AND a.disabled_at IS NULL AND p.disabled_at IS NULL AND (a.id = p.id OR EXISTS
			(SELECT 1 FROM members m WHERE m.account_id = a.id AND m.user_id = p.id AND m.role > 0))`,
		func(*engine.Row) error { may = true; return nil }, g.Account, g.Person)
	return may, err
}

// Apps lists the active connections of an account, or those that a person made, newest first, with their total.
func (s *Store) Apps(
	ctx context.Context, account warranty.ID, by *warranty.ID, p warranty.Paging, now time.Time,
) (list []warranty.ConnectedApp, total int64, err error) {
	const active = `user_id = $1 AND client_id IS NOT NULL AND revoked_at IS NULL AND expires_at > $2
		AND (created_by = $3 OR $3 IS NULL)`
	err = s.db.Query(ctx, `SELECT c.n, t.id, t.name, t.client_host, t.scopes, t.expires_at, t.created_at,
			(SELECT max(last_used_at) FROM token_usage n WHERE n.token_id = t.id),
			t.created_by, (SELECT name FROM users u WHERE u.id = t.created_by)
		FROM (SELECT count(*) AS n FROM tokens WHERE `+active+`) c
		LEFT JOIN (SELECT id FROM tokens WHERE `+active+` ORDER BY id DESC LIMIT $4 OFFSET $5) p ON 1 = 1
		LEFT JOIN tokens t ON t.id = p.id ORDER BY t.id DESC`,
		func(r *engine.Row) error {
			total = r.Int()
			if r.Null() {
				return nil
			}
			list = append(list, warranty.ConnectedApp{
				ID:         r.ID(),
				Name:       r.Text(),
				Host:       r.Text(),
				Scopes:     warranty.ScopesOf(r.Int()),
				ExpiresAt:  r.Time(),
				CreatedAt:  r.Time(),
				LastUsedAt: r.OptionalTime(),
				PersonID:   r.ID(),
				CreatedBy:  r.Text(),
			})
			return nil
		}, account, now, by, p.Limit, p.Offset())
	return list, total, err
}

// GrantsBy lists the connections that a person made in an account and that are not revoked.
func (t *Tx) GrantsBy(account, by warranty.ID) (ids []warranty.ID, err error) {
	err = t.tx.Query(t.ctx, `SELECT id FROM tokens WHERE created_by = $2 AND user_id = $1 AND client_id IS NOT NULL
		AND revoked_at IS NULL ORDER BY id`,
		func(r *engine.Row) error { ids = append(ids, r.ID()); return nil }, account, by)
	return ids, err
}
