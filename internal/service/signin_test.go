package service_test

import (
	"encoding/json"
	"strings"
	"testing"

	"warranty.example/svc/internal/servertest"
	"warranty.example/svc/warranty"
)

// browserSession returns the session of a browser.
func browserSession(t *testing.T, b *servertest.Browser) string {
	t.Helper()
	_, secret, _ := strings.Cut(b.Cookie, "=")
	if kind, ok := warranty.ParseSecret(secret); !ok || kind != warranty.SessionSecret {
		t.Fatalf("the browser has no session: %q", secret)
	}
	return secret
}

// TestANewSignInEndsTheBrowsersSession signs in again in a browser that is signed in, as the same and as another
// person, in every way: the earlier session ends. Sessions of other browsers and programs stay.
func TestANewSignInEndsTheBrowsersSession(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		olga, zoe := w.Verified("Olga"), w.Verified("Zoe")
		byPassword := func(b *servertest.Browser, p servertest.Person) {
			b.Post("/sign-in", "email", p.Email, "password", p.Password).Leads(t, "a sign-in", "/")
		}
		other := w.Browser(t)
		byPassword(other, olga)
		for name, again := range map[string]func(*servertest.Browser){
			"the same person": func(b *servertest.Browser) { byPassword(b, olga) },
			"another person":  func(b *servertest.Browser) { byPassword(b, zoe) },
			"an emailed code": func(b *servertest.Browser) {
				w.Must(202, made("POST", "/api/auth/codes", "", fields{"email": zoe.Email}))
				b.Post("/sign-in/code", "email", zoe.Email, "code", w.MailedCode(zoe.Email)).Leads(t, "a code", "/")
			},
			"a registration": func(b *servertest.Browser) {
				b.Post("/register", "name", "New", "email", "new@people.example", "password", servertest.Password).
					Leads(t, "a registration", "/verify-email")
			},
		} {
			b := w.Browser(t)
			byPassword(b, olga)
			before := browserSession(t, b)
			w.Alive(t, name+": before", before, true)
			again(b)
			w.Alive(t, name+": the earlier session", before, false)
			w.Alive(t, name+": the new session", browserSession(t, b), true)
		}
		w.Alive(t, "another browser", browserSession(t, other), true)
		w.Alive(t, "a program", olga.Session, true)
		w.Must(201, made("POST", "/api/auth/sessions", "", fields{"email": olga.Email, "password": olga.Password}))
		w.Alive(t, "a program after another sign-in", olga.Session, true)
	})
}

// TestSignInsAreLogged: each successful sign-in is one log line with the account, the client's address and the method, and
// without a secret.
func TestSignInsAreLogged(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		olga := w.Verified("Olga")
		w.SignIn(olga.Email, olga.Password)
		w.Must(202, made("POST", "/api/auth/codes", "", fields{"email": olga.Email}))
		code := w.MailedCode(olga.Email)
		var session warranty.Session
		w.Must(201, made("POST", "/api/auth/sessions", "", fields{"email": olga.Email, "code": code})).Into(t, &session)
		var methods []string
		for line := range strings.Lines(w.Log.String()) {
			if !strings.Contains(line, `"msg":"signed in"`) {
				continue
			}
			var got struct{ User, IP, Door, Method string }
			if err := json.Unmarshal([]byte(line), &got); err != nil {
				t.Fatal(err)
			}
			if got.User != session.User.ID.String() || got.IP == "" || got.Door != "api" {
				t.Errorf("the line is %s", line)
			}
			for what, secret := range map[string]string{"code": code, "session": session.AccessToken, "password": olga.Password, "address": olga.Email} {
				if strings.Contains(line, secret) {
					t.Errorf("the line has the %s: %s", what, line)
				}
			}
			methods = append(methods, got.Method)
		}
		equal(t, "methods", methods, []string{"registration", "password", "emailed_code"})
	})
}
