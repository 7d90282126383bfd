package warranty

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"
)

// Lengths of texts, in characters.
const (
	MaxProductName  = 200
	MaxDescription  = 5000
	MaxSerialNumber = 120
	MaxExternalID   = 120
	MaxCategory     = 80
	MaxSupplier     = 200
	MaxSellerName   = 200
	MaxEmail        = 254
	MaxKey          = 255
	MaxQuery        = 200
	MaxIfMatch      = 1000
)

// Warranty is a record of cover for one product, as its reader sees it today.
type Warranty struct {
	ID              ID        `json:"id" doc:"Identifier of the warranty."`
	ReferenceNumber Reference `json:"reference_number" doc:"Number printed on the warranty; anyone who has it can verify the cover."`
	ProductName     string    `json:"product_name" doc:"What is covered."`
	Description     *string   `json:"description" doc:"Terms or remarks."`
	SerialNumber    *string   `json:"serial_number" doc:"Serial number of the product."`
	ExternalID      *string   `json:"external_id" doc:"The issuer's own number for the record; null for everyone else."`
	Category        *string   `json:"category" doc:"Kind of product, in your own words."`
	Supplier        *string   `json:"supplier" doc:"Who supplied the product."`
	SellerName      *string   `json:"seller_name" doc:"Who sold the product."`
	SellerEmail     *string   `json:"seller_email" format:"email" doc:"The seller's e-mail address; the account that verified it sees the record."`
	StartDate       Date      `json:"start_date" doc:"First day of cover."`
	EndDate         Date      `json:"end_date" doc:"Last day of cover, inclusive; 9999-12-31 means for life."`
	Status          Status    `json:"status" doc:"What was set, except that an active warranty shows as upcoming before its start and expired after its end."`
	DaysRemaining   *int      `json:"days_remaining" doc:"Whole days of cover left after today; null unless active, and for life."`
	Roles           Roles     `json:"roles" doc:"What you are to this warranty."`
	VerifyURL       string    `json:"verify_url" format:"uri" doc:"Public page that verifies this warranty."`
	CreatedAt       time.Time `json:"created_at" doc:"When the record was made."`
	UpdatedAt       time.Time `json:"updated_at" doc:"When the record last changed."`

	// Standing is the status that is stored: active, void or cancelled.
	Standing Status `json:"-"`
	// Version counts the changes of the record; it is the ETag.
	Version int64 `json:"-"`
	// Replay marks the repeated answer to a repeated Idempotency-Key.
	Replay bool `json:"-"`
}

// RecordID is the id that a created record's Location is made of.
func (w Warranty) RecordID() ID { return w.ID }

// ETag is the record's version as an HTTP entity tag.
func (w Warranty) ETag() string { return fmt.Sprintf(`"%d"`, w.Version) }

// Replayed tells whether this is the stored answer of an earlier request.
func (w Warranty) Replayed() bool { return w.Replay }

// SetETag puts the version back that an ETag says; a client reads it there.
func (w *Warranty) SetETag(tag string) {
	if n, err := strconv.ParseInt(strings.Trim(tag, `"`), 10, 64); err == nil {
		w.Version = n
	}
}

// SetReplayed puts back whether this is the stored answer of an earlier request.
func (w *Warranty) SetReplayed(replayed bool) { w.Replay = replayed }

// Matches tells whether an If-Match value names this version of the record. An
// empty one, which is a condition that was not made, matches; a weak tag never does.
func (w Warranty) Matches(ifMatch string) bool {
	if ifMatch == "" {
		return true
	}
	tags, ok := entityTags(ifMatch)
	return ok && (slices.Contains(tags, "*") || slices.Contains(tags, w.ETag()))
}

// ValidIfMatch tells whether a value is what RFC 9110 allows in If-Match: entity
// tags in a list, or * alone.
func ValidIfMatch(value string) bool { _, ok := entityTags(value); return ok }

