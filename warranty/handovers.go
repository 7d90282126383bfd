package warranty

import (
	"strings"
	"time"
)

// How long hand-overs can be taken.
const (
	MailedHandoverLifetime  = 30 * 24 * time.Hour
	PrintedHandoverLifetime = 2 * 365 * 24 * time.Hour
)

// MaxCustomerName is the maximum length of a customer's name, in characters.
const MaxCustomerName = 200

// HandoverStatus is how far a warranty is on its way from its issuer to a customer.
type HandoverStatus string

// The statuses of a hand-over.
const (
	HandoverNone    HandoverStatus = "none"
	HandoverOffered HandoverStatus = "offered"
	HandoverTaken   HandoverStatus = "taken"
)

var handoverStatusNames = namesOf(HandoverNone, HandoverOffered, HandoverTaken)

// Values lists the known statuses.
func (HandoverStatus) Values() []string { return handoverStatusNames }

// String returns the status's name.
func (s HandoverStatus) String() string { return string(s) }

// Handover is what the issuer of a warranty sees of its hand-over.
type Handover struct {
	Status    HandoverStatus `json:"status" doc:"none, offered or taken."`
	Email     *string        `json:"email" format:"email" doc:"Address that the warranty was offered to; null for a printed code."`
	OfferedAt *time.Time     `json:"offered_at" doc:"When it was offered."`
	ExpiresAt *time.Time     `json:"expires_at" doc:"When the offer expires."`
	TakenAt   *time.Time     `json:"taken_at" doc:"When the customer took it."`
	// NotEmailed is only in the response that created the record.
	NotEmailed *string `json:"not_emailed" doc:"Why the record was created without emailing its offer, and what to do. Only the response that creates the record has it; otherwise null."`
}

// NotEmailed says that an offer was not emailed because of a limit.
func NotEmailed(limit string) string {
	return "The offer was not emailed. " + strings.TrimSuffix(limit, " Try again later.") +
		" Print a code, or offer the warranty again later."
}

// Offer is the stored state of a hand-over.
type Offer struct {
	Email                         *string
	OfferedAt, ExpiresAt, TakenAt *time.Time
}

// Open reports whether the offer can be taken.
func (o Offer) Open(now time.Time) bool {
	return o.OfferedAt != nil && o.TakenAt == nil && o.ExpiresAt != nil && o.ExpiresAt.After(now)
}

// handover returns what an account with the record's roles sees of its hand-over: nothing, unless it is the
// issuer.
func (w Warranty) handover(now time.Time) *Handover {
	switch {
	case !w.Roles.Has(Issuer):
		return nil
	case !w.Roles.Has(Owner):
		return &Handover{
			Status: HandoverTaken, Email: w.Offer.Email, OfferedAt: w.Offer.OfferedAt, TakenAt: w.Offer.TakenAt,
		}
	case w.Offer.Open(now):
		return &Handover{
			Status: HandoverOffered, Email: w.Offer.Email, OfferedAt: w.Offer.OfferedAt, ExpiresAt: w.Offer.ExpiresAt,
		}
	}
	return &Handover{Status: HandoverNone}
}

// MayHandOver returns an error unless an account with the record's roles can hand it over.
func (w Warranty) MayHandOver() error { return w.mayGive(HandOver) }

// MayTransfer returns an error unless an account with the record's roles can transfer it.
func (w Warranty) MayTransfer() error { return w.mayGive(Transfer) }

func (w Warranty) mayGive(how Verb) error {
	if err := w.Roles.May(how); err != nil {
		return err
	}
	if w.Standing != Active {
		return Refuse(InvalidTransition, "The warranty is %s and cannot be handed over.", w.Standing)
	}
	return nil
}

// ShowTo sets the fields that depend on who reads the record and when.
func (w *Warranty) ShowTo(now time.Time) {
	if !w.Roles.Has(Issuer) {
		w.ExternalID, w.CustomerName = nil, nil
	}
	w.SellerConfirmed, w.Handover = w.Seller != nil, w.handover(now)
	w.Show(DateOf(now))
}

