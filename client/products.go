package client

import (
	"context"

	"warranty.example/svc/api"
	"warranty.example/svc/warranty"
)

// ListProducts lists the products of the organization that the client acts for.
func (c *Client) ListProducts(ctx context.Context, in warranty.ListProducts) (warranty.Page[warranty.Product], error) {
	return Call(ctx, c, api.ListProducts, in)
}

// CreateProduct adds a product. It requires a session.
func (c *Client) CreateProduct(ctx context.Context, in warranty.CreateProduct) (warranty.Product, error) {
	return Call(ctx, c, api.CreateProduct, in)
}

// GetProduct gets one product.
func (c *Client) GetProduct(ctx context.Context, in warranty.GetProduct) (warranty.Product, error) {
	return Call(ctx, c, api.GetProduct, in)
}

// UpdateProduct updates the fields that are set. It requires a session.
func (c *Client) UpdateProduct(ctx context.Context, in warranty.UpdateProduct) (warranty.Product, error) {
	return Call(ctx, c, api.UpdateProduct, in)
}

// DeleteProduct deletes a product. It requires a session.
func (c *Client) DeleteProduct(ctx context.Context, in warranty.DeleteProduct) error {
	_, err := Call(ctx, c, api.DeleteProduct, in)
	return err
}
