package client

import (
	"context"

	"warranty.example/svc/api"
	"warranty.example/svc/warranty"
)

// ListReplies lists the saved replies of the account. It requires a session.
func (c *Client) ListReplies(ctx context.Context, in warranty.ListReplies) (warranty.Page[warranty.SavedReply], error) {
	return Call(ctx, c, api.ListReplies, in)
}

// CreateReply saves a reply. It requires a session.
func (c *Client) CreateReply(ctx context.Context, in warranty.CreateReply) (warranty.SavedReply, error) {
	return Call(ctx, c, api.CreateReply, in)
}

// UpdateReply updates the fields that are set. It requires a session.
func (c *Client) UpdateReply(ctx context.Context, in warranty.UpdateReply) (warranty.SavedReply, error) {
	return Call(ctx, c, api.UpdateReply, in)
}

// DeleteReply deletes a saved reply. It requires a session.
func (c *Client) DeleteReply(ctx context.Context, in warranty.DeleteReply) error {
	_, err := Call(ctx, c, api.DeleteReply, in)
	return err
}
