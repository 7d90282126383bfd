package server_test

import (
	"context"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"warranty.example/svc/internal/server"
	"warranty.example/svc/internal/servertest"
	"warranty.example/svc/warranty"
)

func webWorld(t *testing.T, options ...option) *world {
	t.Helper()
	t.Parallel()
	return newWorld(t, servertest.SQLite(t), options...)
}

// leads fails unless the response redirects to an address.
func (p page) leads(t testing.TB, what, to string) {
	t.Helper()
	if p.Status != http.StatusSeeOther || p.Location != to {
		t.Errorf("%s: got %d to %q, want a redirect to %q: %s", what, p.Status, p.Location, to, p.main())
	}
}

// says fails unless the page has the status and contains all texts.
func (p page) says(t testing.TB, what string, status int, texts ...string) {
	t.Helper()
	if p.Status != status {
		t.Errorf("%s: got %d, want %d: %s", what, p.Status, status, p.main())
		return
	}
	line := strings.Join(strings.Fields(p.Body), " ")
	for _, text := range texts {
		if !strings.Contains(p.Body, text) && !strings.Contains(line, text) {
			t.Errorf("%s: the page does not contain %q: %s", what, text, p.main())
		}
	}
}

// hides fails if the page contains any of the texts.
func (p page) hides(t testing.TB, what string, texts ...string) {
	t.Helper()
	for _, text := range texts {
		if strings.Contains(p.Body, text) {
			t.Errorf("%s: the page contains %q", what, text)
		}
	}
}

// TestWebRegister creates an account and verifies its address.
func TestWebRegister(t *testing.T) {
	w := webWorld(t)
	b := w.browser(t)
	b.get("/register?next=%2Fclaims").says(t, "the form", 200, "Create an account", `value="/claims"`)

	wrong := b.post("/register", "name", "Ada <b>", "email", "no address", "password", passwordCanary[:5], "next", "//evil.example")
	wrong.says(t, "a wrong form", 422)
	equal(t, "the name typed", wrong.value("name"), "Ada <b>")
	equal(t, "the address typed", wrong.value("email"), "no address")
	equal(t, "the password typed", wrong.value("password"), "")
	equal(t, "where to go", wrong.value("next"), "/")
	if !strings.Contains(wrong.error("email"), "Must be an email address") || !strings.Contains(wrong.error("password"), "12 characters") || wrong.error("name") != "" {
		t.Errorf("the errors are %q, %q, %q", wrong.error("email"), wrong.error("password"), wrong.error("name"))
	}
	equal(t, "a cookie", b.cookie, "")

	b.post("/register", "name", "Ada", "email", "ada@people.example", "password", servertest.Password, "next", "/claims").leads(t, "registering", "/verify-email?next=%2Fclaims")
	if b.cookie == "" {
		t.Fatal("registering does not sign in")
	}
	b.get("/register?next=/claims").leads(t, "registering again", "/claims")
	b.get("/verify-email?next=%2Fclaims").says(t, "the code's form", 200, "ada@people.example", "Send a new code", `value="/claims"`)
	bad := b.post("/verify-email", "code", "0000-0000", "next", "/claims")
	bad.says(t, "a wrong code", 422)
	equal(t, "the code typed", bad.value("code"), "0000-0000")
	if !strings.Contains(bad.error("code"), "wrong") {
		t.Errorf("the error of the code is %q", bad.error("code"))
	}
	first := w.MailedCode("ada@people.example")
	b.post("/verify-email/resend", "next", "/claims").leads(t, "a new code", "/verify-email?done=mailed&next=%2Fclaims")
	second := w.MailedCode("ada@people.example")
	b.post("/verify-email", "code", first).says(t, "the first code", 422)
	b.get("/settings/profile").says(t, "before", 200, "Not verified", "Enter the code from the email")
	b.post("/verify-email", "code", strings.ToLower(strings.ReplaceAll(second, "-", " ")), "next", "/claims").leads(t, "the code", "/claims")
	b.get("/settings/profile").hides(t, "after", "Not verified", "Enter the code from the email")
	b.get("/verify-email").says(t, "once more", 200, "is verified")

	taken := w.browser(t).post("/register", "name", "Eve", "email", "ada@people.example", "password", servertest.Password)
	taken.says(t, "an address that is taken", 422, "already has an account", `role="alert"`)
	equal(t, "the address typed", taken.value("email"), "ada@people.example")
}

