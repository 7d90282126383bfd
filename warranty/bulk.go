package warranty

import (
	"fmt"
	"slices"
	"strings"
	"time"
)

// Limits of actions on many claims.
const (
	MaxClaimItems = 100
	// BulkUndo is how long an action on many records can be undone. Its emails wait until then.
	BulkUndo = 10 * time.Minute
	// DecisionUndo is the same for a decision on the page of a claim.
	DecisionUndo = 30 * time.Second
)

// ClaimAction is what is done with many claims.
type ClaimAction string

// The actions.
const (
	AssignClaims  ClaimAction = "assign"
	AskClaims     ClaimAction = "ask"
	ApproveClaims ClaimAction = "approve"
	RejectClaims  ClaimAction = "reject"
	ResolveClaims ClaimAction = "resolve"
)

var claimActionNames = namesOf(AssignClaims, AskClaims, ApproveClaims, RejectClaims, ResolveClaims)

// Values lists the known actions.
func (ClaimAction) Values() []string { return claimActionNames }

// String returns the action's name.
func (a ClaimAction) String() string { return string(a) }

// Status returns the status that the action gives a claim, or "".
func (a ClaimAction) Status() ClaimStatus {
	switch a {
	case AskClaims:
		return InfoRequested
	case ApproveClaims:
		return Approved
	case RejectClaims:
		return Rejected
	case ResolveClaims:
		return Resolved
	}
	return ""
}

// ClaimItem is a claim of an action on many.
type ClaimItem struct {
	ID        ID         `json:"id" required:"true" doc:"ID of the claim."`
	UpdatedAt *time.Time `json:"updated_at,omitempty" doc:"The updated_at that you saw. If the claim has another one by now, it is skipped."`
}

// BulkClaims is the input of bulk.claims.
type BulkClaims struct {
	Action         ClaimAction `json:"action,omitzero" required:"true" doc:"What to do with the claims." example:"approve"`
	Items          []ClaimItem `json:"items" required:"true" max:"100" doc:"The claims, 1 to 100. Each is changed or skipped on its own."`
	AssignTo       string      `json:"assign_to,omitzero" max:"36" doc:"Who works on the claims: me, the ID of a member of your organization, or none. Required for assign, optional otherwise." example:"me"`
	Message        string      `json:"message,omitzero" max:"5000" doc:"Message to each customer. Required for ask and reject. It can contain {first name}, {name}, {product}, {claim number}, {your name} and {business}." example:"Hello {first name}, please send a photo of the type plate of your {product}."`
	Resolution     Resolution  `json:"resolution,omitzero" doc:"How the claims were resolved. Required for resolve; not accepted otherwise."`
	ResolutionNote string      `json:"resolution_note,omitzero" max:"2000" doc:"Note on the resolution. Only for resolve."`

	IdempotencyKey *string `json:"idempotency_key,omitempty" in:"header" max:"255" doc:"A unique string that you generate. Repeating a request with the same key and body within 24 hours returns the same response and does nothing again."`
}

// Check validates the input.
func (in *BulkClaims) Check() error {
	var c Checks
	if in.Action == "" {
		c.Add("action", "required", "This field is required.")
	}
	switch n := len(in.Items); {
	case n == 0:
		c.Add("items", "required", "This field is required.")
	case n > MaxClaimItems:
		c.Add("items", "out_of_range", "Must have between 1 and %d items.", MaxClaimItems)
	}
	seen := map[ID]bool{}
	for i, item := range in.Items {
		if field := fmt.Sprintf("items[%d].id", i); item.ID.IsZero() {
			c.Add(field, "required", "This field is required.")
		} else if seen[item.ID] {
			c.Add(field, "duplicate", "This claim is in the list already.")
		}
		seen[item.ID] = true
	}
	least := 0
	if in.Action == AskClaims || in.Action == RejectClaims {
		least = 1
	}
	in.AssignTo = c.text("assign_to", in.AssignTo, 0, maxAssignee)
	in.Message = c.lines("message", in.Message, least, MaxMessage)
	if unknown := UnknownPlaceholder(in.Message); unknown != "" {
		c.Add("message", "unknown_placeholder", "%s is not a placeholder. Use %s.", unknown, strings.Join(placeholderNames, ", "))
	}
	in.ResolutionNote = c.lines("resolution_note", in.ResolutionNote, 0, MaxReason)
	in.checkAction(&c)
	in.IdempotencyKey = c.idempotencyKey(in.IdempotencyKey)
	return c.Err()
}

