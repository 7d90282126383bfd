package service_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"warranty.example/svc/internal/server"
	"warranty.example/svc/internal/servertest"
	"warranty.example/svc/warranty"
)

// feed creates a calendar feed in a person's browser and returns its path.
func (w *world) feed(t testing.TB, p servertest.Person) string {
	t.Helper()
	page := w.SignedIn(t, p).Post("/settings/calendar")
	_, rest, found := strings.Cut(page.Body, servertest.PublicURL+"/calendar/")
	path, _, _ := strings.Cut(rest, "<")
	if !found || w.Browser(t).Get("/calendar/"+path).Status != 200 {
		t.Fatalf("no feed: %d", page.Status)
	}
	return "/calendar/" + path
}

// offerTo offers a warranty to an address and returns the offer with its code.
func (w *world) offerTo(session, record, email string) (offer struct {
	Code   string
	Mailed bool
}) {
	w.T.Helper()
	w.Must(201, made("POST", "/api/warranties/"+record+"/transfer", session, fields{"email": email})).Into(w.T, &offer)
	return offer
}

// TestResetEndsEveryCredential resets the password of a compromised account (B1):
// every credential of the intruder is revoked, and the records stay.
func TestResetEndsEveryCredential(t *testing.T) {
	eachReplicas(t, func(t *testing.T, worlds []*world) {
		w := worlds[0]
		olga, zoe := w.Verified("Olga"), w.Verified("Zoe")
		record := w.Warranty(olga.Session, nil)
		token, id := w.Token(olga)
		others, _ := w.Token(zoe)
		feed := w.feed(t, olga)
		code := w.offerTo(olga.Session, record.ID, zoe.Email).Code
		w.Must(202, made("POST", "/api/auth/codes", "", fields{"email": olga.Email}))
		signInCode := w.MailedCode(olga.Email)

		session := w.ResetPassword(t, olga.Email, passwordCanary+" reset")
		for _, w := range worlds {
			w.Alive(t, "the session from before", olga.Session, false)
			refused(t, "the token", w.Get("/api/v1/auth/status", token), warranty.TokenRevoked)
			w.Alive(t, "another user's token", others, true)
			w.Alive(t, "another user's session", zoe.Session, true)
			equal(t, "the feed", w.Browser(t).Get(feed).Status, 404)
		}
		refused(t, "the offer", w.Send("POST", "/api/transfers/accept", zoe.Session, fields{"code": code}), warranty.ValidationFailed)
		refused(t, "an older sign-in code", w.Send("POST", "/api/auth/sessions", "", fields{"email": olga.Email, "code": signInCode}), warranty.InvalidCredential)
		equal(t, "the records", ids(t, w.Get("/api/v1/warranties", session)), []string{record.ID})
		var actions []string
		for _, e := range w.history(record.ID, session) {
			actions = append(actions, e.Action)
		}
		if !slices.Contains(actions, "transfer.cancelled") {
			t.Errorf("the history does not show that the offer ended: %v", actions)
		}
		if a := w.Get("/api/integration-tokens/"+id+"/history", session); !strings.Contains(a.Body, "revoked") {
			t.Errorf("the token's history does not show that it was revoked: %s", a.Body)
		}
	})
}

// TestOperatorsPasswordIsAReset ends the same credentials as a reset by email, unless told otherwise.
func TestOperatorsPasswordIsAReset(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		olga := w.Verified("Olga")
		token, _ := w.Token(olga)
		if err := w.Service.SetPassword(t.Context(), olga.Email, passwordCanary+" 1", true); err != nil {
			t.Fatal(err)
		}
		w.Alive(t, "the session", olga.Session, false)
		w.Alive(t, "the token that is kept", token, true)
		if err := w.Service.SetPassword(t.Context(), olga.Email, passwordCanary+" 2", false); err != nil {
			t.Fatal(err)
		}
		w.Alive(t, "the token", token, false)
		w.SignIn(olga.Email, passwordCanary+" 2")
		if err := w.Service.SetPassword(t.Context(), olga.Email, "olga@people.example", false); warranty.AsError(err).Code != warranty.ValidationFailed {
			t.Errorf("the address as a password: %v", err)
		}
	})
}

