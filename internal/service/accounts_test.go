package service_test

import (
	"context"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"warranty.example/svc/internal/server"
	"warranty.example/svc/internal/servertest"
	"warranty.example/svc/warranty"
)

// session is the response to a sign-in.
type session struct {
	AccessToken string    `json:"access_token"`
	ExpiresAt   time.Time `json:"expires_at"`
	User        struct {
		ID, Name, Email string
		EmailVerified   bool `json:"email_verified"`
	}
}

// TestRegister checks a new account and inputs that are rejected.
func TestRegister(t *testing.T) {
	eachStopped(t, func(t *testing.T, w *world, clock *stoppedClock) {
		a := w.Must(201, made("POST", "/api/auth/register", "", fields{"name": " Olga ", "email": " Olga@Example.COM ", "password": " " + passwordCanary + " "}))
		var got session
		a.Into(t, &got)
		if got.User.Name != "Olga" || got.User.Email != "olga@example.com" || got.User.EmailVerified || !got.ExpiresAt.Equal(clock.Now().Add(12*time.Hour)) {
			t.Errorf("registered as %+v", got)
		}
		if kind, ok := warranty.ParseSecret(got.AccessToken); !ok || kind != warranty.SessionSecret {
			t.Errorf("the session %s is not well formed", got.AccessToken)
		}
		w.Alive(t, "the first session", got.AccessToken, true)
		w.SignIn("OLGA@example.com", " "+passwordCanary+" ")
		refused(t, "the password without its spaces", w.Send("POST", "/api/auth/sessions", "", fields{"email": "olga@example.com", "password": passwordCanary}), warranty.InvalidCredential)
		for _, email := range []string{"olga@example.com", "OLGA@EXAMPLE.COM", " olga@Example.com"} {
			w.Unchanged(t, "the same address", func() {
				refused(t, email, w.Send("POST", "/api/auth/register", "", fields{"name": "O", "email": email, "password": passwordCanary}), warranty.AlreadyExists)
			})
		}
		for name, c := range map[string]struct {
			body  fields
			wrong []string
		}{
			"nothing":               {fields{}, []string{"name required", "email required", "password required"}},
			"no address":            {fields{"name": "a", "email": "olga", "password": passwordCanary}, []string{"email invalid_email"}},
			"a letter like a k":     {fields{"name": "a", "email": "\u212Aate@example.com", "password": passwordCanary}, []string{"email invalid_email"}},
			"letters beyond ASCII":  {fields{"name": "a", "email": "ölga@example.com", "password": passwordCanary}, []string{"email invalid_email"}},
			"two lines":             {fields{"name": "a\r\nBcc: x", "email": "a@example.com", "password": passwordCanary}, []string{"name forbidden_character"}},
			"11 characters":         {fields{"name": "a", "email": "a@example.com", "password": "canary coal"}, []string{"password too_short"}},
			"257 characters":        {fields{"name": "a", "email": "a@example.com", "password": strings.Repeat("ä", 257)}, []string{"password too_long"}},
			"a well-known one":      {fields{"name": "a", "email": "a@example.com", "password": "Password12345!"}, []string{"password well_known"}},
			"the address itself":    {fields{"name": "a", "email": "canary.coal@example.com", "password": "Canary.Coal@example.com"}, []string{"password well_known"}},
			"a verified address":    {fields{"name": "a", "email": "a@example.com", "password": passwordCanary, "email_verified": true}, []string{"email_verified unknown_field"}},
			"an account of its own": {fields{"name": "a", "email": "a@example.com", "password": passwordCanary, "id": unknownID, "role": "admin"}, []string{"id unknown_field", "role unknown_field"}},
		} {
			w.Unchanged(t, name, func() {
				a := w.Send("POST", "/api/auth/register", "", c.body)
				refused(t, name, a, warranty.ValidationFailed)
				wrong := wrongFields(t, a)
				slices.Sort(wrong)
				slices.Sort(c.wrong)
				equal(t, name, wrong, c.wrong)
				if strings.Contains(a.Body, "canary") {
					t.Errorf("%s: the response repeats the input: %s", name, a.Body)
				}
			})
		}
		for i, password := range []string{"12 caracteré", strings.Repeat("ä", 250) + "canary"} {
			w.Must(201, made("POST", "/api/auth/register", "", fields{"name": "a", "email": fmt.Sprintf("%d@example.com", i), "password": password}))
			w.SignIn(fmt.Sprintf("%d@example.com", i), password)
			refused(t, "all but the last character", w.Send("POST", "/api/auth/sessions", "", fields{"email": fmt.Sprintf("%d@example.com", i), "password": password[:len(password)-2]}), warranty.InvalidCredential)
		}
		outcomes, _ := servertest.Flood(t, []*world{w}, 8, func(i int) request {
			return made("POST", "/api/auth/register", "", fields{"name": "a", "email": []string{"race@example.com", "RACE@example.com"}[i%2], "password": passwordCanary})
		})
		equal(t, "eight at once", outcomes, map[string]int{"201": 1, "409 already_exists": 7})
	})
}

