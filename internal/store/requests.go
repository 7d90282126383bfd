package store

import (
	"context"
	"time"

	"warranty.example/svc/internal/store/engine"
	"warranty.example/svc/warranty"
)

// Request is a request made with one of the user's tokens.
type Request struct {
	User warranty.ID
	warranty.RequestRecord
}

// InsertRequests adds requests. Existing ones are left unchanged, because a write with an unknown
// outcome may be retried.
func (t *Tx) InsertRequests(list []Request) error {
	for _, r := range list {
		err := t.later(`INSERT INTO requests (at, id, token_id, method, route, status, ms, request_id, address, client, door)
			VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11) ON CONFLICT (at, id) DO NOTHING`,
			r.At, r.ID, r.Token.ID, r.Method, r.Route, r.Status, r.Ms, r.RequestID, r.Address, r.Client, r.Door)
		if err != nil {
			return err
		}
	}
	return nil
}

// byUser matches the requests of all tokens that a user has or had.
const byUser = `token_id IN (SELECT id FROM tokens WHERE user_id = $1)`

// PruneRequests deletes all but a user's newest requests.
func (t *Tx) PruneRequests(user warranty.ID, keep int) error {
	return t.later(`DELETE FROM requests WHERE `+byUser+`
		AND id <= (SELECT id FROM requests WHERE `+byUser+` ORDER BY id DESC LIMIT 1 OFFSET $2)`, user, keep)
}

// SweepRequests deletes requests from before a time, and the oldest requests of users who have more
// than keep.
func (s *Store) SweepRequests(ctx context.Context, before time.Time, keep int) error {
	err := s.Write(ctx, func(t *Tx) error { return t.later(`DELETE FROM requests WHERE at < $1`, before) })
	if err != nil {
		return err
	}
	var users []warranty.ID
	err = s.db.Query(ctx, `SELECT k.user_id FROM requests q JOIN tokens k ON k.id = q.token_id
		GROUP BY k.user_id HAVING count(*) > $1`,
		func(r *engine.Row) error { users = append(users, r.ID()); return nil }, keep)
	for _, user := range users {
		if err == nil {
			err = s.Write(ctx, func(t *Tx) error { return t.PruneRequests(user, keep) })
		}
	}
	return err
}

const requestColumns = `q.id, q.token_id, k.name, q.at, q.method, q.route, q.status, q.ms, q.request_id, q.address,
	q.client, q.door`

func readRequest(r *engine.Row) warranty.RequestRecord {
	return warranty.RequestRecord{
		ID:        r.ID(),
		Token:     warranty.TokenName{ID: r.ID(), Name: r.Text()},
		At:        r.Time(),
		Method:    r.Text(),
		Route:     r.Text(),
		Status:    int(r.Int()),
		Ms:        int(r.Int()),
		RequestID: r.Text(),
		Address:   r.Text(),
		Client:    r.Text(),
		Door:      enum[warranty.Door](r),
	}
}

// Requests lists the requests of all of a user's tokens, newest first, and returns their total.
func (s *Store) Requests(
	ctx context.Context, user warranty.ID, p warranty.Paging,
) ([]warranty.RequestRecord, int64, error) {
	return s.requests(ctx, byUser, `1 = 1`, p, user)
}

// TokenRequests lists the requests of one of the user's tokens, newest first, and returns their
// total.
func (s *Store) TokenRequests(
	ctx context.Context, user, token warranty.ID, p warranty.Paging,
) ([]warranty.RequestRecord, int64, error) {
	return s.requests(ctx, `token_id = $2`, `EXISTS (SELECT 1 FROM tokens WHERE user_id = $1 AND id = $2)`, p, user, token)
}

// LastRequest returns the newest request of one of the user's tokens.
func (s *Store) LastRequest(ctx context.Context, user, token warranty.ID) (warranty.RequestRecord, error) {
	var last warranty.RequestRecord
	err := queryRow(ctx, s.db, `SELECT `+requestColumns+` FROM requests q JOIN tokens k ON k.id = q.token_id
		WHERE q.token_id = $2 AND k.user_id = $1 ORDER BY q.id DESC LIMIT 1`,
		func(r *engine.Row) { last = readRequest(r) }, user, token)
	return last, err
}

// requests reads one page and the exact total in one statement if the condition allowed holds.
func (s *Store) requests(
	ctx context.Context, which, allowed string, p warranty.Paging, args ...any,
) ([]warranty.RequestRecord, int64, error) {
	var list []warranty.RequestRecord
	total, found := int64(0), false
	limit, offset := "$2", "$3"
	if len(args) == 2 {
		limit, offset = "$3", "$4"
	}
	err := s.db.Query(ctx, `SELECT n.total, `+requestColumns+`
		FROM (SELECT count(*) AS total FROM requests WHERE `+which+`) n
		LEFT JOIN (SELECT * FROM requests WHERE `+which+` ORDER BY id DESC LIMIT `+limit+` OFFSET `+offset+`) q ON 1 = 1
		LEFT JOIN tokens k ON k.id = q.token_id
		WHERE `+allowed+` ORDER BY q.id DESC`,
		func(r *engine.Row) error {
			total, found = r.Int(), true
			if !r.Null() {
				list = append(list, readRequest(r))
			}
			return nil
		}, append(args, p.Limit, p.Offset())...)
	if err == nil && !found {
		err = warranty.ErrNotFound
	}
	return list, total, err
}
