package client

import (
	"context"
	"net/http"
	"reflect"

	"warranty.example/svc/api"
	"warranty.example/svc/warranty"
)

// ListWarranties lists the warranties that the credential can read, newest first.
func (c *Client) ListWarranties(
	ctx context.Context, in warranty.ListWarranties,
) (warranty.Page[warranty.Warranty], error) {
	return Call(ctx, c, api.ListWarranties, in)
}

// SummarizeWarranties counts the warranties that the credential can read, per group.
func (c *Client) SummarizeWarranties(
	ctx context.Context, in warranty.SummarizeWarranties,
) (warranty.Summary, error) {
	return Call(ctx, c, api.SummarizeWarranties, in)
}

// GetWarranty gets one warranty.
func (c *Client) GetWarranty(ctx context.Context, in warranty.GetWarranty) (warranty.Warranty, error) {
	return Call(ctx, c, api.GetWarranty, in)
}

// CreateWarranty creates a warranty. If in has no idempotency key, a random one is
// added, so that a retry after a lost response does not create a second record.
func (c *Client) CreateWarranty(ctx context.Context, in warranty.CreateWarranty) (warranty.Warranty, error) {
	in.IdempotencyKey = keyOf(in.IdempotencyKey)
	return Call(ctx, c, api.CreateWarranty, in)
}

// IssueWarranty creates a warranty and offers it to a customer. If in has no idempotency key, a random one is
// added, so that a retry after a lost response does not issue a second warranty.
func (c *Client) IssueWarranty(ctx context.Context, in warranty.IssueWarranty) (warranty.IssuedWarranty, error) {
	in.IdempotencyKey = keyOf(in.IdempotencyKey)
	return Call(ctx, c, api.IssueWarranty, in)
}

// CreateBatch creates up to 500 warranties, or updates those with a known external ID.
func (c *Client) CreateBatch(ctx context.Context, in warranty.CreateBatch) (warranty.BatchResults, error) {
	return Call(ctx, c, api.CreateBatch, in)
}

// UpdateWarranty updates the fields that are set.
func (c *Client) UpdateWarranty(ctx context.Context, in warranty.UpdateWarranty) (warranty.Warranty, error) {
	return Call(ctx, c, api.UpdateWarranty, in)
}

// CorrectWarranty corrects the fields that are set. It requires a session.
func (c *Client) CorrectWarranty(ctx context.Context, in warranty.CorrectWarranty) (warranty.Warranty, error) {
	return Call(ctx, c, api.CorrectWarranty, in)
}

// DeleteWarranty deletes a warranty.
func (c *Client) DeleteWarranty(ctx context.Context, in warranty.DeleteWarranty) error {
	_, err := Call(ctx, c, api.DeleteWarranty, in)
	return err
}

// ListTrash lists the warranties in the trash. It requires a session.
func (c *Client) ListTrash(ctx context.Context, in warranty.ListTrash) (warranty.Page[warranty.Trashed], error) {
	return Call(ctx, c, api.ListTrash, in)
}

// RestoreWarranty restores a warranty from the trash. It requires a session.
func (c *Client) RestoreWarranty(ctx context.Context, in warranty.RestoreWarranty) (warranty.Warranty, error) {
	return Call(ctx, c, api.RestoreWarranty, in)
}

// ListDeleted lists the warranties that left the account.
func (c *Client) ListDeleted(ctx context.Context, in warranty.ListDeleted) (warranty.Page[warranty.Deletion], error) {
	return Call(ctx, c, api.ListDeleted, in)
}

// ListChanges lists the warranties that changed and those that left the account since a cursor.
func (c *Client) ListChanges(ctx context.Context, in warranty.ListChanges) (warranty.Changes, error) {
	return Call(ctx, c, api.ListChanges, in)
}

// LookupWarranties finds existing warranties, many at a time.
func (c *Client) LookupWarranties(ctx context.Context, in warranty.LookupWarranties) (warranty.Lookups, error) {
	return Call(ctx, c, api.LookupWarranties, in)
}

// ListConfirmations lists the warranties that wait for the account's confirmation as
// their seller.
func (c *Client) ListConfirmations(
	ctx context.Context, in warranty.ListConfirmations,
) (warranty.Page[warranty.Confirmation], error) {
	return Call(ctx, c, api.ListConfirmations, in)
}