// TestSignInDoesNotTellWhoIsHere compares the responses to an unknown address and to a wrong password.
// TestUnknownAddressesCostAsMuchAsKnownOnes in internal/service compares their timing.
func TestSignInDoesNotTellWhoIsHere(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		known := w.Person("Olga").Email
		var answers []answer
		for _, email := range []string{known, "nobody@people.example"} {
			answers = append(answers, anonymised(t, w.Send("POST", "/api/auth/sessions", "", fields{"email": email, "password": passwordCanary})))
		}
		equal(t, "the answers", answers[1], answers[0])
		refused(t, "the answer", answers[0], warranty.InvalidCredential)

		reset := func(email string) answer {
			return w.Send("POST", "/api/auth/password-reset", "", fields{"email": email})
		}
		first, second := reset(known), reset("nobody@people.example")
		equal(t, "a reset", first.Status, 202)
		first.Body, second.Body = first.Body+"{}", second.Body+"{}"
		equal(t, "a reset", anonymised(t, first), anonymised(t, second))

		// A record with this seller address does not reveal it either.
		w.Verified("Sami")
		create := func(email string) string {
			a := w.Must(201, made("POST", "/api/v1/warranties", w.SignIn(known, servertest.Password), fields{"product_name": "x", "start_date": "2026-01-01", "end_date": "2026-01-01", "seller_email": email}))
			return regexp.MustCompile(`"(id|reference_number|verify_url|web_url|claim_url|upload_url|created_at|updated_at|seller_email)":"[^"]*"`).ReplaceAllString(a.Body, "")
		}
		equal(t, "a record with a seller", create("sami@people.example"), create("nobody@people.example"))
	})
}

// TestSessions checks when sessions end.
func TestSessions(t *testing.T) {
	eachStopped(t, func(t *testing.T, w *world, clock *stoppedClock) {
		olga, zoe := w.Person("Olga"), w.Person("Zoe")
		second := w.SignIn(olga.Email, olga.Password)
		if second == olga.Session {
			t.Error("the second session equals the first")
		}
		w.Must(204, made("DELETE", "/api/auth/sessions/current", olga.Session, nil))
		w.Alive(t, "the session that signed out", olga.Session, false)
		w.Alive(t, "the other session", second, true)
		refused(t, "signing out again", w.Send("DELETE", "/api/auth/sessions/current", olga.Session, nil), warranty.InvalidCredential)

		outcomes, _ := servertest.Flood(t, []*world{w}, 8, func(int) request { return made("DELETE", "/api/auth/sessions/current", second, nil) })
		for what := range outcomes {
			if what != "204" && what != "401 invalid_credential" && what != "401 session_expired" {
				t.Errorf("signing out eight times at once: %v", outcomes)
			}
		}
		w.Alive(t, "the session that signed out", second, false)

		start := clock.Now()
		third := w.SignIn(olga.Email, olga.Password)
		clock.Set(start.Add(12*time.Hour - time.Microsecond))
		w.Alive(t, "a session a microsecond before its end", third, true)
		clock.Set(start.Add(12 * time.Hour))
		refused(t, "a session at its end", w.Get("/api/v1/warranties", third), warranty.SessionExpired)
		refused(t, "another user's at its end", w.Get("/api/v1/warranties", zoe.Session), warranty.SessionExpired)
		refused(t, "a token at the end of a session", w.Send("POST", tokens, third, fields{}), warranty.SessionExpired)
	})
}

