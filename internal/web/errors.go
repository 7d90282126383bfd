package web

import (
	"errors"
	"net/http"
	"net/url"
	"slices"

	"warranty.example/svc/api"
	"warranty.example/svc/internal/web/view"
	"warranty.example/svc/warranty"
)

var errSignIn = errors.New("sign in first")

// errorPage is an error. Next is the address of the page if it may belong to another account of the
// person.
type errorPage struct {
	warranty.Problem
	Next string
}

// refuse shows an error page. If the request needs a session, it shows the sign-in
// page instead.
func (web *Web) refuse(w http.ResponseWriter, r *http.Request, who warranty.Principal, err error) {
	if errors.Is(err, errSignIn) || warranty.AsError(err).Code.Info().Status == http.StatusUnauthorized {
		web.clearCookie(w)
		if err = web.askToSignIn(w, r); err == nil {
			return
		}
	}
	if api.ClientGone(r.Context(), err) {
		w.WriteHeader(api.StatusClientGone)
		return
	}
	if errors.Is(err, errSettingUp) {
		if err = web.showSettingUp(w, r); err == nil {
			return
		}
	}
	if warranty.AsError(err).Code == warranty.ConfirmationRequired {
		if err = web.askToConfirm(w, r, who); err == nil {
			return
		}
	}
	if errors.Is(err, api.ErrTwoStepRequired) {
		if err = web.askForTwoStep(w, r); err == nil {
			return
		}
	}
	var foreign *foreignForm
	if errors.As(err, &foreign) {
		if err = web.showForeignForm(w, r, who, foreign); err == nil {
			return
		}
	}
	refusal, words := web.publicError(w, r, err), web.reader(r)
	problem := refusal.Problem(web.PublicURL, api.CallerOf(r.Context()).RequestID)
	problem.Title, problem.Detail = words.Message(warranty.Text{Format: problem.Title}), words.Message(refusal.Text())
	problem.Errors = slices.Clone(problem.Errors) // the error may be shared
	for i, f := range problem.Errors {
		problem.Errors[i].Message = words.Message(f.Text())
	}
	block, body := "layout", errorPage{Problem: problem}
	if isPart(r) {
		block = "main" // htmx swaps it in
	} else if r.Method == http.MethodGet && problem.Status == http.StatusNotFound {
		body.Next = r.URL.RequestURI()
	}
	err = web.render(w, r, problem.Status, "error", block, view.Page{Who: who, Title: problem.Title, Body: body})
	if err != nil {
		web.Log.ErrorContext(r.Context(), "rendering the error page failed", "error", err.Error())
		http.Error(w, web.t(r, "error.render"), http.StatusInternalServerError)
	}
}

// askToSignIn leads to the sign-in page, which leads back to the requested page. A
// resumable form is carried through sign-in.
func (web *Web) askToSignIn(w http.ResponseWriter, r *http.Request) error {
	if late := web.lateDraft(w, r); late != nil {
		w.Header().Set("WWW-Authenticate", "Bearer")
		return web.showSignIn(w, r, "done.kept", signInPage{
			form:  form{status: http.StatusUnauthorized},
			Next:  web.pageOf(late.Action),
			Draft: late,
		})
	}
	if r.URL.Path == "/" && !isPart(r) {
		return web.front(w, r)
	}
	query := url.Values{"next": {r.URL.RequestURI()}}
	if r.Method != http.MethodGet && r.Method != http.MethodHead {
		next := web.pageOf(r.URL.Path)
		if r.URL.Path == "/oauth/authorize" {
			next = r.URL.RequestURI() // it has the request of the app
		}
		query = url.Values{"next": {next}, "done": {"signed_out"}}
	}
	if _, pattern := web.forms.Handler(r); pattern == newsPattern {
		w.WriteHeader(http.StatusNoContent) // leaving the page would lose a message that is being written
		return nil
	}
	target := "/sign-in?" + query.Encode()
	if isPart(r) {
		w.Header().Set("HX-Redirect", target) // redirects the whole page
		return nil
	}
	return redirect(w, r, target)
}

// publicError returns err with the page's own message for its code, if there is one.
// It logs internal errors and sets Retry-After.
func (web *Web) publicError(w http.ResponseWriter, r *http.Request, err error) *warranty.Error {
	refusal := *warranty.AsError(err)
	if (refusal.Code == warranty.Internal || refusal.Code == warranty.Unavailable) && !api.ClientGone(r.Context(), err) {
		api.CallerOf(r.Context()).Fail(err)
		web.Log.ErrorContext(r.Context(), "page failed",
			"request_id", api.CallerOf(r.Context()).RequestID, "error", err.Error())
	}
	if refusal.Wait > 0 {
		w.Header().Set("Retry-After", seconds(refusal.Wait))
	}
	if text, ok := web.reader(r).Find("error." + string(refusal.Code)); ok {
		refusal.Message, refusal.Parts = text, nil
	}
	return &refusal
}

// Refuse shows an error page for an error outside of any page. It does not
// authenticate, since authentication may be what failed.
func (web *Web) Refuse(w http.ResponseWriter, r *http.Request, err error) {
	pageHeaders(w.Header())
	web.refuse(w, r, warranty.Principal{}, err)
}

// NotFound shows the error page for unknown addresses.
func (web *Web) NotFound(w http.ResponseWriter, r *http.Request) {
	pageHeaders(w.Header())
	who, err := web.principal(w, r)
	if err != nil && !errors.Is(err, errAccountLost) {
		who = warranty.Principal{}
	}
	api.CallerOf(r.Context()).Principal = who
	r, who = web.read(r, who)
	web.refuse(w, r, who, warranty.ErrNotFound)
}
