package service

import (
	"context"
	"reflect"

	"warranty.example/svc/api"
	"warranty.example/svc/internal/store"
	"warranty.example/svc/warranty"
)

// productOperations binds the operations on products.
func (s *Service) productOperations() []api.Bound {
	return []api.Bound{
		api.Bind(api.ListProducts, s.ListProducts),
		api.Bind(api.CreateProduct, s.CreateProduct),
		api.Bind(api.GetProduct, s.GetProduct),
		api.Bind(api.UpdateProduct, s.UpdateProduct),
		api.Bind(api.DeleteProduct, s.DeleteProduct),
	}
}

// ListProducts lists the products of the principal's organization. People have none.
func (s *Service) ListProducts(
	ctx context.Context, p warranty.Principal, in warranty.ListProducts,
) (warranty.Page[warranty.Product], error) {
	if err := in.Check(); err != nil {
		return warranty.Page[warranty.Product]{}, err
	}
	list, total, err := s.Store.Products(ctx, p.Account.ID, in)
	return warranty.PageOf(list, in.Paging, total), err
}

// GetProduct returns a product of the principal's organization.
func (s *Service) GetProduct(
	ctx context.Context, p warranty.Principal, in warranty.GetProduct,
) (warranty.Product, error) {
	return s.Store.Product(ctx, p.Account.ID, in.ID)
}

// CreateProduct adds a product to the principal's organization.
func (s *Service) CreateProduct(
	ctx context.Context, p warranty.Principal, in warranty.CreateProduct,
) (warranty.Product, error) {
	if err := in.Check(); err != nil {
		return warranty.Product{}, err
	}
	if p.Account.Kind != warranty.OrganizationKind {
		return warranty.Product{}, warranty.Refuse(warranty.RoleNotAllowed,
			"Only organizations have products. Create an organization first, and act for it.")
	}
	now := s.now()
	product := warranty.Product{
		ID:           s.NewID(),
		Name:         in.Name,
		Brand:        warranty.Optional(in.Brand),
		Model:        warranty.Optional(in.Model),
		GTIN:         warranty.Optional(in.GTIN),
		Category:     warranty.Optional(in.Category),
		LengthMonths: in.LengthMonths,
		Lifetime:     in.LengthMonths == nil,
		Terms:        warranty.Optional(in.Terms),
		CreatedAt:    now,
		UpdatedAt:    now,
	}
	key := in.IdempotencyKey
	in.IdempotencyKey = nil
	product, err := once(s, p, api.CreateProduct.Name, key, in, product,
		func(replay func(*store.Tx) (bool, error)) error {
			return s.writeLocked(ctx, p, func(tx *store.Tx, account store.Account) error {
				if done, err := replay(tx); err != nil || done {
					return err
				}
				n, err := tx.CountProducts(account.ID)
				if err != nil {
					return err
				}
				if n >= warranty.MaxProducts {
					return warranty.Refuse(warranty.InUse,
						"The organization has %d products, which is the limit. Delete one first.", n)
				}
				return tx.InsertProduct(account.ID, product)
			})
		})
	return product, s.productName(err)
}

// productName returns the error of a write that may set the name of a product.
func (s *Service) productName(err error) error {
	if !s.Store.IsDuplicate(err) {
		return err
	}
	var c warranty.Checks
	c.Add("name", "taken", "Another product has this name.")
	return alreadyExists(c)
}

// UpdateProduct changes the given fields of a product.
func (s *Service) UpdateProduct(
	ctx context.Context, p warranty.Principal, in warranty.UpdateProduct,
) (warranty.Product, error) {
	var changed warranty.Product
	if err := in.Check(); err != nil {
		return changed, err
	}
	now := s.now()
	err := s.writeLocked(ctx, p, func(tx *store.Tx, account store.Account) error {
		product, err := tx.LockProduct(account.ID, in.ID)
		if err != nil {
			return err
		}
		if changed, err = in.Apply(product); err != nil || reflect.DeepEqual(changed, product) {
			return err
		}
		changed.UpdatedAt = now
		return tx.UpdateProduct(changed)
	})
	return changed, s.productName(err)
}

// DeleteProduct removes a product. Records that were issued from it stay.
func (s *Service) DeleteProduct(
	ctx context.Context, p warranty.Principal, in warranty.DeleteProduct,
) (warranty.None, error) {
	return warranty.None{}, s.writeLocked(ctx, p, func(tx *store.Tx, account store.Account) error {
		return tx.DeleteProduct(account.ID, in.ID)
	})
}
