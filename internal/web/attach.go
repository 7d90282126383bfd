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
			if r.PostForm, file, err = upload.Form(w, r, web.Service, who, fileFields...); err != nil {
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

type filesKey struct{}

// withFiles is withFile for a form that may have several files. filesOf returns them.
func (web *Web) withFiles(p page) page {
	return func(w http.ResponseWriter, r *http.Request, who warranty.Principal) (err error) {
		var sent upload.MessageForm
		if upload.IsForm(r) {
			sent, err = upload.ReadMessage(w, r, web.Service, who)
			if err != nil {
				refusal := warranty.AsError(err)
				if len(refusal.Fields) == 0 {
					return err
				}
				sent.Refused.Fields = append(sent.Refused.Fields, refusal.Fields...)
			}
			r.PostForm = sent.Values
			renewed, cancel := upload.RenewContext(r)
			defer cancel()
			r = renewed.WithContext(context.WithValue(renewed.Context(), filesKey{}, &sent))
		}
		f, err := readForm(w, r)
		if err == nil {
			who, err = web.checkAccount(w, r, who, f.Values)
		}
		if err == nil {
			err = p(w, r, who)
		} else if foreign := new(foreignForm); errors.As(err, &foreign) {
			foreign.dropped = len(sent.Files) > 0
		}
		return errors.Join(err, web.forgetFiles(context.WithoutCancel(r.Context()), &sent))
	}
}

// filesOf returns the files of a form.
func filesOf(r *http.Request) *upload.MessageForm {
	if sent, ok := r.Context().Value(filesKey{}).(*upload.MessageForm); ok {
		return sent
	}
	return new(upload.MessageForm)
}

// forgetFiles removes the files of a form that nobody took.
func (web *Web) forgetFiles(ctx context.Context, sent *upload.MessageForm) (err error) {
	for _, file := range sent.Files {
		err = errors.Join(err, web.Service.ForgetFile(ctx, file.StoredFile))
	}
	sent.Files = nil
	return err
}

// attachedTo returns the file of a form, or nil.
func attachedTo(r *http.Request) *upload.File {
	file, _ := r.Context().Value(fileKey{}).(*upload.File)
	return file
}
