package warranty

import "time"

// Event is one recorded change. Events are never updated or deleted.
type Event struct {
	ID        ID        `json:"id" doc:"Identifier of the event."`
	At        time.Time `json:"at" doc:"When it happened."`
	Actor     string    `json:"actor" doc:"Name of the user who did it, at that time. Businesses read Owner for an owner who has not filed a claim."`
	Account   *string   `json:"account" doc:"Name of the organization that the user acted for, at that time; null for the user's own account."`
	Door      Door      `json:"door" doc:"Interface that was used."`
	TokenName *string   `json:"token_name" doc:"Name of the integration token that was used, if any."`
	Action    Action    `json:"action" doc:"What was done."`
	SubjectID ID        `json:"subject_id" doc:"Identifier of the changed record."`
	Changes   []Change  `json:"changes" doc:"Changed fields."`
	ActorID   ID        `json:"-"`
	AccountID ID        `json:"-"` // the account that the actor acted for
}

// Activity is an event with its warranty.
type Activity struct {
	Event
	WarrantyID  ID
	ProductName string
}

// Change is one changed field.
type Change struct {
	Field string  `json:"field" doc:"Name of the field."`
	From  *string `json:"from" doc:"Value before the change."`
	To    *string `json:"to" doc:"Value after the change."`
}

// Action is the kind of an event.
type Action string

// The actions. They are stored by position, so new ones must go at the end.
const (
	WarrantyCreated   Action = "warranty.created"
	WarrantyUpdated   Action = "warranty.updated"
	WarrantyDeleted   Action = "warranty.deleted"
	SellerLinked      Action = "seller.linked"
	ClaimFiled        Action = "claim.filed"
	ClaimMoved        Action = "claim.moved"
	DocumentUploaded  Action = "document.uploaded"
	DocumentDeleted   Action = "document.deleted"
	TransferOffered   Action = "transfer.offered"
	TransferCancelled Action = "transfer.cancelled"
	TransferAccepted  Action = "transfer.accepted"
	TokenCreated      Action = "token.created"
	TokenRotated      Action = "token.rotated"
	TokenWasRevoked   Action = "token.revoked"

	// Actions of the operator, in the history of an account. Migration 22 relies on their positions.
	AccountAdded        Action = "account.added"
	AccountPasswordSet  Action = "account.password_set"
	AccountDisabled     Action = "account.disabled"
	AccountEnabled      Action = "account.enabled"
	AccountDeleted      Action = "account.deleted"
	AccountAdminGranted Action = "account.admin_granted"
	AccountAdminRevoked Action = "account.admin_revoked"
	MailRetried         Action = "mail.retried"
	MailGivenUp         Action = "mail.given_up"
	AccountToBeErased   Action = "account.to_be_erased"

	// Actions in the history of an organization.
	OrganizationCreated   Action = "organization.created"
	OrganizationUpdated   Action = "organization.updated"
	OrganizationDeleted   Action = "organization.deleted"
	OrganizationRestored  Action = "organization.restored"
	OrganizationConverted Action = "organization.converted"
	MemberInvited         Action = "member.invited"
	InvitationCancelled   Action = "member.invitation_cancelled"
	MemberJoined          Action = "member.joined"
	MemberChanged         Action = "member.changed"
	MemberRemoved         Action = "member.removed"
	AddressVerified       Action = "address.verified"
	AddressRemoved        Action = "address.removed"

	// Actions in the history of a warranty since issuing.
	SellerHasConfirmed Action = "seller.confirmed"
	SellerLeft         Action = "seller.left"
	WarrantyRemoved    Action = "warranty.removed"

	HandoverWasOffered Action = "handover.offered"
	HandoverCancelled  Action = "handover.cancelled"
	HandoverWasTaken   Action = "handover.taken"

	// More actions in the history of an organization.
	DomainWasVerified Action = "domain.verified"
	DomainLost        Action = "domain.lost"
	DomainRemoved     Action = "domain.removed"

	// WarrantyRestored is in the history of a warranty.
	WarrantyRestored Action = "warranty.restored"

	// ClaimMessaged is in the history of a warranty, without the text.
	ClaimMessaged Action = "claim.messaged"

	// More actions in the history of a warranty.
	DocumentRenamed  Action = "document.renamed"
	DocumentReplaced Action = "document.replaced"

	// Actions in the history of a connected app.
	AppConnected    Action = "app.connected"
	AppUpdated      Action = "app.updated"
	AppDisconnected Action = "app.disconnected"

	// WarrantyCorrected is in the history of a warranty, with the reason.
	WarrantyCorrected Action = "warranty.corrected"

	// DocumentVersionErased is in the history of a warranty: an earlier file of a document.
	DocumentVersionErased Action = "document.version_erased"

	// DocumentDetached is in the history of a warranty: a document was taken back from a claim.
	DocumentDetached Action = "document.detached"

	// ClaimChangeUndone is in the history of a warranty: a business undid its last change of a claim.
	ClaimChangeUndone Action = "claim.undone"

	// BrandUpdated is in the history of an organization.
	BrandUpdated Action = "brand.updated"

	// ServiceUpdated is in the history of the operators: the settings of the service were changed on the admin page.
	ServiceUpdated Action = "service.updated"

	// AccountFactorsReset is in the history of an account: the operator removed its second factors.
	AccountFactorsReset Action = "account.factors_reset"
)

