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
	// Encode encodes a problem in another format for some requests. If the body is nil,
	// the default format is used.
	Encode func(r *http.Request, p warranty.Problem) (mediaType string, body []byte)
	// Challenge returns the WWW-Authenticate header for some requests, and "" for the others. It may be nil.
	Challenge func(r *http.Request, code warranty.Code) string
}

// Refuse responds with err as a problem. Internal errors are logged, and their details
// are not sent.
func (e *Edge) Refuse(w http.ResponseWriter, r *http.Request, err error) {
	if api.ClientGone(r.Context(), err) {
		w.WriteHeader(api.StatusClientGone)
		return
	}
	caller := api.CallerOf(r.Context())
	refusal := AsRefusal(err)
	if refusal.Code == warranty.Internal || refusal.Code == warranty.Unavailable {
		caller.Fail(err)
		e.Log.ErrorContext(r.Context(), "request failed",
			"request_id", caller.RequestID, "code", string(refusal.Code), "error", err.Error())
	}
	e.Answer(w, r, refusal)
}

// Answer responds with the refusal as a problem, without logging.
func (e *Edge) Answer(w http.ResponseWriter, r *http.Request, refusal *warranty.Error) {
	caller := api.CallerOf(r.Context())
	h := w.Header()
	status := refusal.Code.Info().Status
	if status == http.StatusUnauthorized {
		h.Set("WWW-Authenticate", e.challenge(r, refusal.Code))
	}
	if refusal.Wait > 0 {
		h.Set("Retry-After", strconv.FormatInt(refusal.RetryAfterSeconds(), 10))
	}
	problem := refusal.Problem(e.PublicURL, caller.RequestID)
	mediaType, body := "application/problem+json", []byte(nil)
	if e.Encode != nil {
		mediaType, body = e.Encode(r, problem)
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
func (e *Edge) challenge(r *http.Request, code warranty.Code) string {
	if e.Challenge != nil {
		if value := e.Challenge(r, code); value != "" {
			return value
		}
	}
	if code == warranty.MissingCredential {
		return `Bearer realm="svc"`
	}
	return `Bearer realm="svc", error="invalid_token"`
}
