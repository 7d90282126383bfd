package rest_test

import (
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"warranty.example/svc/internal/server"
	"warranty.example/svc/internal/servertest"
	"warranty.example/svc/internal/service"
	"warranty.example/svc/warranty"
)

// refusal is a request that must be refused with a code.
type refusal struct {
	name    string
	code    warranty.Code
	request request
	header  string // an additional header, as "Name: pattern"
	detail  string // pattern that the detail must match
	fields  []string
}

// refusals returns requests for every error code that a server with a healthy
// database can return.
func refusals(t *testing.T, w *world) []refusal {
	owner, seller, stranger := w.Verified("Olga"), w.Verified("Sami"), w.Person("Zoe")
	key, _ := w.Token(owner)
	claimsOnly, _ := w.Token(owner, warranty.ClaimsRead)
	record := w.Warranty(key, fields{"seller_email": seller.Email})
	w.Confirm(seller, record.ID)
	waiting := w.Warranty(key, fields{"seller_email": seller.Email})
	cancelled, void := w.Warranty(key, nil), w.Warranty(key, nil)
	at := func(r servertest.Record) string { return "/api/v1/warranties/" + r.ID }
	w.Must(200, made("PUT", at(cancelled), key, fields{"status": "cancelled"}))
	w.Must(200, made("PUT", at(void), key, fields{"status": "void"}))
	body := fields{"product_name": "Drill", "start_date": "2026-01-01", "end_date": "2027-01-01"}
	w.Must(201, made("POST", "/api/v1/warranties", key, body, "Idempotency-Key", "used"))
	other := fields{"product_name": "Saw", "start_date": "2026-01-01", "end_date": "2027-01-01"}

	lost := w.Upload(owner.Session, document(record.ID, "lost.pdf", pdf)...)
	for _, name := range w.Stored() {
		if err := os.Remove(filepath.Join(w.Folder, name)); err != nil {
			t.Fatal(err)
		}
	}

	revoked, revokedID := w.Token(owner)
	w.Must(204, made("DELETE", "/api/integration-tokens/"+revokedID, owner.Session, nil))
	expired := w.NewToken(owner, fields{"name": "short", "scopes": []string{"warranties:read"},
		"expires_at": w.Clock.Now().Add(time.Hour)}).Secret
	spent := w.NewToken(owner, fields{"name": "slow", "scopes": []string{"warranties:read"},
		"rate_limit_per_minute": 1}).Secret
	full := w.Person("Tom")
	for range warranty.MaxActiveTokens {
		w.Token(full)
	}
	boss := w.Person("Bea")
	var shop, sold struct{ ID string }
	w.Must(201, made("POST", "/api/organizations", boss.Session, fields{"name": "Halden"})).Into(t, &shop)
	w.Must(201, made("POST", "/api/v1/warranties", boss.Session,
		fields{"product_name": "Pan", "start_date": "2020-01-01", "end_date": "2099-12-31"}, "X-Account", shop.ID)).Into(t, &sold)
	var offer struct{ Code string }
	w.Must(201, made("POST", "/api/v1/warranties/"+sold.ID+"/handover", boss.Session, fields{}, "X-Account", shop.ID)).Into(t, &offer)
	w.Exec(`UPDATE sessions SET confirmed_at = 9000000000000000`)
	w.Must(200, made("POST", "/api/handovers/take", w.Verified("Kim").Session, fields{"code": offer.Code}))
	var self struct{ User struct{ ID string } }
	w.Must(200, made("GET", "/api/v1/auth/status", boss.Session, nil)).Into(t, &self)
	ended := w.Person("Eve")
	w.Exec(`UPDATE sessions SET expires_at = created_at WHERE user_id = (SELECT id FROM users WHERE email = 'eve@people.example')`)
	w.Clock.Advance(2 * time.Hour)
	w.Must(200, made("GET", "/api/v1/warranties", spent, nil))
	for _, name := range []string{"Nora", "Paul"} {
		w.Person(name)
	}
	w.Exec(`UPDATE users SET password_hash = 'something else' WHERE email = 'nora@people.example'`)
	w.Exec(`UPDATE users SET password_hash = '$argon2id$v=19$m=19456,t=0,p=1$AAAA$AAAA' WHERE email = 'paul@people.example'`)

	const list, bearer = "/api/v1/warranties", `WWW-Authenticate: ^Bearer realm="svc", error="invalid_token"$`
	create := func(body any, headers ...string) request { return made("POST", list, key, body, headers...) }
	signIn := func(email, password string) request {
		return made("POST", "/api/auth/sessions", "", fields{"email": email, "password": password})
	}
	return []refusal{
		{name: "one request too many, within a minute of the last", code: warranty.RateLimited,
			header: `Retry-After: ^[1-9]\d?$`, request: made("GET", list, spent, nil)},

		{name: "no body", code: warranty.MalformedRequest, request: create("")},
		{name: "half a body", code: warranty.MalformedRequest, request: create(`{"product_name": "x"`)},
		{name: "a list", code: warranty.MalformedRequest, request: create(`[]`)},
		{name: "null", code: warranty.MalformedRequest, request: create(`null`)},
		{name: "a name twice", code: warranty.MalformedRequest, request: create(`{"category": "a", "category": "b"}`)},
		{name: "something behind", code: warranty.MalformedRequest, request: create(`{} {}`)},
		{name: "bad UTF-8", code: warranty.MalformedRequest, request: create("{\"product_name\": \"\xff\"}")},
		{name: "half a character", code: warranty.MalformedRequest, request: create(`{"product_name": "\ud800"}`)},
		{name: "a bad query", code: warranty.MalformedRequest, request: made("GET", list+"?q=%zz", key, nil)},
		{name: "two credentials", code: warranty.MalformedRequest, detail: "two different credentials",
			request: made("GET", list, key, nil, "Authorization", "Bearer "+owner.Session)},
		{name: "a credential in the address", code: warranty.MalformedRequest, detail: "header",
			request: made("GET", list+"?api_key="+key, key, nil)},

		{name: "no credential", code: warranty.MissingCredential, header: `WWW-Authenticate: ^Bearer realm="svc"$`,
			request: made("GET", list, "", nil)},
		{name: "no credential, no address", code: warranty.MissingCredential, request: made("GET", "/api/nowhere", "", nil)},
		{name: "a typing error", code: warranty.InvalidCredential, header: bearer,
			request: made("GET", list, key[:len(key)-1]+"!", nil)},
		{name: "an unknown token", code: warranty.InvalidCredential, header: bearer,
			request: made("GET", list, newSecret(t, warranty.TokenSecret), nil)},
		{name: "an unknown session", code: warranty.InvalidCredential, header: bearer,
			request: made("GET", list, newSecret(t, warranty.SessionSecret), nil)},
		{name: "a session as a key", code: warranty.InvalidCredential, header: bearer,
			request: made("GET", list, "", nil, "X-Api-Key", owner.Session)},
		{name: "another scheme", code: warranty.InvalidCredential, header: bearer,
			request: made("GET", list, "", nil, "Authorization", "Basic b2xnYTpwdw==")},
		{name: "a wrong password", code: warranty.InvalidCredential, header: bearer,
			request: signIn(owner.Email, passwordCanary)},
		{name: "an expired token", code: warranty.TokenExpired, header: bearer, request: made("GET", list, expired, nil)},
		{name: "a revoked token", code: warranty.TokenRevoked, header: bearer, request: made("GET", list, revoked, nil)},
		{name: "an ended session", code: warranty.SessionExpired, header: bearer,
			request: made("GET", list, ended.Session, nil)},

		{name: "a scope too few to read", code: warranty.InsufficientScope, detail: "warranties:read",
			request: made("GET", list, claimsOnly, nil)},
		{name: "a scope too few to write", code: warranty.InsufficientScope, detail: "warranties:write",
			request: made("DELETE", at(record), claimsOnly, nil)},
		{name: "a token that makes tokens", code: warranty.SessionRequired,
			request: made("POST", "/api/integration-tokens", key, fields{"name": "more", "scopes": []string{"claims:read"}})},
		{name: "a token that signs out", code: warranty.SessionRequired,
			request: made("DELETE", "/api/auth/sessions/current", key, nil)},
		{name: "a seller who updates", code: warranty.RoleNotAllowed, detail: "Only the issuer",
			request: made("PUT", at(record), seller.Session, fields{"product_name": "Mine"})},
		{name: "a seller who cancels", code: warranty.RoleNotAllowed,
			request: made("PUT", at(record), seller.Session, fields{"status": "cancelled"})},
		{name: "a seller who deletes", code: warranty.RoleNotAllowed,
			request: made("DELETE", at(record), seller.Session, nil)},

		{name: "an account of others", code: warranty.AccountNotAllowed,
			request: made("GET", list, stranger.Session, nil, "X-Account", shop.ID)},
		{name: "no account at all", code: warranty.AccountNotAllowed, request: made("GET", list, key, nil, "X-Account", "42")},
		{name: "the last admin who leaves", code: warranty.LastAdmin,
			request: made("DELETE", "/api/organizations/"+shop.ID+"/members/"+self.User.ID, boss.Session, nil)},
		{name: "an organization that stands behind a record", code: warranty.InUse,
			request: made("DELETE", "/api/organizations/"+shop.ID, boss.Session, nil)},

		{name: "an unknown id", code: warranty.NotFound, request: made("GET", list+"/"+unknownID, key, nil)},
		{name: "no id at all", code: warranty.NotFound, request: made("GET", list+"/42", key, nil)},
		{name: "another user's", code: warranty.NotFound, request: made("GET", at(record), stranger.Session, nil)},
		{name: "another user's, to update", code: warranty.NotFound,
			request: made("PUT", at(record), stranger.Session, fields{"status": "void"})},
		{name: "another user's, to delete", code: warranty.NotFound,
			request: made("DELETE", at(record), stranger.Session, nil)},
		{name: "no address", code: warranty.NotFound, request: made("GET", "/api/v1/nowhere", key, nil)},
		{name: "an address with a slash too many", code: warranty.NotFound, request: made("GET", list+"/", key, nil)},
		{name: "an unknown version", code: warranty.NotFound, request: made("GET", "/api/v2/warranties", key, nil)},
		{name: "a reference that nothing has", code: warranty.NotFound,
			request: made("GET", "/api/v1/verify/WR-0000-0000-0000-0000", key, nil)},

		{name: "a file that was lost", code: warranty.FileMissing,
			request: made("GET", "/api/documents/"+lost.ID+"/file", owner.Session, nil)},

		{name: "a wrong method", code: warranty.MethodNotAllowed, header: `Allow: ^GET, HEAD, PUT, DELETE$`,
			request: made("PATCH", at(record), key, fields{})},
		{name: "a wrong method without a body", code: warranty.MethodNotAllowed, header: `Allow: ^GET, HEAD, POST$`,
			request: made("DELETE", list, key, nil)},
		{name: "HTML wanted", code: warranty.NotAcceptable, request: made("GET", list, key, nil, "Accept", "text/html")},
		{name: "JSON not wanted", code: warranty.NotAcceptable, request: made("GET", list, key, nil, "Accept",
			"application/json;q=0, image/png")},

		{name: "one token too many", code: warranty.TokenLimitReached, detail: "20",
			request: made("POST", "/api/integration-tokens", full.Session,
				fields{"name": "more", "scopes": []string{"claims:read"}})},
		{name: "a cancelled one back to life", code: warranty.InvalidTransition, detail: "cancelled",
			request: made("PUT", at(cancelled), key, fields{"status": "active"})},
		{name: "a void one cancelled", code: warranty.InvalidTransition, detail: "active",
			request: made("PUT", at(void), key, fields{"status": "cancelled"})},
		{name: "a revoked token rotated", code: warranty.InvalidTransition, detail: "revoked",
			request: made("POST", "/api/integration-tokens/"+revokedID+"/rotate", owner.Session, nil)},
		{name: "an address that is taken", code: warranty.AlreadyExists,
			request: made("POST", "/api/auth/register", "", fields{"name": "O", "email": "OLGA@people.example",
				"password": passwordCanary})},
		{name: "a token name that is taken", code: warranty.AlreadyExists,
			request: made("POST", "/api/integration-tokens", owner.Session,
				fields{"name": "slow", "scopes": []string{"claims:read"}})},

		{name: "an old ETag", code: warranty.PreconditionFailed, request: made("PUT", at(void), key, fields{"category": "x"},
			"If-Match", `"1"`)},
		{name: "an old ETag, to delete", code: warranty.PreconditionFailed,
			request: made("DELETE", at(void), key, nil, "If-Match", `"1"`)},

		{name: "a version that was not seen", code: warranty.PreconditionRequired,
			request: made("POST", "/api/v1/confirmations/"+waiting.ID, seller.Session, fields{"decision": "confirm"})},

		{name: "too much", code: warranty.BodyTooLarge, detail: "1 MiB",
			request: create(`{"description": "` + strings.Repeat("x", 1<<20) + `"}`)},
		{name: "no JSON", code: warranty.UnsupportedMediaType, request: create(`{}`, "Content-Type", "text/plain")},
		{name: "a form", code: warranty.UnsupportedMediaType, request: create(`product_name=x`, "Content-Type",
			"application/x-www-form-urlencoded")},

		{name: "nothing that is needed", code: warranty.ValidationFailed,
			fields: []string{"product_name required", "start_date required", "end_date required"}, request: create(`{}`)},
		{name: "everything wrong at once", code: warranty.ValidationFailed,
			fields: []string{"start_date invalid", "status unknown_field", "product_name too_long", "end_date required",
				"category forbidden_character", "seller_email invalid_email"},
			request: create(fields{"status": "active", "start_date": "2026-02-30", "product_name": strings.Repeat("é", 201),
				"seller_email": "nobody", "category": "a\u202eb"})},
		{name: "an end before the start", code: warranty.ValidationFailed, fields: []string{"end_date before_start"},
			request: create(fields{"product_name": "x", "start_date": "2026-02-02", "end_date": "2026-02-01"})},
		{name: "a parameter that is not taken", code: warranty.ValidationFailed, fields: []string{"order unknown_parameter"},
			request: made("GET", list+"?order=name", key, nil)},
		{name: "a limit too high", code: warranty.ValidationFailed, fields: []string{"limit out_of_range"},
			request: made("GET", list+"?limit=101", key, nil)},
		{name: "a used code", code: warranty.ValidationFailed, fields: []string{"code invalid_code"},
			request: made("POST", "/api/auth/password-reset/confirm", "",
				fields{"code": "0000-0000", "password": passwordCanary})},
		{name: "a used key", code: warranty.IdempotencyKeyReused, request: create(other, "Idempotency-Key", "used")},

		{name: "a damaged row", code: warranty.Internal, request: signIn("nora@people.example", servertest.Password)},
		{name: "a panic", code: warranty.Internal, request: signIn("paul@people.example", servertest.Password)},
	}
}