// TestPasswordChange ends every session and starts a new one; tokens stay valid.
func TestPasswordChange(t *testing.T) {
	eachReplicas(t, func(t *testing.T, worlds []*world) {
		w := worlds[0]
		olga, zoe := w.Person("Olga"), w.Person("Zoe")
		other := w.SignIn(olga.Email, olga.Password)
		token, _ := w.Token(olga)
		const changed = passwordCanary + ", changed"
		for what, r := range map[string]request{
			"a wrong password":   made("POST", "/api/auth/password", olga.Session, fields{"current_password": passwordCanary, "new_password": changed}),
			"a short one":        made("POST", "/api/auth/password", olga.Session, fields{"current_password": olga.Password, "new_password": "short"}),
			"a token":            made("POST", "/api/auth/password", token, fields{"current_password": olga.Password, "new_password": changed}),
			"another user":       made("POST", "/api/auth/password", zoe.Session, fields{"current_password": passwordCanary, "new_password": changed}),
			"without a password": made("POST", "/api/auth/password", olga.Session, fields{"new_password": changed}),
		} {
			w.Unchanged(t, what, func() {
				if a := w.Do(r); a.Status < 400 {
					t.Errorf("%s: got %d", what, a.Status)
				}
			})
		}
		var got session
		w.Must(200, made("POST", "/api/auth/password", olga.Session, fields{"current_password": olga.Password, "new_password": changed})).Into(t, &got)
		for _, w := range worlds {
			w.Alive(t, "the session that asked", olga.Session, false)
			w.Alive(t, "another session", other, false)
			w.Alive(t, "the new session", got.AccessToken, true)
			w.Alive(t, "the token", token, true)
			w.Alive(t, "another user", zoe.Session, true)
			refused(t, "the old password", w.Send("POST", "/api/auth/sessions", "", fields{"email": olga.Email, "password": olga.Password}), warranty.InvalidCredential)
		}
		w.SignIn(olga.Email, changed)

		// Of two concurrent changes by one session, one succeeds.
		outcomes, _ := servertest.Flood(t, worlds, 2, func(i int) request {
			return made("POST", "/api/auth/password", got.AccessToken, fields{"current_password": changed, "new_password": fmt.Sprint(passwordCanary, i)})
		})
		if outcomes["200"] != 1 || outcomes["401 session_expired"]+outcomes["401 invalid_credential"] != 1 {
			t.Errorf("two changes at once: %v", outcomes)
		}
	})
}

// TestPasswordReset uses an emailed code, which works once within 30 minutes, and ends every session.
func TestPasswordReset(t *testing.T) {
	eachStopped(t, func(t *testing.T, w *world, clock *stoppedClock) {
		olga := w.Person("Olga")
		ask := func() string {
			t.Helper()
			w.Must(202, made("POST", "/api/auth/password-reset", "", fields{"email": strings.ToUpper(olga.Email)}))
			return w.MailedCode(olga.Email)
		}
		confirm := func(code string, n int) answer {
			return w.Send("POST", "/api/auth/password-reset/confirm", "", fields{"code": code, "password": fmt.Sprint(passwordCanary, n)})
		}
		verification := w.MailedCode(olga.Email)
		refused(t, "a code for something else", confirm(verification, 0), warranty.ValidationFailed)
		code := ask()
		refused(t, "a code for something else", w.Send("POST", "/api/auth/verify-email", olga.Session, fields{"code": code}), warranty.ValidationFailed)
		w.Unchanged(t, "a bad password", func() {
			refused(t, "a bad password", w.Send("POST", "/api/auth/password-reset/confirm", "", fields{"code": code, "password": "short"}), warranty.ValidationFailed)
		})

		want(t, "the code", confirm(strings.ToLower(strings.ReplaceAll(code, "-", " ")), 1), 204, "")
		w.Alive(t, "the session from before", olga.Session, false)
		refused(t, "the old password", w.Send("POST", "/api/auth/sessions", "", fields{"email": olga.Email, "password": olga.Password}), warranty.InvalidCredential)
		w.SignIn(olga.Email, passwordCanary+"1")
		w.Unchanged(t, "the code again", func() { refused(t, "the code again", confirm(code, 2), warranty.ValidationFailed) })

		// Anyone may request a code, so a newer one does not invalidate an older one; using one invalidates all.
		older, newer := ask(), ask()
		clock.Set(clock.Now().Add(30*time.Minute - time.Microsecond))
		want(t, "an older code a microsecond before its end", confirm(older, 4), 204, "")
		refused(t, "the newer code", confirm(newer, 3), warranty.ValidationFailed)
		late := ask()
		clock.Set(clock.Now().Add(30 * time.Minute))
		w.Unchanged(t, "a code at its end", func() { refused(t, "a code at its end", confirm(late, 5), warranty.ValidationFailed) })
		equal(t, "the sweep was not needed", w.Count(`SELECT count(*) FROM one_time_codes WHERE purpose = 2`), 1)
		w.SignIn(olga.Email, passwordCanary+"4")
	})
}

