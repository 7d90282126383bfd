package store

import (
	"context"
	"encoding/json"
	"strings"
	"time"

	"warranty.example/svc/internal/find"
	"warranty.example/svc/internal/store/engine"
	"warranty.example/svc/warranty"
)

// UserOrder is an order of the list of accounts.
type UserOrder string

// The orders. Each has an index.
const (
	NewestUsers   UserOrder = "newest"
	UsersByEmail  UserOrder = "email"
	UsersBySignIn UserOrder = "last_sign_in"
)

var userOrders = map[UserOrder]string{
	NewestUsers:   `u.id DESC`,
	UsersByEmail:  `u.email /*pg: COLLATE "C" */`,
	UsersBySignIn: `COALESCE(u.last_sign_in_at, 0) DESC, u.id DESC`,
}

// UserFilter selects accounts.
type UserFilter string

// The filters.
const (
	AllUsers        UserFilter = ""
	UnverifiedUsers UserFilter = "unverified"
	DisabledUsers   UserFilter = "disabled"
	AdminUsers      UserFilter = "admin"
	Organizations   UserFilter = "organizations"
)

// UserQuery is a page of the list of accounts.
type UserQuery struct {
	Text   string // part of the address or the name, or an id
	Filter UserFilter
	Order  UserOrder
	warranty.Paging
}

// MaxRecordsShown bounds the records that are counted per account in a list.
const MaxRecordsShown = 10_000

// FindUsers returns a page of accounts and the number of all that match. Records are counted up to
// MaxRecordsShown+1.
func (s *Store) FindUsers(ctx context.Context, q UserQuery) ([]UserSummary, int64, error) {
	ids, total, err := s.findUserIDs(ctx, q)
	if err != nil || len(ids) == 0 {
		return nil, total, err
	}
	list, err := s.summaries(ctx, ids)
	return list, total, err
}

// findUserIDs returns the ids of a page. Without a text or filter it reads only the page; otherwise
// it scans the accounts, but never their records.
func (s *Store) findUserIDs(ctx context.Context, q UserQuery) (ids []warranty.ID, total int64, err error) {
	order := ` ORDER BY ` + userOrders[q.Order]
	if q.Text == "" && q.Filter == AllUsers {
		total, err = s.CountUsers(ctx)
		if err != nil {
			return nil, 0, err
		}
		err = s.db.Query(ctx, `SELECT u.id FROM users u WHERE u.deleted_at IS NULL`+order+` LIMIT $1 OFFSET $2`,
			func(r *engine.Row) error { ids = append(ids, r.ID()); return nil }, q.Limit, q.Offset())
		return ids, total, err
	}
	text, from := find.Fold(strings.TrimSpace(q.Text)), q.Offset()
	err = s.db.Query(ctx, `SELECT u.id, u.email, u.name, u.verified_at, u.disabled_at, u.admin_since, u.kind
		FROM users u WHERE u.deleted_at IS NULL`+order, func(r *engine.Row) error {
		id, email, name := r.ID(), r.Text(), r.Text()
		verified, disabled, admin := r.Set(), r.Set(), r.Set()
		organization := enum[warranty.AccountKind](r) == warranty.OrganizationKind
		if organization {
			email = ""
		}
		found := strings.Contains(email, text) || strings.Contains(find.Fold(name), text) || id.String() == text
		switch q.Filter {
		case UnverifiedUsers:
			found = found && !verified && !disabled && !organization
		case DisabledUsers:
			found = found && disabled
		case AdminUsers:
			found = found && admin
		case Organizations:
			found = found && organization
		}
		if !found {
			return nil
		}
		if total >= from && len(ids) < q.Limit {
			ids = append(ids, id)
		}
		total++
		return nil
	})
	return ids, total, err
}

