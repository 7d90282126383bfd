package client

import (
	"context"
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

// GetWarranty gets one warranty.
func (c *Client) GetWarranty(ctx context.Context, in warranty.GetWarranty) (warranty.Warranty, error) {
	return Call(ctx, c, api.GetWarranty, in)
}

// CreateWarranty creates a warranty. If in has no idempotency key, a random one is
// added, so that a retry after a lost response does not create a second record.
func (c *Client) CreateWarranty(ctx context.Context, in warranty.CreateWarranty) (warranty.Warranty, error) {
	return Call(ctx, c, api.CreateWarranty, *withKey(in))
}

// UpdateWarranty updates the fields that are set.
func (c *Client) UpdateWarranty(ctx context.Context, in warranty.UpdateWarranty) (warranty.Warranty, error) {
	return Call(ctx, c, api.UpdateWarranty, in)
}

// DeleteWarranty deletes a warranty.
func (c *Client) DeleteWarranty(ctx context.Context, in warranty.DeleteWarranty) error {
	_, err := Call(ctx, c, api.DeleteWarranty, in)
	return err
}

// LookupWarranties finds existing warranties, many at a time.
func (c *Client) LookupWarranties(ctx context.Context, in warranty.LookupWarranties) (warranty.Lookups, error) {
	return Call(ctx, c, api.LookupWarranties, in)
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

// Operations returns the operations of an integration token, bound to this client,
// for the MCP server over stdio. Each returns an api.Relayed.
func (c *Client) Operations() []api.Bound {
	var list []api.Bound
	for _, op := range []*api.Spec{
		api.ListWarranties.Spec, api.CreateWarranty.Spec, api.GetWarranty.Spec, api.UpdateWarranty.Spec,
		api.DeleteWarranty.Spec, api.LookupWarranties.Spec, api.VerifyWarranty.Spec, api.ListClaims.Spec,
		api.GetClaim.Spec, api.ListDocuments.Spec, api.GetDocument.Spec, api.GetAuthStatus.Spec,
	} {
		list = append(list, api.Relay(op, func(ctx context.Context, in any) (api.Relayed, error) {
			if create, ok := in.(*warranty.CreateWarranty); ok {
				in = withKey(*create)
			}
			out, response, err := c.Do(ctx, op, in)
			return api.Relayed{Value: reflect.ValueOf(out).Elem().Interface(), Body: response.Body}, err
		}))
	}
	return list
}

// withKey adds an idempotency key if there is none.
func withKey(in warranty.CreateWarranty) *warranty.CreateWarranty {
	if in.IdempotencyKey == nil {
		key := NewKey()
		in.IdempotencyKey = &key
	}
	return &in
}
