package warranty

import "time"

// MaxNotes is the number of notes that an account can write about a claim.
const MaxNotes = 500

// Note is what a member of a business wrote about a claim for the others. Owners never see it.
type Note struct {
	ID        ID        `json:"id" doc:"Identifier of the note."`
	Author    string    `json:"author" doc:"Name of the member who wrote it, at that time."`
	Body      string    `json:"body" doc:"Text of the note."`
	CreatedAt time.Time `json:"created_at" doc:"When it was written."`
	ClaimID   ID        `json:"-"`
	Replay    bool      `json:"-"` // a stored response to an earlier request
}

// RecordID returns the ID used in the Location header of a created note: that of its claim.
func (n Note) RecordID() ID { return n.ClaimID }

// Replayed reports whether this is the stored result of an earlier request.
func (n Note) Replayed() bool { return n.Replay }

// SetReplayed sets Replay.
func (n *Note) SetReplayed(replayed bool) { n.Replay = replayed }

// ListNotes is the input of claims.notes.
type ListNotes struct {
	Paging
	ID ClaimKey `json:"id" in:"path" required:"true" doc:"ID or number of the claim."`
}

// Check validates the input.
func (in *ListNotes) Check() error {
	var c Checks
	in.Paging.Check(&c)
	return c.Err()
}

// WriteNote is the input of claims.note.
type WriteNote struct {
	ID   ClaimKey `json:"id" in:"path" required:"true" doc:"ID or number of the claim."`
	Body string   `json:"body,omitzero" required:"true" max:"5000" doc:"Text of the note, 1 to 5000 characters." example:"Returned machine. If it is the seal again, replace it."`

	IdempotencyKey *string `json:"idempotency_key,omitempty" in:"header" max:"255" doc:"A unique string that you generate. Repeating a request with the same key and body within 24 hours returns the same response and does not create a second record."`
}

// Check validates the input.
func (in *WriteNote) Check() error {
	var c Checks
	in.Body = c.lines("body", in.Body, 1, MaxMessage)
	in.IdempotencyKey = c.idempotencyKey(in.IdempotencyKey)
	return c.Err()
}
