package web_test

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

// TestWebRegister creates an account and verifies its address.
func TestWebRegister(t *testing.T) {
	w := webWorld(t)
	b := w.Browser(t)
	b.Get("/register?next=%2Fclaims").Says(t, "the form", 200, "Create an account", `value="/claims"`)

	wrong := b.Post("/register", "name", "Ada <b>", "email", "no address", "password", passwordCanary[:5], "next", "//evil.example")
	wrong.Says(t, "a wrong form", 422)
	equal(t, "the name typed", wrong.Value("name"), "Ada <b>")
	equal(t, "the address typed", wrong.Value("email"), "no address")
	equal(t, "the password typed", wrong.Value("password"), "")
	equal(t, "where to go", wrong.Value("next"), "/")
	if !strings.Contains(wrong.Error("email"), "Must be an email address") || !strings.Contains(wrong.Error("password"), "12 characters") || wrong.Error("name") != "" {
		t.Errorf("the errors are %q, %q, %q", wrong.Error("email"), wrong.Error("password"), wrong.Error("name"))
	}
	equal(t, "a cookie", b.Cookie, "")

	b.Post("/register", "name", "Ada", "email", "ada@people.example", "password", servertest.Password, "next", "/claims").Leads(t, "registering", "/verify-email?next=%2Fclaims")
	if b.Cookie == "" {
		t.Fatal("registering does not sign in")
	}
	b.Get("/register?next=/claims").Leads(t, "registering again", "/claims")
	b.Get("/verify-email?next=%2Fclaims").Says(t, "the code's form", 200, "ada@people.example", "Send a new code", `value="/claims"`)
	bad := b.Post("/verify-email", "code", "0000-0000", "next", "/claims")
	bad.Says(t, "a wrong code", 422)
	equal(t, "the code typed", bad.Value("code"), "0000-0000")
	if !strings.Contains(bad.Error("code"), "wrong") {
		t.Errorf("the error of the code is %q", bad.Error("code"))
	}
	first := w.MailedCode("ada@people.example")
	b.Post("/verify-email/resend", "next", "/claims").Leads(t, "a new code", "/verify-email?done=mailed&next=%2Fclaims")
	second := w.MailedCode("ada@people.example")
	b.Post("/verify-email", "code", first).Says(t, "the first code", 422)
	b.Get("/settings/profile").Says(t, "before", 200, "Not verified", "Enter the code from the email")
	b.Post("/verify-email", "code", strings.ToLower(strings.ReplaceAll(second, "-", " ")), "next", "/claims").Leads(t, "the code", "/claims")
	b.Get("/settings/profile").Hides(t, "after", "Not verified", "Enter the code from the email")
	b.Get("/verify-email").Says(t, "once more", 200, "is verified")

	taken := w.Browser(t).Post("/register", "name", "Eve", "email", "ada@people.example", "password", servertest.Password)
	taken.Says(t, "an address that is taken", 422, "already has an account", `role="alert"`)
	equal(t, "the address typed", taken.Value("email"), "ada@people.example")
}

// TestWebVerifyNeedsASession opens the emailed link without a session: it leads to sign-in and back,
// because the code alone verifies nothing. Finding B1.
func TestWebVerifyNeedsASession(t *testing.T) {
	w := webWorld(t)
	p := w.Person("Olga")
	b := w.Browser(t)
	b.Get("/verify-email").Leads(t, "the emailed link", "/sign-in?next=%2Fverify-email")
	b.Post("/verify-email", "code", w.MailedCode(p.Email)).Leads(t, "the code without a session", "/sign-in?done=signed_out&next=%2Fverify-email")
	if account, err := w.Store.AccountByEmail(t.Context(), p.Email); err != nil || account.EmailVerified {
		t.Errorf("verified without a session: %+v %v", account.User, err)
	}
	b.Post("/sign-in", "email", p.Email, "password", p.Password, "next", "/verify-email").Leads(t, "sign-in", "/verify-email")
	b.Post("/verify-email", "code", w.MailedCode(p.Email)).Leads(t, "the code", "/?done=verified")
	b = w.Browser(t)
	b.Post("/verify-email/resend").Leads(t, "a new code without a session", "/sign-in?done=signed_out&next=%2Fverify-email")
	w.SignedIn(t, p).Post("/verify-email", "code", "").Says(t, "no code", 422)
}

