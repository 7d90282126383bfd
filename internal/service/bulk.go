package service

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"time"

	"warranty.example/svc/api"
	"warranty.example/svc/internal/store"
	"warranty.example/svc/warranty"
)

// Actions on many claims are jobs that are done in one transaction, so that they can be undone like the jobs that change
// many warranties (ADR 57). A decision on the page of a claim is one, too, with less time.

// The kinds of jobs that changed claims.
const (
	ClaimsJob   = "claims"
	DecisionJob = "decision"
)

// bulkOperations binds the operations on actions that can be undone.
func (s *Service) bulkOperations() []api.Bound {
	return []api.Bound{
		api.Bind(api.BulkClaims, s.BulkClaims),
		api.Bind(api.GetBulk, s.GetBulk),
		api.Bind(api.UndoBulk, s.UndoBulk),
	}
}

// storedBulk is the result of an action as its job stores it.
type storedBulk struct {
	Action    warranty.ClaimAction `json:"action"`
	UndoUntil time.Time            `json:"undo_until"`
	UndoneAt  *time.Time           `json:"undone_at,omitempty"`
	Items     []storedItem         `json:"items"`
	Typed     warranty.Typed       `json:"typed,omitzero"`
}

// storedItem is the result of one claim. Names are in the history, where they are erased with their account.
type storedItem struct {
	ID      warranty.ID           `json:"id"`
	Outcome warranty.ClaimOutcome `json:"outcome"`
	Code    warranty.Code         `json:"code,omitzero"`
	Why     string                `json:"why,omitzero"`
	Event   *warranty.ID          `json:"event,omitempty"`
	// Owner is who owned the warranty: what is restored was said to them.
	Owner *warranty.ID `json:"owner,omitempty"`
}

// refuse sets why a claim was not changed, or not changed back.
func (i *storedItem) refuse(outcome warranty.ClaimOutcome, refusal *warranty.Error) {
	i.Outcome, i.Code, i.Why = outcome, refusal.Code, refusal.Text().Stored()
	if len(refusal.Fields) > 0 {
		i.Why = refusal.Fields[0].Text().Stored()
	}
}

// errClaimChanged means that someone changed a claim meanwhile.
var errClaimChanged = warranty.Refuse(warranty.PreconditionFailed, "The claim was changed meanwhile.")

// errOwnerChanged means that a claim has another reader than what undoing a change would restore.
var errOwnerChanged = warranty.Refuse(warranty.PreconditionFailed, "The warranty has a new owner.")

// BulkClaims does the same with many claims. What it cannot change is skipped, and the result says why. Its emails wait
// until the action can no longer be undone.
func (s *Service) BulkClaims(
	ctx context.Context, p warranty.Principal, in warranty.BulkClaims,
) (warranty.ClaimBulk, error) {
	if err := in.Check(); err != nil {
		return warranty.ClaimBulk{}, err
	}
	assignee, err := in.Assignee(p.User.ID)
	if err != nil {
		return warranty.ClaimBulk{}, err
	}
	if assignee != nil && !p.ActsForOrganization() {
		return warranty.ClaimBulk{}, errAssigns
	}
	now, out := s.now(), warranty.ClaimBulk{ID: s.NewID()}
	key := in.IdempotencyKey
	in.IdempotencyKey = nil
	out, err = once(s, p, api.BulkClaims.Name, key, in, out, func(replay func(*store.Tx) (bool, error)) error {
		return s.writeMailing(ctx, p, warranty.Member, func(tx *store.Tx, actor *sender) error {
			if done, err := replay(tx); err != nil || done {
				return err
			}
			if assignee != nil && !assignee.IsZero() {
				if err := checkAssignee(tx, p.Account.ID, assignee, "assign_to"); err != nil {
					return err
				}
			}
			b := bulk{s, p, actor, warranty.Job{ID: out.ID, Kind: ClaimsJob}, now, now.Add(warranty.BulkUndo), assignee}
			return b.perform(tx, in)
		})
	})
	s.wakeMail()
	if err != nil {
		return out, err
	}
	replayed := out.Replay
	out, err = s.GetBulk(ctx, p, warranty.GetBulk{ID: out.ID})
	out.Replay = replayed
	return out, err
}