// TestWebVerifyNeedsASession opens the emailed link without a session: it leads to sign-in and back,
// because the code alone verifies nothing. Finding B1.
func TestWebVerifyNeedsASession(t *testing.T) {
	w := webWorld(t)
	p := w.Person("Olga")
	b := w.browser(t)
	b.get("/verify-email").leads(t, "the emailed link", "/sign-in?next=%2Fverify-email")
	b.post("/verify-email", "code", w.MailedCode(p.Email)).leads(t, "the code without a session", "/sign-in?done=signed_out&next=%2Fverify-email")
	if account, err := w.Store.AccountByEmail(t.Context(), p.Email); err != nil || account.EmailVerified {
		t.Errorf("verified without a session: %+v %v", account.User, err)
	}
	b.post("/sign-in", "email", p.Email, "password", p.Password, "next", "/verify-email").leads(t, "sign-in", "/verify-email")
	b.post("/verify-email", "code", w.MailedCode(p.Email)).leads(t, "the code", "/?done=verified")
	b = w.browser(t)
	b.post("/verify-email/resend").leads(t, "a new code without a session", "/sign-in?done=signed_out&next=%2Fverify-email")
	w.signedIn(t, p).post("/verify-email", "code", "").says(t, "no code", 422)
}

// TestWebSignupClosed registers while registration is closed.
func TestWebSignupClosed(t *testing.T) {
	w := webWorld(t, func(s *server.Server) { s.Service.SignupClosed = true })
	w.Person("First")
	got := w.browser(t).post("/register", "name", "Second", "email", "second@people.example", "password", servertest.Password)
	got.says(t, "registering", 422, "Sign-up is closed", `role="alert"`)
	equal(t, "the name typed", got.value("name"), "Second")
}

// TestWebResetPassword resets a password. The responses do not reveal whether an address has an
// account.
func TestWebResetPassword(t *testing.T) {
	w := webWorld(t)
	p := w.Verified("Olga")
	signedIn, b := w.signedIn(t, p), w.browser(t)
	b.get("/reset-password").says(t, "the form", 200, "I have a code")
	known, unknown := b.post("/reset-password", "email", p.Email), b.post("/reset-password", "email", "nobody@people.example")
	known.leads(t, "a known address", "/reset-password/confirm?done=mailed")
	unknown.leads(t, "an unknown address", "/reset-password/confirm?done=mailed")
	equal(t, "the responses", known.Body, unknown.Body)
	bad := b.post("/reset-password", "email", "no address")
	bad.says(t, "no address", 422)
	equal(t, "the address typed", bad.value("email"), "no address")
	b.get("/reset-password/confirm?done=mailed").says(t, "the code's form", 200, "If this address has an account")

	code := w.MailedCode(p.Email)
	short := b.post("/reset-password/confirm", "code", code, "password", "short")
	short.says(t, "a short password", 422)
	equal(t, "the code typed", short.value("code"), code)
	equal(t, "the password typed", short.value("password"), "")
	if !strings.Contains(short.error("password"), "12 characters") {
		t.Errorf("the error of the password is %q", short.error("password"))
	}
	b.post("/reset-password/confirm", "code", code, "password", passwordCanary).leads(t, "the code", "/sign-in?done=password")
	b.post("/reset-password/confirm", "code", code, "password", passwordCanary).says(t, "the code again", 422)
	signedIn.get("/settings/profile").leads(t, "a session from before", "/sign-in?next=%2Fsettings%2Fprofile")
	b.post("/sign-in", "email", p.Email, "password", p.Password).says(t, "the old password", 422, "Incorrect email address or password.")
	b.post("/sign-in", "email", p.Email, "password", passwordCanary, "next", "/claims").leads(t, "the new password", "/claims")
}

