package store

import (
	"context"
	"strings"
	"time"

	"warranty.example/svc/internal/store/engine"
	"warranty.example/svc/warranty"
)

// Limits of what is kept for the operator.
const (
	ServerErrorLifetime = 30 * 24 * time.Hour
	MaxServerErrors     = 10_000
	MaxErrorText        = 2000
	FailedMailLifetime  = 30 * 24 * time.Hour
)

// ServerError is a request that failed because of the server, or a failed background task.
type ServerError struct {
	ID        warranty.ID
	At        time.Time
	Replica   string      // host name
	RequestID string      // empty for a background task
	Source    string      // method and route, or the task
	Status    int         // 0 for a background task
	UserID    warranty.ID // zero if nobody was signed in
	Message   string
}

// InsertServerErrors adds errors. Existing ones are left unchanged, because a write with an unknown
// outcome may be retried.
func (t *Tx) InsertServerErrors(list []ServerError) error {
	for _, e := range list {
		var user *warranty.ID
		if !e.UserID.IsZero() {
			user = &e.UserID
		}
		err := t.later(`INSERT INTO server_errors (at, id, replica, request_id, source, status, user_id, message)
			VALUES ($1, $2, $3, $4, $5, $6, $7, $8) ON CONFLICT (at, id) DO NOTHING`,
			e.At, e.ID, e.Replica, e.RequestID, e.Source, e.Status, user, e.Message)
		if err != nil {
			return err
		}
	}
	return nil
}

// AddressSource is the source of the errors that say which address people use instead of the public URL.
const AddressSource = "public-url"

// addressLifetime is how long such an error counts. It is recorded every day as long as it is true.
const addressLifetime = 48 * time.Hour

// AddressMessage is the text of such an error.
func AddressMessage(publicURL, address string) string { return addressPrefix(publicURL) + address }

func addressPrefix(publicURL string) string {
	return "--public-url is " + publicURL + ", but people use "
}

// OtherAddress returns the address that people have used lately instead of the public URL, or "". What was recorded for
// another public URL does not count.
func (s *Store) OtherAddress(ctx context.Context, publicURL string, now time.Time) (address string, err error) {
	err = s.db.Query(ctx, `SELECT message FROM server_errors WHERE source = $1 AND at > $2 ORDER BY at, id`,
		func(r *engine.Row) error {
			if found, ok := strings.CutPrefix(r.Text(), addressPrefix(publicURL)); ok {
				address = found
			}
			return nil
		}, AddressSource, now.Add(-addressLifetime))
	return address, err
}

// PruneServerErrors deletes errors from before a time, and the oldest ones beyond keep.
func (t *Tx) PruneServerErrors(before time.Time, keep int) error {
	if err := t.later(`DELETE FROM server_errors WHERE at < $1`, before); err != nil {
		return err
	}
	return t.later(`DELETE FROM server_errors
		WHERE at < (SELECT at FROM server_errors ORDER BY at DESC, id DESC LIMIT 1 OFFSET $1)`, keep-1)
}

// ServerErrors lists errors, newest first, and returns their total. If requestID is set, it lists
// only the errors of that request.
func (s *Store) ServerErrors(
	ctx context.Context, requestID string, p warranty.Paging,
) (list []ServerError, total int64, err error) {
	where, args := ``, []any{p.Limit, p.Offset()}
	if requestID != "" {
		where, args = ` WHERE request_id = $3`, append(args, requestID)
	}
	err = s.db.Query(ctx, `SELECT n.total, e.id, e.at, e.replica, e.request_id, e.source, e.status, e.user_id, e.message
		FROM (SELECT count(*) AS total FROM server_errors`+where+`) n
		LEFT JOIN (SELECT * FROM server_errors`+where+` ORDER BY at DESC, id DESC LIMIT $1 OFFSET $2) e ON 1 = 1
		ORDER BY e.at DESC, e.id DESC`,
		func(r *engine.Row) error {
			total = r.Int()
			if r.Null() {
				return nil
			}
			list = append(list, ServerError{
				ID:        r.ID(),
				At:        r.Time(),
				Replica:   r.Text(),
				RequestID: r.Text(),
				Source:    r.Text(),
				Status:    int(r.Int()),
				UserID:    r.ID(),
				Message:   r.Text(),
			})
			return nil
		}, args...)
	return list, total, err
}
