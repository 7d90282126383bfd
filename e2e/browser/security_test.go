//go:build browser

package browser

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"warranty.example/svc/e2e/lab"
	"warranty.example/svc/internal/servertest"
)

// TestTwoStepInTheBrowser adds an authenticator app, signs in with its code and with a recovery code, and turns two-step
// sign-in off. It counts what the person presses.
func TestTwoStepInTheBrowser(t *testing.T) {
	t.Parallel()
	s := openSite(t)
	email, password := s.account(t, "tilda"), lab.Password
	b := s.visitor(t)
	b.signIn(t, email, password)

	pressed := 0
	press := func(text string) {
		t.Helper()
		pressed++
		b.press(t, text)
	}
	counted := func(what string, want int) {
		t.Helper()
		if pressed != want {
			t.Errorf("%s took %d presses, not %d", what, pressed, want)
		}
		pressed = 0
	}
	b.mustOpen(t, "/settings/security")
	b.mustShow(t, "Two-step sign-in", "Off")
	b.mustPassAxeAt(t, "off", 390, 1440)
	b.snap(t, "security-off", 390, 1440)
	press("Add an authenticator app")
	b.mustShow(t, "Scan this code", "Code from your app")
	b.mustPassAxeAt(t, "the app", 390, 1440)
	b.snap(t, "security-app", 390, 1440)
	secret := strings.ReplaceAll(eval[string](t, b, `document.querySelector("#secret").textContent`), " ", "")
	shows := time.Now()
	b.fill(t, "#code", servertest.TOTP(t, secret, shows))
	press("Turn on two-step sign-in")
	b.mustShow(t, "Two-step sign-in is on.", "Save them now")
	b.mustPassAxeAt(t, "the codes", 390, 1440)
	b.snap(t, "security-codes", 390, 1440)
	codes := strings.Fields(eval[string](t, b, `document.querySelector("#codes").textContent`))
	if len(codes) != 10 {
		t.Fatalf("the codes are %q", codes)
	}
	press("I saved my codes")
	counted("turning it on", 3)
	b.mustShow(t, "10 of 10 left", "This device")
	b.mustPassAxeAt(t, "on", 390, 1440)
	b.snap(t, "security-on", 390, 1440)

	b.signOut(t)
	begin := func() {
		t.Helper()
		b.mustOpen(t, "/sign-in")
		b.fill(t, "#email", email, "#password", password)
		press("Sign in")
		b.mustShow(t, "Code from your app", "Use a recovery code")
	}
	begin()
	b.mustPassAxeAt(t, "the second step", 390, 1440)
	b.snap(t, "second-step", 390, 1440)
	b.fill(t, "#totp", servertest.TOTP(t, secret, shows.Add(30*time.Second)))
	press("Sign in")
	if b.path(t) != "/" {
		t.Fatalf("the code does not sign in\n%s", b.describe())
	}
	counted("signing in with a code", 2)

	b.signOut(t)
	begin()
	eval[bool](t, b, `document.querySelector("details").open = true`)
	b.mustPassAxeAt(t, "a recovery code", 390)
	b.snap(t, "second-step-recovery", 390)
	b.fill(t, "#recovery_code", codes[0])
	press("Sign in")
	if b.path(t) != "/" {
		t.Fatalf("the recovery code does not sign in\n%s", b.describe())
	}
	b.mustOpen(t, "/settings/security")
	b.mustShow(t, "9 of 10 left")
	b.mustOpen(t, "/confirm")
	b.mustShow(t, "Code from your app", "Use a recovery code", "Password")
	b.mustPassAxeAt(t, "confirming", 390, 1440)
	b.snap(t, "confirm", 390, 1440)

	b.mustOpen(t, "/settings/security")
	eval[bool](t, b, `document.querySelector("[aria-labelledby=h-two-step] details").open = true`)
	b.press(t, "Turn off two-step sign-in")
	b.mustShow(t, "Two-step sign-in is off.")
	if status := b.press(t, "Sign out"); status != http.StatusOK || b.path(t) != "/sign-in" {
		t.Errorf("signing out beside this device leads to %s", b.path(t))
	}
	b.mustBeQuiet(t, http.StatusForbidden)
}
