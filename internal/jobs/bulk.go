package jobs

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"

	"warranty.example/svc/warranty"
)

// Actions on many warranties.
const (
	SetCategory = "category"
	Void        = "void"
	Cancel      = "cancelled"
	HandOver    = "handover"
	Delete      = "delete"
	Restore     = "restore" // what Delete deleted
)

// Bulk is an action on many warranties.
type Bulk struct {
	Action string        `json:"action"`
	Value  string        `json:"value"` // the category, the reason or the address
	IDs    []warranty.ID `json:"ids"`
}

// BulkResult is the progress and the result of an action on many warranties.
type BulkResult struct {
	Action  string        `json:"action"`
	Changed int64         `json:"changed"`
	Groups  []BulkGroup   `json:"groups"`
	Skipped []warranty.ID `json:"skipped"`
	// Deleted are the warranties that were deleted so far.
	Deleted []warranty.ID `json:"deleted,omitempty"`
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
)

// Limits of the reasons in a result.
const (
	shownGroups     = 100
	shownReferences = 10
)

// skip notes a warranty that was not changed.
func (r *BulkResult) skip(id warranty.ID, reference, reason string, text warranty.Text) {
	r.Skipped = append(r.Skipped, id)
	message := text.String()
	for i := range r.Groups {
		if g := &r.Groups[i]; g.Reason == reason && g.Message == message {
			if g.Count++; len(g.References) < shownReferences && reference != "" {
				g.References = append(g.References, reference)
			}
			return
		}
	}
	if len(r.Groups) < shownGroups {
		g := BulkGroup{Reason: reason, Message: message, Parts: text.Parts(), Count: 1, References: []string{}}
		if reference != "" {
			g.References = append(g.References, reference)
		}
		r.Groups = append(r.Groups, g)
	}
}

// runBulk performs a job that changes warranties. It continues where an interrupted one has stored its progress; a
// change that was made before is made again without effect.
func (js *Jobs) runBulk(ctx context.Context, p warranty.Principal, j *warranty.Job, save func() error) error {
	var in Bulk
	result := BulkResult{Groups: []BulkGroup{}, Skipped: []warranty.ID{}}
	if err := json.Unmarshal([]byte(j.Input), &in); err != nil {
		return err
	}
	if j.Result != "" {
		if err := json.Unmarshal([]byte(j.Result), &result); err != nil {
			return err
		}
	}
	result.Action = in.Action
	store := func() error {
		text, err := json.Marshal(result)
		j.Result = string(text)
		return err
	}
	for i := int(j.Done); i < len(in.IDs); i++ {
		id := in.IDs[i]
		err := js.change(ctx, p, in, id)
		refusal := new(warranty.Error)
		switch {
		case err == nil, j.Attempts > 1 && errors.Is(err, warranty.ErrNotFound): // changed before an interruption
			if result.Changed++; in.Action == Delete {
				result.Deleted = append(result.Deleted, id)
			}
		case errors.As(err, &refusal) && refusal.Code.Info().Status < http.StatusInternalServerError &&
			refusal.Code != warranty.RateLimited && refusal.Code != warranty.SessionExpired:
			reason, text := whySkipped(in.Action, refusal)
			result.skip(id, js.referenceOf(ctx, p, id), reason, text)
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

// change performs an action on one warranty.
func (js *Jobs) change(ctx context.Context, p warranty.Principal, in Bulk, id warranty.ID) (err error) {
	key := warranty.WarrantyKey{ID: id}
	switch in.Action {
	case SetCategory:
		_, err = js.Service.UpdateWarranty(ctx, p, warranty.UpdateWarranty{ID: key, Category: &in.Value})
	case Void, Cancel:
		status := warranty.Status(in.Action)
		_, err = js.Service.UpdateWarranty(ctx, p, warranty.UpdateWarranty{ID: key, Status: &status, StatusReason: in.Value})
	case HandOver:
		_, err = js.Service.OfferHandover(ctx, p, warranty.OfferHandover{ID: key, CustomerEmail: in.Value})
	case Delete:
		_, err = js.Service.DeleteWarranty(ctx, p, warranty.DeleteWarranty{ID: key})
	case Restore:
		_, err = js.Service.RestoreWarranty(ctx, p, warranty.RestoreWarranty{ID: key})
	default:
		err = fmt.Errorf("unknown action %q", in.Action)
	}
	return err
}

// whySkipped returns why a warranty was not changed, in words that several warranties can share.
func whySkipped(action string, refusal *warranty.Error) (reason string, text warranty.Text) {
	switch {
	case action == Delete && refusal.Code == warranty.InUse:
		return OpenClaim, text
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
