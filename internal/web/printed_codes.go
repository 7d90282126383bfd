package web

import (
	"net/http"

	"warranty.example/svc/api"
	"warranty.example/svc/internal/web/view"
	"warranty.example/svc/warranty"
)

// printedList is the page /settings/printed-codes.
type printedList struct {
	Codes []warranty.PrintedCode
	Pager pager
	Total int64
	Of    *warranty.PrintedCode // of whom, if the page has the codes of one person
}

// printedCodes lists the printed codes that customers can use, of everyone or of one person.
func (web *Web) printedCodes(w http.ResponseWriter, r *http.Request, who warranty.Principal) error {
	in := warranty.ListPrintedCodes{Paging: pagingOf(r.URL.Query(), listPage), ID: who.Account.ID}
	if by, err := warranty.ParseID(r.URL.Query().Get("made_by")); err == nil {
		in.MadeBy = &by
	}
	list, err := web.Service.ListPrintedCodes(r.Context(), who, in)
	if err != nil {
		return err
	}
	body := printedList{Codes: list.Data, Pager: newPager(r.URL, list.Pagination), Total: list.Pagination.Total}
	if in.MadeBy != nil && len(list.Data) > 0 {
		body.Of = &list.Data[0]
	}
	v := view.Page{Title: web.t(r, "printed.title"), Nav: "settings", Who: who, Flash: view.Flash(r), Body: body}
	return web.show(w, r, http.StatusOK, "printed-codes", v)
}

// endPrintedCodes ends the printed codes of one person.
func (web *Web) endPrintedCodes(w http.ResponseWriter, r *http.Request, who warranty.Principal) error {
	return submit(web, w, r, who, action[warranty.EndPrintedCodes, warranty.None]{
		op:   api.EndPrintedCodes,
		do:   web.Service.EndPrintedCodes,
		next: func(form, warranty.None) string { return "/settings/printed-codes?done=codes_ended" },
	})
}