// TestWebProfile changes the name, the notifications and the password, and signs out everywhere.
func TestWebProfile(t *testing.T) {
	w := webWorld(t)
	p := w.Verified("Olga")
	b, elsewhere := w.signedIn(t, p), w.signedIn(t, p)
	form := b.get("/settings/profile")
	form.says(t, "the profile", 200, p.Email, "Verified", "/transfers/accept")
	equal(t, "the name", form.value("name"), "Olga")
	equal(t, "mails of claims", form.checked("mail_claims"), []string{"true"})

	b.post("/settings/profile", "name", "Olga <i>", "mail_warranty_end", "false", "mail_warranty_end", "true", "mail_claims", "false", "mail_token_expiry", "false").
		leads(t, "a change", "/settings/profile?done=saved")
	form = b.get("/settings/profile?done=saved")
	form.says(t, "after", 200, "Saved.", "Olga &lt;i&gt;")
	equal(t, "the name", form.value("name"), "Olga <i>")
	equal(t, "mails of ends", form.checked("mail_warranty_end"), []string{"true"})
	equal(t, "mails of claims", form.checked("mail_claims"), []string(nil))

	empty := b.post("/settings/profile", "name", " ", "mail_claims", "false", "mail_claims", "true")
	empty.says(t, "no name", 422)
	equal(t, "what was ticked", empty.checked("mail_claims"), []string{"true"})
	if empty.error("name") == "" {
		t.Error("the name has no error")
	}

	before := b.cookie
	wrong := b.post("/settings/profile/password", "current_password", "not it", "new_password", passwordCanary)
	wrong.says(t, "a wrong password", 422)
	wrong.hides(t, "a wrong password", passwordCanary, "not it\"")
	if !strings.Contains(wrong.error("current_password"), "is wrong") {
		t.Errorf("the error of the password is %q", wrong.error("current_password"))
	}
	equal(t, "the name beside it", wrong.value("name"), "Olga <i>")
	if got := b.post("/settings/profile/password", "current_password", p.Password, "new_password", "short").error("new_password"); !strings.Contains(got, "12 characters") {
		t.Errorf("the error of the new password is %q", got)
	}
	b.post("/settings/profile/password", "current_password", p.Password, "new_password", passwordCanary).leads(t, "a new password", "/settings/profile?done=password")
	if b.cookie == before {
		t.Error("the session did not change")
	}
	b.get("/settings/profile").says(t, "this browser", 200)
	elsewhere.get("/settings/profile").leads(t, "another browser", "/sign-in?next=%2Fsettings%2Fprofile")

	p.Password = passwordCanary
	elsewhere = w.signedIn(t, p)
	secret, _ := w.Token(servertest.Person{Session: w.signIn(p.Email, p.Password)})
	b.post("/settings/profile/sign-out-everywhere").leads(t, "signing out everywhere", "/sign-in")
	equal(t, "the cookie", b.cookie, "")
	elsewhere.get("/settings/profile").leads(t, "another browser", "/sign-in?next=%2Fsettings%2Fprofile")
	w.Must(200, made("GET", "/api/v1/auth/status", secret, nil))

	b = w.signedIn(t, p)
	old := b.cookie
	b.post("/sign-out").leads(t, "signing out", "/sign-in")
	b.cookie = old
	b.get("/settings/profile").leads(t, "the old cookie", "/sign-in?next=%2Fsettings%2Fprofile")
}

