package server

import (
	"fmt"
	"log/slog"
	"net/http"
	"runtime/debug"
	"strconv"
	"strings"
	"time"

	"warranty.example/svc/api"
	"warranty.example/svc/internal/limit"
	"warranty.example/svc/internal/service"
	"warranty.example/svc/warranty"
)

// observed sets the request's id and deadline, and logs the request when it is done.
// It logs the route instead of the path, because a path may contain a reference number.
func (s *Server) observed(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		start := time.Now()
		caller := &api.Caller{RequestID: s.requestID(r)}
		caller.Address = limit.Key(s.Proxies.ClientIP(r.RemoteAddr, r.Header.Values("X-Forwarded-For")))
		caller.Door, caller.UserAgent = doorOf(r), r.UserAgent()
		ctx, cancel := s.Deadline(api.WithCaller(r.Context(), caller))
		defer cancel()
		ctx, database := service.WithDatabaseTiming(ctx)
		body := &timedBody{ReadCloser: r.Body}
		r = r.WithContext(ctx)
		if r.Body != http.NoBody {
			r.Body = body
		}
		recorder := &recorder{ResponseWriter: w}
		caller.OnFailure = recorder.fail
		secureHeaders(w.Header(), strings.HasPrefix(s.PublicURL, "https://"))
		w.Header()["Date"] = s.date()
		w.Header().Set("X-Request-Id", caller.RequestID)
		if s.draining.Load() {
			w.Header().Set("Connection", "close") // the listener is about to close; balancers must not reuse it
		}
		// Deferred, because a handler aborts its response with a panic.
		defer func() {
			took := time.Since(start)
			s.record(r, caller, recorder, took)
			s.logSlow(r, caller, recorder, database, body, took)
		}()
		next.ServeHTTP(recorder, r)
		recorder.ended = true
	})
}

// record logs and counts a finished request.
func (s *Server) record(r *http.Request, caller *api.Caller, rec *recorder, took time.Duration) {
	level := rec.level()
	if s.draining.Load() && r.URL.Path == "/readyz" {
		level = slog.LevelInfo // 503 is the expected status
	}
	if isProbe := r.URL.Path == "/readyz" || r.URL.Path == "/healthz"; isProbe && level == slog.LevelInfo {
		level = slog.LevelDebug // every second, or more often
	}
	s.Log.LogAttrs(r.Context(), level, "request", requestAttrs(r, caller, rec, took)...)
	if s.Metrics != nil {
		s.Metrics.observe(r, rec.outcome(), took)
	}
	s.watchAddress(r, caller)
	info := requestInfo(r, caller, rec, took)
	s.Service.Record(caller.Principal, info)
	failed := level >= slog.LevelError || rec.failure.Load() != nil // MCP sends errors with the status 200
	if failed && r.URL.Path != "/readyz" {                          // probes would push out the errors of users
		s.Service.RecordError(caller.Principal, info, rec.failureText())
	}
}

// Shared header values, never modified.
var (
	nosniff    = []string{"nosniff"}
	noReferrer = []string{"no-referrer"}
	denyAll    = []string{"default-src 'none'; frame-ancestors 'none'"}
	hsts       = []string{"max-age=31536000"}
	noStore    = []string{"no-store"}
	variesBy   = []string{"Authorization, x-api-key"}
)

func secureHeaders(h http.Header, https bool) {
	h["X-Content-Type-Options"] = nosniff
	h["Referrer-Policy"] = noReferrer
	h["Content-Security-Policy"] = denyAll
	if https {
		h["Strict-Transport-Security"] = hsts
	}
}

// date returns the Date header by the service's clock, formatted once a second. svc-mcp
// takes the current day from it.
func (s *Server) date() []string {
	now := s.Service.Now()
	if d := s.dated.Load(); d != nil && d.second == now.Unix() {
		return d.header
	}
	d := &dateHeader{now.Unix(), []string{now.UTC().Format(http.TimeFormat)}}
	s.dated.Store(d)
	return d.header
}

// dateHeader is a formatted Date header and the second that it is for.
type dateHeader struct {
	second int64
	header []string
}

