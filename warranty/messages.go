package warranty

import (
	"slices"
	"strings"
	"time"
	"unicode"
)

// Limits of messages.
const (
	MaxMessage          = 5000
	MaxMessageDocuments = 10
	// LatestMessages is the number of messages in a single claim.
	LatestMessages = 20
)

// Message is something that a person wrote about a claim.
type Message struct {
	ID        ID                `json:"id" doc:"Identifier of the message."`
	Author    Author            `json:"author" doc:"Who wrote it."`
	Body      string            `json:"body" doc:"Text of the message."`
	Documents []MessageDocument `json:"documents" doc:"Documents sent with it. Empty without the scope documents:read."`
	CreatedAt time.Time         `json:"created_at" doc:"When it was written."`
	ClaimID   ID                `json:"-"`
	Mine      bool              `json:"-"` // the reader's account wrote it
	Replay    bool              `json:"-"` // a stored response to an earlier request
}

// MaxExcerpt is the maximum length of the text in a LastMessage, in characters.
const MaxExcerpt = 200

// LastMessage is the beginning of the latest message about a claim.
type LastMessage struct {
	Author    Author    `json:"author" doc:"Who wrote it."`
	Body      string    `json:"body" doc:"Its first 200 characters; a longer text ends in …."`
	CreatedAt time.Time `json:"created_at" doc:"When it was written."`
}

// Excerpt returns the beginning of a message.
func (m Message) Excerpt() *LastMessage {
	return &LastMessage{Author: m.Author, Body: excerpt(m.Body, MaxExcerpt), CreatedAt: m.CreatedAt}
}

// excerpt returns the beginning of a text. A longer one ends in ….
func excerpt(text string, most int) string {
	if runes := []rune(text); len(runes) > most {
		return strings.TrimRightFunc(string(runes[:most-1]), unicode.IsSpace) + "…"
	}
	return text
}

// Author is who wrote a message.
type Author struct {
	Name    string    `json:"name" doc:"Name of the person, at that time."`
	Role    ClaimSide `json:"role" doc:"Side that the person wrote for: owner or business."`
	Account *string   `json:"account" doc:"Name of the organization that the person acted for, at that time; null for the person's own account."`
}

// MessageDocument is a document of a message.
type MessageDocument struct {
	ID          ID     `json:"id" doc:"Identifier of the document."`
	FileName    string `json:"file_name" doc:"Name of the file."`
	ContentType string `json:"content_type" doc:"Media type, detected from the content."`
	SizeBytes   int64  `json:"size_bytes" doc:"Size of the file in bytes."`
	Stored      bool   `json:"-"` // it is a document of the warranty
}

// RecordID returns the ID used in the Location header of a created message: that of its claim.
func (m Message) RecordID() ID { return m.ClaimID }

// Replayed reports whether this is the stored result of an earlier request.
func (m Message) Replayed() bool { return m.Replay }

// SetReplayed sets Replay.
func (m *Message) SetReplayed(replayed bool) { m.Replay = replayed }

// ClaimSide is a side of a claim.
type ClaimSide string

// The sides. They are stored by position.
const (
	OwnerSide    ClaimSide = "owner"
	BusinessSide ClaimSide = "business"
)

var sideNames = namesOf(OwnerSide, BusinessSide)

// Values lists the known sides.
func (ClaimSide) Values() []string { return sideNames }

// String returns the side's name.
func (s ClaimSide) String() string { return string(s) }

// ListMessages is the input of claims.messages.
type ListMessages struct {
	Paging
	ID ClaimKey `json:"id" in:"path" required:"true" doc:"ID or number of the claim."`
}

// Check validates the input.
func (in *ListMessages) Check() error {
	var c Checks
	in.Paging.Check(&c)
	return c.Err()
}

// WriteMessage is the input of claims.write.
type WriteMessage struct {
	ID          ClaimKey `json:"id" in:"path" required:"true" doc:"ID or number of the claim."`
	Body        string   `json:"body,omitzero" required:"true" max:"5000" doc:"Text of the message, 1 to 5000 characters." example:"Here is the type plate."`
	Documents   []string `json:"documents,omitempty" doc:"Documents to send with it, at most 10. Upload them to the claim first."`
	DocumentIDs []string `json:"document_ids,omitempty" doc:"Documents stored with the warranty to send with it, for its owner. The businesses that decide the claim can then read them."`

	IdempotencyKey *string `json:"idempotency_key,omitempty" in:"header" max:"255" doc:"A unique string that you generate. Repeating a request with the same key and body within 24 hours returns the same response and does not create a second record."`
}

// Check validates the input.
func (in *WriteMessage) Check() error {
	var c Checks
	in.Body = c.lines("body", in.Body, 1, MaxMessage)
	c.sentDocuments(in.Documents, in.DocumentIDs)
	in.IdempotencyKey = c.idempotencyKey(in.IdempotencyKey)
	return c.Err()
}

// sentDocuments validates the new and the stored documents of a message.
func (c *Checks) sentDocuments(sent, stored []string) {
	c.documents("documents", sent, MaxMessageDocuments)
	if len(sent)+len(stored) > MaxMessageDocuments && len(sent) <= MaxMessageDocuments {
		c.Add("document_ids", "too_many", "Send at most %d documents.", MaxMessageDocuments)
		return
	}
	c.documents("document_ids", stored, MaxMessageDocuments)
}

// documents validates a list of documents.
func (c *Checks) documents(field string, list []string, most int) {
	if len(list) > most {
		c.Add(field, "too_many", "Send at most %d documents.", most)
		return
	}
	seen := map[ID]bool{}
	for _, id := range DocumentIDs(list) {
		seen[id] = true
	}
	if len(seen) < len(list) {
		c.Add(field, "invalid", "Send the IDs of documents, each once.")
	}
}

