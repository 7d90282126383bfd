package web

import (
	"bytes"
	"errors"
	"net/http"
	"net/url"
	"time"

	"warranty.example/svc/api"
	"warranty.example/svc/internal/service"
	"warranty.example/svc/internal/upload"
	"warranty.example/svc/internal/web/view"
	"warranty.example/svc/warranty"
)

// documentList is the page /documents.
type documentList struct {
	form
	Page    warranty.Page[warranty.Document]
	Pager   pager
	Storage service.Storage
	First   bool // there are no documents at all
	Empty   emptyList
}

func (web *Web) documents(w http.ResponseWriter, r *http.Request, who warranty.Principal) error {
	query := r.URL.Query()
	list := documentList{form: form{Values: query}}
	var err error
	in := warranty.ListDocuments{Paging: pagingOf(query, listPage), Q: query.Get("q")}
	if list.Page, err = web.Service.ListDocuments(r.Context(), who, in); err != nil {
		return err
	}
	list.Pager = newPager(r.URL, list.Page.Pagination)
	list.Empty = emptyList{Title: web.t(r, "documents.none"), Help: web.t(r, "documents.none_help"), Clear: web.t(r, "documents.clear")}
	if list.First = list.Page.Pagination.Total == 0 && query.Get("q") == ""; list.First {
		list.Empty = emptyList{First: true, Title: web.t(r, "documents.first"), Help: web.t(r, "documents.first_help"),
			New: web.t(r, "document.upload")}
		if list.Empty.HasWarranty, err = web.hasWarranty(r, who, warranty.ListWarranties{}); err != nil {
			return err
		}
	}
	list.Empty.Path, list.Empty.Viewer = r.URL.Path, !who.Account.Role.Includes(warranty.Member)
	if list.Storage, err = web.Service.Storage(r.Context(), who); err != nil {
		return err
	}
	v := view.Page{Title: web.t(r, "nav.documents"), Nav: "documents", Who: who, Flash: view.Flash(r), Body: list}
	if isPart(r) {
		return web.part(w, r, "documents", "rows", v)
	}
	return web.show(w, r, http.StatusOK, "documents", v)
}

func (web *Web) newDocument(w http.ResponseWriter, r *http.Request, who warranty.Principal) error {
	query := r.URL.Query()
	values := url.Values{
		"warranty_id": {query.Get("warranty_id")},
		"claim_id":    {query.Get("claim_id")},
		"type":        {"receipt"},
	}
	if query.Get("claim_id") != "" {
		values.Set("type", "claim_evidence")
	}
	return web.showDocumentForm(w, r, who, form{Values: values})
}

func (web *Web) showDocumentForm(w http.ResponseWriter, r *http.Request, who warranty.Principal, f form) error {
	body, err := web.additionOf(r, who, f, warranty.ListWarranties{}, warranty.DocumentType("").Values())
	if err != nil {
		return err
	}
	if body.Files, err = web.draftsOf(r, who, &body.form); err != nil {
		return err
	}
	v := view.Page{Title: web.t(r, "document.new"), Nav: "documents", Who: who, Body: body}
	return web.show(w, r, f.status, "document-form", v)
}

func (web *Web) uploadDocument(w http.ResponseWriter, r *http.Request, who warranty.Principal) error {
	f, err := readForm(w, r)
	if err != nil {
		return err
	}
	d, err := web.attachDocument(r, who, f)
	var same *sameDocument
	switch {
	case errors.As(err, &same):
		return redirect(w, r, "/documents/"+same.ID.String()+"?done=duplicate")
	case err == nil:
		return redirect(w, r, "/warranties/"+d.WarrantyID.String()+"?done=uploaded")
	case !web.setErrors(w, r, &f, err):
		return err
	}
	return web.showDocumentForm(w, r, who, f)
}

