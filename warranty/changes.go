package warranty

import (
	"encoding/base64"
	"encoding/binary"
	"time"
)

// ListChanges is the input of warranties.changes.
type ListChanges struct {
	Cursor *ChangesCursor `json:"cursor,omitempty" in:"query" doc:"The cursor of the previous response, to continue from there."`
	Since  *time.Time     `json:"since,omitempty" in:"query" doc:"Where to begin without a cursor, at most 90 days ago; 7 days ago by default." example:"2026-03-01T12:00:00Z"`
	Limit  int            `json:"limit,omitzero" in:"query" default:"20" min:"1" max:"100" doc:"Records of each list, 1 to 100." tool:"Records of each list."`
}

// recently is where a list of changes begins by default.
const recently = 7 * 24 * time.Hour

// Check validates the input as of now and sets defaults.
func (in *ListChanges) Check(now time.Time) error {
	c, field := in.shape(), "cursor"
	if in.Cursor == nil {
		field = "since"
		since := now.Add(-recently)
		if in.Since != nil {
			since = *in.Since
		}
		in.Cursor = &ChangesCursor{feedStart(since), feedStart(since)}
	}
	if in.Cursor.Left.At.Before(now.Add(-GoneLifetime)) {
		c.Add(field, "too_old",
			"What left is kept for 90 days. List all warranties again, and begin here without a cursor.")
	}
	return c.Err()
}

// CheckShape is the part of Check that does not depend on the time.
func (in *ListChanges) CheckShape() error {
	c := in.shape()
	return c.Err()
}

func (in *ListChanges) shape() (c Checks) {
	p := Paging{Limit: in.Limit}
	p.Check(&c)
	in.Limit = p.Limit
	return c
}

// Changes is what changed and what left an account since a cursor.
type Changes struct {
	Changed []ChangedWarranty `json:"changed" doc:"Warranties that were added or changed for you, oldest change first. Some may be repeated in the next response."`
	Left    []Deletion        `json:"left" doc:"Warranties that left your account: deleted, transferred, or no longer shared with you. Remove them after you applied changed."`
	Cursor  ChangesCursor     `json:"cursor" doc:"Send it to continue, now or later."`
	More    bool              `json:"more" doc:"Whether there are more changes already."`
}

// ChangedWarranty is a warranty in a list of changes.
type ChangedWarranty struct {
	ID              ID        `json:"id" doc:"Identifier of the warranty."`
	ReferenceNumber Reference `json:"reference_number" doc:"Reference number of the warranty."`
	ProductName     string    `json:"product_name" doc:"What is covered."`
	Status          Status    `json:"status" doc:"Status today."`
	EndDate         Date      `json:"end_date" doc:"Last day of coverage, inclusive; 9999-12-31 means lifetime."`
	UpdatedAt       time.Time `json:"updated_at" doc:"When the record last changed. A change of your roles does not change it."`
}

// ChangesOf returns a list of changes, from a page of each feed.
func ChangesOf(list []Warranty, left []Deletion, changed, gone Feed) Changes {
	out := Changes{Changed: make([]ChangedWarranty, 0, len(list)), Left: left}
	for _, w := range list {
		out.Changed = append(out.Changed,
			ChangedWarranty{w.ID, w.ReferenceNumber, w.ProductName, w.Status, w.EndDate, w.UpdatedAt})
	}
	if out.Left == nil {
		out.Left = []Deletion{}
	}
	after := func(f Feed) FeedPosition {
		if f.Next == nil {
			return feedStart(f.SyncedTo)
		}
		out.More = true
		return *f.Next
	}
	out.Cursor = ChangesCursor{after(changed), after(gone)}
	return out
}

// ChangesCursor is a place in both lists of changes.
type ChangesCursor struct{ Changed, Left FeedPosition }

// MarshalText encodes the cursor.
func (p ChangesCursor) MarshalText() ([]byte, error) { return p.AppendText(nil) }

// AppendText appends the encoded cursor.
func (p ChangesCursor) AppendText(text []byte) ([]byte, error) {
	var b []byte
	for _, at := range []FeedPosition{p.Changed, p.Left} {
		settled := uint64(0) // before the first page
		if !at.Settled.IsZero() {
			settled = uint64(at.Settled.UnixMicro())
		}
		b = binary.BigEndian.AppendUint64(b, settled)
		b = binary.BigEndian.AppendUint64(b, uint64(max(0, at.At.UnixMicro())))
		b = append(b, at.ID[:]...)
	}
	return base64.RawURLEncoding.AppendEncode(text, b), nil
}

// UnmarshalText decodes the cursor.
func (p *ChangesCursor) UnmarshalText(text []byte) error {
	b, err := base64.RawURLEncoding.AppendDecode(nil, text)
	const size = 8 + 8 + len(ID{})
	if err != nil || len(b) != 2*size {
		return errPosition
	}
	for i, at := range []*FeedPosition{&p.Changed, &p.Left} {
		part := b[i*size:]
		settled, when := binary.BigEndian.Uint64(part), binary.BigEndian.Uint64(part[8:])
		if settled > maxInstant || when > maxInstant {
			return errPosition
		}
		*at = FeedPosition{At: time.UnixMicro(int64(when)).UTC()}
		if settled > 0 {
			at.Settled = time.UnixMicro(int64(settled)).UTC()
		}
		copy(at.ID[:], part[16:])
	}
	return nil
}
