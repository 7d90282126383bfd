package jobs

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"

	"warranty.example/svc/internal/service"
	"warranty.example/svc/warranty"
)

// Actions on many warranties.
const (
	SetCategory = "category"
	Void        = "void"
	Cancel      = "cancelled"
	HandOver    = "handover"
	Delete      = "delete"
	Confirm     = "confirm"
	Decline     = "decline"
)

// Decides reports whether an action is on warranties that wait for the account's confirmation.
func Decides(action string) bool { return action == Confirm || action == Decline }

// Bulk is an action on many warranties.
type Bulk struct {
	Action string        `json:"action"`
	Value  string        `json:"value"` // the category, the reason or the address
	IDs    []warranty.ID `json:"ids"`
	Tags   []string      `json:"tags,omitempty"` // the versions that were seen, to confirm or decline
}

// BulkResult is the progress and the result of an action on many warranties.
type BulkResult struct {
	Action  string      `json:"action"`
	Changed int64       `json:"changed"`
	Groups  []BulkGroup `json:"groups"`
	// Kept is why warranties were not changed back when it was undone.
	Kept []BulkGroup `json:"kept,omitempty"`
}

// BulkGroup is why several warranties were not changed: a reason of this package, or the English message of the
// service.
type BulkGroup struct {
	Reason     string   `json:"reason,omitempty"`
	Message    string   `json:"message,omitempty"`
	Count      int      `json:"count"`
	References []string `json:"references"` // the first ones
	// Parts is Message with its arguments apart.
	Parts *warranty.Text `json:"parts,omitempty"`
}

// Text returns the message with its arguments apart, to translate it.
func (g BulkGroup) Text() warranty.Text { return warranty.TextOf(g.Message, g.Parts) }

// Reasons why a warranty was not changed.
const (
	OpenClaim = "open_claim"
	Gone      = "gone"
	Already   = "already"
	Changed   = "changed"   // since the person saw it
	Withdrawn = "withdrawn" // names another seller, or was deleted
)

// Limits of the reasons in a result.
const (
	shownGroups     = 100
	shownReferences = 10
)

// AddTo notes a warranty that was not changed, for a reason that others may share.
func AddTo(groups []BulkGroup, reference, reason string, text warranty.Text) []BulkGroup {
	message := text.String()
	for i := range groups {
		if g := &groups[i]; g.Reason == reason && g.Message == message {
			if g.Count++; len(g.References) < shownReferences && reference != "" {
				g.References = append(g.References, reference)
			}
			return groups
		}
	}
	if len(groups) < shownGroups {
		g := BulkGroup{Reason: reason, Message: message, Parts: text.Parts(), Count: 1, References: []string{}}
		if reference != "" {
			g.References = append(g.References, reference)
		}
		groups = append(groups, g)
	}
	return groups
}

// runBulk performs a job that changes warranties. It continues where an interrupted one has stored its progress, and
// changes nothing twice.
func (js *Jobs) runBulk(ctx context.Context, p warranty.Principal, j *warranty.Job, save func() error) error {
	var in Bulk
	result := BulkResult{Groups: []BulkGroup{}}
	if err := json.Unmarshal([]byte(j.Input), &in); err != nil {
		return err
	}
	if j.Result != "" {
		if err := json.Unmarshal([]byte(j.Result), &result); err != nil {
			return err
		}
	}
	result.Action = in.Action
	changes, err := js.Service.Store.JobChanges(ctx, j.ID)
	if err != nil {
		return err
	}
	before := make(map[int64]bool, len(changes)) // an interruption
	for _, c := range changes {
		before[c.Row] = true
	}
	store := func() error {
		text, err := json.Marshal(result)
		j.Result = string(text)
		return err
	}
	for i := int(j.Done); i < len(in.IDs); i++ {
		id, refusal := in.IDs[i], new(warranty.Error)
		var err error
		if row := int64(i); !before[row] {
			err = js.change(ctx, p, in, id, service.JobRow{Job: j.ID, Row: row})
			if errors.As(err, &refusal) && ofRecord(refusal) {
				if _, missing := js.Service.Store.JobChange(ctx, j.ID, row); missing == nil {
					err = nil // another worker made it
				}
			}
		}
		switch {
		case err == nil:
			result.Changed++
		case errors.As(err, &refusal) && ofRecord(refusal):
			reason, text := WhySkipped(in.Action, refusal)
			result.Groups = AddTo(result.Groups, js.referenceOf(ctx, p, id), reason, text)
		default:
			if noted := store(); noted != nil {
				return noted
			}
			return err // the result is stored with it
		}
		if j.Done = int64(i + 1); j.Done%saveEvery == 0 {
			if err := errors.Join(store(), save()); err != nil {
				return err
			}
		}
	}
	return store()
}

