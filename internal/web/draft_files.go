package web

import (
	"cmp"
	"context"
	"errors"
	"net/http"
	"net/url"
	"slices"

	"warranty.example/svc/internal/service"
	"warranty.example/svc/internal/upload"
	"warranty.example/svc/warranty"
)

type filesKey struct{}

// sentFiles is what a page needs to know about the files of its form, besides the ids of their drafts.
type sentFiles struct {
	once *string // see form.once
	err  error   // why files were refused
}

// filesOf returns what withFiles did.
func filesOf(r *http.Request) sentFiles {
	files, _ := r.Context().Value(filesKey{}).(sentFiles)
	return files
}

// withFiles returns a page for a form that may have files. They become drafts first, so that such a form is handled
// like any other: nothing is lost when it is refused, and nobody else sees the files before it is performed.
func (web *Web) withFiles(p page) page {
	return func(w http.ResponseWriter, r *http.Request, who warranty.Principal) error {
		if r.Context().Value(resumedKey{}) != nil {
			return p(w, r, who)
		}
		if !upload.IsForm(r) {
			return web.performWithFiles(w, r, who, p, &upload.Form{})
		}
		sent, err := upload.ReadForm(w, r, web.Service, who)
		r, cancel := upload.RenewContext(r)
		defer cancel()
		if err == nil {
			r.PostForm = sent.Values
			err = web.performWithFiles(w, r, who, p, &sent)
		}
		if err != nil { // shown here, because the context of the request may have ended
			web.refuse(w, r, who, err)
		}
		return nil
	}
}

// performWithFiles calls the page of a form whose files were read.
func (web *Web) performWithFiles(
	w http.ResponseWriter, r *http.Request, who warranty.Principal, p page, sent *upload.Form,
) error {
	r = r.WithContext(service.AsOneForm(r.Context()))
	f, err := readForm(w, r)
	if err != nil {
		return errors.Join(err, sent.Forget(r.Context(), web.Service))
	}
	// Some forms have their account in the address.
	if account := cmp.Or(r.URL.Query().Get("account"), f.Value("account")); account != "" {
		f.Values.Set("account", account)
	}
	acting, err := web.checkAccount(w, r, who, f.Values)
	if foreign := new(foreignForm); errors.As(err, &foreign) {
		opened, unknown := web.actFor(r.Context(), who, foreign.account)
		foreign.dropped = web.keepFor(r, service.AuthorOf(opened), unknown, f.Values, sent) != nil
	}
	if err != nil {
		return errors.Join(err, sent.Forget(r.Context(), web.Service))
	}
	files, before := sentFiles{once: f.onceWith(sent.Files)}, f.Values["documents"]
	files.err = web.keepFiles(r, service.AuthorOf(acting), f.Values, sent)
	gone := without(slices.Concat(before, f.Values["drop"]), f.Values["documents"])
	f.Values.Del("drop")
	made := without(f.Values["documents"], before)
	if err = web.Service.DropDrafts(r.Context(), acting, gone); err == nil {
		err = p(w, r.WithContext(context.WithValue(r.Context(), filesKey{}, files)), acting)
	}
	if err != nil && warranty.AsError(err).Code != warranty.ConfirmationRequired { // the form is lost
		err = errors.Join(err, web.Service.DropDrafts(r.Context(), acting, made))
	}
	return err
}

// keepFor is keepFiles for someone who may be unknown. It returns an error if the files are not kept.
func (web *Web) keepFor(
	r *http.Request, author service.Author, unknown error, values url.Values, sent *upload.Form,
) error {
	if unknown != nil && len(sent.Files)+len(sent.Refused) > 0 {
		return errors.Join(unknown, sent.Forget(r.Context(), web.Service))
	}
	return web.keepFiles(r, author, values, sent)
}

// keepFiles makes the files of a form drafts. The form then has their ids, with those of earlier drafts that the person
// did not remove. A form for one file has the last one. It returns why files were refused.
func (web *Web) keepFiles(r *http.Request, author service.Author, values url.Values, sent *upload.Form) (failed error) {
	_, pattern := web.forms.Handler(r)
	several := pattern == claimPattern || pattern == messagePattern
	var use service.DraftFor
	switch failed = sent.Failed; pattern {
	case messagePattern:
		use.Claim, _ = warranty.ParseClaimKey(r.PathValue("id"))
	case replacePattern:
		use.Replaces, _ = warranty.ParseID(r.PathValue("id"))
	}
	var made []string
	for _, file := range sent.Files {
		if failed != nil || !several && len(made) > 0 {
			if err := web.Service.ForgetFile(r.Context(), file.StoredFile); err != nil {
				failed = errors.Join(failed, err)
			}
			continue
		}
		// A message has evidence. Other forms say what their files are when they are performed.
		in := warranty.UploadDocument{Type: warranty.ClaimEvidence, FileName: file.Name}
		kept, err := web.Service.KeepDraft(r.Context(), author, file.StoredFile, in, use)
		var refusal *warranty.Error
		switch {
		case err == nil:
			made = append(made, kept.ID.String())
		case errors.As(err, &refusal) && len(refusal.Fields) > 0:
			sent.Refused.Add(file.Name, refusal.Fields[0].Code, refusal.Fields[0].Text())
		default:
			failed = err
		}
	}
	sent.Files = nil
	kept := without(values["documents"], values["drop"])
	if !several && len(made) > 0 {
		kept = nil
	}
	if values.Del("documents"); len(kept)+len(made) > 0 {
		values["documents"] = append(kept, made...)
	}
	if failed != nil {
		return failed
	}
	return web.refusalsOf(r, sent.Refused, several)
}

// without returns the ids of a list that are not in another one.
func without(list, other []string) []string {
	return slices.DeleteFunc(slices.Clone(list), func(id string) bool { return slices.Contains(other, id) })
}

// refusalsOf returns the error for files that were refused. A form with several files names each of them.
func (web *Web) refusalsOf(r *http.Request, list upload.Refusals, several bool) error {
	var c warranty.Checks
	for _, refused := range list {
		text := web.reader(r).Message(refused.Message)
		if several && refused.Name != "" {
			text = refused.Name + web.t(r, "format.colon") + " " + text
		}
		c.Add("file", refused.Code, "%s", text)
	}
	return c.Err()
}

// draftsOf returns the drafts of a form, to show their names. If some are gone, the form asks for them again.
func (web *Web) draftsOf(r *http.Request, who warranty.Principal, f *form) ([]service.Draft, error) {
	list, err := web.Service.Drafts(r.Context(), who, f.Values["documents"])
	if err == nil && len(list) < len(warranty.DocumentIDs(f.Values["documents"])) && f.Error("file") == "" {
		f.Errors = orEmpty(f.Errors)
		f.Errors["file"] = web.t(r, "form.file_again")
	}
	return list, err
}

// fileAgain is the error for a form whose draft is gone.
func (web *Web) fileAgain(r *http.Request) error {
	var c warranty.Checks
	c.Add("file", "required", "%s", web.t(r, "form.file_again"))
	return c.Err()
}

// setFileError sets the error of the files of a form that has another error too.
func (web *Web) setFileError(r *http.Request, f *form) {
	err := filesOf(r).err
	if err == nil {
		return
	}
	f.Errors = orEmpty(f.Errors)
	f.Errors["file"] = web.t(r, "form.file_again")
	if refusal := warranty.AsError(err); len(refusal.Fields) > 0 {
		f.Errors["file"] = web.reader(r).Message(refusal.Fields[0].Text())
	}
}
