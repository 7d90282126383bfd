package store

import (
	"context"

	"warranty.example/svc/internal/store/engine"
	"warranty.example/svc/internal/store/lists"
	"warranty.example/svc/warranty"
)

// This file is warranty.Claim.Waiting in SQL, on access rows a of claims: status is the status of the claim and
// start_date is Claim.Spoke. Nobody waits for the owner of a log.

const isManaged = `(a.roles & ` + roleOwner + ` = 0
		OR EXISTS (SELECT 1 FROM access l WHERE l.parent_id = a.parent_id AND ` + decides + `))`

// Who wrote last in the current status, where that changes who is waited for.
const (
	underReview     = `a.status = ` + claimUnderReview
	spokeInReview   = claimUnderReview + sideBusiness
	businessWrote   = underReview + ` AND a.start_date = ` + spokeInReview
	ownerWroteAfter = `a.status = ` + claimApproved + ` AND a.start_date = ` + claimApproved + sideOwner + `
		OR a.status = ` + claimInProgress + ` AND a.start_date = ` + claimInProgress + sideOwner
)

// waitingFor selects the claims that wait for a side.
var waitingFor = map[warranty.ClaimSide]string{
	warranty.OwnerSide: `(a.status = ` + claimInfoRequested + ` OR ` + businessWrote + `) AND ` + isManaged,
	warranty.BusinessSide: `(a.status = ` + claimSubmitted + `
		OR ` + underReview + ` AND a.start_date <> ` + spokeInReview + `
		OR ` + ownerWroteAfter + `) AND ` + isManaged,
}

// openClaims has the condition of the index access_open.
const openClaims = `a.kind = ` + kindClaim + ` AND a.status IN (` + claimSubmitted + `, ` + claimUnderReview + `, ` +
	claimInfoRequested + `, ` + claimApproved + `, ` + claimInProgress + `)`

// waitsForOther selects the claims that wait for the other side.
var waitsForOther = `(` + ownsNot + ` AND ` + waitingFor[warranty.OwnerSide] +
	` OR ` + owns + ` AND ` + waitingFor[warranty.BusinessSide] + `)`

// queues are the conditions of the queues of open claims.
var queues = map[warranty.ClaimQueue]string{
	warranty.WaitingForUs:   waitsForMe,
	warranty.WaitingForThem: waitsForOther,
	warranty.WorkInProgress: `NOT ` + waitsForMe + ` AND NOT ` + waitsForOther,
}

// waitsForMe selects the claims that wait for the account of the access row. The two parts use an index each,
// because the accounts are listed on every page.
const (
	waitsForMe = `(` + waiting + ` OR ` + waitingSpoke + `)`
	owns       = `a.roles & ` + roleOwner + ` = ` + roleOwner
	ownsNot    = `a.roles & ` + roleOwner + ` = 0`
	// waiting has the condition of the index access_waiting. An approved claim is in the index, but does not wait.
	waiting = `a.kind = ` + kindClaim + `
		AND (a.status IN (` + claimSubmitted + `, ` + claimUnderReview + `, ` + claimApproved + `) AND ` + ownsNot + `
			OR a.status = ` + claimInfoRequested + ` AND ` + owns + `)
		AND a.status <> ` + claimApproved + ` AND NOT (` + businessWrote + `) AND ` + isManaged
	// waitingSpoke has the condition of the index access_spoke.
	waitingSpoke = `a.kind = ` + kindClaim + ` AND a.start_date > 0
		AND (` + businessWrote + ` AND ` + owns + ` OR (` + ownerWroteAfter + `) AND ` + ownsNot + `) AND ` + isManaged
)

// ClaimCounts counts the claims of an account by queue. person is who asks.
func (s *Store) ClaimCounts(ctx context.Context, account, person warranty.ID) (n warranty.ClaimCounts, err error) {
	err = s.db.Query(ctx, `SELECT w.queue, count(*), count(CASE WHEN w.assignee = $2 THEN 1 END),
			count(CASE WHEN w.assignee IS NULL THEN 1 END), count(CASE WHEN w.replied = 1 THEN 1 END), min(w.since)
		FROM (SELECT CASE WHEN `+waitsForMe+` THEN 1 WHEN `+waitsForOther+` THEN 3 ELSE 2 END AS queue,
				CASE WHEN a.start_date = a.status * 10 + 1 + (a.roles & `+roleOwner+`) THEN 1 ELSE 0 END AS replied,
				x.user_id AS assignee, `+waitingSince+` AS since
			FROM access a JOIN claims c ON c.id = a.item_id
			LEFT JOIN claim_assignees x ON x.claim_id = a.item_id AND x.account_id = a.user_id
			WHERE a.user_id = $1 AND `+openClaims+`) w GROUP BY w.queue`, func(r *engine.Row) error {
		queue, count := r.Int(), r.Int()
		switch queue {
		case 1:
			n.WaitingForUs, n.Mine, n.Unassigned, n.Replied = count, r.Int(), r.Int(), r.Int()
			oldest := r.Time()
			n.Oldest = &oldest
		case 2:
			n.InProgress = count
		case 3:
			n.WaitingForThem = count
		}
		return nil
	}, account, person)
	if err != nil {
		return n, err
	}
	_, n.Done, err = s.Claims(ctx, account, person, warranty.ListClaims{
		Paging: warranty.Paging{Page: 1, Limit: 1}, Queue: warranty.WorkDone,
	})
	return n, err
}

// mostWaiting limits how many claims of each kind WaitingClaims looks at: of more, it takes some.
const mostWaiting = 1000

// WaitingClaims lists the claims that wait for the user longest.
func (s *Store) WaitingClaims(ctx context.Context, user warranty.ID, limit int) (list []warranty.Claim, err error) {
	err = s.db.Query(ctx, `SELECT `+claimColumns+` FROM (
			SELECT * FROM (SELECT a.item_id, a.user_id, a.roles FROM access a /*sqlite: INDEXED BY access_waiting */
				WHERE a.user_id = $1 AND `+waiting+` ORDER BY a.status, a.roles LIMIT $3) w
			UNION ALL SELECT * FROM (SELECT a.item_id, a.user_id, a.roles FROM access a /*sqlite: INDEXED BY access_spoke */
				WHERE a.user_id = $1 AND `+waitingSpoke+` ORDER BY a.status, a.roles LIMIT $3) s) a
		`+lists.JoinClaim+` ORDER BY c.updated_at, c.id LIMIT $2`,
		func(r *engine.Row) error { list = append(list, readClaim(r)); return nil }, user, limit, mostWaiting)
	return list, err
}
