package store

import (
	"context"
	"strings"

	"warranty.example/svc/internal/store/engine"
	"warranty.example/svc/internal/store/lists"
	"warranty.example/svc/warranty"
)

// This file is warranty.Claim.QueueFor in SQL, on access rows a of claims: status is the status of the claim and
// start_date is Claim.Spoke. Nobody waits for the owner of a log. Access rows repeat the queue (ADR 64), so that pages and
// counts read one index.

const isManaged = `(a.roles & ` + roleOwner + ` = 0
		OR EXISTS (SELECT 1 FROM access l WHERE l.parent_id = a.parent_id AND ` + decides + `))`

// Which side a managed claim waits for, also by who wrote last in the current status.
const (
	underReview   = `a.status = ` + claimUnderReview
	businessWrote = underReview + ` AND a.start_date = ` + claimUnderReview + sideBusiness
	waitsForOwner = `(a.status = ` + claimInfoRequested + ` OR ` + businessWrote + `)`
	// waitsForBusiness is read after waitsForOwner.
	waitsForBusiness = `(a.status IN (` + claimSubmitted + `, ` + claimUnderReview + `)
		OR a.status = ` + claimApproved + ` AND a.start_date = ` + claimApproved + sideOwner + `
		OR a.status = ` + claimInProgress + ` AND a.start_date = ` + claimInProgress + sideOwner + `)`
)

// The sides of the account of an access row.
const (
	owns    = `a.roles & ` + roleOwner + ` = ` + roleOwner
	ownsNot = `a.roles & ` + roleOwner + ` = 0`
)

// isOpen selects open claims.
const isOpen = `a.status IN (` + claimSubmitted + `, ` + claimUnderReview + `, ` + claimInfoRequested + `, ` +
	claimApproved + `, ` + claimInProgress + `)`

// queueOf is the queue of a claim, computed.
const queueOf = `CASE WHEN NOT ` + isOpen + ` THEN ` + queueDone + ` WHEN NOT ` + isManaged + ` THEN ` + queueInProgress + `
	WHEN ` + waitsForOwner + ` THEN CASE WHEN ` + owns + ` THEN ` + queueForUs + ` ELSE ` + queueForThem + ` END
	WHEN ` + waitsForBusiness + ` THEN CASE WHEN ` + owns + ` THEN ` + queueForThem + ` ELSE ` + queueForUs + ` END
	ELSE ` + queueInProgress + ` END`

// The other columns of the queue, computed; see the migration. queuedAs has the expression of the index access_to_queue.
const (
	queuedAt = `(SELECT CASE WHEN ` + isOpen + ` THEN ` + waitingSince + ` ELSE c.updated_at END FROM claims c WHERE c.id = a.item_id)`
	queuedAs = `1000 * a.status + 8 * a.start_date + a.roles`
	assignee = `(SELECT x.user_id FROM claim_assignees x WHERE x.claim_id = a.item_id AND x.account_id = a.user_id)`
)

// queueColumns are the columns of queueValues.
const (
	queueColumns = `queue, queued_at, queued_as, assignee`
	queueValues  = queueOf + `, ` + queuedAt + `, ` + queuedAs + `, ` + assignee
	setQueue     = `queue = ` + queueOf + `, queued_at = ` + queuedAt + `, queued_as = ` + queuedAs + `, assignee = ` + assignee
)

// outOfQueue selects the access rows of claims whose queue is not the stored one.
const outOfQueue = `a.kind = ` + kindClaim + ` AND (a.queue <> ` + queueOf + ` OR a.queued_at <> ` + queuedAt + `
	OR a.queued_as <> ` + queuedAs + ` OR a.assignee IS DISTINCT FROM ` + assignee + `)`

// queueClaims stores the queue of the claims of a locked warranty, after roles on it changed.
func (t *Tx) queueClaims(id warranty.ID) error {
	return t.later(`UPDATE access AS a SET `+setQueue+` WHERE a.parent_id = $1 AND `+outOfQueue, id)
}

// WarrantiesToQueue lists some warranties with claims that an earlier release filed or changed.
func (s *Store) WarrantiesToQueue(ctx context.Context, limit int) (ids []warranty.ID, err error) {
	err = s.db.Query(ctx, `SELECT DISTINCT a.parent_id FROM access a /*sqlite: INDEXED BY access_to_queue */
		WHERE a.kind = `+kindClaim+` AND a.queued_as <> `+queuedAs+` LIMIT $1`,
		func(r *engine.Row) error { ids = append(ids, r.ID()); return nil }, limit)
	return ids, err
}

