package web

import (
	"net/http"

	"warranty.example/svc/internal/web/view"
	"warranty.example/svc/warranty"
)

const appsPage = "/settings/apps"

// appList is the page of connected apps.
type appList struct {
	Apps    []appRow
	Pager   pager
	Address string // of the MCP endpoint
	OAuth   bool
}

// appRow is a connected app as it is shown.
type appRow struct {
	warranty.ConnectedApp
	LastUsed string // time since the last use
	Own      bool   // the person connected it
	Choices  []scopeChoice
}

// scopeChoice is a scope in the form of an app.
type scopeChoice struct {
	Scope string
	Has   bool
}

func (web *Web) apps(w http.ResponseWriter, r *http.Request, who warranty.Principal) error {
	page, err := web.Service.Apps(r.Context(), who, pagingOf(r.URL.Query(), settingPage))
	if err != nil {
		return err
	}
	list := appList{Pager: newPager(r.URL, page.Pagination), Address: web.Service.MCPAddress(), OAuth: web.OAuth}
	for _, a := range page.Data {
		row := appRow{ConnectedApp: a, Own: a.PersonID == who.User.ID}
		if a.LastUsedAt != nil {
			row.LastUsed = web.ago(web.reader(r), *a.LastUsedAt)
		}
		for _, s := range scopeOrder {
			row.Choices = append(row.Choices, scopeChoice{string(s), a.Scopes.Has(s)})
		}
		list.Apps = append(list.Apps, row)
	}
	v := view.Page{Title: web.t(r, "apps.title"), Nav: "settings", Who: who, Flash: view.Flash(r), Body: list}
	return web.show(w, r, http.StatusOK, "apps", v)
}

func (web *Web) updateApp(w http.ResponseWriter, r *http.Request, who warranty.Principal) error {
	f, err := readForm(w, r)
	if err != nil {
		return err
	}
	var scopes warranty.Scopes
	for _, s := range warranty.AllScopes {
		if f.Has("scope", string(s)) {
			scopes = append(scopes, s)
		}
	}
	return press(w, r, appsPage+"?done=app_updated", warranty.ParseID, func(id warranty.ID) error {
		return web.Service.UpdateApp(r.Context(), who, id, scopes)
	})
}

func (web *Web) disconnectApp(w http.ResponseWriter, r *http.Request, who warranty.Principal) error {
	return press(w, r, appsPage+"?done=app_disconnected", warranty.ParseID, func(id warranty.ID) error {
		return web.Service.DisconnectApp(r.Context(), who, id)
	})
}
