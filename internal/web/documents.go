package web

import (
	"bytes"
	"cmp"
	"context"
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
	if body.Kept, err = web.showKept(r, who, &body.form); err != nil {
		return err
	}
	v := view.Page{Title: web.t(r, "document.new"), Nav: "documents", Who: who, Body: body}
	return web.show(w, r, f.status, "document-form", v)
}

func (web *Web) uploadDocument(w http.ResponseWriter, r *http.Request, who warranty.Principal) (err error) {
	if r.Context().Value(resumedKey{}) != nil {
		return web.showResumed(w, r, who, web.showDocumentForm)
	}
	if err := web.checkUpload(w, r, who); err != nil {
		r, cancel := upload.RenewContext(r)
		defer cancel()
		web.refuse(w, r, who, err)
		return nil
	}
	values, file, err := upload.Form(w, r, web.Service, who, "file")
	r, cancel := upload.RenewContext(r)
	defer cancel()
	defer func() { err = errors.Join(err, file.Forget(context.WithoutCancel(r.Context()))) }()
	f := form{Values: values}
	var d warranty.Document
	if err == nil {
		d, err = web.attachDocument(r, who, f.Values, file)
	}
	var same *sameDocument
	switch {
	case errors.As(err, &same):
		return redirect(w, r, "/documents/"+same.ID.String()+"?done=duplicate")
	case err == nil:
		return redirect(w, r, "/warranties/"+d.WarrantyID.String()+"?done=uploaded")
	}
	if !web.setErrors(w, r, &f, err) {
		return err
	}
	kind, _ := warranty.ParseEnum[warranty.DocumentType](f.Value("type"))
	if err := web.keepFile(r, who, &f, file, cmp.Or(kind, warranty.Receipt)); err != nil {
		return err
	}
	return web.showDocumentForm(w, r, who, f)
}

// attachDocument adds the file of the form to the warranty that was chosen.
func (web *Web) attachDocument(
	r *http.Request, who warranty.Principal, values url.Values, file *upload.File,
) (d warranty.Document, err error) {
	var c warranty.Checks
	in := warranty.UploadDocument{}
	if in.WarrantyID, err = warranty.ParseWarrantyKey(values.Get("warranty_id")); err != nil {
		c.Add("warranty_id", "required", web.t(r, "form.required"))
	}
	if in.Type, err = warranty.ParseEnum[warranty.DocumentType](values.Get("type")); err != nil || in.Type == "" {
		c.Add("type", "required", web.t(r, "form.required"))
	}
	if claim := values.Get("claim_id"); claim != "" {
		if in.ClaimID, err = warranty.ParseClaimKey(claim); err != nil {
			return d, warranty.ErrNotFound
		}
	}
	if _, kept := keptFile(values); file == nil && !kept {
		c.Add("file", "required", web.t(r, "document.choose"))
	}
	if file != nil && file.Refused != nil {
		c.Merge(file.Refused)
	}
	if len(c.Fields) > 0 {
		return d, c.Err()
	}
	if in.ClaimID.IsZero() {
		if err := web.findSame(r, who, values, file, in.WarrantyID); err != nil {
			return d, err
		}
	}
	return web.attach(r, who, values, file, in)
}

// sameDocument means that a file is already attached to the warranty.
type sameDocument struct{ warranty.Document }

// Error implements error.
func (*sameDocument) Error() string { return "this file is already attached" }

// findSame returns a sameDocument if the warranty has a document with the content of the form's file. Files of claims
// are not compared: others see them.
func (web *Web) findSame(
	r *http.Request, who warranty.Principal, values url.Values, file *upload.File, key warranty.WarrantyKey,
) error {
	sum := file.SHA256()
	id, kept := keptFile(values)
	if file == nil && kept {
		list, err := web.Service.KeptFiles(r.Context(), who, []string{id.String()})
		if err != nil || len(list) == 0 {
			return err
		}
		sum = list[0].SHA256
	}
	d, err := web.Service.SameDocument(r.Context(), who, key, sum)
	switch {
	case errors.Is(err, warranty.ErrNotFound):
		return nil
	case err != nil:
		return err
	case file == nil:
		if err := web.Service.DropKept(r.Context(), who, id); err != nil {
			return err
		}
	}
	return &sameDocument{d}
}

// documentPage is the page of a document.
type documentPage struct {
	service.DocumentPage
	form
	Kept *service.KeptFile // for the form that replaces the file
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
	kept, err := web.showKept(r, who, &f)
	if err != nil {
		return err
	}
	v := view.Page{Title: d.FileName, Nav: "documents", Who: who, Flash: view.Flash(r), Body: documentPage{d, f, kept}}
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

func (web *Web) replaceDocument(w http.ResponseWriter, r *http.Request, who warranty.Principal) (err error) {
	id, err := warranty.ParseID(r.PathValue("id"))
	if err != nil {
		return warranty.ErrNotFound
	}
	if r.Context().Value(resumedKey{}) != nil {
		return web.showResumed(w, r, who, web.showDocument)
	}
	file := attachedTo(r)
	switch kept, ok := keptFile(r.PostForm); {
	case file != nil:
		_, err = file.Replace(r.Context(), who, id)
	case ok:
		_, err = web.Service.ReplaceWithKept(r.Context(), who, id, kept)
	default:
		var c warranty.Checks
		c.Add("file", "required", web.t(r, "document.choose"))
		err = c.Err()
	}
	if err == nil {
		return redirect(w, r, "/documents/"+id.String()+"?done=replaced")
	}
	f := form{Values: url.Values{}}
	if !web.setErrors(w, r, &f, err) {
		return err
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
