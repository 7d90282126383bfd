package warranty

import (
	"net/url"
	"strings"
	"time"
	"unicode/utf8"
)

// Limits of organizations.
const (
	MaxOrganizationName = 120
	MaxWebsite          = 300
	MaxPhone            = 40
	MaxMembers          = 500 // members and open invitations of an organization
	MaxAddresses        = 20  // verified addresses of an organization

	MaxWaiting = 100 // where counting the claims that wait for an account ends

	InvitationLifetime = 7 * 24 * time.Hour
)

// AccountKind says whether an account is a person's own or an organization's.
type AccountKind string

// The kinds of account. They are stored by position.
const (
	PersonKind       AccountKind = "person"
	OrganizationKind AccountKind = "organization"
)

var accountKindNames = namesOf(PersonKind, OrganizationKind)

// Values lists the known kinds.
func (AccountKind) Values() []string { return accountKindNames }

// String returns the kind's name.
func (k AccountKind) String() string { return string(k) }

// MemberRole is what a member may do in an organization.
type MemberRole string

// The member roles, from the one with the most rights to the one with the fewest. They are stored by
// position, and a right is granted up to a position.
const (
	Admin  MemberRole = "admin"
	Member MemberRole = "member"
	Viewer MemberRole = "viewer"
)

var memberRoleNames = namesOf(Admin, Member, Viewer)

// Values lists the known roles.
func (MemberRole) Values() []string { return memberRoleNames }

// String returns the role's name.
func (r MemberRole) String() string { return string(r) }

// Includes reports whether the role has all rights of needed.
func (r MemberRole) Includes(needed MemberRole) bool {
	n := EnumNumber(r)
	return n > 0 && n <= EnumNumber(needed)
}

// Acting is the account that a caller acts for: their own, or an organization. Records, tokens,
// limits and storage are those of this account.
type Acting struct {
	ID   ID          `json:"id" doc:"Identifier of the account."`
	Name string      `json:"name" doc:"Name of the account."`
	Kind AccountKind `json:"kind" doc:"person or organization."`
	// Role is what the caller may do. People are admins of their own accounts.
	Role MemberRole `json:"role" doc:"What the caller may do in the account: admin, member or viewer. People are admins of their own accounts."`
}

// OwnAccount returns the account of a person.
func OwnAccount(u User) Acting { return Acting{ID: u.ID, Name: u.Name, Kind: PersonKind, Role: Admin} }

// AccountChoice is an account that a person can act for. Waiting is the number of claims that wait for the
// account, at most MaxWaiting.
type AccountChoice struct {
	Acting
	Waiting int64
}

// Require returns an error unless the role includes needed.
func (a Acting) Require(needed MemberRole) error {
	if a.Role.Includes(needed) {
		return nil
	}
	if needed == Admin {
		return Refuse(RoleNotAllowed, "Only an admin of %s can do this. Your role: %s.", a.Name, a.Role)
	}
	return Refuse(RoleNotAllowed, "Viewers of %s cannot change anything. Ask an admin for the role member.", a.Name)
}

// ErrAccountNotAllowed is the error for an account that does not exist or that the caller cannot act
// for.
var ErrAccountNotAllowed = Refuse(AccountNotAllowed, "You cannot act for this account. Check the account's ID.")

// Profile is what customers see of an organization.
type Profile struct {
	Name                                string
	Website, ContactEmail, ContactPhone *string
}

