package identity_test

import (
	"context"
	"crypto/x509"
	"errors"
	"maps"
	"net/http"
	"net/netip"
	"net/url"
	"strings"
	"testing"
	"time"

	"warranty.example/svc/internal/identity"
	"warranty.example/svc/internal/identity/identitytest"
	"warranty.example/svc/internal/outbound"
)

type (
	forger = identitytest.Provider
	object = map[string]any
)

const callback = "https://warranty.example/sign-in/with/one/callback"

func newForger(t *testing.T) *forger {
	t.Helper()
	p := must(identitytest.NewProvider("svc", func() time.Time { return start }))(t)
	t.Cleanup(p.Close)
	return p
}

// client connects to a forger, which is on the loopback, and is bounded like all others.
func client(p *forger) *http.Client {
	roots := x509.NewCertPool()
	roots.AddCert(p.Certificate())
	c := outbound.Client{Roots: roots, Allow: func(netip.Addr) bool { return true }}
	return c.HTTP()
}

func config(p *forger) identity.ProviderConfig {
	return identity.ProviderConfig{
		Issuer: p.URL, ClientID: "svc", ClientSecret: "secret", RedirectURL: callback, Client: client(p),
	}
}

// visit signs in at a forger. change, if set, changes what the browser brings back.
func visit(t *testing.T, p *forger, fresh bool, change func(*identity.ProviderFlow, url.Values)) (identity.Identity, error) {
	t.Helper()
	provider, err := identity.Discover(t.Context(), config(p))
	if err != nil {
		return identity.Identity{}, err
	}
	address, flow := provider.Start(fresh)
	query := must(p.SignIn(address))(t)
	if change != nil {
		change(&flow, query)
	}
	return provider.Finish(t.Context(), flow, query, start)
}

func TestProviderSignsIn(t *testing.T) {
	for _, algorithm := range []string{"RS256", "PS256", "ES256", "EdDSA"} {
		p := newForger(t)
		p.Algorithm = algorithm
		p.Claims = object{"name": "Ada", "sid": "s1"}
		got, err := visit(t, p, false, nil)
		want := identity.Identity{Issuer: p.URL, Subject: "ada", Email: "ada@example.com", EmailVerified: true, Name: "Ada", SessionID: "s1"}
		if err != nil || got != want {
			t.Errorf("%s: %+v, %v", algorithm, got, err)
		}
	}
	for what, c := range map[string]object{
		"several audiences": {"aud": []string{"svc", "other"}, "azp": "svc"},
		"azp":               {"azp": "svc"},
		"skewed":            {"iat": start.Add(time.Minute).Unix()},
	} {
		p := newForger(t)
		p.Claims = c
		if _, err := visit(t, p, false, nil); err != nil {
			t.Errorf("%s: %v", what, err)
		}
	}
}

// TestAddressOfTheProvider checks what the browser is sent to.
func TestAddressOfTheProvider(t *testing.T) {
	p := newForger(t)
	provider := must(identity.Discover(t.Context(), config(p)))(t)
	address, flow := provider.Start(true)
	u := must(url.Parse(address))(t)
	q := u.Query()
	if provider.Origin() != p.URL || q.Get("state") != flow.State || q.Get("nonce") != flow.Nonce || len(flow.State) < 26 ||
		len(flow.Nonce) < 26 || flow.State == flow.Nonce || q.Get("code_challenge_method") != "S256" || q.Get("redirect_uri") != callback ||
		q.Get("response_type") != "code" || q.Get("prompt") != "login" || q.Get("max_age") != "0" ||
		strings.Contains(address, flow.Verifier) || strings.Contains(address, "secret") {
		t.Error(address)
	}
	again, other := provider.Start(false)
	if other.State == flow.State || other.Nonce == flow.Nonce || other.Verifier == flow.Verifier || strings.Contains(again, "max_age") {
		t.Error(again)
	}
}