// checkAction checks the fields that depend on the action.
func (in *BulkClaims) checkAction(c *Checks) {
	if in.Action == AssignClaims {
		if in.AssignTo == "" {
			c.Add("assign_to", "required", "This field is required when action is assign.")
		}
		if in.Message != "" {
			c.Add("message", "not_accepted", "Not accepted when action is assign. Remove this field.")
		}
	}
	if in.Action == ResolveClaims {
		if in.Resolution == "" {
			c.Add("resolution", "required", "This field is required when action is resolve.")
		}
		return
	}
	if in.Resolution != "" {
		c.Add("resolution", "not_accepted", "Only accepted when action is resolve. Remove this field.")
	}
	if in.ResolutionNote != "" {
		c.Add("resolution_note", "not_accepted", "Only accepted when action is resolve. Remove this field.")
	}
}

// Assignee returns who will work on the claims, for a person who asks: nil to leave that as it is, and the zero ID for
// nobody.
func (in *BulkClaims) Assignee(person ID) (*ID, error) {
	id, err := ListClaims{Assignee: in.AssignTo}.AssigneeOf(person)
	if err != nil {
		var c Checks
		c.Add("assign_to", "invalid", "Use me, none or the ID of a member.")
		return nil, c.Err()
	}
	return id, nil
}

// toResolved are the statuses that a claim passes when a business marks it as resolved in one step, by its status.
var toResolved = map[ClaimStatus][]ClaimStatus{
	Submitted:     {UnderReview, Approved},
	UnderReview:   {Approved},
	InfoRequested: {UnderReview, Approved},
}

// Steps returns the statuses that a change passes before its own: of a decision about a claim whose review was not
// recorded yet, and of a resolution in one step.
func (in MoveClaim) Steps(c Claim) []ClaimStatus {
	if in.Status == Resolved {
		return toResolved[c.Status]
	}
	if in.Reviews(c) {
		return []ClaimStatus{UnderReview}
	}
	return nil
}

// Settle is Apply for a business that resolves a claim in one step, from any open status.
func (in MoveClaim) Settle(c Claim, roles Roles, now time.Time) (Claim, error) {
	steps := in.Steps(c)
	if in.Status != Resolved || len(steps) == 0 {
		return in.Apply(c, roles, now)
	}
	passed := c
	passed.Status, passed.Spoke = steps[len(steps)-1], 0
	after, err := in.Apply(passed, roles, now)
	if err != nil {
		return c, err
	}
	after.Since = c.Since
	after.waits(c, now)
	return after, nil
}

// ReplyFacts are what the placeholders of a reply stand for.
type ReplyFacts struct {
	Name, Product, Claim string
	You, Business        string
}

// placeholder is a word in braces that a reply is filled with, in the languages of the web app.
type placeholder struct {
	names []string
	of    func(ReplyFacts) string
}

var placeholders = []placeholder{
	{[]string{"first name", "vorname", "nombre de pila", "prénom"}, func(f ReplyFacts) string { return firstName(f.Name) }},
	{[]string{"name", "nombre", "nom"}, func(f ReplyFacts) string { return f.Name }},
	{[]string{"product", "produkt", "producto", "produit"}, func(f ReplyFacts) string { return f.Product }},
	{[]string{"claim number", "fallnummer", "número de reclamación", "numéro de réclamation"}, func(f ReplyFacts) string { return f.Claim }},
	{[]string{"your name", "ihr name", "su nombre", "votre nom"}, func(f ReplyFacts) string { return f.You }},
	{[]string{"business", "firma", "empresa", "entreprise"}, func(f ReplyFacts) string { return f.Business }},
}

var placeholderNames = []string{"{first name}", "{name}", "{product}", "{claim number}", "{your name}", "{business}"}

// firstName returns the first word of a name that is not a title such as "Dr.".
func firstName(name string) string {
	words := strings.Fields(name)
	for i, word := range words {
		if !strings.HasSuffix(word, ".") || i == len(words)-1 {
			return word
		}
	}
	return name
}

// placeholderOf returns the placeholder with a name, ignoring case.
func placeholderOf(name string) *placeholder {
	name = strings.ToLower(strings.TrimSpace(name))
	for i := range placeholders {
		if slices.Contains(placeholders[i].names, name) {
			return &placeholders[i]
		}
	}
	return nil
}