// TestSquatterLosesTheAddress registers another person's address, which that person
// then takes back (B1) with a reset or an emailed sign-in code: no credential of the
// squatter works in the account, and no record of the squatter is visible there.
func TestSquatterLosesTheAddress(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		for i, how := range []string{"by a reset", "by a code"} {
			squatter, accomplice := w.Person(fmt.Sprint("Vic", i)), w.Verified(fmt.Sprint("Eve", i))
			w.Must(200, made("PUT", "/api/account", squatter.Session, fields{"name": "Rude Name", "mail_claims": false}))
			record := w.Warranty(squatter.Session, nil)
			named := w.Warranty(accomplice.Session, fields{"seller_email": squatter.Email})
			token, _ := w.Token(squatter)
			feed := w.feed(t, squatter)
			offer := w.offerTo(squatter.Session, record.ID, accomplice.Email)
			equal(t, how+": a mail to others without a verified address", offer.Mailed, false)
			verification := w.MailedCode(squatter.Email)

			var session string
			if how == "by a reset" {
				session = w.ResetPassword(t, squatter.Email, passwordCanary)
			} else {
				w.Must(202, made("POST", "/api/auth/codes", "", fields{"email": squatter.Email}))
				var signedIn struct {
					AccessToken string `json:"access_token"`
				}
				w.Must(201, made("POST", "/api/auth/sessions", "", fields{"email": squatter.Email, "code": w.MailedCode(squatter.Email)})).Into(t, &signedIn)
				session = signedIn.AccessToken
				refused(t, how+": the squatter's password", w.Send("POST", "/api/auth/sessions", "", fields{"email": squatter.Email, "password": squatter.Password}), warranty.InvalidCredential)
			}
			w.Alive(t, how+": the squatter's session", squatter.Session, false)
			w.Alive(t, how+": the squatter's token", token, false)
			equal(t, how+": the squatter's feed", w.Browser(t).Get(feed).Status, 404)
			refused(t, how+": the squatter's offer", w.Send("POST", "/api/transfers/accept", accomplice.Session, fields{"code": offer.Code}), warranty.ValidationFailed)
			refused(t, how+": the squatter's code", w.Send("POST", "/api/auth/verify-email", session, fields{"code": verification}), warranty.ValidationFailed)
			var account warranty.Account
			w.Must(200, made("GET", "/api/account", session, nil)).Into(t, &account)
			if !account.EmailVerified || account.Name == "Rude Name" || !account.Mails.Claims {
				t.Errorf("%s: the account is %+v", how, account)
			}
			equal(t, how+": the records seen", ids(t, w.Get("/api/v1/warranties", session)), []string{})
			w.Must(200, made("POST", "/api/v1/confirmations/"+named.ID, session, fields{"decision": "confirm"},
				"If-Match", w.Waiting(session, named.ID)))
			equal(t, how+": the records seen", ids(t, w.Get("/api/v1/warranties", session)), []string{named.ID})
			equal(t, how+": the squatter's record", w.Get("/api/v1/warranties/"+record.ID, session).Status, 404)
			equal(t, how+": its public page", w.Get("/verify/"+record.ReferenceNumber, "").Status, 404)

			// A person who did register the account can restore everything; others cannot.
			who, err := w.Service.Authenticate(t.Context(), session, false)
			if err != nil {
				t.Fatal(err)
			}
			eve, err := w.Service.Authenticate(t.Context(), accomplice.Session, false)
			if err != nil {
				t.Fatal(err)
			}
			if n, err := w.Service.RestoreSetAside(t.Context(), eve); n != 0 || err != nil {
				t.Errorf("%s: another account restored %d, %v", how, n, err)
			}
			for _, want := range []int{1, 0} {
				if n, err := w.Service.RestoreSetAside(t.Context(), who); n != want || err != nil {
					t.Errorf("%s: restored %d, %v", how, n, err)
				}
			}
			var back servertest.Record
			w.Must(200, made("GET", "/api/v1/warranties/"+record.ID, session, nil)).Into(t, &back)
			equal(t, how+": the roles on the restored record", back.Roles, []string{"owner", "issuer"})
			equal(t, how+": its public page", w.Get("/verify/"+record.ReferenceNumber, "").Status, 200)
			equal(t, how+": the list", len(ids(t, w.Get("/api/v1/warranties", session))), 2)
			w.Alive(t, how+": the squatter's token after that", token, false)
		}
	}, busy)
}

// TestPasswordChangeMayRevokeTokens revokes tokens only when the caller asks for it.
func TestPasswordChangeMayRevokeTokens(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		olga := w.Verified("Olga")
		token, _ := w.Token(olga)
		feed := w.feed(t, olga)
		change := func(from, to string, revoke any) (session string) {
			body := fields{"current_password": from, "new_password": to}
			if revoke != nil {
				body["revoke_tokens"] = revoke
			}
			var got struct {
				AccessToken string `json:"access_token"`
			}
			w.Must(200, made("POST", "/api/auth/password", olga.Session, body)).Into(t, &got)
			return got.AccessToken
		}
		olga.Session = change(olga.Password, passwordCanary+" 1", nil)
		olga.Session = change(passwordCanary+" 1", passwordCanary+" 2", false)
		w.Alive(t, "the token", token, true)
		equal(t, "the feed", w.Browser(t).Get(feed).Status, 200)
		refused(t, "the own name", w.Send("POST", "/api/auth/password", olga.Session, fields{"current_password": passwordCanary + " 2", "new_password": "olga2026olga!"}), warranty.ValidationFailed)
		olga.Session = change(passwordCanary+" 2", passwordCanary+" 3", true)
		w.Alive(t, "the token after that", token, false)
		w.Alive(t, "the session after that", olga.Session, true)
		equal(t, "the feed after that", w.Browser(t).Get(feed).Status, 404)
	})
}

