package web

import (
	"context"
	"errors"
	"mime"
	"net/http"
	"net/url"
	"path"
	"slices"
	"strings"

	"warranty.example/svc/internal/service"
	"warranty.example/svc/internal/upload"
	"warranty.example/svc/internal/web/view"
	"warranty.example/svc/warranty"
)

// A draft is a form that was sent and not performed: it was refused, or it came after its session ended, or it was
// opened for another account than the browser acts for now. What was typed is carried by the page that the person gets
// instead: the form with its errors, the sign-in page, or the page about the other account. Files are kept by the
// service, for the account of the form, and the form has their ids in the field "documents" (ADR 52).
//
// After sign-in, the form is shown again and not performed, and only to a person who can act for its account.

// resumable lists the forms that are shown again after sign-in. For other forms and
// for buttons, sign-in leads back to their page.
var resumable = []string{
	"POST /warranties", "POST /warranties/{id}", claimPattern, "POST /claims/{id}/status", messagePattern,
	"POST /settings/replies", "POST /settings/replies/{id}", "POST /settings/email",
	"POST /settings/profile", "POST /settings/api/tokens", "POST /invitations/accept",
	"POST /settings/organizations", "POST /settings/organization", "POST /settings/members/invite",
	"POST /settings/addresses", "POST /settings/domains", "POST /settings/convert", "POST " + takeConfirm,
	"POST /documents", replacePattern, "POST /issue", "POST /products", "POST /products/{id}", "POST /labels",
}

// formPages maps the action of a form to its page, where the action is not a page below
// which the form is.
var formPages = map[string]string{"/documents": "/documents/new"}

// Forms that take files.
const (
	claimPattern   = "POST /claims"
	messagePattern = "POST /claims/{id}/messages"
	replacePattern = "POST /documents/{id}/replace"
)

const (
	draftAction = "draft_action"
	draftPrefix = "draft."
	// filesAgain is a field of a draft whose files are not kept. They must be chosen again.
	filesAgain = "files_again"
)

// draft is a form that a page carries.
type draft struct {
	Action string // the path it was posted to
	Values url.Values
}

// Fields returns the hidden fields that carry the form through sign-in, in a stable order.
func (d *draft) Fields() []view.Field {
	if d == nil {
		return nil
	}
	return append([]view.Field{{Name: draftAction, Value: d.Action}}, hiddenFields(draftPrefix, d.Values)...)
}

// hiddenFields returns the fields that carry the values of a form, in a stable order.
func hiddenFields(prefix string, values url.Values) (fields []view.Field) {
	for name, list := range values {
		for _, value := range list {
			fields = append(fields, view.Field{Name: prefix + name, Value: value})
		}
	}
	slices.SortStableFunc(fields, func(a, b view.Field) int { return strings.Compare(a.Name, b.Name) })
	return fields
}

// draftIn returns the form that a sign-in form carries, or nil.
func draftIn(f form) *draft {
	action := f.Value(draftAction)
	if action == "" || nextOf(action) != action || path.Clean(action) != action {
		return nil
	}
	d := &draft{Action: action, Values: url.Values{}}
	for name, values := range f.Values {
		if field, ok := strings.CutPrefix(name, draftPrefix); ok {
			d.Values[field] = values
		}
	}
	return d
}

// lateDraft returns the form of a request whose session has ended, or nil if the form is not
// resumable. Passwords are not kept.
func (web *Web) lateDraft(w http.ResponseWriter, r *http.Request) *draft {
	media, _, _ := mime.ParseMediaType(r.Header.Get("Content-Type"))
	_, pattern := web.forms.Handler(r)
	if r.Method != http.MethodPost || media != "application/x-www-form-urlencoded" && media != "multipart/form-data" {
		return nil
	}
	if !slices.Contains(resumable, pattern) {
		return nil
	}
	if media == "multipart/form-data" {
		values, err := web.readLate(w, r)
		if err != nil {
			return nil
		}
		r.PostForm = values
	}
	f, err := readForm(w, r)
	if err != nil {
		return nil
	}
	f.removePasswords()
	return &draft{Action: r.URL.Path, Values: f.Values}
}