var actionNames = namesOf(
	WarrantyCreated, WarrantyUpdated, WarrantyDeleted,
	SellerLinked,
	ClaimFiled, ClaimMoved,
	DocumentUploaded, DocumentDeleted,
	TransferOffered, TransferCancelled, TransferAccepted,
	TokenCreated, TokenRotated, TokenWasRevoked,
	AccountAdded, AccountPasswordSet, AccountDisabled, AccountEnabled, AccountDeleted,
	AccountAdminGranted, AccountAdminRevoked, MailRetried, MailGivenUp, AccountToBeErased,
	OrganizationCreated, OrganizationUpdated, OrganizationDeleted, OrganizationRestored, OrganizationConverted,
	MemberInvited, InvitationCancelled, MemberJoined, MemberChanged, MemberRemoved,
	AddressVerified, AddressRemoved,
	SellerHasConfirmed, SellerLeft, WarrantyRemoved,
	HandoverWasOffered, HandoverCancelled, HandoverWasTaken,
	DomainWasVerified, DomainLost, DomainRemoved,
	WarrantyRestored,
	ClaimMessaged,
	DocumentRenamed, DocumentReplaced,
	AppConnected, AppUpdated, AppDisconnected,
	WarrantyCorrected,
	DocumentVersionErased,
	DocumentDetached, ClaimChangeUndone,
	BrandUpdated,
	ServiceUpdated,
	AccountFactorsReset,
)

// Values lists the known actions.
func (Action) Values() []string { return actionNames }

// String returns the action's name.
func (a Action) String() string { return string(a) }

// ListHistory is the input of warranties.history.
type ListHistory struct {
	Paging
	ID WarrantyKey `json:"id" in:"path" required:"true" doc:"ID or reference number of the warranty."`
}

// Check validates the input.
func (in *ListHistory) Check() error {
	var c Checks
	in.Paging.Check(&c)
	return c.Err()
}

// ListTokenHistory is the input of tokens.history.
type ListTokenHistory struct {
	Paging
	ID ID `json:"id" in:"path" required:"true" doc:"Identifier of the token."`
}

// Check validates the input.
func (in *ListTokenHistory) Check() error {
	var c Checks
	in.Paging.Check(&c)
	return c.Err()
}

// Differences lists the fields that differ between two versions of a warranty.
func Differences(before, after Warranty) []Change {
	var list []Change
	add := func(field string, from, to *string) {
		if same(from, to) {
			return
		}
		list = append(list, Change{Field: field, From: from, To: to})
	}
	add("product_name", &before.ProductName, &after.ProductName)
	add("start_date", text(before.StartDate), text(after.StartDate))
	add("end_date", text(before.EndDate), text(after.EndDate))
	add("status", text(before.Standing), text(after.Standing))
	add("category", before.Category, after.Category)
	add("supplier", before.Supplier, after.Supplier)
	add("brand", before.Brand, after.Brand)
	add("model", before.Model, after.Model)
	add("gtin", before.GTIN, after.GTIN)
	add("serial_number", before.SerialNumber, after.SerialNumber)
	add("description", before.Description, after.Description)
	add("seller_name", before.SellerName, after.SellerName)
	add("seller_email", before.SellerEmail, after.SellerEmail)
	if before.Seller != nil && after.Seller == nil {
		list = append(list, Change{Field: "seller_confirmed", From: Optional("true"), To: Optional("false")})
	}
	if !same(before.Price, after.Price) || !same(before.Currency, after.Currency) ||
		!same(dateText(before.PurchaseDate), dateText(after.PurchaseDate)) {
		// Later owners read the history, but the price is the owner's.
		list = append(list, Change{Field: "purchase"})
	}
	if !same(before.CustomerName, after.CustomerName) {
		list = append(list, Change{Field: "customer_name"}) // only the issuer sees it
	}
	if !same(before.ExternalID, after.ExternalID) {
		// Every role can read the history, but only the issuer can see the external ID.
		list = append(list, Change{Field: "external_id"})
	}
	return list
}

func dateText(d *Date) *string {
	if d == nil {
		return nil
	}
	return text(*d)
}

func same(a, b *string) bool { return a == nil && b == nil || a != nil && b != nil && *a == *b }

func text(s interface{ String() string }) *string { return Optional(s.String()) }
