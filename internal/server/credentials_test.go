package server_test

import (
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"warranty.example/svc/api"
	"warranty.example/svc/warranty"
)

// TestCredentialForms sends credentials in every accepted and rejected place.
func TestCredentialForms(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		owner := w.Person("Olga")
		token, _ := w.Token(owner)
		second, _ := w.Token(owner)
		session := owner.Session
		for _, c := range []struct {
			name    string
			headers http.Header
			query   string
			status  int
			code    warranty.Code
		}{
			{name: "token as key", headers: http.Header{"X-Api-Key": {token}}, status: 200},
			{name: "token as Bearer", headers: http.Header{"Authorization": {"Bearer " + token}}, status: 200},
			{name: "token as bearer", headers: http.Header{"Authorization": {"bearer  " + token + " "}}, status: 200},
			{name: "token as both", headers: http.Header{"X-Api-Key": {token}, "Authorization": {"Bearer " + token}}, status: 200},
			{name: "token with an empty key", headers: http.Header{"X-Api-Key": {""}, "Authorization": {"Bearer " + token}}, status: 200},
			{name: "session as Bearer", headers: http.Header{"Authorization": {"Bearer " + session}}, status: 200},

			{name: "session as key", headers: http.Header{"X-Api-Key": {session}}, status: 401, code: warranty.InvalidCredential},
			{name: "session as both", headers: http.Header{"X-Api-Key": {session}, "Authorization": {"Bearer " + session}}, status: 401, code: warranty.InvalidCredential},
			{name: "an empty key", headers: http.Header{"X-Api-Key": {""}}, status: 401, code: warranty.MissingCredential},
			{name: "an empty Bearer", headers: http.Header{"Authorization": {"Bearer "}}, status: 401, code: warranty.InvalidCredential},
			{name: "without a scheme", headers: http.Header{"Authorization": {token}}, status: 401, code: warranty.InvalidCredential},
			{name: "another scheme", headers: http.Header{"Authorization": {"Token " + token}}, status: 401, code: warranty.InvalidCredential},
			{name: "a good key beside another scheme", headers: http.Header{"X-Api-Key": {token}, "Authorization": {"Basic b2xnYTpwdw=="}}, status: 401, code: warranty.InvalidCredential},
			{name: "other case", headers: http.Header{"X-Api-Key": {strings.ToUpper(token)}}, status: 401, code: warranty.InvalidCredential},
			{name: "cut off", headers: http.Header{"X-Api-Key": {token[:len(token)-1]}}, status: 401, code: warranty.InvalidCredential},
			{name: "the prefix alone", headers: http.Header{"X-Api-Key": {token[:10]}}, status: 401, code: warranty.InvalidCredential},
			{name: "token with the session's prefix", headers: http.Header{"Authorization": {"Bearer svs_" + token[4:]}}, status: 401, code: warranty.InvalidCredential},

			{name: "two tokens", headers: http.Header{"X-Api-Key": {token, second}}, status: 400, code: warranty.MalformedRequest},
			{name: "token and session", headers: http.Header{"X-Api-Key": {token}, "Authorization": {"Bearer " + session}}, status: 400, code: warranty.MalformedRequest},
			{name: "token and another token", headers: http.Header{"X-Api-Key": {token}, "Authorization": {"Bearer " + second}}, status: 400, code: warranty.MalformedRequest},
			{name: "a good and a bad one", headers: http.Header{"X-Api-Key": {token}, "Authorization": {"Bearer nonsense"}}, status: 400, code: warranty.MalformedRequest},

			{name: "cookies", headers: http.Header{"Cookie": {"session=" + session + "; __Host-session=" + session + "; token=" + token + "; x-api-key=" + token}}, status: 401, code: warranty.MissingCredential},
			{name: "other headers", headers: http.Header{"Api-Key": {token}, "X-Auth-Token": {token}, "Proxy-Authorization": {"Bearer " + token}}, status: 401, code: warranty.MissingCredential},
			{name: "in the address", query: "?api_key=" + token + "&token=" + token + "&access_token=" + session + "&x-api-key=" + token, status: 401, code: warranty.MissingCredential},
			{name: "in the address too", headers: http.Header{"X-Api-Key": {token}}, query: "?access_token=" + session, status: 400, code: warranty.MalformedRequest},
		} {
			req, err := http.NewRequest("GET", w.HTTP.URL+"/api/v1/warranties"+c.query, nil)
			if err != nil {
				t.Fatal(err)
			}
			for name, values := range c.headers {
				req.Header[name] = values
			}
			want(t, c.name, w.RoundTrip(req), c.status, c.code)
		}
		for _, name := range []string{"api_key", "apikey", "API_KEY", "key", "token", "access_token", "x-api-key"} {
			refused(t, name+" in the address", w.Get("/api/v1/warranties?"+name+"="+second, token), warranty.MalformedRequest)
		}
	})
}

