package web

import (
	"cmp"
	"errors"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"warranty.example/svc/internal/service"
	"warranty.example/svc/internal/web/view"
	"warranty.example/svc/warranty"
)

// This file is about actions on the selected claims of the queue, their results, and undoing them.

// claimBulkForm is the page that lists the selected claims and asks for what an action needs.
type claimBulkForm struct {
	form
	Action      warranty.ClaimAction
	Claims      []warranty.Claim
	Checked     map[warranty.ID]bool
	Query       url.Values // of the list
	Replies     []warranty.SavedReply
	Assignable  []warranty.Assignee
	Resolutions []string
	Message     string
	Example     string // Message as the first customer reads it
	ExampleFor  string
	now         time.Time
}

// Back returns the list that the claims were selected in.
func (f claimBulkForm) Back() string { return queuePath(f.Query) }

// Count returns how many claims are listed.
func (f claimBulkForm) Count() int64 { return int64(len(f.Claims)) }

// Once returns the key with which a form that is sent twice is performed once.
func (f claimBulkForm) Once() string { return f.Value("once") }

// Version returns the value of the box of a claim: its id and its version.
func (claimBulkForm) Version(c warranty.Claim) string { return claimVersion(c) }

// Waited returns how long a claim waits, or nil.
func (f claimBulkForm) Waited(c warranty.Claim) *time.Duration { return waited(c, f.now) }

// Writes reports whether the action can send a message.
func (f claimBulkForm) Writes() bool { return f.Action != warranty.AssignClaims }

// Needs reports whether the action needs a message.
func (f claimBulkForm) Needs() bool {
	return f.Action == warranty.AskClaims || f.Action == warranty.RejectClaims
}

// claimVersion is a claim as a person saw it.
func claimVersion(c warranty.Claim) string {
	return c.ID.String() + "@" + strconv.FormatInt(c.UpdatedAt.UnixMicro(), 10)
}

// selectedClaims returns the claims of a form as the person saw them.
func selectedClaims(values []string) (items []warranty.ClaimItem, err error) {
	for _, value := range values {
		text, version, _ := strings.Cut(value, "@")
		id, err := warranty.ParseID(text)
		micros, wrong := strconv.ParseInt(version, 10, 64)
		if err != nil || wrong != nil {
			return nil, errForm
		}
		if slices.ContainsFunc(items, func(i warranty.ClaimItem) bool { return i.ID == id }) {
			continue
		}
		at := time.UnixMicro(micros).UTC()
		items = append(items, warranty.ClaimItem{ID: id, UpdatedAt: &at})
	}
	return items, nil
}

// bulkClaims performs an action on the selected claims, or asks for what it needs.
func (web *Web) bulkClaims(w http.ResponseWriter, r *http.Request, who warranty.Principal) error {
	f, err := readForm(w, r)
	if err != nil {
		return err
	}
	action, err := warranty.ParseEnum[warranty.ClaimAction](f.Value("action"))
	if err != nil {
		return errForm
	}
	if f.Value("all") != "" {
		if f.Values["id"], err = web.firstClaims(r, who, f.Values); err != nil {
			return err
		}
	}
	items, err := selectedClaims(f.Values["id"])
	if err != nil {
		return err
	}
	_, kept := queueOf(f.Values, 1)
	if len(items) > warranty.MaxClaimItems || len(items) == 0 && !f.Values.Has("go") {
		return warranty.Refuse(warranty.ValidationFailed, "%s", web.t(r, "claims_bulk.select", warranty.MaxClaimItems))
	}
	body := claimBulkForm{form: f, Action: action, Query: kept, Message: f.Value("message"), Resolutions: warranty.Resolution("").Values()}
	if f.Value("go") != "" {
		done, err := web.performBulk(r, who, f, action, items)
		if err == nil {
			return redirect(w, r, "/jobs/"+done.ID.String())
		}
		if !web.setErrors(w, r, &body.form, err) {
			return err
		}
		if body.Error("items") != "" {
			body.Wrong = web.t(r, "claims_bulk.none")
		}
	}
	return web.showBulkClaims(w, r, who, body)
}

// firstClaims returns the boxes of the first claims of a list, whatever its page: as many as one action can change.
func (web *Web) firstClaims(r *http.Request, who warranty.Principal, values url.Values) (list []string, err error) {
	in, _ := queueOf(values, warranty.MaxClaimItems)
	in.Page, in.Sort = 1, cmp.Or(in.Sort, queueSort(in.Queue))
	page, err := web.Service.ListClaims(r.Context(), who, in)
	for _, c := range page.Data {
		if c.Customer != nil {
			list = append(list, claimVersion(c))
		}
	}
	return list, err
}