// Organization is an account with members.
type Organization struct {
	ID           ID         `json:"id" doc:"Identifier of the organization."`
	Name         string     `json:"name" doc:"Name shown to others."`
	Website      *string    `json:"website" doc:"Website shown to customers."`
	ContactEmail *string    `json:"contact_email" format:"email" doc:"Email address shown to customers."`
	ContactPhone *string    `json:"contact_phone" doc:"Phone number shown to customers."`
	Role         MemberRole `json:"role" doc:"Your role in the organization."`
	// Mails are the caller's own choices in this organization.
	Mails     MailChoices `json:"mails" doc:"Which emails about the organization's records and tokens you get."`
	Members   int64       `json:"members" doc:"Number of members."`
	CreatedAt time.Time   `json:"created_at" doc:"When the organization was created."`
	// DeletedAt and ErasedAt are set between the deletion and the erasure.
	DeletedAt *time.Time `json:"deleted_at" doc:"When the organization was deleted. Until erased_at, an admin can restore it."`
	ErasedAt  *time.Time `json:"erased_at" doc:"When the deleted organization will be erased."`
	Replay    bool       `json:"-"` // a stored response to an earlier request
}

// RecordID returns the ID used in the Location header of a created record.
func (o Organization) RecordID() ID { return o.ID }

// Replayed reports whether this is the stored result of an earlier request.
func (o Organization) Replayed() bool { return o.Replay }

// SetReplayed sets Replay.
func (o *Organization) SetReplayed(replayed bool) { o.Replay = replayed }

func (c *Checks) website(value string) string {
	before := len(c.Fields)
	value = c.text("website", value, 0, MaxWebsite)
	if value == "" || len(c.Fields) > before {
		return value
	}
	if !strings.Contains(value, "://") {
		value = "https://" + value
	}
	if utf8.RuneCountInString(value) > MaxWebsite {
		c.Add("website", "too_long", "Must be at most %d characters.", MaxWebsite)
		return value
	}
	u, err := url.Parse(value)
	if err != nil || u.Scheme != "https" && u.Scheme != "http" || u.User != nil || !strings.Contains(u.Hostname(), ".") {
		c.Add("website", "invalid_url", "Must be the address of a website such as https://shop.example.")
	}
	return value
}

// CreateOrganization is the input of organizations.create.
type CreateOrganization struct {
	Name           string  `json:"name,omitzero" required:"true" max:"120" doc:"Name shown to others." example:"Halden Electronics"`
	Website        string  `json:"website,omitzero" max:"300" format:"uri" doc:"Website shown to customers." example:"https://halden.example"`
	ContactEmail   string  `json:"contact_email,omitzero" max:"254" format:"email" doc:"Email address shown to customers." example:"service@halden.example"`
	ContactPhone   string  `json:"contact_phone,omitzero" max:"40" doc:"Phone number shown to customers."`
	IdempotencyKey *string `json:"idempotency_key,omitempty" in:"header" max:"255" doc:"A unique string that you generate. Repeating a request with the same key and body within 24 hours returns the same response and does not create a second record."`
}

// Check validates the input.
func (in *CreateOrganization) Check() error {
	var c Checks
	in.Name = c.organizationName("name", in.Name)
	in.Website = c.website(in.Website)
	in.ContactEmail = c.email("contact_email", in.ContactEmail, false)
	in.ContactPhone = c.text("contact_phone", in.ContactPhone, 0, MaxPhone)
	in.IdempotencyKey = c.idempotencyKey(in.IdempotencyKey)
	return c.Err()
}

// ListOrganizations is the input of organizations.list.
type ListOrganizations struct{ Paging }

// Check validates the input.
func (in *ListOrganizations) Check() error {
	var c Checks
	in.Paging.Check(&c)
	return c.Err()
}

// GetOrganization is the input of organizations.get.
type GetOrganization struct {
	ID ID `json:"id" in:"path" required:"true" doc:"Identifier of the organization."`
}

// UpdateOrganization is the input of organizations.update. Fields that are nil stay as they are. The
// mail fields are the caller's own choices.
type UpdateOrganization struct {
	ID              ID      `json:"id" in:"path" required:"true" doc:"Identifier of the organization."`
	Name            *string `json:"name,omitempty" max:"120" doc:"Name shown to others."`
	Website         *string `json:"website,omitempty" max:"300" format:"uri" doc:"Website shown to customers. Empty means none."`
	ContactEmail    *string `json:"contact_email,omitempty" max:"254" format:"email" doc:"Email address shown to customers. Empty means none."`
	ContactPhone    *string `json:"contact_phone,omitempty" max:"40" doc:"Phone number shown to customers. Empty means none."`
	MailWarrantyEnd *bool   `json:"mail_warranty_end,omitempty" doc:"Whether to remind you before the organization's warranties end."`
	MailClaims      *bool   `json:"mail_claims,omitempty" doc:"Whether to email you when a claim on the organization's records is filed or changes status."`
	MailTokenExpiry *bool   `json:"mail_token_expiry,omitempty" doc:"Whether to remind you before the organization's integration tokens expire."`
}

