package store

import (
	"context"
	"time"

	"warranty.example/svc/internal/store/engine"
	"warranty.example/svc/warranty"
)

const tokenColumns = `t.id, t.name, t.prefix, t.scopes, t.rate_limit, t.expires_at, t.revoked_at, t.created_at,
	(SELECT max(last_used_at) FROM token_usage n WHERE n.token_id = t.id),
	(SELECT name FROM users p WHERE p.id = COALESCE(t.created_by, t.user_id))`

func readToken(r *engine.Row) warranty.Token {
	return warranty.Token{
		ID:                 r.ID(),
		Name:               r.Text(),
		Prefix:             r.Text(),
		Scopes:             warranty.ScopesOf(r.Int()),
		RateLimitPerMinute: int(r.Int()),
		ExpiresAt:          r.Time(),
		RevokedAt:          r.OptionalTime(),
		CreatedAt:          r.Time(),
		LastUsedAt:         r.OptionalTime(),
		CreatedBy:          r.Text(),
		Usage:              []warranty.DayUsage{},
	}
}

// Token returns one of the user's tokens, with its usage after since.
func (s *Store) Token(ctx context.Context, user, id warranty.ID, since warranty.Date) (warranty.Token, error) {
	var token warranty.Token
	err := queryRow(ctx, s.db, `SELECT `+tokenColumns+` FROM tokens t WHERE t.id = $1 AND t.user_id = $2 AND t.client_id IS NULL`,
		func(r *engine.Row) { token = readToken(r) }, id, user)
	if err != nil {
		return token, err
	}
	tokens := []warranty.Token{token}
	err = s.addUsage(ctx, tokens, since)
	return tokens[0], err
}

// Tokens lists a user's tokens, newest first, and returns their total.
func (s *Store) Tokens(
	ctx context.Context, user warranty.ID, p warranty.Paging, since warranty.Date,
) ([]warranty.Token, int64, error) {
	return s.tokens(ctx, `user_id = $1 AND client_id IS NULL`, user, p, since)
}

// TokensAndApps is Tokens with the connected apps.
func (s *Store) TokensAndApps(
	ctx context.Context, user warranty.ID, p warranty.Paging, since warranty.Date,
) ([]warranty.Token, int64, error) {
	return s.tokens(ctx, `user_id = $1`, user, p, since)
}

func (s *Store) tokens(
	ctx context.Context, which string, user warranty.ID, p warranty.Paging, since warranty.Date,
) ([]warranty.Token, int64, error) {
	var tokens []warranty.Token
	var total int64
	err := s.db.Query(ctx, `SELECT c.n, `+tokenColumns+`
		FROM (SELECT count(*) AS n FROM tokens WHERE `+which+`) c
		LEFT JOIN (SELECT id FROM tokens WHERE `+which+` ORDER BY id DESC LIMIT $2 OFFSET $3) p ON 1 = 1
		LEFT JOIN tokens t ON t.id = p.id ORDER BY t.id DESC`,
		func(r *engine.Row) error {
			total = r.Int()
			if !r.Null() {
				tokens = append(tokens, readToken(r))
			}
			return nil
		}, user, p.Limit, p.Offset())
	if err != nil {
		return nil, 0, err
	}
	return tokens, total, s.addUsage(ctx, tokens, since)
}

// addUsage adds the daily counts after since, with one query per token.
func (s *Store) addUsage(ctx context.Context, tokens []warranty.Token, since warranty.Date) error {
	for i := range tokens {
		err := s.db.Query(ctx, `SELECT day, requests FROM token_usage
			WHERE token_id = $1 AND day > $2 ORDER BY day`, func(r *engine.Row) error {
			tokens[i].Usage = append(tokens[i].Usage, warranty.DayUsage{Date: r.Date(), Requests: r.Int()})
			return nil
		}, tokens[i].ID, since)
		if err != nil {
			return err
		}
	}
	return nil
}

// ActiveTokens counts a user's valid tokens, and how many of them have the name.
func (t *Tx) ActiveTokens(user warranty.ID, name string, now time.Time) (count, named int64, err error) {
	return activeTokens(t.ctx, t.tx, user, name, now)
}

