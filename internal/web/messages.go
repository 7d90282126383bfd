package web

import (
	"cmp"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"warranty.example/svc/api"
	"warranty.example/svc/internal/service"
	"warranty.example/svc/internal/web/view"
	"warranty.example/svc/warranty"
)

// claimDetail is the page of a claim.
type claimDetail struct {
	warranty.Claim
	form
	Side        string                 // the side of the reader: owner or business
	MyTurn      bool                   // the claim waits for the reader
	Log         bool                   // the owner keeps the claim as a log
	MayTalk     bool                   // the reader can write messages
	Moves       []warranty.ClaimStatus // the status changes that the reader may make
	Resolutions []string
	Talk        []talkItem                 // oldest first
	Evidence    []warranty.MessageDocument // files that were filed with the claim
	Place       queuePlace
	Decided     *decided              // the decision before, which can be undone
	Meanwhile   *warranty.ClaimChange // someone else changed the status before a form was sent
	Checks      []claimCheck          // for those who decide
	Waited      *time.Duration
	Older       string // URL of the older messages, if there are any
	Question    string // the message that the reader should reply to
	Files       []service.Draft
	Stored      []warranty.Document     // of the warranty, which the owner can send
	Attached    []warranty.Document     // of these, which the owner sent and can take back
	Muted       bool                    // the person gets no emails about the claim
	Handling    *warranty.ClaimHandling // nil for owners
	Claimant    *claimant               // for the organization that decides it
	Replies     []warranty.SavedReply
	Record      warranty.Warranty
	Covered     bool   // the incident date is within the warranty
	Issuer      string // name of the organization that issued the warranty
	News        string // URL that counts new messages
	Since       time.Time
}

// IsAssigned reports whether a member works on the claim.
func (d claimDetail) IsAssigned(id warranty.ID) bool {
	return d.Handling.AssignedTo != nil && d.Handling.AssignedTo.ID == id
}

// Once returns the key with which a form that is sent twice is performed once.
func (d claimDetail) Once() string { return cmp.Or(d.Value("once"), d.News) }

// talkItem is a message, an event, or documents that were sent with no message.
type talkItem struct {
	ID      warranty.ID
	At      time.Time
	Message *warranty.Message
	Event   string
	Note    *warranty.Note
	Files   []warranty.MessageDocument
}

// newsPattern is the address that the page of a claim asks every 30 seconds.
const newsPattern = "GET /claims/{id}/news"

// talkPage is the number of messages on a page.
const talkPage = 50

func (web *Web) showClaim(w http.ResponseWriter, r *http.Request, who warranty.Principal, f form) error {
	key, err := warranty.ParseClaimKey(r.PathValue("id"))
	if err != nil {
		return warranty.ErrNotFound
	}
	d, err := web.claimDetail(r, who, key, f)
	if err != nil {
		return err
	}
	v := view.Page{Title: string(d.ClaimNumber), Nav: "claims", Who: who, Flash: view.Flash(r), Body: d}
	if d.Decided != nil {
		v.Flash = "" // its banner says it
	}
	return web.show(w, r, f.status, "claim", v)
}

