package web

import (
	"net/http"

	"warranty.example/svc/internal/web/view"
	"warranty.example/svc/warranty"
)

// trashList is the page /trash.
type trashList struct {
	Page  warranty.Page[warranty.Trashed]
	Pager pager
}

func (web *Web) trash(w http.ResponseWriter, r *http.Request, who warranty.Principal) error {
	in := warranty.ListTrash{Paging: pagingOf(r.URL.Query(), listPage)}
	page, err := web.Service.ListTrash(r.Context(), who, in)
	if err != nil {
		return err
	}
	body := trashList{Page: page, Pager: newPager(r.URL, page.Pagination)}
	v := view.Page{Title: web.t(r, "trash.title"), Nav: "warranties", Who: who, Flash: view.Flash(r), Body: body}
	return web.show(w, r, http.StatusOK, "trash", v)
}

func (web *Web) restoreWarranty(w http.ResponseWriter, r *http.Request, who warranty.Principal) error {
	return press(w, r, "/warranties/%s?done=undeleted", warranty.ParseWarrantyKey, func(key warranty.WarrantyKey) error {
		_, err := web.Service.RestoreWarranty(r.Context(), who, warranty.RestoreWarranty{ID: key})
		return err
	})
}

// undoOf returns the address of the form that restores the warranty that was just deleted, or "".
func undoOf(r *http.Request) string {
	id, err := warranty.ParseID(r.URL.Query().Get("undo"))
	if err != nil {
		return ""
	}
	return "/trash/" + id.String() + "/restore"
}

// deleteWarranty moves a warranty to the trash. With an open claim, its reference has to be typed.
func (web *Web) deleteWarranty(w http.ResponseWriter, r *http.Request, who warranty.Principal) error {
	f, err := readForm(w, r)
	if err != nil {
		return err
	}
	record, err := web.warrantyOf(r, who)
	if err != nil {
		return err
	}
	in := warranty.DeleteWarranty{ID: warranty.WarrantyKey{ID: record.ID}}
	if f.Values.Has("reference") {
		typed, err := warranty.ParseWarrantyKey(f.Value("reference"))
		if err != nil || typed.Reference != record.ReferenceNumber {
			return web.deleteAgain(w, r, who, f, "warranty.delete_mismatch")
		}
		force := true
		in.Force = &force
	}
	_, err = web.Service.DeleteWarranty(r.Context(), who, in)
	if refusal := warranty.AsError(err); err != nil && refusal.Code == warranty.InUse {
		return web.deleteAgain(w, r, who, f, "warranty.delete_claim")
	}
	if err != nil {
		return err
	}
	return redirect(w, r, "/warranties?done=deleted&undo="+record.ID.String())
}

// deleteAgain shows the page of a warranty with an error of the form that deletes it.
func (web *Web) deleteAgain(
	w http.ResponseWriter, r *http.Request, who warranty.Principal, f form, wrong string,
) error {
	f.status, f.Errors = http.StatusUnprocessableEntity, map[string]string{"reference": web.t(r, wrong)}
	return web.showWarranty(w, r, who, warrantyForms{del: f})
}