// requestID returns the caller's X-Request-Id when it is well-formed, so that callers
// can correlate their logs with ours, and a new id otherwise.
func (s *Server) requestID(r *http.Request) string {
	sent := r.Header.Get("X-Request-Id")
	if len(sent) >= 8 && len(sent) <= 64 && !strings.ContainsFunc(sent, func(c rune) bool {
		return (c < 'a' || c > 'z') && (c < 'A' || c > 'Z') && (c < '0' || c > '9') && c != '-' && c != '_' && c != '.'
	}) {
		return sent
	}
	return s.Service.NewID().String()
}

func doorOf(r *http.Request) warranty.Door {
	agent := r.UserAgent()
	switch {
	case r.URL.Path == "/api/mcp", strings.HasPrefix(agent, "svc-mcp/"):
		return warranty.DoorMCP
	case strings.HasPrefix(agent, "svc/"):
		return warranty.DoorCLI
	case fromBrowser(r):
		return warranty.DoorWeb
	}
	return warranty.DoorAPI
}

// recovered turns a panic into a 500 response.
func (s *Server) recovered(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		defer func() {
			p := recover()
			if p == nil {
				return
			}
			if p == http.ErrAbortHandler { //nolint:errorlint // never wrapped; net/http compares it the same way
				panic(p)
			}
			s.refuse(w, r, fmt.Errorf("panic: %v\n%s", p, debug.Stack()))
		}()
		next.ServeHTTP(w, r)
	})
}

// limited counts the request against the rate limit of the caller's network.
func (s *Server) limited(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		api := strings.HasPrefix(r.URL.Path, "/api/")
		if api {
			w.Header()["Cache-Control"] = noStore
			w.Header()["Vary"] = variesBy
		}
		if api && s.IPRate <= 0 {
			s.showWindow(w.Header(), "credential", s.unused())
		}
		if s.IPRate > 0 {
			window := s.Service.Limits.Take(r.Context(), "ip:"+callerOf(r).Address, s.IPRate, time.Minute)
			if api || !window.Allowed {
				s.showWindow(w.Header(), "ip", window)
			}
			if !window.Allowed {
				s.refuse(w, r, s.Service.TooMany(warranty.IPThrottled, networkFull, window))
				return
			}
		}
		next.ServeHTTP(w, r)
	})
}

// unused returns the window of a session that has made no requests. It is shown to
// unknown callers when networks have no limit (ADR 12).
func (s *Server) unused() limit.Window {
	reset := s.Service.Now().Add(time.Minute)
	rate := s.Service.RateLimit
	return limit.Window{Limit: rate, Remaining: rate, Reset: reset, Until: reset, Allowed: true}
}

// authenticated identifies the caller and counts the request against the credential's
// rate limit. Exhausted credentials are remembered (ADR 10), so that refusing them
// again needs no database query.
func (s *Server) authenticated(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		secret, asKey, err := credential(r)
		if err != nil {
			s.refuse(w, r, err)
			return
		}
		account, hasAccount, err := accountHeader(r)
		if err != nil {
			s.refuse(w, r, err)
			return
		}
		hash := warranty.HashSecret(secret)
		if hasAccount {
			hash = warranty.HashSecret(secret + " " + account.String()) // each has its own window
		}
		if window, ok := s.refused.Get(hash); ok {
			s.showWindow(w.Header(), "credential", window)
			s.refuse(w, r, s.Service.TooMany(warranty.RateLimited, credentialFull(window), window))
			return
		}
		principal, err := s.Service.Authenticate(r.Context(), secret, asKey)
		if err != nil {
			s.refuse(w, r, err)
			return
		}
		if !isAudience(principal, r) {
			s.refuse(w, r, errAudience)
			return
		}
		var notAllowed error
		if hasAccount {
			principal, notAllowed = s.Service.ActFor(r.Context(), principal, account)
		}
		caller := callerOf(r)
		principal.Address, principal.Door, principal.UserAgent = caller.Address, caller.Door, caller.UserAgent
		caller.Principal = principal
		window := s.Service.Limits.Take(r.Context(), principal.Window(), principal.RateLimit, time.Minute)
		s.showWindow(w.Header(), "credential", window)
		if !window.Allowed {
			s.refused.Put(hash, window)
			s.refuse(w, r, s.Service.TooMany(warranty.RateLimited, credentialFull(window), window))
			return
		}
		s.Service.Used(principal)
		if notAllowed != nil {
			s.refuse(w, r, notAllowed)
			return
		}
		next.ServeHTTP(w, r)
	})
}