// bulk is an action on claims in a transaction.
type bulk struct {
	*Service
	p        warranty.Principal
	actor    *sender
	job      warranty.Job
	now      time.Time
	until    time.Time
	assignee *warranty.ID // nil to keep it
}

// perform changes claims and stores the job that undoes it. Claims are locked in the order of their ids.
func (b bulk) perform(tx *store.Tx, in warranty.BulkClaims) error {
	result := storedBulk{Action: in.Action, UndoUntil: b.until, Items: make([]storedItem, len(in.Items))}
	result.Typed = warranty.Typed{Message: in.Message, Resolution: in.Resolution, Note: in.ResolutionNote}
	order := make([]int, len(in.Items))
	for i, item := range in.Items {
		order[i], result.Items[i] = i, storedItem{ID: item.ID, Outcome: warranty.ClaimDone}
	}
	slices.SortFunc(order, func(x, y int) int { return slices.Compare(in.Items[x].ID[:], in.Items[y].ID[:]) })
	for _, i := range order {
		event, err := b.changeClaim(tx, in, int64(i))
		refusal := new(warranty.Error)
		if err != nil && (!errors.As(err, &refusal) || refusal.Code.Info().Status >= 500) {
			return err
		}
		item := &result.Items[i]
		if err != nil {
			item.refuse(warranty.ClaimSkipped, refusal)
			item.Event = event
		} else if item.Owner, err = tx.ClaimOwner(item.ID); err != nil {
			return err
		}
	}
	return b.insertJob(tx, result)
}

// insertJob stores the job of an action that was performed.
func (b bulk) insertJob(tx *store.Tx, result storedBulk) error {
	text, err := json.Marshal(result)
	if err != nil {
		return err
	}
	j := b.job
	j.Account, j.User, j.Session = b.p.Account.ID, b.p.User.ID, b.p.CredentialID
	j.Result, j.Total, j.CreatedAt = string(text), int64(len(result.Items)), b.now
	return tx.InsertDoneJob(j)
}

// changeClaim performs an action on one claim, or writes nothing and returns why not, with the event to name if someone
// changed the claim.
func (b bulk) changeClaim(tx *store.Tx, in warranty.BulkClaims, row int64) (event *warranty.ID, err error) {
	item := in.Items[row]
	c, roles, err := tx.LockClaim(b.p.Account.ID, warranty.ClaimKey{ID: item.ID})
	if err == nil {
		err = mayHandle(c, roles)
	}
	if err != nil {
		return nil, err
	}
	if item.UpdatedAt != nil && !item.UpdatedAt.Equal(c.UpdatedAt) {
		if event, err = tx.LatestClaimEvent(c); err == nil {
			err = errClaimChanged
		}
		return event, err
	}
	before, after := warranty.BeforeOf(c), c
	if to := in.Action.Status(); to != "" {
		move := warranty.MoveClaim{Status: to, Resolution: in.Resolution, ResolutionNote: in.ResolutionNote}
		if move.Reason, err = b.fill(tx, c, in.Message); err != nil {
			return nil, err
		}
		if after, err = move.Settle(c, roles, b.now); err != nil {
			return nil, err
		}
		if err := b.move(tx, move, c, after, &before); err != nil {
			return nil, err
		}
	}
	if err := b.assign(tx, c, &before); err != nil {
		return nil, err
	}
	return nil, b.note(tx, row, after, before)
}

// note stores what undoing a change restores.
func (b bulk) note(tx *store.Tx, row int64, after warranty.Claim, before warranty.ClaimBefore) error {
	text, err := json.Marshal(before)
	if err != nil {
		return err
	}
	return tx.InsertJobChange(store.JobChange{
		Job: b.job.ID, Row: row, Record: after.ID, Version: after.UpdatedAt.UnixMicro(), Before: string(text),
	})
}

// fill returns the message to the customer of a locked claim.
func (b bulk) fill(tx *store.Tx, c warranty.Claim, message string) (string, error) {
	if message == "" {
		return "", nil
	}
	customer, err := tx.CustomerOf(c.ID)
	if err != nil {
		return "", err
	}
	c.Customer = customer
	text := warranty.FillReply(message, warranty.ReplyFactsOf(c, b.p))
	if len([]rune(text)) > warranty.MaxMessage {
		return "", warranty.Refuse(warranty.ValidationFailed, "With the names filled in, the message is too long. Shorten it.")
	}
	return text, nil
}

