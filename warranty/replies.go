package warranty

import "time"

// Limits of saved replies.
const (
	MaxReplies    = 100 // of an account
	MaxReplyTitle = 80
)

// SavedReply is a text that an account uses again in messages about claims.
type SavedReply struct {
	ID        ID        `json:"id" doc:"Identifier of the saved reply."`
	Title     string    `json:"title" doc:"Title, to choose it by."`
	Body      string    `json:"body" doc:"Text of the reply."`
	CreatedAt time.Time `json:"created_at" doc:"When it was saved."`
	UpdatedAt time.Time `json:"updated_at" doc:"When it last changed."`
}

// ListReplies is the input of replies.list.
type ListReplies struct{ Paging }

// Check validates the input.
func (in *ListReplies) Check() error {
	var c Checks
	in.Paging.Check(&c)
	return c.Err()
}

// CreateReply is the input of replies.create.
type CreateReply struct {
	Title string `json:"title,omitzero" required:"true" max:"80" doc:"Title, to choose it by." example:"Ask for the type plate"`
	Body  string `json:"body,omitzero" required:"true" max:"5000" doc:"Text of the reply." example:"Please send a photo of the type plate."`
}

// Check trims and validates the input.
func (in *CreateReply) Check() error {
	var c Checks
	in.Title = c.text("title", in.Title, 1, MaxReplyTitle)
	in.Body = c.lines("body", in.Body, 1, MaxMessage)
	return c.Err()
}

// UpdateReply is the input of replies.update. Fields that are nil stay as they are.
type UpdateReply struct {
	ID    ID      `json:"id" in:"path" required:"true" doc:"Identifier of the saved reply."`
	Title *string `json:"title,omitempty" max:"80" doc:"Title, to choose it by."`
	Body  *string `json:"body,omitempty" max:"5000" doc:"Text of the reply."`
}

// Check trims and validates the input.
func (in *UpdateReply) Check() error {
	var c Checks
	if in.Title != nil {
		*in.Title = c.text("title", *in.Title, 1, MaxReplyTitle)
	}
	if in.Body != nil {
		*in.Body = c.lines("body", *in.Body, 1, MaxMessage)
	}
	return c.Err()
}

// Apply returns the changed reply.
func (in UpdateReply) Apply(r SavedReply) SavedReply {
	set(&r.Title, in.Title)
	set(&r.Body, in.Body)
	return r
}

// DeleteReply is the input of replies.delete.
type DeleteReply struct {
	ID ID `json:"id" in:"path" required:"true" doc:"Identifier of the saved reply."`
}