// TestWebTokens generates, uses, rotates and revokes a token.
func TestWebTokens(t *testing.T) {
	w := webWorld(t)
	p := w.Verified("Olga")
	b := w.signedIn(t, p)
	b.get("/settings").leads(t, "the settings", "/settings/api")
	b.get("/settings/api").says(t, "no token", 200, "0 of 20 active tokens", "No tokens yet", servertest.PublicURL+"/api/v1", servertest.PublicURL+"/api/mcp", "Codex")
	form := b.get("/settings/api/new")
	day := w.Clock.Now().UTC().AddDate(0, 0, 90).Format("2 Jan 2006")
	form.says(t, "the form", 200, "Expires on "+day)
	equal(t, "scopes proposed", form.checked("scopes"), []string{"warranties:read"})
	equal(t, "days proposed", form.checked("expires_in_days"), []string{"90"})
	equal(t, "limit proposed", form.value("rate_limit_per_minute"), "100")

	wrong := b.post("/settings/api/tokens", "name", " ", "expires_in_days", "30", "rate_limit_per_minute", "5000")
	wrong.says(t, "a wrong form", 422, "Choose at least one scope")
	equal(t, "days chosen", wrong.checked("expires_in_days"), []string{"30"})
	equal(t, "limit typed", wrong.value("rate_limit_per_minute"), "5000")
	if wrong.error("name") == "" || !strings.Contains(wrong.error("rate_limit_per_minute"), "1000") {
		t.Errorf("the errors are %q and %q", wrong.error("name"), wrong.error("rate_limit_per_minute"))
	}
	b.post("/settings/api/tokens", "name", "ERP", "scopes", "claims:read", "expires_in_days", "9999", "rate_limit_per_minute", "5").says(t, "a wrong end", 422, "Choose when the token expires.")

	send := []string{"name", "ERP <b>", "scopes", "warranties:read", "scopes", "claims:read", "expires_in_days", "7", "rate_limit_per_minute", "50", "expires_at", "2099-01-01T00:00:00Z"}
	shown := b.post("/settings/api/tokens", send...)
	secret := shown.text("secret")
	shown.says(t, "the secret", 200, "Copy your token now", "export SVC_API_KEY='"+secret+"'", "ERP &lt;b&gt;", "Waiting for the first request")
	if _, ok := warranty.ParseSecret(secret); !ok {
		t.Fatalf("the page shows no secret: %s", shown.Body)
	}
	again := b.post("/settings/api/tokens", send...)
	again.says(t, "the form again", 422, "its secret can&#39;t be shown again")
	again.hides(t, "the form again", secret)
	equal(t, "the name typed", again.value("name"), "ERP <b>")
	b.get("/settings/api/tokens").leads(t, "the address of the form", "/settings/api")

	var list []token
	w.Must(200, made("GET", tokens, w.signIn(p.Email, p.Password), nil)).Into(t, &list)
	equal(t, "number of tokens", len(list), 1)
	made1 := list[0]
	if left := made1.ExpiresAt.Sub(w.Clock.Now()); left < 7*24*time.Hour-time.Minute || left > 7*24*time.Hour+time.Minute {
		t.Errorf("the token expires in %v", left)
	}
	equal(t, "its scopes", made1.Scopes, []string{"warranties:read", "claims:read"})
	equal(t, "its limit", made1.RateLimitPerMinute, 50)

	first := "/settings/api/tokens/" + made1.ID + "/first?since=0"
	b.get(first).says(t, "before the first request", 200, "Waiting", "Check again")
	waiting := b.get(first, "HX-Request", "true")
	waiting.says(t, "the part", 200, `hx-trigger="every 2s"`)
	waiting.hides(t, "the part", "<html")
	b.get(first+"&tries=300", "HX-Request", "true").hides(t, "after ten minutes", "hx-trigger")
	w.Must(200, made("GET", "/api/v1/warranties?q=query-canary", secret, nil, "User-Agent", "canary-client/1"))
	owner := servertest.Person{Session: w.signIn(p.Email, p.Password)}
	w.recorded(t, owner, made1.ID, 1)
	received := b.get(first, "HX-Request", "true")
	received.says(t, "after the first request", 200, "✓ Received", "GET /api/v1/warranties", "canary-client/1")
	received.hides(t, "after the first request", "hx-trigger")
	b.get(fmt.Sprintf("/settings/api/tokens/%s/first?since=%d", made1.ID, w.Clock.Now().Add(time.Minute).UnixMicro())).says(t, "a use from before", 200, "Waiting")

	all := b.get("/settings/api?page=zero")
	all.says(t, "the tokens", 200, "1 of 20 active tokens", made1.Prefix+"…", "canary-client/1", "in 7 days", "1 request<", "just now")
	all.hides(t, "the tokens", secret, "query-canary")
	part := b.get("/settings/api", "HX-Request", "true")
	part.says(t, "the part of requests", 200, "canary-client/1")
	part.hides(t, "the part of requests", "<html")
	for _, path := range []string{"/settings/api/requests", "/settings/api/requests?token_id=" + made1.ID, "/settings/api/tokens/" + made1.ID} {
		got := b.get(path)
		got.says(t, path, 200, "canary-client/1", "GET /api/v1/warranties", "127.0.0.1")
		got.hides(t, path, "query-canary", secret)
	}

	old := made1.Prefix
	b.post("/settings/api/tokens/"+made1.ID+"/rotate", "prefix", old, "overlap_seconds", "7").says(t, "an odd overlap", 200) // any that the operation takes
	w.Must(200, made("GET", tokens+"/"+made1.ID, owner.Session, nil)).Into(t, &made1)
	b.post("/settings/api/tokens/"+made1.ID+"/rotate", "prefix", made1.Prefix, "overlap_seconds", "-1").says(t, "no overlap", 422, "between 0 and 86400")
	rotated := b.post("/settings/api/tokens/"+made1.ID+"/rotate", "prefix", made1.Prefix, "overlap_seconds", "3600")
	rotated.says(t, "rotating", 200, "Copy your token now", "works until")
	second := rotated.text("secret")
	w.Must(200, made("GET", "/api/v1/auth/status", second, nil))
	twice := b.post("/settings/api/tokens/"+made1.ID+"/rotate", "prefix", made1.Prefix, "overlap_seconds", "3600")
	twice.says(t, "rotating again by the same form", 422, "was rotated after")
	w.Must(200, made("GET", "/api/v1/auth/status", second, nil))
	b.get("/settings/api/tokens/"+made1.ID+"/rotate").leads(t, "the address of the form", "/settings/api/tokens/"+made1.ID)
	b.get("/settings/api/tokens/"+made1.ID).says(t, "the token", 200, "rotated a token", "generated a token")

	b.post("/settings/api/tokens/"+made1.ID+"/revoke").leads(t, "revoking", "/settings/api?done=revoked")
	refused(t, "the revoked token", w.get("/api/v1/auth/status", second), warranty.TokenRevoked)
	b.get("/settings/api?done=revoked").says(t, "after", 200, "0 of 20 active tokens", "Token revoked.", "Revoked")
	gone := b.get("/settings/api/tokens/" + made1.ID)
	gone.says(t, "the revoked token", 200, "Revoked")
	gone.hides(t, "the revoked token", "/revoke\"", "/rotate\"")
	b.post("/settings/api/tokens/"+made1.ID+"/rotate", "prefix", b.prefix(made1.ID, owner.Session), "overlap_seconds", "0").says(t, "rotating what is revoked", 422, "is revoked")
}