// move writes a status change and notes what waits because of it.
func (b bulk) move(
	tx *store.Tx, in warranty.MoveClaim, c, after warranty.Claim, before *warranty.ClaimBefore,
) (err error) {
	h := &hold{job: b.job.ID, until: b.until}
	if before.Message, err = b.moveClaim(tx, b.p, b.actor, in, c, after, h); err != nil {
		return err
	}
	before.After, before.Mails, before.Digests = after.Status, h.mails, h.digests
	return nil
}

// assign assigns a locked claim.
func (b bulk) assign(tx *store.Tx, c warranty.Claim, before *warranty.ClaimBefore) (err error) {
	if b.assignee == nil {
		return nil
	}
	if before.From, err = tx.AssigneeOf(b.p.Account.ID, c.ID); err != nil {
		return err
	}
	if !b.assignee.IsZero() {
		before.To = b.assignee
	}
	before.Assigned = true
	return tx.AssignClaim(b.p.Account.ID, c.ID, before.To)
}

// DecideClaim is MoveClaim for a business that can undo it for a short time, in which the email waits. It returns the
// action to undo, or nil if files were sent along, which are not taken back.
func (s *Service) DecideClaim(
	ctx context.Context, p warranty.Principal, in warranty.MoveClaim,
) (undo *warranty.ID, err error) {
	if len(in.Documents)+len(in.DocumentIDs) > 0 {
		_, err := s.MoveClaim(ctx, p, in)
		return nil, err
	}
	if err := in.Check(); err != nil {
		return nil, err
	}
	now, id := s.now(), s.NewID()
	err = s.writeMailing(ctx, p, warranty.Member, func(tx *store.Tx, actor *sender) error {
		c, roles, err := tx.LockClaim(p.Account.ID, in.ID)
		if err == nil {
			err = mayHandle(c, roles)
		}
		if err != nil {
			return err
		}
		after, err := in.Apply(c, roles, now)
		if err != nil {
			return err
		}
		b := bulk{s, p, actor, warranty.Job{ID: id, Kind: DecisionJob}, now, now.Add(warranty.DecisionUndo), nil}
		before := warranty.BeforeOf(c)
		before.Typed = warranty.Typed{Message: in.Reason, Resolution: in.Resolution, Note: in.ResolutionNote}
		if err := b.move(tx, in, c, after, &before); err != nil {
			return err
		}
		if err := b.note(tx, 0, after, before); err != nil {
			return err
		}
		result := storedBulk{Action: actionOf(in.Status), UndoUntil: b.until}
		item := storedItem{ID: c.ID, Outcome: warranty.ClaimDone}
		if item.Owner, err = tx.ClaimOwner(c.ID); err != nil {
			return err
		}
		result.Items = []storedItem{item}
		return b.insertJob(tx, result)
	})
	s.wakeMail()
	return &id, err
}

// actionOf returns the action that gives claims a status, or "".
func actionOf(status warranty.ClaimStatus) warranty.ClaimAction {
	for _, name := range warranty.ClaimAction("").Values() {
		if action := warranty.ClaimAction(name); action.Status() == status {
			return action
		}
	}
	return ""
}

// GetBulk returns an action on claims of the principal's account, with its results.
func (s *Service) GetBulk(ctx context.Context, p warranty.Principal, in warranty.GetBulk) (warranty.ClaimBulk, error) {
	j, err := s.Store.Job(ctx, p.Account.ID, in.ID)
	if err != nil {
		return warranty.ClaimBulk{}, err
	}
	return s.claimBulk(ctx, p, j)
}

