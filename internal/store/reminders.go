package store

import (
	"context"
	"time"

	"warranty.example/svc/internal/store/engine"
	"warranty.example/svc/warranty"
)

// Due is a warranty or token that ends soon, and the user to remind.
type Due struct {
	Subject   warranty.ID // the warranty or the token
	Name      string      // of the product or token
	Reference warranty.Reference
	Ends      time.Time
	Person    string
	Email     string
	ends      int64
}

// WarrantiesEnding lists active warranties that end between two days, with owners who want
// reminders and were not reminded at this stage. after is the last one of the previous page.
func (s *Store) WarrantiesEnding(
	ctx context.Context, first, last warranty.Date, stage int, after Due, limit int,
) ([]Due, error) {
	var list []Due
	// CROSS JOIN makes SQLite start with the warranties, in the order of their index. Otherwise it
	// would sort all remaining rows for every page.
	err := s.db.Query(ctx, `SELECT w.id, w.product_name, w.reference, w.end_date, u.name, u.email
		FROM warranties w CROSS JOIN access a CROSS JOIN users u
		WHERE (w.end_date, w.id) > ($6, $1) AND w.end_date >= $2 AND w.end_date <= $3
			AND w.standing = 1 AND w.deleted_at IS NULL
			AND a.parent_id = w.id AND a.kind = 1 AND a.roles & 1 <> 0 AND u.id = a.user_id
			AND u.verified_at IS NOT NULL AND u.disabled_at IS NULL AND u.mail_choices & 1 <> 0
			AND NOT EXISTS (SELECT 1 FROM reminders m WHERE m.subject_id = w.id AND m.stage = $4 AND m.ends = w.end_date)
		ORDER BY w.end_date, w.id LIMIT $5`,
		func(r *engine.Row) error {
			d := Due{
				Subject:   r.ID(),
				Name:      r.Text(),
				Reference: warranty.Reference(r.Text()),
				ends:      r.Int(),
				Person:    r.Text(),
				Email:     r.Text(),
			}
			d.Ends = warranty.FromEpochDay(d.ends).Time()
			list = append(list, d)
			return nil
		}, after.Subject, first, last, stage, limit, after.ends)
	return list, err
}

// TokensExpiring lists active tokens that expire by a time, of users who want reminders and were
// not reminded at this stage.
func (s *Store) TokensExpiring(
	ctx context.Context, now, by time.Time, stage int, after Due, limit int,
) ([]Due, error) {
	var list []Due
	err := s.db.Query(ctx, `SELECT t.id, t.name, t.expires_at, u.name, u.email
		FROM tokens t JOIN users u ON u.id = t.user_id
		WHERE t.id > $1 AND t.revoked_at IS NULL AND t.expires_at > $2 AND t.expires_at <= $3
			AND u.verified_at IS NOT NULL AND u.disabled_at IS NULL AND u.mail_choices & 4 <> 0
			AND NOT EXISTS (SELECT 1 FROM reminders m WHERE m.subject_id = t.id AND m.stage = $4 AND m.ends = t.expires_at)
		ORDER BY t.id LIMIT $5`,
		func(r *engine.Row) error {
			d := Due{
				Subject: r.ID(),
				Name:    r.Text(),
				Ends:    r.Time(),
				Person:  r.Text(),
				Email:   r.Text(),
			}
			d.ends = d.Ends.UnixMicro()
			list = append(list, d)
			return nil
		}, after.Subject, now, by, stage, limit)
	return list, err
}

// Remind records a reminder and adds its email to the outbox. If several workers find the same one,
// only one of them sends it.
func (t *Tx) Remind(d Due, stage int, m Mail, now time.Time) error {
	n, err := t.exec(`INSERT INTO reminders (subject_id, stage, ends, sent_at) VALUES ($1, $2, $3, $4)
		ON CONFLICT (subject_id, stage, ends) DO NOTHING`,
		d.Subject, stage, d.ends, now)
	if err != nil || n == 0 {
		return err
	}
	return t.InsertMail(m)
}