// DecideConfirmation confirms or declines a warranty that names the account as its
// seller.
func (c *Client) DecideConfirmation(
	ctx context.Context, in warranty.DecideConfirmation,
) (warranty.Confirmation, error) {
	return Call(ctx, c, api.DecideConfirmation, in)
}

// LeaveWarranty ends the account's role as the confirmed seller of a warranty.
func (c *Client) LeaveWarranty(ctx context.Context, in warranty.LeaveWarranty) error {
	_, err := Call(ctx, c, api.LeaveWarranty, in)
	return err
}

// OfferHandover offers a warranty that the account issued to a customer.
func (c *Client) OfferHandover(ctx context.Context, in warranty.OfferHandover) (warranty.HandoverOffer, error) {
	return Call(ctx, c, api.OfferHandover, in)
}

// CancelHandover cancels the offer of a warranty.
func (c *Client) CancelHandover(ctx context.Context, in warranty.CancelHandover) error {
	_, err := Call(ctx, c, api.CancelHandover, in)
	return err
}

// TakeHandover takes a warranty with the code of its offer.
func (c *Client) TakeHandover(ctx context.Context, in warranty.TakeHandover) (warranty.Warranty, error) {
	return Call(ctx, c, api.TakeHandover, in)
}

// PreviewHandover shows the warranty that a code takes.
func (c *Client) PreviewHandover(ctx context.Context, in warranty.PreviewHandover) (warranty.HandoverPreview, error) {
	return Call(ctx, c, api.PreviewHandover, in)
}

// EmailHandover emails six digits and a link that take the warranty of a printed code.
func (c *Client) EmailHandover(ctx context.Context, in warranty.EmailHandover) (warranty.EmailedCode, error) {
	return Call(ctx, c, api.EmailHandover, in)
}

// RegisterHandover takes a warranty with an emailed code and creates the account of
// its owner.
func (c *Client) RegisterHandover(
	ctx context.Context, in warranty.RegisterHandover,
) (warranty.HandoverSession, error) {
	return Call(ctx, c, api.RegisterHandover, in)
}

// VerifyWarranty verifies a warranty by its reference number.
func (c *Client) VerifyWarranty(ctx context.Context, in warranty.VerifyWarranty) (warranty.Verification, error) {
	return Call(ctx, c, api.VerifyWarranty, in)
}

// VerifyPublicly verifies a warranty without a credential.
func (c *Client) VerifyPublicly(ctx context.Context, in warranty.VerifyWarranty) (warranty.Verification, error) {
	return Call(ctx, c, api.VerifyPublicly, in)
}

// ListClaims lists the claims that the credential can read, newest first.
func (c *Client) ListClaims(ctx context.Context, in warranty.ListClaims) (warranty.Page[warranty.Claim], error) {
	return Call(ctx, c, api.ListClaims, in)
}

// GetClaim gets one claim.
func (c *Client) GetClaim(ctx context.Context, in warranty.GetClaim) (warranty.Claim, error) {
	return Call(ctx, c, api.GetClaim, in)
}

// ListMessages lists the messages about a claim that the credential can read, newest first.
func (c *Client) ListMessages(
	ctx context.Context, in warranty.ListMessages,
) (warranty.Page[warranty.Message], error) {
	return Call(ctx, c, api.ListMessages, in)
}

// ListDocuments lists the metadata of the documents that the credential can read,
// newest first.
func (c *Client) ListDocuments(
	ctx context.Context, in warranty.ListDocuments,
) (warranty.Page[warranty.Document], error) {
	return Call(ctx, c, api.ListDocuments, in)
}

// GetDocument gets the metadata of one document.
func (c *Client) GetDocument(ctx context.Context, in warranty.GetDocument) (warranty.Document, error) {
	return Call(ctx, c, api.GetDocument, in)
}

// AuthStatus returns the user, the scopes and the expiry of the credential.
func (c *Client) AuthStatus(ctx context.Context) (warranty.AuthStatus, error) {
	return Call(ctx, c, api.GetAuthStatus, warranty.GetAuthStatus{})
}