func TestForgedTokensAreRejected(t *testing.T) {
	for name, c := range map[string]struct {
		claims, header object
		algorithm      string
		hash           bool
	}{
		"no nonce":             {claims: object{"nonce": nil}},
		"wrong nonce":          {claims: object{"nonce": "x"}},
		"wrong issuer":         {claims: object{"iss": "https://evil.example"}},
		"no issuer":            {claims: object{"iss": nil}},
		"wrong audience":       {claims: object{"aud": "other"}},
		"no audience":          {claims: object{"aud": nil}},
		"audiences, no azp":    {claims: object{"aud": []string{"svc", "other"}}},
		"azp of another":       {claims: object{"aud": []string{"svc", "other"}, "azp": "other"}},
		"azp of another alone": {claims: object{"azp": "other"}},
		"expired":              {claims: object{"exp": start.Add(-time.Second).Unix()}},
		"no end":               {claims: object{"exp": nil}},
		"not yet":              {claims: object{"nbf": start.Add(time.Hour).Unix()}},
		"of the future":        {claims: object{"iat": start.Add(time.Hour).Unix()}},
		"no time":              {claims: object{"iat": nil}},
		"no subject":           {claims: object{"sub": nil}},
		"empty subject":        {claims: object{"sub": ""}},
		"long subject":         {claims: object{"sub": strings.Repeat("x", 256)}},
		"subject is a number":  {claims: object{"sub": 1}},
		"name is a number":     {claims: object{"name": 1}},
		"wrong at_hash":        {hash: true},
		"none":                 {algorithm: "none"},
		"HS256":                {algorithm: "HS256"},
		"RS512":                {algorithm: "RS512"},
		"key of another kind":  {algorithm: "ES256", header: object{"kid": "RS256"}},
		"unknown key":          {header: object{"kid": "unknown"}},
		"logout token":         {header: object{"typ": "logout+jwt"}},
		"access token":         {header: object{"typ": "at+jwt"}},
		"critical":             {header: object{"crit": []string{"x"}, "x": 1}},
	} {
		t.Run(name, func(t *testing.T) {
			p := newForger(t)
			p.Claims, p.Header, p.Algorithm, p.AccessHash = c.claims, c.header, c.algorithm, c.hash
			_, err := visit(t, p, false, nil)
			rejected(t, err)
		})
	}
}

// TestKeysAreNotBroughtAlong: keys that a token names or contains are not used.
func TestKeysAreNotBroughtAlong(t *testing.T) {
	evil, p := newForger(t), newForger(t)
	if err := evil.NewKey(); err != nil {
		t.Fatal(err)
	}
	provider := must(identity.Discover(t.Context(), config(p)))(t)
	for _, header := range []object{
		{"jku": evil.URL + "/keys"}, {"x5u": evil.URL + "/keys"}, {"jku": evil.URL + "/keys", "kid": "evil"}, {"kid": nil},
	} {
		evil.Header = maps.Clone(header)
		evil.Header["typ"] = "logout+jwt"
		token := evil.Sign(object{"iss": p.URL, "sub": "ada", "jti": "1", "events": object{event: object{}}})
		_, err := provider.Logout(t.Context(), token, start)
		rejected(t, err)
	}
	if evil.Requests("/keys") != 0 {
		t.Error("the keys of the token's choice were read")
	}
}

