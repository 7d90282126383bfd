package warranty

import (
	"encoding/base64"
	"encoding/binary"
	"errors"
	"reflect"
	"slices"
	"strings"
	"time"
)

// GoneLifetime is how long the service remembers that a record left an account.
const GoneLifetime = 90 * 24 * time.Hour

// Feed is the part of a list of changes that says how to continue.
type Feed struct {
	Next     *FeedPosition `json:"next" doc:"Send it as after to get the next page; null on the last page."`
	SyncedTo time.Time     `json:"synced_to,omitzero" doc:"Where your next synchronization begins: send it as updated_since or since."`
}

// FeedPosition is a place in a list of changes. As text it is the next of a response.
type FeedPosition struct {
	// At and ID are of the last record that was read.
	At time.Time
	ID ID
	// Settled is where the next walk begins once this one is complete; zero before the first page.
	Settled time.Time
}

// MarshalText encodes the position.
func (p FeedPosition) MarshalText() ([]byte, error) { return p.AppendText(nil) }

// AppendText appends the encoded position.
func (p FeedPosition) AppendText(text []byte) ([]byte, error) {
	b := binary.BigEndian.AppendUint64(nil, uint64(p.Settled.UnixMicro()))
	b = binary.BigEndian.AppendUint64(b, uint64(p.At.UnixMicro()))
	return base64.RawURLEncoding.AppendEncode(text, append(b, p.ID[:]...)), nil
}

// UnmarshalText decodes the position.
func (p *FeedPosition) UnmarshalText(text []byte) error {
	b, err := base64.RawURLEncoding.AppendDecode(nil, text)
	if err != nil || len(b) != 8+8+len(p.ID) {
		return errPosition
	}
	settled, at := binary.BigEndian.Uint64(b), binary.BigEndian.Uint64(b[8:])
	if settled > maxInstant || at > maxInstant {
		return errPosition
	}
	p.Settled, p.At = time.UnixMicro(int64(settled)).UTC(), time.UnixMicro(int64(at)).UTC()
	copy(p.ID[:], b[16:])
	return nil
}

var errPosition = errors.New("must be the next of an earlier response")

// maxInstant is the end of the year 9999, in microseconds.
const maxInstant = 253_402_300_799_999_999

// feedStart returns the position before all changes at or after a time.
func feedStart(since time.Time) FeedPosition {
	p := FeedPosition{At: since.Truncate(time.Microsecond).Add(-time.Microsecond)}
	for i := range p.ID {
		p.ID[i] = 0xFF
	}
	return p
}

// IsFeed reports whether the input asks for changes.
func (in *ListWarranties) IsFeed() bool { return in.UpdatedSince != nil }

// From returns the position after which changes are listed.
func (in *ListWarranties) From() FeedPosition { return feedFrom(*in.UpdatedSince, in.After) }

func feedFrom(since time.Time, after *FeedPosition) FeedPosition {
	if after != nil {
		return *after
	}
	return feedStart(since)
}

// feedParams are the parameters that updated_since can be combined with.
var feedParams = []string{"updated_since", "after", "limit", "fields"}

// checkFeed validates the parameters of a list of changes. It must run before defaults are set.
// Filters are rejected: a record that no longer matches would be missing, as if it had not changed.
func (in *ListWarranties) checkFeed(c *Checks) {
	if !in.IsFeed() {
		if in.After != nil {
			c.Add("after", "invalid", "Send it together with updated_since.")
		}
		return
	}
	value := reflect.ValueOf(*in)
	for _, f := range reflect.VisibleFields(value.Type()) {
		name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		if f.Anonymous || slices.Contains(feedParams, name) || value.FieldByIndex(f.Index).IsZero() {
			continue
		}
		if name == "page" {
			c.Add(name, "not_with_updated_since", "Changes have no page numbers. Continue with after.")
		} else {
			c.Add(name, "not_with_updated_since", "Cannot be combined with updated_since, which lists every change.")
		}
	}
}

// ListDeleted is the input of warranties.deleted.
type ListDeleted struct {
	Since *time.Time    `json:"since,omitempty" in:"query" doc:"Only warranties that left your account at or after this time; at most 90 days ago. Use the synced_to of an earlier response." example:"2026-03-01T12:00:00Z"`
	Limit int           `json:"limit,omitzero" in:"query" default:"20" min:"1" max:"100" doc:"Records per page, 1 to 100."`
	After *FeedPosition `json:"after,omitempty" in:"query" doc:"The next of the previous page."`
}

// Check validates the input as of now and sets defaults.
func (in *ListDeleted) Check(now time.Time) error {
	c := in.shape()
	oldest := now.Add(-GoneLifetime)
	if in.Since == nil {
		in.Since = &oldest
	}
	if in.Since.Before(oldest) {
		c.Add("since", "too_old",
			"Deletions are kept for 90 days. List all warranties again and remove those that are not in the list.")
	}
	return c.Err()
}

// CheckShape is the part of Check that does not depend on the time.
func (in *ListDeleted) CheckShape() error {
	c := in.shape()
	return c.Err()
}

func (in *ListDeleted) shape() (c Checks) {
	p := Paging{Limit: in.Limit}
	p.Check(&c)
	in.Limit = p.Limit
	return c
}

// From returns the position after which deletions are listed.
func (in *ListDeleted) From() FeedPosition { return feedFrom(*in.Since, in.After) }

// Deletion is a warranty that left an account: it was deleted or transferred, or the account lost
// its role.
type Deletion struct {
	ID              ID        `json:"id" doc:"Identifier of the warranty."`
	ReferenceNumber Reference `json:"reference_number" doc:"Reference number of the warranty."`
	DeletedAt       time.Time `json:"deleted_at" doc:"When the warranty left your account."`
}