// Check validates the input.
func (in *UpdateOrganization) Check() error {
	var c Checks
	if in.Name != nil {
		*in.Name = c.organizationName("name", *in.Name)
	}
	if in.Website != nil {
		*in.Website = c.website(*in.Website)
	}
	if in.ContactEmail != nil {
		*in.ContactEmail = c.email("contact_email", *in.ContactEmail, false)
	}
	if in.ContactPhone != nil {
		*in.ContactPhone = c.text("contact_phone", *in.ContactPhone, 0, MaxPhone)
	}
	return c.Err()
}

// ChangesProfile reports whether the input has fields of the profile, which only admins may change.
func (in UpdateOrganization) ChangesProfile() bool {
	return in.Name != nil || in.Website != nil || in.ContactEmail != nil || in.ContactPhone != nil
}

// Apply returns the updated organization.
func (in UpdateOrganization) Apply(o Organization) Organization {
	set(&o.Name, in.Name)
	for _, f := range []struct {
		to   **string
		from *string
	}{{&o.Website, in.Website}, {&o.ContactEmail, in.ContactEmail}, {&o.ContactPhone, in.ContactPhone}} {
		if f.from != nil {
			*f.to = Optional(*f.from)
		}
	}
	set(&o.Mails.WarrantyEnd, in.MailWarrantyEnd)
	set(&o.Mails.Claims, in.MailClaims)
	set(&o.Mails.TokenExpiry, in.MailTokenExpiry)
	return o
}

// DeleteOrganization is the input of organizations.delete.
type DeleteOrganization struct {
	ID ID `json:"id" in:"path" required:"true" doc:"Identifier of the organization."`
}

// RestoreOrganization is the input of organizations.restore.
type RestoreOrganization struct {
	ID ID `json:"id" in:"path" required:"true" doc:"Identifier of the organization."`
}

// Membership is a member of an organization.
type Membership struct {
	UserID       ID         `json:"user_id" doc:"Identifier of the person."`
	Name         string     `json:"name" doc:"Name of the person."`
	Email        string     `json:"email" format:"email" doc:"Email address of the person."`
	Role         MemberRole `json:"role" doc:"What the member may do."`
	Tokens       int64      `json:"tokens" doc:"Number of active integration tokens that the member made in the organization."`
	Disabled     bool       `json:"disabled" doc:"Whether the person's account is disabled."`
	LastSignInAt *time.Time `json:"last_sign_in_at" doc:"When the person last signed in."`
	CreatedAt    time.Time  `json:"created_at" doc:"When the person became a member."`
}

// ListMembers is the input of members.list.
type ListMembers struct {
	Paging
	ID ID `json:"id" in:"path" required:"true" doc:"Identifier of the organization."`
}

// Check validates the input.
func (in *ListMembers) Check() error {
	var c Checks
	in.Paging.Check(&c)
	return c.Err()
}

// UpdateMember is the input of members.update.
type UpdateMember struct {
	ID         ID         `json:"id" in:"path" required:"true" doc:"Identifier of the organization."`
	UserID     ID         `json:"user_id" in:"path" required:"true" doc:"Identifier of the person."`
	Role       MemberRole `json:"role,omitzero" required:"true" doc:"What the member may do: admin, member or viewer." example:"member"`
	KeepTokens *bool      `json:"keep_tokens,omitempty" doc:"With a lower role: whether integration tokens that the member made in the organization keep working. Defaults to false."`
}