func TestChangedCallbacksAreRejected(t *testing.T) {
	for name, change := range map[string]func(*identity.ProviderFlow, url.Values){
		"no state":             func(_ *identity.ProviderFlow, q url.Values) { q.Del("state") },
		"foreign state":        func(_ *identity.ProviderFlow, q url.Values) { q.Set("state", "x") },
		"flow without a state": func(f *identity.ProviderFlow, q url.Values) { f.State = ""; q.Del("state") },
		"flow of another":      func(f *identity.ProviderFlow, q url.Values) { f.Verifier = strings.Repeat("x", 43) },
		"nonce of another":     func(f *identity.ProviderFlow, q url.Values) { f.Nonce = "x" },
		"flow without a nonce": func(f *identity.ProviderFlow, q url.Values) { f.Nonce = "" },
		"other provider":       func(f *identity.ProviderFlow, q url.Values) { f.Issuer = "https://other.example" },
		"other client":         func(f *identity.ProviderFlow, q url.Values) { f.ClientID = "other" },
		"wrong iss":            func(_ *identity.ProviderFlow, q url.Values) { q.Set("iss", "https://evil.example") },
		"iss with a slash":     func(_ *identity.ProviderFlow, q url.Values) { q.Set("iss", q.Get("iss")+"/") },
		"empty iss":            func(_ *identity.ProviderFlow, q url.Values) { q.Set("iss", "") },
		"two states":           func(_ *identity.ProviderFlow, q url.Values) { q.Add("state", "x") },
		"two codes":            func(_ *identity.ProviderFlow, q url.Values) { q.Add("code", "x") },
		"no code":              func(_ *identity.ProviderFlow, q url.Values) { q.Del("code") },
		"wrong code":           func(_ *identity.ProviderFlow, q url.Values) { q.Set("code", "x") },
		"error and code":       func(_ *identity.ProviderFlow, q url.Values) { q.Set("error", "server_error") },
	} {
		t.Run(name, func(t *testing.T) {
			_, err := visit(t, newForger(t), false, change)
			rejected(t, err)
			if err != nil && strings.Contains(err.Error(), "canary") {
				t.Errorf("the provider's text is repeated: %v", err)
			}
		})
	}
	if _, err := visit(t, newForger(t), false, func(_ *identity.ProviderFlow, q url.Values) { q.Del("iss") }); err != nil {
		t.Errorf("a provider that does not send iss: %v", err)
	}
	p := newForger(t)
	p.Discovery = object{"authorization_response_iss_parameter_supported": true}
	_, err := visit(t, p, false, func(_ *identity.ProviderFlow, q url.Values) { q.Del("iss") })
	rejected(t, err)
	var refusal *identity.ProviderError
	_, err = visit(t, p, false, func(_ *identity.ProviderFlow, q url.Values) { q.Set("error", "access_denied") })
	if !errors.As(err, &refusal) || !refusal.Denied {
		t.Error(err)
	}
}

// TestCodesWorkOnce uses the callback twice, and the code at another provider.
func TestCodesWorkOnce(t *testing.T) {
	p, other := newForger(t), newForger(t)
	provider, second := must(identity.Discover(t.Context(), config(p)))(t), must(identity.Discover(t.Context(), config(other)))(t)
	address, flow := provider.Start(false)
	query := must(p.SignIn(address))(t)
	_, err := second.Finish(t.Context(), flow, query, start)
	rejected(t, err)
	if other.Requests("/token") != 0 {
		t.Error("the code was sent to another provider")
	}
	if _, err := provider.Finish(t.Context(), flow, query, start); err != nil {
		t.Fatal(err)
	}
	_, err = provider.Finish(t.Context(), flow, query, start)
	rejected(t, err)
}

func TestEmailVerifiedIsExactlyTrue(t *testing.T) {
	for _, c := range []struct {
		claim any
		want  bool
	}{{true, true}, {false, false}, {"true", false}, {1, false}, {nil, false}, {"yes", false}} {
		p := newForger(t)
		p.Claims = object{"email_verified": c.claim}
		if got, err := visit(t, p, false, nil); err != nil || got.EmailVerified != c.want {
			t.Errorf("%v: %+v, %v", c.claim, got, err)
		}
		if c.claim != nil && c.claim != true && c.claim != false && c.claim != "true" {
			continue // the library refuses other types
		}
		p.Claims = object{"email_verified": nil, "email": nil}
		p.UserInfo = object{"sub": "ada", "email": "ada@example.com"}
		if c.claim != nil {
			p.UserInfo["email_verified"] = c.claim
		}
		if got, err := visit(t, p, false, nil); err != nil || got.EmailVerified != c.want || got.Email != "ada@example.com" {
			t.Errorf("userinfo, %v: %+v, %v", c.claim, got, err)
		}
	}
}