// TestWebSignupClosed registers while registration is closed.
func TestWebSignupClosed(t *testing.T) {
	w := webWorld(t, func(s *server.Server) { s.Service.SignupClosed = true })
	got := w.Browser(t).Post("/register", "name", "Second", "email", "second@people.example", "password", servertest.Password)
	got.Says(t, "registering", 422, "Sign-up is closed", `role="alert"`)
	equal(t, "the name typed", got.Value("name"), "Second")
}

// TestWebResetPassword resets a password. The responses do not reveal whether an address has an
// account.
func TestWebResetPassword(t *testing.T) {
	w := webWorld(t)
	p := w.Verified("Olga")
	signedIn, b := w.SignedIn(t, p), w.Browser(t)
	b.Get("/reset-password").Says(t, "the form", 200, "I have a code")
	known, unknown := b.Post("/reset-password", "email", p.Email), b.Post("/reset-password", "email", "nobody@people.example")
	known.Leads(t, "a known address", "/reset-password/confirm?done=mailed")
	unknown.Leads(t, "an unknown address", "/reset-password/confirm?done=mailed")
	equal(t, "the responses", known.Body, unknown.Body)
	bad := b.Post("/reset-password", "email", "no address")
	bad.Says(t, "no address", 422)
	equal(t, "the address typed", bad.Value("email"), "no address")
	b.Get("/reset-password/confirm?done=mailed").Says(t, "the code's form", 200, "If this address has an account")

	code := w.MailedCode(p.Email)
	short := b.Post("/reset-password/confirm", "code", code, "password", "short")
	short.Says(t, "a short password", 422)
	equal(t, "the code typed", short.Value("code"), code)
	equal(t, "the password typed", short.Value("password"), "")
	if !strings.Contains(short.Error("password"), "12 characters") {
		t.Errorf("the error of the password is %q", short.Error("password"))
	}
	b.Post("/reset-password/confirm", "code", code, "password", passwordCanary).Leads(t, "the code", "/sign-in?done=password")
	b.Post("/reset-password/confirm", "code", code, "password", passwordCanary).Says(t, "the code again", 422)
	signedIn.Get("/settings/profile").Leads(t, "a session from before", "/sign-in?next=%2Fsettings%2Fprofile")
	b.Post("/sign-in", "email", p.Email, "password", p.Password).Says(t, "the old password", 422, "Incorrect email address or password.")
	b.Post("/sign-in", "email", p.Email, "password", passwordCanary, "next", "/claims").Leads(t, "the new password", "/claims")
}

