package api

import (
	"net/http"

	"warranty.example/svc/warranty"
)

// The operations that hand a warranty over from its issuer to a customer.
var (
	OfferHandover = define[warranty.OfferHandover, warranty.HandoverOffer](Spec{
		Name:   "warranties.hand_over",
		Method: http.MethodPost,
		Base:   V1,
		Path:   "/warranties/{id}/handover",
		Auth:   Credential,
		Scope:  warranty.WarrantiesWrite,
		Tool:   "hand_over_warranty",
		// A code that was printed before no longer works.
		Destructive: true,
		Emails:      true,
		Summary: "Offer a warranty that your organization issued to a customer: by email, or with a code to print. " +
			"An earlier offer no longer works.",
		ToolDoc: "Hand a warranty that the user's organization issued over to a customer. Without customer_email the " +
			"result has a one-time code to print. Every call ends the offer before it: a code that is already printed no " +
			"longer works. With customer_email it emails a stranger. Ask the user before you call it.",
		Status:       http.StatusCreated,
		BodyOptional: true,
		Errors: []warranty.Code{
			warranty.RoleNotAllowed, warranty.InvalidTransition, warranty.IdempotencyKeyReused, warranty.RateLimited,
		},
	})
	CancelHandover = define[warranty.CancelHandover, warranty.None](Spec{
		Name:    "warranties.cancel_handover",
		Method:  http.MethodDelete,
		Base:    V1,
		Path:    "/warranties/{id}/handover",
		Auth:    Credential,
		Scope:   warranty.WarrantiesWrite,
		Tool:    "cancel_hand_over",
		Summary: "Cancel the offer of a warranty. Its code no longer works.",
		ToolDoc: "Cancel the open offer of a warranty to a customer. Its code or emailed link no longer works. Ask first.",
		Errors:  []warranty.Code{warranty.RoleNotAllowed},
	})
	TakeHandover = define[warranty.TakeHandover, warranty.Warranty](Spec{
		Name:    "handovers.take",
		Method:  http.MethodPost,
		Base:    Host,
		Path:    "/handovers/take",
		Auth:    SessionOnly,
		Summary: "Take a warranty with the code from a slip, from an email, or of a transfer. You become its owner.",
		Errors:  []warranty.Code{warranty.RoleNotAllowed, warranty.EmailNotVerified},
	})
	PreviewHandover = define[warranty.PreviewHandover, warranty.HandoverPreview](Spec{
		Name:     "handovers.preview",
		Method:   http.MethodPost,
		Base:     Host,
		Path:     "/handovers/preview",
		Auth:     Public,
		ReadOnly: true,
		Summary:  "Show the warranty that a code takes.",
		Errors:   []warranty.Code{warranty.RateLimited},
	})
	EmailHandover = define[warranty.EmailHandover, warranty.EmailedCode](Spec{
		Name:   "handovers.email",
		Method: http.MethodPost,
		Base:   Host,
		Path:   "/handovers/email",
		Auth:   Public,
		Status: http.StatusAccepted,
		Summary: "Email six digits and a link that register you and take the warranty of a printed code. A new request ends the " +
			"one before.",
		Errors: []warranty.Code{warranty.RateLimited},
	})
	RegisterHandover = define[warranty.RegisterHandover, warranty.HandoverSession](Spec{
		Name:   "handovers.register",
		Method: http.MethodPost,
		Base:   Host,
		Path:   "/handovers/register",
		Auth:   Public,
		Status: http.StatusCreated,
		Summary: "Take a warranty with an emailed code without having an account. The code verifies the address, " +
			"creates the account and signs in.",
		Errors: []warranty.Code{
			warranty.SecondFactorRequired, warranty.AlreadyExists, warranty.RoleNotAllowed, warranty.RateLimited,
		},
	})
)

// handoverOperations are the rows of this file in the operation table.
var handoverOperations = []*Spec{
	OfferHandover.Spec,
	CancelHandover.Spec,
	TakeHandover.Spec,
	PreviewHandover.Spec,
	EmailHandover.Spec,
	RegisterHandover.Spec,
}