func TestUserInfoIsAboutTheSameSubject(t *testing.T) {
	for _, subject := range []any{"eve", "Ada", "ada ", "", nil} {
		p := newForger(t)
		p.Claims = object{"email": nil}
		p.UserInfo = object{"email": "eve@example.com", "email_verified": true}
		if subject != nil {
			p.UserInfo["sub"] = subject
		}
		_, err := visit(t, p, false, nil)
		rejected(t, err)
	}
}

func TestFreshSignIns(t *testing.T) {
	for age, right := range map[time.Duration]bool{
		0: true, 59 * time.Second: true, 61 * time.Second: false, time.Hour: false, -time.Hour: false,
	} {
		p := newForger(t)
		p.Claims = object{"auth_time": start.Add(-age).Unix()}
		if _, err := visit(t, p, true, nil); (err == nil) != right {
			t.Errorf("%v ago: %v", age, err)
		}
	}
	p := newForger(t)
	_, err := visit(t, p, true, nil) // it does not say
	rejected(t, err)
}

// TestIssuersAreEqualByBytes reads discovery documents of other issuers, and with other addresses.
func TestIssuersAreEqualByBytes(t *testing.T) {
	p := newForger(t)
	for name, d := range map[string]object{
		"slash":       {"issuer": p.URL + "/"},
		"capitals":    {"issuer": strings.ToUpper(p.URL)},
		"another":     {"issuer": "https://evil.example"},
		"none":        {"issuer": nil},
		"http":        {"token_endpoint": "http://provider.example/token"},
		"no keys":     {"jwks_uri": nil},
		"script":      {"authorization_endpoint": "javascript:alert(1)"},
		"no address":  {"authorization_endpoint": nil},
		"credentials": {"authorization_endpoint": "https://user:password@provider.example/"},
		"userinfo":    {"userinfo_endpoint": "file:///etc/passwd"},
	} {
		p.Discovery = d
		if _, err := identity.Discover(t.Context(), config(p)); !errors.Is(err, identity.ErrUnreachable) {
			t.Errorf("%s: %v", name, err)
		}
	}
	p.Discovery = nil
	c := config(p)
	c.Issuer += "/"
	if _, err := identity.Discover(t.Context(), c); !errors.Is(err, identity.ErrUnreachable) {
		t.Errorf("a slash more: %v", err)
	}
}

// TestProvidersAreBounded: large documents, redirects, slow answers, and addresses that are not public.
func TestProvidersAreBounded(t *testing.T) {
	p := newForger(t)
	redirected := newForger(t)
	for name, handle := range map[string]http.HandlerFunc{
		"endless": func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Content-Type", "application/json")
			for r.Context().Err() == nil {
				if _, err := w.Write(make([]byte, 64<<10)); err != nil {
					return
				}
			}
		},
		"redirect": func(w http.ResponseWriter, r *http.Request) {
			http.Redirect(w, r, redirected.URL+r.URL.Path, http.StatusFound)
		},
		"not JSON": func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte("<script>")) },
		"error":    func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(500) },
	} {
		for _, path := range []string{"/.well-known/openid-configuration", "/token", "/keys", "/me"} {
			p.Handle = func(w http.ResponseWriter, r *http.Request) bool {
				if r.URL.Path == path {
					handle(w, r)
				}
				return r.URL.Path == path
			}
			p.Claims = object{"email": nil}
			if _, err := visit(t, p, false, nil); !errors.Is(err, identity.ErrUnreachable) {
				t.Errorf("%s at %s: %v", name, path, err)
			}
		}
	}
	if n := redirected.Requests("/keys") + redirected.Requests("/token"); n > 0 {
		t.Errorf("%d redirects were followed", n)
	}
	p.Handle = nil
	c := config(p)
	roots := x509.NewCertPool()
	roots.AddCert(p.Certificate())
	strict := outbound.Client{Roots: roots}
	c.Client = strict.HTTP()
	if _, err := identity.Discover(t.Context(), c); !errors.Is(err, identity.ErrUnreachable) {
		t.Errorf("a provider on the loopback: %v", err)
	}
}

