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
	// Speaks writes a problem in another language where a request wants one; a nil
	// body means that it does not.
	Speaks func(r *http.Request, p warranty.Problem) (mediaType string, body []byte)
}

// Refuse answers with the problem that an error is. What is not a refusal is a
// fault of ours: it is logged whole and shown as nothing.
func (e *Edge) Refuse(w http.ResponseWriter, r *http.Request, err error) {
	if api.ClientGone(r.Context(), err) {
		w.WriteHeader(api.StatusClientGone)
		return
	}
	caller := api.CallerOf(r.Context())
	refusal := AsRefusal(err)
	if refusal.Code == warranty.Internal || refusal.Code == warranty.Unavailable {
		e.Log.ErrorContext(r.Context(), "request failed", "request_id", caller.RequestID, "code", string(refusal.Code), "error", err.Error())
	}
	e.Answer(w, r, refusal)
}

// Answer is Refuse for what is meant to be: nothing is logged.
func (e *Edge) Answer(w http.ResponseWriter, r *http.Request, refusal *warranty.Error) {
	caller := api.CallerOf(r.Context())
	h := w.Header()
	status := refusal.Code.Info().Status
	if status == http.StatusUnauthorized {
		h.Set("WWW-Authenticate", challenge(refusal.Code))
	}
	if refusal.Wait > 0 {
		h.Set("Retry-After", strconv.FormatInt(refusal.RetryAfterSeconds(), 10))
	}
	problem := refusal.Problem(e.PublicURL, caller.RequestID)
	mediaType, body := "application/problem+json", []byte(nil)
	if e.Speaks != nil {
		mediaType, body = e.Speaks(r, problem)
	}
	if body == nil {
		var err error
		if body, err = api.AppendJSON(nil, problem); err != nil {
			http.Error(w, "", http.StatusInternalServerError)
			return
		}
	}
	h.Del("ETag")
	h.Set("Content-Type", mediaType)
	h.Set("Content-Length", strconv.Itoa(len(body)))
	w.WriteHeader(status)
	_, _ = w.Write(body) // a caller that has gone away has nothing to be told
}

// AsRefusal is warranty.AsError for what HTTP adds to it.
func AsRefusal(err error) *warranty.Error {
	var tooLarge *http.MaxBytesError
	if errors.As(err, &tooLarge) {
		return warranty.Refuse(warranty.BodyTooLarge, "The body has more than 1 MiB; send less.")
	}
	return warranty.AsError(err)
}

// challenge tells how to authenticate. The header x-api-key has no registered
// scheme, and tokens are taken as Bearer too, so that is what is named.
func challenge(code warranty.Code) string {
	if code == warranty.MissingCredential {
		return `Bearer realm="svc"`
	}
	return `Bearer realm="svc", error="invalid_token"`
}
