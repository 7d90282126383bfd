package web

import (
	"net/http"

	"warranty.example/svc/internal/web/view"
	"warranty.example/svc/warranty"
)

// latestRequests is the number of recent requests on the pages of tokens.
const latestRequests = 10

// requestList is the page /settings/api/requests, for all tokens or for one.
type requestList struct {
	Page  warranty.Page[warranty.RequestRecord]
	Token *warranty.Token
	Pager pager
	Works bool // there is an active token
}

func (web *Web) requests(w http.ResponseWriter, r *http.Request, who warranty.Principal) error {
	var list requestList
	var err error
	paging := pagingOf(r.URL.Query(), settingPage)
	if id := r.URL.Query().Get("token_id"); id != "" {
		token, err := web.tokenOf(r, who, id)
		if err != nil {
			return err
		}
		list.Token, list.Works = &token, token.Status == warranty.TokenIsActive
		in := warranty.ListTokenRequests{Paging: paging, ID: token.ID}
		if list.Page, err = web.Service.ListTokenRequests(r.Context(), who, in); err != nil {
			return err
		}
	} else if list.Page, err = web.Service.ListRequests(r.Context(), who, paging); err != nil {
		return err
	}
	if list.Token == nil {
		active, err := web.Service.CountActiveTokens(r.Context(), who)
		if err != nil {
			return err
		}
		list.Works = active > 0
	}
	list.Pager = newPager(r.URL, list.Page.Pagination)
	v := view.Page{Title: web.t(r, "requests.title"), Nav: "settings", Who: who, Body: list}
	return web.show(w, r, http.StatusOK, "requests", v)
}
