package service_test

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"warranty.example/svc/internal/servertest"
	"warranty.example/svc/internal/store"
	"warranty.example/svc/warranty"
)

// TestOneFunctionMakesSessions fails if sessions are made, or given to another person, outside of complete.go.
func TestOneFunctionMakesSessions(t *testing.T) {
	t.Parallel()
	makes := regexp.MustCompile(`\.(InsertSession|MarkConfirmed|RenewSession|MoveSession)\(|(INSERT INTO|UPDATE) sessions`)
	allowed := map[string][]string{
		"internal/service/complete.go": {".InsertSession(", ".RenewSession(", ".MarkConfirmed(", ".MoveSession("},
		"internal/store/sessions.go": {"INSERT INTO sessions", "UPDATE sessions", "UPDATE sessions", "UPDATE sessions", "UPDATE sessions",
			"UPDATE sessions"},
	}
	found := map[string][]string{}
	root := filepath.Join("..", "..")
	for _, dir := range []string{"internal", "cmd", "client", "api", "warranty"} {
		err := filepath.WalkDir(filepath.Join(root, dir), func(path string, d os.DirEntry, err error) error {
			if err != nil || d.IsDir() || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") {
				return err
			}
			text, err := os.ReadFile(path)
			if calls := makes.FindAllString(string(text), -1); len(calls) > 0 {
				name, _ := filepath.Rel(root, path)
				found[filepath.ToSlash(name)] = calls
			}
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	equal(t, "what makes sessions", found, allowed)
}

// twoStep turns on two-step sign-in for a person and returns recovery codes.
func (w *world) twoStep(u warranty.User) (codes []string) {
	w.T.Helper()
	for range 4 {
		code, err := warranty.NewRecoveryCode(w.Service.Random)
		if err != nil {
			w.T.Fatal(err)
		}
		codes = append(codes, code)
		w.write(func(tx *store.Tx) error {
			return tx.InsertRecoveryCode(u.ID, warranty.HashRecoveryCode(code), w.Clock.Now())
		})
	}
	w.execute(`UPDATE users SET two_step_since = 1 WHERE id = ` + w.literal(u.ID))
	return codes
}

// needsSecondStep checks that an answer asks for the second step, and returns the flow.
func needsSecondStep(t *testing.T, what string, a servertest.Answer) string {
	t.Helper()
	var p warranty.Problem
	if err := json.Unmarshal([]byte(a.Body), &p); err != nil {
		t.Fatalf("%s: %d %s: %v", what, a.Status, a.Body, err)
	}
	kind, ok := warranty.ParseSecret(p.Flow)
	if a.Status != 403 || p.Code != warranty.SecondFactorRequired || !ok || kind != warranty.FlowSecret ||
		p.FlowExpires == nil || len(p.Methods) != 1 || p.Methods[0] != warranty.SecondRecoveryCode {
		t.Fatalf("%s: %d %s", what, a.Status, a.Body)
	}
	return p.Flow
}

// second sends the second step of a sign-in.
func second(flow, recovery string) request {
	return made("POST", "/api/auth/sessions", "", fields{"flow": flow, "recovery_code": recovery})
}

// sessionsOf counts the sessions of a person.
func (w *world) sessionsOf(u warranty.User) int64 {
	return w.number(`SELECT count(*) FROM sessions WHERE user_id = ` + w.literal(u.ID))
}

// TestTwoStepsAtEveryDoor signs in by every first factor: none makes a session without the second step, and the flow is
// accepted nowhere else.
func TestTwoStepsAtEveryDoor(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		olga := w.person("Olga", true)
		codes := w.twoStep(olga.User)
		email, before := olga.User.Email, w.sessionsOf(olga.User)
		sold := w.issuer("Bea").sells(warranty.CreateWarranty{CustomerEmail: email})
		offer := w.mailedCode(email)
		for i, door := range []struct {
			name string
			request
		}{
			{"a password", made("POST", "/api/auth/sessions", "", fields{"email": email, "password": servertest.Password})},
			{"an emailed code", made("POST", "/api/auth/sessions", "", fields{"email": email, "code": w.code(olga.User, store.ForSignIn)})},
			{"the code of an offer", made("POST", "/api/handovers/register", "", fields{"code": offer})},
		} {
			flow := needsSecondStep(t, door.name, w.Do(door.request))
			equal(t, door.name+": sessions", w.sessionsOf(olga.User), before+int64(i))
			w.Alive(t, door.name+": the flow as a session", flow, false)
			refused(t, door.name+": as a key", w.Get("/api/v1/warranties", "", "x-api-key", flow), warranty.InvalidCredential)
			b := w.Browser(t)
			b.Cookie = "__Host-svc_session=" + flow
			for _, page := range []string{"/warranties", "/settings/profile", "/oauth/authorize?client_id=x", "/documents"} {
				if got := b.Get(page); got.Status == 200 && !strings.Contains(got.Body, "/sign-in") {
					t.Errorf("%s: %s with a flow returns %d", door.name, page, got.Status)
				}
			}
			refused(t, door.name+": wrong second step", w.Do(second(flow, codes[3][:28])), warranty.InvalidCode)
			var session warranty.Session
			w.Must(201, second(flow, strings.ToLower(codes[i]))).Into(t, &session)
			w.Alive(t, door.name+": the session", session.AccessToken, true)
			refused(t, door.name+": again", w.Do(second(flow, codes[3])), warranty.InvalidCredential)
		}
		// The offer was not taken before the second step. It is now.
		_ = sold
		w.Must(200, made("POST", "/api/handovers/take", w.session(olga.User, time.Hour).session, fields{"code": offer}))
		flow := needsSecondStep(t, "a used code", w.Do(made("POST", "/api/auth/sessions", "",
			fields{"email": email, "password": servertest.Password})))
		refused(t, "a recovery code that was used", w.Do(second(flow, codes[0])), warranty.InvalidCode)
		equal(t, "methods", w.strings(`SELECT CAST(method AS TEXT) || ' ' || CAST(second AS TEXT) FROM sessions WHERE second <> 0 ORDER BY id`),
			[]string{"1 3", "2 3", "3 3"})
	})
}