// Stays reports whether an action will leave a warranty as it is, as far as it is known before, and why. claimed means that it
// has an open claim.
func Stays(action, value string, w warranty.Warranty, claimed bool) (reason string, text warranty.Text, stays bool) {
	var err error
	switch action {
	case SetCategory:
		_, err = warranty.UpdateWarranty{Category: &value}.Apply(w)
	case Void, Cancel:
		status := warranty.Status(action)
		if w.Standing == status {
			return Already, text, true
		}
		_, err = warranty.UpdateWarranty{Status: &status}.Apply(w)
	case HandOver:
		err = w.MayHandOver()
	case Delete:
		if err = w.Roles.May(warranty.Delete); err == nil && claimed {
			return OpenClaim, text, true
		}
	}
	if err == nil {
		return "", text, false
	}
	reason, text = WhySkipped(action, warranty.AsError(err))
	return reason, text, true
}

// ofRecord reports whether an error is about one record, so that the others can be changed.
func ofRecord(refusal *warranty.Error) bool {
	return refusal.Code.Info().Status < http.StatusInternalServerError &&
		refusal.Code != warranty.RateLimited && refusal.Code != warranty.SessionExpired
}

// change performs an action on one warranty.
func (js *Jobs) change(ctx context.Context, p warranty.Principal, in Bulk, id warranty.ID, row service.JobRow) error {
	key := warranty.WarrantyKey{ID: id}
	switch in.Action {
	case SetCategory:
		return js.Service.UpdateInJob(ctx, p, warranty.UpdateWarranty{ID: key, Category: &in.Value}, row)
	case Void, Cancel:
		status := warranty.Status(in.Action)
		return js.Service.UpdateInJob(ctx, p, warranty.UpdateWarranty{ID: key, Status: &status, StatusReason: in.Value}, row)
	case HandOver:
		return js.Service.OfferInJob(ctx, p, warranty.OfferHandover{ID: key, CustomerEmail: in.Value}, row)
	case Delete:
		return js.Service.DeleteInJob(ctx, p, warranty.DeleteWarranty{ID: key}, row)
	case Confirm, Decline:
		decision := warranty.DecideConfirmation{ID: key, Decision: warranty.Decision(in.Action), IfMatch: in.Tags[row.Row]}
		return js.Service.DecideInJob(ctx, p, decision, row)
	}
	return fmt.Errorf("unknown action %q", in.Action)
}

// undoBulk gives warranties back what a job changed. What is not changed back, and why, every run counts again.
func (js *Jobs) undoBulk(ctx context.Context, p warranty.Principal, j *warranty.Job, save func() error) error {
	var result BulkResult
	if j.Result != "" {
		if err := json.Unmarshal([]byte(j.Result), &result); err != nil {
			return err
		}
	}
	kept, err := js.undoChanges(ctx, p, j, result.Action, save)
	if err != nil {
		return err
	}
	result.Kept = kept
	text, err := json.Marshal(result)
	j.Result = string(text)
	return err
}

// undoChanges gives warranties back what a job changed, and returns why others stay as they are.
func (js *Jobs) undoChanges(
	ctx context.Context, p warranty.Principal, j *warranty.Job, action string, save func() error,
) (kept []BulkGroup, err error) {
	changes, err := js.Service.Store.JobChanges(ctx, j.ID)
	if err != nil {
		return nil, err
	}
	for _, c := range changes {
		if c.Undone == nil {
			err := js.Service.UndoInJob(ctx, p, c)
			refusal := new(warranty.Error)
			switch {
			case err == nil:
			case errors.As(err, &refusal) && ofRecord(refusal):
				reason, text := WhySkipped(action, refusal)
				kept = AddTo(kept, js.referenceOf(ctx, p, c.Record), reason, text)
			default:
				return nil, err
			}
		}
		if j.Done++; j.Done%saveEvery == 0 {
			if err := save(); err != nil {
				return nil, err
			}
		}
	}
	return kept, nil
}

// WhySkipped returns why a warranty was not changed, in words that several warranties can share.
func WhySkipped(action string, refusal *warranty.Error) (reason string, text warranty.Text) {
	switch {
	case action == Delete && refusal.Code == warranty.InUse:
		return OpenClaim, text
	case Decides(action) && errors.Is(refusal, warranty.ErrChanged):
		return Changed, text
	case Decides(action) && refusal.Code == warranty.NotFound:
		return Withdrawn, text
	case refusal.Code == warranty.NotFound:
		return Gone, text
	case len(refusal.Fields) > 0:
		return "", refusal.Fields[0].Text()
	}
	return "", refusal.Text()
}

func (js *Jobs) referenceOf(ctx context.Context, p warranty.Principal, id warranty.ID) string {
	record, err := js.Service.GetWarranty(ctx, p, warranty.GetWarranty{ID: warranty.WarrantyKey{ID: id}})
	if err != nil {
		return ""
	}
	return string(record.ReferenceNumber)
}
