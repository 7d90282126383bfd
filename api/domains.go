package api

import (
	"net/http"

	"warranty.example/svc/warranty"
)

// The operations on the domains of an organization. A verified domain tells customers who stands behind a
// record.
var (
	ListDomains = define[warranty.ListDomains, warranty.Page[warranty.Domain]](Spec{
		Name:    "domains.list",
		Method:  http.MethodGet,
		Base:    Host,
		Path:    "/organizations/{id}/domains",
		Auth:    SessionOnly,
		Summary: "List the domains of an organization, by name.",
	})
	AddDomain = define[warranty.AddDomain, warranty.Domain](Spec{
		Name:    "domains.add",
		Method:  http.MethodPost,
		Base:    Host,
		Path:    "/organizations/{id}/domains",
		Auth:    SessionOnly,
		Status:  http.StatusCreated,
		Summary: "Add a domain to an organization. Create the DNS record of the response, then check the domain.",
		Errors:  []warranty.Code{warranty.ConfirmationRequired, warranty.AlreadyExists, warranty.InUse},
	})
	CheckDomain = define[warranty.CheckDomain, warranty.Domain](Spec{
		Name:    "domains.check",
		Method:  http.MethodPost,
		Base:    Host,
		Path:    "/organizations/{id}/domains/{domain_id}/check",
		Auth:    SessionOnly,
		Summary: "Look for the DNS record of a domain now.",
		Errors:  []warranty.Code{warranty.ConfirmationRequired, warranty.AlreadyExists, warranty.RateLimited},
	})
	RemoveDomain = define[warranty.RemoveDomain, warranty.None](Spec{
		Name:    "domains.remove",
		Method:  http.MethodDelete,
		Base:    Host,
		Path:    "/organizations/{id}/domains/{domain_id}",
		Auth:    SessionOnly,
		Summary: "Remove a domain. It is no longer verified.",
		Errors:  []warranty.Code{warranty.ConfirmationRequired},
	})
)

// domainOperations are the rows of this file in the operation table.
var domainOperations = []*Spec{
	ListDomains.Spec,
	AddDomain.Spec,
	CheckDomain.Spec,
	RemoveDomain.Spec,
}
