package store

import (
	"context"
	"fmt"
	"strings"
	"time"

	"warranty.example/svc/internal/find"
	"warranty.example/svc/internal/store/engine"
	"warranty.example/svc/internal/store/lists"
	"warranty.example/svc/warranty"
)

// This file has the figures of the home of a business.

// Issued counts the warranties that the account issued and that start on a day or later, per day.
func (s *Store) Issued(
	ctx context.Context, account warranty.ID, from, today warranty.Date,
) (days map[warranty.Date]find.Started, err error) {
	key := lists.Key{User: account, Kind: lists.Warranties}
	if found, err := s.lists.Totals(ctx, key, func(index *lists.Snapshot) (err error) {
		days, err = index.CountStarts(&find.Question{Today: today, Role: warranty.Issuer}, from)
		return err
	}); found || err != nil {
		return days, err
	}
	days = map[warranty.Date]find.Started{}
	err = s.db.Query(ctx, `SELECT a.start_date, count(*), count(CASE WHEN a.roles & `+roleOwner+` = 0 THEN 1 END)
		FROM access a WHERE a.user_id = $1 AND a.kind = `+kindWarranty+` AND a.roles & `+roleIssuer+` <> 0
		AND a.start_date >= $2 GROUP BY a.start_date`, func(r *engine.Row) error {
		days[r.Date()] = find.Started{All: r.Int(), Taken: r.Int()}
		return nil
	}, account, from)
	return days, err
}

// idAt returns the smallest id that is made at a time.
func idAt(at time.Time) (id warranty.ID) {
	ms := at.UnixMilli()
	for i := range 6 {
		id[i] = byte(ms >> (40 - 8*i))
	}
	return id
}

// claimsSince selects the claims on warranties of others that were filed from $2 on. Ids are in the order of time.
const claimsSince = ` FROM access a WHERE a.user_id = $1 AND a.kind = ` + kindClaim + ` AND a.item_id >= $2
	AND a.roles & ` + roleOwner + ` = 0`

// ClaimsFiled counts the claims that were filed with an account in periods: from a time to the next one, and from the
// last one on.
func (s *Store) ClaimsFiled(ctx context.Context, account warranty.ID, starts []time.Time) ([]int64, error) {
	counts, columns := make([]int64, len(starts)), make([]string, len(starts))
	args := []any{account}
	for i, at := range starts {
		args = append(args, idAt(at))
		until := ``
		if i+1 < len(starts) {
			until = fmt.Sprintf(` AND a.item_id < $%d`, i+3)
		}
		columns[i] = fmt.Sprintf(`count(CASE WHEN a.item_id >= $%d%s THEN 1 END)`, i+2, until)
	}
	err := queryRow(ctx, s.db, `SELECT `+strings.Join(columns, `, `)+claimsSince, func(r *engine.Row) {
		for i := range counts {
			counts[i] = r.Int()
		}
	}, args...)
	return counts, err
}

// mostDecisions limits the claims of a period that TimeToDecide looks at, newest first.
const mostDecisions = 300

// TimeToDecide returns how long it took on average until claims that were filed in a period were approved or rejected,
// and how many were. Of more than mostDecisions, it takes the newest.
func (s *Store) TimeToDecide(
	ctx context.Context, account warranty.ID, from, to time.Time,
) (average time.Duration, decided int64, err error) {
	moved := fmt.Sprint(warranty.EnumNumber(warranty.ClaimMoved))
	err = queryRow(ctx, s.db, `SELECT count(*), CAST(COALESCE(avg(d.took), 0) AS BIGINT) FROM (
			SELECT (SELECT min(h.at) FROM history h WHERE h.thread_id = a.parent_id AND h.subject_id = a.item_id
				AND h.action = `+moved+` AND (h.changes LIKE '%"to":"approved"%' OR h.changes LIKE '%"to":"rejected"%'))
				- c.created_at AS took
			FROM (SELECT a.item_id, a.parent_id`+claimsSince+` AND a.item_id < $3 ORDER BY a.item_id DESC LIMIT $4) a
			JOIN claims c ON c.id = a.item_id) d WHERE d.took IS NOT NULL`, func(r *engine.Row) {
		decided, average = r.Int(), time.Duration(r.Int())*time.Microsecond
	}, account, idAt(from), idAt(to), mostDecisions)
	return average, decided, err
}