// entityTags reads an If-Match value. Empty elements of a list are skipped, as the
// RFC asks of readers; * stands alone.
func entityTags(value string) (tags []string, ok bool) {
	rest := strings.Trim(value, " \t")
	if rest == "*" {
		return []string{"*"}, true
	}
	for rest != "" {
		if rest[0] == ',' {
			rest = strings.TrimLeft(rest[1:], " \t")
			continue
		}
		opaque := strings.TrimPrefix(rest, "W/")
		if !strings.HasPrefix(opaque, `"`) {
			return nil, false
		}
		end := strings.IndexByte(opaque[1:], '"')
		if end < 0 || strings.ContainsFunc(opaque[1:end+1], func(r rune) bool { return r <= ' ' || r == 0x7F }) {
			return nil, false
		}
		size := len(rest) - len(opaque) + end + 2
		tags = append(tags, rest[:size])
		if rest = strings.TrimLeft(rest[size:], " \t"); rest != "" && rest[0] != ',' {
			return nil, false
		}
	}
	return tags, len(tags) > 0
}

// Show derives what depends on the day: the status that is shown and the days
// that are left. Nothing derived is stored, so a status can not drift from the dates.
func (w *Warranty) Show(today Date) {
	w.Status, w.DaysRemaining = w.Standing, nil
	switch {
	case w.Standing != Active:
	case today < w.StartDate:
		w.Status = Upcoming
	case today > w.EndDate:
		w.Status = Expired
	case w.EndDate != Lifetime:
		days := int(w.EndDate - today)
		w.DaysRemaining = &days
	}
}

// Covers tells whether the warranty covers something that happened on the day.
func (w Warranty) Covers(day Date) bool {
	return w.Standing == Active && day >= w.StartDate && day <= w.EndDate
}

// Status is where a warranty stands.
type Status string

// The statuses. Only the first three are stored; the others are derived from the dates.
const (
	Active    Status = "active"
	Void      Status = "void"
	Cancelled Status = "cancelled"
	Upcoming  Status = "upcoming"
	Expired   Status = "expired"
)

var statusNames = namesOf(Active, Void, Cancelled, Upcoming, Expired)

// Values lists the names a Status may have.
func (Status) Values() []string { return statusNames }

// String is the status's name.
func (s Status) String() string { return string(s) }

// statusMoves says which status may follow which. Cancelled is final.
var statusMoves = map[Status][]Status{Active: {Void, Cancelled}, Void: {Active}, Cancelled: nil}

// ListWarranties asks for the caller's warranties, newest first.
type ListWarranties struct {
	Paging
	Status             Status `json:"status,omitzero" in:"query" doc:"Only warranties that show this status."`
	Category           string `json:"category,omitzero" in:"query" max:"80" doc:"Only this category; case does not matter."`
	Role               Role   `json:"role,omitzero" in:"query" doc:"Only warranties on which you have this role."`
	Q                  string `json:"q,omitzero" in:"query" max:"200" doc:"Text to find in product name, serial number and reference."`
	ExternalID         string `json:"external_id,omitzero" in:"query" max:"120" doc:"Only the warranty that you issued with this external id."`
	ExpiringWithinDays *int   `json:"expiring_within_days,omitempty" in:"query" min:"0" max:"3650" doc:"Only active warranties that end within this many days."`
}

// Check refuses what no list can be asked for.
func (in *ListWarranties) Check() error {
	var c Checks
	in.Paging.Check(&c)
	in.Category = c.text("category", in.Category, 0, MaxCategory)
	in.Q = c.text("q", in.Q, 0, MaxQuery)
	in.ExternalID = c.text("external_id", in.ExternalID, 0, MaxExternalID)
	if d := in.ExpiringWithinDays; d != nil && (*d < 0 || *d > 3650) {
		c.Add("expiring_within_days", "out_of_range", "Write a number of days from 0 to 3650.")
	}
	return c.Err()
}

// GetWarranty asks for one warranty.
type GetWarranty struct {
	ID ID `json:"id" in:"path" required:"true" doc:"Identifier of the warranty."`
}

