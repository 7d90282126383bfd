package store

import (
	"context"
	"slices"
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

// mayBeReminded selects people who want reminders, and organizations. The view recipients is not used for
// many accounts, because SQLite reads all of it.
const mayBeReminded = `EXISTS (SELECT 1 FROM users u WHERE u.id = a.user_id AND u.disabled_at IS NULL
	AND (u.kind = ` + kindOrganization + ` OR u.verified_at IS NOT NULL AND u.mail_choices & 1 <> 0))`

// reminded selects accounts with recipients who want a kind of reminder.
const reminded = `EXISTS (SELECT 1 FROM recipients r WHERE r.account_id = `

// chosenDays are the days of the account of access row a for the warranty w. Accounts that do not own it get
// reminders only by a choice for this warranty.
const chosenDays = `COALESCE(p.days, CASE WHEN a.roles & ` + roleOwner + ` = 0 OR c.weekly = 1 THEN ''
		ELSE c.days END, $1)`

const joinChoices = ` LEFT JOIN record_reminders p ON p.warranty_id = w.id AND p.account_id = a.user_id
	LEFT JOIN reminder_choices c ON c.account_id = a.user_id`

// ReminderStages lists the numbers of days that anyone has chosen, and the default.
func (s *Store) ReminderStages(ctx context.Context) ([]int, error) {
	stages := slices.Clone(warranty.DefaultReminderDays())
	err := s.db.Query(ctx, `SELECT DISTINCT days FROM reminder_choices UNION SELECT DISTINCT days FROM record_reminders`,
		func(r *engine.Row) error {
			days, err := warranty.ParseReminderDays(r.Text())
			stages = append(stages, days...)
			return err
		})
	slices.Sort(stages)
	return slices.Compact(stages), err
}

// WarrantiesDue lists a page of the reminders that are due at a stage, and the last warranty that it read, which
// the next page starts after; it is nil on the last page. A page has whole warranties: those of all accounts.
func (s *Store) WarrantiesDue(
	ctx context.Context, today warranty.Date, stage int, after *Due, limit int,
) (due []Due, last *Due, err error) {
	first := max(today, today+warranty.Date(stage-warranty.ReminderGrace))
	from, id := first-1, warranty.ID{} // SQLite seeks to these only
	if after != nil {
		from, id = warranty.FromEpochDay(after.ends), after.Subject
	}
	var rows []Due
	var chosen []warranty.ReminderDays
	// CROSS JOIN makes SQLite start with the warranties, in the order of their index. Otherwise it
	// would sort all remaining rows for every page.
	err = s.db.Query(ctx, `SELECT w.id, w.product_name, w.reference, w.end_date, a.user_id, `+chosenDays+`
		FROM warranties w CROSS JOIN access a`+joinChoices+`
		WHERE (w.end_date, w.id) > ($2, $3) AND w.end_date >= $4 AND w.end_date <= $5
			AND w.standing = `+standingActive+` AND w.deleted_at IS NULL
			AND a.parent_id = w.id AND a.kind = `+kindWarranty+`
			AND ',' || `+chosenDays+` || ',' LIKE $6
			AND `+mayBeReminded+`
			AND NOT EXISTS (SELECT 1 FROM reminded m WHERE m.ends = w.end_date AND m.account_id = a.user_id
				AND m.warranty_id = w.id AND m.stage <= $7)
		ORDER BY w.end_date, w.id LIMIT $8`,
		func(r *engine.Row) error {
			d := Due{
				Subject:   r.ID(),
				Name:      r.Text(),
				Reference: warranty.Reference(r.Text()),
				ends:      r.Int(),
				Account:   r.ID(),
			}
			d.Ends = warranty.FromEpochDay(d.ends).Time()
			days, err := warranty.ParseReminderDays(r.Text())
			rows, chosen = append(rows, d), append(chosen, days)
			return err
		}, warranty.DefaultReminderDays().String(), from, id, first, today+warranty.Date(stage),
		"%,"+warranty.ReminderDays{stage}.String()+",%", stage, limit)
	if err != nil {
		return nil, nil, err
	}
	if len(rows) == limit {
		whole := slices.IndexFunc(rows, func(d Due) bool { return d.Subject == rows[limit-1].Subject })
		if whole > 0 {
			rows = rows[:whole]
		}
		last = &rows[len(rows)-1]
	}
	for i, d := range rows {
		if smallest, ok := chosen[i].Stage(int(warranty.FromEpochDay(d.ends) - today)); ok && smallest == stage {
			due = append(due, d)
		}
	}
	return due, last, nil
}

// MarkDue records a reminder, which TakeDue puts into an email. If several workers find the same one, it is
// recorded once.
func (t *Tx) MarkDue(d Due, stage int) error {
	return t.later(`INSERT INTO reminded (ends, account_id, warranty_id, stage) VALUES ($1, $2, $3, $4)
		ON CONFLICT (ends, account_id, warranty_id) DO UPDATE SET stage = excluded.stage, mailed_at = NULL
		WHERE reminded.stage > excluded.stage`, d.ends, d.Account, d.Subject, stage)
}

// AccountsDue lists some accounts with recorded reminders that are not in an email.
func (s *Store) AccountsDue(ctx context.Context, limit int) (list []warranty.ID, err error) {
	err = s.db.Query(ctx, `SELECT DISTINCT account_id FROM reminded WHERE mailed_at IS NULL LIMIT $1`,
		func(r *engine.Row) error { list = append(list, r.ID()); return nil }, limit)
	return list, err
}

// TakeDue returns the recorded reminders of a locked account, at most limit of them and the total, and notes
// that they are in an email. Warranties that changed meanwhile are left out.
func (t *Tx) TakeDue(account warranty.ID, now time.Time, limit int) (list []Due, total int64, err error) {
	const open = ` FROM reminded m JOIN warranties w ON w.id = m.warranty_id AND w.end_date = m.ends
		WHERE m.account_id = $1 AND m.mailed_at IS NULL AND w.standing = ` + standingActive + ` AND w.deleted_at IS NULL
		AND EXISTS (SELECT 1 FROM access a WHERE a.parent_id = w.id
			AND a.kind = ` + kindWarranty + ` AND a.user_id = $1)`
	err = t.tx.Query(t.ctx, `SELECT w.id, w.product_name, w.reference, w.end_date`+open+`
		ORDER BY w.end_date, w.id LIMIT $2`, func(r *engine.Row) error {
		d := Due{Subject: r.ID(), Name: r.Text(), Reference: warranty.Reference(r.Text()), Ends: r.Date().Time(), Account: account}
		list = append(list, d)
		return nil
	}, account, limit)
	if err != nil {
		return nil, 0, err
	}
	total = int64(len(list))
	if len(list) == limit {
		err = queryRow(t.ctx, t.tx, `SELECT count(*)`+open, func(r *engine.Row) { total = r.Int() }, account)
		if err != nil {
			return nil, 0, err
		}
	}
	return list, total, t.later(`UPDATE reminded SET mailed_at = $2 WHERE account_id = $1 AND mailed_at IS NULL`,
		account, now)
}

// TokensExpiring lists active tokens that expire by a time, of accounts with recipients who want
// reminders, and who were not reminded at this stage.
func (s *Store) TokensExpiring(
	ctx context.Context, now, by time.Time, stage int, after Due, limit int,
) ([]Due, error) {
	var list []Due
	err := s.db.Query(ctx, `SELECT t.id, t.name, t.expires_at, t.user_id
		FROM tokens t
		WHERE t.id > $1 AND t.client_id IS NULL AND t.revoked_at IS NULL AND t.expires_at > $2 AND t.expires_at <= $3
			AND `+reminded+`t.user_id AND r.choices & 4 <> 0)
			AND NOT EXISTS (SELECT 1 FROM token_reminders m WHERE m.token_id = t.id AND m.stage = $4 AND m.ends = t.expires_at)
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

// RemindOfToken records a reminder and reports whether it was recorded for the first time. If several workers
// find the same one, only one of them does.
func (t *Tx) RemindOfToken(d Due, stage int, now time.Time) (bool, error) {
	n, err := t.exec(`INSERT INTO token_reminders (token_id, stage, ends, sent_at) VALUES ($1, $2, $3, $4)
		ON CONFLICT (token_id, stage, ends) DO NOTHING`,
		d.Subject, stage, d.ends, now)
	return n == 1, err
}

// remindedKept is how many days after the end of a warranty its reminders are forgotten.
const remindedKept = 30

// SweepReminded forgets reminders of warranties that ended long ago.
func (t *Tx) SweepReminded(today warranty.Date) error {
	return t.later(`DELETE FROM reminded WHERE ends < $1`, today-remindedKept)
}

// Reminders returns the choice of an account.
func (s *Store) Reminders(ctx context.Context, account warranty.ID) (warranty.Reminders, error) {
	return reminders(ctx, s.db, account)
}

// Reminders returns the choice of an account.
func (t *Tx) Reminders(account warranty.ID) (warranty.Reminders, error) {
	return reminders(t.ctx, t.tx, account)
}

func reminders(ctx context.Context, q engine.Querier, account warranty.ID) (warranty.Reminders, error) {
	choice := warranty.Reminders{Days: warranty.DefaultReminderDays()}
	err := q.Query(ctx, `SELECT days, weekly FROM reminder_choices WHERE account_id = $1`, func(r *engine.Row) (err error) {
		choice.Days, err = warranty.ParseReminderDays(r.Text())
		choice.Weekly = r.Int() != 0
		return err
	}, account)
	return choice, err
}

// SetReminders sets the choice of a locked account. The first weekly email is that of the week after week.
func (t *Tx) SetReminders(account warranty.ID, choice warranty.Reminders, week warranty.Date) error {
	weekly := 0
	if choice.Weekly {
		weekly = 1
	}
	return t.later(`INSERT INTO reminder_choices (account_id, days, weekly, weekly_sent) VALUES ($1, $2, $3, $4)
		ON CONFLICT (account_id) DO UPDATE SET days = excluded.days, weekly = excluded.weekly, weekly_sent =
			CASE WHEN reminder_choices.weekly = 1 THEN reminder_choices.weekly_sent ELSE excluded.weekly_sent END`,
		account, choice.Days.String(), weekly, week)
}

// WarrantyReminders returns the choice of an account for a warranty, or nil if it has none.
func (s *Store) WarrantyReminders(ctx context.Context, account, id warranty.ID) (days *warranty.ReminderDays, err error) {
	err = s.db.Query(ctx, `SELECT days FROM record_reminders WHERE warranty_id = $1 AND account_id = $2`,
		func(r *engine.Row) error {
			chosen, err := warranty.ParseReminderDays(r.Text())
			days = &chosen
			return err
		}, id, account)
	return days, err
}

// SetWarrantyReminders sets the choice of an account for a warranty; nil removes it.
func (t *Tx) SetWarrantyReminders(account, id warranty.ID, days *warranty.ReminderDays) error {
	if days == nil {
		return t.later(`DELETE FROM record_reminders WHERE warranty_id = $1 AND account_id = $2`, id, account)
	}
	return t.later(`INSERT INTO record_reminders (warranty_id, account_id, days) VALUES ($1, $2, $3)
		ON CONFLICT (warranty_id, account_id) DO UPDATE SET days = excluded.days`, id, account, days.String())
}

// maxOff bounds the warranties of RemindersOff.
const maxOff = 500

// RemindersOff returns warranties that end between two days and for which an account turned off reminders.
func (s *Store) RemindersOff(
	ctx context.Context, account warranty.ID, first, last warranty.Date,
) (map[warranty.ID]bool, error) {
	off := map[warranty.ID]bool{}
	err := s.db.Query(ctx, `SELECT w.id FROM record_reminders p JOIN warranties w ON w.id = p.warranty_id
		WHERE p.account_id = $1 AND p.days = '' AND w.end_date >= $2 AND w.end_date <= $3 LIMIT $4`,
		func(r *engine.Row) error { off[r.ID()] = true; return nil }, account, first, last, maxOff)
	return off, err
}

// WeeklyDue lists some accounts whose weekly email of a week was not sent.
func (s *Store) WeeklyDue(ctx context.Context, week warranty.Date, limit int) (list []warranty.ID, err error) {
	err = s.db.Query(ctx, `SELECT account_id FROM reminder_choices WHERE weekly = 1 AND weekly_sent < $1 LIMIT $2`,
		func(r *engine.Row) error { list = append(list, r.ID()); return nil }, week, limit)
	return list, err
}

// TakeWeekly notes that the weekly email of a week is sent, and reports whether it was not before.
func (t *Tx) TakeWeekly(account warranty.ID, week warranty.Date) (bool, error) {
	n, err := t.exec(`UPDATE reminder_choices SET weekly_sent = $2 WHERE account_id = $1 AND weekly = 1 AND weekly_sent < $2`,
		account, week)
	return n == 1, err
}