// OfferHandover is the input of warranties.hand_over.
type OfferHandover struct {
	ID             WarrantyKey `json:"id" in:"path" required:"true" doc:"ID or reference number of the warranty."`
	CustomerEmail  string      `json:"customer_email,omitzero" max:"254" format:"email" doc:"Address to email the offer to. Without it, the response has a code to print." tool:"Email the offer to this address. Without it, the response has a code to print."`
	CustomerName   string      `json:"customer_name,omitzero" max:"200" doc:"Name of the customer, for your own records."`
	IdempotencyKey *string     `json:"idempotency_key,omitempty" in:"header" max:"255" doc:"A unique string that you generate. Repeating a request with the same key and body within 24 hours returns the same response, without the code." tool:"A unique string. Repeating the call with it makes no second offer."`
}

// Check trims and validates the input.
func (in *OfferHandover) Check() error {
	var c Checks
	in.CustomerEmail = c.email("customer_email", in.CustomerEmail, false)
	in.CustomerName = c.text("customer_name", in.CustomerName, 0, MaxCustomerName)
	in.IdempotencyKey = c.idempotencyKey(in.IdempotencyKey)
	return c.Err()
}

// HandoverOffer is the offer of a warranty to a customer. Its code is returned only once.
type HandoverOffer struct {
	WarrantyID ID        `json:"warranty_id" doc:"Identifier of the warranty."`
	Email      *string   `json:"email" format:"email" doc:"Address that the offer is emailed to; null for a code to print."`
	Code       *string   `json:"code" doc:"One-time code to print and give to the customer; null if the offer is emailed, and if the request is a repetition."`
	TakeURL    *string   `json:"take_url" format:"uri" doc:"URL for the QR code of a slip. It contains the code after #, so that no server logs it."`
	ExpiresAt  time.Time `json:"expires_at" doc:"When the offer expires."`
	Note       *string   `json:"note" doc:"Why the code of a repeated request is missing, and what to do; null otherwise."`

	// Replay is true if this is the stored result of an earlier request with the same Idempotency-Key.
	Replay bool `json:"-"`
}

// CodeShownOnce is the note of a repeated request for a code.
const CodeShownOnce = "The code was in the response to the first request with this idempotency key and is not shown " +
	"again. If it is lost, hand the warranty over again with a new key or without one: the code before it then no longer works."

// Replayed reports whether this is the stored result of an earlier request.
func (o HandoverOffer) Replayed() bool { return o.Replay }

// SetReplayed sets Replay.
func (o *HandoverOffer) SetReplayed(replayed bool) { o.Replay = replayed }

// CancelHandover is the input of warranties.cancel_handover.
type CancelHandover struct {
	ID WarrantyKey `json:"id" in:"path" required:"true" doc:"ID or reference number of the warranty."`
}

// SignInByOffer is how long the code of an emailed offer also signs in to the account of its address. Later it still
// takes the warranty, after a sign-in.
const SignInByOffer = 7 * 24 * time.Hour

// PreviewHandover is the input of handovers.preview.
type PreviewHandover struct {
	Code string `json:"code,omitzero" required:"true" max:"100" doc:"Code from the slip or the email." example:"7K2M-9QXT-4D8P-HV3E-0AB1"`
}

// Check validates the input.
func (in *PreviewHandover) Check() error {
	var c Checks
	c.code(in.Code)
	return c.Err()
}

// HandoverPreview is what someone with the code of an offer sees before taking it.
type HandoverPreview struct {
	ReferenceNumber Reference `json:"reference_number" doc:"Reference number of the warranty."`
	ProductName     string    `json:"product_name" doc:"What is covered."`
	SerialNumberEnd *string   `json:"serial_number_end" doc:"The last four characters of the serial number; null if it is missing or shorter than eight."`
	Status          Status    `json:"status" doc:"Status of the warranty: active, upcoming or expired. A void, cancelled or deleted one cannot be taken."`
	StartDate       Date      `json:"start_date" doc:"First day of coverage."`
	EndDate         Date      `json:"end_date" doc:"Last day of coverage, inclusive; 9999-12-31 means lifetime."`
	From            Party     `json:"from" doc:"Who offers it."`
	Business        bool      `json:"business" doc:"Whether an organization offers it, and not a person."`
	Transfer        bool      `json:"transfer" doc:"true for a transfer by its owner, false for a hand-over by its issuer."`
	Issuer          *Party    `json:"issuer" doc:"The organization that issued it; null if its owner recorded it."`
	Documents       []string  `json:"documents" doc:"Names of the owner's documents that go along. What businesses uploaded always does."`
	Email           *string   `json:"email" format:"email" doc:"The only address that can take the offer; null if everyone with the code can."`
	ExpiresAt       time.Time `json:"expires_at" doc:"When the offer expires."`
}

