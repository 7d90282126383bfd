package web

import (
	"cmp"
	"context"
	"errors"
	"io"
	"mime"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"warranty.example/svc/internal/upload"
	"warranty.example/svc/internal/web/view"
	"warranty.example/svc/warranty"
)

// A signed-in person acts for their own account or for an organization. The browser keeps the choice in a
// cookie, which grants nothing: every request checks the membership. A form carries the account that it
// was opened for, and is performed for no other.

// accountCookie returns the name of the cookie with the account that the person acts for. Without it they
// act for their own.
func (web *Web) accountCookie() string {
	return strings.Replace(web.cookieName(), "session", "account", 1)
}

// setAccount makes the browser act for the principal's account.
func (web *Web) setAccount(w http.ResponseWriter, who warranty.Principal) {
	if !who.ActsForOrganization() {
		web.clearAccount(w)
		return
	}
	expires := web.Service.Now().Add(warranty.DeviceLifetime)
	web.setHostCookie(w, web.accountCookie(), who.Account.ID.String(), expires)
}

func (web *Web) clearAccount(w http.ResponseWriter) {
	web.setHostCookie(w, web.accountCookie(), "", time.Unix(1, 0))
}

// pageAccount is the header with the account of the page that asks for a part.
const pageAccount = "X-Account"

// errAccountLost means that the person can no longer act for the account that the browser chose.
var errAccountLost = errors.New("the account of the browser is lost")

// act returns the person acting for the account that the browser chose. If they cannot act for it any
// more, it forgets the choice and returns errAccountLost with the person acting for their own. A part of
// a page is for the account of the page, which may be another one than that of the last tab.
func (web *Web) act(w http.ResponseWriter, r *http.Request, who warranty.Principal) (warranty.Principal, error) {
	if page := r.Header.Get(pageAccount); isPart(r) && page != "" {
		return web.actFor(r.Context(), who, page)
	}
	chosen := ""
	if cookie, err := r.Cookie(web.accountCookie()); err == nil {
		chosen = cookie.Value
	}
	if chosen == "" {
		return who, nil
	}
	acting, err := web.actFor(r.Context(), who, chosen)
	if errors.Is(err, warranty.ErrAccountNotAllowed) {
		web.clearAccount(w)
		return who, errAccountLost
	}
	return acting, err
}

// actFor returns the person acting for the account with an id.
func (web *Web) actFor(ctx context.Context, who warranty.Principal, id string) (warranty.Principal, error) {
	account, err := warranty.ParseID(id)
	if err != nil {
		return who, warranty.ErrAccountNotAllowed
	}
	return web.Service.ActFor(ctx, who, account)
}

// switchAccount makes the browser act for another account.
func (web *Web) switchAccount(w http.ResponseWriter, r *http.Request, who warranty.Principal) error {
	f, err := readForm(w, r)
	if err != nil {
		return err
	}
	who, err = web.actFor(r.Context(), who, f.Value("account"))
	if err != nil {
		return err
	}
	web.setAccount(w, who)
	return redirect(w, r, nextOf(f.Value("next")))
}

type actingKey struct{}

// actingOf returns the account that the browser acts for, also on the person's own pages.
func actingOf(r *http.Request, who warranty.Principal) warranty.Acting {
	if acting, ok := r.Context().Value(actingKey{}).(warranty.Acting); ok {
		return acting
	}
	return who.Account
}

// forPage returns the principal for a page: the person themselves on their own pages. It refuses a form
// that was opened for another account, and a role that cannot use the page.
func (web *Web) forPage(
	w http.ResponseWriter, r *http.Request, to route, who warranty.Principal,
) (warranty.Principal, error) {
	if to.personal || to.open {
		who = who.Self()
	}
	if r.Method == http.MethodPost && !to.checks {
		values, err := formValues(w, r)
		if err != nil {
			return who, err
		}
		if who, err = web.checkAccount(w, r, who, values); err != nil {
			var foreign *foreignForm
			if errors.As(err, &foreign) {
				foreign.gone = to.personal || to.open // nothing to switch to
			}
			return who, err
		}
	}
	if to.needs == "" {
		return who, nil
	}
	return who, who.Account.Require(to.needs)
}

// formValues returns the fields of a URL-encoded form.
func formValues(w http.ResponseWriter, r *http.Request) (url.Values, error) {
	media, _, _ := mime.ParseMediaType(r.Header.Get("Content-Type"))
	if media != "application/x-www-form-urlencoded" {
		return nil, nil
	}
	f, err := readForm(w, r)
	return f.Values, err
}