// readLate reads a multipart form that was sent after the session ended. If the session has just expired, its files are
// kept for the person; otherwise nobody is known whom they could be kept for, and the form asks for them again.
func (web *Web) readLate(w http.ResponseWriter, r *http.Request) (values url.Values, err error) {
	account := r.URL.Query().Get("account")
	var again bool // the files were not kept
	if author, unknown := web.lateAuthor(r, account); unknown != nil {
		values, again, err = upload.SkipFiles(w, r) // nobody is signed in, so no file is stored
	} else {
		var sent upload.Form
		sent, err = upload.ReadForm(w, r, web.Service, author.Principal())
		renewed, cancel := upload.RenewContext(r)
		defer cancel()
		r, values = renewed.WithContext(service.AsOneForm(renewed.Context())), sent.Values
		// Without an address, the account of the form is known only now.
		if opened := values.Get("account"); account == "" && opened != "" {
			author, unknown = web.lateAuthor(r, opened)
		}
		again = web.keepFor(r, author, unknown, values, &sent) != nil
	}
	if err != nil {
		return nil, err
	}
	if values.Del(filesAgain); again {
		values.Set(filesAgain, "true")
	}
	if account != "" {
		values.Set("account", account)
	}
	return values, nil
}

// lateAuthor returns the person of a request whose session has just expired.
func (web *Web) lateAuthor(r *http.Request, account string) (service.Author, error) {
	cookie, err := r.Cookie(web.cookieName())
	if err != nil {
		return service.Author{}, warranty.ErrNotFound
	}
	var id warranty.ID
	if account != "" {
		if id, err = warranty.ParseID(account); err != nil {
			return service.Author{}, warranty.ErrNotFound
		}
	}
	return web.Service.LateAuthor(r.Context(), cookie.Value, id)
}

type resumedKey struct{}

// resume shows a draft again after sign-in. It calls the handler of the form with
// resumedKey in the context, so that input fails with errResumed and nothing is
// performed.
func (web *Web) resume(w http.ResponseWriter, r *http.Request, secret string, d *draft) error {
	who, err := web.sessionPrincipal(r, secret)
	if err != nil {
		return err
	}
	if who.LacksTwoStep {
		return web.askForTwoStep(w, r)
	}
	account := d.Values.Get("account")
	if d.Action == takeConfirm && account == "" { // whoever has the code could not sign in before
		account = who.User.ID.String()
	}
	who, err = web.actFor(r.Context(), who, account)
	if errors.Is(err, warranty.ErrAccountNotAllowed) {
		return redirect(w, r, web.pageOf(d.Action))
	}
	if err != nil {
		return err
	}
	again := r.Clone(context.WithValue(r.Context(), resumedKey{}, who))
	again.URL = &url.URL{Path: d.Action}
	again.PostForm, again.Form = d.Values, d.Values
	if _, pattern := web.forms.Handler(again); !slices.Contains(resumable, pattern) {
		return redirect(w, r, web.pageOf(d.Action))
	}
	web.forms.ServeHTTP(w, again)
	return nil
}

// serveResumed returns a handler that shows a form again.
func (web *Web) serveResumed(form route) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		who, _ := r.Context().Value(resumedKey{}).(warranty.Principal)
		acting := who
		if form.personal {
			who = who.Self()
			acting, _ = web.act(w, r, who) // the own account if this fails
		} else {
			web.setAccount(w, who)
		}
		r = r.WithContext(context.WithValue(r.Context(), actingKey{}, acting.Account))
		r, who = web.read(r, who)
		if err := form.page(w, r, who); err != nil { // the form has no page, or its record was deleted
			http.Redirect(w, r, web.pageOf(r.URL.Path), http.StatusSeeOther)
		}
	}
}

