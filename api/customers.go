package api

import (
	"net/http"

	"warranty.example/svc/warranty"
)

// The operations on the customers of an organization.
var (
	ListCustomers = define[warranty.ListCustomers, warranty.Page[warranty.CustomerRecord]](Spec{
		Name:    "customers.list",
		Method:  http.MethodGet,
		Base:    V1,
		Path:    "/customers",
		Auth:    Credential,
		Scope:   warranty.WarrantiesRead,
		Tool:    "list_customers",
		Summary: "List the customers of your organization: whom it issued to, and whose claims it decides. People have none.",
		ToolDoc: "Find customers of the user's organization. Pass an id as customer to list_warranties and list_claims.",
	})
	GetCustomer = define[warranty.GetCustomer, warranty.CustomerRecord](Spec{
		Name:    "customers.get",
		Method:  http.MethodGet,
		Base:    V1,
		Path:    "/customers/{id}",
		Auth:    Credential,
		Scope:   warranty.WarrantiesRead,
		Summary: "Get a customer of your organization.",
	})
	GetCustomerCard = define[warranty.GetCustomerCard, warranty.CustomerCard](Spec{
		Name:    "customers.card",
		Method:  http.MethodGet,
		Base:    Host,
		Path:    "/customers/{id}",
		Auth:    SessionOnly,
		Summary: "Get a customer with its note, what was merged into it, and possible duplicates.",
	})
	AddCustomer = define[warranty.AddCustomer, warranty.CustomerCard](Spec{
		Name:     "customers.add",
		Method:   http.MethodPost,
		Base:     Host,
		Path:     "/customers",
		Auth:     SessionOnly,
		Summary:  "Add a customer to your organization, before anything was issued. Issuing and claims add customers by themselves.",
		Status:   http.StatusCreated,
		Location: "/customers/{id}",
		Errors:   []warranty.Code{warranty.AlreadyExists},
	})
	UpdateCustomer = define[warranty.UpdateCustomer, warranty.CustomerCard](Spec{
		Name:    "customers.update",
		Method:  http.MethodPut,
		Base:    Host,
		Path:    "/customers/{id}",
		Auth:    SessionOnly,
		Summary: "Update the given fields of a customer. Warranties keep the name that they were issued with.",
		Errors:  []warranty.Code{warranty.InvalidTransition, warranty.AlreadyExists, warranty.PreconditionFailed},
	})
	MergeCustomers = define[warranty.MergeCustomers, warranty.CustomerCard](Spec{
		Name:   "customers.merge",
		Method: http.MethodPost,
		Base:   Host,
		Path:   "/customers/merge",
		Auth:   SessionOnly,
		Summary: "Merge a customer into another one, which then has the warranties and claims of both. You can undo it " +
			"for 30 days.",
		Errors: []warranty.Code{warranty.NotFound, warranty.InvalidTransition},
	})
	UnmergeCustomer = define[warranty.UnmergeCustomer, warranty.CustomerCard](Spec{
		Name:    "customers.unmerge",
		Method:  http.MethodPost,
		Base:    Host,
		Path:    "/customers/{id}/unmerge",
		Auth:    SessionOnly,
		Summary: "Undo a merge: the merged customer is one of its own again, with all of its records.",
		Errors:  []warranty.Code{warranty.InvalidTransition},
	})
)

// customerOperations are the rows of this file in the operation table.
var customerOperations = []*Spec{
	ListCustomers.Spec,
	GetCustomer.Spec,
	GetCustomerCard.Spec,
	AddCustomer.Spec,
	UpdateCustomer.Spec,
	MergeCustomers.Spec,
	UnmergeCustomer.Spec,
}