// DocumentIDs parses a checked list of documents.
func DocumentIDs(list []string) []ID {
	ids := make([]ID, 0, len(list))
	for _, text := range list {
		if id, err := ParseID(text); err == nil {
			ids = append(ids, id)
		}
	}
	return ids
}

// Writes returns the side for which an account with these roles writes about the claim. It is an error if it
// may not, or if the claim is closed. A log stays open for notes.
func (c Claim) Writes(roles Roles) (ClaimSide, error) {
	side := BusinessSide
	if roles.Has(Owner) {
		side = OwnerSide
	} else if err := roles.MayDecide(c.ManagedBy); err != nil {
		return "", err
	}
	if c.ManagedBy == ManagedByBusiness && !slices.Contains(OpenClaimStatuses, c.Status) {
		return "", Refuse(InvalidTransition, "The claim is %s and takes no more messages.", c.Status)
	}
	return side, nil
}

// spokeStatus is the factor of the status in Claim.Spoke.
const spokeStatus = 10

// Says notes that a side wrote a message. The reply of an owner who was asked for information continues the
// review; it reports whether it did.
func (c *Claim) Says(side ClaimSide, now time.Time) (replied bool) {
	before := *c
	if replied = c.Status == InfoRequested && side == OwnerSide && c.ManagedBy == ManagedByBusiness; replied {
		c.Status, c.StatusReason = UnderReview, nil
	}
	c.Spoke, c.UpdatedAt = spokeStatus*EnumNumber(c.Status)+EnumNumber(side), now
	c.waits(before, now)
	return replied
}

// waits notes since when a changed claim waits for a side: for another one, since now.
func (c *Claim) waits(before Claim, now time.Time) {
	was, is := before.Waiting(), c.Waiting()
	if was == nil || is == nil || *was != *is {
		c.Since = now
	}
}

// HasReplied reports whether the side that does not read the claim wrote last in the present status.
func (c Claim) HasReplied() bool {
	other := OwnerSide
	if c.Roles.Has(Owner) {
		other = BusinessSide
	}
	return c.Spoke == spokeStatus*EnumNumber(c.Status)+EnumNumber(other)
}

// Waiting returns the side that a claim waits for, or nil. spoke is who wrote last in the present status.
func (c Claim) Waiting() *ClaimSide {
	if c.ManagedBy != ManagedByBusiness {
		return nil
	}
	owner, business := OwnerSide, BusinessSide
	spoke := ClaimSide("")
	if c.Spoke/spokeStatus == EnumNumber(c.Status) {
		spoke = EnumOf[ClaimSide](c.Spoke % spokeStatus)
	}
	switch {
	case c.Status == InfoRequested, c.Status == UnderReview && spoke == BusinessSide:
		return &owner
	case c.Status == Submitted, c.Status == UnderReview,
		(c.Status == Approved || c.Status == InProgress) && spoke == OwnerSide:
		return &business
	}
	return nil
}

// ClaimHandling is how a business handles a claim.
type ClaimHandling struct {
	ClaimID    ID         `json:"claim_id" doc:"Identifier of the claim."`
	Customer   *Customer  `json:"customer" doc:"The owner, as shared with businesses by filing the claim or writing a message; null if it was not."`
	AssignedTo *Assignee  `json:"assigned_to" doc:"Member of your organization who works on the claim; null if nobody does."`
	Assignable []Assignee `json:"assignable" doc:"Members of your organization who can be assigned."`
}

// Customer is the owner of a warranty, for those who decide a claim.
type Customer struct {
	Name  string `json:"name" doc:"Name of the owner."`
	Email string `json:"email" doc:"Email address of the owner."`
}

// Assignee is a member of an organization.
type Assignee struct {
	ID   ID     `json:"id" doc:"Identifier of the person."`
	Name string `json:"name" doc:"Name of the person."`
}

// GetClaimHandling is the input of claims.handling.
type GetClaimHandling struct {
	ID ClaimKey `json:"id" in:"path" required:"true" doc:"ID or number of the claim."`
}

// AssignClaim is the input of claims.assign.
type AssignClaim struct {
	ID     ClaimKey `json:"id" in:"path" required:"true" doc:"ID or number of the claim."`
	UserID *ID      `json:"user_id,omitempty" null:"true" doc:"Member who works on the claim. Leave it out for nobody."`
}

// MuteClaim is the input of claims.mute.
type MuteClaim struct {
	ID    ClaimKey `json:"id" in:"path" required:"true" doc:"ID or number of the claim."`
	Muted *bool    `json:"muted,omitempty" required:"true" doc:"Whether you get no emails about the claim. Decisions and messages are still on its page."`
}

// Check validates the input.
func (in *MuteClaim) Check() error {
	var c Checks
	if in.Muted == nil {
		c.Add("muted", "required", "This field is required.")
	}
	return c.Err()
}

// ClaimMute says whether a person gets emails about a claim, for the account that they act for.
type ClaimMute struct {
	ClaimID ID   `json:"claim_id" doc:"Identifier of the claim."`
	Muted   bool `json:"muted" doc:"Whether you get no emails about the claim. Others on the claim still get theirs."`
}

// DetachDocument is the input of claims.detach.
type DetachDocument struct {
	ID         ClaimKey `json:"id" in:"path" required:"true" doc:"ID or number of the claim."`
	DocumentID ID       `json:"document_id" in:"path" required:"true" doc:"Identifier of a document of the warranty that was sent with the claim."`
}
