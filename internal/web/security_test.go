package web_test

import (
	"strings"
	"testing"

	"warranty.example/svc/warranty"
)

// TestSecurityPage shows where a person is signed in, and signs devices out.
func TestSecurityPage(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		olga, eve := w.Person("Olga"), w.Person("Eve")
		b, other, third, evil := w.SignedIn(t, olga), w.SignedIn(t, olga), w.SignedIn(t, olga), w.SignedIn(t, eve)
		page := b.Get("/settings/security")
		page.Says(t, "the page", 200, "Where you are signed in", "This device", "Sign out everywhere else", "127.0.0.x", "password", olga.Email)
		equal(t, "this device", strings.Count(page.Body, "This device"), 1)
		equal(t, "sign-outs of others", strings.Count(page.Body, `/end">`), 3) // with the session of the API
		_, secret, _ := strings.Cut(other.Cookie, "=")
		who, err := w.Service.Authenticate(t.Context(), secret, false)
		if err != nil {
			t.Fatal(err)
		}
		end := "/settings/security/sessions/" + who.CredentialID.String() + "/end"
		evil.Post(end).Says(t, "another person's session", 404)
		other.Post(end).Says(t, "the own session", 404)
		other.Get("/settings/security").Says(t, "the session", 200)
		b.Post(end).Leads(t, "ending one", "/settings/security?done=session_ended")
		b.Get("/settings/security?done=session_ended").Says(t, "the page after that", 200, "Device signed out.")
		other.Get("/settings/security").Leads(t, "the ended session", "/sign-in?next=%2Fsettings%2Fsecurity")
		third.Get("/settings/security").Says(t, "another session", 200)
		b.Post("/settings/security/sign-out-others").Leads(t, "ending the others", "/settings/security?done=sessions_ended")
		b.Get("/settings/security").Hides(t, "the page alone", "Sign out everywhere else")
		third.Get("/settings/security").Leads(t, "an ended session", "/sign-in?next=%2Fsettings%2Fsecurity")
		w.Alive(t, "the session of the API", olga.Session, false)
		evil.Get("/settings/security").Says(t, "another person", 200)

		w.SignedIn(t, eve)
		w.Clock.Advance(warranty.ConfirmationLifetime)
		evil.Post("/settings/security/sign-out-others").Says(t, "an unconfirmed session", 403)
	})
}