func (web *Web) claimDetail(
	r *http.Request, who warranty.Principal, key warranty.ClaimKey, f form,
) (d claimDetail, err error) {
	ctx := r.Context()
	c, moves, err := web.Service.ClaimMoves(ctx, who, key)
	if err != nil {
		return d, err
	}
	d = claimDetail{Claim: c, form: f, Moves: moves, Resolutions: warranty.Resolution("").Values()}
	if d.Record, err = web.Service.GetWarranty(ctx, who, warranty.GetWarranty{ID: warranty.WarrantyKey{ID: c.WarrantyID}}); err != nil {
		return d, err
	}
	d.Side, d.Log = warranty.BusinessSide.String(), c.ManagedBy == warranty.ManagedByOwner
	if d.Record.Roles.Has(warranty.Owner) {
		d.Side = warranty.OwnerSide.String()
	}
	_, err = c.Writes(d.Record.Roles)
	d.MayTalk = err == nil
	d.Covered = d.Record.Standing == warranty.Active && d.Record.Covers(c.IncidentDate)
	d.MyTurn = c.WaitingFor != nil && c.WaitingFor.String() == d.Side
	d.Since = c.Since
	if c.WaitingSince != nil {
		waited := web.Service.Now().Sub(*c.WaitingSince)
		d.Waited = &waited
	}
	if d.Place, err = web.placeOf(r, who, c.ID); err != nil {
		return d, err
	}
	if d.Values == nil {
		d.Values = web.typedOf(r, who, c.ID)
	}
	d.Decided = web.decidedOf(r, who, d.Place)
	if d.Muted, err = web.Service.Muted(ctx, who, c.ID); err != nil {
		return d, err
	}
	if !who.Account.Role.Includes(warranty.Member) {
		d.Moves, d.MayTalk, d.MyTurn = nil, false, false
	}
	if issuer, err := web.Service.Issuer(ctx, who, warranty.WarrantyKey{ID: c.WarrantyID}); err == nil && issuer != nil {
		d.Issuer = issuer.Name
	}
	if err := web.conversation(r, who, &d); err != nil {
		return d, err
	}
	if d.MayTalk && !d.Log {
		page, err := web.Service.ListReplies(ctx, who, warranty.ListReplies{Paging: warranty.Paging{Page: 1, Limit: 100}})
		if err != nil {
			return d, err
		}
		d.Replies = page.Data
	}
	if d.Side == "business" && !d.Log {
		handling, err := web.Service.GetClaimHandling(ctx, who, warranty.GetClaimHandling{ID: key})
		if err != nil {
			return d, err
		}
		d.Handling = &handling
		if d.Claimant, err = web.claimantOf(r, who, c, d.Record); err != nil {
			return d, err
		}
		if d.Checks, err = web.claimChecks(r, who, d); err != nil {
			return d, err
		}
		if err := web.teamNotes(r, who, &d); err != nil {
			return d, err
		}
	}
	slices.SortStableFunc(d.Talk, func(a, b talkItem) int {
		return cmp.Or(a.At.Compare(b.At), slices.Compare(a.ID[:], b.ID[:]))
	})
	return d, nil
}

// teamNotes adds the notes of the account to the conversation.
func (web *Web) teamNotes(r *http.Request, who warranty.Principal, d *claimDetail) error {
	page, err := web.Service.ListNotes(r.Context(), who, warranty.ListNotes{
		Paging: warranty.Paging{Page: 1, Limit: warranty.MaxLimit}, ID: warranty.ClaimKey{ID: d.ID},
	})
	for i := range page.Data {
		note := &page.Data[i]
		d.Talk = append(d.Talk, talkItem{ID: note.ID, At: note.CreatedAt, Note: note})
	}
	return err
}