var errOtherAccount = warranty.Refuse(warranty.PreconditionFailed, "The form was opened for another account.")

// foreignForm is the error for a form that was opened for another account than the browser now acts for.
type foreignForm struct {
	account   string
	values    url.Values
	multipart bool
	// lost means that the form had a file, which cannot be sent again. next is then the page of the form.
	lost bool
	next string
	// dropped means that the form had a file, and that its other fields can be sent again.
	dropped bool
	// gone means that there is no account to switch to.
	gone bool
}

func (*foreignForm) Error() string { return errOtherAccount.Error() }
func (*foreignForm) Unwrap() error { return errOtherAccount }

// checkAccount returns a foreignForm unless a form was opened for the account that the principal acts for.
// A form without an account is for the person's own. The field "switch" is that of "Switch back and save":
// the browser then acts for the account of the form.
func (web *Web) checkAccount(
	w http.ResponseWriter, r *http.Request, who warranty.Principal, values url.Values,
) (warranty.Principal, error) {
	opened, back := cmp.Or(values.Get("account"), who.User.ID.String()), values.Has("switch")
	values.Del("switch")
	if opened == who.Account.ID.String() {
		return who, nil
	}
	if back {
		acting, err := web.actFor(r.Context(), who, opened)
		if err == nil {
			web.setAccount(w, acting)
			return acting, nil
		}
		if !errors.Is(err, warranty.ErrAccountNotAllowed) {
			return who, err
		}
	}
	return who, &foreignForm{account: opened, values: values}
}

// checkUpload is checkAccount for the form that uploads a document. Its account is in the address, so that
// nothing is stored for another account.
func (web *Web) checkUpload(w http.ResponseWriter, r *http.Request, who warranty.Principal) error {
	_, err := web.checkAccount(w, r, who, url.Values{"account": r.URL.Query()["account"]})
	var foreign *foreignForm
	if !errors.As(err, &foreign) {
		return err
	}
	if err := upload.ExtendDeadlines(w); err != nil {
		return err
	}
	// Browsers show the response only after they have sent the whole form.
	_, _ = io.CopyN(io.Discard, r.Body, maxOverlong)
	foreign.lost, foreign.next = true, "/documents/new"
	return foreign
}

// foreignPage is the page about a form of another account. Its form sends everything again.
type foreignPage struct {
	Now, Opened string // names of accounts
	Action      string
	Fields      []view.Field
	Multipart   bool
	Lost        bool // the file must be chosen again
	Dropped     bool // the form is sent again without its file
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
	opened, err := web.actFor(r.Context(), who, f.account)
	if f.gone || errors.Is(err, warranty.ErrAccountNotAllowed) {
		page := foreignPage{Gone: true, Lost: f.lost, Dropped: f.dropped, Fields: typedFields(f.values)}
		v := view.Page{Title: web.t(r, "foreign.title"), Who: who, Body: page}
		return web.show(w, r, http.StatusPreconditionFailed, "foreign-form", v)
	}
	if err != nil {
		return err
	}
	page := foreignPage{
		Now:       who.Account.Name,
		Opened:    opened.Account.Name,
		Action:    r.URL.Path,
		Multipart: f.multipart,
		Lost:      f.lost,
		Dropped:   f.dropped,
	}
	_, pattern := web.forms.Handler(r)
	page.Typed = f.multipart || slices.Contains(resumable, pattern)
	values := f.values
	if f.lost {
		page.Action, values = "/switch", url.Values{"account": {f.account}, "next": {f.next}}
	} else {
		form{Values: values}.removePasswords()
		page.Fields = []view.Field{{Name: "switch", Value: "true"}}
	}
	page.Fields = append(page.Fields, hiddenFields("", values)...)
	v := view.Page{Title: web.t(r, "foreign.title"), Who: who, Body: page}
	return web.show(w, r, http.StatusPreconditionFailed, "foreign-form", v)
}

// typedFields returns the fields of a form that a person fills, with a label made of their names.
func typedFields(values url.Values) (fields []view.Field) {
	form{Values: values}.removePasswords()
	for _, f := range hiddenFields("", values) {
		if slices.Contains([]string{"account", "once", "if_match", "prefix", "do"}, f.Name) || strings.TrimSpace(f.Value) == "" {
			continue
		}
		label := strings.ReplaceAll(f.Name, "_", " ")
		f.Label = strings.ToUpper(label[:1]) + label[1:]
		fields = append(fields, f)
	}
	return fields
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
