package web

import (
	"context"
	"net/http"
	"net/url"

	"warranty.example/svc/api"
	"warranty.example/svc/internal/web/view"
	"warranty.example/svc/warranty"
)

// inOrganization returns a page of the organization that the person acts for, whose id it sets in the
// path. Acting for the own account, it leads to the list of organizations.
func inOrganization(p page) page {
	return func(w http.ResponseWriter, r *http.Request, who warranty.Principal) error {
		if !who.ActsForOrganization() {
			return redirect(w, r, "/settings/organizations")
		}
		r.SetPathValue("id", who.Account.ID.String())
		return p(w, r, who)
	}
}

// organizationList is the page /settings/organizations.
type organizationList struct {
	Current, Deleted []warranty.Organization
	Pager            pager
}

func (web *Web) organizations(w http.ResponseWriter, r *http.Request, who warranty.Principal) error {
	in := warranty.ListOrganizations{Paging: pagingOf(r.URL.Query(), listPage)}
	list, err := web.Service.ListOrganizations(r.Context(), who, in)
	if err != nil {
		return err
	}
	body := organizationList{Pager: newPager(r.URL, list.Pagination)}
	for _, o := range list.Data {
		if o.DeletedAt == nil {
			body.Current = append(body.Current, o)
		} else {
			body.Deleted = append(body.Deleted, o)
		}
	}
	v := view.Page{Title: web.t(r, "organizations.title"), Nav: "settings", Who: who, Flash: view.Flash(r), Body: body}
	return web.show(w, r, http.StatusOK, "organizations", v)
}

func (web *Web) newOrganization(w http.ResponseWriter, r *http.Request, who warranty.Principal) error {
	values := url.Values{"once": {web.Service.NewID().String()}}
	return web.showOrganizationForm(w, r, who, form{Values: values})
}

func (web *Web) showOrganizationForm(w http.ResponseWriter, r *http.Request, who warranty.Principal, f form) error {
	v := view.Page{Title: web.t(r, "organization.new"), Nav: "settings", Who: who, Body: f}
	return web.show(w, r, f.status, "organization-form", v)
}

// createOrganization creates an organization and acts for it.
func (web *Web) createOrganization(w http.ResponseWriter, r *http.Request, who warranty.Principal) error {
	var key *string
	return submit(web, w, r, who, action[warranty.CreateOrganization, warranty.Organization]{
		op:      api.CreateOrganization,
		prepare: func(f form) error { key = f.once(); return nil },
		do: func(
			ctx context.Context, who warranty.Principal, in warranty.CreateOrganization,
		) (warranty.Organization, error) {
			in.IdempotencyKey = key
			return web.Service.CreateOrganization(ctx, who, in)
		},
		again: web.showOrganizationForm,
		done: func(_ form, o warranty.Organization) error {
			return web.enter(w, r, who, o.ID, "/?done=organization_created")
		},
	})
}

// enter makes the browser act for an organization and leads to a page.
func (web *Web) enter(
	w http.ResponseWriter, r *http.Request, who warranty.Principal, organization warranty.ID, next string,
) error {
	who, err := web.Service.ActFor(r.Context(), who, organization)
	if err != nil {
		return err
	}
	web.setAccount(w, who)
	return redirect(w, r, next)
}

func (web *Web) restoreOrganization(w http.ResponseWriter, r *http.Request, who warranty.Principal) error {
	next := "/settings/organizations?done=organization_restored"
	return press(w, r, next, warranty.ParseID, func(id warranty.ID) error {
		_, err := web.Service.RestoreOrganization(r.Context(), who, warranty.RestoreOrganization{ID: id})
		return err
	})
}

// organizationPage is the page /settings/organization with its forms.
type organizationPage struct {
	warranty.Organization
	Details, Delete form
	OnlyAdmin       bool // the person cannot leave
	Tokens          int64
	History         []warranty.Event
}

func (web *Web) organization(w http.ResponseWriter, r *http.Request, who warranty.Principal) error {
	return web.showOrganization(w, r, who, http.StatusOK, organizationPage{})
}

// showOrganization shows the organization. A form without values is filled from it.
func (web *Web) showOrganization(
	w http.ResponseWriter, r *http.Request, who warranty.Principal, status int, p organizationPage,
) error {
	var err error
	p.Organization, err = web.Service.GetOrganization(r.Context(), who, warranty.GetOrganization{ID: who.Account.ID})
	if err != nil {
		return err
	}
	all, err := web.allMembers(r.Context(), who)
	if err != nil {
		return err
	}
	if p.History, err = web.Service.OrganizationHistory(r.Context(), who, who.Account.ID); err != nil {
		return err
	}
	p.OnlyAdmin = onlyAdmin(all, who.User.ID)
	for _, m := range all {
		if m.UserID == who.User.ID {
			p.Tokens = m.Tokens
		}
	}
	if p.Details.Values == nil {
		p.Details.Values = url.Values{
			"name":          {p.Name},
			"website":       {view.Deref(p.Website)},
			"contact_email": {view.Deref(p.ContactEmail)},
			"contact_phone": {view.Deref(p.ContactPhone)},
		}
	}
	v := view.Page{Title: web.t(r, "organization.title"), Nav: "settings", Who: who, Flash: view.Flash(r), Body: p}
	return web.show(w, r, status, "organization", v)
}

// updateOrganization handles the form of the profile.
func (web *Web) updateOrganization(w http.ResponseWriter, r *http.Request, who warranty.Principal) error {
	return submit(web, w, r, who, action[warranty.UpdateOrganization, warranty.Organization]{
		op: api.UpdateOrganization,
		do: web.Service.UpdateOrganization,
		again: func(w http.ResponseWriter, r *http.Request, who warranty.Principal, f form) error {
			return web.showOrganization(w, r, who, f.status, organizationPage{Details: f})
		},
		next: func(form, warranty.Organization) string { return "/settings/organization?done=saved" },
	})
}

// deleteOrganization deletes the organization if its name was typed, and acts for the person.
func (web *Web) deleteOrganization(w http.ResponseWriter, r *http.Request, who warranty.Principal) error {
	return submit(web, w, r, who, action[warranty.DeleteOrganization, warranty.None]{
		op: api.DeleteOrganization,
		prepare: func(f form) error {
			var c warranty.Checks
			if f.Value("typed_name") != who.Account.Name {
				c.Add("typed_name", "invalid", "%s", web.t(r, "organization.type_name", who.Account.Name))
			}
			return c.Err()
		},
		do: web.Service.DeleteOrganization,
		again: func(w http.ResponseWriter, r *http.Request, who warranty.Principal, f form) error {
			return web.showOrganization(w, r, who, f.status, organizationPage{Delete: f})
		},
		done: func(form, warranty.None) error {
			web.clearAccount(w)
			return redirect(w, r, "/settings/organizations?done=organization_deleted")
		},
	})
}
