package store

import (
	"context"
	"time"

	"warranty.example/svc/internal/store/engine"
	"warranty.example/svc/warranty"
)

// OrganizationSummary is an organization as the operator sees it.
type OrganizationSummary struct {
	ID           warranty.ID
	Name         string
	State        UserState
	Members      int64
	Admins       []string // addresses of the enabled admins
	Records      int64    // warranties that the organization can see
	StorageBytes int64    // documents that it uploaded
	EraseAt      *time.Time
	CreatedAt    time.Time
}

// AllOrganizations lists organizations in the order of their ids, starting after one. Erased ones are not listed.
func (s *Store) AllOrganizations(
	ctx context.Context, after warranty.ID, limit int,
) (list []OrganizationSummary, err error) {
	err = s.db.Query(ctx, `SELECT u.id, u.name, u.disabled_at, u.created_at,
			(SELECT count(*) FROM members m WHERE m.account_id = u.id AND m.role > 0),
			(SELECT e.due_at FROM erasures e WHERE e.user_id = u.id),
			(SELECT count(*) FROM access a WHERE a.user_id = u.id AND a.kind = `+kindWarranty+`), `+summaryStorage+`
		FROM organizations o JOIN users u ON u.id = o.id WHERE u.deleted_at IS NULL AND o.id > $1 ORDER BY o.id LIMIT $2`,
		func(r *engine.Row) error {
			o := OrganizationSummary{ID: r.ID(), Name: r.Text(), State: UserActive}
			if r.Set() {
				o.State = UserDisabled
			}
			o.CreatedAt, o.Members, o.EraseAt = r.Time(), r.Int(), r.OptionalTime()
			o.Records, o.StorageBytes = r.Int(), r.Int()
			list = append(list, o)
			return nil
		}, after, limit)
	if err != nil || len(list) == 0 {
		return list, err
	}
	admins := map[warranty.ID][]string{}
	err = s.db.Query(ctx, `SELECT m.account_id, u.email FROM members m JOIN users u ON u.id = m.user_id
		WHERE m.account_id > $1 AND m.account_id <= $2 AND m.role = `+memberAdmin+` AND u.disabled_at IS NULL
		ORDER BY m.account_id, u.email`, func(r *engine.Row) error {
		id := r.ID()
		admins[id] = append(admins[id], r.Text())
		return nil
	}, after, list[len(list)-1].ID)
	for i := range list {
		list[i].Admins = admins[list[i].ID]
	}
	return list, err
}

// OrganizationAccount returns the account of an organization that is not erased.
func (s *Store) OrganizationAccount(ctx context.Context, id warranty.ID) (a Account, err error) {
	err = queryRow(ctx, s.db, `SELECT `+accountColumns+` FROM users u WHERE u.id = $1
		AND u.kind = `+kindOrganization+` AND u.deleted_at IS NULL`,
		func(r *engine.Row) { readAccount(r, &a) }, id)
	return a, err
}

// CountOrganizations counts the organizations that are not erased.
func (s *Store) CountOrganizations(ctx context.Context) (n int64, err error) {
	err = queryRow(ctx, s.db, `SELECT count(*) FROM organizations`, func(r *engine.Row) { n = r.Int() })
	return n, err
}

// hasAdmin selects organizations o that have an enabled admin besides the person $1.
const hasAdmin = `EXISTS (SELECT 1 FROM members x JOIN users p ON p.id = x.user_id
	WHERE x.account_id = o.id AND x.role = ` + memberAdmin + ` AND p.disabled_at IS NULL AND x.user_id <> $1)`

func readNamed(r *engine.Row) warranty.Acting {
	return warranty.Acting{ID: r.ID(), Name: r.Text(), Kind: warranty.OrganizationKind}
}

// Leaderless lists enabled organizations that have no enabled admin, in the order of their ids.
func (s *Store) Leaderless(ctx context.Context, limit int) (list []warranty.Acting, err error) {
	err = s.db.Query(ctx, `SELECT o.id, u.name FROM organizations o JOIN users u ON u.id = o.id
		WHERE u.disabled_at IS NULL AND NOT `+hasAdmin+` ORDER BY o.id LIMIT $2`,
		func(r *engine.Row) error { list = append(list, readNamed(r)); return nil }, warranty.ID{}, limit)
	return list, err
}

// ledOnlyBy lists the enabled organizations whose only enabled admin is the person $1.
const ledOnlyBy = `SELECT o.id, o.name FROM members m JOIN users o ON o.id = m.account_id
	WHERE m.user_id = $1 AND m.role = ` + memberAdmin + ` AND o.disabled_at IS NULL
	AND NOT ` + hasAdmin + ` ORDER BY o.id`

// LedOnlyBy lists the enabled organizations that have no enabled admin besides a person, who is one.
func (s *Store) LedOnlyBy(ctx context.Context, user warranty.ID) (list []warranty.Acting, err error) {
	err = s.db.Query(ctx, ledOnlyBy, func(r *engine.Row) error { list = append(list, readNamed(r)); return nil }, user)
	return list, err
}

// LedOnlyBy lists the enabled organizations that have no enabled admin besides a person, who is one. The person
// and their organizations are locked.
func (t *Tx) LedOnlyBy(user warranty.ID) (list []warranty.Acting, err error) {
	err = t.tx.Query(t.ctx, ledOnlyBy, func(r *engine.Row) error { list = append(list, readNamed(r)); return nil }, user)
	return list, err
}

// OrganizationsOf lists a person's organizations.
func (t *Tx) OrganizationsOf(user warranty.ID) (ids []warranty.ID, err error) {
	err = t.tx.Query(t.ctx, `SELECT account_id FROM members WHERE user_id = $1 AND role > 0 ORDER BY account_id`,
		func(r *engine.Row) error { ids = append(ids, r.ID()); return nil }, user)
	return ids, err
}