// summaries returns the summaries of accounts, in the order of ids.
func (s *Store) summaries(ctx context.Context, ids []warranty.ID) ([]UserSummary, error) {
	texts := make([]string, len(ids))
	for i, id := range ids {
		texts[i] = id.String()
	}
	list, err := json.Marshal(texts)
	if err != nil {
		return nil, err
	}
	byID := map[warranty.ID]UserSummary{}
	err = s.db.Query(ctx, `SELECT `+summaryColumns+`, (SELECT count(*) FROM
			(SELECT 1 FROM access a WHERE a.user_id = u.id
				AND a.kind = `+kindWarranty+` LIMIT $2) n), `+summaryStorage+`
		FROM users u WHERE u.deleted_at IS NULL AND u.id IN (
			/*pg: SELECT value::uuid FROM json_array_elements_text($1) */
			/*sqlite: SELECT unhex(value, '-') FROM json_each($1) */)`,
		func(r *engine.Row) error {
			u := readSummary(r)
			byID[u.ID] = u
			return nil
		}, string(list), MaxRecordsShown+1)
	found := make([]UserSummary, 0, len(ids))
	for _, id := range ids {
		if u, ok := byID[id]; ok { // not deleted meanwhile
			found = append(found, u)
		}
	}
	return found, err
}

// UserSummary returns one account, with all its records counted.
func (s *Store) UserSummary(ctx context.Context, id warranty.ID) (u UserSummary, err error) {
	err = queryRow(ctx, s.db, `SELECT `+summaryColumns+`,
			(SELECT count(*) FROM access a WHERE a.user_id = u.id AND a.kind = `+kindWarranty+`), `+summaryStorage+`
		FROM users u WHERE u.id = $1 AND u.deleted_at IS NULL`,
		func(r *engine.Row) { u = readSummary(r) }, id)
	return u, err
}

// CountUsers counts the accounts that are not deleted.
func (s *Store) CountUsers(ctx context.Context) (n int64, err error) {
	err = queryRow(ctx, s.db, `SELECT count(*) FROM users WHERE deleted_at IS NULL`,
		func(r *engine.Row) { n = r.Int() })
	return n, err
}

// Counts are the figures of the admin page. Each is counted up to MaxCount+1.
type Counts struct {
	Users, SignedIn       int64 // SignedIn is since a time
	Warranties, Documents int64
	Errors                int64 // since a time
	MailQueue
}

// MaxCount bounds the rows that are counted for the admin page, so that it is as fast with millions.
const MaxCount = 100_000

// Count returns the figures of the admin page.
func (s *Store) Count(ctx context.Context, signedInSince, errorsSince time.Time) (c Counts, err error) {
	count := func(from string) string { return `(SELECT count(*) FROM (SELECT 1 FROM ` + from + ` LIMIT $3) n)` }
	// Each warranty that is not deleted is in one of two indexes.
	err = queryRow(ctx, s.db, `SELECT `+count(`users WHERE deleted_at IS NULL`)+`,
			`+count(`users WHERE deleted_at IS NULL AND COALESCE(last_sign_in_at, 0) >= $1`)+`,
			`+count(`warranties WHERE deleted_at IS NULL AND serial_number IS NOT NULL`)+`,
			`+count(`warranties WHERE deleted_at IS NULL AND serial_number IS NULL`)+`,
			`+count(`documents`)+`, `+count(`server_errors WHERE at >= $2`),
		func(r *engine.Row) {
			c.Users, c.SignedIn = r.Int(), r.Int()
			c.Warranties = min(r.Int()+r.Int(), MaxCount+1)
			c.Documents, c.Errors = r.Int(), r.Int()
		}, signedInSince, errorsSince, MaxCount+1)
	if err != nil {
		return c, err
	}
	c.MailQueue, err = s.CountMailQueue(ctx)
	return c, err
}

// DatabaseInfo describes the database.
type DatabaseInfo struct {
	Postgres bool
	Version  string
	Schema   int64 // the last applied migration
	Bytes    int64
	Clock    time.Duration // how far the database's clock is ahead of this machine's
}

// DatabaseInfo describes the database.
func (s *Store) DatabaseInfo(ctx context.Context) (d DatabaseInfo, err error) {
	err = queryRow(ctx, s.db, `SELECT
			/*pg: current_setting('server_version') *//*sqlite: sqlite_version() */,
			(SELECT max(version) FROM schema_versions),
			/*pg: pg_database_size(current_database()) */
			/*sqlite: (SELECT p.page_count * z.page_size FROM pragma_page_count() p, pragma_page_size() z) */`,
		func(r *engine.Row) { d = DatabaseInfo{Version: r.Text(), Schema: r.Int(), Bytes: r.Int()} })
	d.Postgres, d.Clock = s.db.Concurrent(), s.db.ClockOffset()
	return d, err
}