// ActiveTokens counts a user's valid tokens.
func (s *Store) ActiveTokens(ctx context.Context, user warranty.ID, now time.Time) (int64, error) {
	count, _, err := activeTokens(ctx, s.db, user, "", now)
	return count, err
}

func activeTokens(
	ctx context.Context, q engine.Querier, user warranty.ID, name string, now time.Time,
) (count, named int64, err error) {
	err = queryRow(ctx, q, `SELECT count(*), count(CASE WHEN name = $3 THEN 1 END) FROM tokens
		WHERE user_id = $1 AND client_id IS NULL AND revoked_at IS NULL AND expires_at > $2`,
		func(r *engine.Row) { count, named = r.Int(), r.Int() }, user, now, name)
	return count, named, err
}

// InsertToken adds a token of an account, made by a person, with its first secret.
func (t *Tx) InsertToken(account, by warranty.ID, token warranty.Token, secret warranty.Hash) error {
	if err := t.later(`INSERT INTO tokens (id, user_id, name, prefix, scopes, rate_limit, expires_at, created_at, created_by)
		VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9)`,
		token.ID, account, token.Name, token.Prefix, token.Scopes.Mask(), token.RateLimitPerMinute,
		token.ExpiresAt, token.CreatedAt, by); err != nil {
		return err
	}
	return t.insertSecret(token.ID, secret)
}

func (t *Tx) insertSecret(token warranty.ID, secret warranty.Hash) error {
	return t.later(`INSERT INTO token_secrets (secret_hash, token_id) VALUES ($1, $2)`, secret, token)
}

// LockToken returns one of the user's tokens and locks it until the transaction ends. It does not
// wait for writes that hold the token.
func (t *Tx) LockToken(user, id warranty.ID) (warranty.Token, error) {
	return t.lockToken(` AND t.client_id IS NULL`, user, id)
}

// LockTokenOrApp is LockToken for connected apps, too.
func (t *Tx) LockTokenOrApp(user, id warranty.ID) (warranty.Token, error) {
	return t.lockToken("", user, id)
}

func (t *Tx) lockToken(which string, user, id warranty.ID) (warranty.Token, error) {
	var token warranty.Token
	err := queryRow(t.ctx, t.tx, `SELECT `+tokenColumns+` FROM tokens t
		WHERE t.id = $1 AND t.user_id = $2`+which+` /*pg: FOR NO KEY UPDATE OF t */`,
		func(r *engine.Row) { token = readToken(r) }, id, user)
	return token, err
}

// RotateToken gives a token a new secret. Its older secrets end at oldEnds or earlier, and expired
// ones are deleted. If they end immediately, nothing is written with one of them after Write
// returns.
func (t *Tx) RotateToken(token warranty.Token, secret warranty.Hash, now, oldEnds time.Time) error {
	if err := t.tokenChanged(token.ID); err != nil {
		return err
	}
	if err := t.later(`DELETE FROM token_secrets WHERE token_id = $1 AND expires_at < $2`, token.ID, now); err != nil {
		return err
	}
	if !oldEnds.After(now) {
		oldEnds = ended
		t.await(tokenHolders, token.ID) // the new secret is not in use yet, so no new holders appear
	}
	if err := t.later(`UPDATE token_secrets SET expires_at = $2
		WHERE token_id = $1 AND (expires_at IS NULL OR expires_at > $2)`, token.ID, oldEnds); err != nil {
		return err
	}
	if err := t.insertSecret(token.ID, secret); err != nil {
		return err
	}
	return t.exactlyOne(`UPDATE tokens SET prefix = $2 WHERE id = $1`, token.ID, token.Prefix)
}

// RevokeToken revokes a token. Revoking it again waits again for the writes that hold it.
func (t *Tx) RevokeToken(id warranty.ID, now time.Time) error {
	t.await(tokenHolders, id)
	if err := t.tokenChanged(id); err != nil {
		return err
	}
	return t.exactlyOne(`UPDATE tokens SET revoked_at = COALESCE(revoked_at, $2) WHERE id = $1`, id, now)
}

// ofUser selects the tokens of an account $1, and the apps that the person $1 connected to other accounts.
const ofUser = `(user_id = $1 OR created_by = $1 AND client_id IS NOT NULL)`

