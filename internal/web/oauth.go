package web

import (
	"errors"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"warranty.example/svc/internal/service"
	"warranty.example/svc/internal/web/view"
	"warranty.example/svc/warranty"
)

// An app sends the person's browser to /oauth/authorize. The person signs in if necessary, decides on the consent page,
// and goes back to the app with the answer. The request waits in the database meanwhile, bound to the session, so that
// the form has nothing to tamper with.

// maxState bounds what an app gets back unchanged.
const maxState = 4000

// invalidAuthorization is the reason why a request gets a page instead of an answer to the app: whoever made it may not
// be the app.
type invalidAuthorization struct{ key string }

func (e invalidAuthorization) Error() string { return e.key }

// authorize shows the consent page for the request of an app.
func (web *Web) authorize(w http.ResponseWriter, r *http.Request, who warranty.Principal) error {
	if !web.OAuth {
		return warranty.ErrNotFound
	}
	query := r.URL.Query()
	if warranty.IsDocument(query.Get("client_id")) && who.Credential != warranty.BySession {
		return errSignIn // before the document is read
	}
	a, err := web.authorizationOf(r, query, who)
	var invalid invalidAuthorization
	if errors.As(err, &invalid) {
		return web.showInvalid(w, r, invalidPage{Reason: web.t(r, invalid.key)})
	}
	if err != nil {
		return err
	}
	if who.Credential != warranty.BySession {
		return errSignIn // before errors go to the app: anyone can register an address, and would send strangers there
	}
	if problem, reason := web.checkAuthorization(query, a); problem != "" {
		return web.refuseApp(w, r, a, problem, reason)
	}
	if web.Service.RequireVerified && !who.User.EmailVerified {
		return redirect(w, r, "/verify-email"+withNext(r.URL.RequestURI()))
	}
	id, err := web.Service.StartAuthorization(r.Context(), who, a)
	if err != nil {
		return err
	}
	reading := []string{}
	for _, s := range a.Scopes {
		if s != warranty.WarrantiesWrite {
			reading = append(reading, string(s))
		}
	}
	f := form{Values: url.Values{"request": {id}, "scope": reading, "account": {actingOf(r, who).ID.String()}}}
	return web.showConsent(w, r, who, a, f)
}

// authorizationOf returns the request in a query. An unknown app or address is an invalidAuthorization.
func (web *Web) authorizationOf(
	r *http.Request, query url.Values, who warranty.Principal,
) (a warranty.Authorization, err error) {
	if len(query["client_id"]) != 1 || len(query["redirect_uri"]) != 1 {
		return a, invalidAuthorization{"consent.incomplete"}
	}
	a.Client, err = web.Service.Client(r.Context(), who, query.Get("client_id"))
	var unknown *service.OAuthError
	switch {
	case errors.As(err, &unknown) && unknown.Code == "invalid_client_metadata":
		return a, invalidAuthorization{"consent.no_document"}
	case errors.As(err, &unknown):
		return a, invalidAuthorization{"consent.unknown_app"}
	case err != nil:
		return a, err
	}
	a.Redirect = query.Get("redirect_uri")
	if !a.Client.Allows(a.Redirect) {
		return a, invalidAuthorization{"consent.wrong_address"}
	}
	a.State, a.Challenge = query.Get("state"), query.Get("code_challenge")
	a.Scopes = warranty.ParseScopes(query.Get("scope"))
	return a, nil
}

// checkAuthorization returns the error for the app and the text for the person, or "" if the request is valid.
func (web *Web) checkAuthorization(query url.Values, a warranty.Authorization) (problem, reason string) {
	for _, name := range []string{
		"response_type", "response_mode", "state", "scope", "code_challenge", "code_challenge_method", "resource", "prompt",
	} {
		if len(query[name]) > 1 {
			return "invalid_request", "consent.malformed"
		}
	}
	mode := query.Get("response_mode")
	switch {
	case query.Get("response_type") == "" || mode != "" && mode != "query" || !validState(a.State):
		return "invalid_request", "consent.malformed"
	case query.Get("response_type") != "code":
		return "unsupported_response_type", "consent.other_answer"
	case query.Get("code_challenge_method") != "S256" || !warranty.ValidChallenge(a.Challenge):
		return "invalid_request", "consent.no_challenge"
	case web.Service.CheckResource(a.Client.ID, query.Get("resource")) != nil:
		return "invalid_target", "consent.other_service"
	case slices.Contains(strings.Fields(query.Get("prompt")), "none"):
		return "interaction_required", "consent.no_page"
	}
	return "", ""
}

// refuseApp answers a request that is not valid. Anyone can register an address or publish a document, so the person
// sees where the answer goes and decides whether to follow it (RFC 9700 4.11.2). Apps on this computer get the answer at
// once.
func (web *Web) refuseApp(
	w http.ResponseWriter, r *http.Request, a warranty.Authorization, problem, reason string,
) error {
	answer := url.Values{"error": {problem}}
	if warranty.OnThisComputer(a.Redirect) {
		return web.answerApp(w, a, answer)
	}
	return web.showInvalid(w, r, invalidPage{
		Reason: web.t(r, reason),
		Host:   warranty.RedirectHost(a.Redirect),
		Back:   web.addressOfAnswer(a, answer),
	})
}

// validState reports whether a state can be kept and sent back.
func validState(state string) bool {
	return len(state) <= maxState && utf8.ValidString(state) && !strings.ContainsFunc(state, unicode.IsControl)
}