// claimBulk returns the action of a job.
func (s *Service) claimBulk(ctx context.Context, p warranty.Principal, j warranty.Job) (out warranty.ClaimBulk, err error) {
	stored, err := readBulk(j)
	if err != nil {
		return out, err
	}
	out = warranty.ClaimBulk{
		ID: j.ID, Action: stored.Action, CreatedAt: j.CreatedAt, UndoneAt: stored.UndoneAt,
		Results: []warranty.ClaimBulkResult{}, Single: j.Kind == DecisionJob, Typed: stored.Typed,
	}
	if out.Single {
		if out.Typed, err = s.typed(ctx, j.ID); err != nil {
			return out, err
		}
	}
	ids := make([]warranty.ID, len(stored.Items))
	for i, item := range stored.Items {
		ids[i] = item.ID
	}
	claims, err := s.ClaimsByID(ctx, p, ids)
	if err != nil {
		return out, err
	}
	for _, item := range stored.Items {
		r := warranty.ClaimBulkResult{ClaimID: item.ID, Outcome: item.Outcome}
		if i := slices.IndexFunc(claims, func(c warranty.Claim) bool { return c.ID == item.ID }); i >= 0 {
			r.Claim = &claims[i]
		}
		if item.Code != "" {
			code := item.Code
			r.Why = warranty.ParseText(item.Why)
			detail := r.Why.String()
			r.Code, r.Detail = &code, &detail
		}
		if item.Event != nil && r.Claim != nil {
			if r.Change, err = s.claimChange(ctx, p, *r.Claim, *item.Event); err != nil {
				return out, err
			}
		}
		out.Results = append(out.Results, r)
	}
	if stored.UndoneAt == nil && out.Count(warranty.ClaimDone) > 0 {
		out.UndoUntil = &stored.UndoUntil
	}
	return out, nil
}

// typed returns what was typed for a decision. It is erased with the claim.
func (s *Service) typed(ctx context.Context, job warranty.ID) (warranty.Typed, error) {
	var before warranty.ClaimBefore
	change, err := s.Store.JobChange(ctx, job, 0)
	if errors.Is(err, warranty.ErrNotFound) {
		return before.Typed, nil
	}
	if err == nil {
		err = json.Unmarshal([]byte(change.Before), &before)
	}
	return before.Typed, err
}

// ClaimsByID returns the claims with some ids that the principal can see, in their order, for the web pages.
func (s *Service) ClaimsByID(ctx context.Context, p warranty.Principal, ids []warranty.ID) ([]warranty.Claim, error) {
	list, err := s.Store.ClaimsByID(ctx, p.Account.ID, ids)
	for i := range list {
		s.showClaim(&list[i])
	}
	return list, err
}

// claimChange returns an event of a claim, or nil.
func (s *Service) claimChange(
	ctx context.Context, p warranty.Principal, c warranty.Claim, id warranty.ID,
) (*warranty.ClaimChange, error) {
	events, err := s.Store.ClaimHistory(ctx, p.Account.ID, c)
	for _, e := range events {
		if e.ID == id {
			change := warranty.ChangeOf(e)
			return &change, err
		}
	}
	return nil, err
}

// readBulk returns the result of a job that changed claims; others are not found.
func readBulk(j warranty.Job) (stored storedBulk, err error) {
	if j.Kind != ClaimsJob && j.Kind != DecisionJob {
		return stored, warranty.ErrNotFound
	}
	return stored, json.Unmarshal([]byte(j.Result), &stored)
}

// UndoBulk gives claims back what an action changed, and deletes its emails, which still wait. Claims that were changed
// since are kept, and the result says why.
func (s *Service) UndoBulk(ctx context.Context, p warranty.Principal, in warranty.UndoBulk) (warranty.ClaimBulk, error) {
	now := s.now()
	err := s.writeMailing(ctx, p, warranty.Member, func(tx *store.Tx, actor *sender) error {
		j, err := tx.LockJob(p.Account.ID, in.ID)
		if err != nil {
			return err
		}
		stored, err := readBulk(j)
		if err != nil {
			return err
		}
		if err := p.MayUndo(j.User); err != nil {
			return err
		}
		if stored.UndoneAt != nil {
			return warranty.Refuse(warranty.InvalidTransition, "This was undone before.")
		}
		if !now.Before(stored.UndoUntil) {
			return warranty.Refuse(warranty.InvalidTransition, "It is too late to undo this. The emails were sent.")
		}
		changes, err := tx.JobChanges(j.ID)
		if err != nil {
			return err
		}
		slices.SortFunc(changes, func(x, y store.JobChange) int { return slices.Compare(x.Record[:], y.Record[:]) })
		b := bulk{s, p, actor, j, now, stored.UndoUntil, nil}
		for _, change := range changes {
			item := &stored.Items[change.Row]
			event, err := b.undo(tx, change, item.Owner)
			refusal := new(warranty.Error)
			switch {
			case err == nil:
				item.Outcome = warranty.ClaimUndone
			case errors.As(err, &refusal) && refusal.Code.Info().Status < 500:
				item.refuse(warranty.ClaimKept, refusal)
				item.Event = event
			default:
				return err
			}
		}
		stored.UndoneAt = &now
		text, err := json.Marshal(stored)
		if err != nil {
			return err
		}
		return tx.MarkUndone(j.ID, string(text), now)
	})
	if err != nil {
		return warranty.ClaimBulk{}, err
	}
	return s.GetBulk(ctx, p, warranty.GetBulk(in))
}

