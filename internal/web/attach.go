package web

import (
	"context"
	"errors"
	"net/http"

	"warranty.example/svc/internal/upload"
	"warranty.example/svc/warranty"
)

// A form that creates something may have a file. It is then sent as multipart, and its fields are read
// before anything is performed, so that such a form is handled like any other.

// fileFields are the names of the inputs: one opens the camera of a phone.
var fileFields = []string{"photo", "file"}

type fileKey struct{}

// withFile returns a page for a form that may have a file. attachedTo returns it.
func (web *Web) withFile(p page) page {
	return func(w http.ResponseWriter, r *http.Request, who warranty.Principal) (err error) {
		var file *upload.File
		if upload.IsForm(r) {
			if r.PostForm, file, err = upload.Form(w, r, web.Service, fileFields...); err != nil {
				return err
			}
			defer func() { err = errors.Join(err, file.Forget(context.WithoutCancel(r.Context()))) }()
			renewed, cancel := upload.RenewContext(r)
			defer cancel()
			r = renewed.WithContext(context.WithValue(renewed.Context(), fileKey{}, file))
		}
		f, err := readForm(w, r)
		if err != nil {
			return err
		}
		if who, err = web.checkAccount(w, r, who, f.Values); err != nil {
			var foreign *foreignForm
			if errors.As(err, &foreign) {
				foreign.dropped = file != nil
			}
			return err
		}
		return p(w, r, who)
	}
}

// attachedTo returns the file of a form, or nil.
func attachedTo(r *http.Request) *upload.File {
	file, _ := r.Context().Value(fileKey{}).(*upload.File)
	return file
}
