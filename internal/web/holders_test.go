package web_test

import (
	"net/http"
	"testing"
)

// TestWebAddress changes the address on the pages: the browser stays signed in, and the link in the email to the old
// address takes the account back.
func TestWebAddress(t *testing.T) {
	w := webWorld(t, busy)
	ann := w.Verified("Ann")
	b := w.SignedIn(t, ann)
	const home = "ann@home.example"
	b.Get("/settings/security").Says(t, "the page", 200, ann.Email, `href="/settings/security/address"`)
	b.Get("/settings/security/address").Says(t, "the form", 200, "You sign in with "+ann.Email)
	b.Post("/settings/security/address", "email", ann.Email).Says(t, "the same one", 422, "the address of your account already")
	b.Post("/settings/security/address", "email", home).Leads(t, "another one", "/settings/security/address?code&done=code_sent")
	b.Get("/settings/security/address?code&done=code_sent").Says(t, "the code's form", 200, "We emailed a code.", `name="code"`)
	b.Post("/settings/security/address/confirm", "code", "AAAA-BBBB").Says(t, "a wrong code", 422, `value="AAAA-BBBB"`)
	b.Post("/settings/security/address/confirm", "code", w.MailedCode(home)).Leads(t, "the code", "/settings/security?done=address")
	b.Get("/settings/security?done=address").Says(t, "the new one", 200, home, "Your email address was changed")

	link := "/not-me/" + w.MailedNotMe(ann.Email)
	anyone := w.Browser(t)
	anyone.Get(link).Says(t, "the link", 200, "Was this not you?")
	b.Get("/settings/security").Says(t, "looking at the link", 200, home)
	anyone.Post(link).Says(t, "stopping", 200, "Your account is secured.", `href="/reset-password"`)
	anyone.Post(link).Says(t, "stopping again", 422, "This link was already used or has expired.")
	b.Get("/settings/security").Leads(t, "the session", "/sign-in?next=%2Fsettings%2Fsecurity")
}

// TestWebDeleteAccount deletes an account on the pages. A sign-in then only offers to restore it, in the same browser.
func TestWebDeleteAccount(t *testing.T) {
	w := webWorld(t, busy)
	ann := w.Verified("Ann")
	b := w.SignedIn(t, ann)
	b.Get("/settings/profile").Says(t, "the profile", 200, `href="/settings/profile/delete"`)
	b.Get("/settings/profile/delete").Says(t, "the page", 200, "Type "+ann.Email+" to confirm", "After 30 days we erase")
	b.Post("/settings/profile/delete", "email", "zoe@people.example").Says(t, "another address", 422, "not the address of your account")
	b.Post("/settings/profile/delete", "email", ann.Email).Leads(t, "deleting", "/sign-in?done=account_deleted")
	b.Get("/sign-in?done=account_deleted").Says(t, "afterwards", 200, "Your account was deleted.")

	again := w.Browser(t)
	asked := again.Post("/sign-in", "email", ann.Email, "password", ann.Password, "next", "/warranties")
	asked.Says(t, "signing in", http.StatusForbidden, "Restore your account?", "This account was deleted", "Restore account")
	flow := asked.Value("flow")
	w.Browser(t).Post("/sign-in/restore", "flow", flow).Says(t, "another browser", http.StatusUnprocessableEntity, "Sign in")
	again.Get("/warranties").Leads(t, "before the decision", "/sign-in?next=%2Fwarranties")
	again.Post("/sign-in/restore", "flow", flow, "next", "/warranties").Leads(t, "restoring", "/warranties")
	again.Get("/settings/profile").Says(t, "the account", 200, ann.Email)
}
