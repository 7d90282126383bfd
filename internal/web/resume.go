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

	"warranty.example/svc/internal/web/view"
	"warranty.example/svc/warranty"
)

// A form that is sent after its session ended is not performed. The sign-in page carries
// its fields as hidden fields, and the filled form is shown again after sign-in. Its files
// are kept if the session has just expired; see keepLate. With scripts, a form with files
// stays on its page instead. The form is not shown to a user who signs in with another
// account.

// resumable lists the forms that are shown again after sign-in. For other forms and
// for buttons, sign-in leads back to their page.
var resumable = []string{
	"POST /warranties", "POST /warranties/{id}", claimPattern, "POST /claims/{id}/status", messagePattern, "POST /settings/replies",
	"POST /settings/replies/{id}", "POST /settings/email",
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
	keptAction = "kept_action"
	keptPrefix = "kept."
	// filesAgain is a field of a kept form that had files. They must be chosen again.
	filesAgain = "files_again"
)

// keptForm is a form that the sign-in page carries.
type keptForm struct {
	Action string // the path it was posted to
	Values url.Values
}

// Fields returns the hidden fields that carry the form, in a stable order.
func (k *keptForm) Fields() []view.Field {
	if k == nil {
		return nil
	}
	return append([]view.Field{{Name: keptAction, Value: k.Action}}, hiddenFields(keptPrefix, k.Values)...)
}

// keep returns the form of a request whose session has ended, or nil if the form is not
// resumable. Passwords are not kept.
func (web *Web) keep(w http.ResponseWriter, r *http.Request) *keptForm {
	media, _, _ := mime.ParseMediaType(r.Header.Get("Content-Type"))
	_, pattern := web.forms.Handler(r)
	if r.Method != http.MethodPost || media != "application/x-www-form-urlencoded" && media != "multipart/form-data" {
		return nil
	}
	if !slices.Contains(resumable, pattern) {
		return nil
	}
	if media == "multipart/form-data" {
		values, err := web.keepLate(w, r, pattern)
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
	return &keptForm{Action: r.URL.Path, Values: f.Values}
}

// keptIn returns the form that a sign-in form carries, or nil.
func keptIn(f form) *keptForm {
	action := f.Value(keptAction)
	if action == "" || nextOf(action) != action || path.Clean(action) != action {
		return nil
	}
	k := &keptForm{Action: action, Values: url.Values{}}
	for name, values := range f.Values {
		if field, ok := strings.CutPrefix(name, keptPrefix); ok {
			k.Values[field] = values
		}
	}
	return k
}

type resumedKey struct{}

// resume shows a kept form again after sign-in. It calls the handler of the form with
// resumedKey in the context, so that input fails with errResumed and nothing is
// performed.
func (web *Web) resume(w http.ResponseWriter, r *http.Request, secret string, k *keptForm) error {
	who, err := web.sessionPrincipal(r, secret)
	if err != nil {
		return err
	}
	account := k.Values.Get("account")
	if k.Action == takeConfirm && account == "" { // whoever has the code could not sign in before
		account = who.User.ID.String()
	}
	who, err = web.actFor(r.Context(), who, account)
	if errors.Is(err, warranty.ErrAccountNotAllowed) {
		return redirect(w, r, web.pageOf(k.Action))
	}
	if err != nil {
		return err
	}
	again := r.Clone(context.WithValue(r.Context(), resumedKey{}, who))
	again.URL = &url.URL{Path: k.Action}
	again.PostForm, again.Form = k.Values, k.Values
	if _, pattern := web.forms.Handler(again); !slices.Contains(resumable, pattern) {
		return redirect(w, r, web.pageOf(k.Action))
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