// TestResetKeepsWhereThePersonCameFrom resets a password on the way to a page: by the forms, by the link in the email, and
// with addresses of other sites, which lead nowhere.
func TestResetKeepsWhereThePersonCameFrom(t *testing.T) {
	w := webWorld(t)
	p := w.Verified("Olga")
	const page, query = "/oauth/authorize?client_id=a&state=x%3By%2Cz", "next=%2Foauth%2Fauthorize%3Fclient_id%3Da%26state%3Dx%253By%252Cz"
	b := w.Browser(t)
	b.Get("/sign-in?"+query).Says(t, "signing in", 200, `href="/reset-password?`)
	form := b.Get("/reset-password?" + query)
	equal(t, "the form", form.Value("next"), page)
	b.Post("/reset-password", "email", "no address", "next", page).Says(t, "again", 422, `name="next" value="/oauth/authorize?`)
	b.Post("/reset-password", "email", p.Email, "next", page).Leads(t, "asking", "/reset-password/confirm?done=mailed&"+query)
	code := w.MailedCode(p.Email)
	equal(t, "the link in the email", b.Get("/reset-password/confirm").Value("next"), page)
	equal(t, "the link in another browser", w.Browser(t).Get("/reset-password/confirm").Value("next"), "/")
	b.Post("/reset-password/confirm", "code", code, "password", passwordCanary, "next", page).
		Leads(t, "resetting", "/sign-in?done=password&"+query)
	equal(t, "the cookie afterwards", b.Next, "")
	b.Post("/sign-in", "email", p.Email, "password", passwordCanary, "next", page).Leads(t, "signed in", page)

	for _, evil := range []string{"https://evil.example/", "//evil.example", `/\evil.example`, "javascript:alert(1)", "/\t/evil.example"} {
		b := w.Browser(t)
		equal(t, evil, b.Get("/reset-password?"+url.Values{"next": {evil}}.Encode()).Value("next"), "/")
		b.Post("/reset-password", "email", "nobody@people.example", "next", evil).Leads(t, evil, "/reset-password/confirm?done=mailed")
		equal(t, evil+": cookie", b.Next, "")
		b.Next = "__Host-svc_next=" + url.QueryEscape(evil)
		equal(t, evil+": planted", b.Get("/reset-password/confirm").Value("next"), "/")
	}
	b.Post("/reset-password", "email", "nobody@people.example", "next", "/"+strings.Repeat("x", 4000))
	equal(t, "a cookie that is too large", b.Next, "")
}

// TestWebProfile changes the name and the password, and signs out everywhere.
func TestWebProfile(t *testing.T) {
	w := webWorld(t)
	p := w.Verified("Olga")
	b, elsewhere := w.SignedIn(t, p), w.SignedIn(t, p)
	form := b.Get("/settings/profile")
	form.Says(t, "the profile", 200, p.Email, "Verified", "/take")
	equal(t, "the name", form.Value("name"), "Olga")

	b.Post("/settings/profile", "name", "Olga <i>").Leads(t, "a change", "/settings/profile?done=saved")
	form = b.Get("/settings/profile?done=saved")
	form.Says(t, "after", 200, "Saved.", "Olga &lt;i&gt;")
	equal(t, "the name", form.Value("name"), "Olga <i>")

	empty := b.Post("/settings/profile", "name", " ")
	empty.Says(t, "no name", 422)
	if empty.Error("name") == "" {
		t.Error("the name has no error")
	}

	before := b.Cookie
	wrong := b.Post("/settings/security/password", "current_password", "not it", "new_password", passwordCanary)
	wrong.Says(t, "a wrong password", 422)
	wrong.Hides(t, "a wrong password", passwordCanary, "not it\"")
	if !strings.Contains(wrong.Error("current_password"), "is wrong") {
		t.Errorf("the error of the password is %q", wrong.Error("current_password"))
	}
	if got := b.Post("/settings/security/password", "current_password", p.Password, "new_password", "short").Error("new_password"); !strings.Contains(got, "12 characters") {
		t.Errorf("the error of the new password is %q", got)
	}
	b.Post("/settings/security/password", "current_password", p.Password, "new_password", passwordCanary).Leads(t, "a new password", "/settings/security?done=password")
	if b.Cookie == before {
		t.Error("the session did not change")
	}
	b.Get("/settings/profile").Says(t, "this browser", 200)
	elsewhere.Get("/settings/profile").Leads(t, "another browser", "/sign-in?next=%2Fsettings%2Fprofile")

	p.Password = passwordCanary
	elsewhere = w.SignedIn(t, p)
	secret, _ := w.Token(servertest.Person{Session: w.SignIn(p.Email, p.Password)})
	b.Post("/settings/security/sign-out-everywhere").Leads(t, "signing out everywhere", "/sign-in")
	equal(t, "the cookie", b.Cookie, "")
	elsewhere.Get("/settings/profile").Leads(t, "another browser", "/sign-in?next=%2Fsettings%2Fprofile")
	w.Must(200, made("GET", "/api/v1/auth/status", secret, nil))

	b = w.SignedIn(t, p)
	old := b.Cookie
	b.Post("/sign-out").Leads(t, "signing out", "/sign-in")
	b.Cookie = old
	b.Get("/settings/profile").Leads(t, "the old cookie", "/sign-in?next=%2Fsettings%2Fprofile")
}