// TestEveryCode provokes every error code and checks the whole response.
func TestEveryCode(t *testing.T) {
	t.Parallel()
	t.Run("sqlite", func(t *testing.T) { t.Parallel(); testEveryCode(t, servertest.SQLite, lockedSQLite) })
	t.Run("postgres", func(t *testing.T) { t.Parallel(); testEveryCode(t, servertest.Postgres, cutPostgres) })
}

func testEveryCode(t *testing.T, database func(testing.TB) string, broken func(*testing.T) (*world, []request)) {
	reached := map[warranty.Code]bool{}
	check := func(t *testing.T, w *world, r refusal) {
		t.Helper()
		w.Unchanged(t, r.name, func() {
			r.check(t, w, w.Do(r.request))
			reached[r.code] = true
		})
	}

	w := newWorld(t, database(t), func(s *server.Server) { s.Service.RateLimit = 1000 })
	for _, r := range refusals(t, w) {
		t.Run(r.name, func(t *testing.T) { check(t, w, r) })
	}

	t.Run("a busy network", func(t *testing.T) {
		w := newWorld(t, database(t), func(s *server.Server) { s.IPRate = 2 })
		for range 2 {
			refused(t, "within the limit", w.Get("/api/v1/warranties", ""), warranty.MissingCredential)
		}
		check(t, w, refusal{code: warranty.IPThrottled, header: `Retry-After: ^[1-9]\d?$`,
			request: made("GET", "/api/v1/warranties", "", nil)})
		check(t, w, refusal{code: warranty.IPThrottled, header: `Retry-After: ^[1-9]\d?$`,
			request: made("POST", "/api/auth/sessions", "", fields{})})
	})

	t.Run("an address that is not verified", func(t *testing.T) {
		w := newWorld(t, database(t), func(s *server.Server) { s.Service.RequireVerified = true })
		check(t, w, refusal{code: warranty.EmailNotVerified, detail: `verify-email/resend`,
			request: made("POST", "/api/integration-tokens", w.Person("Olga").Session,
				fields{"name": "x", "scopes": warranty.AllScopes})})
	})

	t.Run("no database", func(t *testing.T) {
		w, requests := broken(t)
		for _, r := range requests {
			check(t, w, refusal{name: r.Method + " " + r.Path, code: warranty.Unavailable, header: `Retry-After: ^[1-9]\d?$`,
				request: r})
		}
	})

	t.Run("required two-step sign-in", func(t *testing.T) {
		w := newWorld(t, database(t), func(s *server.Server) { s.Service.RequireTwoStep = service.TwoStepOfAll })
		check(t, w, refusal{code: warranty.TwoStepRequired, detail: "two-step sign-in",
			request: made("GET", "/api/v1/warranties", w.Person("Olga").Session, nil)})
	})

	t.Run("the last factor", func(t *testing.T) {
		lars := w.Verified("Lars")
		lars.Session = w.SignIn(lars.Email, lars.Password)
		var app warranty.NewTOTP
		w.Must(200, made("POST", "/api/account/totp", lars.Session, nil)).Into(t, &app)
		w.Must(200, made("POST", "/api/account/totp/confirm", lars.Session,
			fields{"code": servertest.TOTP(t, app.Secret, w.Service.Now())}))
		w.Must(200, made("PUT", "/api/account/security", lars.Session, fields{"two_step": true}))
		remove := made("DELETE", "/api/account/totp", lars.Session, nil)
		check(t, w, refusal{code: warranty.LastMethod, request: remove})
		w.Exec(`UPDATE sessions SET confirmed_at = 0`)
		check(t, w, refusal{code: warranty.ConfirmationRequired, request: remove})
	})

	t.Run("two-step sign-in", func(t *testing.T) {
		tessa := w.Verified("Tessa")
		w.Exec(`UPDATE users SET two_step_since = 1 WHERE email = '` + tessa.Email + `'`)
		begun := w.Do(made("POST", "/api/auth/sessions", "", fields{"email": tessa.Email, "password": tessa.Password}))
		var p warranty.Problem
		if err := json.Unmarshal([]byte(begun.Body), &p); err != nil {
			t.Fatal(err)
		}
		// Both count tries, so that the database changes.
		for _, r := range []struct {
			refusal
			answer servertest.Answer
		}{
			{refusal{code: warranty.SecondFactorRequired}, begun},
			{refusal{code: warranty.InvalidCode, fields: []string{"totp invalid_code"}},
				w.Do(made("POST", "/api/auth/sessions", "", fields{"flow": p.Flow, "totp": "123456"}))},
		} {
			r.check(t, w, r.answer)
			reached[r.code] = true
		}
	})

	t.Run("a deleted account", func(t *testing.T) {
		dora := w.Verified("Dora")
		w.Must(200, made("DELETE", "/api/account", dora.Session, fields{"email": dora.Email}))
		answer := w.Do(made("POST", "/api/auth/sessions", "", fields{"email": dora.Email, "password": dora.Password}))
		refusal{code: warranty.AccountIsDeleted}.check(t, w, answer)
		reached[warranty.AccountIsDeleted] = true
	})

	t.Run("the last way to sign in", func(t *testing.T) {
		vera := w.Verified("Vera")
		w.Exec(`UPDATE users SET password_hash = '', verified_at = NULL WHERE email = '` + vera.Email + `'`)
		id := w.Passkey(vera.Email)
		check(t, w, refusal{code: warranty.LastMethod, request: made("DELETE", "/api/account/passkeys/"+id, vera.Session, nil)})
	})

	later := []warranty.Code{ // of calls that do not exist yet
		warranty.SSORequired, warranty.IdentityInUse, warranty.BreakGlassRequired,
	}
	for _, info := range warranty.Codes() {
		if !reached[info.Code] && !slices.Contains(later, info.Code) {
			t.Errorf("the code %s was never reached", info.Code)
		}
	}
}

