package rest

import (
	"errors"
	"log/slog"
	"net/http"
	"strconv"

	"warranty.example/svc/api"
	"warranty.example/svc/warranty"
)

// Edge is what the REST handlers share.
type Edge struct {
	PublicURL string
	Log       *slog.Logger
}

// Refuse responds with err as a problem. Internal errors are logged, and their details
// are not sent.
func (e *Edge) Refuse(w http.ResponseWriter, r *http.Request, err error) {
	if refusal := e.Report(w, r, err); refusal != nil {
		e.Answer(w, r, refusal)
	}
}

// Report logs an internal error and returns what the client may know of it. It returns nil
// if the client is gone and needs no response.
func (e *Edge) Report(w http.ResponseWriter, r *http.Request, err error) *warranty.Error {
	if api.ClientGone(r.Context(), err) {
		w.WriteHeader(api.StatusClientGone)
		return nil
	}
	refusal := AsRefusal(err)
	if refusal.Code == warranty.Internal || refusal.Code == warranty.Unavailable {
		caller := api.CallerOf(r.Context())
		caller.Fail(err)
		e.Log.ErrorContext(r.Context(), "request failed",
			"request_id", caller.RequestID, "code", string(refusal.Code), "error", err.Error())
	}
	return refusal
}

// Answer responds with the refusal as a problem, without logging.
func (e *Edge) Answer(w http.ResponseWriter, r *http.Request, refusal *warranty.Error) {
	problem := e.Problem(w, r, refusal)
	body, err := api.AppendJSON(nil, problem)
	if err != nil {
		http.Error(w, "", http.StatusInternalServerError)
		return
	}
	Write(w, problem.Status, "application/problem+json", body)
}

// Problem sets the headers of a refusal and returns its body, for another format than JSON too.
func (e *Edge) Problem(w http.ResponseWriter, r *http.Request, refusal *warranty.Error) warranty.Problem {
	problem := refusal.Problem(e.PublicURL, api.CallerOf(r.Context()).RequestID)
	if problem.Status == http.StatusUnauthorized {
		w.Header().Set("WWW-Authenticate", challenge(refusal.Code))
	}
	if refusal.Wait > 0 {
		w.Header().Set("Retry-After", strconv.FormatInt(refusal.RetryAfterSeconds(), 10))
	}
	return problem
}

// Write sends the body of an error.
func Write(w http.ResponseWriter, status int, mediaType string, body []byte) {
	h := w.Header()
	h.Del("ETag")
	h.Set("Content-Type", mediaType)
	h.Set("Content-Length", strconv.Itoa(len(body)))
	w.WriteHeader(status)
	_, _ = w.Write(body) // fails only if the client disconnected
}

// AsRefusal is warranty.AsError with support for http.MaxBytesError.
func AsRefusal(err error) *warranty.Error {
	var tooLarge *http.MaxBytesError
	if errors.As(err, &tooLarge) {
		return warranty.Refuse(warranty.BodyTooLarge, "The body is larger than 1 MiB. Send a smaller one.")
	}
	return warranty.AsError(err)
}

// challenge returns the WWW-Authenticate header. It names Bearer, which accepts tokens
// too, because x-api-key has no registered scheme.
func challenge(code warranty.Code) string {
	if code == warranty.MissingCredential {
		return `Bearer realm="svc"`
	}
	return `Bearer realm="svc", error="invalid_token"`
}
