package client

import (
	"context"

	"warranty.example/svc/api"
	"warranty.example/svc/warranty"
)

// ListOrganizations lists the organizations of the user. It requires a session.
func (c *Client) ListOrganizations(
	ctx context.Context, in warranty.ListOrganizations,
) (warranty.Page[warranty.Organization], error) {
	return Call(ctx, c, api.ListOrganizations, in)
}

// CreateOrganization creates an organization, whose first admin is the user. It requires a session.
func (c *Client) CreateOrganization(
	ctx context.Context, in warranty.CreateOrganization,
) (warranty.Organization, error) {
	return Call(ctx, c, api.CreateOrganization, in)
}

// GetOrganization gets an organization of the user. It requires a session.
func (c *Client) GetOrganization(ctx context.Context, in warranty.GetOrganization) (warranty.Organization, error) {
	return Call(ctx, c, api.GetOrganization, in)
}

// UpdateOrganization updates the fields that are set. It requires a session.
func (c *Client) UpdateOrganization(
	ctx context.Context, in warranty.UpdateOrganization,
) (warranty.Organization, error) {
	return Call(ctx, c, api.UpdateOrganization, in)
}

// DeleteOrganization deletes an organization; an admin can restore it for 30 days. It requires a session.
func (c *Client) DeleteOrganization(ctx context.Context, in warranty.DeleteOrganization) error {
	_, err := Call(ctx, c, api.DeleteOrganization, in)
	return err
}

// RestoreOrganization restores a deleted organization. It requires a session.
func (c *Client) RestoreOrganization(
	ctx context.Context, in warranty.RestoreOrganization,
) (warranty.Organization, error) {
	return Call(ctx, c, api.RestoreOrganization, in)
}

// ListMembers lists the members of an organization. It requires a session.
func (c *Client) ListMembers(ctx context.Context, in warranty.ListMembers) (warranty.Page[warranty.Membership], error) {
	return Call(ctx, c, api.ListMembers, in)
}

// UpdateMember changes the role of a member. It requires a session.
func (c *Client) UpdateMember(ctx context.Context, in warranty.UpdateMember) (warranty.Membership, error) {
	return Call(ctx, c, api.UpdateMember, in)
}

// RemoveMember removes a member, or leaves an organization. It requires a session.
func (c *Client) RemoveMember(ctx context.Context, in warranty.RemoveMember) error {
	_, err := Call(ctx, c, api.RemoveMember, in)
	return err
}

// ListInvitations lists the open invitations of an organization. It requires a session.
func (c *Client) ListInvitations(
	ctx context.Context, in warranty.ListInvitations,
) (warranty.Page[warranty.Invitation], error) {
	return Call(ctx, c, api.ListInvitations, in)
}

// CreateInvitation invites a person to an organization by email. It requires a session.
func (c *Client) CreateInvitation(ctx context.Context, in warranty.CreateInvitation) (warranty.Invitation, error) {
	return Call(ctx, c, api.CreateInvitation, in)
}

// CancelInvitation cancels an invitation. It requires a session.
func (c *Client) CancelInvitation(ctx context.Context, in warranty.CancelInvitation) error {
	_, err := Call(ctx, c, api.CancelInvitation, in)
	return err
}

// AcceptInvitation joins an organization with an emailed code. It requires a session.
func (c *Client) AcceptInvitation(ctx context.Context, in warranty.AcceptInvitation) (warranty.Organization, error) {
	return Call(ctx, c, api.AcceptInvitation, in)
}

// ListAddresses lists the verified addresses of an organization. It requires a session.
func (c *Client) ListAddresses(
	ctx context.Context, in warranty.ListAddresses,
) (warranty.Page[warranty.Address], error) {
	return Call(ctx, c, api.ListAddresses, in)
}

// AddAddress emails a code to an address of an organization. It requires a session.
func (c *Client) AddAddress(ctx context.Context, in warranty.AddAddress) error {
	_, err := Call(ctx, c, api.AddAddress, in)
	return err
}

// VerifyAddress verifies an address of an organization with the emailed code. It requires a session.
func (c *Client) VerifyAddress(ctx context.Context, in warranty.VerifyAddress) (warranty.Address, error) {
	return Call(ctx, c, api.VerifyAddress, in)
}

// ListPrintedCodes lists the printed hand-over codes of an organization. It requires a session.
func (c *Client) ListPrintedCodes(
	ctx context.Context, in warranty.ListPrintedCodes,
) (warranty.Page[warranty.PrintedCode], error) {
	return Call(ctx, c, api.ListPrintedCodes, in)
}

// EndPrintedCodes ends the printed hand-over codes of an organization that a person made. It requires a session.
func (c *Client) EndPrintedCodes(ctx context.Context, in warranty.EndPrintedCodes) error {
	_, err := Call(ctx, c, api.EndPrintedCodes, in)
	return err
}

// ListDomains lists the domains of an organization. It requires a session.
func (c *Client) ListDomains(ctx context.Context, in warranty.ListDomains) (warranty.Page[warranty.Domain], error) {
	return Call(ctx, c, api.ListDomains, in)
}

// AddDomain adds a domain to an organization. It requires a session.
func (c *Client) AddDomain(ctx context.Context, in warranty.AddDomain) (warranty.Domain, error) {
	return Call(ctx, c, api.AddDomain, in)
}

// CheckDomain looks for the DNS record of a domain. It requires a session.
func (c *Client) CheckDomain(ctx context.Context, in warranty.CheckDomain) (warranty.Domain, error) {
	return Call(ctx, c, api.CheckDomain, in)
}

// RemoveDomain removes a domain of an organization. It requires a session.
func (c *Client) RemoveDomain(ctx context.Context, in warranty.RemoveDomain) error {
	_, err := Call(ctx, c, api.RemoveDomain, in)
	return err
}

// RemoveAddress removes an address of an organization. It requires a session.
func (c *Client) RemoveAddress(ctx context.Context, in warranty.RemoveAddress) error {
	_, err := Call(ctx, c, api.RemoveAddress, in)
	return err
}

// ConvertAccount starts to turn the user's own account into an organization. It requires a session.
func (c *Client) ConvertAccount(ctx context.Context, in warranty.ConvertAccount) error {
	_, err := Call(ctx, c, api.ConvertAccount, in)
	return err
}

// CancelConversion stops turning an account into an organization, with the code from the email to its current address.
func (c *Client) CancelConversion(ctx context.Context, in warranty.CancelConversion) error {
	_, err := Call(ctx, c, api.CancelConversion, in)
	return err
}

// ConfirmConversion turns the user's own account into an organization with the emailed code. It requires a session.
func (c *Client) ConfirmConversion(ctx context.Context, in warranty.ConfirmConversion) (warranty.Organization, error) {
	return Call(ctx, c, api.ConfirmConversion, in)
}

// GetBrand gets the brand of an organization. It requires a session.
func (c *Client) GetBrand(ctx context.Context, in warranty.GetBrand) (warranty.Brand, error) {
	return Call(ctx, c, api.GetBrand, in)
}

// UpdateBrand updates the parts of a brand that are set. It requires a session.
func (c *Client) UpdateBrand(ctx context.Context, in warranty.UpdateBrand) (warranty.Brand, error) {
	return Call(ctx, c, api.UpdateBrand, in)
}
