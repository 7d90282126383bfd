package server

import (
	"context"
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

// observed gives the request its id and its deadline, and writes its one log
// line: the route and not the address, because an address may hold a reference.
func (s *Server) observed(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		start := time.Now()
		caller := &api.Caller{RequestID: s.requestID(r)}
		caller.Address = limit.Key(s.Proxies.ClientIP(r.RemoteAddr, r.Header.Values("X-Forwarded-For")))
		caller.Door, caller.UserAgent = doorOf(r), r.UserAgent()
		ctx, cancel := s.Deadline(api.WithCaller(r.Context(), caller))
		defer cancel()
		r = r.WithContext(ctx)
		recorder := &recorder{ResponseWriter: w}
		secureHeaders(w.Header(), strings.HasPrefix(s.PublicURL, "https://"))
		w.Header().Set("X-Request-Id", caller.RequestID)
		if s.draining.Load() {
			w.Header().Set("Connection", "close") // the listener is about to close: balancers must not use it again
		}
		// Deferred, since a handler that gives up its answer does so with a panic.
		defer func() { s.record(r, caller, recorder, time.Since(start)) }()
		next.ServeHTTP(recorder, r)
		recorder.ended = true
	})
}

// record logs and counts a request that is over.
func (s *Server) record(r *http.Request, caller *api.Caller, rec *recorder, took time.Duration) {
	level := rec.level()
	if s.draining.Load() && r.URL.Path == "/readyz" {
		level = slog.LevelInfo // it is meant to be 503
	}
	s.Log.LogAttrs(r.Context(), level, "request", requestAttrs(r, caller, rec, took)...)
	if s.Metrics != nil {
		s.Metrics.observe(routeOf(r), rec.outcome(), took)
	}
	s.Service.Record(caller.Principal, answered(r, caller, rec, took))
}

// Values of headers that every answer has; they are shared and never changed.
var (
	nosniff    = []string{"nosniff"}
	noReferrer = []string{"no-referrer"}
	nothing    = []string{"default-src 'none'; frame-ancestors 'none'"}
	onlyHTTPS  = []string{"max-age=31536000"}
	noStore    = []string{"no-store"}
	variesBy   = []string{"Authorization, x-api-key"}
)

func secureHeaders(h http.Header, https bool) {
	h["X-Content-Type-Options"] = nosniff
	h["Referrer-Policy"] = noReferrer
	h["Content-Security-Policy"] = nothing
	if https {
		h["Strict-Transport-Security"] = onlyHTTPS
	}
}

// requestID keeps a well-formed id that was sent, so that callers can follow a
// request through their own logs.
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
	case forPeople(r):
		return warranty.DoorWeb
	}
	return warranty.DoorAPI
}

// recovered turns a panic into an answer, and keeps the server going.
func (s *Server) recovered(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		defer func() {
			p := recover()
			if p == nil {
				return
			}
			if p == http.ErrAbortHandler { //nolint:errorlint // it is never wrapped: net/http compares it so, too
				panic(p)
			}
			s.refuse(w, r, fmt.Errorf("panic: %v\n%s", p, debug.Stack()))
		}()
		next.ServeHTTP(w, r)
	})
}

// limited counts the request against the caller's network.
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
			window := s.Limits.Take(r.Context(), "ip:"+callerOf(r).Address, s.IPRate, time.Minute)
			if api || !window.Allowed {
				s.showWindow(w.Header(), "ip", window)
			}
			if !window.Allowed {
				s.refuse(w, r, s.tooMany(warranty.IPThrottled, networkFull, window))
				return
			}
		}
		next.ServeHTTP(w, r)
	})
}

// unused is the window of a session that has made no request yet: what holds for a
// caller of whom nothing is known, where networks have no limit (ADR 12).
func (s *Server) unused() limit.Window {
	reset := s.Service.Now().Add(time.Minute)
	return limit.Window{Limit: s.Service.RateLimit, Remaining: s.Service.RateLimit, Reset: reset, Until: reset, Allowed: true}
}

// authenticated finds out who asks and counts the request against their
// credential. What is used up is remembered, so that refusing it again costs no
// look into the database.
func (s *Server) authenticated(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		secret, asKey, err := credential(r)
		if err != nil {
			s.edge.Refuse(w, r, err)
			return
		}
		hash := warranty.HashSecret(secret)
		if window, ok := s.refused.Get(hash); ok {
			s.showWindow(w.Header(), "credential", window)
			s.edge.Refuse(w, r, s.tooMany(warranty.RateLimited, credentialFull(window), window))
			return
		}
		principal, err := s.Service.Authenticate(r.Context(), secret, asKey)
		if err != nil {
			s.edge.Refuse(w, r, err)
			return
		}
		caller := callerOf(r)
		principal.Address, principal.Door, principal.UserAgent = caller.Address, caller.Door, caller.UserAgent
		caller.Principal = principal
		window := s.Limits.Take(r.Context(), windowKey(principal), principal.RateLimit, time.Minute)
		s.showWindow(w.Header(), "credential", window)
		if !window.Allowed {
			s.refused.Put(hash, window)
			s.edge.Refuse(w, r, s.tooMany(warranty.RateLimited, credentialFull(window), window))
			return
		}
		s.Service.Used(principal)
		next.ServeHTTP(w, r)
	})
}