// QueueClaims stores the queue of the claims of a warranty.
func (t *Tx) QueueClaims(id warranty.ID) error {
	if err := t.tx.Query(t.ctx, `SELECT 1 FROM warranties WHERE id = $1 /*pg: FOR UPDATE */`,
		func(*engine.Row) error { return nil }, id); err != nil {
		return err
	}
	if err := t.queueClaims(id); err != nil {
		return err
	}
	return lists.NoteWarranty(t.ctx, t.tx, id)
}

// queues are the stored numbers of queues.
var queues = map[warranty.ClaimQueue]string{
	warranty.WaitingForUs:   queueForUs,
	warranty.WorkInProgress: queueInProgress,
	warranty.WaitingForThem: queueForThem,
	warranty.WorkDone:       queueDone,
}

// waitingFor selects the claims that wait for a side.
var waitingFor = map[warranty.ClaimSide]string{
	warranty.OwnerSide: `a.queue = ` + queueForUs + ` AND ` + owns + ` OR a.queue = ` + queueForThem + ` AND ` + ownsNot,
	warranty.BusinessSide: `a.queue = ` + queueForUs + ` AND ` + ownsNot + `
		OR a.queue = ` + queueForThem + ` AND ` + owns,
}

// hasReplied selects the claims in which the other side wrote last.
const hasReplied = `a.start_date = a.status * 10 + 1 + (a.roles & ` + roleOwner + `)`

// inQueues selects access rows a of claims by their queue, from the index of queues.
const inQueues = `access a /*sqlite: INDEXED BY access_queue */ WHERE a.kind = ` + kindClaim + ` AND a.user_id = `

// ClaimCounts counts the claims of an account by queue. person is who asks.
func (s *Store) ClaimCounts(ctx context.Context, account, person warranty.ID) (n warranty.ClaimCounts, err error) {
	found, err := s.lists.Totals(ctx, lists.Key{User: account, Kind: lists.Claims}, func(l *lists.Snapshot) (err error) {
		n, err = l.CountClaims(person)
		return err
	})
	if found || err != nil {
		return n, err
	}
	err = s.db.Query(ctx, `SELECT CAST(a.queue AS TEXT), count(*), count(CASE WHEN a.assignee = $2 THEN 1 END),
			count(*) - count(a.assignee), count(CASE WHEN `+hasReplied+` THEN 1 END), min(a.queued_at)
		FROM `+inQueues+`$1 GROUP BY a.queue`, func(r *engine.Row) error {
		switch queue, count := r.Text(), r.Int(); queue {
		case queueForUs:
			n.WaitingForUs, n.Mine, n.Unassigned, n.Replied = count, r.Int(), r.Int(), r.Int()
			oldest := r.Time()
			n.Oldest = &oldest
		case queueInProgress:
			n.InProgress = count
		case queueForThem:
			n.WaitingForThem = count
		case queueDone:
			n.Done = count
		}
		return nil
	}, account, person)
	return n, err
}

// WaitingClaims lists the claims that wait for the user longest.
func (s *Store) WaitingClaims(ctx context.Context, user warranty.ID, limit int) (list []warranty.Claim, err error) {
	err = s.db.Query(ctx, `SELECT `+claimColumns+` FROM (SELECT a.item_id, a.user_id, a.roles FROM `+inQueues+`$1
			AND a.queue = `+queueForUs+` ORDER BY a.queued_at, a.item_id LIMIT $2) a `+lists.JoinClaim+`
		ORDER BY `+queuedFirst, func(r *engine.Row) error { list = append(list, readClaim(r)); return nil }, user, limit)
	return list, err
}

// queuedFirst is the order of a queue, on claims c: those that wait longest first.
const queuedFirst = waitingSince + `, c.id`

// with replaces columns of the access row a in SQL.
func with(sql string, columns ...string) string {
	for i := 0; i < len(columns); i += 2 {
		sql = strings.ReplaceAll(sql, `a.`+columns[i], columns[i+1])
	}
	return sql
}