// TestAFlowHasFiveTries refuses the right code at the sixth try, after ten minutes, and the code of someone else.
func TestAFlowHasFiveTries(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		olga, zoe := w.person("Olga", true), w.person("Zoe", true)
		codes, hers := w.twoStep(olga.User), w.twoStep(zoe.User)
		begin := func(p person) string {
			return needsSecondStep(t, "a sign-in", w.Do(made("POST", "/api/auth/sessions", "",
				fields{"email": p.User.Email, "password": servertest.Password})))
		}
		flow := begin(olga)
		for range warranty.FlowTries {
			refused(t, "a code of someone else", w.Do(second(flow, hers[0])), warranty.InvalidCode)
		}
		refused(t, "the sixth try", w.Do(second(flow, codes[0])), warranty.InvalidCredential)
		late := begin(olga)
		w.Clock.Advance(warranty.FlowLifetime)
		refused(t, "too late", w.Do(second(late, codes[0])), warranty.InvalidCredential)
		// Ten tries an hour, whatever the flow.
		refused(t, "another flow", w.Do(second(begin(olga), hers[0])), warranty.InvalidCode)
		flow = begin(olga)
		for range 4 {
			refused(t, "the tenth try", w.Do(second(flow, hers[0])), warranty.InvalidCode)
		}
		wait := w.Do(second(begin(olga), codes[0]))
		refused(t, "the eleventh try", wait, warranty.RateLimited)
		w.Must(201, second(begin(zoe), hers[0]))
		w.Clock.Advance(time.Hour)
		w.Must(201, second(begin(olga), codes[0]))
	})
}