// prefix returns a token's current prefix.
func (b *browser) prefix(id, session string) string {
	var got token
	b.w.Must(200, made("GET", tokens+"/"+id, session, nil)).Into(b.t, &got)
	return got.Prefix
}

// TestWebTokensOfOthers opens every page of a token with another user's session.
func TestWebTokensOfOthers(t *testing.T) {
	w := webWorld(t)
	owner, other := w.Verified("Olga"), w.Verified("Zoe")
	secret, id := w.Token(owner)
	w.Must(200, made("GET", "/api/v1/auth/status", secret, nil, "User-Agent", "canary-client/1"))
	w.recorded(t, owner, id, 1)
	b := w.signedIn(t, other)
	for _, name := range []string{id, unknownID, "x", "%00"} {
		base := "/settings/api/tokens/" + name
		for _, path := range []string{base, base + "/first", base + "/rotate", "/settings/api/requests?token_id=" + name} {
			b.get(path).says(t, "GET "+path, 404, "Not found")
		}
		for _, path := range []string{base + "/rotate", base + "/revoke"} {
			b.post(path, "prefix", secret[:10]).says(t, "POST "+path, 404)
		}
	}
	for _, path := range []string{"/settings/api", "/settings/api/requests"} {
		b.get(path).hides(t, path, "canary-client", id)
	}
	w.Must(200, made("GET", "/api/v1/auth/status", secret, nil))
}

