package server

import (
	"log/slog"
	"net/http"
	"strings"
	"sync/atomic"
	"time"

	"warranty.example/svc/api"
	"warranty.example/svc/internal/service"
	"warranty.example/svc/warranty"
)

// recorder records the response for the log and the metrics.
type recorder struct {
	http.ResponseWriter
	status int
	bytes  int64
	failed bool // writing to the client failed
	ended  bool // the handler returned instead of aborting the response
	// sending is how long writing to the client took.
	sending time.Duration

	failure atomic.Pointer[string] // the internal error, if any
}

// fail records the internal error that the request failed with. It may run in any goroutine.
func (r *recorder) fail(err error) { r.failure.Store(new(err.Error())) }

// failureText describes why the request failed, for the admin page.
func (r *recorder) failureText() string {
	text := ""
	if !r.ended {
		text = "The response was aborted."
	}
	if failure := r.failure.Load(); failure != nil {
		text = strings.TrimSpace(text + " " + *failure)
	}
	return text
}

// outcome returns the status for logs and metrics: the one that was sent, or
// api.StatusClientGone when the client disconnected.
func (r *recorder) outcome() int {
	switch {
	case r.failed:
		return api.StatusClientGone
	case r.status == 0:
		return http.StatusOK // net/http sends 200 when the handler writes nothing
	}
	return r.status
}

// level is ERROR for server faults: statuses of 500 and above, and aborted responses.
func (r *recorder) level() slog.Level {
	if r.outcome() >= http.StatusInternalServerError || !r.ended && !r.failed {
		return slog.LevelError
	}
	return slog.LevelInfo
}

// WriteHeader records the first status.
func (r *recorder) WriteHeader(status int) {
	if r.status == 0 {
		r.status = status
	}
	r.ResponseWriter.WriteHeader(status)
}

// Write counts the bytes and records failures.
func (r *recorder) Write(b []byte) (int, error) {
	if r.status == 0 {
		r.status = http.StatusOK
	}
	start := time.Now()
	n, err := r.ResponseWriter.Write(b)
	r.sending += time.Since(start)
	r.failed = r.failed || err != nil
	r.bytes += int64(n)
	return n, err
}

// Unwrap returns the underlying writer for http.ResponseController.
func (r *recorder) Unwrap() http.ResponseWriter { return r.ResponseWriter }

// requestAttrs returns the log attributes of a request. They never contain a secret.
func requestAttrs(r *http.Request, c *api.Caller, rec *recorder, took time.Duration) []slog.Attr {
	attrs := []slog.Attr{
		slog.String("request_id", c.RequestID),
		slog.String("method", r.Method),
		slog.String("route", routeOf(r)),
		slog.Int("status", rec.outcome()),
		slog.Float64("ms", float64(took.Microseconds())/1000),
		slog.Int64("bytes", rec.bytes),
		slog.String("ip", c.Address),
		slog.String("door", c.Door.String()),
	}
	if sent := r.Header[api.TraceparentHeader]; len(sent) == 1 {
		if id := api.TraceID(sent[0]); id != "" {
			attrs = append(attrs, slog.String("trace_id", id))
		}
	}
	if !rec.ended {
		attrs = append(attrs, slog.Bool("aborted", true)) // the response is incomplete
	}
	if c.Credential != warranty.Anonymous {
		attrs = append(attrs, slog.String("user", c.User.ID.String()))
	}
	if c.Credential == warranty.ByToken {
		attrs = append(attrs, slog.String("token", c.CredentialID.String()))
	}
	return attrs
}

// requestInfo returns the part of a request that the owner of the token can read later.
func requestInfo(r *http.Request, c *api.Caller, rec *recorder, took time.Duration) service.RequestInfo {
	route := routeOf(r)
	if _, path, hasMethod := strings.Cut(route, " "); hasMethod {
		route = path
	}
	return service.RequestInfo{
		Method:    r.Method,
		Route:     route,
		Status:    rec.outcome(),
		Took:      took,
		RequestID: c.RequestID,
		Client:    r.UserAgent(),
	}
}

// routeOf returns the pattern that matched the request, or "-" when none did.
func routeOf(r *http.Request) string {
	if r.Pattern == "" || r.Pattern == "/" {
		return "-"
	}
	return r.Pattern
}
