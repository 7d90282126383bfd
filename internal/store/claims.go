package store

import (
	"context"

	"warranty.example/svc/internal/find"
	"warranty.example/svc/internal/store/engine"
	"warranty.example/svc/internal/store/lists"
	"warranty.example/svc/warranty"
)

const claimColumns = `c.id, c.claim_number, c.warranty_id, w.reference, w.product_name, c.type,
	` + lists.ClaimDescription + `, c.incident_date, c.status, c.status_reason, c.resolution,
	CASE WHEN ` + lists.EarlierClaim + ` THEN NULL ELSE c.resolution_note END, c.replacement_serial_number,
	c.created_at, c.updated_at, c.resolved_at, c.spoke, ` + waitingSince + `, a.roles, CASE WHEN EXISTS (SELECT 1
		FROM access l WHERE l.parent_id = c.warranty_id AND ` + decides + `)
		THEN ` + managedByBusiness + ` ELSE ` + managedByOwner + ` END`

// decides selects the access rows l of who can decide the claims on a warranty: confirmed sellers, and
// issuers that do not own it.
const decides = `l.kind = ` + kindWarranty + ` AND (l.roles & ` + roleSeller + ` <> 0
	OR l.roles & ` + rolesOwnerIssuer + ` = ` + roleIssuer + `)`

func readClaim(r *engine.Row) warranty.Claim {
	c := warranty.Claim{
		ID:                      r.ID(),
		ClaimNumber:             warranty.Reference(r.Text()),
		Warranty:                readName(r),
		Type:                    enum[warranty.ClaimType](r),
		Description:             r.Text(),
		IncidentDate:            r.Date(),
		Status:                  enum[warranty.ClaimStatus](r),
		StatusReason:            r.OptionalText(),
		Resolution:              optionalEnum[warranty.Resolution](r),
		ResolutionNote:          r.OptionalText(),
		ReplacementSerialNumber: r.OptionalText(),
		CreatedAt:               r.Time(),
		UpdatedAt:               r.Time(),
		ResolvedAt:              r.OptionalTime(),
		Spoke:                   r.Int(),
		Since:                   r.Time(),
		Roles:                   warranty.RolesOf(r.Int()),
		ManagedBy:               enum[warranty.ManagedBy](r),
	}
	c.WarrantyID, c.WaitingFor = c.Warranty.ID, c.Waiting()
	return c
}

// waitingSince is since when the claim c waits; see the migration.
const waitingSince = `CASE WHEN c.waiting_since = 0 THEN c.updated_at ELSE c.waiting_since END`

// readName reads the id, reference and product name of a warranty.
func readName(r *engine.Row) warranty.WarrantyName {
	return warranty.WarrantyName{
		ID:              r.ID(),
		ReferenceNumber: warranty.Reference(r.Text()),
		ProductName:     r.Text(),
	}
}

// Claim returns a claim that the user has access to.
func (s *Store) Claim(ctx context.Context, user warranty.ID, k warranty.ClaimKey) (warranty.Claim, error) {
	return claim(ctx, s.db, user, k)
}

func claim(
	ctx context.Context, q engine.Querier, user warranty.ID, k warranty.ClaimKey,
) (c warranty.Claim, err error) {
	const read = `SELECT ` + claimColumns + fromClaim
	sql, key := keyed(k, read+byItem, read+byNumber)
	err = queryRow(ctx, q, sql, func(r *engine.Row) { c = readClaim(r) }, user, key)
	return c, err
}

const (
	fromClaim = ` FROM access a JOIN claims c ON c.id = a.item_id JOIN warranties w ON w.id = c.warranty_id
		WHERE a.user_id = $1 AND a.kind = ` + kindClaim
	byNumber = ` AND c.claim_number = $2`
)