// TestWebTokensOfMany has the maximum of active tokens, and revoked ones.
func TestWebTokensOfMany(t *testing.T) {
	w := webWorld(t, busy)
	p := w.Verified("Olga")
	for i := range 30 {
		_, id := w.Token(p)
		if i < 10 {
			w.Must(204, made("DELETE", tokens+"/"+id, p.Session, nil))
		}
	}
	b := w.signedIn(t, p)
	b.get("/settings/api").says(t, "the first page", 200, "20 of 20 active tokens", "Page 1 of 2, 30 records", "/settings/api?page=2")
	b.get("/settings/api?page=2").says(t, "the second page", 200, "20 of 20 active tokens", "Revoked")
	full := b.post("/settings/api/tokens", "name", "One more", "scopes", "claims:read", "expires_in_days", "7", "rate_limit_per_minute", "5")
	full.says(t, "one more", 422, "reached the limit of", `role="alert"`)
	equal(t, "the name typed", full.value("name"), "One more")
	w.Clock.Advance(366 * 24 * time.Hour)
	b = w.signedIn(t, p)
	b.get("/settings/api").says(t, "a year later", 200, "0 of 20 active tokens", "Expired")
}

// private are pages of the settings that need a session, and forms are the forms that do.
var (
	private = []string{"/verify-email", "/settings", "/settings/profile", "/settings/api", "/settings/api/new", "/settings/api/tokens", "/settings/api/tokens/" + unknownID,
		"/settings/api/tokens/" + unknownID + "/first", "/settings/api/tokens/" + unknownID + "/rotate", "/settings/api/requests", "/settings/api/requests?page=2"}
	forms = []string{"/verify-email", "/verify-email/resend", "/settings/profile/restore", "/sign-out", "/settings/profile", "/settings/profile/password", "/settings/profile/sign-out-everywhere", "/settings/api/tokens",
		"/settings/api/tokens/" + unknownID + "/rotate", "/settings/api/tokens/" + unknownID + "/revoke"}
	openForms = []string{"/sign-in", "/sign-in/code", "/register", "/reset-password", "/reset-password/confirm"}
)

// TestWebNeedsSignIn opens pages without a valid session: they lead to sign-in and back.
func TestWebNeedsSignIn(t *testing.T) {
	w := webWorld(t)
	p := w.Verified("Olga")
	secret, _ := w.Token(p)
	for _, cookie := range []string{"", "__Host-svc_session=", "__Host-svc_session=nonsense", "__Host-svc_session=" + newSecret(t, warranty.SessionSecret), "__Host-svc_session=" + secret, "svc_session=" + p.Session} {
		for _, path := range private {
			b := w.browser(t)
			b.cookie = cookie
			b.get(path).leads(t, path, "/sign-in?next="+url.QueryEscape(path))
		}
		for _, path := range forms {
			b := w.browser(t)
			b.cookie = cookie
			w.unchanged(t, path, func() {
				if got := b.post(path); got.Status != http.StatusUnauthorized && !strings.HasPrefix(got.Location, "/sign-in?") {
					t.Errorf("%s: got %d to %q", path, got.Status, got.Location)
				}
			})
		}
	}
	for _, path := range append(openForms, "/sign-in?done=nonsense", "/sign-in?done=<b>") {
		w.browser(t).get(path).says(t, path, 200)
	}
	// The API does not accept the cookie.
	b := w.signedIn(t, p)
	refused(t, "a cookie on the API", w.get("/api/v1/warranties", "", "Cookie", b.cookie), warranty.MissingCredential)
}