var errAudience = warranty.Refuse(warranty.InvalidCredential,
	"This access token is for another address. Those of connected apps are for /api/mcp, those of svc for /api/v1.")

// isAudience reports whether the principal's credential may be used at the address of a request. Only access tokens of
// apps are for a single one.
func isAudience(p warranty.Principal, r *http.Request) bool {
	switch p.Client {
	case "":
		return true
	case warranty.CommandClient:
		return strings.HasPrefix(r.URL.Path, string(api.V1)+"/")
	}
	return r.URL.Path == mcpPath
}

// accountHeader returns the account of the header X-Account, if there is one.
func accountHeader(r *http.Request) (id warranty.ID, found bool, err error) {
	values := r.Header.Values("X-Account")
	if len(values) == 0 {
		return id, false, nil
	}
	id, err = warranty.ParseID(strings.TrimSpace(values[0]))
	if err != nil || len(values) > 1 {
		return id, false, warranty.ErrAccountNotAllowed
	}
	return id, true, nil
}

func callerOf(r *http.Request) *api.Caller { return api.CallerOf(r.Context()) }

// credential returns the secret in the request's headers. It never reads cookies or
// the URL.
func credential(r *http.Request) (secret string, asKey bool, err error) {
	var found []string
	for _, value := range r.Header.Values("X-Api-Key") {
		if value = strings.TrimSpace(value); value != "" {
			found, asKey = append(found, value), true
		}
	}
	for _, value := range r.Header.Values("Authorization") {
		scheme, value, _ := strings.Cut(value, " ")
		if !strings.EqualFold(scheme, "Bearer") {
			return "", false, warranty.Refuse(warranty.InvalidCredential,
				"Send an integration token in the x-api-key header, or a session as Authorization: Bearer.")
		}
		found = append(found, strings.TrimSpace(value))
	}
	if len(found) == 0 {
		return "", false, warranty.Refuse(warranty.MissingCredential, "Send an integration token in the x-api-key header.")
	}
	for _, value := range found[1:] {
		if value != found[0] {
			return "", false, warranty.Refuse(warranty.MalformedRequest,
				"The request has two different credentials. Send only one.")
		}
	}
	return found[0], asKey, nil
}

// Rate limit headers, in canonical form.
var (
	headerLimit     = http.CanonicalHeaderKey("X-RateLimit-Limit")
	headerRemaining = http.CanonicalHeaderKey("X-RateLimit-Remaining")
	headerReset     = http.CanonicalHeaderKey("X-RateLimit-Reset")
	headerPolicy    = http.CanonicalHeaderKey("RateLimit-Policy")
	headerState     = http.CanonicalHeaderKey("RateLimit")
)

// showWindow sets the rate limit headers: the common X-RateLimit ones and those of the IETF draft.
func (s *Server) showWindow(h http.Header, policy string, w limit.Window) {
	reset := w.Reset.Unix()
	if w.Reset.Nanosecond() > 0 {
		reset++
	}
	most, remaining := strconv.Itoa(w.Limit), strconv.Itoa(w.Remaining)
	left := max(0, (w.Until.Sub(s.Service.Now())+time.Second-1)/time.Second)
	h[headerLimit] = []string{most}
	h[headerRemaining] = []string{remaining}
	h[headerReset] = []string{strconv.FormatInt(reset, 10)}
	h[headerPolicy] = []string{`"` + policy + `";q=` + most + `;w=60`}
	h[headerState] = []string{`"` + policy + `";r=` + remaining + `;t=` + strconv.FormatInt(int64(left), 10)}
}

// networkFull is the message for an exhausted window of a network.
var networkFull = warranty.Textf("Too many requests from your network.")

// credentialFull is the message for an exhausted window of a credential.
func credentialFull(w limit.Window) warranty.Text {
	return warranty.Textf("The limit is %d requests a minute.", w.Limit)
}
