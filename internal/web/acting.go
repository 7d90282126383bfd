package web

import (
	"cmp"
	"context"
	"errors"
	"mime"
	"net/http"
	"net/url"
	"strings"
	"time"

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