// CreateWarranty makes a warranty of which the caller is owner and issuer.
type CreateWarranty struct {
	ProductName    string  `json:"product_name,omitzero" required:"true" max:"200" doc:"What is covered." example:"Bosch Serie 6 washing machine"`
	StartDate      Date    `json:"start_date,omitzero" required:"true" doc:"First day of cover." example:"2026-03-01"`
	EndDate        Date    `json:"end_date,omitzero" required:"true" doc:"Last day of cover, inclusive; 9999-12-31 means for life." example:"2028-02-29"`
	Description    string  `json:"description,omitzero" max:"5000" doc:"Terms or remarks."`
	SerialNumber   string  `json:"serial_number,omitzero" max:"120" doc:"Serial number of the product." example:"WGG244A20-0017"`
	ExternalID     string  `json:"external_id,omitzero" max:"120" doc:"Your own number for the record, unique among those that you issued. A second create with it is refused." example:"order-4711-2"`
	Category       string  `json:"category,omitzero" max:"80" doc:"Kind of product, in your own words." example:"Appliances"`
	Supplier       string  `json:"supplier,omitzero" max:"200" doc:"Who supplied the product."`
	SellerName     string  `json:"seller_name,omitzero" max:"200" doc:"Who sold the product."`
	SellerEmail    string  `json:"seller_email,omitzero" max:"254" format:"email" doc:"The seller's e-mail address; the account that verified it will see the record."`
	IdempotencyKey *string `json:"idempotency_key,omitempty" in:"header" max:"255" doc:"A unique string of yours. The same key and body within 24 hours give the same answer and make no second record."`
}

// Check trims the texts and refuses what a warranty can not be made of.
func (in *CreateWarranty) Check() error {
	var c Checks
	in.ProductName = c.text("product_name", in.ProductName, 1, MaxProductName)
	checkDates(&c, in.StartDate, in.EndDate)
	in.Description = c.lines("description", in.Description, 0, MaxDescription)
	in.SerialNumber = c.text("serial_number", in.SerialNumber, 0, MaxSerialNumber)
	in.ExternalID = c.text("external_id", in.ExternalID, 0, MaxExternalID)
	in.Category = c.text("category", in.Category, 0, MaxCategory)
	in.Supplier = c.text("supplier", in.Supplier, 0, MaxSupplier)
	in.SellerName = c.text("seller_name", in.SellerName, 0, MaxSellerName)
	in.SellerEmail = c.email("seller_email", in.SellerEmail, false)
	if in.IdempotencyKey != nil {
		key := strings.TrimSpace(*in.IdempotencyKey)
		// The IETF draft writes the key as a quoted string; most clients do not.
		if len(key) >= 2 && key[0] == '"' && key[len(key)-1] == '"' {
			key = key[1 : len(key)-1]
		}
		if len(key) < 1 || len(key) > MaxKey || strings.ContainsFunc(key, func(r rune) bool { return r < 0x20 || r > 0x7E }) {
			c.Add("idempotency_key", "invalid", "Write the Idempotency-Key as 1 to 255 printable ASCII characters.")
		}
		in.IdempotencyKey = &key
	}
	return c.Err()
}

func checkDates(c *Checks, start, end Date) {
	if start.IsZero() {
		c.Add("start_date", "required", "This field is required; write it as YYYY-MM-DD.")
	}
	if end.IsZero() {
		c.Add("end_date", "required", "This field is required; write it as YYYY-MM-DD.")
	}
	if !start.IsZero() && !end.IsZero() && end < start {
		c.Add("end_date", "before_start", "The last day of cover can not be before its first day.")
	}
}

// UpdateWarranty changes the fields that are given and leaves the others.
type UpdateWarranty struct {
	ID          ID      `json:"id" in:"path" required:"true" doc:"Identifier of the warranty."`
	ProductName *string `json:"product_name,omitempty" max:"200" doc:"What is covered."`
	StartDate   *Date   `json:"start_date,omitempty" doc:"First day of cover."`
	EndDate     *Date   `json:"end_date,omitempty" doc:"Last day of cover, inclusive; 9999-12-31 means for life."`
	Status      *Status `json:"status,omitempty" enum:"active,void,cancelled" doc:"New status: active, void or cancelled. Upcoming and expired follow from the dates."`
	Category    *string `json:"category,omitempty" null:"true" max:"80" doc:"Kind of product; an empty text takes it away."`
	Supplier    *string `json:"supplier,omitempty" null:"true" max:"200" doc:"Who supplied the product; an empty text takes it away."`
	ExternalID  *string `json:"external_id,omitempty" null:"true" max:"120" doc:"The issuer's own number for the record; an empty text takes it away. Only the issuer can set it."`
	IfMatch     string  `json:"if_match,omitzero" in:"header" max:"1000" doc:"Change the record only while its ETag is this one."`
}