// TestWebCrossSite sends every form from another site.
func TestWebCrossSite(t *testing.T) {
	w := webWorld(t)
	p := w.Verified("Olga")
	b := w.signedIn(t, p)
	for _, path := range append(append([]string{}, forms...), openForms...) {
		for _, headers := range [][]string{{"Sec-Fetch-Site", "cross-site"}, {"Sec-Fetch-Site", "same-site"}, {"Origin", "https://evil.example"}, {"Origin", "null"}} {
			w.unchanged(t, path, func() {
				got := b.send("POST", path, url.Values{"email": {p.Email}, "password": {p.Password}, "name": {"x"}, "scopes": {"claims:read"}, "expires_in_days": {"7"}, "rate_limit_per_minute": {"1"}}, headers...)
				if got.Status != http.StatusForbidden {
					t.Errorf("%s with %v: got %d", path, headers, got.Status)
				}
			})
		}
	}
	b.get("/settings/profile", "Sec-Fetch-Site", "cross-site").says(t, "a link from elsewhere", 200)
}

// TestWebOpenRedirects signs in with next addresses on other sites.
func TestWebOpenRedirects(t *testing.T) {
	w := webWorld(t)
	p := w.Verified("Olga")
	evil := []string{"//evil.example", "/\\evil.example", "\\\\evil.example", "https://evil.example", "http:evil.example", "/\t/evil.example", "/\n/evil.example", "///evil.example", "evil.example",
		"javascript:alert(1)", " //evil.example", "//evil.example/%2f..", "/%0d%0aSet-Cookie:x=y//", "https:///evil.example", "//user@evil.example", "\x00//evil.example", "/..//evil.example", ".//evil.example"}
	for _, next := range evil {
		for _, path := range []string{"/sign-in", "/register"} {
			w.browser(t).get(path+"?next="+url.QueryEscape(next)).hides(t, path, `value="//`, `value="http`, `value="javascript`)
		}
		got := w.browser(t).post("/sign-in", "email", p.Email, "password", p.Password, "next", next)
		if u, err := url.Parse(got.Location); err != nil || got.Status != 303 || u.Host != "" || u.Scheme != "" || !strings.HasPrefix(got.Location, "/") || strings.HasPrefix(got.Location, "//") || strings.ContainsAny(got.Location, "\\\r\n\t") {
			t.Errorf("%q leads to %q with %d", next, got.Location, got.Status)
		}
	}
	for _, next := range []string{"/claims?status=approved&page=2", "/settings/api", "/"} {
		w.browser(t).post("/sign-in", "email", p.Email, "password", p.Password, "next", next).leads(t, next, next)
	}
}

// TestWebCookieOnPlainHTTP sets cookies without Secure over plain HTTP, where browsers would drop them.
func TestWebCookieOnPlainHTTP(t *testing.T) {
	w := webWorld(t, func(s *server.Server) {
		s.PublicURL, s.Service.PublicURL = "http://warranty.lan:8080", "http://warranty.lan:8080"
	})
	req, err := http.NewRequest("POST", w.HTTP.URL+"/register", strings.NewReader(url.Values{"name": {"Ada"}, "email": {"ada@people.example"}, "password": {servertest.Password}}.Encode()))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	resp, err := http.DefaultTransport.RoundTrip(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	var names []string
	for _, c := range resp.Cookies() {
		if names = append(names, c.Name); c.Secure || !c.HttpOnly || c.SameSite != http.SameSiteLaxMode {
			t.Errorf("the response %d has the cookie %s", resp.StatusCode, c.Name)
		}
	}
	equal(t, "the cookies", names, []string{"svc_session", "svc_device"})
}

// TestSignOutEverywhere ends all sessions of one user, and no other's.
func TestSignOutEverywhere(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		p, other := w.Person("Olga"), w.Person("Zoe")
		second := w.signIn(p.Email, p.Password)
		who, err := w.Service.Authenticate(context.Background(), p.Session, false)
		if err != nil {
			t.Fatal(err)
		}
		if err := w.Service.SignOutEverywhere(context.Background(), who); err != nil {
			t.Fatal(err)
		}
		w.alive(t, "the session that asked", p.Session, false)
		w.alive(t, "another session", second, false)
		w.alive(t, "another user's session", other.Session, true)
		if err := w.Service.SignOutEverywhere(context.Background(), who); warranty.AsError(err).Code != warranty.SessionExpired {
			t.Errorf("an ended session can sign out everywhere: %v", err)
		}
	})
}