// attachDocument adds the file of the form to the warranty that was chosen.
func (web *Web) attachDocument(r *http.Request, who warranty.Principal, f form) (d warranty.Document, err error) {
	if f.resumed {
		return d, errResumed
	}
	var c warranty.Checks
	in := warranty.UploadDocument{}
	if in.WarrantyID, err = warranty.ParseWarrantyKey(f.Value("warranty_id")); err != nil {
		c.Add("warranty_id", "required", "%s", web.t(r, "form.required"))
	}
	if in.Type, err = warranty.ParseEnum[warranty.DocumentType](f.Value("type")); err != nil || in.Type == "" {
		c.Add("type", "required", "%s", web.t(r, "form.required"))
	}
	if claim := f.Value("claim_id"); claim != "" {
		if in.ClaimID, err = warranty.ParseClaimKey(claim); err != nil {
			return d, warranty.ErrNotFound
		}
	}
	ids, refused := warranty.DocumentIDs(f.Values["documents"]), filesOf(r).err
	if len(ids) == 0 && refused == nil {
		c.Add("file", "required", "%s", web.t(r, "document.choose"))
	}
	c.Merge(refused)
	if len(c.Fields) > 0 {
		return d, c.Err()
	}
	if refused != nil {
		return d, refused
	}
	drafts, err := web.Service.Drafts(r.Context(), who, f.Values["documents"])
	if err == nil && len(drafts) > 0 && in.ClaimID.IsZero() {
		err = web.findSame(r, who, drafts[0], in.WarrantyID)
	}
	if err != nil {
		return d, err
	}
	d, err = web.Service.AttachDraft(r.Context(), who, ids[0], in)
	if errors.Is(err, warranty.ErrNotFound) && len(drafts) == 0 {
		err = web.fileAgain(r)
	}
	return d, err
}

// sameDocument means that a file is already attached to the warranty.
type sameDocument struct{ warranty.Document }

// Error implements error.
func (*sameDocument) Error() string { return "this file is already attached" }

// findSame returns a sameDocument if the warranty has a document with the content of a draft, which it drops. Files of
// claims are not compared: others see them.
func (web *Web) findSame(r *http.Request, who warranty.Principal, f service.Draft, key warranty.WarrantyKey) error {
	d, err := web.Service.SameDocument(r.Context(), who, key, f.SHA256)
	if errors.Is(err, warranty.ErrNotFound) {
		return nil
	}
	if err == nil {
		err = web.Service.DropDrafts(r.Context(), who, []string{f.ID.String()})
	}
	if err != nil {
		return err
	}
	return &sameDocument{d}
}

// documentPage is the page of a document.
type documentPage struct {
	service.DocumentPage
	form
	Files []service.Draft // for the form that replaces the file
}

// Image reports whether the page shows the file itself.
func (d documentPage) Image() bool { return service.HasThumbnail(d.ContentType) }

// Names returns the form that renames the document, with its present name.
func (d documentPage) Names() form {
	f := form{Values: url.Values{"file_name": {d.FileName}}, Errors: d.Errors}
	if typed := d.Value("file_name"); typed != "" {
		f.Values.Set("file_name", typed)
	}
	return f
}

// Opens reports whether browsers can display the file.
func (d documentPage) Opens() bool { return upload.Shows(d.ContentType) }

func (web *Web) showDocument(w http.ResponseWriter, r *http.Request, who warranty.Principal, f form) error {
	id, err := warranty.ParseID(r.PathValue("id"))
	if err != nil {
		return warranty.ErrNotFound
	}
	d, err := web.Service.DocumentPage(r.Context(), who, id)
	if err != nil {
		return err
	}
	drafts, err := web.draftsOf(r, who, &f)
	if err != nil {
		return err
	}
	v := view.Page{Title: d.FileName, Nav: "documents", Who: who, Flash: view.Flash(r), Body: documentPage{d, f, drafts}}
	return web.show(w, r, f.status, "document", v)
}

func (web *Web) renameDocument(w http.ResponseWriter, r *http.Request, who warranty.Principal) error {
	f, err := readForm(w, r)
	if err != nil {
		return err
	}
	id, err := warranty.ParseID(r.PathValue("id"))
	if err != nil {
		return warranty.ErrNotFound
	}
	in := warranty.RenameDocument{ID: id, FileName: f.Value("file_name")}
	if _, err := web.Service.RenameDocument(r.Context(), who, in); err != nil {
		if !web.setErrors(w, r, &f, err) {
			return err
		}
		return web.showDocument(w, r, who, f)
	}
	return redirect(w, r, "/documents/"+id.String()+"?done=renamed")
}