// TestVerifyEmail uses an emailed code, which works once within a day.
func TestVerifyEmail(t *testing.T) {
	eachStopped(t, func(t *testing.T, w *world, clock *stoppedClock) {
		verified := func(p servertest.Person) bool {
			t.Helper()
			var got session
			w.Must(200, made("GET", "/api/v1/auth/status", p.Session, nil)).Into(t, &got)
			return got.User.EmailVerified
		}
		olga, zoe := w.Person("Olga"), w.Person("Zoe")
		who := olga
		verify := func(code string) answer {
			return w.Send("POST", "/api/auth/verify-email", who.Session, fields{"code": code})
		}
		first := w.MailedCode(olga.Email)
		w.Must(202, made("POST", "/api/auth/verify-email/resend", olga.Session, nil))
		code := w.MailedCode(olga.Email)
		if first == code {
			t.Error("the same code was emailed again")
		}
		refused(t, "a code that another has replaced", verify(first), warranty.ValidationFailed)
		equal(t, "verified", verified(olga), false)
		want(t, "the code", verify(code), 200, "")
		equal(t, "verified", verified(olga), true)
		equal(t, "another user", verified(zoe), false)
		refused(t, "the code again", verify(code), warranty.ValidationFailed)
		w.Must(202, made("POST", "/api/auth/verify-email/resend", olga.Session, nil))
		if err := w.Service.SendMail(context.Background()); err != nil {
			t.Fatal(err)
		}
		equal(t, "no email to a verified address", w.MailedCode(olga.Email), code)

		who = zoe
		late := w.MailedCode(zoe.Email)
		w.Exec(`UPDATE sessions SET expires_at = 9000000000000000`)
		clock.Set(clock.Now().Add(24 * time.Hour))
		refused(t, "a code at its end", verify(late), warranty.ValidationFailed)
		equal(t, "verified", verified(zoe), false)
		w.Must(202, made("POST", "/api/auth/verify-email/resend", zoe.Session, nil))
		want(t, "a new code", verify(w.MailedCode(zoe.Email)), 200, "")
		for _, bad := range []string{"", " ", strings.Repeat("0", 101), "0000-0000-0000-0000-0000", "\u202e"} {
			refused(t, "the code "+bad, verify(bad), warranty.ValidationFailed)
		}
	})
}

// TestCodesWorkOnce uses one code many times concurrently.
func TestCodesWorkOnce(t *testing.T) {
	eachReplicas(t, func(t *testing.T, worlds []*world) {
		w := worlds[0]
		for round := range 4 {
			olga := w.Person(fmt.Sprintf("Olga%d", round))
			code := w.MailedCode(olga.Email)
			outcomes, _ := servertest.Flood(t, worlds, 32, func(int) request { return made("POST", "/api/auth/verify-email", olga.Session, fields{"code": code}) })
			equal(t, "32 verifications at once", outcomes, map[string]int{"200": 1, "422 validation_failed": 31})
		}
		zoe := w.Person("Zoe")
		w.Must(202, made("POST", "/api/auth/password-reset", "", fields{"email": zoe.Email}))
		code := w.MailedCode(zoe.Email)
		outcomes, answers := servertest.Flood(t, worlds, 8, func(i int) request {
			return made("POST", "/api/auth/password-reset/confirm", "", fields{"code": code, "password": fmt.Sprint(passwordCanary, i)})
		})
		equal(t, "8 resets at once", outcomes, map[string]int{"204": 1, "422 validation_failed": 7})
		won := slices.IndexFunc(answers, func(a answer) bool { return a.Status == 204 })
		w.SignIn(zoe.Email, fmt.Sprint(passwordCanary, won))
	})
}

// TestSignupClosed rejects registrations, also of addresses that have an account. The operator adds accounts.
func TestSignupClosed(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		if _, err := w.Service.AddUser(context.Background(), warranty.Register{Name: "Added", Email: "added@people.example", Password: passwordCanary}); err != nil {
			t.Fatal(err)
		}
		session := w.SignIn("added@people.example", passwordCanary)
		// The customers of an organization can register, so only administrators found one.
		founding := made("POST", "/api/organizations", session, fields{"name": "Halden"})
		refused(t, "an organization", w.Do(founding), warranty.RoleNotAllowed)
		for _, email := range []string{"new@people.example", "added@people.example"} {
			w.Unchanged(t, email, func() {
				register := made("POST", "/api/auth/register", "", fields{"name": "Second", "email": email, "password": passwordCanary})
				refused(t, email, w.Do(register), warranty.RoleNotAllowed)
			})
		}
	}, func(s *server.Server) { s.Service.SignupClosed = true })
}