// TestTokensNeedAVerifiedAddress refuses credentials that would outlast a reset to
// accounts with an unverified address, when a mail server is configured (B1).
func TestTokensNeedAVerifiedAddress(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		olga := w.Person("Olga")
		w.Unchanged(t, "an unverified address", func() {
			a := w.Send("POST", "/api/integration-tokens", olga.Session, fields{"name": "till", "scopes": warranty.AllScopes})
			refused(t, "a token", a, warranty.EmailNotVerified)
			if !strings.Contains(a.Body, "/api/auth/verify-email/resend") {
				t.Errorf("the error does not say what to do: %s", a.Body)
			}
		})
		b := w.SignedIn(t, olga)
		b.Get("/settings/api").Says(t, "the tokens", 200, "Verify olga@people.example", "Email me a code")
		b.Post("/settings/api/tokens", "name", "till", "scopes", "warranties:read", "expires_in_days", "30", "rate_limit_per_minute", "100").
			Says(t, "a token", 403, "Verify your email address first", "Email me a code", `value="till"`)
		b.Post("/settings/calendar").Says(t, "a feed", 403, "Verify olga@people.example", "Email me a code")
		equal(t, "tokens and feeds", w.Count(`SELECT count(*) FROM tokens`)+w.Count(`SELECT count(*) FROM calendars`), 0)
		b.Post("/verify-email/resend").Leads(t, "a code", "/verify-email?done=mailed")
		b.Post("/verify-email", "code", w.MailedCode(olga.Email)).Leads(t, "the code", "/?done=verified")
		b.Get("/settings/api").Hides(t, "the tokens", "Email me a code")
		w.Token(olga)
		w.feed(t, olga)
	}, func(s *server.Server) { s.Service.RequireVerified = true })
}

// TestSignInByCode signs in with an emailed code, which works once within 15 minutes.
// The responses do not reveal whether an account exists.
func TestSignInByCode(t *testing.T) {
	eachStopped(t, func(t *testing.T, w *world, clock *stoppedClock) {
		olga, zoe := w.Verified("Olga"), w.Verified("Zoe")
		token, _ := w.Token(olga)
		ask := func(email string) answer { return w.Send("POST", "/api/auth/codes", "", fields{"email": email}) }
		try := func(email, code string) answer {
			return w.Send("POST", "/api/auth/sessions", "", fields{"email": email, "code": code})
		}
		known, unknown := ask(olga.Email), ask("nobody@people.example")
		equal(t, "a known address", known.Status, 202)
		known.Body, unknown.Body = known.Body+"{}", unknown.Body+"{}"
		equal(t, "the answers", anonymised(t, known), anonymised(t, unknown))
		code := w.MailedCode(olga.Email)
		wrong := try(olga.Email, "0000-0000-0000-0000-0000")
		refused(t, "a wrong code", wrong, warranty.InvalidCredential)
		equal(t, "an unknown address", anonymised(t, try("nobody@people.example", code)), anonymised(t, wrong))
		refused(t, "another user's code", try(zoe.Email, code), warranty.InvalidCredential)
		refused(t, "both", w.Send("POST", "/api/auth/sessions", "", fields{"email": olga.Email, "code": code, "password": olga.Password}), warranty.ValidationFailed)
		refused(t, "for a reset", w.Send("POST", "/api/auth/password-reset/confirm", "", fields{"code": code, "password": passwordCanary}), warranty.ValidationFailed)
		outcomes, _ := servertest.Flood(t, []*world{w}, 8, func(int) request {
			return made("POST", "/api/auth/sessions", "", fields{"email": olga.Email, "code": code})
		})
		equal(t, "8 at once", outcomes, map[string]int{"201": 1, "401 invalid_credential": 7})
		w.Alive(t, "the token", token, true)
		w.Alive(t, "the other session", olga.Session, true)
		w.SignIn(olga.Email, olga.Password)

		ask(olga.Email)
		late := w.MailedCode(olga.Email)
		clock.Set(clock.Now().Add(15 * time.Minute))
		refused(t, "a code at its end", try(olga.Email, late), warranty.InvalidCredential)

		b := w.Browser(t)
		b.Get("/sign-in?next=/claims").Says(t, "the page", 200, "Email me a code")
		b.Post("/sign-in/codes", "email", olga.Email, "next", "/claims").Says(t, "asking", 200, "a code is on its way", `value="/claims"`)
		b.Post("/sign-in/code", "email", olga.Email, "code", "", "next", "/claims").Says(t, "no code", 422)
		b.Post("/sign-in/code", "email", olga.Email, "code", w.MailedCode(olga.Email), "next", "/claims").Leads(t, "the code", "/claims")
		b.Get("/claims").Says(t, "signed in", 200)
	})
}

