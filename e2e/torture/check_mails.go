package main

import (
	"context"
	"database/sql"
	"slices"
	"strings"
	"time"
)

// checkReminders waits until the service has put a reminder into an email for each record
// that existed before the last start and ends soon.
func (l *workload) checkReminders(ctx context.Context, db database) error {
	if l.remindedBefore == 0 {
		return nil
	}
	due := map[uuid]*record{}
	for _, r := range l.model.records {
		if r.remind && r.exists() && r.unchanged() && r.steps[0].At < l.remindedBefore {
			due[uuid(r.id)] = r
		}
	}
	l.remindedBefore = 0
	for range 300 {
		if err := db.each(ctx, `SELECT warranty_id FROM reminded WHERE mailed_at IS NOT NULL`, func(rows *sql.Rows) error {
			var id uuid
			err := rows.Scan(&id)
			delete(due, id)
			return err
		}); err != nil {
			return err
		}
		if len(due) == 0 || ctx.Err() != nil {
			return ctx.Err()
		}
		pause(ctx, 100*time.Millisecond)
	}
	for _, r := range due {
		l.find("lost mail", r.key, "it ends soon, but no reminder was sent within 30 seconds after a start")
	}
	return nil
}

// unchanged reports whether the create of a record was acknowledged and nothing has
// changed it since.
func (r *record) unchanged() bool {
	return len(r.steps) > 0 && r.steps[0].Outcome == acknowledged.String() &&
		!slices.ContainsFunc(r.steps, func(s step) bool {
			return s.Kind == "update" || s.Kind == "transfer" || s.Kind == "delete"
		})
}

// checkQueue waits until every email that may be sent has been sent. Emails that a
// server had claimed when it was killed stay claimed for two minutes.
func (l *workload) checkQueue(ctx context.Context, db database, onPostgres bool) error {
	now := `CAST(strftime('%s', 'now') AS INTEGER) * 1000000`
	if onPostgres {
		now = `(extract(epoch FROM now()) * 1000000)::bigint`
	}
	left := 0
	for range 600 {
		if err := db.QueryRowContext(ctx, `SELECT count(*) FROM mails WHERE claimed_until < `+now).Scan(&left); err != nil {
			return err
		}
		if left == 0 || ctx.Err() != nil {
			return ctx.Err()
		}
		pause(ctx, 100*time.Millisecond)
	}
	l.find("lost mail", "queue", "%d emails have been queued for a minute, but no server sends them", left)
	return nil
}

// distinct counts the emails that match, by Message-ID.
func distinct(emails []email, match func(email) bool) int {
	ids := map[string]bool{}
	for _, e := range emails {
		if match(e) {
			ids[e.id] = true
		}
	}
	return len(ids)
}

// checkMails compares the emails that arrived with the expected ones. Emails that are
// still queued in the database are not lost.
func (l *workload) checkMails(f facts, emails []email) {
	l.checkDuplicates(emails)
	for _, e := range l.model.mails {
		l.figures.add(l.figures.Checked, "emails", 1)
		match := func(m email) bool { return m.to == e.to && strings.Contains(m.text, e.contains) }
		n := distinct(emails, match)
		switch {
		case n > 1:
			l.find("doubled mail", e.from.Subject, "an email to %s with %s arrived %d times", e.to, e.contains, n)
		case n == 0 && !e.maybe && !slices.ContainsFunc(f.queued, match):
			l.find("lost mail", e.from.Subject, "an email to %s with %s did not arrive and is not queued", e.to, e.contains)
		}
	}
	for _, r := range l.model.records {
		recorded := f.reminded[uuid(r.id)]
		if r.id == "" || recorded == 0 {
			continue
		}
		l.figures.add(l.figures.Checked, "reminders", 1)
		arrived, queued := 0, false
		for _, a := range l.model.accounts {
			match := func(m email) bool { return m.to == a.email && reminds(m, r.key) }
			arrived += distinct(emails, match)
			queued = queued || slices.ContainsFunc(f.queued, match)
		}
		if arrived > recorded {
			l.find("doubled mail", r.key, "%d reminders arrived, %d were recorded", arrived, recorded)
		}
		// A reminder of a record that is changed before its email is written is not sent.
		if arrived == 0 && !queued && r.exists() && r.unchanged() {
			l.find("lost mail", r.key, "a reminder was put into an email, which did not arrive and is not queued")
		}
	}
}

// reminds reports whether an email reminds of the end of a warranty, alone or with others.
func reminds(m email, key string) bool {
	if strings.Contains(m.subject, "warranties end soon") {
		return strings.Contains(m.text, key) || strings.Contains(m.text, " more\n")
	}
	return strings.Contains(m.subject, "warranty ends") && strings.Contains(m.text, key)
}

// checkDuplicates looks for emails that arrived more than once. With the same
// Message-ID this may happen once per restart.
func (l *workload) checkDuplicates(emails []email) {
	type content struct{ to, subject, text string }
	same := map[content][]email{}
	for _, e := range emails {
		c := content{e.to, e.subject, e.text}
		same[c] = append(same[c], e)
	}
	for c, copies := range same {
		ids := distinct(copies, func(email) bool { return true })
		// An account can get a warranty back and give it away again.
		if ids > 1 && c.subject != "Your warranty has a new owner" {
			l.find("doubled mail", c.subject+" "+c.to, "the same email arrived %d times", ids)
		}
		if again := len(copies) - ids; again > 0 {
			if crashes := l.crashes(); again > crashes {
				l.find("doubled mail", c.subject+" "+c.to, "the same email arrived again %d times after %d restarts", again, crashes)
			}
			l.figures.repeated(again)
		}
	}
}