// performBulk performs the action of a form.
func (web *Web) performBulk(
	r *http.Request, who warranty.Principal, f form, action warranty.ClaimAction, items []warranty.ClaimItem,
) (warranty.ClaimBulk, error) {
	if f.resumed {
		return warranty.ClaimBulk{}, errResumed
	}
	in := warranty.BulkClaims{Action: action, Items: items, AssignTo: f.Value("assign_to"), IdempotencyKey: f.once()}
	if action != warranty.AssignClaims {
		in.Message = f.Value("message")
	} else {
		for i := range in.Items {
			in.Items[i].UpdatedAt = nil // who works on a claim does not depend on what it says
		}
	}
	if action == warranty.ResolveClaims {
		var err error
		if in.Resolution, err = warranty.ParseEnum[warranty.Resolution](f.Value("resolution")); err != nil {
			return warranty.ClaimBulk{}, errForm
		}
		in.ResolutionNote = f.Value("resolution_note")
	}
	return web.Service.BulkClaims(r.Context(), who, in)
}

func (web *Web) showBulkClaims(w http.ResponseWriter, r *http.Request, who warranty.Principal, body claimBulkForm) error {
	ctx := r.Context()
	var ids []warranty.ID
	body.Checked, body.now = map[warranty.ID]bool{}, web.Service.Now()
	shown := body.Values["shown"] // including those whose box was cleared
	if len(shown) == 0 {
		shown = body.Values["id"]
	}
	items, err := selectedClaims(shown)
	if err != nil {
		return err
	}
	for _, item := range items {
		ids = append(ids, item.ID)
	}
	for _, value := range body.Values["id"] {
		if item, err := selectedClaims([]string{value}); err == nil {
			body.Checked[item[0].ID] = true
		}
	}
	if body.Claims, err = web.Service.ClaimsByID(ctx, who, ids); err != nil {
		return err
	}
	if body.Value("once") == "" {
		body.Values.Set("once", web.Service.NewID().String())
	}
	if err := web.bulkReplies(r, who, &body); err != nil {
		return err
	}
	for _, c := range body.Claims {
		if c.Customer == nil {
			continue
		}
		if len(body.Assignable) == 0 && who.ActsForOrganization() {
			handling, err := web.Service.GetClaimHandling(ctx, who, warranty.GetClaimHandling{ID: warranty.ClaimKey{ID: c.ID}})
			if err != nil {
				return err
			}
			body.Assignable = handling.Assignable
		}
		if body.Example == "" && body.Checked[c.ID] && body.Message != "" {
			body.ExampleFor, body.Example = c.Customer.Name, warranty.FillReply(body.Message, warranty.ReplyFactsOf(c, who))
		}
	}
	title := web.t(r, "claims_bulk."+body.Action.String()+"_title", len(body.Claims))
	return web.show(w, r, body.status, "claims-bulk", view.Page{Title: title, Nav: "claims", Who: who, Body: body})
}

// bulkReplies reads the saved replies, and puts the chosen one into the message. A question begins with the first.
func (web *Web) bulkReplies(r *http.Request, who warranty.Principal, body *claimBulkForm) error {
	if !body.Writes() {
		return nil
	}
	page, err := web.Service.ListReplies(r.Context(), who, warranty.ListReplies{Paging: warranty.Paging{Page: 1, Limit: warranty.MaxReplies}})
	if err != nil {
		return err
	}
	body.Replies = page.Data
	chosen := body.Value("reply")
	if body.Action == warranty.AskClaims && !body.Values.Has("message") && len(page.Data) > 0 {
		chosen = cmp.Or(chosen, page.Data[0].ID.String())
	} else if body.Value("insert") == "" {
		return nil
	}
	for _, reply := range page.Data {
		if reply.ID.String() == chosen {
			body.Message = reply.Body
			body.Values.Set("reply", chosen)
		}
	}
	return nil
}

// claimsResult is the page of an action on claims.
type claimsResult struct {
	warranty.ClaimBulk
	Flash string
}

// Done returns how many claims were changed and stay so.
func (b claimsResult) Done() int64 { return b.Count(warranty.ClaimDone) }