// Claims lists the claims that the account has access to and that match in, and returns their total. person is who asks.
func (s *Store) Claims(
	ctx context.Context, account, person warranty.ID, in warranty.ListClaims,
) ([]warranty.Claim, int64, error) {
	l, question, err := s.claimList(account, person, in)
	if err != nil {
		return nil, 0, err
	}
	indexed, err := s.lists.Answers(ctx, l)
	if err != nil {
		return nil, 0, err
	}
	if !indexed {
		if q, ok, err := s.queueList(account, person, in); ok || err != nil {
			if err != nil {
				return nil, 0, err
			}
			return q.page(ctx, s.db, in.Paging)
		}
	}
	if in.Q != "" || question.Customer != nil || question.Sort != "" {
		return lists.Search(ctx, s.lists, l, question, in.Paging, claimShape)
	}
	return lists.Page(ctx, s.lists, l, func() *find.Question { return question }, in.Paging, claimShape)
}

// ClaimPlace finds a claim in the list that Claims returns pages of.
func (s *Store) ClaimPlace(
	ctx context.Context, account, person warranty.ID, in warranty.ListClaims, id warranty.ID,
) (warranty.Place, error) {
	l, question, err := s.claimList(account, person, in)
	if err != nil {
		return warranty.Place{}, err
	}
	indexed, err := s.lists.Answers(ctx, l)
	if err != nil {
		return warranty.Place{}, err
	}
	if !indexed {
		if q, ok, err := s.queueList(account, person, in); ok || err != nil {
			if err != nil {
				return warranty.Place{}, err
			}
			return q.place(ctx, s.db, id)
		}
	}
	return s.lists.Place(ctx, l, question, id)
}

// claimList returns the list of claims that match in, but for what is searched by words, and the question that selects them.
func (s *Store) claimList(account, person warranty.ID, in warranty.ListClaims) (*lists.List, *find.Question, error) {
	l, question := lists.Of(account, lists.Claims), childQuestion(in.Q, in.Status)
	l.OfWarranty(in.WarrantyID)
	narrowToCustomer(l, in.Customer)
	question.Customer, question.Sort = find.NewCustomer(in.Customer), claimSorts[in.Sort]
	assignee, err := in.AssigneeOf(person)
	if err != nil {
		return nil, nil, err
	}
	question.Claims = find.ClaimFilter{Queue: in.Queue, For: in.WaitingFor, Replied: in.Replied, Assignee: assignee}
	if in.Status != "" {
		l.And(`a.status = ?`, in.Status)
	}
	if in.Queue != "" {
		l.And(`a.queue = ` + queues[in.Queue])
	}
	if in.WaitingFor != "" {
		l.And(waitingFor[in.WaitingFor])
	}
	if in.Replied {
		l.And(hasReplied)
	}
	switch {
	case assignee == nil:
	case assignee.IsZero():
		l.And(`a.assignee IS NULL`)
	default:
		l.And(`a.assignee = ?`, *assignee)
	}
	if in.Age != nil {
		by := s.Now().AddDate(0, 0, -*in.Age)
		question.Claims.WaitsBy = by.UnixMicro()
		l.And(`a.queue < `+queueDone+` AND a.queued_at <= ?`, by)
	}
	if in.UpdatedSince != nil {
		question.Claims.ChangedFrom = in.UpdatedSince.UnixMicro()
		l.And(`EXISTS (SELECT 1 FROM claims u WHERE u.id = a.item_id AND u.updated_at >= ?)`, *in.UpdatedSince)
	}
	return l, question, nil
}

// childQuestion is a question about claims or documents.
func childQuestion(q string, status warranty.ClaimStatus) *find.Question {
	question := &find.Question{Category: status.String()}
	if q != "" {
		query := find.NewQuery(q)
		question.Query = &query
	}
	return question
}

var claimShape = &lists.Shape[warranty.Claim]{
	Columns: claimColumns,
	Joins:   lists.JoinClaim,
	Read:    readClaim,
	ID:      func(c warranty.Claim) warranty.ID { return c.ID },
	More:    lists.ClaimColumns,
	Record:  lists.ClaimRecord,
}