// TestAuthStatus checks what a credential reads about itself.
func TestAuthStatus(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		owner := w.Verified("Olga")
		secret := w.NewToken(owner, fields{"name": "ERP", "scopes": []string{"documents:read", "claims:read"}, "rate_limit_per_minute": 7, "expires_at": "2027-01-31T12:00:00+01:00"}).Secret
		type status struct {
			User struct {
				Email         string
				EmailVerified bool `json:"email_verified"`
			}
			Credential         string
			Token              *struct{ Name string }
			Scopes             []string
			RateLimitPerMinute int       `json:"rate_limit_per_minute"`
			ExpiresAt          time.Time `json:"expires_at"`
		}
		var got status
		w.Must(200, made("GET", "/api/v1/auth/status", secret, nil)).Into(t, &got)
		if got.User.Email != owner.Email || !got.User.EmailVerified || got.Credential != "token" || got.Token == nil || got.Token.Name != "ERP" ||
			!slices.Equal(got.Scopes, []string{"claims:read", "documents:read"}) || got.RateLimitPerMinute != 7 || got.ExpiresAt.Format(time.RFC3339) != "2027-01-31T11:00:00Z" {
			t.Errorf("a token got %+v", got)
		}
		got = status{}
		w.Must(200, made("GET", "/api/v1/auth/status", owner.Session, nil)).Into(t, &got)
		if got.Credential != "session" || got.Token != nil || len(got.Scopes) != 4 || got.RateLimitPerMinute != 100 || got.ExpiresAt.Sub(w.Clock.Now()).Round(time.Minute) != 12*time.Hour {
			t.Errorf("a session got %+v", got)
		}
	})
}

// TestScopesGrantWhatTheInterfaceSays tries every operation with a token of each single
// scope. The matrix in internal/service pins the scope of each operation.
func TestScopesGrantWhatTheInterfaceSays(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		owner := w.Person("Olga")
		for _, scope := range warranty.AllScopes {
			token, _ := w.Token(owner, scope)
			record := w.Warranty(owner.Session, nil)
			replace := strings.NewReplacer("/warranties/{id}", "/warranties/"+record.ID, "{reference}", record.ReferenceNumber, "{id}", unknownID)
			for _, op := range api.Operations() {
				if op.Auth == api.Public {
					continue
				}
				r := made(op.Method, replace.Replace(op.Route()), token, nil)
				if op.HasBody() {
					r.Body = fields{}
				}
				may := op.Auth == api.Credential && (op.Scope == scope || op.Scope == "")
				what := string(scope) + " on " + op.Name
				if may {
					if a := w.Do(r); a.Status == 401 || a.Status == 403 {
						t.Errorf("%s: refused with %d %s", what, a.Status, a.Code())
					}
					continue
				}
				w.Unchanged(t, what, func() {
					a := w.Do(r)
					if op.Auth == api.SessionOnly {
						refused(t, what, a, warranty.SessionRequired)
						return
					}
					refused(t, what, a, warranty.InsufficientScope)
					if !strings.Contains(problemOf(t, a).Detail, string(op.Scope)) {
						t.Errorf("%s: %q does not name %s", what, problemOf(t, a).Detail, op.Scope)
					}
				})
			}
		}
	}, busy)
}

// TestNothingWithoutACredential calls every operation without a credential.
func TestNothingWithoutACredential(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		for _, op := range api.Operations() {
			if op.Auth != api.Public {
				refused(t, op.Name, w.Send(op.Method, somewhere(op.Route()), "", nil), warranty.MissingCredential)
			}
		}
	})
}