// FileClaim files a claim on a warranty that the user owns. It requires a session.
func (c *Client) FileClaim(ctx context.Context, in warranty.FileClaim) (warranty.Claim, error) {
	return Call(ctx, c, api.FileClaim, in)
}

// MoveClaim updates the status of a claim. It requires a session.
func (c *Client) MoveClaim(ctx context.Context, in warranty.MoveClaim) (warranty.Claim, error) {
	return Call(ctx, c, api.MoveClaim, in)
}

// WriteMessage writes a message about a claim. It requires a session.
func (c *Client) WriteMessage(ctx context.Context, in warranty.WriteMessage) (warranty.Message, error) {
	return Call(ctx, c, api.WriteMessage, in)
}

// GetClaimHandling gets the customer of a claim and the member who works on it. It requires a session.
func (c *Client) GetClaimHandling(ctx context.Context, in warranty.GetClaimHandling) (warranty.ClaimHandling, error) {
	return Call(ctx, c, api.GetClaimHandling, in)
}

// MuteClaim stops or resumes the emails about a claim. It requires a session.
func (c *Client) MuteClaim(ctx context.Context, in warranty.MuteClaim) (warranty.ClaimMute, error) {
	return Call(ctx, c, api.MuteClaim, in)
}

// DetachDocument takes a stored document back from a claim. It requires a session.
func (c *Client) DetachDocument(ctx context.Context, in warranty.DetachDocument) error {
	_, err := Call(ctx, c, api.DetachDocument, in)
	return err
}

// AssignClaim assigns a claim to a member of the organization. It requires a session.
func (c *Client) AssignClaim(ctx context.Context, in warranty.AssignClaim) (warranty.ClaimHandling, error) {
	return Call(ctx, c, api.AssignClaim, in)
}

// DeleteDocument deletes a document. It requires a session.
func (c *Client) DeleteDocument(ctx context.Context, in warranty.DeleteDocument) error {
	_, err := Call(ctx, c, api.DeleteDocument, in)
	return err
}

// OfferTransfer offers a warranty to a new owner. It requires a session.
func (c *Client) OfferTransfer(ctx context.Context, in warranty.OfferTransfer) (warranty.TransferOffer, error) {
	return Call(ctx, c, api.OfferTransfer, in)
}

// CancelTransfer cancels a transfer. It requires a session.
func (c *Client) CancelTransfer(ctx context.Context, in warranty.CancelTransfer) error {
	_, err := Call(ctx, c, api.CancelTransfer, in)
	return err
}

// AcceptTransfer accepts a transfer with its code. It requires a session.
func (c *Client) AcceptTransfer(ctx context.Context, in warranty.TakeHandover) (warranty.Warranty, error) {
	return Call(ctx, c, api.AcceptTransfer, in)
}

// ListHistory lists the changes to a warranty, newest first. It requires a session.
func (c *Client) ListHistory(ctx context.Context, in warranty.ListHistory) (warranty.Page[warranty.Event], error) {
	return Call(ctx, c, api.ListHistory, in)
}

// CreateToken creates an integration token. It requires a session.
func (c *Client) CreateToken(ctx context.Context, in warranty.CreateToken) (warranty.NewToken, error) {
	return Call(ctx, c, api.CreateToken, in)
}

// ListTokens lists the integration tokens of the user, newest first. It requires a
// session.
func (c *Client) ListTokens(ctx context.Context, in warranty.ListTokens) (warranty.Page[warranty.Token], error) {
	return Call(ctx, c, api.ListTokens, in)
}

// GetToken gets an integration token. It requires a session.
func (c *Client) GetToken(ctx context.Context, in warranty.GetToken) (warranty.Token, error) {
	return Call(ctx, c, api.GetToken, in)
}

// RotateToken replaces the secret of an integration token. It requires a session.
func (c *Client) RotateToken(ctx context.Context, in warranty.RotateToken) (warranty.NewToken, error) {
	return Call(ctx, c, api.RotateToken, in)
}

// RevokeToken revokes an integration token. It requires a session.
func (c *Client) RevokeToken(ctx context.Context, in warranty.RevokeToken) error {
	_, err := Call(ctx, c, api.RevokeToken, in)
	return err
}