// conversation reads what was said and what happened.
func (web *Web) conversation(r *http.Request, who warranty.Principal, d *claimDetail) error {
	paging := warranty.Paging{Page: max(1, pagingOf(url.Values{"page": {r.URL.Query().Get("older")}}, talkPage).Page), Limit: talkPage}
	page, err := web.Service.ListMessages(r.Context(), who, warranty.ListMessages{Paging: paging, ID: warranty.ClaimKey{ID: d.ID}})
	if err != nil {
		return err
	}
	documents, events, err := web.Service.ClaimThread(r.Context(), who, d.Claim)
	if err != nil {
		return err
	}
	newest, oldest := time.Time{}, time.Time{}
	if paging.Page > 1 && len(page.Data) > 0 {
		newest = page.Data[0].CreatedAt
	}
	if last := len(page.Data) - 1; last >= 0 && int64(paging.Page) < page.Pagination.TotalPages {
		oldest = page.Data[last].CreatedAt
		d.Older = fmt.Sprintf("/claims/%s?older=%d", d.ID, paging.Page+1)
	}
	inside := func(at time.Time) bool { return (newest.IsZero() || !at.After(newest)) && !at.Before(oldest) }
	latest := warranty.ID{}
	for i := range page.Data {
		m := &page.Data[i]
		d.Talk = append(d.Talk, talkItem{ID: m.ID, At: m.CreatedAt, Message: m})
		if i == 0 {
			latest = m.ID
		}
		if d.Question == "" && d.MyTurn && d.Side == "owner" && !m.Mine && m.Author.Role.String() != d.Side {
			d.Question = m.Body
		}
	}
	if d.Files, err = web.Service.Drafts(r.Context(), who, d.Values["documents"]); err != nil {
		return err
	}
	if d.Side == "owner" && !d.Log {
		if d.Stored, err = web.storedDocuments(r, who, warranty.WarrantyKey{ID: d.WarrantyID}, documents); err != nil {
			return err
		}
	}
	for _, file := range documents {
		if file.Stored {
			d.Attached = append(d.Attached, file)
		}
		item := warranty.MessageDocument{
			ID: file.ID, FileName: file.FileName, ContentType: file.ContentType, SizeBytes: file.SizeBytes, Stored: file.Stored,
		}
		switch {
		case file.MessageID != nil:
		case file.Filed:
			d.Evidence = append(d.Evidence, item)
		case inside(file.CreatedAt):
			d.Talk = append(d.Talk, talkItem{ID: file.ID, At: file.CreatedAt, Event: web.t(r, "claim_event.files"), Files: []warranty.MessageDocument{item}})
		}
	}
	if from := d.Value("from"); from != "" && from != d.Status.String() && len(events) > 0 {
		if at := slices.IndexFunc(events, func(e warranty.Event) bool { return warranty.ChangeOf(e).Status != nil }); at >= 0 {
			d.Meanwhile = new(warranty.ChangeOf(events[at]))
		}
	}
	for _, e := range events {
		if text := web.eventText(web.reader(r), e); text != "" && inside(e.At) {
			d.Talk = append(d.Talk, talkItem{ID: e.ID, At: e.At, Event: text})
		}
	}
	slices.Reverse(d.Evidence) // oldest first
	if paging.Page == 1 {
		d.News = "/claims/" + d.ID.String() + "/news?after=" + latest.String()
	}
	return nil
}

// eventText returns an event of a claim as one sentence, or "" if the conversation shows it otherwise.
func (web *Web) eventText(words view.Reader, e warranty.Event) string {
	name := e.Actor
	if e.Account != nil {
		name = *e.Account
	}
	switch e.Action {
	case warranty.ClaimFiled:
		return words.Text("claim_event.filed", name)
	case warranty.ClaimChangeUndone:
		return words.Text("claim_event.undone", name)
	case warranty.ClaimMoved:
		for _, change := range e.Changes {
			if change.Field == "status" && change.From != nil && change.To != nil {
				return words.Text("claim_event."+view.MoveKey(warranty.ClaimStatus(*change.From), warranty.ClaimStatus(*change.To)), name)
			}
		}
	}
	return ""
}

// claimNews is a part with the number of messages since the page was shown.
func (web *Web) claimNews(w http.ResponseWriter, r *http.Request, who warranty.Principal) error {
	key, err := warranty.ParseClaimKey(r.PathValue("id"))
	if err != nil {
		return warranty.ErrNotFound
	}
	after, err := warranty.ParseID(r.URL.Query().Get("after"))
	if err != nil {
		return warranty.ErrNotFound
	}
	c, _, err := web.Service.ClaimMoves(r.Context(), who, key)
	if err != nil {
		return err
	}
	n, err := web.Service.NewMessages(r.Context(), who, c, after)
	if err != nil {
		return err
	}
	v := view.Page{Title: string(c.ClaimNumber), Nav: "claims", Who: who, Body: claimNews{c, n}}
	return web.part(w, r, "claim", "news", v)
}

type claimNews struct {
	warranty.Claim
	New int64
}

// claimActions are the buttons of the composer that change the status.
var claimActions = map[string]warranty.ClaimStatus{
	"approve": warranty.Approved,
	"ask":     warranty.InfoRequested,
	"reject":  warranty.Rejected,
	"start":   warranty.InProgress,
	"resolve": warranty.Resolved,
	"appeal":  warranty.UnderReview,
}

