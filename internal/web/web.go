// Package web serves the pages that people use. Every action on them is one of
// the service's operations, for a session in a cookie.
package web

import (
	"crypto/rand"
	"errors"
	"log/slog"
	"mime"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"warranty.example/svc/api"
	"warranty.example/svc/internal/service"
	"warranty.example/svc/warranty"
)

// Web serves the pages.
type Web struct {
	Service   *service.Service
	Log       *slog.Logger
	PublicURL string
	Version   string
	// Limited counts a request against the caller's network, as it does for all others.
	Limited func(http.Handler) http.Handler
	// IndexJSON and VerifyJSON answer programs where people get a page. NoPage
	// answers those that send JSON to one, which no page takes.
	IndexJSON, VerifyJSON, NoPage http.HandlerFunc

	views     *views
	reference reference
	static    *static
	guard     *http.CrossOriginProtection
	forms     *http.ServeMux // finds the page of a form, and the form that is shown again after sign-in
}

// page is a handler of a page. What it returns is shown as the page it deserves.
type page func(w http.ResponseWriter, r *http.Request, who warranty.Principal) error

// route is one address and who may come.
type route struct {
	pattern string
	page    page
	open    bool             // to people who are not signed in
	json    http.HandlerFunc // for callers that do not ask for HTML
}

// Register adds every page to a mux.
func (web *Web) Register(mux *http.ServeMux) error {
	var err error
	if web.static, err = newStatic(); err != nil {
		return err
	}
	if web.views, err = newViews(web.static); err != nil {
		return err
	}
	if web.reference, err = newReference(web.PublicURL); err != nil {
		return err
	}
	web.guard = http.NewCrossOriginProtection()
	// A proxy may not pass the host on that the browser asked for.
	if err := web.guard.AddTrustedOrigin(web.PublicURL); err != nil {
		return err
	}
	web.guard.SetDenyHandler(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		web.Refuse(w, r, warranty.Refuse(warranty.RoleNotAllowed, web.t("error.cross_origin")))
	}))
	web.forms = http.NewServeMux()
	for _, r := range web.routes() {
		mux.Handle(r.pattern, web.Limited(web.formsOnly(web.guard.Handler(web.serve(r)))))
		again := http.NotFoundHandler()
		if slices.Contains(resumable, r.pattern) {
			again = web.serveResumed(r.page)
		}
		web.forms.Handle(r.pattern, again)
	}
	mux.Handle("GET /static/{hash}/{name}", web.Limited(web.static))
	return nil
}

// formsOnly keeps programs that send JSON from a page: an OAuth client that looks
// for an authorization server tries POST /register, which is a form for people.
func (web *Web) formsOnly(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		media, _, err := mime.ParseMediaType(r.Header.Get("Content-Type"))
		if err == nil && (media == "application/json" || strings.HasSuffix(media, "+json")) && r.Method == http.MethodPost {
			web.NoPage(w, r)
			return
		}
		next.ServeHTTP(w, r)
	})
}

