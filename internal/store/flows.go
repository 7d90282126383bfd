package store

import (
	"context"
	"slices"
	"time"

	"warranty.example/svc/internal/store/engine"
	"warranty.example/svc/warranty"
)

// FlowKind is what a sign-in that is not complete waits for.
type FlowKind uint8

// The kinds. They are stored, so new ones must go at the end.
const (
	FlowSecondStep  FlowKind = iota + 1 // the second step, after a right first one
	FlowEmailedCode                     // six digits that were emailed
	FlowProvider                        // the answer of a provider
	FlowLink                            // the proof of the account that an identity is to be linked to
	FlowRestore                         // the decision to take back the deletion of the account
)

// Flow is a sign-in that is not complete. It is not a session: nothing but continuing it accepts its secret.
type Flow struct {
	Hash    warranty.Hash  // of the secret that continues it
	Browser *warranty.Hash // of the cookie of the browser that began it, or nil for programs
	Kind    FlowKind
	User    *warranty.ID // who would be signed in, if that is known
	// State is what continuing needs, as JSON. It must be sealed if it contains secrets.
	State   []byte
	Created time.Time
	Expires time.Time
}

// InsertFlow adds a flow. If it has a user, the account must be locked.
func (t *Tx) InsertFlow(f Flow) error {
	return t.later(`INSERT INTO sign_in_flows (flow_hash, kind, browser_hash, user_id, state, tries, created_at, expires_at)
		VALUES ($1, $2, $3, $4, $5, 0, $6, $7)`,
		f.Hash, int(f.Kind), f.Browser, f.User, f.State, f.Created, f.Expires)
}

// Flow returns a flow of a kind by the hash of its secret, if it has not expired and was begun by the same browser, or
// by a program if browser is nil.
func (s *Store) Flow(
	ctx context.Context, hash warranty.Hash, kind FlowKind, browser *warranty.Hash, now time.Time,
) (f Flow, err error) {
	err = queryRow(ctx, s.db, `SELECT browser_hash, user_id, state, created_at, expires_at FROM sign_in_flows
		WHERE flow_hash = $1 AND kind = $2 AND expires_at > $3`, func(r *engine.Row) {
		f = Flow{Hash: hash, Kind: kind, Browser: optionalHash(r), User: r.OptionalID(), State: slices.Clone(r.Bytes())}
		f.Created, f.Expires = r.Time(), r.Time()
	}, hash, int(kind), now)
	if err == nil && (f.Browser == nil) != (browser == nil) || f.Browser != nil && browser != nil && *f.Browser != *browser {
		return Flow{}, warranty.ErrNotFound
	}
	return f, err
}

func optionalHash(r *engine.Row) *warranty.Hash {
	if r.Null() {
		r.Bytes()
		return nil
	}
	hash := warranty.Hash(r.Bytes())
	return &hash
}

// CountFlowTry counts a try to continue a flow and reports false if it had limit tries before. It belongs in a
// transaction of its own, so that nothing takes the try back.
func (t *Tx) CountFlowTry(hash warranty.Hash, limit int) (bool, error) {
	n, err := t.exec(`UPDATE sign_in_flows SET tries = tries + 1 WHERE flow_hash = $1 AND tries < $2`, hash, limit)
	return n == 1, err
}

// UseFlow ends a flow, whose account is locked. It returns ErrNotFound if it has ended or expired meanwhile.
func (t *Tx) UseFlow(hash warranty.Hash, now time.Time) error {
	n, err := t.exec(`DELETE FROM sign_in_flows WHERE flow_hash = $1 AND expires_at > $2`, hash, now)
	if err == nil && n != 1 {
		err = warranty.ErrNotFound
	}
	return err
}

// DeleteFlows ends all flows that would sign in a locked user.
func (t *Tx) DeleteFlows(user warranty.ID) error {
	return t.later(`DELETE FROM sign_in_flows WHERE user_id = $1`, user)
}

// UseOnce notes that something was used that works once, until its age refuses it anyway. It reports false if it was
// used before. A concurrent transaction waits.
func (t *Tx) UseOnce(hash warranty.Hash, until time.Time) (bool, error) {
	n, err := t.exec(`INSERT INTO used_challenges (challenge_hash, until) VALUES ($1, $2)
		ON CONFLICT (challenge_hash) DO NOTHING`, hash, until)
	return n == 1, err
}

// sweepFlows deletes what its age refuses.
func (t *Tx) sweepFlows(now time.Time) error {
	if err := t.later(`DELETE FROM totp_pending WHERE created_at <= $1`, now.Add(-warranty.TOTPPendingLifetime)); err != nil {
		return err
	}
	for _, sql := range []string{
		`DELETE FROM sign_in_flows WHERE flow_hash IN
			(SELECT flow_hash FROM sign_in_flows WHERE expires_at <= $1 /*pg: FOR UPDATE SKIP LOCKED */)`,
		`DELETE FROM used_challenges WHERE until <= $1`,
	} {
		if err := t.later(sql, now); err != nil {
			return err
		}
	}
	return t.later(`DELETE FROM factor_tries WHERE since <= $1`, now.Add(-longestBudget))
}
