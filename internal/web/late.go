package web

import (
	"cmp"
	"context"
	"errors"
	"net/http"
	"net/url"

	"warranty.example/svc/internal/service"
	"warranty.example/svc/internal/upload"
	"warranty.example/svc/warranty"
)

// keepLate reads a multipart form that was sent after the session ended. If the session has just expired, its files are
// kept for the person, and the form has their ids; otherwise nobody is known whom they could be kept for, and the form
// asks for them again.
func (web *Web) keepLate(w http.ResponseWriter, r *http.Request, pattern string) (url.Values, error) {
	account := r.URL.Query().Get("account")
	late, err := web.lateSession(r, account)
	if err != nil {
		values, files, err := upload.SkipFiles(w, r) // nobody is signed in, so no file is stored
		if err == nil {
			setLate(values, account, files)
		}
		return values, err
	}
	sent, err := upload.ReadMessage(w, r, web.Service, late.Principal())
	if err != nil {
		return nil, err
	}
	r, cancel := upload.RenewContext(r)
	defer cancel()
	r = r.WithContext(service.AsOneForm(r.Context()))
	// Without an address, the account of the form is known only now.
	if opened := sent.Values.Get("account"); account == "" && opened != "" {
		late, err = web.lateSession(r, opened)
	}
	again := err != nil || len(sent.Refused.Fields) > 0
	for err == nil && len(sent.Files) > 0 {
		file := sent.Files[0]
		sent.Files = sent.Files[1:] // the service forgets what it refuses
		again = web.keepLateFile(r.Context(), late, file, pattern, r.PathValue("id"), sent.Values) != nil || again
	}
	setLate(sent.Values, account, again)
	return sent.Values, web.forgetFiles(context.WithoutCancel(r.Context()), &sent)
}

// setLate completes the values of a form that was sent after the session ended. again means that files must be chosen
// again.
func setLate(values url.Values, account string, again bool) {
	if values.Del(filesAgain); again {
		values.Set(filesAgain, "true")
	}
	if account != "" {
		values.Set("account", account)
	}
}

// lateSession returns the session of a request that has just expired.
func (web *Web) lateSession(r *http.Request, account string) (service.LateSession, error) {
	cookie, err := r.Cookie(web.cookieName())
	if err != nil {
		return service.LateSession{}, warranty.ErrNotFound
	}
	var id warranty.ID
	if account != "" {
		if id, err = warranty.ParseID(account); err != nil {
			return service.LateSession{}, warranty.ErrNotFound
		}
	}
	return web.Service.LateSession(r.Context(), cookie.Value, id)
}

// keepLateFile keeps a file, and sets the field of the form that has its id.
func (web *Web) keepLateFile(
	ctx context.Context, late service.LateSession, file upload.MessageFile, pattern, id string, values url.Values,
) (err error) {
	in := warranty.UploadDocument{FileName: file.Name, Type: warranty.Receipt}
	field, claim := "kept", warranty.ClaimKey{}
	switch pattern {
	case messagePattern:
		if claim, err = warranty.ParseClaimKey(id); err != nil {
			return errors.Join(warranty.ErrNotFound, web.Service.ForgetFile(ctx, file.StoredFile))
		}
		field, in.Type = "documents", warranty.ClaimEvidence
	case claimPattern:
		field, in.Type = "documents", warranty.ClaimEvidence
	}
	if kind, err := warranty.ParseEnum[warranty.DocumentType](values.Get("type")); err == nil && field == "kept" {
		in.Type = cmp.Or(kind, in.Type)
	}
	kept, err := web.Service.KeepLateFile(ctx, late, file.StoredFile, in, claim)
	if err != nil {
		return err
	}
	if field == "kept" {
		values.Set(field, kept.ID.String())
		return nil
	}
	values.Add(field, kept.ID.String())
	return nil
}

// showResumed shows a form again that was sent after the session ended.
func (web *Web) showResumed(w http.ResponseWriter, r *http.Request, who warranty.Principal, show showForm) error {
	f, err := readForm(w, r)
	if err != nil {
		return err
	}
	_ = web.setErrors(w, r, &f, errResumed)
	return show(w, r, who, f)
}