func callerOf(r *http.Request) *api.Caller { return api.CallerOf(r.Context()) }

// windowKey is what is counted together: one token, or all sessions of a person.
func windowKey(p warranty.Principal) string {
	if p.Credential == warranty.ByToken {
		return "token:" + p.CredentialID.String()
	}
	return "user:" + p.User.ID.String()
}

// credential takes the one secret that a request shows. Cookies and addresses
// are never looked at.
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
			return "", false, warranty.Refuse(warranty.InvalidCredential, "Send an integration token in the x-api-key header, or a session as Authorization: Bearer.")
		}
		found = append(found, strings.TrimSpace(value))
	}
	if len(found) == 0 {
		return "", false, warranty.Refuse(warranty.MissingCredential, "Send an integration token in the x-api-key header.")
	}
	for _, value := range found[1:] {
		if value != found[0] {
			return "", false, warranty.Refuse(warranty.MalformedRequest, "The request has two different credentials; send one.")
		}
	}
	return found[0], asKey, nil
}

// The headers of a window, as net/http keeps them.
var (
	headerLimit     = http.CanonicalHeaderKey("X-RateLimit-Limit")
	headerRemaining = http.CanonicalHeaderKey("X-RateLimit-Remaining")
	headerReset     = http.CanonicalHeaderKey("X-RateLimit-Reset")
	headerPolicy    = http.CanonicalHeaderKey("RateLimit-Policy")
	headerState     = http.CanonicalHeaderKey("RateLimit")
)

// showWindow writes the figures of a window: the usual headers, and those of the IETF's draft.
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

// tooMany is the refusal of a window that is used up. The message names what there
// was too much of.
func (s *Server) tooMany(code warranty.Code, what string, w limit.Window) error {
	wait := max(time.Second, w.Until.Sub(s.Service.Now()))
	return &warranty.Error{Code: code, Message: what + " Try again in " + waitText(wait) + ".", Wait: wait}
}

// waitText is a wait as people say it, never too short.
func waitText(wait time.Duration) string {
	n, unit := (wait+time.Second-1)/time.Second, "second"
	if wait > 2*time.Minute {
		n, unit = (wait+time.Minute-1)/time.Minute, "minute"
	}
	if n != 1 {
		unit += "s"
	}
	return strconv.FormatInt(int64(n), 10) + " " + unit
}

// networkFull is what the window of a network says.
const networkFull = "Too many requests from your network."

// credentialFull is what the window of a credential says.
func credentialFull(w limit.Window) string {
	return fmt.Sprintf("The limit is %d requests a minute.", w.Limit)
}

// throttles are the attempts that have limits of their own, counted by network, by
// account or by person.
var throttles = map[service.Throttle]struct {
	code warranty.Code
	what string
}{
	service.SignInAttempts:  {warranty.IPThrottled, "Too many sign-in attempts from your network."},
	service.AccountAttempts: {warranty.RateLimited, "Too many sign-in attempts for this account."},
	service.CodeRequests:    {warranty.IPThrottled, "Too many requests for codes from your network."},
	service.CodeMails:       {warranty.RateLimited, "We have already emailed codes to this address in the past hour, and they still work. Check the mailbox."},
	service.SignUpAttempts:  {warranty.IPThrottled, "Too many registrations from your network."},
	service.VerifyAttempts:  {warranty.IPThrottled, "Too many verifications from your network."},
	service.MailsToOthers:   {warranty.RateLimited, "You have sent too many emails to others."},
}

// throttle counts the attempts that have limits of their own.
func (s *Server) throttle(ctx context.Context, what service.Throttle, whom string) error {
	rate, period := s.VerifyRate, time.Minute
	switch what {
	case service.FormPosts:
		return s.throttleForm(ctx, whom)
	case service.SignInAttempts, service.AccountAttempts, service.MailsToOthers, service.CodeRequests:
		rate = s.SignInRate
	case service.CodeMails:
		rate, period = min(codeMails, s.SignInRate), time.Hour
	case service.SignUpAttempts:
		rate, period = s.SignUpRate, time.Hour
	}
	if rate <= 0 {
		return nil
	}
	if window := s.Limits.Take(ctx, string(what)+":"+whom, rate, period); !window.Allowed {
		t := throttles[what]
		return s.tooMany(t.code, t.what, window)
	}
	return nil
}

// throttleForm counts a form of the pages in the window that its person's API
// requests have, once for each request.
func (s *Server) throttleForm(ctx context.Context, user string) error {
	caller := api.CallerOf(ctx)
	if caller.FormCounted {
		return caller.FormRefused
	}
	caller.FormCounted = true
	if window := s.Limits.Take(ctx, "user:"+user, s.Service.RateLimit, time.Minute); !window.Allowed {
		what := fmt.Sprintf("You reached the limit of %d changes a minute, so nothing was saved.", window.Limit)
		caller.FormRefused = s.tooMany(warranty.RateLimited, what, window)
	}
	return caller.FormRefused
}

// codeMails is how many codes for one purpose an address is mailed in an hour.
const codeMails = 3