// Check validates the input.
func (in *UpdateMember) Check() error {
	var c Checks
	c.memberRole(in.Role)
	return c.Err()
}

func (c *Checks) memberRole(role MemberRole) {
	if role == "" {
		c.Add("role", "required", "This field is required.")
	} else if EnumNumber(role) == 0 {
		c.Add("role", "invalid", "Must be admin, member or viewer.")
	}
}

// RemoveMember is the input of members.remove. A member who removes themselves leaves.
type RemoveMember struct {
	ID              ID    `json:"id" in:"path" required:"true" doc:"Identifier of the organization."`
	UserID          ID    `json:"user_id" in:"path" required:"true" doc:"Identifier of the person."`
	KeepTokens      *bool `json:"keep_tokens,omitempty" in:"query" doc:"Whether integration tokens that the member made in the organization keep working. Defaults to false."`
	EndPrintedCodes *bool `json:"end_printed_codes,omitempty" in:"query" doc:"Whether printed hand-over codes that the member made end. Customers may have them. Defaults to false. A member who leaves cannot end them."`
}

// Invitation is an open invitation to an organization.
type Invitation struct {
	ID        ID         `json:"id" doc:"Identifier of the invitation."`
	Email     string     `json:"email" format:"email" doc:"Email address that the code was sent to."`
	Role      MemberRole `json:"role" doc:"Role that the person gets."`
	InvitedBy string     `json:"invited_by" doc:"Name of the admin who invited."`
	CreatedAt time.Time  `json:"created_at" doc:"When the invitation was sent."`
	ExpiresAt time.Time  `json:"expires_at" doc:"When the code expires."`
	Replay    bool       `json:"-"` // a stored response to an earlier request
}

// Replayed reports whether this is the stored result of an earlier request.
func (i Invitation) Replayed() bool { return i.Replay }

// SetReplayed sets Replay.
func (i *Invitation) SetReplayed(replayed bool) { i.Replay = replayed }

// CreateInvitation is the input of invitations.create.
type CreateInvitation struct {
	ID             ID         `json:"id" in:"path" required:"true" doc:"Identifier of the organization."`
	Email          string     `json:"email,omitzero" required:"true" max:"254" format:"email" doc:"Email address of the person. We send a code to it." example:"ivo@halden.example"`
	Role           MemberRole `json:"role,omitzero" required:"true" doc:"What the person may do: admin, member or viewer." example:"member"`
	IdempotencyKey *string    `json:"idempotency_key,omitempty" in:"header" max:"255" doc:"A unique string that you generate. Repeating a request with the same key and body within 24 hours returns the same response and does not create a second record."`
}

// Check validates the input.
func (in *CreateInvitation) Check() error {
	var c Checks
	in.Email = c.email("email", in.Email, true)
	c.memberRole(in.Role)
	in.IdempotencyKey = c.idempotencyKey(in.IdempotencyKey)
	return c.Err()
}

// ListInvitations is the input of invitations.list.
type ListInvitations struct {
	Paging
	ID ID `json:"id" in:"path" required:"true" doc:"Identifier of the organization."`
}

// Check validates the input.
func (in *ListInvitations) Check() error {
	var c Checks
	in.Paging.Check(&c)
	return c.Err()
}

// CancelInvitation is the input of invitations.cancel.
type CancelInvitation struct {
	ID           ID `json:"id" in:"path" required:"true" doc:"Identifier of the organization."`
	InvitationID ID `json:"invitation_id" in:"path" required:"true" doc:"Identifier of the invitation."`
}

// AcceptInvitation is the input of invitations.accept.
type AcceptInvitation struct {
	Code string `json:"code,omitzero" required:"true" max:"100" doc:"The code from the email." example:"7K2M-9QXT-4D8P-HV3E-0AB1"`
}

// Check validates the input.
func (in *AcceptInvitation) Check() error {
	var c Checks
	c.code(in.Code)
	return c.Err()
}

