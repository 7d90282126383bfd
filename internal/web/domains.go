package web

import (
	"net/http"

	"warranty.example/svc/api"
	"warranty.example/svc/internal/web/view"
	"warranty.example/svc/warranty"
)

// domainList is the page /settings/domains with its forms.
type domainList struct {
	Domains []warranty.Domain
	Add     form
	// Failed is the domain whose form failed, and Wrong why.
	Failed, Wrong string
}

func (web *Web) domains(w http.ResponseWriter, r *http.Request, who warranty.Principal) error {
	return web.showDomains(w, r, who, http.StatusOK, domainList{})
}

func (web *Web) showDomains(
	w http.ResponseWriter, r *http.Request, who warranty.Principal, status int, p domainList,
) error {
	in := warranty.ListDomains{Paging: warranty.Paging{Page: 1, Limit: warranty.MaxLimit}, ID: who.Account.ID}
	list, err := web.Service.ListDomains(r.Context(), who, in)
	if err != nil {
		return err
	}
	p.Domains = list.Data
	v := view.Page{Title: web.t(r, "domains.title"), Nav: "settings", Who: who, Flash: view.Flash(r), Body: p}
	return web.show(w, r, status, "domains", v)
}

func (web *Web) addDomain(w http.ResponseWriter, r *http.Request, who warranty.Principal) error {
	return submit(web, w, r, who, action[warranty.AddDomain, warranty.Domain]{
		op: api.AddDomain,
		do: web.Service.AddDomain,
		again: func(w http.ResponseWriter, r *http.Request, who warranty.Principal, f form) error {
			return web.showDomains(w, r, who, f.status, domainList{Add: f})
		},
		next: func(form, warranty.Domain) string { return "/settings/domains?done=domain_added" },
	})
}

// checkDomain looks for the DNS record of a domain. The page shows what was found.
func (web *Web) checkDomain(w http.ResponseWriter, r *http.Request, who warranty.Principal) error {
	return submit(web, w, r, who, action[warranty.CheckDomain, warranty.Domain]{
		op: api.CheckDomain,
		do: web.Service.CheckDomain,
		again: func(w http.ResponseWriter, r *http.Request, who warranty.Principal, f form) error {
			p := domainList{Failed: r.PathValue("domain_id"), Wrong: f.Wrong}
			return web.showDomains(w, r, who, f.status, p)
		},
		next: func(_ form, d warranty.Domain) string {
			if d.Status == warranty.DomainVerified {
				return "/settings/domains?done=domain_verified"
			}
			return "/settings/domains?done=domain_checked"
		},
	})
}

func (web *Web) removeDomain(w http.ResponseWriter, r *http.Request, who warranty.Principal) error {
	return submit(web, w, r, who, action[warranty.RemoveDomain, warranty.None]{
		op:   api.RemoveDomain,
		do:   web.Service.RemoveDomain,
		next: func(form, warranty.None) string { return "/settings/domains?done=domain_removed" },
	})
}
