package identity_test

import (
	"bufio"
	"io"
	"net/http"
	"net/http/cookiejar"
	"net/http/httptest"
	"net/netip"
	"net/url"
	"os"
	"os/exec"
	"regexp"
	"strings"
	"testing"
	"time"

	"warranty.example/svc/internal/identity"
	"warranty.example/svc/internal/outbound"
)

// peer starts npm oidc-provider, a certified provider, and returns its issuer. SVC_TEST_OIDC_PROVIDER is the folder where
// "npm install oidc-provider@9.13.3" ran.
func peer(t *testing.T, logout, mode string) string {
	t.Helper()
	folder := os.Getenv("SVC_TEST_OIDC_PROVIDER")
	if folder == "" {
		t.Skip("SVC_TEST_OIDC_PROVIDER is not set to a folder with oidc-provider")
	}
	cmd := exec.Command("node", "testdata/provider.mjs", folder, callback, logout, mode)
	out := must(cmd.StdoutPipe())(t)
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = cmd.Process.Kill(); _ = cmd.Wait() })
	line := must(bufio.NewReader(out).ReadString('\n'))(t)
	return strings.TrimSpace(line)
}

// visitor is a browser at the provider.
type visitor struct {
	*http.Client
	t *testing.T
}

func newVisitor(t *testing.T) visitor {
	jar := must(cookiejar.New(nil))(t)
	return visitor{&http.Client{Jar: jar, CheckRedirect: func(r *http.Request, _ []*http.Request) error {
		if strings.HasPrefix(r.URL.String(), callback) {
			return http.ErrUseLastResponse
		}
		return nil
	}}, t}
}

// signIn fills in the pages of the provider and returns the parameters of the callback.
func (v visitor) signIn(address, name string) url.Values {
	v.t.Helper()
	resp := must(v.Get(address))(v.t)
	for range 5 {
		text := must(io.ReadAll(resp.Body))(v.t)
		resp.Body.Close()
		if to := resp.Header.Get("Location"); strings.HasPrefix(to, callback) {
			return must(url.Parse(to))(v.t).Query()
		}
		prompt := regexp.MustCompile(`name="prompt" value="(\w+)"`).FindSubmatch(text)
		if prompt == nil {
			v.t.Fatalf("%d: %s", resp.StatusCode, text)
		}
		form := url.Values{"prompt": {string(prompt[1])}, "login": {name}, "password": {"x"}}
		resp = must(v.PostForm(resp.Request.URL.String(), form))(v.t)
	}
	v.t.Fatal("the provider asks for ever")
	return nil
}

// TestCertifiedProvider signs in at a provider that others wrote, confirms, and is signed out by it.
func TestCertifiedProvider(t *testing.T) {
	for _, mode := range []string{"tokens", "userinfo"} {
		tokens := make(chan string, 1)
		receiver := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { tokens <- r.FormValue("logout_token") }))
		defer receiver.Close()
		issuer := peer(t, receiver.URL, mode)
		internal := outbound.Client{Internal: true, Allow: func(netip.Addr) bool { return true }}
		c := identity.ProviderConfig{
			Issuer: issuer, ClientID: "svc", ClientSecret: "secret", RedirectURL: callback, Client: internal.HTTP(), Internal: true,
		}
		provider := must(identity.Discover(t.Context(), c))(t)
		v := newVisitor(t)
		address, flow := provider.Start(false)
		query := v.signIn(address, "ada")
		got, err := provider.Finish(t.Context(), flow, query, time.Now())
		if err != nil || got.Subject != "ada" || got.Email != "ada@example.com" || !got.EmailVerified || got.Name != "ada" || got.Issuer != issuer {
			t.Fatalf("%s: %+v, %v", mode, got, err)
		}
		_, err = provider.Finish(t.Context(), flow, query, time.Now())
		rejected(t, err)
		for _, name := range []string{"unverified", "text", "absent"} {
			address, flow := provider.Start(false)
			got, err := provider.Finish(t.Context(), flow, newVisitor(t).signIn(address, name), time.Now())
			if err != nil || got.EmailVerified || got.Email != name+"@example.com" {
				t.Errorf("%s: %+v, %v", name, got, err)
			}
		}
		address, flow = provider.Start(true)
		got, err = provider.Finish(t.Context(), flow, v.signIn(address, "ada"), time.Now())
		if err != nil || got.AuthTime.IsZero() {
			t.Errorf("a new sign-in: %+v, %v", got, err)
		}
		c.ClientSecret = "wrong"
		wrong := must(identity.Discover(t.Context(), c))(t)
		address, flow = wrong.Start(false)
		_, err = wrong.Finish(t.Context(), flow, newVisitor(t).signIn(address, "ada"), time.Now())
		rejected(t, err)

		page := must(v.Get(issuer + "/session/end"))(t)
		text := must(io.ReadAll(page.Body))(t)
		page.Body.Close()
		secret := regexp.MustCompile(`name="xsrf" value="(\w+)"`).FindSubmatch(text)
		if secret == nil {
			t.Fatalf("no form: %s", text)
		}
		must(v.PostForm(issuer+"/session/end/confirm", url.Values{"xsrf": {string(secret[1])}, "logout": {"yes"}}))(t).Body.Close()
		select {
		case token := <-tokens:
			out, err := provider.Logout(t.Context(), token, time.Now())
			if err != nil || out.Subject != "ada" || out.SessionID == "" || out.ID == "" {
				t.Errorf("%+v, %v", out, err)
			}
		case <-time.After(30 * time.Second):
			t.Error("no logout token")
		}
	}
}