// eachPlaceholder calls each for the words in braces of a text and for the texts between them.
func eachPlaceholder(text string, between func(string), each func(inBraces string)) {
	for {
		from := strings.IndexByte(text, '{')
		length := -1
		if from >= 0 {
			length = strings.IndexAny(text[from+1:], "{}\n")
		}
		if length < 0 {
			between(text)
			return
		}
		if end := from + 1 + length; text[end] == '}' {
			between(text[:from])
			each(text[from+1 : end])
			text = text[end+1:]
		} else {
			between(text[:end])
			text = text[end:]
		}
	}
}

// UnknownPlaceholder returns the first word in braces that is not a placeholder, with its braces, or "".
func UnknownPlaceholder(text string) (unknown string) {
	eachPlaceholder(text, func(string) {}, func(name string) {
		if unknown == "" && placeholderOf(name) == nil {
			unknown = "{" + name + "}"
		}
	})
	return unknown
}

// FillReply returns a reply with its placeholders filled. Other words in braces stay as they are.
func FillReply(text string, facts ReplyFacts) string {
	var filled strings.Builder
	eachPlaceholder(text, func(between string) { filled.WriteString(between) }, func(name string) {
		if p := placeholderOf(name); p != nil {
			filled.WriteString(p.of(facts))
			return
		}
		filled.WriteString("{" + name + "}")
	})
	return filled.String()
}

// ReplyFactsOf returns what a reply of a principal about a claim is filled with.
func ReplyFactsOf(c Claim, p Principal) ReplyFacts {
	f := ReplyFacts{Product: c.Warranty.ProductName, Claim: string(c.ClaimNumber), You: p.User.Name, Business: p.Account.Name}
	if c.Customer != nil {
		f.Name = c.Customer.Name
	}
	return f
}

// ClaimOutcome is what became of a claim of an action.
type ClaimOutcome string

// The outcomes.
const (
	ClaimDone    ClaimOutcome = "done"
	ClaimSkipped ClaimOutcome = "skipped"
	ClaimUndone  ClaimOutcome = "undone"
	ClaimKept    ClaimOutcome = "kept"
)

var claimOutcomeNames = namesOf(ClaimDone, ClaimSkipped, ClaimUndone, ClaimKept)

// Values lists the known outcomes.
func (ClaimOutcome) Values() []string { return claimOutcomeNames }

// String returns the outcome's name.
func (o ClaimOutcome) String() string { return string(o) }

// ClaimBulk is an action on many claims and its results.
type ClaimBulk struct {
	ID        ID                `json:"id" doc:"Identifier of the action, to undo it."`
	Action    ClaimAction       `json:"action" doc:"What was done."`
	CreatedAt time.Time         `json:"created_at" doc:"When it was done."`
	UndoUntil *time.Time        `json:"undo_until" doc:"Until when it can be undone. Its emails are sent then. null if it was undone or nothing was changed."`
	UndoneAt  *time.Time        `json:"undone_at" doc:"When it was undone."`
	Results   []ClaimBulkResult `json:"results" doc:"One result for each claim, in the same order."`
	Single    bool              `json:"-"` // a decision on the page of a claim
	Typed     Typed             `json:"-"` // what was typed for it
	Replay    bool              `json:"-"` // a stored response to an earlier request
}

// Typed is what was typed for an action, with placeholders, to type it again after an undo.
type Typed struct {
	Message    string     `json:"message,omitzero"`
	Resolution Resolution `json:"resolution,omitzero"`
	Note       string     `json:"note,omitzero"`
}

// RecordID returns the ID used in the Location header.
func (b ClaimBulk) RecordID() ID { return b.ID }

// Replayed reports whether this is the result of an earlier request.
func (b ClaimBulk) Replayed() bool { return b.Replay }

// SetReplayed sets Replay.
func (b *ClaimBulk) SetReplayed(replayed bool) { b.Replay = replayed }

// Count returns how many claims have an outcome.
func (b ClaimBulk) Count(o ClaimOutcome) (n int64) {
	for _, r := range b.Results {
		if r.Outcome == o {
			n++
		}
	}
	return n
}