// ProductClaims is how many claims are about a product.
type ProductClaims struct {
	Name   string
	Claims int64
}

// mostClaimed limits the claims that MostClaims looks at, newest first.
const mostClaimed = 1000

// MostClaims returns the products with the most claims since a time.
func (s *Store) MostClaims(
	ctx context.Context, account warranty.ID, since time.Time, limit int,
) (list []ProductClaims, err error) {
	err = s.db.Query(ctx, `SELECT w.product_name, count(*) FROM (
			SELECT a.parent_id`+claimsSince+` ORDER BY a.item_id DESC LIMIT $3) a JOIN warranties w ON w.id = a.parent_id
		GROUP BY w.product_name ORDER BY count(*) DESC, w.product_name LIMIT $4`,
		func(r *engine.Row) error { list = append(list, ProductClaims{r.Text(), r.Int()}); return nil },
		account, idAt(since), mostClaimed, limit)
	return list, err
}

// FirstSteps is what an organization has done of what a new one does.
type FirstSteps struct {
	Profile, Domain, Logo, Product, Record, Colleague bool

	Created time.Time // when the organization was
}

// FirstSteps returns what an organization has done.
func (s *Store) FirstSteps(ctx context.Context, organization warranty.ID, now time.Time) (f FirstSteps, err error) {
	err = queryRow(ctx, s.db, `SELECT
			(SELECT count(*) FROM organizations WHERE id = $1
				AND (website IS NOT NULL OR contact_email IS NOT NULL OR contact_phone IS NOT NULL)),
			(SELECT count(*) FROM domains WHERE account_id = $1 AND verified_at IS NOT NULL),
			(SELECT count(*) FROM logos WHERE account_id = $1),
			(SELECT count(*) FROM (SELECT 1 AS one FROM products WHERE account_id = $1 LIMIT 1) p),
			(SELECT count(*) FROM members WHERE account_id = $1 AND role > 0)
				+ (SELECT count(*) FROM invitations WHERE account_id = $1 AND expires_at > $2),
			(SELECT count(*) FROM (SELECT 1 AS one FROM access WHERE user_id = $1 AND kind = `+kindWarranty+` LIMIT 1) w),
			(SELECT created_at FROM users WHERE id = $1)`,
		func(r *engine.Row) {
			f = FirstSteps{Profile: r.Int() > 0, Domain: r.Int() > 0, Logo: r.Int() > 0, Product: r.Int() > 0, Colleague: r.Int() > 1, Record: r.Int() > 0,
				Created: r.Time()}
		}, organization, now)
	return f, err
}

// ActivityJob is a job that changed many warranties of an account.
type ActivityJob struct {
	ID              warranty.ID
	Kind            string
	State           warranty.JobState
	User            warranty.ID
	Name            string // of the person who started it
	Head            string // the beginning of its result
	CreatedAt, Ends time.Time
	Done            int64
}

// headOfResult is how much of the result of a job is read, which may be long.
const headOfResult = 2000

// ActivityJobs returns the newest jobs of an account that are not exports.
func (s *Store) ActivityJobs(ctx context.Context, account warranty.ID, limit int) (list []ActivityJob, err error) {
	err = s.db.Query(ctx, `SELECT j.id, j.kind, j.state, j.user_id, u.name, substr(j.result, 1, $3), j.created_at,
			COALESCE(j.ended_at, j.updated_at), j.done
		FROM (SELECT * FROM jobs WHERE account_id = $1 AND kind IN ('import', 'bulk') ORDER BY created_at DESC, id DESC LIMIT $2) j
		LEFT JOIN users u ON u.id = j.user_id ORDER BY j.created_at DESC, j.id DESC`, func(r *engine.Row) error {
		list = append(list, ActivityJob{ID: r.ID(), Kind: r.Text(), State: enum[warranty.JobState](r), User: r.ID(),
			Name: r.Text(), Head: r.Text(), CreatedAt: r.Time(), Ends: r.Time(), Done: r.Int()})
		return nil
	}, account, limit, headOfResult)
	return list, err
}