// Address is a verified email address of an organization. Records that name it as the seller's are
// linked to the organization.
type Address struct {
	ID         ID        `json:"id" doc:"Identifier of the address."`
	Email      string    `json:"email" format:"email" doc:"Email address."`
	VerifiedAt time.Time `json:"verified_at" doc:"When the address was verified."`
}

// ListAddresses is the input of addresses.list.
type ListAddresses struct {
	Paging
	ID ID `json:"id" in:"path" required:"true" doc:"Identifier of the organization."`
}

// Check validates the input.
func (in *ListAddresses) Check() error {
	var c Checks
	in.Paging.Check(&c)
	return c.Err()
}

// AddAddress is the input of addresses.add.
type AddAddress struct {
	ID    ID     `json:"id" in:"path" required:"true" doc:"Identifier of the organization."`
	Email string `json:"email,omitzero" required:"true" max:"254" format:"email" doc:"Email address. We send a code to it." example:"info@halden.example"`
}

// Check validates the input.
func (in *AddAddress) Check() error {
	var c Checks
	in.Email = c.email("email", in.Email, true)
	return c.Err()
}

// VerifyAddress is the input of addresses.verify.
type VerifyAddress struct {
	Code string `json:"code,omitzero" required:"true" max:"100" doc:"The code from the email."`
}

// Check validates the input.
func (in *VerifyAddress) Check() error {
	var c Checks
	c.code(in.Code)
	return c.Err()
}

// RemoveAddress is the input of addresses.remove.
type RemoveAddress struct {
	ID        ID `json:"id" in:"path" required:"true" doc:"Identifier of the organization."`
	AddressID ID `json:"address_id" in:"path" required:"true" doc:"Identifier of the address."`
}

// ConvertAccount is the input of account.convert: the caller's own account is to become an
// organization.
type ConvertAccount struct {
	OrganizationName string `json:"organization_name,omitzero" required:"true" max:"120" doc:"Name of the organization." example:"Halden Electronics"`
	Name             string `json:"name,omitzero" required:"true" max:"120" doc:"Your own name." example:"Nora Lindqvist"`
	Email            string `json:"email,omitzero" required:"true" max:"254" format:"email" doc:"Your own email address, to sign in with from then on. We send a code to it. The account's current address goes to the organization." example:"nora@people.example"`
	Password         string `json:"password,omitzero" max:"256" format:"password" doc:"Your password. Required if the account has one."`
	Code             string `json:"code,omitzero" max:"100" doc:"A sign-in code from POST /api/auth/codes, emailed to the account's current address. Required if the account has no password."`
}

// Check validates the input.
func (in *ConvertAccount) Check() error {
	var c Checks
	in.OrganizationName = c.organizationName("organization_name", in.OrganizationName)
	in.Name = c.text("name", in.Name, 1, MaxUserName)
	in.Email = c.email("email", in.Email, true)
	if in.Password != "" {
		c.oldPassword("password", in.Password)
	}
	if in.Code != "" {
		c.code(in.Code)
	}
	return c.Err()
}

// CheckFor validates the input for an account with an address.
func (in *ConvertAccount) CheckFor(email string) error {
	var c Checks
	c.Merge(in.Check())
	if in.Email != "" && in.Email == email {
		c.Add("email", "same_address", "This address goes to the organization. Use another one for yourself.")
	}
	return c.Err()
}

// CancelConversion is the input of account.cancel_conversion.
type CancelConversion struct {
	Code string `json:"code,omitzero" required:"true" max:"100" doc:"The code from the email to the account's current address."`
}

// Check validates the input.
func (in *CancelConversion) Check() error {
	var c Checks
	c.code(in.Code)
	return c.Err()
}

// ConfirmConversion is the input of account.confirm_conversion.
type ConfirmConversion struct {
	Code string `json:"code,omitzero" required:"true" max:"100" doc:"The code from the email."`
}

// Check validates the input.
func (in *ConfirmConversion) Check() error {
	var c Checks
	c.code(in.Code)
	return c.Err()
}
