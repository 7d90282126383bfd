package web

import (
	"context"
	"mime"
	"net/http"
	"net/url"
	"path"
	"slices"
	"strings"

	"warranty.example/svc/warranty"
)

// A form that is sent after its session ended is not carried out. Its fields
// travel through the sign-in page as hidden ones, and the form is shown again,
// filled in, once the person has signed in. The server keeps nothing meanwhile.
// Who signs in with another account does not see it: it may be someone else.

// resumable are the forms that can be shown again. Buttons without fields are
// not among them: their page is shown instead, to press them again.
var resumable = []string{
	"POST /warranties", "POST /warranties/{id}", "POST /claims", "POST /claims/{id}/status",
	"POST /settings/profile", "POST /settings/api/tokens", "POST /transfers/accept",
}

// formPages are the pages of forms that are sent to the address of a list.
var formPages = map[string]string{"/documents": "/documents/new"}

const (
	keptAction = "kept_action"
	keptPrefix = "kept."
)

// keptForm is a form on its way through the sign-in page.
type keptForm struct {
	Action string // the path that it was sent to
	Values url.Values
}

// Fields are the hidden fields that carry the form, in a stable order.
func (k *keptForm) Fields() (fields []fieldData) {
	if k == nil {
		return nil
	}
	fields = []fieldData{{Name: keptAction, Value: k.Action}}
	for name, values := range k.Values {
		for _, value := range values {
			fields = append(fields, fieldData{Name: keptPrefix + name, Value: value})
		}
	}
	slices.SortStableFunc(fields, func(a, b fieldData) int { return strings.Compare(a.Name, b.Name) })
	return fields
}

// keep is the form of a request whose session has ended, or nil when it cannot
// be shown again. No form with a password is resumable.
func (web *Web) keep(w http.ResponseWriter, r *http.Request) *keptForm {
	media, _, _ := mime.ParseMediaType(r.Header.Get("Content-Type"))
	if r.Method != http.MethodPost || media != "application/x-www-form-urlencoded" {
		return nil
	}
	if _, pattern := web.forms.Handler(r); !slices.Contains(resumable, pattern) {
		return nil
	}
	f, err := readForm(w, r)
	if err != nil {
		return nil
	}
	return &keptForm{Action: r.URL.Path, Values: f.Values}
}

// keptIn is the form that a sign-in form carries, or nil.
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

// resume shows a kept form again to the person who has just signed in. The
// handler of the form runs as if it were sent, but input refuses it, so nothing
// is carried out.
func (web *Web) resume(w http.ResponseWriter, r *http.Request, secret string, k *keptForm) error {
	who, err := web.whoIs(r, secret)
	if err != nil {
		return err
	}
	if k.Values.Get("account") != who.User.ID.String() {
		http.Redirect(w, r, web.pageOf(k.Action), http.StatusSeeOther)
		return nil
	}
	again := r.Clone(context.WithValue(r.Context(), resumedKey{}, who))
	again.URL = &url.URL{Path: k.Action}
	again.PostForm, again.Form = k.Values, k.Values
	if _, pattern := web.forms.Handler(again); !slices.Contains(resumable, pattern) {
		http.Redirect(w, r, web.pageOf(k.Action), http.StatusSeeOther)
		return nil
	}
	web.forms.ServeHTTP(w, again)
	return nil
}

// serveResumed is the handler of a form that is shown again.
func (web *Web) serveResumed(p page) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		who, _ := r.Context().Value(resumedKey{}).(warranty.Principal)
		if err := p(w, r, who); err != nil { // it has no page of its own, or its record is gone
			http.Redirect(w, r, web.pageOf(r.URL.Path), http.StatusSeeOther)
		}
	}
}

// pageOf is the page on which a form or a button is that is sent to a path: the
// nearest one above it that can be opened.
func (web *Web) pageOf(action string) string {
	if page, ok := formPages[action]; ok {
		return page
	}
	for action != "/" && action != "" {
		probe := &http.Request{Method: http.MethodGet, Host: "page", URL: &url.URL{Path: action}}
		if _, pattern := web.forms.Handler(probe); pattern != "" {
			return action
		}
		action = action[:strings.LastIndexByte(action, '/')]
	}
	return "/"
}
