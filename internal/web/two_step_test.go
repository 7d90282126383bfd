package web_test

import (
	"regexp"
	"strings"
	"testing"
	"time"

	"warranty.example/svc/internal/servertest"
	"warranty.example/svc/warranty"
)

var (
	shownKey   = regexp.MustCompile(`<code id="secret">([A-Z2-7 ]+)</code>`)
	shownCodes = regexp.MustCompile(`[0-9A-HJKMNP-TV-Z]{4}(?:-[0-9A-HJKMNP-TV-Z]{4}){5}`)
)

// TestTwoStepPages adds an authenticator app, signs in with its code and with a recovery code, makes new codes,
// changes the app and turns two-step sign-in off, without scripts.
func TestTwoStepPages(t *testing.T) {
	servertest.EachStopped(t, func(t *testing.T, w *servertest.World, clock *servertest.StoppedClock) {
		olga := w.Verified("Olga")
		b, other := w.SignedIn(t, olga), w.SignedIn(t, olga)
		shown := b.Get("/settings/security")
		shown.Says(t, "at first", 200, "Two-step sign-in", "Off", "Add an authenticator app")
		shown.Hides(t, "at first", "Recovery codes", "Turn off", "Remove authenticator app")
		key := func(page page) string {
			t.Helper()
			page.Says(t, "the page of the app", 200, `class="qr"`, "Code from your app", `inputmode="numeric"`, `autocomplete="one-time-code"`)
			return strings.ReplaceAll(shownKey.FindStringSubmatch(page.Body)[1], " ", "")
		}
		code := func(secret string) string {
			clock.Set(clock.Now().Add(30 * time.Second))
			return servertest.TOTP(t, secret, clock.Now())
		}
		secret := key(b.Post("/settings/security/totp"))
		wrong := b.Post("/settings/security/totp/confirm", "code", "12345")
		wrong.Says(t, "a wrong code", 422, "This code is wrong", "Show a new QR code")
		wrong.Hides(t, "a wrong code", secret[:4]+" ", `class="qr"`)
		shown = b.Post("/settings/security/totp/confirm", "code", code(secret))
		shown.Says(t, "the recovery codes", 200, "Two-step sign-in is on.", "Download", "Print", "I saved my codes")
		equal(t, "cache", shown.Header.Get("Cache-Control"), "no-store")
		codes := shownCodes.FindAllString(strings.Split(shown.Body, "</pre>")[0], -1)
		equal(t, "codes", len(codes), 10)
		file := b.Post("/settings/security/recovery-codes/file", "code", codes[0], "code", codes[1])
		equal(t, "the file", file.Body, codes[0]+"\r\n"+codes[1]+"\r\n")
		equal(t, "its name", file.Header.Get("Content-Disposition"), `attachment; filename="recovery-codes.txt"`)
		b.Post("/settings/security/recovery-codes/file", "code", "<script>").Says(t, "something else", 404)
		other.Get("/settings/security").Leads(t, "another device", "/sign-in?next=%2Fsettings%2Fsecurity")
		shown = b.Get("/settings/security")
		shown.Says(t, "on", 200, "Turn off two-step sign-in", "Authenticator app", "10 of 10 left")
		shown.Hides(t, "on", secret, codes[0], "Remove authenticator app")

		signIn := func(name, value string) *browser {
			t.Helper()
			b := w.Browser(t)
			page := b.Post("/sign-in", "email", olga.Email, "password", olga.Password)
			page.Says(t, "the second step", 403, "Use a recovery code", `name="totp"`)
			b.Post("/sign-in/second-step", "flow", page.Value("flow"), name, value).Leads(t, "the second step", "/")
			return b
		}
		signIn("totp", code(secret))
		b = signIn("recovery_code", codes[0])
		b.Get("/settings/security").Says(t, "one was used", 200, "9 of 10 left")

		clock.Set(clock.Now().Add(warranty.ConfirmationLifetime))
		asked := b.Post("/settings/security/recovery-codes")
		asked.Says(t, "an unconfirmed session", 403, "Confirm it&#39;s you", `name="totp"`, "Use a recovery code", `name="password"`)
		again := confirmFrom(b, asked, "/confirm", "password", olga.Password)
		again.Says(t, "without the second step", 422, "Send either totp or recovery_code.")
		fresh := confirmFrom(b, again, "/confirm", "password", olga.Password, "totp", code(secret))
		fresh.Says(t, "the new codes", 200, "Your old codes no longer work.")
		if got := shownCodes.FindString(fresh.Body); got == "" || strings.Contains(strings.Join(codes, " "), got) {
			t.Errorf("the new codes are %q", got)
		}
		changed := key(b.Post("/settings/security/totp"))
		b.Post("/settings/security/totp/confirm", "code", code(changed)).Leads(t, "another app", "/settings/security?done=app_added")
		b.Get("/settings/security?done=app_added").Says(t, "another app", 200, "Authenticator app added.")
		b.Post("/settings/security/totp/remove").Says(t, "the last factor", 409)
		b.Post("/settings/security/two-step/off").Leads(t, "turning it off", "/settings/security?done=two_step_off")
		b.Get("/settings/security?done=two_step_off").Says(t, "off", 200, "Two-step sign-in is off.", "Add an authenticator app")
		w.SignedIn(t, olga)
	})
}