// check verifies everything that an error response must have.
func (r refusal) check(t testing.TB, w *world, a answer) {
	t.Helper()
	refused(t, r.name, a, r.code)
	p := problemOf(t, a)
	info := r.code.Info()
	wait, _ := strconv.ParseInt(a.Header.Get("Retry-After"), 10, 64) // absent when there is no wait
	begun := r.code == warranty.SecondFactorRequired || r.code == warranty.AccountIsDeleted
	if begun != (p.Flow != "") || begun != (p.FlowExpires != nil) || begun != (p.Methods != nil) {
		t.Errorf("%s: the second step is %q, %v, %v", r.name, p.Flow, p.FlowExpires, p.Methods)
	}
	p.Flow, p.FlowExpires, p.Methods = "", nil, nil
	equal(t, r.name+": the problem", p, warranty.Problem{Type: servertest.PublicURL + "/docs/errors#" + string(r.code),
		Title: info.Title, Status: info.Status,
		Code: r.code, Detail: p.Detail, Errors: p.Errors, RequestID: a.Header.Get("X-Request-Id"), RetryAfterSeconds: wait})
	if !regexp.MustCompile(cmpOr(r.detail, `.{10}`)).MatchString(p.Detail) {
		t.Errorf("%s: the detail does not match %q: %s", r.name, r.detail, p.Detail)
	}
	if r.code == warranty.ValidationFailed || r.code == warranty.InvalidCode {
		equal(t, r.name+": the wrong fields", wrongFields(t, a), r.fields)
	} else if len(p.Errors) > 0 {
		t.Errorf("%s: unexpected field errors: %v", r.name, p.Errors)
	}
	equal(t, r.name+": Content-Type", a.Header.Get("Content-Type"), "application/problem+json")
	apiHeaders(t, r.name, a)
	if name, pattern, ok := strings.Cut(r.header, ": "); ok &&
		!regexp.MustCompile(pattern).MatchString(a.Header.Get(name)) {
		t.Errorf("%s: header %s is %q, want %s", r.name, name, a.Header.Get(name), pattern)
	}
	for name, statuses := range map[string][]int{"Www-Authenticate": {401}, "Retry-After": {429, 503}, "Allow": {405}} {
		expected := false
		for _, status := range statuses {
			expected = expected || status == a.Status
		}
		if has := a.Header.Get(name) != ""; has != expected {
			t.Errorf("%s: header %s is %q", r.name, name, a.Header.Get(name))
		}
	}
	if r.code == warranty.Internal {
		logged := regexp.MustCompile(`"msg":"request failed"[^\n]*` + p.RequestID + `[^\n]*"code":"internal"`)
		if !logged.MatchString(w.Log.String()) {
			t.Errorf("%s: the log has no error for request %s", r.name, p.RequestID)
		}
		if regexp.MustCompile(`(?i)argon|hash|panic|goroutine|sql|\.go`).MatchString(a.Body) {
			t.Errorf("%s: the response shows internals: %s", r.name, a.Body)
		}
	}
}