// ListTokenHistory lists the changes to an integration token, newest first. It
// requires a session.
func (c *Client) ListTokenHistory(
	ctx context.Context, in warranty.ListTokenHistory,
) (warranty.Page[warranty.Event], error) {
	return Call(ctx, c, api.ListTokenHistory, in)
}

// ListTokenRequests lists the requests made with an integration token, newest first.
// It requires a session.
func (c *Client) ListTokenRequests(
	ctx context.Context, in warranty.ListTokenRequests,
) (warranty.Page[warranty.RequestRecord], error) {
	return Call(ctx, c, api.ListTokenRequests, in)
}

// Register creates an account and signs in. It requires no credential.
func (c *Client) Register(ctx context.Context, in warranty.Register) (warranty.Session, error) {
	return Call(ctx, c, api.Register, in)
}

// SignIn signs in with a password or an emailed code. It requires no credential.
func (c *Client) SignIn(ctx context.Context, in warranty.SignIn) (warranty.Session, error) {
	return Call(ctx, c, api.SignIn, in)
}

// RequestSignInCode emails a sign-in code. It requires no credential.
func (c *Client) RequestSignInCode(ctx context.Context, in warranty.RequestSignInCode) error {
	_, err := Call(ctx, c, api.RequestSignInCode, in)
	return err
}

// SignOut ends the session of the client.
func (c *Client) SignOut(ctx context.Context) error {
	_, err := Call(ctx, c, api.SignOut, warranty.SignOut{})
	return err
}

// VerifyEmail verifies the email address of the user. It requires a session.
func (c *Client) VerifyEmail(ctx context.Context, in warranty.VerifyEmail) (warranty.User, error) {
	return Call(ctx, c, api.VerifyEmail, in)
}

// SendVerification emails a new verification code. It requires a session.
func (c *Client) SendVerification(ctx context.Context) error {
	_, err := Call(ctx, c, api.SendVerification, warranty.SendVerification{})
	return err
}

// RequestPasswordReset emails a password reset code. It requires no credential.
func (c *Client) RequestPasswordReset(ctx context.Context, in warranty.RequestPasswordReset) error {
	_, err := Call(ctx, c, api.RequestPasswordReset, in)
	return err
}

// ResetPassword sets a new password with the emailed code. It requires no credential.
func (c *Client) ResetPassword(ctx context.Context, in warranty.ResetPassword) error {
	_, err := Call(ctx, c, api.ResetPassword, in)
	return err
}

// ChangePassword changes the password of the user. It requires a session.
func (c *Client) ChangePassword(ctx context.Context, in warranty.ChangePassword) (warranty.Session, error) {
	return Call(ctx, c, api.ChangePassword, in)
}

// ConfirmSession confirms the session for 15 minutes and gives it a new secret, which the client does not store. It
// requires a session.
func (c *Client) ConfirmSession(ctx context.Context, in warranty.ConfirmSession) (warranty.Session, error) {
	return Call(ctx, c, api.ConfirmSession, in)
}

// GetAccount gets the account of the user. It requires a session.
func (c *Client) GetAccount(ctx context.Context) (warranty.Account, error) {
	return Call(ctx, c, api.GetAccount, warranty.GetAccount{})
}

// UpdateAccount updates the fields of the account that are set. It requires a session.
func (c *Client) UpdateAccount(ctx context.Context, in warranty.UpdateAccount) (warranty.Account, error) {
	return Call(ctx, c, api.UpdateAccount, in)
}

// ChangeEmail emails a code to the new address of the user. It requires a confirmed session.
func (c *Client) ChangeEmail(ctx context.Context, in warranty.ChangeEmail) error {
	_, err := Call(ctx, c, api.ChangeEmail, in)
	return err
}

// ConfirmEmail changes the address of the user with the emailed code. It requires the session that asked for it.
func (c *Client) ConfirmEmail(ctx context.Context, in warranty.ConfirmEmail) (warranty.Session, error) {
	return Call(ctx, c, api.ConfirmEmail, in)
}

// DeleteAccount deletes the account of the user. It requires a confirmed session.
func (c *Client) DeleteAccount(ctx context.Context, in warranty.DeleteAccount) (warranty.DeletedAccount, error) {
	return Call(ctx, c, api.DeleteAccount, in)
}

