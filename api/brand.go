package api

import (
	"net/http"

	"warranty.example/svc/warranty"
)

// The operations on the brand of an organization.
var (
	GetBrand = define[warranty.GetBrand, warranty.Brand](Spec{
		Name:    "brand.get",
		Method:  http.MethodGet,
		Base:    Host,
		Path:    "/organizations/{id}/brand",
		Auth:    SessionOnly,
		Summary: "Get the brand of an organization: its logo, color, sender name and postal address.",
	})
	UpdateBrand = define[warranty.UpdateBrand, warranty.Brand](Spec{
		Name:    "brand.update",
		Method:  http.MethodPut,
		Base:    Host,
		Path:    "/organizations/{id}/brand",
		Auth:    SessionOnly,
		Summary: "Update the brand of an organization with a verified domain.",
		Errors:  []warranty.Code{warranty.InvalidTransition, warranty.PreconditionFailed},
	})
)

// brandOperations are the rows of this file in the operation table.
var brandOperations = []*Spec{
	GetBrand.Spec,
	UpdateBrand.Spec,
}