func cmpOr(s, otherwise string) string {
	if s == "" {
		return otherwise
	}
	return s
}

// cutPostgres returns a world whose database is unreachable, and requests that need it.
func cutPostgres(t *testing.T) (*world, []request) {
	database := servertest.Postgres(t)
	cabled, cable := throughCable(t, database)
	w := newWorld(t, cabled)
	w.DB = servertest.Direct(t, database)
	owner := w.Person("Olga")
	key, _ := w.Token(owner)
	cable.cut()
	equal(t, "the process lives", w.Get("/healthz", "").Status, http.StatusOK)
	refused(t, "not ready", w.Get("/readyz", ""), warranty.Unavailable)
	return w, []request{
		made("GET", "/api/v1/warranties", key, nil),
		made("POST", "/api/v1/warranties", owner.Session, fields{}),
		made("POST", "/api/auth/sessions", "", fields{"email": owner.Email, "password": owner.Password}),
		made("POST", "/api/auth/register", "", fields{"name": "Zoe", "email": "zoe@people.example",
			"password": passwordCanary}),
	}
}

// lockedSQLite returns a world whose database file is locked, and a request that needs it.
func lockedSQLite(t *testing.T) (*world, []request) {
	w := newWorld(t, servertest.SQLite(t))
	owner := w.Person("Olga")
	lock(t, w)
	equal(t, "readers do not mind", w.Get("/api/v1/warranties", owner.Session).Status, http.StatusOK)
	return w, []request{made("POST", "/api/v1/warranties", owner.Session,
		fields{"product_name": "x", "start_date": "2026-01-01", "end_date": "2026-01-01"})}
}