// routes are all pages, on one screen.
func (web *Web) routes() []route {
	return []route{
		{"GET /{$}", web.overview, false, web.IndexJSON},
		{"GET /verify", web.verifyForm, true, nil}, {"GET /verify/{reference}", web.verify, true, web.VerifyJSON},

		{"GET /docs", web.docs, true, nil}, {"GET /docs/errors", web.errorCodes, true, nil},

		{"GET /sign-in", web.signIn, true, nil}, {"POST /sign-in", web.doSignIn, true, nil},
		{"POST /sign-in/codes", web.mailSignInCode, true, nil},
		{"GET /sign-in/code", web.signInCode, true, nil}, {"POST /sign-in/code", web.doSignIn, true, nil},
		{"POST /sign-out", web.doSignOut, false, nil},
		{"GET /register", web.register, true, nil}, {"POST /register", web.doRegister, true, nil},
		{"GET /verify-email", web.verifyEmail, false, nil}, {"POST /verify-email", web.doVerifyEmail, false, nil},
		{"POST /verify-email/resend", web.resendVerification, false, nil},
		{"GET /reset-password", web.resetPassword, true, nil}, {"POST /reset-password", web.doResetPassword, true, nil},
		{"GET /reset-password/confirm", web.confirmReset, true, nil}, {"POST /reset-password/confirm", web.doConfirmReset, true, nil},

		{"GET /warranties", web.warranties, false, nil}, {"POST /warranties", web.createWarranty, false, nil},
		{"GET /warranties/new", web.newWarranty, false, nil}, {"GET /warranties/export.csv", web.exportWarranties, false, nil},
		{"GET /warranties/import", web.importForm, false, nil}, {"POST /warranties/import", web.importSheet, false, nil},
		{"GET /warranties/import/samples", web.importSamples, false, nil}, {"GET /warranties/import/template.csv", web.importTemplate, false, nil},
		{"GET /warranties/{id}", web.warranty, false, nil}, {"POST /warranties/{id}", web.updateWarranty, false, nil},
		{"GET /warranties/{id}/edit", web.editWarranty, false, nil}, {"POST /warranties/{id}/delete", web.deleteWarranty, false, nil},
		{"GET /warranties/{id}/label", web.label, false, nil},
		{"POST /warranties/{id}/transfer", web.offerTransfer, false, nil}, {"POST /warranties/{id}/transfer/cancel", web.cancelTransfer, false, nil},
		{"GET /claims", web.claims, false, nil}, {"POST /claims", web.fileClaim, false, nil}, {"GET /claims/new", web.newClaim, false, nil},
		{"GET /claims/{id}", web.claim, false, nil}, {"POST /claims/{id}/status", web.moveClaim, false, nil},
		{"GET /documents", web.documents, false, nil}, {"POST /documents", web.uploadDocument, false, nil}, {"GET /documents/new", web.newDocument, false, nil},
		{"GET /documents/{id}/file", web.downloadDocument, false, nil}, {"POST /documents/{id}/delete", web.deleteDocument, false, nil},
		{"GET /settings", web.settings, false, nil},
		{"GET /settings/profile", web.profile, false, nil}, {"POST /settings/profile", web.updateProfile, false, nil},
		{"POST /settings/profile/password", web.changePassword, false, nil}, {"POST /settings/profile/sign-out-everywhere", web.signOutEverywhere, false, nil},
		{"POST /settings/profile/restore", web.restoreSetAside, false, nil}, {"GET /.well-known/change-password", web.toPassword, true, nil},
		{"GET /settings/api", web.settingsAPI, false, nil}, {"GET /settings/api/new", web.newToken, false, nil},
		{"GET /settings/api/tokens", web.settings, false, nil}, {"POST /settings/api/tokens", web.createToken, false, nil},
		{"GET /settings/api/tokens/{id}", web.token, false, nil}, {"GET /settings/api/tokens/{id}/first", web.firstRequest, false, nil},
		{"GET /settings/api/tokens/{id}/rotate", web.toToken, false, nil}, {"POST /settings/api/tokens/{id}/rotate", web.rotateToken, false, nil},
		{"POST /settings/api/tokens/{id}/revoke", web.revokeToken, false, nil}, {"GET /settings/api/requests", web.requests, false, nil},
		{"GET /settings/calendar", web.calendar, false, nil}, {"POST /settings/calendar", web.newCalendar, false, nil},
		{"POST /settings/calendar/delete", web.dropCalendar, false, nil}, {"GET /calendar/{file}", web.feed, true, nil},
		{"GET /transfers/accept", web.acceptTransfer, false, nil}, {"POST /transfers/accept", web.doAcceptTransfer, false, nil},
	}
}