// TokensToRevoke lists a user's tokens that are not revoked, and the apps that they connected to any account.
func (t *Tx) TokensToRevoke(user warranty.ID) ([]warranty.ID, error) {
	var ids []warranty.ID
	err := t.tx.Query(t.ctx, `SELECT id FROM tokens WHERE `+ofUser+` AND revoked_at IS NULL ORDER BY id`,
		func(r *engine.Row) error { ids = append(ids, r.ID()); return nil }, user)
	return ids, err
}

// RevokeTokens revokes all tokens of a user, and the apps that they connected to any account. Processes do not cache
// those of organizations.
func (t *Tx) RevokeTokens(user warranty.ID, now time.Time) error {
	t.awaitAll(tokenHolders, user)
	if err := t.exactlyOne(`UPDATE users SET `+nextEpoch+` WHERE id = $1`, user); err != nil {
		return err
	}
	return t.later(`UPDATE tokens SET revoked_at = $2 WHERE `+ofUser+` AND revoked_at IS NULL`, user, now)
}

// TokensBy lists the tokens of an account that a person made and that are not revoked, without connected apps.
func (t *Tx) TokensBy(account, by warranty.ID) (ids []warranty.ID, err error) {
	err = t.tx.Query(t.ctx, `SELECT id FROM tokens WHERE user_id = $1 AND created_by = $2 AND client_id IS NULL
		AND revoked_at IS NULL ORDER BY id`,
		func(r *engine.Row) error { ids = append(ids, r.ID()); return nil }, account, by)
	return ids, err
}

// TokensOf are tokens of an organization.
type TokensOf struct {
	Account warranty.Acting
	Tokens  []string // names
}

// TokensMadeBy lists the active tokens that a person made in organizations, by organization.
func (t *Tx) TokensMadeBy(person warranty.ID, now time.Time) (list []TokensOf, err error) {
	err = t.tx.Query(t.ctx, `SELECT o.id, o.name, t.name FROM members m
			JOIN tokens t ON t.user_id = m.account_id AND t.created_by = m.user_id AND t.client_id IS NULL JOIN users o ON o.id = m.account_id
		WHERE m.user_id = $1 AND m.role > 0 AND o.disabled_at IS NULL AND t.revoked_at IS NULL AND t.expires_at > $2
		ORDER BY o.id, t.name`, func(r *engine.Row) error {
		account := readNamed(r)
		if n := len(list); n == 0 || list[n-1].Account.ID != account.ID {
			list = append(list, TokensOf{Account: account})
		}
		last := &list[len(list)-1]
		last.Tokens = append(last.Tokens, r.Text())
		return nil
	}, person, now)
	return list, err
}

// TokenUse counts the uses of a token since the last write.
type TokenUse struct {
	Token    warranty.ID
	Day      warranty.Date
	Requests int64
	Last     time.Time
}

// UsageBatch is the usage counted by one process. Its number makes adding it idempotent: a batch is
// written again if the outcome of the first write is unknown.
type UsageBatch struct {
	Writer warranty.ID // the process
	Number int64       // increases with each batch
	Uses   []TokenUse
}

// AddUsage adds the uses of a batch, unless the batch was already added.
func (t *Tx) AddUsage(b UsageBatch, now time.Time) error {
	n, err := t.exec(`INSERT INTO usage_batches (writer, batch, written_at) VALUES ($1, $2, $3)
		ON CONFLICT (writer) DO UPDATE SET batch = excluded.batch, written_at = excluded.written_at
		WHERE usage_batches.batch < excluded.batch`,
		b.Writer, b.Number, now)
	if err != nil || n == 0 {
		return err
	}
	for _, u := range b.Uses {
		err := t.later(`INSERT INTO token_usage (token_id, day, requests, last_used_at) VALUES ($1, $2, $3, $4)
			ON CONFLICT (token_id, day) DO UPDATE SET requests = token_usage.requests + excluded.requests,
			last_used_at = CASE WHEN excluded.last_used_at > token_usage.last_used_at
				THEN excluded.last_used_at ELSE token_usage.last_used_at END`,
			u.Token, u.Day, u.Requests, u.Last)
		if err != nil {
			return err
		}
	}
	return nil
}
