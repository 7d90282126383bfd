package service_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"warranty.example/svc/internal/servertest"
	"warranty.example/svc/warranty"
)

// account is an account as its owner reads it.
type account struct {
	ID, Name, Email string
	EmailVerified   bool `json:"email_verified"`
	Mails           map[string]bool
}

func TestPeopleKeepTheirAccount(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		me, other := w.Verified("Mia"), w.Person("Otto")
		read := func(session string) (a account) {
			w.Must(200, made("GET", "/api/account", session, nil)).Into(t, &a)
			return a
		}
		all := func(end, claims, tokens bool) map[string]bool {
			return map[string]bool{"warranty_end": end, "claims": claims, "token_expiry": tokens}
		}
		wanted := account{ID: me.ID, Name: "Mia", Email: me.Email, EmailVerified: true, Mails: all(true, true, true)}
		equal(t, "a new account", read(me.Session), wanted)
		equal(t, "an account with an unverified address", read(other.Session), account{ID: other.ID, Name: "Otto", Email: other.Email, Mails: all(true, true, true)})
		for _, c := range []struct {
			change fields
			name   string
			mails  map[string]bool
		}{
			{fields{}, "Mia", all(true, true, true)},
			{fields{"name": " Mia  Neumann "}, "Mia  Neumann", all(true, true, true)},
			{fields{"mail_claims": false}, "Mia  Neumann", all(true, false, true)},
			{fields{"mail_warranty_end": false, "mail_token_expiry": false}, "Mia  Neumann", all(false, false, false)},
			{fields{"name": "美亜", "mail_claims": true}, "美亜", all(false, true, false)},
			{fields{"mail_warranty_end": true, "mail_token_expiry": true}, "美亜", all(true, true, true)},
			{fields{"name": strings.Repeat("é", 120)}, strings.Repeat("é", 120), all(true, true, true)},
		} {
			wanted.Name, wanted.Mails = c.name, c.mails
			var got account
			w.Must(200, made("PUT", "/api/account", me.Session, c.change)).Into(t, &got)
			equal(t, fmt.Sprint(c.change), got, wanted)
			equal(t, fmt.Sprint(c.change, ", read"), read(me.Session), wanted)
		}
		for _, c := range []struct {
			change fields
			wrong  []string
		}{
			{fields{"name": " "}, []string{"name required"}},
			{fields{"name": strings.Repeat("é", 121)}, []string{"name too_long"}},
			{fields{"name": "a\u202eb"}, []string{"name forbidden_character"}},
			{fields{"name": "a\nb"}, []string{"name forbidden_character"}},
			{fields{"name": 1}, []string{"name wrong_type"}},
			{fields{"mail_claims": "yes"}, []string{"mail_claims wrong_type"}},
			{fields{"mail_claims": 0}, []string{"mail_claims wrong_type"}},
			{fields{"email": "else@people.example"}, []string{"email unknown_field"}},
			{fields{"id": other.ID, "email_verified": true, "created_at": "2020-01-01T00:00:00Z"}, []string{"created_at unknown_field", "email_verified unknown_field", "id unknown_field"}},
			{fields{"mails": fields{"claims": false}}, []string{"mails unknown_field"}},
			{fields{"password": "something else entirely"}, []string{"password unknown_field"}},
			{fields{"name": "", "mail_token_expiry": "x", "Name": "x"}, []string{"Name unknown_field", "mail_token_expiry wrong_type", "name required"}},
		} {
			w.Unchanged(t, fmt.Sprint(c.change), func() {
				a := w.Send("PUT", "/api/account", me.Session, c.change)
				refused(t, fmt.Sprint(c.change), a, warranty.ValidationFailed)
				wrong := wrongFields(t, a)
				slices.Sort(wrong)
				equal(t, fmt.Sprint(c.change), wrong, c.wrong)
			})
		}
		refused(t, "a query", w.Get("/api/account?id="+other.ID, me.Session), warranty.ValidationFailed)
		refused(t, "without a session", w.Get("/api/account", ""), warranty.MissingCredential)
		refused(t, "a change without a session", w.Send("PUT", "/api/account", "", fields{}), warranty.MissingCredential)
		equal(t, "the other's", read(other.Session).Name, "Otto")
	}, busy)
}

// TestPeopleChangeTheirAccountTwiceAtOnce makes two concurrent changes to different
// fields and expects both.
func TestPeopleChangeTheirAccountTwiceAtOnce(t *testing.T) {
	eachReplicas(t, func(t *testing.T, worlds []*world) {
		w := worlds[0]
		me := w.Person("Mia")
		for i := range 15 {
			name, choice := fmt.Sprintf("Mia %d", i), i%2 == 0
			servertest.Flood(t, worlds, 8, func(n int) request {
				if n%2 == 0 {
					return made("PUT", "/api/account", me.Session, fields{"name": name})
				}
				return made("PUT", "/api/account", me.Session, fields{"mail_claims": choice})
			})
			var got account
			w.Must(200, made("GET", "/api/account", me.Session, nil)).Into(t, &got)
			if got.Name != name || got.Mails["claims"] != choice {
				t.Fatalf("after %q and %t: %+v", name, choice, got)
			}
		}
	}, busy)
}
