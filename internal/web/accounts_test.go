package web_test

import (
	"strings"
	"testing"

	"warranty.example/svc/warranty"
)

// TestRestoreOnTheProfilePage shows the records that were set aside, and restores them.
func TestRestoreOnTheProfilePage(t *testing.T) {
	w := webWorld(t)
	olga := w.Person("Olga")
	record := w.Warranty(olga.Session, fields{"product_name": "Old kettle"})
	w.ResetPassword(t, olga.Email, passwordCanary)
	olga.Password = passwordCanary
	b := w.SignedIn(t, olga)
	b.Get("/warranties").Hides(t, "the list", "Old kettle")
	b.Get("/settings/profile").Says(t, "the profile", 200, "1 warranty was recorded", "Restore to my account")
	b.Post("/settings/profile/restore").Leads(t, "restoring", "/warranties?done=restored")
	b.Get("/warranties?done=restored").Says(t, "the list", 200, "Old kettle", "Restored to your account")
	b.Get("/settings/profile").Hides(t, "the profile", "Restore to my account")
	b.Get("/warranties/"+record.ID).Says(t, "the record", 200, "Old kettle")
}

// TestVerifyingTakesTheAccountsSession has the owner of a mailbox confirm the email
// that a squatter caused (B1): signed out, and signed in to another account.
func TestVerifyingTakesTheAccountsSession(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		squatter, victim := w.Person("Vic"), w.Person("Victor")
		code := w.MailedCode(squatter.Email)
		w.Unchanged(t, "confirming", func() {
			refused(t, "without a session", w.Send("POST", "/api/auth/verify-email", "", fields{"code": code}), warranty.MissingCredential)
			refused(t, "in another account", w.Send("POST", "/api/auth/verify-email", victim.Session, fields{"code": code}), warranty.ValidationFailed)
		})
		w.Must(200, made("POST", "/api/auth/verify-email", squatter.Session, fields{"code": code}))
	})
}

// TestSignOutIsOnEveryPage: every page of the menu has a button that ends the session.
func TestSignOutIsOnEveryPage(t *testing.T) {
	w := webWorld(t)
	b := w.SignedIn(t, w.Verified("Olga"))
	for _, path := range []string{"/", "/warranties", "/claims", "/documents", "/settings/api", "/settings/organizations", "/trash", "/no-such-page"} {
		if page := b.Get(path); !strings.Contains(page.Body, `<form method="post" action="/sign-out">`) {
			t.Errorf("%s has no way to sign out", path)
		}
	}
	_, session, _ := strings.Cut(b.Cookie, "=")
	b.Post("/sign-out").Leads(t, "signing out", "/sign-in")
	w.Alive(t, "the session", session, false)
}
