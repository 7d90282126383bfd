package warranty

import "time"

// TransferLifetime is how long a transfer can be accepted.
const TransferLifetime = 7 * 24 * time.Hour

// MaxTransferDocuments is how many documents can go along with a transfer.
const MaxTransferDocuments = 100

// OfferTransfer is the input of transfers.offer. A new offer replaces an earlier one.
type OfferTransfer struct {
	ID        WarrantyKey `json:"id" in:"path" required:"true" doc:"ID or reference number of the warranty."`
	Email     string      `json:"email,omitzero" required:"true" max:"254" format:"email" doc:"Email address of the new owner. We send a link to it that takes the warranty." example:"kim@people.example"`
	Documents []string    `json:"documents,omitempty" doc:"Your documents that go along, such as the receipt, at most 100. The new owner does not see the others, and never the texts and files of your claims. What businesses uploaded always goes along."`
}

// Check validates the input.
func (in *OfferTransfer) Check() error {
	var c Checks
	in.Email = c.email("email", in.Email, true)
	c.documents("documents", in.Documents, MaxTransferDocuments)
	return c.Err()
}

// TransferOffer is a transfer with its code, which is returned only once.
type TransferOffer struct {
	WarrantyID ID        `json:"warranty_id" doc:"Identifier of the warranty."`
	Email      string    `json:"email" format:"email" doc:"Email address of the new owner."`
	Mailed     bool      `json:"mailed" doc:"Whether the new owner is emailed a link. If your own address is not verified or you have reached a limit of emails, it is not: pass the code on yourself."`
	Code       string    `json:"code" doc:"One-time code to pass on. Any signed-in user with a verified address who accepts with it becomes the owner. The email has another code, which only its address can use."`
	ExpiresAt  time.Time `json:"expires_at" doc:"When the offer expires."`
	Documents  int       `json:"documents" doc:"How many of your documents go along."`
}

// CancelTransfer is the input of transfers.cancel.
type CancelTransfer struct {
	ID WarrantyKey `json:"id" in:"path" required:"true" doc:"ID or reference number of the warranty."`
}