// addressOfAnswer returns the address at which the app gets an answer.
func (web *Web) addressOfAnswer(a warranty.Authorization, answer url.Values) string {
	if a.State != "" && validState(a.State) {
		answer.Set("state", a.State)
	}
	answer.Set("iss", web.PublicURL)
	separator := "?"
	if strings.Contains(a.Redirect, "?") {
		separator = "&"
	}
	return a.Redirect + separator + answer.Encode()
}

// answerApp sends the browser back to the app.
func (web *Web) answerApp(w http.ResponseWriter, a warranty.Authorization, answer url.Values) error {
	// 303, so that the browser does not send the form to the app.
	w.Header().Set("Location", web.addressOfAnswer(a, answer))
	w.WriteHeader(http.StatusSeeOther)
	return nil
}

// consentPage is the page on which a person decides about an app.
type consentPage struct {
	form
	Name string // what the app calls itself
	// Described is the host of the document that describes the app, if any. Target is the host that gets the answer;
	// it is empty for an app on this computer.
	Described, Target string
	BuiltIn           bool
	Scopes            []string
	Accounts          []warranty.AccountChoice
	Email             string
	Action            string // has the request again, for a session that ends before the decision
}

// scopeOrder is the order in which scopes are shown: reading first.
var scopeOrder = warranty.Scopes{
	warranty.WarrantiesRead, warranty.ClaimsRead, warranty.DocumentsRead, warranty.WarrantiesWrite,
}

// consentHeaders lets the answer of a form lead to the app. Browsers apply form-action to redirects, too.
func consentHeaders(h http.Header) {
	h.Set("Content-Security-Policy", strings.Replace(h.Get("Content-Security-Policy"), "form-action 'self'; ", "", 1))
}

func (web *Web) showConsent(
	w http.ResponseWriter, r *http.Request, who warranty.Principal, a warranty.Authorization, f form,
) error {
	accounts, err := web.Service.Accounts(r.Context(), who)
	if err != nil {
		return err
	}
	body := consentPage{
		form:      f,
		Name:      a.Client.Name,
		Described: a.Client.Host(),
		BuiltIn:   a.Client.ID == warranty.CommandClient,
		Accounts:  accounts,
		Email:     who.User.Email,
		Action:    r.URL.RequestURI(),
	}
	if !warranty.OnThisComputer(a.Redirect) {
		body.Target = warranty.RedirectHost(a.Redirect)
	}
	for _, s := range scopeOrder {
		if a.Scopes.Has(s) {
			body.Scopes = append(body.Scopes, string(s))
		}
	}
	consentHeaders(w.Header())
	v := view.Page{Title: web.t(r, "consent.title", body.Name), Who: who, NoIndex: true, Body: body}
	return web.render(w, r, f.status, "consent", "alone", v)
}

// invalidPage says why a request is not valid.
type invalidPage struct {
	Reason string
	// Host is where Back leads, which has the answer for the app. Both are empty if it is not certain who asks.
	Host, Back string
	// Answered means that the person may have answered the request before: the app may be connected.
	Answered bool
}

// showInvalid says that a request is not valid. Nothing is sent to the app.
func (web *Web) showInvalid(w http.ResponseWriter, r *http.Request, body invalidPage) error {
	v := view.Page{Title: web.t(r, "consent.invalid"), NoIndex: true, Body: body}
	return web.render(w, r, http.StatusBadRequest, "consent-invalid", "alone", v)
}

// decide handles the decision of a person about an app.
func (web *Web) decide(w http.ResponseWriter, r *http.Request, who warranty.Principal) error {
	if !web.OAuth {
		return warranty.ErrNotFound
	}
	f, err := readForm(w, r)
	if err != nil {
		return err
	}
	id := f.Value("request")
	a, err := web.Service.Authorization(r.Context(), who, id)
	if isGone(err) {
		return web.showInvalid(w, r, invalidPage{Reason: web.t(r, "consent.used"), Answered: true})
	}
	if err != nil {
		return err
	}
	consentHeaders(w.Header())
	if f.Value("decision") != "allow" {
		if err := web.Service.DenyAuthorization(r.Context(), who, id); err != nil && !isGone(err) {
			return err
		}
		return web.answerApp(w, a, url.Values{"error": {"access_denied"}})
	}
	acting, err := web.actFor(r.Context(), who, f.Value("account"))
	if err != nil {
		return err
	}
	if len(f.Values["scope"]) == 0 {
		f.status, f.Errors = http.StatusUnprocessableEntity, map[string]string{"scope": web.t(r, "consent.choose")}
		return web.showConsent(w, r, who, a, f)
	}
	var scopes warranty.Scopes
	for _, s := range f.Values["scope"] {
		scopes = append(scopes, warranty.Scope(s))
	}
	code, err := web.Service.ApproveAuthorization(r.Context(), acting, id, scopes)
	if isGone(err) {
		return web.showInvalid(w, r, invalidPage{Reason: web.t(r, "consent.used"), Answered: true})
	}
	if err != nil {
		if !web.setErrors(w, r, &f, err) {
			return err
		}
		return web.showConsent(w, r, who, a, f)
	}
	return web.answerApp(w, a, url.Values{"code": {code}})
}

// isGone reports whether a request was decided, has expired, or belongs to another session.
func isGone(err error) bool {
	var unknown *service.OAuthError
	return errors.Is(err, warranty.ErrNotFound) || errors.As(err, &unknown)
}