// TestNotYoursLooksLikeNotThere compares, byte for byte, the responses for records
// that do not exist, are deleted, or belong to another user.
func TestNotYoursLooksLikeNotThere(t *testing.T) {
	servertest.Each(t, func(t *testing.T, w *world) {
		owner, stranger := w.Person("Olga"), w.Person("Zoe")
		theirs, deleted := w.Warranty(owner.Session, nil), w.Warranty(stranger.Session, nil)
		w.Must(204, made("DELETE", "/api/v1/warranties/"+deleted.ID, stranger.Session, nil))
		_, token := w.Token(owner)
		for _, c := range []struct {
			method, path string
			body         any
			ids          []string
		}{
			{"GET", "/api/v1/warranties/%s", nil, []string{theirs.ID, deleted.ID}},
			{"PUT", "/api/v1/warranties/%s", fields{"status": "void"}, []string{theirs.ID, deleted.ID}},
			{"DELETE", "/api/v1/warranties/%s", nil, []string{theirs.ID, deleted.ID}},
			{"GET", "/api/integration-tokens/%s", nil, []string{token}},
			{"DELETE", "/api/integration-tokens/%s", nil, []string{token}},
			{"POST", "/api/integration-tokens/%s/rotate", nil, []string{token}},
			{"GET", "/api/v1/claims?warranty_id=%s", nil, []string{theirs.ID, deleted.ID}},
			{"GET", "/api/v1/documents?warranty_id=%s", nil, []string{theirs.ID, deleted.ID}},
		} {
			missing := anonymised(t, w.Send(c.method, fmt.Sprintf(c.path, unknownID), stranger.Session, c.body))
			for _, id := range c.ids {
				w.Unchanged(t, c.method+" "+c.path, func() {
					got := anonymised(t, w.Send(c.method, fmt.Sprintf(c.path, id), stranger.Session, c.body))
					equal(t, c.method+" "+c.path, got, missing)
				})
			}
		}
	})
}

