package store

import (
	"context"
	"time"

	"warranty.example/svc/internal/store/engine"
	"warranty.example/svc/warranty"
)

// Due is a warranty or token that ends soon, and the account whose recipients to remind.
type Due struct {
	Subject   warranty.ID // the warranty or the token
	Name      string      // of the product or token
	Reference warranty.Reference
	Ends      time.Time
	Account   warranty.ID
	ends      int64
}

// reminded selects accounts with recipients who want a kind of reminder.
const reminded = `EXISTS (SELECT 1 FROM recipients r WHERE r.account_id = `

// WarrantiesEnding lists active warranties that end between two days, of owners with recipients who want
// reminders, and who were not reminded at this stage. after is the last one of the previous page.
func (s *Store) WarrantiesEnding(
	ctx context.Context, first, last warranty.Date, stage int, after Due, limit int,
) ([]Due, error) {
	var list []Due
	// CROSS JOIN makes SQLite start with the warranties, in the order of their index. Otherwise it
	// would sort all remaining rows for every page.
	err := s.db.Query(ctx, `SELECT w.id, w.product_name, w.reference, w.end_date, a.user_id
		FROM warranties w CROSS JOIN access a
		WHERE (w.end_date, w.id) > ($6, $1) AND w.end_date >= $2 AND w.end_date <= $3
			AND w.standing = 1 AND w.deleted_at IS NULL
			AND a.parent_id = w.id AND a.kind = 1 AND a.roles & 1 <> 0
			AND `+reminded+`a.user_id AND r.choices & 1 <> 0)
			AND NOT EXISTS (SELECT 1 FROM reminders m WHERE m.subject_id = w.id AND m.stage = $4 AND m.ends = w.end_date)
		ORDER BY w.end_date, w.id LIMIT $5`,
		func(r *engine.Row) error {
			d := Due{
				Subject:   r.ID(),
				Name:      r.Text(),
				Reference: warranty.Reference(r.Text()),
				ends:      r.Int(),
				Account:   r.ID(),
			}
			d.Ends = warranty.FromEpochDay(d.ends).Time()
			list = append(list, d)
			return nil
		}, after.Subject, first, last, stage, limit, after.ends)
	return list, err
}

// TokensExpiring lists active tokens that expire by a time, of accounts with recipients who want
// reminders, and who were not reminded at this stage.
func (s *Store) TokensExpiring(
	ctx context.Context, now, by time.Time, stage int, after Due, limit int,
) ([]Due, error) {
	var list []Due
	err := s.db.Query(ctx, `SELECT t.id, t.name, t.expires_at, t.user_id
		FROM tokens t
		WHERE t.id > $1 AND t.revoked_at IS NULL AND t.expires_at > $2 AND t.expires_at <= $3
			AND `+reminded+`t.user_id AND r.choices & 4 <> 0)
			AND NOT EXISTS (SELECT 1 FROM reminders m WHERE m.subject_id = t.id AND m.stage = $4 AND m.ends = t.expires_at)
		ORDER BY t.id LIMIT $5`,
		func(r *engine.Row) error {
			d := Due{
				Subject: r.ID(),
				Name:    r.Text(),
				Ends:    r.Time(),
				Account: r.ID(),
			}
			d.ends = d.Ends.UnixMicro()
			list = append(list, d)
			return nil
		}, after.Subject, now, by, stage, limit)
	return list, err
}

// Remind records a reminder and returns who gets it. If several workers find the same one, only one of
// them does.
func (t *Tx) Remind(d Due, stage int, now time.Time) ([]Recipient, error) {
	n, err := t.exec(`INSERT INTO reminders (subject_id, stage, ends, sent_at) VALUES ($1, $2, $3, $4)
		ON CONFLICT (subject_id, stage, ends) DO NOTHING`,
		d.Subject, stage, d.ends, now)
	if err != nil || n == 0 {
		return nil, err
	}
	return t.Recipients(d.Account)
}
