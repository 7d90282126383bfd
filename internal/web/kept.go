package web

import (
	"errors"
	"net/http"
	"net/url"

	"warranty.example/svc/internal/service"
	"warranty.example/svc/internal/upload"
	"warranty.example/svc/warranty"
)

// The file of a form that was refused is kept for the person, so that they need not choose it again. The form then has
// its id in the field "kept", and a field "drop" to remove it.

// keptFile returns the id of the file that a form keeps, if it has one and does not remove it.
func keptFile(values url.Values) (id warranty.ID, ok bool) {
	id, err := warranty.ParseID(values.Get("kept"))
	return id, err == nil && !values.Has("drop")
}

// keepFile keeps the file of a refused form, in place of the one that the form kept before.
func (web *Web) keepFile(
	r *http.Request, who warranty.Principal, f *form, file *upload.File, kind warranty.DocumentType,
) error {
	earlier, _ := warranty.ParseID(f.Value("kept"))
	if errors.Is(f.err, errResumed) || file == nil && !f.Values.Has("drop") {
		return nil
	}
	f.Values.Del("drop")
	if file == nil {
		f.Values.Del("kept")
		return web.Service.DropKept(r.Context(), who, earlier)
	}
	kept, err := file.Keep(r.Context(), who, warranty.UploadDocument{Type: kind})
	f.Errors = orEmpty(f.Errors)
	switch refusal := warranty.AsError(err); {
	case err == nil:
		f.Values.Set("kept", kept.ID.String())
		delete(f.Errors, "file")
	case len(refusal.Fields) > 0:
		f.Errors["file"] = web.reader(r).Message(refusal.Fields[0].Message)
		return nil
	default:
		if f.Errors["file"] == "" {
			f.Errors["file"] = web.t(r, "form.file_again")
		}
		return nil
	}
	if earlier.IsZero() {
		return nil
	}
	return web.Service.DropKept(r.Context(), who, earlier)
}

// showKept returns the file that a form keeps, to show its name. If it is gone, the form asks for it again.
func (web *Web) showKept(r *http.Request, who warranty.Principal, f *form) (*service.KeptFile, error) {
	id := f.Value("kept")
	if id == "" {
		return nil, nil //nolint:nilnil // there is none
	}
	list, err := web.Service.KeptFiles(r.Context(), who, []string{id})
	if err != nil {
		return nil, err
	}
	if len(list) == 0 {
		f.Errors = orEmpty(f.Errors)
		f.Errors["file"] = web.t(r, "form.file_again")
		return nil, nil //nolint:nilnil // there is none
	}
	return &list[0], nil
}

// attach makes the file of a form a document, or the file that the form keeps. There may be none.
func (web *Web) attach(
	r *http.Request, who warranty.Principal, values url.Values, file *upload.File, in warranty.UploadDocument,
) (d warranty.Document, err error) {
	kept, ok := keptFile(values)
	if file == nil && ok {
		d, err = web.Service.AttachKept(r.Context(), who, kept, in)
		if errors.Is(err, warranty.ErrNotFound) {
			var c warranty.Checks
			c.Add("file", "required", web.t(r, "form.file_again"))
			err = c.Err()
		}
		return d, err
	}
	if earlier, failed := warranty.ParseID(values.Get("kept")); failed == nil {
		if err := web.Service.DropKept(r.Context(), who, earlier); err != nil {
			return d, err
		}
	}
	if file == nil {
		return d, nil
	}
	return file.Attach(r.Context(), who, in)
}