func (web *Web) replaceDocument(w http.ResponseWriter, r *http.Request, who warranty.Principal) error {
	id, err := warranty.ParseID(r.PathValue("id"))
	if err != nil {
		return warranty.ErrNotFound
	}
	f, err := readForm(w, r)
	if err != nil {
		return err
	}
	drafts := warranty.DocumentIDs(f.Values["documents"])
	switch err = filesOf(r).err; {
	case f.resumed:
		err = errResumed
	case err == nil && len(drafts) == 0:
		var c warranty.Checks
		c.Add("file", "required", "%s", web.t(r, "document.choose"))
		err = c.Err()
	case err == nil:
		_, err = web.Service.ReplaceDocument(r.Context(), who, id, drafts[0])
	}
	switch {
	case err == nil:
		return redirect(w, r, "/documents/"+id.String()+"?done=replaced")
	case !web.setErrors(w, r, &f, err):
		return err
	}
	if !f.resumed { // the person chooses another file
		if err := web.Service.DropDrafts(r.Context(), who, f.Values["documents"]); err != nil {
			return err
		}
		f.Values = url.Values{}
	}
	return web.showDocument(w, r, who, f)
}

func (web *Web) restoreVersion(w http.ResponseWriter, r *http.Request, who warranty.Principal) error {
	return press(w, r, "/documents/%s?done=replaced", warranty.ParseID, func(id warranty.ID) error {
		version, err := warranty.ParseID(r.PathValue("version"))
		if err != nil {
			return warranty.ErrNotFound
		}
		_, err = web.Service.RestoreVersion(r.Context(), who, id, version)
		return err
	})
}

func (web *Web) versions(w http.ResponseWriter, r *http.Request, who warranty.Principal) error {
	body, err := web.Service.EarlierVersions(r.Context(), who)
	if err != nil {
		return err
	}
	v := view.Page{Title: web.t(r, "versions.title"), Nav: "documents", Who: who, Flash: view.Flash(r), Body: body}
	return web.show(w, r, http.StatusOK, "versions", v)
}

func (web *Web) eraseVersion(w http.ResponseWriter, r *http.Request, who warranty.Principal) error {
	return press(w, r, "/documents/versions?done=erased", warranty.ParseID, func(id warranty.ID) error {
		return web.Service.EraseVersion(r.Context(), who, id)
	})
}

// viewDocument serves the file for display.
func (web *Web) viewDocument(w http.ResponseWriter, r *http.Request, who warranty.Principal) error {
	return upload.Show(w, r, web.Service, who)
}

// thumbnail serves the small picture of a document, or an icon if there is none.
func (web *Web) thumbnail(w http.ResponseWriter, r *http.Request, who warranty.Principal) error {
	id, err := warranty.ParseID(r.PathValue("id"))
	if err != nil {
		return warranty.ErrNotFound
	}
	picture, err := web.Service.Thumbnail(r.Context(), who, warranty.GetDocument{ID: id})
	if errors.Is(err, warranty.ErrNotFound) {
		return err
	}
	if err != nil {
		api.CallerOf(r.Context()).Fail(err)
		web.Log.WarnContext(r.Context(), "no small picture of a document", "document", id.String(), "error", err.Error())
	}
	if len(picture) == 0 {
		http.Redirect(w, r, web.views.Static.Path("file.svg"), http.StatusSeeOther)
		return nil
	}
	h := w.Header()
	h.Set("Content-Type", "image/jpeg")
	h.Set("Content-Security-Policy", "sandbox; default-src 'none'")
	h.Set("Cross-Origin-Resource-Policy", "same-origin")
	http.ServeContent(w, r, "", time.Time{}, bytes.NewReader(picture))
	return nil
}

func (web *Web) downloadDocument(w http.ResponseWriter, r *http.Request, who warranty.Principal) error {
	return upload.Send(w, r, web.Service, who)
}

func (web *Web) deleteDocument(w http.ResponseWriter, r *http.Request, who warranty.Principal) error {
	return press(w, r, "/documents?done=removed", warranty.ParseID, func(id warranty.ID) error {
		_, err := web.Service.DeleteDocument(r.Context(), who, warranty.DeleteDocument{ID: id})
		return err
	})
}