// cable is a proxy to a PostgreSQL server that tests can cut.
type cable struct {
	listener net.Listener
	mu       sync.Mutex
	open     []net.Conn
	isCut    bool
}

// throughCable returns a URL of the same database through a cable.
func throughCable(t *testing.T, database string) (string, *cable) {
	t.Helper()
	u, err := url.Parse(database)
	if err != nil {
		t.Fatal(err)
	}
	target := u.Host
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	c := &cable{listener: listener}
	t.Cleanup(c.cut)
	go func() {
		for {
			near, err := listener.Accept()
			if err != nil {
				return
			}
			far, err := net.Dial("tcp", target)
			if err != nil || !c.keep(near, far) {
				_ = near.Close() // the client sees the error
				continue
			}
			go pump(near, far)
			go pump(far, near)
		}
	}()
	u.Host = listener.Addr().String()
	return u.String(), c
}

func pump(to, from net.Conn) {
	_, _ = io.Copy(to, from) // ends when either side is closed
	_ = to.Close()
}

func (c *cable) keep(conns ...net.Conn) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.open = append(c.open, conns...)
	return !c.isCut
}

// cut closes every connection and accepts no new ones.
func (c *cable) cut() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.isCut = true
	_ = c.listener.Close()
	for _, conn := range c.open {
		_ = conn.Close()
	}
}