// TestASecondStepIsUsedOnce sends one second step 16 times at once, and one code to 8 flows.
func TestASecondStepIsUsedOnce(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		olga := w.person("Olga", true)
		codes := w.twoStep(olga.User)
		begin := func() string {
			return needsSecondStep(t, "a sign-in", w.Do(made("POST", "/api/auth/sessions", "",
				fields{"email": olga.User.Email, "password": servertest.Password})))
		}
		at := func(n int, send func(i int) request) (made int) {
			answers := make([]int, n)
			var group sync.WaitGroup
			for i := range n {
				group.Go(func() {
					a, err := w.Try(send(i))
					if err != nil {
						t.Error(err)
					}
					answers[i] = a.Status
				})
			}
			group.Wait()
			for _, status := range answers {
				if status == 201 {
					made++
				}
			}
			return made
		}
		flow := begin()
		equal(t, "sessions of one flow", at(4, func(i int) request { return second(flow, codes[i%2]) }), 1)
		flows := []string{begin(), begin(), begin(), begin()}
		equal(t, "sessions of one code", at(4, func(i int) request { return second(flows[i], codes[2]) }), 1)
	})
}

// TestAFlowStaysInItsBrowser continues a sign-in of a browser in another one and in a program.
func TestAFlowStaysInItsBrowser(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		olga := w.person("Olga", true)
		codes := w.twoStep(olga.User)
		begin := func(b *servertest.Browser) string {
			page := b.Post("/sign-in", "email", olga.User.Email, "password", servertest.Password, "next", "/claims")
			flow := regexp.MustCompile(`name="flow" value="(svf_\w+)"`).FindStringSubmatch(page.Body)
			if page.Status != 403 || flow == nil || b.Cookie != "" || b.Flow == "" || !strings.Contains(page.Body, `name="recovery_code"`) {
				t.Fatalf("the page is %d: %s", page.Status, page.Body)
			}
			return flow[1]
		}
		b, other := w.Browser(t), w.Browser(t)
		flow := begin(b)
		foreign := begin(other)
		if got := w.Browser(t).Post("/sign-in/second-step", "flow", flow, "recovery_code", codes[0]); got.Status == 303 {
			t.Error("a browser without the cookie continued the sign-in")
		}
		if got := other.Post("/sign-in/second-step", "flow", flow, "recovery_code", codes[0]); got.Status == 303 || other.Cookie != "" {
			t.Error("another browser continued the sign-in")
		}
		refused(t, "a program", w.Do(second(flow, codes[0])), warranty.InvalidCredential)
		if got := b.Post("/sign-in/second-step", "flow", flow, "methods", "recovery_code", "recovery_code", "x"); got.Status != 422 ||
			!strings.Contains(got.Body, "This recovery code is wrong") {
			t.Errorf("a wrong code returns %d: %s", got.Status, got.Body)
		}
		b.Post("/sign-in/second-step", "flow", flow, "recovery_code", codes[0], "next", "/claims").Leads(t, "the second step", "/claims")
		w.Alive(t, "the session", browserSession(t, b), true)
		equal(t, "the cookie of the flow", b.Flow, "")
		refused(t, "the foreign flow", w.Do(second(foreign, codes[1])), warranty.InvalidCredential)
		// A program's flow cannot be finished in a browser either.
		flow = needsSecondStep(t, "a program", w.Do(made("POST", "/api/auth/sessions", "",
			fields{"email": olga.User.Email, "password": servertest.Password})))
		if got := other.Post("/sign-in/second-step", "flow", flow, "recovery_code", codes[1]); got.Status == 303 {
			t.Error("a browser continued the sign-in of a program")
		}
	})
}