// errMailed means that undoing a change would be too late.
var errMailed = warranty.Refuse(warranty.InvalidTransition, "The email was sent.")

// undo gives one claim back what the job changed, or writes nothing and returns why not, with the event to name if someone
// changed the claim. of is who owned the warranty.
func (b bulk) undo(tx *store.Tx, change store.JobChange, of *warranty.ID) (event *warranty.ID, err error) {
	var before warranty.ClaimBefore
	if err := json.Unmarshal([]byte(change.Before), &before); err != nil {
		return nil, err
	}
	c, roles, err := tx.LockClaim(b.p.Account.ID, warranty.ClaimKey{ID: change.Record})
	if err == nil {
		err = mayHandle(c, roles)
	}
	if err != nil {
		return nil, err
	}
	assignee, err := tx.AssigneeOf(b.p.Account.ID, c.ID)
	if err != nil {
		return nil, err
	}
	moved := before.After != ""
	if moved && (c.UpdatedAt.UnixMicro() != change.Version || c.Status != before.After || c.Spoke != 0) {
		if event, err = tx.LatestClaimEvent(c); err == nil {
			err = errClaimChanged
		}
		return event, err
	}
	owner, err := tx.ClaimOwner(c.ID)
	if err != nil {
		return nil, err
	}
	if moved && !sameID(owner, of) {
		return nil, errOwnerChanged
	}
	if before.Assigned && !sameID(assignee, before.To) {
		return nil, warranty.Refuse(warranty.PreconditionFailed, "Someone else assigned the claim meanwhile.")
	}
	at := time.UnixMicro(change.Version).UTC()
	if err := b.dropEmails(tx, c, before, at); err != nil {
		return nil, err
	}
	if moved {
		if err := b.restore(tx, c, before); err != nil {
			return nil, err
		}
	}
	if before.Assigned {
		return nil, tx.AssignClaim(b.p.Account.ID, c.ID, before.From)
	}
	return nil, nil
}

// dropEmails deletes the emails of the job about a locked claim, or none of them if one was sent.
func (b bulk) dropEmails(tx *store.Tx, c warranty.Claim, before warranty.ClaimBefore, at time.Time) error {
	waiting, err := tx.HeldMails(b.job.ID, c.ID)
	if err != nil {
		return err
	}
	if len(waiting) != before.Mails {
		return errMailed
	}
	for account := range before.Digests {
		held, err := tx.HeldDigest(account, c.ID, b.now)
		if err != nil {
			return err
		}
		if !held {
			return errMailed
		}
	}
	by := store.MailSender{Account: b.job.Account, Person: b.job.User}
	for _, id := range waiting {
		if err := tx.DropHeldMail(id, by, at); err != nil {
			return err
		}
	}
	for account, pending := range before.Digests {
		if err := tx.DropHeldDigest(account, c.ID, by, pending); err != nil {
			return err
		}
	}
	return nil
}

// restore gives a locked claim its status back, and takes the message back.
func (b bulk) restore(tx *store.Tx, c warranty.Claim, before warranty.ClaimBefore) error {
	if before.Message != nil {
		if err := tx.DeleteMessage(c.ID, *before.Message); err != nil {
			return err
		}
	}
	if err := tx.UpdateClaim(before.Restore(c, b.now), c.Status); err != nil {
		return err
	}
	from, to := c.Status.String(), before.Status.String()
	return tx.InsertEvent(c.WarrantyID, b.event(b.p, warranty.ClaimChangeUndone, c.ID, b.now,
		warranty.Change{Field: "status", From: &from, To: &to}))
}

func sameID(a, b *warranty.ID) bool { return a == b || a != nil && b != nil && *a == *b }