// claimSorts are the orders of claims besides newest first.
var claimSorts = map[warranty.ClaimSort]warranty.WarrantySort{
	warranty.ClaimsByWaiting:       find.ByWaiting,
	warranty.ClaimsByUpdatedAt:     warranty.ByUpdatedAt,
	warranty.ClaimsByUpdatedAtDesc: warranty.ByUpdatedAtDesc,
}

// ownerNow is the owner of the warranty $3.
const ownerNow = `(SELECT o.user_id FROM access o WHERE o.parent_id = $3
		AND o.kind = ` + kindWarranty + ` AND o.roles & ` + roleOwner + ` <> 0)`

// InsertClaim adds a claim of a customer on a locked warranty. Everyone with access to the warranty gets access
// to it.
func (t *Tx) InsertClaim(c warranty.Claim, customer warranty.ID) error {
	if err := t.later(`INSERT INTO claims (id, claim_number, warranty_id, type, description, incident_date, status,
			created_at, updated_at, customer_id, owner_id, waiting_since)
		VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, `+ownerNow+`, $8)`,
		c.ID, c.ClaimNumber, c.WarrantyID, c.Type, c.Description, c.IncidentDate, c.Status,
		c.CreatedAt, c.UpdatedAt, customer); err != nil {
		return err
	}
	return t.grantClaim(c)
}

// ManagedBy returns who decides the claims on a locked warranty.
func (t *Tx) ManagedBy(id warranty.ID) (by warranty.ManagedBy, err error) {
	by = warranty.ManagedByOwner
	err = t.tx.Query(t.ctx, `SELECT 1 FROM access l WHERE l.parent_id = $1 AND `+decides+` LIMIT 1`,
		func(*engine.Row) error { by = warranty.ManagedByBusiness; return nil }, id)
	return by, err
}

// LockClaim returns a claim that the user has access to and the user's roles on its warranty. The claim
// and its warranty are locked until the transaction ends.
func (t *Tx) LockClaim(user warranty.ID, k warranty.ClaimKey) (
	c warranty.Claim, roles warranty.Roles, err error,
) {
	const lock = `SELECT 1` + fromClaim
	sql, key := keyed(k, lock+byItem+` /*pg: FOR UPDATE OF w */`, lock+byNumber+` /*pg: FOR UPDATE OF w */`)
	if err = t.exactlyOne(sql, user, key); err != nil {
		return c, roles, err
	}
	return claimWithRoles(t.ctx, t.tx, user, k)
}

// ClaimWithRoles returns a claim that the user has access to and the user's roles on its warranty.
func (s *Store) ClaimWithRoles(ctx context.Context, user warranty.ID, k warranty.ClaimKey) (
	c warranty.Claim, roles warranty.Roles, err error,
) {
	return claimWithRoles(ctx, s.db, user, k)
}

func claimWithRoles(ctx context.Context, q engine.Querier, user warranty.ID, k warranty.ClaimKey) (
	warranty.Claim, warranty.Roles, error,
) {
	c, err := claim(ctx, q, user, k)
	return c, c.Roles, err
}

// UpdateClaim updates a locked claim whose status was from.
func (t *Tx) UpdateClaim(c warranty.Claim, from warranty.ClaimStatus) error {
	if err := t.exactlyOne(`UPDATE claims SET status = $3, status_reason = $4, resolution = $5, resolution_note = $6,
			replacement_serial_number = $7, updated_at = $8, resolved_at = $9, spoke = $10, waiting_since = $11
			WHERE id = $1 AND status = $2`,
		c.ID, from, c.Status, c.StatusReason, c.Resolution, c.ResolutionNote,
		c.ReplacementSerialNumber, c.UpdatedAt, c.ResolvedAt, c.Spoke, c.Since); err != nil {
		return err
	}
	if err := t.syncClaim(c); err != nil {
		return err
	}
	return t.touchClaimant(c.ID, c.UpdatedAt)
}