// Again returns the claims that were given back, with their versions, to do it again with what was typed.
func (b claimsResult) Again() (list []string) {
	for _, r := range b.Results {
		if r.Outcome == warranty.ClaimUndone && r.Claim != nil {
			list = append(list, claimVersion(*r.Claim))
		}
	}
	return list
}

// Left returns how many claims were skipped or kept.
func (b claimsResult) Left() int64 {
	return b.Count(warranty.ClaimSkipped) + b.Count(warranty.ClaimKept)
}

// Undone returns how many claims were given back.
func (b claimsResult) Undone() int64 { return b.Count(warranty.ClaimUndone) }

// Banner returns the kind of the banner with the result.
func (b claimsResult) Banner() view.Banner {
	switch {
	case b.Done()+b.Undone() == 0:
		return view.Banner{Kind: view.Failure}
	case b.Left() > 0:
		return view.Banner{Kind: view.Info}
	}
	return view.Banner{Kind: view.Success}
}

// isClaimsJob reports whether a job changed claims.
func isClaimsJob(j warranty.Job) bool {
	return j.Kind == service.ClaimsJob || j.Kind == service.DecisionJob
}

// undoClaims undoes an action on claims. A decision leads back to its claim.
func (web *Web) undoClaims(w http.ResponseWriter, r *http.Request, who warranty.Principal, id warranty.ID) error {
	before, err := web.Service.GetBulk(r.Context(), who, warranty.GetBulk{ID: id})
	if err != nil {
		return err
	}
	b, err := web.Service.UndoBulk(r.Context(), who, warranty.UndoBulk{ID: id})
	done := "undone"
	var refusal *warranty.Error
	switch {
	case errors.As(err, &refusal) && refusal.Code == warranty.InvalidTransition:
		done = "undo_late"
	case err != nil:
		return err
	case b.Count(warranty.ClaimKept) > 0:
		done = "undo_kept"
	}
	if !before.Single {
		if done != "undo_late" {
			return redirect(w, r, "/jobs/"+id.String())
		}
		return redirect(w, r, "/jobs/"+id.String()+"?done="+done)
	}
	_, kept := queueOf(r.URL.Query(), 1)
	next := withDone(claimLink(before.Results[0].ClaimID, kept), done)
	if done == "undone" {
		next += "&undone=" + id.String()
	}
	return redirect(w, r, next)
}

// typedOf returns what was typed for the decision on a claim that was undone, if the address of the page names it.
func (web *Web) typedOf(r *http.Request, who warranty.Principal, claim warranty.ID) url.Values {
	id, err := warranty.ParseID(r.URL.Query().Get("undone"))
	if err != nil {
		return nil
	}
	b, err := web.Service.GetBulk(r.Context(), who, warranty.GetBulk{ID: id})
	if err != nil || !b.Single || b.UndoneAt == nil || b.Results[0].ClaimID != claim {
		return nil // the link is old or wrong
	}
	return url.Values{
		"body": {b.Typed.Message}, "resolution": {b.Typed.Resolution.String()}, "resolution_note": {b.Typed.Note},
	}
}

// decided is the decision that led to a page, which can be undone there.
type decided struct {
	warranty.ClaimBulk
	Product, Customer string
	Held              bool   // the email still waits
	Undo              string // where the form goes
}

// decidedOf returns the decision that the address of a page names, or nil.
func (web *Web) decidedOf(r *http.Request, who warranty.Principal, place queuePlace) *decided {
	id, err := warranty.ParseID(r.URL.Query().Get("undo"))
	if err != nil {
		return nil
	}
	b, err := web.Service.GetBulk(r.Context(), who, warranty.GetBulk{ID: id})
	if err != nil || !b.Single || b.UndoneAt != nil || b.Results[0].Claim == nil {
		return nil // the link is old or wrong
	}
	c := b.Results[0].Claim
	d := &decided{ClaimBulk: b, Product: c.Warranty.ProductName, Held: b.UndoUntil != nil && web.Service.Now().Before(*b.UndoUntil)}
	d.Undo = place.Action("/jobs/"+id.String()+"/undo", who.Account.ID.String())
	if c.Customer != nil {
		d.Customer = c.Customer.Name
	}
	return d
}

func waited(c warranty.Claim, now time.Time) *time.Duration {
	if c.WaitingSince == nil {
		return nil
	}
	waited := now.Sub(*c.WaitingSince)
	return &waited
}