// RestoreAccount takes back the deletion of an account and signs in, with the flow that signing in answered.
func (c *Client) RestoreAccount(ctx context.Context, in warranty.RestoreAccount) (warranty.Session, error) {
	return Call(ctx, c, api.RestoreAccount, in)
}

// NotMe ends all credentials of an account, with the code from an email about it.
func (c *Client) NotMe(ctx context.Context, in warranty.NotMe) error {
	_, err := Call(ctx, c, api.NotMe, in)
	return err
}

// ListSessions lists the sessions of the user, the most recently used first. It requires a session.
func (c *Client) ListSessions(ctx context.Context) (warranty.AccountSessions, error) {
	return Call(ctx, c, api.ListSessions, warranty.ListSessions{})
}

// ListPasskeys lists the passkeys of the user, the oldest first. It requires a session.
func (c *Client) ListPasskeys(ctx context.Context) (warranty.AccountPasskeys, error) {
	return Call(ctx, c, api.ListPasskeys, warranty.ListPasskeys{})
}

// RenamePasskey renames a passkey of the user. It requires a session.
func (c *Client) RenamePasskey(ctx context.Context, in warranty.RenamePasskey) (warranty.AccountPasskey, error) {
	return Call(ctx, c, api.RenamePasskey, in)
}

// RemovePasskey removes a passkey of the user. It requires a confirmed session.
func (c *Client) RemovePasskey(ctx context.Context, in warranty.RemovePasskey) error {
	_, err := Call(ctx, c, api.RemovePasskey, in)
	return err
}

// GetSecurity gets whether the user has two-step sign-in. It requires a session.
func (c *Client) GetSecurity(ctx context.Context) (warranty.Security, error) {
	return Call(ctx, c, api.GetSecurity, warranty.GetSecurity{})
}

// UpdateSecurity turns two-step sign-in of the user on or off. It requires a confirmed session.
func (c *Client) UpdateSecurity(ctx context.Context, in warranty.UpdateSecurity) (warranty.SecurityChange, error) {
	return Call(ctx, c, api.UpdateSecurity, in)
}

// AddTOTP makes the secret of an authenticator app, which ConfirmTOTP adds. It requires a confirmed session.
func (c *Client) AddTOTP(ctx context.Context) (warranty.NewTOTP, error) {
	return Call(ctx, c, api.AddTOTP, warranty.AddTOTP{})
}

// ConfirmTOTP adds the authenticator app with its first code. It requires a confirmed session.
func (c *Client) ConfirmTOTP(ctx context.Context, in warranty.ConfirmTOTP) (warranty.Security, error) {
	return Call(ctx, c, api.ConfirmTOTP, in)
}

// RemoveTOTP removes the authenticator app of the user. It requires a confirmed session.
func (c *Client) RemoveTOTP(ctx context.Context, in warranty.RemoveTOTP) error {
	_, err := Call(ctx, c, api.RemoveTOTP, in)
	return err
}

// CreateRecoveryCodes makes new recovery codes; the old ones end. It requires a confirmed session.
func (c *Client) CreateRecoveryCodes(ctx context.Context) (warranty.RecoveryCodes, error) {
	return Call(ctx, c, api.CreateRecoveryCodes, warranty.CreateRecoveryCodes{})
}

// EndSession ends a session of the user. It requires a session.
func (c *Client) EndSession(ctx context.Context, in warranty.EndSession) error {
	_, err := Call(ctx, c, api.EndSession, in)
	return err
}

// EndOtherSessions ends all sessions of the user but the current one. It requires a session.
func (c *Client) EndOtherSessions(ctx context.Context, in warranty.EndOtherSessions) error {
	_, err := Call(ctx, c, api.EndOtherSessions, in)
	return err
}