// TakeHandover is the input of handovers.take and transfers.accept.
type TakeHandover struct {
	Code string `json:"code,omitzero" required:"true" max:"100" doc:"Code from a slip, from an email, or from the person who transfers the warranty." example:"7K2M-9QXT-4D8P-HV3E-0AB1"`
}

// Check validates the input.
func (in *TakeHandover) Check() error {
	var c Checks
	c.code(in.Code)
	return c.Err()
}

// Six digits that are emailed are typed on the page that asked for them.
const (
	ShortCodeDigits   = 6
	ShortCodeTries    = 5
	ShortCodeLifetime = 10 * time.Minute
	// WrongDigits is how many wrong digits may be entered in a day for everything that an account or a person offers.
	WrongDigits = 100
)

// EmailHandover is the input of handovers.email.
type EmailHandover struct {
	Code  string `json:"code,omitzero" required:"true" max:"100" doc:"Code from the slip." example:"7K2M-9QXT-4D8P-HV3E-0AB1"`
	Email string `json:"email,omitzero" required:"true" max:"254" format:"email" doc:"Your address. We email six digits and a link to it that register you." example:"kim@people.example"`
}

// EmailedCode is the response to a request for six digits by email, which only work together with it.
type EmailedCode struct {
	Flow      string    `json:"flow" doc:"Secret of this request. The six digits of the email work only with it."`
	ExpiresAt time.Time `json:"expires_at" doc:"When the six digits and the link expire."`
}

// Check validates the input.
func (in *EmailHandover) Check() error {
	var c Checks
	c.code(in.Code)
	in.Email = c.email("email", in.Email, true)
	return c.Err()
}

// RegisterHandover is the input of handovers.register.
type RegisterHandover struct {
	Code string `json:"code,omitzero" required:"true" max:"100" doc:"Code from the link of the email, or the six digits of an email that you asked for, with its flow." example:"7K2M-9QXT-4D8P-HV3E-0AB1"`
	Flow string `json:"flow,omitzero" max:"100" doc:"Flow from the response to handovers.email, for six digits. They have five tries and work for 10 minutes."`
	Name string `json:"name,omitzero" max:"120" doc:"Name shown to others. Defaults to the first part of the address." example:"Kim Larsen"`
}

// Check validates the input.
func (in *RegisterHandover) Check() error {
	var c Checks
	if in.Flow == "" {
		c.code(in.Code)
	} else if in.Code = digits(in.Code); len(in.Code) != ShortCodeDigits || strings.Contains(in.Code, "x") {
		c.Add("code", "invalid_length", "Enter all six digits.")
	}
	in.Flow = c.text("flow", in.Flow, 0, 100)
	in.Name = c.text("name", in.Name, 0, MaxUserName)
	return c.Err()
}

// HandoverSession is a warranty that someone took who had no account, and the session of the new account.
type HandoverSession struct {
	Session
	Warranty Warranty `json:"warranty" doc:"The warranty, which the new account owns."`
}

// SerialNumberEnd returns the last four characters of the serial number, which tell things of a kind apart without
// showing it. It is nil for a short one.
func (w Warranty) SerialNumberEnd() *string {
	if w.SerialNumber == nil {
		return nil
	}
	serial := []rune(*w.SerialNumber)
	if len(serial) < 8 {
		return nil
	}
	end := string(serial[len(serial)-4:])
	return &end
}

// HandedOver is what an account still sees of a warranty that it gave away.
type HandedOver struct {
	ProductName string
	At          time.Time
}