// TestWebTokens generates, uses, rotates and revokes a token.
func TestWebTokens(t *testing.T) {
	w := webWorld(t)
	p := w.Verified("Olga")
	b := w.SignedIn(t, p)
	b.Get("/settings").Leads(t, "the settings", "/settings/profile")
	b.Get("/settings/api").Says(t, "no token", 200, "0 of 20 active tokens", "No tokens yet", servertest.PublicURL+"/api/v1", servertest.PublicURL+"/api/mcp", "Codex")
	form := b.Get("/settings/api/new")
	day := w.Clock.Now().UTC().AddDate(0, 0, 90).Format("2 Jan 2006")
	form.Says(t, "the form", 200, "Expires on "+day)
	equal(t, "scopes proposed", form.Checked("scopes"), []string{"warranties:read"})
	equal(t, "days proposed", form.Checked("expires_in_days"), []string{"90"})
	equal(t, "limit proposed", form.Value("rate_limit_per_minute"), "100")

	wrong := b.Post("/settings/api/tokens", "name", " ", "expires_in_days", "30", "rate_limit_per_minute", "5000")
	wrong.Says(t, "a wrong form", 422, "Choose at least one scope")
	equal(t, "days chosen", wrong.Checked("expires_in_days"), []string{"30"})
	equal(t, "limit typed", wrong.Value("rate_limit_per_minute"), "5000")
	if wrong.Error("name") == "" || !strings.Contains(wrong.Error("rate_limit_per_minute"), "1000") {
		t.Errorf("the errors are %q and %q", wrong.Error("name"), wrong.Error("rate_limit_per_minute"))
	}
	b.Post("/settings/api/tokens", "name", "ERP", "scopes", "claims:read", "expires_in_days", "9999", "rate_limit_per_minute", "5").Says(t, "a wrong end", 422, "Choose when the token expires.")

	send := []string{"name", "ERP <b>", "scopes", "warranties:read", "scopes", "claims:read", "expires_in_days", "7", "rate_limit_per_minute", "50", "expires_at", "2099-01-01T00:00:00Z"}
	shown := b.Post("/settings/api/tokens", send...)
	secret := shown.Text("secret")
	shown.Says(t, "the secret", 200, "Copy your token now", "export SVC_API_KEY='"+secret+"'", "ERP &lt;b&gt;", "Waiting for the first request")
	if _, ok := warranty.ParseSecret(secret); !ok {
		t.Fatalf("the page shows no secret: %s", shown.Body)
	}
	again := b.Post("/settings/api/tokens", send...)
	again.Says(t, "the form again", 422, "its secret can&#39;t be shown again")
	again.Hides(t, "the form again", secret)
	equal(t, "the name typed", again.Value("name"), "ERP <b>")
	b.Get("/settings/api/tokens").Leads(t, "the address of the form", "/settings/api")
	b.Get("/settings").Leads(t, "the settings with a token", "/settings/api")

	var list []token
	w.Must(200, made("GET", tokens, w.SignIn(p.Email, p.Password), nil)).Into(t, &list)
	equal(t, "number of tokens", len(list), 1)
	made1 := list[0]
	if left := made1.ExpiresAt.Sub(w.Clock.Now()); left < 7*24*time.Hour-time.Minute || left > 7*24*time.Hour+time.Minute {
		t.Errorf("the token expires in %v", left)
	}
	equal(t, "its scopes", made1.Scopes, []string{"warranties:read", "claims:read"})
	equal(t, "its limit", made1.RateLimitPerMinute, 50)

	first := "/settings/api/tokens/" + made1.ID + "/first?since=0"
	b.Get(first).Says(t, "before the first request", 200, "Waiting", "Check again")
	waiting := b.Get(first, "HX-Request", "true")
	waiting.Says(t, "the part", 200, `hx-trigger="every 2s"`)
	waiting.Hides(t, "the part", "<html")
	b.Get(first+"&tries=300", "HX-Request", "true").Hides(t, "after ten minutes", "hx-trigger")
	w.Must(200, made("GET", "/api/v1/warranties?q=query-canary", secret, nil, "User-Agent", "canary-client/1"))
	owner := servertest.Person{Session: w.SignIn(p.Email, p.Password)}
	w.Recorded(t, owner, made1.ID, 1)
	received := b.Get(first, "HX-Request", "true")
	received.Says(t, "after the first request", 200, "✓ Received", "GET /api/v1/warranties", "canary-client/1")
	received.Hides(t, "after the first request", "hx-trigger")
	b.Get(fmt.Sprintf("/settings/api/tokens/%s/first?since=%d", made1.ID, w.Clock.Now().Add(time.Minute).UnixMicro())).Says(t, "a use from before", 200, "Waiting")

	all := b.Get("/settings/api?page=zero")
	all.Says(t, "the tokens", 200, "1 of 20 active tokens", made1.Prefix+"…", "canary-client/1", "in 7 days", "1 request<", "just now")
	all.Hides(t, "the tokens", secret, "query-canary")
	part := b.Get("/settings/api", "HX-Request", "true")
	part.Says(t, "the part of requests", 200, "canary-client/1")
	part.Hides(t, "the part of requests", "<html")
	for _, path := range []string{"/settings/api/requests", "/settings/api/requests?token_id=" + made1.ID, "/settings/api/tokens/" + made1.ID} {
		got := b.Get(path)
		got.Says(t, path, 200, "canary-client/1", "GET /api/v1/warranties", "127.0.0.1")
		got.Hides(t, path, "query-canary", secret)
	}

	old := made1.Prefix
	b.Post("/settings/api/tokens/"+made1.ID+"/rotate", "prefix", old, "overlap_seconds", "7").Says(t, "an odd overlap", 200) // any that the operation takes
	w.Must(200, made("GET", tokens+"/"+made1.ID, owner.Session, nil)).Into(t, &made1)
	b.Post("/settings/api/tokens/"+made1.ID+"/rotate", "prefix", made1.Prefix, "overlap_seconds", "-1").Says(t, "no overlap", 422, "between 0 and 86400")
	rotated := b.Post("/settings/api/tokens/"+made1.ID+"/rotate", "prefix", made1.Prefix, "overlap_seconds", "3600")
	rotated.Says(t, "rotating", 200, "Copy your token now", "works until")
	second := rotated.Text("secret")
	w.Must(200, made("GET", "/api/v1/auth/status", second, nil))
	twice := b.Post("/settings/api/tokens/"+made1.ID+"/rotate", "prefix", made1.Prefix, "overlap_seconds", "3600")
	twice.Says(t, "rotating again by the same form", 422, "was rotated after")
	w.Must(200, made("GET", "/api/v1/auth/status", second, nil))
	b.Get("/settings/api/tokens/"+made1.ID+"/rotate").Leads(t, "the address of the form", "/settings/api/tokens/"+made1.ID)
	b.Get("/settings/api/tokens/"+made1.ID).Says(t, "the token", 200, "rotated a token", "generated a token")

	b.Post("/settings/api/tokens/"+made1.ID+"/revoke").Leads(t, "revoking", "/settings/api?done=revoked")
	refused(t, "the revoked token", w.Get("/api/v1/auth/status", second), warranty.TokenRevoked)
	b.Get("/settings/api?done=revoked").Says(t, "after", 200, "0 of 20 active tokens", "Token revoked.", "Revoked")
	gone := b.Get("/settings/api/tokens/" + made1.ID)
	gone.Says(t, "the revoked token", 200, "Revoked")
	gone.Hides(t, "the revoked token", "/revoke\"", "/rotate\"")
	b.Post("/settings/api/tokens/"+made1.ID+"/rotate", "prefix", prefixOf(b, made1.ID, owner.Session), "overlap_seconds", "0").Says(t, "rotating what is revoked", 422, "is revoked")
}

