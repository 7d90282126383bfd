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

// waitingFor selects the claims that wait for a side.
var waitingFor = map[warranty.ClaimSide]string{
	warranty.OwnerSide: `(a.status = 3 OR a.status = 2 AND a.start_date = 22) AND ` + isManaged,
	warranty.BusinessSide: `(a.status = 1 OR a.status = 2 AND a.start_date <> 22
		OR a.status = 4 AND a.start_date = 41 OR a.status = 6 AND a.start_date = 61) AND ` + isManaged,
}

// waitsForMe selects the claims that wait for the account of the access row. The two parts use an index each,
// because the accounts are listed on every page.
const (
	waitsForMe = `(` + waiting + ` OR ` + waitingSpoke + `)`
	// waiting has the condition of the index access_waiting. An approved claim is in the index, but does not wait.
	waiting = `a.kind = ` + kindClaim + ` AND (a.status IN (1, 2, 4) AND a.roles & ` + roleOwner + ` = 0 OR a.status = 3
			AND a.roles & ` + roleOwner + ` = ` + roleOwner + `)
		AND a.status <> 4 AND NOT (a.status = 2 AND a.start_date = 22) AND ` + isManaged
	// waitingSpoke has the condition of the index access_spoke.
	waitingSpoke = `a.kind = ` + kindClaim + ` AND a.start_date > 0
		AND (a.status = 2 AND a.start_date = 22 AND a.roles & ` + roleOwner + ` = ` + roleOwner + `
		OR (a.status = 4 AND a.start_date = 41 OR a.status = 6 AND a.start_date = 61)
		AND a.roles & ` + roleOwner + ` = 0) AND ` + isManaged
)

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