// sendMessage handles the composer of a claim: a message with files, and a decision.
func (web *Web) sendMessage(w http.ResponseWriter, r *http.Request, who warranty.Principal) error {
	f, err := readForm(w, r)
	if err != nil {
		return err
	}
	next := ""
	switch {
	case f.resumed:
		err = errResumed
	case filesOf(r).err != nil:
		err = filesOf(r).err
	default:
		next, err = web.performMessage(r, who, &f)
		err = web.filesGone(r, who, &f, err)
	}
	switch {
	case err != nil && !web.setErrors(w, r, &f, err):
		return err
	case err != nil || next == "":
		return web.showClaim(w, r, who, f)
	}
	return redirect(w, r, next)
}

// filesGone returns the error for a message that was refused because files that the form keeps are gone, such as after a day.
// The form then has the others.
func (web *Web) filesGone(r *http.Request, who warranty.Principal, f *form, refused error) error {
	var refusal *warranty.Error
	if !errors.As(refused, &refusal) || !slices.ContainsFunc(refusal.Fields, func(e warranty.FieldError) bool { return e.Field == "documents" }) {
		return refused
	}
	kept, err := web.Service.Drafts(r.Context(), who, f.Values["documents"])
	if err != nil || len(kept) == len(f.Values["documents"]) {
		return errors.Join(refused, err)
	}
	f.Values.Del("documents")
	for _, file := range kept {
		f.Values.Add("documents", file.ID.String())
	}
	var c warranty.Checks
	c.Add("file", "gone", "%s", web.t(r, "claim.file_gone"))
	return c.Err()
}

// performMessage performs the button of the composer and returns the next page, or "" to show the form again.
func (web *Web) performMessage(r *http.Request, who warranty.Principal, f *form) (next string, err error) {
	key, err := warranty.ParseClaimKey(r.PathValue("id"))
	if err != nil {
		return "", warranty.ErrNotFound
	}
	action, documents, body := f.Value("action"), f.Values["documents"], f.Value("body")
	_, kept := queueOf(r.URL.Query(), 1)
	next = claimLink(key.ID, kept)
	if key.ID.IsZero() {
		next = "/claims/" + r.PathValue("id")
	}
	if action == "insert" {
		id, err := warranty.ParseID(f.Value("reply"))
		if err != nil {
			return "", errForm
		}
		saved, err := web.Service.GetReply(r.Context(), who, id)
		if err != nil {
			return "", err
		}
		c, err := web.Service.GetClaim(r.Context(), who, warranty.GetClaim{ID: key})
		if err != nil {
			return "", err
		}
		f.Values.Set("body", strings.TrimSpace(body+"\n\n"+warranty.FillReply(saved.Body, warranty.ReplyFactsOf(c, who))))
		return "", nil
	}
	to, moves := claimActions[action]
	if missing := web.missingText(web.reader(r), action); missing != "" && strings.TrimSpace(body) == "" {
		var c warranty.Checks
		c.Add("body", "required", "%s", missing)
		return "", c.Err()
	}
	if !moves {
		once := filesOf(r).once
		_, err := web.Service.WriteMessage(r.Context(), who, warranty.WriteMessage{
			ID: key, Body: body, Documents: documents, DocumentIDs: f.Values["document_ids"], IdempotencyKey: once,
		})
		if once != nil && warranty.AsError(err).Code == warranty.IdempotencyKeyReused {
			// The same message was sent before; only the ids of its files differ.
			err = web.Service.DropDrafts(r.Context(), who, documents)
		}
		return withDone(next, "sent"), err
	}
	from, err := warranty.ParseEnum[warranty.ClaimStatus](f.Value("from"))
	if err != nil {
		return "", errForm
	}
	place := queuePlace{}
	if f.Value("next") != "" && !key.ID.IsZero() {
		if place, err = web.placeOf(r, who, key.ID); err != nil {
			return "", err
		}
	}
	in := warranty.MoveClaim{ID: key, From: from, Status: to, Reason: body, Documents: documents, DocumentIDs: f.Values["document_ids"]}
	if to == warranty.Resolved {
		if in.Resolution, err = warranty.ParseEnum[warranty.Resolution](f.Value("resolution")); err != nil {
			return "", errForm
		}
		in.ResolutionNote, in.ReplacementSerialNumber = f.Value("resolution_note"), f.Value("replacement_serial_number")
	}
	undo, err := web.decideClaim(r, who, in)
	var refusal *warranty.Error
	if errors.As(err, &refusal) {
		for i, field := range refusal.Fields {
			if field.Field == "reason" {
				refusal.Fields[i].Field = "body"
			}
		}
	}
	done := "moved"
	if err == nil && place.Next != "" {
		next, done = place.Next, "decided_next"
	}
	if next = withDone(next, done); undo != nil {
		next += "&undo=" + undo.String()
	}
	return next, err
}