// TestDisabledIsOut disables an account: none of its credentials works any longer.
func TestDisabledIsOut(t *testing.T) {
	eachReplicas(t, func(t *testing.T, worlds []*world) {
		w := worlds[0]
		owner := w.Verified("Olga")
		token, _ := w.Token(owner)
		record := w.Warranty(token, nil)
		other := w.Person("Zoe")
		if err := w.Service.DisableUser(context.Background(), owner.Email); err != nil {
			t.Fatal(err)
		}
		before := w.Contents()
		for _, w := range worlds {
			for name, r := range map[string]request{
				"the token":           made("GET", "/api/v1/warranties", token, nil),
				"the token as Bearer": made("GET", "/api/v1/warranties", "", nil, "Authorization", "Bearer "+token),
				"the session":         made("GET", "/api/v1/warranties", owner.Session, nil),
				"a write":             made("DELETE", "/api/v1/warranties/"+record.ID, token, nil),
				"the password":        made("POST", "/api/auth/sessions", "", fields{"email": owner.Email, "password": owner.Password}),
			} {
				refused(t, name, w.Do(r), warranty.InvalidCredential)
			}
			w.Must(200, made("GET", "/api/v1/warranties", other.Session, nil))
		}
		equal(t, "the database", w.Contents(), before)
		if err := w.Service.SendMail(context.Background()); err != nil { // mail that was already pending
			t.Fatal(err)
		}
		mailed := func() int { return strings.Count(w.Log.String(), `"to":"`+owner.Email) }
		mails := mailed()
		w.Must(202, made("POST", "/api/auth/password-reset", "", fields{"email": owner.Email}))
		if err := w.Service.SendMail(context.Background()); err != nil {
			t.Fatal(err)
		}
		equal(t, "emails to a disabled account", mailed(), mails)
	})
}

// TestNothingIsWrittenForWhoIsGone ends a credential during a request that is
// authenticated but whose body has not arrived.
func TestNothingIsWrittenForWhoIsGone(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		body := fields{"product_name": "late", "start_date": "2026-01-01", "end_date": "2026-01-01"}
		for _, c := range []struct {
			name  string
			token bool
			end   func(name string, session string, tokenID string)
			code  warranty.Code
		}{
			{"revoked", true, func(_, session, id string) {
				w.Must(204, made("DELETE", "/api/integration-tokens/"+id, session, nil))
			}, warranty.TokenRevoked},
			{"rotated", true, func(_, session, id string) {
				w.Must(200, made("POST", tokens+"/"+id+"/rotate", session, nil))
			}, warranty.TokenRevoked},
			{"disabled", true, func(name, _, _ string) {
				if err := w.Service.DisableUser(context.Background(), strings.ToLower(name)+"@people.example"); err != nil {
					t.Fatal(err)
				}
			}, warranty.TokenRevoked},
			{"signed out", false, func(_, session, _ string) {
				w.Must(204, made("DELETE", "/api/auth/sessions/current", session, nil))
			}, warranty.SessionExpired},
			{"another password", false, func(_, session, _ string) {
				w.Must(200, made("POST", "/api/auth/password", session, fields{"current_password": "correct horse battery staple", "new_password": passwordCanary}))
			}, warranty.SessionExpired},
			{"a password reset", false, func(name, _, _ string) {
				email := strings.ToLower(name) + "@people.example"
				w.Must(202, made("POST", "/api/auth/password-reset", "", fields{"email": email}))
				w.Must(204, made("POST", "/api/auth/password-reset/confirm", "", fields{"code": w.MailedCode(email), "password": passwordCanary}))
			}, warranty.SessionExpired},
		} {
			person := w.Person(strings.ReplaceAll(c.name, " ", ""))
			token, id := w.Token(person)
			secret := person.Session
			if c.token {
				secret = token
			}
			record := w.Warranty(secret, nil)
			path := "/api/v1/warranties/" + record.ID
			create := w.Hold(made("POST", "/api/v1/warranties", secret, body))
			update := w.Hold(made("PUT", path, secret, fields{"status": "void"}))
			c.end(person.Name, person.Session, id)
			w.Unchanged(t, c.name, func() {
				refused(t, c.name+": a create", create(), c.code)
				refused(t, c.name+": an update", update(), c.code)
			})
		}
	})
}