// Operations returns the operations of an integration token, bound to this client,
// for the MCP server over stdio. Each returns an api.Relayed.
func (c *Client) Operations() []api.Bound {
	var list []api.Bound
	for _, op := range api.Operations() {
		if op.Auth != api.Credential {
			continue
		}
		list = append(list, api.Relay(op, func(ctx context.Context, in any) (api.Relayed, error) {
			switch in := in.(type) {
			case *warranty.CreateWarranty:
				in.IdempotencyKey = keyOf(in.IdempotencyKey)
			case *warranty.IssueWarranty:
				in.IdempotencyKey = keyOf(in.IdempotencyKey)
			}
			out, response, err := c.Do(ctx, op, in)
			relayed := api.Relayed{Value: reflect.ValueOf(out).Elem().Interface(), Body: response.Body}
			if now, err := http.ParseTime(response.Header.Get("Date")); err == nil {
				relayed.Today = warranty.DateOf(now)
			}
			return relayed, err
		}))
	}
	return list
}

// keyOf returns an idempotency key, or a random one if there is none.
func keyOf(key *string) *string {
	if key == nil {
		key = new(NewKey())
	}
	return key
}

// CountClaims counts your claims by where they are in your work.
func (c *Client) CountClaims(ctx context.Context) (warranty.ClaimCounts, error) {
	return Call(ctx, c, api.CountClaims, warranty.CountClaims{})
}

// ListNotes lists the notes that your team wrote about a claim that you decide, newest first.
func (c *Client) ListNotes(ctx context.Context, in warranty.ListNotes) (warranty.Page[warranty.Note], error) {
	return Call(ctx, c, api.ListNotes, in)
}

// WriteNote writes a note about a claim that you decide. Only your team reads it.
func (c *Client) WriteNote(ctx context.Context, in warranty.WriteNote) (warranty.Note, error) {
	return Call(ctx, c, api.WriteNote, in)
}

// ListCustomers lists the customers of the organization, those of the latest contact first.
func (c *Client) ListCustomers(
	ctx context.Context, in warranty.ListCustomers,
) (warranty.Page[warranty.CustomerRecord], error) {
	return Call(ctx, c, api.ListCustomers, in)
}

// GetCustomer gets one customer of the organization.
func (c *Client) GetCustomer(ctx context.Context, in warranty.GetCustomer) (warranty.CustomerRecord, error) {
	return Call(ctx, c, api.GetCustomer, in)
}

// GetCustomerCard gets a customer with its note. It requires a session.
func (c *Client) GetCustomerCard(ctx context.Context, in warranty.GetCustomerCard) (warranty.CustomerCard, error) {
	return Call(ctx, c, api.GetCustomerCard, in)
}

// AddCustomer adds a customer to the organization. It requires a session.
func (c *Client) AddCustomer(ctx context.Context, in warranty.AddCustomer) (warranty.CustomerCard, error) {
	return Call(ctx, c, api.AddCustomer, in)
}

// UpdateCustomer updates the given fields of a customer. It requires a session.
func (c *Client) UpdateCustomer(ctx context.Context, in warranty.UpdateCustomer) (warranty.CustomerCard, error) {
	return Call(ctx, c, api.UpdateCustomer, in)
}

// MergeCustomers merges a customer into another one. It requires a session.
func (c *Client) MergeCustomers(ctx context.Context, in warranty.MergeCustomers) (warranty.CustomerCard, error) {
	return Call(ctx, c, api.MergeCustomers, in)
}

// UnmergeCustomer undoes the merge of a customer. It requires a session.
func (c *Client) UnmergeCustomer(ctx context.Context, in warranty.UnmergeCustomer) (warranty.CustomerCard, error) {
	return Call(ctx, c, api.UnmergeCustomer, in)
}

// BulkClaims assigns, asks, approves, rejects or resolves many claims. It requires a session.
func (c *Client) BulkClaims(ctx context.Context, in warranty.BulkClaims) (warranty.ClaimBulk, error) {
	return Call(ctx, c, api.BulkClaims, in)
}

// GetBulk gets the results of an action on many claims. It requires a session.
func (c *Client) GetBulk(ctx context.Context, in warranty.GetBulk) (warranty.ClaimBulk, error) {
	return Call(ctx, c, api.GetBulk, in)
}

// UndoBulk undoes an action on many claims. It requires a session.
func (c *Client) UndoBulk(ctx context.Context, in warranty.UndoBulk) (warranty.ClaimBulk, error) {
	return Call(ctx, c, api.UndoBulk, in)
}