// ClaimBulkResult is the result of one claim.
type ClaimBulkResult struct {
	ClaimID ID           `json:"claim_id" doc:"Identifier of the claim."`
	Outcome ClaimOutcome `json:"outcome" doc:"done or skipped; after undoing it undone, or kept if that was not possible."`
	Code    *Code        `json:"code" doc:"Why it was skipped or kept, as an error code; null otherwise."`
	Detail  *string      `json:"detail" doc:"The same in words."`
	Change  *ClaimChange `json:"change" doc:"With precondition_failed: what happened to the claim meanwhile."`
	Why     Text         `json:"-"` // Detail with its arguments apart
	Claim   *Claim       `json:"-"` // as it is now, if the reader can see it
}

// ClaimChange is the latest change of a claim.
type ClaimChange struct {
	By     string       `json:"by" doc:"Who made it."`
	At     time.Time    `json:"at" doc:"When."`
	Status *ClaimStatus `json:"status" doc:"The new status; null if it was a message or something else."`
	Action Action       `json:"action" doc:"What was done, as in the history."`
}

// ChangeOf returns an event of a claim as a change.
func ChangeOf(e Event) ClaimChange {
	c := ClaimChange{By: e.Actor, At: e.At, Action: e.Action}
	for _, field := range e.Changes {
		if field.Field == "status" && field.To != nil {
			status := ClaimStatus(*field.To)
			c.Status = &status
		}
	}
	return c
}

// GetBulk is the input of bulk.get.
type GetBulk struct {
	ID ID `json:"id" in:"path" required:"true" doc:"Identifier of the action."`
}

// MayUndo returns an error unless the principal did something for its account, or is an administrator of the account.
func (p Principal) MayUndo(by ID) error {
	if p.User.ID == by || p.Account.Role == Admin {
		return nil
	}
	return Refuse(RoleNotAllowed, "Only the person who did this, or an administrator, can undo it.")
}

// UndoBulk is the input of bulk.undo.
type UndoBulk struct {
	ID ID `json:"id" in:"path" required:"true" doc:"Identifier of the action."`
}

// ClaimBefore is what undoing a change of a claim restores, as it is stored.
type ClaimBefore struct {
	Status                  ClaimStatus `json:"status"`
	StatusReason            *string     `json:"status_reason,omitempty"`
	Resolution              *Resolution `json:"resolution,omitempty"`
	ResolutionNote          *string     `json:"resolution_note,omitempty"`
	ReplacementSerialNumber *string     `json:"replacement_serial_number,omitempty"`
	ResolvedAt              *time.Time  `json:"resolved_at,omitempty"`
	Spoke                   int64       `json:"spoke,omitzero"`
	Since                   time.Time   `json:"since"`
	// After is the status that the change gave the claim; "" if it kept the status.
	After ClaimStatus `json:"after,omitzero"`
	// Message was written with the change, and Typed is what was typed for it, if it is a decision on the page of the claim.
	Message *ID   `json:"message,omitempty"`
	Typed   Typed `json:"typed,omitzero"`
	// Assigned is set if the change assigned the claim: from one member to another, or nobody.
	Assigned bool `json:"assigned,omitzero"`
	From     *ID  `json:"from,omitempty"`
	To       *ID  `json:"to,omitempty"`
	// Mails is how many emails wait, and Digests are the accounts whose digest waits. Those with true had one before.
	Mails   int         `json:"mails,omitzero"`
	Digests map[ID]bool `json:"digests,omitempty"`
}

// BeforeOf returns what undoing a change of a claim restores.
func BeforeOf(c Claim) ClaimBefore {
	return ClaimBefore{
		Status: c.Status, StatusReason: c.StatusReason, Resolution: c.Resolution, ResolutionNote: c.ResolutionNote,
		ReplacementSerialNumber: c.ReplacementSerialNumber, ResolvedAt: c.ResolvedAt, Spoke: c.Spoke, Since: c.Since,
	}
}

// Restore returns a changed claim as it was before.
func (b ClaimBefore) Restore(c Claim, now time.Time) Claim {
	c.Status, c.StatusReason, c.Resolution, c.ResolutionNote = b.Status, b.StatusReason, b.Resolution, b.ResolutionNote
	c.ReplacementSerialNumber, c.ResolvedAt, c.Spoke, c.Since = b.ReplacementSerialNumber, b.ResolvedAt, b.Spoke, b.Since
	c.UpdatedAt = now
	return c
}