// prefix returns a token's current prefix.
func prefixOf(b *browser, id, session string) string {
	var got token
	b.W.Must(200, made("GET", tokens+"/"+id, session, nil)).Into(b.T, &got)
	return got.Prefix
}

// TestWebTokensOfOthers opens every page of a token with another user's session.
func TestWebTokensOfOthers(t *testing.T) {
	w := webWorld(t)
	owner, other := w.Verified("Olga"), w.Verified("Zoe")
	secret, id := w.Token(owner)
	w.Must(200, made("GET", "/api/v1/auth/status", secret, nil, "User-Agent", "canary-client/1"))
	w.Recorded(t, owner, id, 1)
	b := w.SignedIn(t, other)
	for _, name := range []string{id, unknownID, "x", "%00"} {
		base := "/settings/api/tokens/" + name
		for _, path := range []string{base, base + "/first", base + "/rotate", "/settings/api/requests?token_id=" + name} {
			b.Get(path).Says(t, "GET "+path, 404, "Not found")
		}
		for _, path := range []string{base + "/rotate", base + "/revoke"} {
			b.Post(path, "prefix", secret[:10]).Says(t, "POST "+path, 404)
		}
	}
	for _, path := range []string{"/settings/api", "/settings/api/requests"} {
		b.Get(path).Hides(t, path, "canary-client", id)
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
	b := w.SignedIn(t, p)
	b.Get("/settings/api").Says(t, "the first page", 200, "20 of 20 active tokens", "Page 1 of 2, 30 records", "/settings/api?page=2")
	b.Get("/settings/api?page=2").Says(t, "the second page", 200, "20 of 20 active tokens", "Revoked")
	full := b.Post("/settings/api/tokens", "name", "One more", "scopes", "claims:read", "expires_in_days", "7", "rate_limit_per_minute", "5")
	full.Says(t, "one more", 422, "reached the limit of", `role="alert"`)
	equal(t, "the name typed", full.Value("name"), "One more")
	w.Clock.Advance(366 * 24 * time.Hour)
	b = w.SignedIn(t, p)
	b.Get("/settings/api").Says(t, "a year later", 200, "0 of 20 active tokens", "Expired")
}

// private are pages of the settings that need a session, and forms are the forms that do.
var (
	private = []string{"/verify-email", "/settings", "/settings/profile", "/settings/security", "/settings/api", "/settings/api/new", "/settings/api/tokens", "/settings/api/tokens/" + unknownID,
		"/settings/api/tokens/" + unknownID + "/first", "/settings/api/tokens/" + unknownID + "/rotate", "/settings/api/requests", "/settings/api/requests?page=2"}
	forms = []string{"/verify-email", "/verify-email/resend", "/settings/profile/restore", "/sign-out", "/settings/profile", "/settings/security/password", "/settings/security/sign-out-everywhere", "/settings/security/sign-out-others", "/settings/security/totp", "/settings/security/totp/confirm", "/settings/security/totp/remove",
		"/settings/security/two-step/on", "/settings/security/two-step/off", "/settings/security/recovery-codes", "/settings/security/recovery-codes/file", "/settings/security/sessions/" + unknownID + "/end", "/settings/api/tokens",
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
			b := w.Browser(t)
			b.Cookie = cookie
			b.Get(path).Leads(t, path, "/sign-in?next="+url.QueryEscape(path))
		}
		for _, path := range forms {
			b := w.Browser(t)
			b.Cookie = cookie
			w.Unchanged(t, path, func() {
				if got := b.Post(path); got.Status != http.StatusUnauthorized && !strings.HasPrefix(got.Location, "/sign-in?") {
					t.Errorf("%s: got %d to %q", path, got.Status, got.Location)
				}
			})
		}
	}
	for _, path := range append(openForms, "/sign-in?done=nonsense", "/sign-in?done=<b>") {
		w.Browser(t).Get(path).Says(t, path, 200)
	}
	// The API does not accept the cookie.
	b := w.SignedIn(t, p)
	refused(t, "a cookie on the API", w.Get("/api/v1/warranties", "", "Cookie", b.Cookie), warranty.MissingCredential)
}