// serve finds out who asks and turns errors into pages.
func (web *Web) serve(r route) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		if r.json != nil && !WantsHTML(req) {
			r.json(w, req)
			return
		}
		pageHeaders(w.Header())
		who, err := web.who(req)
		api.CallerOf(req.Context()).Principal = who // for the log
		if err == nil && who.Credential == warranty.Anonymous && !r.open {
			err = errSignIn
		}
		if err == nil {
			err = checkAccount(w, req, who)
		}
		if err == nil {
			err = r.page(w, req, who)
		}
		if err != nil {
			web.refuse(w, req, who, err)
		}
	})
}

// checkAccount refuses a form that another account opened. Forms with files are read
// by their handlers.
func checkAccount(w http.ResponseWriter, r *http.Request, who warranty.Principal) error {
	media, _, _ := mime.ParseMediaType(r.Header.Get("Content-Type"))
	if r.Method != http.MethodPost || media != "application/x-www-form-urlencoded" || who.Credential == warranty.Anonymous {
		return nil
	}
	f, err := readForm(w, r)
	if err != nil {
		return err
	}
	return f.checkAccount(who)
}

// WantsHTML tells browsers from programs.
func WantsHTML(r *http.Request) bool { return strings.Contains(r.Header.Get("Accept"), "text/html") }

// pageHeaders are stricter than most pages need, so that no page needs thought.
func pageHeaders(h http.Header) {
	h.Set("Content-Security-Policy", "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; font-src 'self'; connect-src 'self'; "+
		"form-action 'self'; frame-ancestors 'none'; base-uri 'none'; manifest-src 'self'")
	h.Set("Cross-Origin-Opener-Policy", "same-origin")
	h.Set("Permissions-Policy", "camera=(), microphone=(), geolocation=()")
	h.Set("Cache-Control", "no-store")
}

var errSignIn = errors.New("sign in first")

// refuse shows an error as a page. Whoever is not signed in is sent to where
// they can, and back after.
func (web *Web) refuse(w http.ResponseWriter, r *http.Request, who warranty.Principal, err error) {
	if errors.Is(err, errSignIn) || warranty.AsError(err).Code.Info().Status == http.StatusUnauthorized {
		web.clearCookie(w)
		web.askToSignIn(w, r)
		return
	}
	if api.ClientGone(r.Context(), err) {
		w.WriteHeader(api.StatusClientGone)
		return
	}
	problem := web.excuse(w, r, err).Problem(web.PublicURL, api.CallerOf(r.Context()).RequestID)
	if errors.Is(err, errOtherAccount) {
		problem.Title, problem.Detail = web.t("error.other_account_title"), web.t("error.other_account", who.User.Email)
	}
	block := "layout"
	if isPart(r) {
		block = "main" // htmx shows it in the place of the part
	}
	web.render(w, r, problem.Status, "error", block, view{Who: who, Title: problem.Title, Body: problem})
}

// askToSignIn leads to the sign-in page, and back after it. A form that was sent
// travels along.
func (web *Web) askToSignIn(w http.ResponseWriter, r *http.Request) {
	if kept := web.keep(w, r); kept != nil {
		w.Header().Set("WWW-Authenticate", "Bearer")
		web.showSignIn(w, r, http.StatusUnauthorized, "done.kept", signInPage{Next: web.pageOf(kept.Action), Kept: kept})
		return
	}
	query := url.Values{"next": {r.URL.RequestURI()}}
	if r.Method != http.MethodGet && r.Method != http.MethodHead {
		query = url.Values{"next": {web.pageOf(r.URL.Path)}, "done": {"signed_out"}}
	}
	target := "/sign-in?" + query.Encode()
	if isPart(r) {
		w.Header().Set("HX-Redirect", target) // of the whole page, not of the part
		return
	}
	http.Redirect(w, r, target, http.StatusSeeOther)
}

// excuse is an error in the words for people. What is our fault is logged, and
// when to come again is in the headers.
func (web *Web) excuse(w http.ResponseWriter, r *http.Request, err error) *warranty.Error {
	refusal := *warranty.AsError(err)
	if (refusal.Code == warranty.Internal || refusal.Code == warranty.Unavailable) && !api.ClientGone(r.Context(), err) {
		web.Log.ErrorContext(r.Context(), "page failed", "request_id", api.CallerOf(r.Context()).RequestID, "error", err.Error())
	}
	if refusal.Wait > 0 {
		w.Header().Set("Retry-After", seconds(refusal.Wait))
	}
	if text, ok := web.views.texts.words["error."+string(refusal.Code)]; ok {
		refusal.Message = text // what programs are told is of no use to people
	}
	return &refusal
}