// TestAResetSignsNobodyIn resets a password: the answer has no session, and the second step stays.
func TestAResetSignsNobodyIn(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		olga := w.person("Olga", true)
		codes := w.twoStep(olga.User)
		flow := needsSecondStep(t, "before", w.Do(made("POST", "/api/auth/sessions", "",
			fields{"email": olga.User.Email, "password": servertest.Password})))
		reset := w.Must(204, made("POST", "/api/auth/password-reset/confirm", "",
			fields{"code": w.code(olga.User, store.ForReset), "password": passwordCanary}))
		equal(t, "the answer", reset.Body, "")
		equal(t, "sessions", w.sessionsOf(olga.User), int64(0))
		refused(t, "the flow before", w.Do(second(flow, codes[0])), warranty.InvalidCredential)
		b := w.Browser(t)
		b.Post("/reset-password/confirm", "code", w.code(olga.User, store.ForReset), "password", passwordCanary+" 2").
			Leads(t, "a reset", "/sign-in?done=password")
		equal(t, "the cookie of the session", b.Cookie, "")
		needsSecondStep(t, "after", w.Do(made("POST", "/api/auth/sessions", "",
			fields{"email": olga.User.Email, "password": passwordCanary + " 2"})))
	})
}

// TestAConversionSkipsNoSecondStep turns an account into an organization whose admin is another account with two-step
// sign-in: the session ends instead of becoming one of that account.
func TestAConversionSkipsNoSecondStep(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		for _, on := range []bool{false, true} {
			nora, olga := w.person("Nora", true), w.person("Olga", true)
			w.twoStep(nora.User)
			if on {
				w.twoStep(olga.User)
			}
			_, err := w.Service.ConvertAccount(t.Context(), nora.Principal, warranty.ConvertAccount{OrganizationName: "Shop", Name: "Nora",
				Email: olga.User.Email, Password: servertest.Password})
			if err != nil {
				t.Fatal(err)
			}
			w.Must(200, made("POST", "/api/account/organization/confirm", nora.session, fields{"code": w.mailedCode(olga.User.Email)}))
			w.Alive(t, fmt.Sprintf("the session of an account with two-step sign-in %v", on), nora.session, !on)
			equal(t, "factors of the organization", w.number(`SELECT count(*) FROM recovery_codes WHERE user_id = `+w.literal(nora.User.ID)), int64(0))
		}
	})
}

// TestAChangedPasswordRenewsTheSession changes the password: the session continues with another secret, and a write that
// was authenticated with the old one no longer commits.
func TestAChangedPasswordRenewsTheSession(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		olga := w.person("Olga", true)
		before, err := w.Service.Authenticate(t.Context(), olga.session, false)
		if err != nil {
			t.Fatal(err)
		}
		var session warranty.Session
		w.Must(200, made("POST", "/api/auth/password", olga.session, fields{"current_password": servertest.Password,
			"new_password": passwordCanary})).Into(t, &session)
		w.Alive(t, "the old secret", olga.session, false)
		w.Alive(t, "the new secret", session.AccessToken, true)
		equal(t, "expires", session.ExpiresAt, before.ExpiresAt)
		_, err = w.Service.CreateWarranty(t.Context(), before, pan)
		if warranty.AsError(err).Code != warranty.SessionExpired {
			t.Errorf("a write with the old secret returns %v", err)
		}
	})
}

// TestSessionsSayHowTheyBegan stores the method, the program, the system and the masked network.
func TestSessionsSayHowTheyBegan(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		olga := w.person("Olga", true)
		r := made("POST", "/api/auth/sessions", "", fields{"email": olga.User.Email, "password": servertest.Password})
		r.Header["User-Agent"] = "Mozilla/5.0 (Windows NT 10.0; Win64; x64) AppleWebKit/537.36 Chrome/139.0 Safari/537.36"
		w.Must(201, r)
		r.Header["User-Agent"] = "<script>alert(1)</script>"
		w.Must(201, r)
		equal(t, "sessions", w.strings(`SELECT CAST(method AS TEXT) || ' ' || program || ' ' || system || ' ' || network FROM sessions
			WHERE network <> '' ORDER BY created_at, id`), []string{"1 Chrome Windows 127.0.0.x", "1   127.0.0.x"})
		equal(t, "confirmed", w.number(`SELECT count(*) FROM sessions
			WHERE network <> '' AND confirmed_at = created_at AND seen_at = created_at`), int64(2))
	})
}
