package server

import (
	"log/slog"
	"net/http"
	"strings"
	"time"

	"warranty.example/svc/api"
	"warranty.example/svc/internal/service"
	"warranty.example/svc/warranty"
)

// recorder remembers what was answered.
type recorder struct {
	http.ResponseWriter
	status int
	bytes  int64
	failed bool // the client did not take the answer to its end
	ended  bool // the handler returned, instead of giving up its answer
}

// outcome is the status for logs and metrics: what was answered, or that there was
// nobody to answer.
func (r *recorder) outcome() int {
	switch {
	case r.failed:
		return api.StatusClientGone
	case r.status == 0:
		return http.StatusOK // nothing was written, which means this
	}
	return r.status
}

// level is ERROR for what is our fault: status 500 and above, and answers that were cut off.
func (r *recorder) level() slog.Level {
	if r.outcome() >= http.StatusInternalServerError || !r.ended && !r.failed {
		return slog.LevelError
	}
	return slog.LevelInfo
}

// WriteHeader remembers the status.
func (r *recorder) WriteHeader(status int) {
	if r.status == 0 {
		r.status = status
	}
	r.ResponseWriter.WriteHeader(status)
}

// Write counts the bytes.
func (r *recorder) Write(b []byte) (int, error) {
	if r.status == 0 {
		r.status = http.StatusOK
	}
	n, err := r.ResponseWriter.Write(b)
	r.failed = r.failed || err != nil
	r.bytes += int64(n)
	return n, err
}

// Unwrap gives http.ResponseController the writer underneath.
func (r *recorder) Unwrap() http.ResponseWriter { return r.ResponseWriter }

// requestAttrs is what the log says of a request: who and what, never a secret.
func requestAttrs(r *http.Request, c *api.Caller, rec *recorder, took time.Duration) []slog.Attr {
	attrs := []slog.Attr{
		slog.String("request_id", c.RequestID), slog.String("method", r.Method), slog.String("route", routeOf(r)), slog.Int("status", rec.outcome()),
		slog.Float64("ms", float64(took.Microseconds())/1000), slog.Int64("bytes", rec.bytes), slog.String("ip", c.Address), slog.String("door", c.Door.String()),
	}
	if !rec.ended {
		attrs = append(attrs, slog.Bool("aborted", true)) // the answer has no end
	}
	if c.Credential != warranty.Anonymous {
		attrs = append(attrs, slog.String("user", c.User.ID.String()))
	}
	if c.Credential == warranty.ByToken {
		attrs = append(attrs, slog.String("token", c.CredentialID.String()))
	}
	return attrs
}

// answered is what a token's owner may later read of a request.
func answered(r *http.Request, c *api.Caller, rec *recorder, took time.Duration) service.RequestInfo {
	route := routeOf(r)
	if _, path, hasMethod := strings.Cut(route, " "); hasMethod {
		route = path
	}
	return service.RequestInfo{Method: r.Method, Route: route, Status: rec.outcome(), Took: took, RequestID: c.RequestID, Client: r.UserAgent()}
}

// routeOf is the pattern that took the request; what no route takes has none.
func routeOf(r *http.Request) string {
	if r.Pattern == "" || r.Pattern == "/" {
		return "-"
	}
	return r.Pattern
}
