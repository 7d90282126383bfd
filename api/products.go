package api

import (
	"net/http"

	"warranty.example/svc/warranty"
)

// The operations on products: an organization's templates for the warranties that it issues.
var (
	ListProducts = define[warranty.ListProducts, warranty.Page[warranty.Product]](Spec{
		Name:    "products.list",
		Method:  http.MethodGet,
		Base:    V1,
		Path:    "/products",
		Auth:    Credential,
		Scope:   warranty.WarrantiesRead,
		Summary: "List the products of the organization that you act for, by name.",
	})
	CreateProduct = define[warranty.CreateProduct, warranty.Product](Spec{
		Name:     "products.create",
		Method:   http.MethodPost,
		Base:     Host,
		Path:     "/products",
		Auth:     SessionOnly,
		Summary:  "Add a product to the organization that you act for.",
		Status:   http.StatusCreated,
		Location: "/v1/products/{id}",
		Errors:   []warranty.Code{warranty.AlreadyExists, warranty.InUse, warranty.IdempotencyKeyReused},
	})
	GetProduct = define[warranty.GetProduct, warranty.Product](Spec{
		Name:    "products.get",
		Method:  http.MethodGet,
		Base:    V1,
		Path:    "/products/{id}",
		Auth:    Credential,
		Scope:   warranty.WarrantiesRead,
		Summary: "Get a product.",
	})
	UpdateProduct = define[warranty.UpdateProduct, warranty.Product](Spec{
		Name:    "products.update",
		Method:  http.MethodPut,
		Base:    Host,
		Path:    "/products/{id}",
		Auth:    SessionOnly,
		Summary: "Update the given fields of a product. Warranties that were issued do not change.",
		Errors:  []warranty.Code{warranty.AlreadyExists},
	})
	DeleteProduct = define[warranty.DeleteProduct, warranty.None](Spec{
		Name:    "products.delete",
		Method:  http.MethodDelete,
		Base:    Host,
		Path:    "/products/{id}",
		Auth:    SessionOnly,
		Summary: "Delete a product. Warranties that were issued stay.",
	})
)

// productOperations are the rows of this file in the operation table.
var productOperations = []*Spec{
	ListProducts.Spec,
	CreateProduct.Spec,
	GetProduct.Spec,
	UpdateProduct.Spec,
	DeleteProduct.Spec,
}