// TestWebCrossSite sends every form from another site.
func TestWebCrossSite(t *testing.T) {
	w := webWorld(t)
	p := w.Verified("Olga")
	b := w.SignedIn(t, p)
	for _, path := range append(append([]string{}, forms...), openForms...) {
		for _, headers := range [][]string{{"Sec-Fetch-Site", "cross-site"}, {"Sec-Fetch-Site", "same-site"}, {"Origin", "https://evil.example"}, {"Origin", "null"}} {
			w.Unchanged(t, path, func() {
				got := b.Send("POST", path, url.Values{"email": {p.Email}, "password": {p.Password}, "name": {"x"}, "scopes": {"claims:read"}, "expires_in_days": {"7"}, "rate_limit_per_minute": {"1"}}, headers...)
				if got.Status != http.StatusForbidden {
					t.Errorf("%s with %v: got %d", path, headers, got.Status)
				}
			})
		}
	}
	b.Get("/settings/profile", "Sec-Fetch-Site", "cross-site").Says(t, "a link from elsewhere", 200)
}

// TestWebOpenRedirects signs in with next addresses on other sites.
func TestWebOpenRedirects(t *testing.T) {
	w := webWorld(t)
	p := w.Verified("Olga")
	evil := []string{"//evil.example", "/\\evil.example", "\\\\evil.example", "https://evil.example", "http:evil.example", "/\t/evil.example", "/\n/evil.example", "///evil.example", "evil.example",
		"javascript:alert(1)", " //evil.example", "//evil.example/%2f..", "/%0d%0aSet-Cookie:x=y//", "https:///evil.example", "//user@evil.example", "\x00//evil.example", "/..//evil.example", ".//evil.example"}
	for _, next := range evil {
		for _, path := range []string{"/sign-in", "/register"} {
			w.Browser(t).Get(path+"?next="+url.QueryEscape(next)).Hides(t, path, `value="//`, `value="http`, `value="javascript`)
		}
		got := w.Browser(t).Post("/sign-in", "email", p.Email, "password", p.Password, "next", next)
		if u, err := url.Parse(got.Location); err != nil || got.Status != 303 || u.Host != "" || u.Scheme != "" || !strings.HasPrefix(got.Location, "/") || strings.HasPrefix(got.Location, "//") || strings.ContainsAny(got.Location, "\\\r\n\t") {
			t.Errorf("%q leads to %q with %d", next, got.Location, got.Status)
		}
	}
	for _, next := range []string{"/claims?status=approved&page=2", "/settings/api", "/"} {
		w.Browser(t).Post("/sign-in", "email", p.Email, "password", p.Password, "next", next).Leads(t, next, next)
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
		second := w.SignIn(p.Email, p.Password)
		who, err := w.Service.Authenticate(context.Background(), p.Session, false)
		if err != nil {
			t.Fatal(err)
		}
		if err := w.Service.SignOutEverywhere(context.Background(), who); err != nil {
			t.Fatal(err)
		}
		w.Alive(t, "the session that asked", p.Session, false)
		w.Alive(t, "another session", second, false)
		w.Alive(t, "another user's session", other.Session, true)
		if err := w.Service.SignOutEverywhere(context.Background(), who); warranty.AsError(err).Code != warranty.SessionExpired {
			t.Errorf("an ended session can sign out everywhere: %v", err)
		}
	})
}
