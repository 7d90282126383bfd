package web

import (
	"cmp"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"warranty.example/svc/internal/web/view"
)

// show renders a page. A status of 0 means 200.
func (web *Web) show(w http.ResponseWriter, r *http.Request, status int, name string, v view.Page) error {
	return web.render(w, r, status, name, "layout", v)
}

// showBare renders a public page, without the navigation.
func (web *Web) showBare(w http.ResponseWriter, r *http.Request, status int, name string, v view.Page) error {
	return web.render(w, r, status, name, "bare", v)
}

// part renders one block of a page, for htmx to swap in.
func (web *Web) part(w http.ResponseWriter, r *http.Request, name, block string, v view.Page) error {
	return web.render(w, r, http.StatusOK, name, block, v)
}

// render renders a block of a page. If the template fails, it writes nothing.
func (web *Web) render(w http.ResponseWriter, r *http.Request, status int, name, block string, v view.Page) error {
	body, err := web.rendered(r, name, block, v)
	if err != nil {
		return err
	}
	web.reader(r).Write(w, r, status, v.Who, body, nil)
	return nil
}

// rendered returns a block of a page.
func (web *Web) rendered(r *http.Request, name, block string, v view.Page) ([]byte, error) {
	v.MustVerify = v.SignedIn() && web.Service.RequireVerified && !v.Who.User.EmailVerified
	if v.SignedIn() {
		v.Acting = actingOf(r, v.Who)
		if block == "layout" {
			// Without the list, as when the database is down, the page shows the current account.
			v.Accounts, _ = web.Service.Accounts(r.Context(), v.Who)
		}
	}
	reader := web.reader(r)
	v.Service = cmp.Or(web.Service.Name(r.Context()), reader.Text("layout.name"))
	v.In, v.Zone = reader.Texts, reader.Zone
	if v.Who.User.ID.IsZero() || block == "bare" {
		v.Languages, v.Here = web.views.Languages(), "/"
		if r.Method == http.MethodGet {
			v.Here = r.URL.RequestURI()
		}
	}
	return reader.Render(name, block, v)
}

// isPart reports whether htmx made the request, which expects a block instead of a page.
func isPart(r *http.Request) bool { return r.Header.Get("HX-Request") == "true" }

func seconds(d time.Duration) string {
	return strconv.FormatInt(int64((d+time.Second-1)/time.Second), 10)
}

// maxNext is the length of the longest address to lead to, which becomes a part of other addresses.
const maxNext = 8 << 10

// nextOf returns next if it is a path of this site, and "/" otherwise.
func nextOf(next string) string {
	u, err := url.Parse(next)
	if err != nil || len(next) > maxNext || u.IsAbs() || u.Host != "" || !strings.HasPrefix(next, "/") || strings.HasPrefix(next, "//") ||
		strings.ContainsAny(next, "\\\r\n\t") {
		return "/"
	}
	return u.RequestURI()
}