// TestUnknownKeysAreNotAskedForInALoop verifies tokens with many keys that the provider does not have.
func TestUnknownKeysAreNotAskedForInALoop(t *testing.T) {
	p := newForger(t)
	provider := must(identity.Discover(t.Context(), config(p)))(t)
	logout := func() error {
		_, err := provider.Logout(t.Context(), p.Sign(object{"sub": "ada", "jti": "1", "events": object{event: object{}}}), start)
		return err
	}
	for i := range 20 {
		p.Header = object{"typ": "logout+jwt", "kid": strings.Repeat("x", i+1)}
		rejected(t, logout())
	}
	if n := p.Requests("/keys"); n > 2 { // two if the test takes longer than the interval
		t.Errorf("%d requests for keys", n)
	}
	p.Header = object{"typ": "logout+jwt"}
	if err := logout(); err != nil {
		t.Errorf("a known key is refused: %v", err)
	}
}

const event = "http://schemas.openid.net/event/backchannel-logout"

func TestLogoutTokens(t *testing.T) {
	right := object{"sub": "ada", "sid": "s1", "jti": "j1", "events": object{event: object{}}}
	p := newForger(t)
	provider := must(identity.Discover(t.Context(), config(p)))(t)
	logout := func(header, changes object) (identity.Logout, error) {
		claims := maps.Clone(right)
		maps.Copy(claims, changes)
		p.Header = object{"typ": "logout+jwt"}
		maps.Copy(p.Header, header)
		return provider.Logout(context.Background(), p.Sign(claims), start)
	}
	got, err := logout(nil, nil)
	if want := (identity.Logout{Subject: "ada", SessionID: "s1", ID: "j1", Until: start.Add(time.Minute)}); err != nil ||
		got.Subject != want.Subject || got.SessionID != want.SessionID || got.ID != want.ID || !got.Until.Equal(want.Until) {
		t.Errorf("%+v, %v", got, err)
	}
	for name, c := range map[string]object{"session alone": {"sub": nil}, "subject alone": {"sid": nil}} {
		if _, err := logout(nil, c); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
	for name, header := range map[string]object{"no type": {"typ": nil}, "ID token": {"typ": "JWT"}, "other type": {"typ": "at+jwt"}} {
		t.Run(name, func(t *testing.T) { _, err := logout(header, nil); rejected(t, err) })
	}
	for name, c := range map[string]object{
		"nonce":          {"nonce": "x"},
		"empty nonce":    {"nonce": ""},
		"no events":      {"events": nil},
		"other event":    {"events": object{"http://evil.example": object{}}},
		"event is text":  {"events": object{event: "x"}},
		"event is null":  {"events": map[string]*int{event: nil}},
		"events is text": {"events": event},
		"no jti":         {"jti": nil},
		"long jti":       {"jti": strings.Repeat("x", 256)},
		"nobody":         {"sub": nil, "sid": nil},
		"issuer":         {"iss": "https://evil.example"},
		"audience":       {"aud": "other"},
		"expired":        {"exp": start.Add(-time.Second).Unix()},
		"no end":         {"exp": nil},
		"of the future":  {"iat": start.Add(time.Hour).Unix()},
		"for too long":   {"exp": start.Add(48 * time.Hour).Unix()},
	} {
		t.Run(name, func(t *testing.T) { _, err := logout(nil, c); rejected(t, err) })
	}
	for _, text := range []string{"", ".", "..", "a.b.c", "e30.e30.", strings.Repeat("x", 1<<20)} {
		_, err := provider.Logout(t.Context(), text, start)
		rejected(t, err)
	}
	// An ID token of the same provider is no logout token, and the other way round: see TestForgedTokensAreRejected.
}