// Refuse is the page for an error outside of any page. It asks for nobody, since
// what went wrong may be just that.
func (web *Web) Refuse(w http.ResponseWriter, r *http.Request, err error) {
	pageHeaders(w.Header())
	web.refuse(w, r, warranty.Principal{}, err)
}

// NotFound is the page for addresses that are none.
func (web *Web) NotFound(w http.ResponseWriter, r *http.Request) {
	pageHeaders(w.Header())
	who, err := web.who(r)
	if err != nil {
		who = warranty.Principal{}
	}
	api.CallerOf(r.Context()).Principal = who
	web.refuse(w, r, who, warranty.ErrNotFound)
}

// cookieName has the prefix that binds a cookie to this host, where https allows it.
func (web *Web) cookieName() string {
	if strings.HasPrefix(web.PublicURL, "https://") {
		return "__Host-svc_session"
	}
	return "svc_session"
}

func (web *Web) setCookie(w http.ResponseWriter, secret string, expires time.Time) {
	http.SetCookie(w, &http.Cookie{Name: web.cookieName(), Value: secret, Path: "/", Expires: expires, HttpOnly: true,
		SameSite: http.SameSiteLaxMode, Secure: strings.HasPrefix(web.PublicURL, "https://")})
}

func (web *Web) clearCookie(w http.ResponseWriter) {
	web.setCookie(w, "", time.Unix(1, 0))
}

// who is the person of the session in the cookie; anonymous without one, or when it has ended.
func (web *Web) who(r *http.Request) (warranty.Principal, error) {
	cookie, err := r.Cookie(web.cookieName())
	if err != nil {
		return web.whoIs(r, "")
	}
	return web.whoIs(r, cookie.Value)
}

// whoIs is the person of a session; anonymous when it has ended.
func (web *Web) whoIs(r *http.Request, secret string) (warranty.Principal, error) {
	anonymous := warranty.Principal{Address: api.CallerOf(r.Context()).Address, Door: warranty.DoorWeb, UserAgent: r.UserAgent()}
	if cookie, err := r.Cookie(web.deviceCookie()); err == nil && len(cookie.Value) <= 64 {
		anonymous.Device = cookie.Value
	}
	if secret == "" {
		return anonymous, nil
	}
	who, err := web.Service.Authenticate(r.Context(), secret, false)
	if err != nil && warranty.AsError(err).Code.Info().Status == http.StatusUnauthorized {
		return anonymous, nil
	}
	if who.Credential != warranty.BySession {
		return anonymous, err
	}
	who.Address, who.Door, who.UserAgent, who.Device = anonymous.Address, anonymous.Door, anonymous.UserAgent, anonymous.Device
	return who, err
}

// deviceCookie names the cookie that tells a browser that was here before from a new
// one. It outlives sessions and lets nobody in.
func (web *Web) deviceCookie() string {
	return strings.Replace(web.cookieName(), "session", "device", 1)
}

// recognizable gives a browser that has no device cookie something to be known by.
func recognizable(who warranty.Principal) warranty.Principal {
	if who.Device == "" {
		who.Device = rand.Text()
	}
	return who
}

// setDevice makes the browser of someone who has signed in remember what it is known by.
func (web *Web) setDevice(w http.ResponseWriter, who warranty.Principal) {
	http.SetCookie(w, &http.Cookie{Name: web.deviceCookie(), Value: who.Device, Path: "/", Expires: web.Service.Now().Add(warranty.DeviceLifetime),
		HttpOnly: true, SameSite: http.SameSiteLaxMode, Secure: strings.HasPrefix(web.PublicURL, "https://")})
}