// decideClaim changes the status of a claim. It returns the action to undo if it was a decision of a business.
func (web *Web) decideClaim(r *http.Request, who warranty.Principal, in warranty.MoveClaim) (undo *warranty.ID, err error) {
	c, _, err := web.Service.ClaimMoves(r.Context(), who, in.ID)
	if err != nil {
		return nil, err
	}
	if c.Roles.Has(warranty.Owner) {
		_, err := web.Service.MoveClaim(r.Context(), who, in)
		return nil, err
	}
	return web.Service.DecideClaim(r.Context(), who, in)
}

// withDone adds to an address what the page then says was done.
func withDone(address, what string) string {
	if strings.Contains(address, "?") {
		return address + "&done=" + what
	}
	return address + "?done=" + what
}

// noteClaim saves a note for the team.
func (web *Web) noteClaim(w http.ResponseWriter, r *http.Request, who warranty.Principal) error {
	return submit(web, w, r, who, action[warranty.WriteNote, warranty.Note]{
		op:    api.WriteNote,
		do:    web.Service.WriteNote,
		again: web.showClaim,
		next: func(_ form, note warranty.Note) string {
			_, kept := queueOf(r.URL.Query(), 1)
			return withDone(claimLink(note.ClaimID, kept), "noted")
		},
	})
}

// missingText returns what a button asks for if there is no message, or "" if it needs none.
func (web *Web) missingText(words view.Reader, action string) string {
	switch action {
	case "ask", "reject", "appeal":
		return words.Text("claim_missing." + action)
	case "", "reply":
		return words.Text("claim_missing.reply")
	}
	return ""
}

func (web *Web) assignClaim(w http.ResponseWriter, r *http.Request, who warranty.Principal) error {
	f, err := readForm(w, r)
	if err != nil {
		return err
	}
	key, err := warranty.ParseClaimKey(r.PathValue("id"))
	if err != nil {
		return warranty.ErrNotFound
	}
	in := warranty.AssignClaim{ID: key}
	if text := f.Value("user_id"); text != "" {
		id, err := warranty.ParseID(text)
		if err != nil {
			return errForm
		}
		in.UserID = &id
	}
	if _, err := web.Service.AssignClaim(r.Context(), who, in); err != nil {
		if !web.setErrors(w, r, &f, err) {
			return err
		}
		return web.showClaim(w, r, who, f)
	}
	_, kept := queueOf(r.URL.Query(), 1)
	if key.ID.IsZero() {
		return redirect(w, r, "/claims/"+r.PathValue("id")+"?done=assigned")
	}
	return redirect(w, r, withDone(claimLink(key.ID, kept), "assigned"))
}

// muteClaim stops or resumes the person's emails about a claim.
func (web *Web) muteClaim(w http.ResponseWriter, r *http.Request, who warranty.Principal) error {
	f, err := readForm(w, r)
	if err != nil {
		return err
	}
	muted := f.Value("muted") == "true"
	return press(w, r, "/claims/%s?done="+map[bool]string{true: "muted", false: "unmuted"}[muted], warranty.ParseClaimKey,
		func(key warranty.ClaimKey) error {
			_, err := web.Service.MuteClaim(r.Context(), who, warranty.MuteClaim{ID: key, Muted: &muted})
			return err
		})
}

// detachDocument takes a stored document back from a claim.
func (web *Web) detachDocument(w http.ResponseWriter, r *http.Request, who warranty.Principal) error {
	document, err := warranty.ParseID(r.PathValue("document"))
	if err != nil {
		return warranty.ErrNotFound
	}
	return press(w, r, "/claims/%s?done=detached", warranty.ParseClaimKey, func(key warranty.ClaimKey) error {
		_, err := web.Service.DetachDocument(r.Context(), who, warranty.DetachDocument{ID: key, DocumentID: document})
		return err
	})
}
