//go:build browser

package browser

import (
	"context"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/page"
	"github.com/chromedp/cdproto/webauthn"
	"github.com/chromedp/chromedp"

	"warranty.example/svc/e2e/lab"
)

// localSite starts a demo whose public URL is on localhost, where browsers have passkeys.
func (s *site) localSite(t *testing.T) *site {
	t.Helper()
	address := lab.FreeAddress(t)
	public := "http://localhost" + address[strings.LastIndexByte(address, ':'):]
	p, err := lab.Launch(t.TempDir(), nil, lab.Svcd(), "--demo", "--listen="+address, "--public-url="+public,
		"--rate-limit=1000000", "--ip-rate-limit=0", "--sign-in-rate-limit=0", "--sign-up-rate-limit=0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(p.Kill)
	local := &site{Process: p, passwords: map[string]string{}, browser: s.browser}
	for _, m := range regexp.MustCompile(`(\S+@demo\.example) +password (\S+)`).FindAllStringSubmatch(p.Output(), -1) {
		local.passwords[m[1]] = m[2]
	}
	p.URL = public
	return local
}

// authenticator is a virtual device of a tab, such as a phone.
type authenticator struct {
	*tab
	id webauthn.AuthenticatorID
}

// withAuthenticator adds a device to a tab, and turns off passkeys in the field for the address, so that the tests decide
// when the device is asked.
func (b *tab) withAuthenticator(t *testing.T) authenticator {
	t.Helper()
	a := authenticator{tab: b}
	call(t, b, webauthn.Enable, webauthn.EnableParams{})
	a.id = call(t, b, webauthn.AddVirtualAuthenticator, webauthn.AddVirtualAuthenticatorParams{
		Options: &webauthn.VirtualAuthenticatorOptions{
			Protocol: webauthn.AuthenticatorProtocolCtap2, Ctap2version: webauthn.Ctap2versionCtap21,
			Transport: webauthn.AuthenticatorTransportInternal, HasResidentKey: true, HasUserVerification: true,
			IsUserVerified: true, AutomaticPresenceSimulation: true,
		},
	}).AuthenticatorID
	call(t, b, page.AddScriptToEvaluateOnNewDocument, page.AddScriptToEvaluateOnNewDocumentParams{
		Source: `PublicKeyCredential.isConditionalMediationAvailable = async () => localStorage.conditional === "on"`})
	return a
}

func (a authenticator) override(t *testing.T, p webauthn.SetResponseOverrideBitsParams) {
	t.Helper()
	p.AuthenticatorID = a.id
	call(t, a.tab, webauthn.SetResponseOverrideBits, p)
}

// TestPasskeys adds a passkey with a virtual device, and signs in with it: by the button, in the field for the address, with
// answers that are wrong, and with one answer several times.
func TestPasskeys(t *testing.T) {
	t.Parallel()
	s := openSite(t).localSite(t)
	b := s.visitor(t)
	device := b.withAuthenticator(t)
	b.signIn(t, nora, s.passwords[nora])
	b.mustOpen(t, "/settings/security")
	b.press(t, "Add a passkey")
	b.until(t, `!document.querySelector("[data-passkey]").hidden && !document.querySelector("[data-passkey-none]")`)
	b.inEachLook(t, "passkey-new")
	b.fill(t, "#name", "Nora's laptop")
	if b.click(t, "[data-passkey]"); b.path(t) != "/settings/security?done=passkey_added" {
		t.Fatalf("adding a passkey\n%s", b.describe())
	}
	b.mustShow(t, "Passkey added.", "Passkey: Nora's laptop", "not used yet")
	b.inEachLook(t, "security")
	b.mustOpen(t, "/settings/security/passkeys/new")
	b.do(t, chromedp.Click(chromedp.CSS("[data-passkey]")))
	b.until(t, `!document.querySelector("[data-passkey-exists]").hidden`)

	// Without an address.
	b.signOut(t)
	b.mustOpen(t, "/sign-in")
	b.inEachLook(t, "sign-in-passkey")
	if size := eval[int](t, b, `performance.getEntries().reduce((sum, e) => sum + (e.transferSize ?? 0), 0)`); size > 100_000 {
		t.Errorf("the sign-in page takes %d bytes", size)
	}
	b.mustSignIn(t, "by the button", func() { b.press(t, "Sign in with a passkey") })
	b.mustOpen(t, "/settings/security")
	b.mustShow(t, "last used just now")
	b.mustBeQuiet(t)

	// With a wrong answer.
	b.signOut(t)
	for what, wrong := range map[string]webauthn.SetResponseOverrideBitsParams{
		"a bogus signature": {IsBogusSignature: new(true)}, "an answer without user verification": {IsBadUV: new(true)},
		"an answer without presence": {IsBadUP: new(true)},
	} {
		device.override(t, wrong)
		b.mustOpen(t, "/sign-in?next=/claims")
		status := b.press(t, "Sign in with a passkey")
		if !strings.Contains(b.text(t), "This passkey could not be used.") || status != http.StatusUnauthorized {
			t.Errorf("%s: %d\n%s", what, status, b.describe())
		}
		device.override(t, webauthn.SetResponseOverrideBitsParams{IsBogusSignature: new(false), IsBadUV: new(false), IsBadUP: new(false)})
	}
	b.mustBeQuiet(t, http.StatusUnauthorized)
	if b.press(t, "Sign in with a passkey"); b.path(t) != "/claims" {
		t.Errorf("the page after a wrong answer\n%s", b.describe())
	}

	// One answer in ten forms at once.
	b.signOut(t)
	b.mustOpen(t, "/sign-in")
	eval[bool](t, b, `document.querySelector("[data-passkey]").form.submit = () => { window.caught = true }, true`)
	b.do(t, chromedp.Click(chromedp.CSS("[data-passkey]")))
	b.until(t, `window.caught === true`)
	if n := eval[int](t, b, `Promise.all(Array.from({length: 10}, () => fetch("/sign-in/passkey", {method: "POST", redirect: "manual",
		body: new URLSearchParams(new FormData(document.querySelector("main form")))}))).then(
		answers => answers.filter(a => a.type === "opaqueredirect").length)`, chromedp.EvalAwaitPromise); n != 1 {
		t.Errorf("one answer signed in %d times", n)
	}
	b.mustBeQuiet(t, http.StatusUnauthorized)

	// In the field for the address, without a click.
	b.signOut(t)
	eval[string](t, b, `localStorage.conditional = "on"`)
	b.open(t, "/sign-in")
	b.until(t, `location.pathname === "/"`)
	eval[chromedp.Void](t, b, `localStorage.clear()`)

	// To confirm.
	b.mustOpen(t, "/confirm?next=/settings/profile")
	b.inEachLook(t, "confirm-passkey")
	if b.press(t, "Use a passkey"); b.path(t) != "/settings/profile" {
		t.Errorf("confirming\n%s", b.describe())
	}
	b.mustOpen(t, "/settings/security")
	b.click(t, `a[href^="/settings/security/passkeys/"]:not([href$=new])`)
	b.inEachLook(t, "passkey")
	if b.press(t, "Remove passkey"); b.path(t) != "/settings/security?done=passkey_removed" {
		t.Errorf("removing\n%s", b.describe())
	}
	b.mustBeQuiet(t)
	b.signOut(t)
	b.mustOpen(t, "/sign-in")
	if status := b.press(t, "Sign in with a passkey"); status != http.StatusUnauthorized {
		t.Errorf("the removed passkey: %d\n%s", status, b.describe())
	}
}

// mustSignIn fails unless a step leads to the overview.
func (b *tab) mustSignIn(t *testing.T, what string, step func()) {
	t.Helper()
	if step(); b.path(t) != "/" {
		t.Fatalf("signing in %s\n%s", what, b.describe())
	}
}

// inEachLook checks a page on a phone and a wide window, light and dark. If SVC_SCREENSHOTS names a folder, it takes
// pictures.
func (b *tab) inEachLook(t *testing.T, name string) {
	t.Helper()
	for i, l := range []look{{"light", 390}, {"dark", 390}, {"light", 1440}, {"dark", 1440}} {
		b.show(t, l)
		b.mustNotScrollSideways(t, l.width)
		b.mustPassAxeHere(t, fmt.Sprintf("%s, %s, %d px", name, l.scheme, l.width), "document", i == 0, true)
		if folder := os.Getenv("SVC_SCREENSHOTS"); folder != "" {
			b.capture(t, filepath.Join(folder, fmt.Sprintf("%s-%s-%d.png", name, l.scheme, l.width)))
		}
	}
	b.look(t, "light", 1280)
}

func (b *tab) capture(t *testing.T, path string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(b.ctx, pagePatience)
	defer cancel()
	taken, err := chromedp.Run(ctx, chromedp.CaptureScreenshot())
	if err == nil {
		err = os.WriteFile(path, taken, 0o644)
	}
	if err != nil {
		t.Fatal(err)
	}
}

// call sends a command of the protocol of DevTools.
func call[P, R any](t *testing.T, b *tab, command cdp.Command[P, R], params P) R {
	t.Helper()
	ctx, cancel := context.WithTimeout(b.ctx, pagePatience)
	defer cancel()
	result, err := chromedp.Call(ctx, command, params)
	if err != nil {
		t.Fatal(err)
	}
	return result
}
