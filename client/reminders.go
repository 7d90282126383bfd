package client

import (
	"context"

	"warranty.example/svc/api"
	"warranty.example/svc/warranty"
)

// GetReminders returns when the account is reminded of the end of its warranties. It requires a session.
func (c *Client) GetReminders(ctx context.Context) (warranty.Reminders, error) {
	return Call(ctx, c, api.GetReminders, warranty.GetReminders{})
}

// UpdateReminders updates the fields that are set. It requires a session.
func (c *Client) UpdateReminders(ctx context.Context, in warranty.UpdateReminders) (warranty.Reminders, error) {
	return Call(ctx, c, api.UpdateReminders, in)
}

// GetWarrantyReminders returns the reminders of the account for one warranty. It requires a session.
func (c *Client) GetWarrantyReminders(
	ctx context.Context, in warranty.GetWarrantyReminders,
) (warranty.WarrantyReminders, error) {
	return Call(ctx, c, api.GetWarrantyReminders, in)
}

// UpdateWarrantyReminders sets the reminders of the account for one warranty. It requires a session.
func (c *Client) UpdateWarrantyReminders(
	ctx context.Context, in warranty.UpdateWarrantyReminders,
) (warranty.WarrantyReminders, error) {
	return Call(ctx, c, api.UpdateWarrantyReminders, in)
}