// Check trims the texts and refuses what no warranty may be changed to.
func (in *UpdateWarranty) Check() error {
	var c Checks
	trim := func(field string, value *string, least, most int) {
		if value != nil {
			*value = c.text(field, *value, least, most)
		}
	}
	trim("product_name", in.ProductName, 1, MaxProductName)
	trim("category", in.Category, 0, MaxCategory)
	trim("supplier", in.Supplier, 0, MaxSupplier)
	trim("external_id", in.ExternalID, 0, MaxExternalID)
	in.IfMatch = c.ifMatch(in.IfMatch)
	if in.StartDate != nil && in.StartDate.IsZero() {
		c.Add("start_date", "required", "A warranty always has this date; leave the field out to keep it.")
	}
	if in.EndDate != nil && in.EndDate.IsZero() {
		c.Add("end_date", "required", "A warranty always has this date; leave the field out to keep it.")
	}
	if in.StartDate != nil && in.EndDate != nil && !in.StartDate.IsZero() && !in.EndDate.IsZero() && *in.EndDate < *in.StartDate {
		c.Add("end_date", "before_start", "The last day of cover can not be before its first day.")
	}
	if in.Status != nil {
		switch *in.Status {
		case "":
			c.Add("status", "required", "A warranty always has a status; leave the field out to keep it.")
		case Upcoming, Expired:
			c.Add("status", "not_settable", "This status follows from the dates: change start_date or end_date instead. Settable are active, void and cancelled.")
		}
	}
	return c.Err()
}

// fields tells whether the change touches anything but the status and the
// issuer's number.
func (in UpdateWarranty) fields() bool {
	return in.ProductName != nil || in.StartDate != nil || in.EndDate != nil || in.Category != nil || in.Supplier != nil
}

// Apply makes the change to a warranty whose Roles are the caller's, or says
// why it may not be made. It is the whole rule of PUT, and touches nothing else.
func (in UpdateWarranty) Apply(w Warranty) (Warranty, error) {
	if in.fields() {
		if err := w.Roles.May(UpdateFields); err != nil {
			return w, err
		}
	}
	if in.ExternalID != nil {
		if err := w.Roles.May(SetExternalID); err != nil {
			return w, err
		}
	}
	if in.Status != nil && *in.Status != w.Standing {
		if err := moveStatus(w, *in.Status); err != nil {
			return w, err
		}
		w.Standing = *in.Status
	}
	set(&w.ProductName, in.ProductName)
	set(&w.StartDate, in.StartDate)
	set(&w.EndDate, in.EndDate)
	setOptional(&w.Category, in.Category)
	setOptional(&w.Supplier, in.Supplier)
	setOptional(&w.ExternalID, in.ExternalID)
	if w.EndDate < w.StartDate {
		var c Checks
		field := "end_date"
		if in.EndDate == nil {
			field = "start_date"
		}
		c.Add(field, "before_start", "The last day of cover would be before its first day: the record has "+
			w.StartDate.String()+" to "+w.EndDate.String()+" with this change.")
		return w, c.Err()
	}
	return w, nil
}

func moveStatus(w Warranty, to Status) error {
	verb := VoidOrReinstate
	if to == Cancelled {
		verb = Cancel
	}
	if err := w.Roles.May(verb); err != nil {
		return err
	}
	allowed := statusMoves[w.Standing]
	names := make([]string, 0, len(allowed))
	for _, s := range allowed {
		if s == to {
			return nil
		}
		names = append(names, s.String())
	}
	if len(names) == 0 {
		return Refuse(InvalidTransition, "A "+w.Standing.String()+" warranty stays "+w.Standing.String()+".")
	}
	return Refuse(InvalidTransition, "A "+w.Standing.String()+" warranty can become: "+strings.Join(names, ", ")+".")
}

func set[T any](field *T, value *T) {
	if value != nil {
		*field = *value
	}
}

func setOptional(field **string, value *string) {
	if value != nil {
		*field = Optional(*value)
	}
}

// Optional is nil for an empty text: the form in which a record holds what was not given.
func Optional(s string) *string {
	if s == "" {
		return nil
	}
	return &s
}

// DeleteWarranty takes a warranty away; its history stays.
type DeleteWarranty struct {
	ID      ID     `json:"id" in:"path" required:"true" doc:"Identifier of the warranty."`
	IfMatch string `json:"if_match,omitzero" in:"header" max:"1000" doc:"Delete the record only while its ETag is this one."`
}

// Check refuses what no entity tag can be.
func (in *DeleteWarranty) Check() error {
	var c Checks
	in.IfMatch = c.ifMatch(in.IfMatch)
	return c.Err()
}