// pageOf returns the page of a form that is posted to action: the nearest GET route at
// or above that path.
func (web *Web) pageOf(action string) string {
	if page, ok := formPages[action]; ok {
		return page
	}
	form := web.patternOf(http.MethodPost, action)
	for action != "/" && action != "" {
		if page := web.patternOf(http.MethodGet, action); page != nil && sameNames(page, form) {
			return action
		}
		action = action[:strings.LastIndexByte(action, '/')]
	}
	return "/"
}

// patternOf returns the parts of the route of a path, or nil if it has none.
func (web *Web) patternOf(method, path string) []string {
	_, pattern := web.forms.Handler(&http.Request{Method: method, Host: "page", URL: &url.URL{Path: path}})
	_, route, _ := strings.Cut(pattern, " ")
	if route == "" {
		return nil
	}
	return strings.Split(route, "/")
}

// sameNames reports whether a page has the names of a form: /warranties/{id} is not the page of /warranties/bulk.
func sameNames(page, form []string) bool {
	for i, part := range page {
		if i < len(form) && strings.HasPrefix(part, "{") && part != "{$}" && !strings.HasPrefix(form[i], "{") {
			return false
		}
	}
	return true
}

// foreignForm is the error for a form that was opened for another account than the browser now acts for.
type foreignForm struct {
	account   string
	values    url.Values
	multipart bool
	dropped   bool // its files are not kept
	gone      bool // there is no account to switch to
}

func (*foreignForm) Error() string { return errOtherAccount.Error() }
func (*foreignForm) Unwrap() error { return errOtherAccount }

// foreignPage is the page about a form of another account. Its form sends everything again.
type foreignPage struct {
	Now, Opened string // names of accounts
	Action      string
	Fields      []view.Field
	Multipart   bool
	Dropped     bool // the form is sent again without its files
	Typed       bool // the form has fields that were typed
	// Gone means that the person cannot act for the account of the form. The page then shows what was
	// typed: going back would show an empty form of another account.
	Gone bool
}

// showForeignForm offers to switch back to the account of a form, or shows what was typed if the person
// cannot act for that account.
func (web *Web) showForeignForm(
	w http.ResponseWriter, r *http.Request, who warranty.Principal, f *foreignForm,
) error {
	form{Values: f.values}.removePasswords()
	_, pattern := web.forms.Handler(r)
	page := foreignPage{
		Now:       who.Account.Name,
		Action:    r.URL.Path,
		Multipart: f.multipart,
		Dropped:   f.dropped,
		Typed:     f.multipart || slices.Contains(resumable, pattern),
	}
	opened, err := web.actFor(r.Context(), who, f.account)
	switch {
	case f.gone || errors.Is(err, warranty.ErrAccountNotAllowed):
		page.Gone, page.Fields = true, typedFields(f.values)
	case err != nil:
		return err
	default:
		page.Opened = opened.Account.Name
		page.Fields = append([]view.Field{{Name: "switch", Value: "true"}}, hiddenFields("", f.values)...)
	}
	v := view.Page{Title: web.t(r, "foreign.title"), Who: who, Body: page}
	return web.show(w, r, http.StatusPreconditionFailed, "foreign-form", v)
}

// notTyped are the fields of forms that a person does not fill.
var notTyped = []string{"account", "once", "if_match", "prefix", "do", "documents", "drop"}

// typedFields returns the fields of a form that a person fills, with a label made of their names.
func typedFields(values url.Values) (fields []view.Field) {
	for _, f := range hiddenFields("", values) {
		if slices.Contains(notTyped, f.Name) || strings.TrimSpace(f.Value) == "" {
			continue
		}
		label := strings.ReplaceAll(f.Name, "_", " ")
		f.Label = strings.ToUpper(label[:1]) + label[1:]
		fields = append(fields, f)
	}
	return fields
}
