package warranty

import "time"

// TransferLifetime is how long an offer can be accepted.
const TransferLifetime = 7 * 24 * time.Hour

// OfferTransfer offers a warranty to a new owner. A newer offer replaces an older one.
type OfferTransfer struct {
	ID    ID     `json:"id" in:"path" required:"true" doc:"Identifier of the warranty."`
	Email string `json:"email,omitzero" required:"true" max:"254" format:"email" doc:"Address of the new owner; the code is mailed there." example:"kim@people.example"`
}

// Check refuses what is no address.
func (in *OfferTransfer) Check() error {
	var c Checks
	in.Email = c.email("email", in.Email, true)
	return c.Err()
}

// TransferOffer is an offer with its code, which is shown once.
type TransferOffer struct {
	WarrantyID ID        `json:"warranty_id" doc:"Identifier of the warranty."`
	Email      string    `json:"email" format:"email" doc:"Address of the new owner."`
	Mailed     bool      `json:"mailed" doc:"Whether the code is mailed there. It is not while your own address is not verified; then hand it on yourself."`
	Code       string    `json:"code" doc:"One-time code: whoever is signed in and has it becomes the owner."`
	ExpiresAt  time.Time `json:"expires_at" doc:"When the offer ends."`
}

// CancelTransfer calls an offer off.
type CancelTransfer struct {
	ID ID `json:"id" in:"path" required:"true" doc:"Identifier of the warranty."`
}

// AcceptTransfer makes the caller the owner.
type AcceptTransfer struct {
	Code string `json:"code,omitzero" required:"true" max:"100" doc:"The code of the offer." example:"7K2M-9QXT-4D8P-HV3E-0AB1"`
}

// Check refuses an empty code.
func (in *AcceptTransfer) Check() error {
	var c Checks
	c.code(in.Code)
	return c.Err()
}
