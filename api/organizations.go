package api

import (
	"net/http"

	"warranty.example/svc/warranty"
)

// The operations on organizations, their members, invitations and addresses. They require a session, and
// act for the person of the session: their path names the organization.
var (
	ListOrganizations = define[warranty.ListOrganizations, warranty.Page[warranty.Organization]](Spec{
		Name:    "organizations.list",
		Method:  http.MethodGet,
		Base:    Host,
		Path:    "/organizations",
		Auth:    SessionOnly,
		Summary: "List the organizations that you are a member of, by name.",
	})
	CreateOrganization = define[warranty.CreateOrganization, warranty.Organization](Spec{
		Name:     "organizations.create",
		Method:   http.MethodPost,
		Base:     Host,
		Path:     "/organizations",
		Auth:     SessionOnly,
		Summary:  "Create an organization. You become its first admin.",
		Status:   http.StatusCreated,
		Location: "/organizations/{id}",
		Errors:   []warranty.Code{warranty.EmailNotVerified, warranty.InUse, warranty.IdempotencyKeyReused},
	})
	GetOrganization = define[warranty.GetOrganization, warranty.Organization](Spec{
		Name:    "organizations.get",
		Method:  http.MethodGet,
		Base:    Host,
		Path:    "/organizations/{id}",
		Auth:    SessionOnly,
		Summary: "Get an organization that you are a member of.",
	})
	UpdateOrganization = define[warranty.UpdateOrganization, warranty.Organization](Spec{
		Name:    "organizations.update",
		Method:  http.MethodPut,
		Base:    Host,
		Path:    "/organizations/{id}",
		Auth:    SessionOnly,
		Summary: "Update an organization's profile, as an admin, and which of its emails you get.",
	})
	DeleteOrganization = define[warranty.DeleteOrganization, warranty.None](Spec{
		Name:   "organizations.delete",
		Method: http.MethodDelete,
		Base:   Host,
		Path:   "/organizations/{id}",
		Auth:   SessionOnly,
		Summary: "Delete an organization. Its tokens stop working immediately, and it is erased after 30 days. " +
			"Until then an admin can restore it.",
		Errors: []warranty.Code{warranty.ConfirmationRequired, warranty.InUse},
	})
	RestoreOrganization = define[warranty.RestoreOrganization, warranty.Organization](Spec{
		Name:    "organizations.restore",
		Method:  http.MethodPost,
		Base:    Host,
		Path:    "/organizations/{id}/restore",
		Auth:    SessionOnly,
		Summary: "Restore a deleted organization that is not erased yet. Its tokens stay revoked.",
	})

	ListMembers = define[warranty.ListMembers, warranty.Page[warranty.Membership]](Spec{
		Name:    "members.list",
		Method:  http.MethodGet,
		Base:    Host,
		Path:    "/organizations/{id}/members",
		Auth:    SessionOnly,
		Summary: "List the members of an organization, in the order in which they joined.",
	})
	UpdateMember = define[warranty.UpdateMember, warranty.Membership](Spec{
		Name:   "members.update",
		Method: http.MethodPut,
		Base:   Host,
		Path:   "/organizations/{id}/members/{user_id}",
		Auth:   SessionOnly,
		Summary: "Change the role of a member. It takes effect with the member's next request. With a lower role, the " +
			"calendar feed and the open invitations that the member made end, and tokens unless keep_tokens is true.",
		Errors: []warranty.Code{warranty.ConfirmationRequired, warranty.LastAdmin},
	})
	RemoveMember = define[warranty.RemoveMember, warranty.None](Spec{
		Name:   "members.remove",
		Method: http.MethodDelete,
		Base:   Host,
		Path:   "/organizations/{id}/members/{user_id}",
		Auth:   SessionOnly,
		Summary: "Remove a member, or leave an organization. It takes effect with the next request. " +
			"Tokens that the member made are revoked, unless keep_tokens is true. Their open invitations and transfer offers are cancelled. " +
			"Printed hand-over codes that they made stay, unless end_printed_codes is true.",
		Errors: []warranty.Code{warranty.LastAdmin},
	})

	ListInvitations = define[warranty.ListInvitations, warranty.Page[warranty.Invitation]](Spec{
		Name:    "invitations.list",
		Method:  http.MethodGet,
		Base:    Host,
		Path:    "/organizations/{id}/invitations",
		Auth:    SessionOnly,
		Summary: "List the open invitations of an organization, newest first.",
	})
	CreateInvitation = define[warranty.CreateInvitation, warranty.Invitation](Spec{
		Name:    "invitations.create",
		Method:  http.MethodPost,
		Base:    Host,
		Path:    "/organizations/{id}/invitations",
		Auth:    SessionOnly,
		Summary: "Invite a person by email. The code is valid for 7 days and for this address only.",
		Status:  http.StatusCreated,
		Errors: []warranty.Code{
			warranty.ConfirmationRequired,
			warranty.AlreadyExists, warranty.InUse, warranty.IdempotencyKeyReused,
		},
	})
	CancelInvitation = define[warranty.CancelInvitation, warranty.None](Spec{
		Name:    "invitations.cancel",
		Method:  http.MethodDelete,
		Base:    Host,
		Path:    "/organizations/{id}/invitations/{invitation_id}",
		Auth:    SessionOnly,
		Summary: "Cancel an invitation. Its code no longer works.",
	})
	AcceptInvitation = define[warranty.AcceptInvitation, warranty.Organization](Spec{
		Name:    "invitations.accept",
		Method:  http.MethodPost,
		Base:    Host,
		Path:    "/invitations/accept",
		Auth:    SessionOnly,
		Summary: "Accept an invitation with its code, signed in with the address that was invited.",
		Errors:  []warranty.Code{warranty.EmailNotVerified, warranty.AlreadyExists, warranty.InUse},
	})

	ListAddresses = define[warranty.ListAddresses, warranty.Page[warranty.Address]](Spec{
		Name:    "addresses.list",
		Method:  http.MethodGet,
		Base:    Host,
		Path:    "/organizations/{id}/addresses",
		Auth:    SessionOnly,
		Summary: "List the verified email addresses of an organization.",
	})
	AddAddress = define[warranty.AddAddress, warranty.None](Spec{
		Name:    "addresses.add",
		Method:  http.MethodPost,
		Base:    Host,
		Path:    "/organizations/{id}/addresses",
		Auth:    SessionOnly,
		Summary: "Email a code to an address of the organization, to verify it.",
		Status:  http.StatusAccepted,
		Errors:  []warranty.Code{warranty.InUse},
	})
	VerifyAddress = define[warranty.VerifyAddress, warranty.Address](Spec{
		Name:   "addresses.verify",
		Method: http.MethodPost,
		Base:   Host,
		Path:   "/addresses/verify",
		Auth:   SessionOnly,
		Summary: "Verify an address of an organization with the emailed code, as an admin. Records that name it as the seller's are linked to the " +
			"organization.",
		Errors: []warranty.Code{
			warranty.AlreadyExists, warranty.InUse,
		},
	})
	RemoveAddress = define[warranty.RemoveAddress, warranty.None](Spec{
		Name:    "addresses.remove",
		Method:  http.MethodDelete,
		Base:    Host,
		Path:    "/organizations/{id}/addresses/{address_id}",
		Auth:    SessionOnly,
		Summary: "Remove an address. Records that were linked by it stay linked.",
	})

	ConvertAccount = define[warranty.ConvertAccount, warranty.None](Spec{
		Name:   "account.convert",
		Method: http.MethodPost,
		Base:   Host,
		Path:   "/account/organization",
		Auth:   SessionOnly,
		Summary: "Start to turn your own account into an organization: email a code to your other address, " +
			"with which you sign in from then on. It takes your password. The account's current address gets an email with " +
			"a code that stops it.",
		Status: http.StatusAccepted,
		Errors: []warranty.Code{
			warranty.InvalidCredential, warranty.ConfirmationRequired, warranty.EmailNotVerified, warranty.InUse,
		},
	})
	CancelConversion = define[warranty.CancelConversion, warranty.None](Spec{
		Name:    "account.cancel_conversion",
		Method:  http.MethodPost,
		Base:    Host,
		Path:    "/account/organization/cancel",
		Auth:    Public,
		Summary: "Stop turning an account into an organization, with the code that its current address got by email.",
	})
	ConfirmConversion = define[warranty.ConfirmConversion, warranty.Organization](Spec{
		Name:   "account.confirm_conversion",
		Method: http.MethodPost,
		Base:   Host,
		Path:   "/account/organization/confirm",
		Auth:   SessionOnly,
		Summary: "Turn your own account into an organization with the emailed code. Its records, tokens, address and " +
			"history stay; you become its admin and keep this session.",
		Errors: []warranty.Code{warranty.EmailNotVerified, warranty.InUse},
	})
)

// organizationOperations are the rows of this file in the operation table.
var organizationOperations = []*Spec{
	ListOrganizations.Spec,
	CreateOrganization.Spec,
	GetOrganization.Spec,
	UpdateOrganization.Spec,
	DeleteOrganization.Spec,
	RestoreOrganization.Spec,
	ListMembers.Spec,
	UpdateMember.Spec,
	RemoveMember.Spec,
	ListInvitations.Spec,
	CreateInvitation.Spec,
	CancelInvitation.Spec,
	AcceptInvitation.Spec,
	ListAddresses.Spec,
	AddAddress.Spec,
	VerifyAddress.Spec,
	RemoveAddress.Spec,
	ConvertAccount.Spec,
	CancelConversion.Spec,
	ConfirmConversion.Spec,
}
