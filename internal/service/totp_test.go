package service_test

import (
	"encoding/base32"
	"encoding/hex"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"warranty.example/svc/internal/identity"
	"warranty.example/svc/internal/servertest"
	"warranty.example/svc/warranty"
)

const (
	accountSecurity = "/api/account/security"
	accountTOTP     = "/api/account/totp"
)

// app is an authenticator app.
type app struct {
	t      testing.TB
	secret string
	// shows is the time of the last code. A code is used once, so that the next one is one step later.
	shows time.Time
}

// next returns the next code that was not used.
func (a *app) next() string {
	a.shows = a.shows.Add(30 * time.Second)
	return a.at(a.shows)
}

func (a *app) at(when time.Time) string { return servertest.TOTP(a.t, a.secret, when) }

// wrong returns six digits that are not a code of the app around a time.
func (a *app) wrong(now time.Time) string {
	for i := range 10 {
		code := fmt.Sprintf("%06d", i)
		right := false
		for step := -3; step <= 3; step++ {
			right = right || a.at(now.Add(time.Duration(step)*30*time.Second)) == code
		}
		if !right {
			return code
		}
	}
	a.t.Fatal("every code is right")
	return ""
}

// withApp adds an authenticator app for a person.
func (w *world) withApp(p person) *app {
	w.T.Helper()
	made, err := w.Service.AddTOTP(ctx, p.Principal, warranty.AddTOTP{})
	if err != nil {
		w.T.Fatal(err)
	}
	a := &app{t: w.T, secret: made.Secret, shows: w.Service.Now()}
	if _, err = w.Service.ConfirmTOTP(ctx, p.Principal, warranty.ConfirmTOTP{Code: a.at(a.shows)}); err != nil {
		w.T.Fatal(err)
	}
	return a
}

// secured adds an authenticator app for a person and turns two-step sign-in on. It returns the recovery codes.
func (w *world) secured(p person) (*app, []string) {
	w.T.Helper()
	a := w.withApp(p)
	return a, w.turnOn(p)
}

func (w *world) turnOn(p person) []string {
	w.T.Helper()
	on, err := w.Service.UpdateSecurity(ctx, p.Principal, warranty.UpdateSecurity{TwoStep: new(true)})
	if err != nil || !on.TwoStep || len(on.Codes) != 10 {
		w.T.Fatalf("turning two-step sign-in on returns %+v, %v", on, err)
	}
	return on.Codes
}

// begin signs a person in up to the second step, and returns the flow.
func (w *world) begin(p person) string {
	w.T.Helper()
	return w.beginOf(p.User.Email)
}

func (w *world) beginOf(email string) string {
	w.T.Helper()
	_, err := w.Service.SignIn(ctx, warranty.Principal{Address: "192.0.2.1", Door: warranty.DoorAPI},
		warranty.SignIn{Email: email, Password: servertest.Password})
	if codeOf(err) != warranty.SecondFactorRequired {
		w.T.Fatalf("the first step returns %v", err)
	}
	return warranty.AsError(err).SecondStep.Flow
}

// byTOTP sends a code of an app as the second step of a sign-in.
func byTOTP(flow, code string) request {
	return made("POST", "/api/auth/sessions", "", fields{"flow": flow, "totp": code})
}

// subjects lists the subjects of the emails to a person, the oldest first.
func (w *world) subjects(u warranty.User) []string {
	w.T.Helper()
	return w.strings(`SELECT subject FROM mails WHERE address = '` + u.Email + `' ORDER BY id`)
}

// reconfirmed confirms the session of a person now.
func (w *world) reconfirmed(p person) person {
	w.T.Helper()
	w.execute(fmt.Sprintf(`UPDATE sessions SET confirmed_at = %d WHERE id = $1`, w.Service.Now().UnixMicro()), w.key(p.CredentialID))
	return w.reload(p)
}

// TestAnAppIsEnrolledOnce adds, changes and removes an authenticator app with the calls of people.
func TestAnAppIsEnrolledOnce(t *testing.T) {
	eachStopped(t, func(t *testing.T, w *world, clock *stoppedClock) {
		olga := w.person("Olga", true)
		sec := func() (s warranty.Security) {
			t.Helper()
			w.Must(200, made("GET", accountSecurity, olga.session, nil)).Into(t, &s)
			return s
		}
		on := made("PUT", accountSecurity, olga.session, fields{"two_step": true})
		confirm := func(code string) request {
			return made("POST", accountTOTP+"/confirm", olga.session, fields{"code": code})
		}
		equal(t, "at first", sec(), warranty.Security{TOTPAvailable: true})
		refused(t, "without a factor", w.Do(on), warranty.InvalidTransition)
		refused(t, "two_step is missing", w.Do(made("PUT", accountSecurity, olga.session, fields{})), warranty.ValidationFailed)
		refused(t, "codes without two-step sign-in", w.Do(made("POST", "/api/account/recovery-codes", olga.session, nil)), warranty.InvalidTransition)
		refused(t, "nothing to confirm", w.Do(confirm("123456")), warranty.InvalidTransition)
		refused(t, "nothing to remove", w.Do(made("DELETE", accountTOTP, olga.session, nil)), warranty.NotFound)

		add := func() *app {
			var begun warranty.NewTOTP
			w.Must(200, request{Method: "POST", Path: accountTOTP, Secret: olga.session}).Into(t, &begun)
			if !strings.HasPrefix(begun.URL, "otpauth://totp/") || !strings.Contains(begun.URL, "secret="+begun.Secret) {
				t.Errorf("the address is %s", begun.URL)
			}
			return &app{t: t, secret: begun.Secret, shows: clock.Now()}
		}
		first := add()
		again := add() // the first one was not scanned
		refused(t, "a wrong code", w.Do(confirm(again.wrong(clock.Now()))), warranty.InvalidCode)
		refused(t, "the code of the earlier secret", w.Do(confirm(first.at(clock.Now()))), warranty.InvalidCode)
		clock.Set(clock.Now().Add(warranty.TOTPPendingLifetime))
		olga = w.reconfirmed(olga)
		refused(t, "an hour later", w.Do(confirm(again.at(clock.Now()))), warranty.InvalidTransition)

		a := add()
		refused(t, "before its first code", w.Do(on), warranty.InvalidTransition)
		w.Must(200, confirm(a.at(clock.Now())))
		refused(t, "confirming it again", w.Do(confirm(a.next())), warranty.InvalidTransition)
		equal(t, "with an app", sec(), warranty.Security{TOTPAvailable: true, TOTP: &warranty.TOTP{AddedAt: clock.Now().UTC().Truncate(time.Microsecond)}})
		w.Must(204, made("DELETE", accountTOTP, olga.session, nil))
		equal(t, "without it", sec(), warranty.Security{TOTPAvailable: true})

		a, codes := w.secured(olga)
		refused(t, "removing the last factor", w.Do(made("DELETE", accountTOTP, olga.session, nil)), warranty.LastMethod)
		b := add()
		w.Must(201, byTOTP(w.begin(olga), a.next())) // still the earlier one
		w.Must(200, confirm(b.at(clock.Now())))
		clock.Set(clock.Now().Add(time.Minute))
		refused(t, "the app that was replaced", w.Do(byTOTP(w.begin(olga), a.at(clock.Now()))), warranty.InvalidCode)
		w.Must(201, byTOTP(w.begin(olga), b.at(clock.Now())))
		refused(t, "a recovery code of someone else", w.Do(second(w.begin(olga), w.twoStep(w.person("Zoe", true).User)[0])), warranty.InvalidCode)

		var fresh warranty.RecoveryCodes
		w.Must(200, made("POST", "/api/account/recovery-codes", olga.session, nil)).Into(t, &fresh)
		equal(t, "new codes", len(fresh.Codes), 10)
		refused(t, "a replaced recovery code", w.Do(second(w.begin(olga), codes[0])), warranty.InvalidCode)
		w.Must(201, second(w.begin(olga), fresh.Codes[0]))
		refused(t, "a used recovery code", w.Do(second(w.begin(olga), fresh.Codes[0])), warranty.InvalidCode)
		equal(t, "codes left", sec().RecoveryCodesLeft, 9)

		w.Must(200, made("PUT", accountSecurity, olga.session, fields{"two_step": false}))
		equal(t, "turned off", sec(), warranty.Security{TOTPAvailable: true})
		w.SignIn(olga.User.Email, servertest.Password)
	})
}

// TestATOTPCodeIsUsedOnce uses codes again, in other forms, earlier ones and those of other people, at every door.
func TestATOTPCodeIsUsedOnce(t *testing.T) {
	eachStopped(t, func(t *testing.T, w *world, clock *stoppedClock) {
		olga, zoe := w.person("Olga", true), w.person("Zoe", true)
		a, _ := w.secured(olga)
		z, _ := w.secured(zoe)
		refused(t, "the code that added the app", w.Do(byTOTP(w.begin(olga), a.at(clock.Now()))), warranty.InvalidCode)
		refused(t, "the step before", w.Do(byTOTP(w.begin(olga), a.at(clock.Now().Add(-30*time.Second)))), warranty.InvalidCode)
		flow, code := w.begin(olga), a.next()
		refused(t, "the code of someone else", w.Do(byTOTP(flow, z.next())), warranty.InvalidCode)
		for _, form := range []string{code[:5], code + "0", code[:3] + " " + code[3:], "+" + code[1:], wide(code)} {
			refused(t, form, w.Do(byTOTP(w.begin(olga), form)), warranty.InvalidCode)
		}
		w.execute(`DELETE FROM factor_tries`)
		var session warranty.Session
		w.Must(201, byTOTP(flow, code)).Into(t, &session)
		refused(t, "the code again", w.Do(byTOTP(w.begin(olga), code)), warranty.InvalidCode)
		confirm := func(code string) request {
			return confirming(session.AccessToken, fields{"password": servertest.Password, "totp": code})
		}
		refused(t, "the code again, to confirm", w.Do(confirm(code)), warranty.InvalidCode)
		clock.Set(clock.Now().Add(time.Minute))
		w.Must(200, confirm(a.at(clock.Now()))).Into(t, &session)
		refused(t, "the code that confirmed", w.Do(byTOTP(w.begin(olga), a.at(clock.Now()))), warranty.InvalidCode)
		refused(t, "an older step that was not used", w.Do(byTOTP(w.begin(olga), a.at(clock.Now().Add(-30*time.Second)))), warranty.InvalidCode)
		a.shows = clock.Now()
		b := w.Browser(t)
		page := b.Post("/sign-in", "email", olga.User.Email, "password", servertest.Password)
		page.Says(t, "the page of the second step", 403, `name="totp"`, `inputmode="numeric"`, `autocomplete="one-time-code"`)
		code = a.next()
		b.Post("/sign-in/second-step", "flow", hiddenFlow(t, page), "totp", code).Leads(t, "the code", "/")
		refused(t, "a code of the web", w.Do(byTOTP(w.begin(olga), code)), warranty.InvalidCode)
		equal(t, "second factors", w.strings(`SELECT DISTINCT CAST(second AS TEXT) FROM sessions WHERE second <> 0`), []string{"2"})
	})
}

// wide returns the full-width form of digits.
func wide(code string) string {
	return strings.Map(func(r rune) rune { return r - '0' + '０' }, code)
}

func hiddenFlow(t *testing.T, page servertest.Page) string {
	t.Helper()
	_, rest, _ := strings.Cut(page.Body, `name="flow" value="`)
	flow, _, found := strings.Cut(rest, `"`)
	if !found {
		t.Fatalf("the page has no flow: %s", page.Body)
	}
	return flow
}

// TestOneCodeAtOnceOnReplicas sends a code for 32 sign-ins and confirmations at once, on all replicas: one is
// accepted.
func TestOneCodeAtOnceOnReplicas(t *testing.T) {
	eachReplicas(t, func(t *testing.T, worlds []*world) {
		w := worlds[0]
		olga := w.person("Olga", true)
		now := w.Service.Now()
		for _, w := range worlds { // so that the code does not expire
			w.Service.Now = func() time.Time { return now }
		}
		a, _ := w.secured(olga)
		flows := make([]string, 24)
		for i := range flows {
			flows[i] = w.begin(olga)
		}
		code := a.next()
		var mu sync.Mutex
		var accepted []string
		together(32, func(i int) {
			w, what := worlds[i%len(worlds)], "a sign-in"
			var err error
			if i < len(flows) {
				_, err = w.Service.SignIn(ctx, warranty.Principal{Address: "192.0.2.1", Door: warranty.DoorAPI},
					warranty.SignIn{Flow: flows[i], TOTP: code})
			} else {
				what = "a confirmation"
				_, err = w.Service.ConfirmSession(ctx, olga.Principal, warranty.ConfirmSession{Password: servertest.Password, TOTP: code})
			}
			mu.Lock()
			defer mu.Unlock()
			switch codeOf(err) {
			case "":
				accepted = append(accepted, what)
			case warranty.InvalidCode, warranty.RateLimited, warranty.SessionExpired, warranty.Unavailable:
			default:
				t.Errorf("%s returns %v", what, err)
			}
		})
		equal(t, "accepted", len(accepted), 1)
	}, busy)
}

// TestOneRecoveryCodeAtOnceOnReplicas does so with a recovery code.
func TestOneRecoveryCodeAtOnceOnReplicas(t *testing.T) {
	eachReplicas(t, func(t *testing.T, worlds []*world) {
		w := worlds[0]
		olga := w.person("Olga", true)
		_, codes := w.secured(olga)
		flows := make([]string, 32)
		for i := range flows {
			flows[i] = w.begin(olga)
		}
		var mu sync.Mutex
		accepted := 0
		together(len(flows), func(i int) {
			_, err := worlds[i%len(worlds)].Service.SignIn(ctx, warranty.Principal{Address: "192.0.2.1", Door: warranty.DoorAPI},
				warranty.SignIn{Flow: flows[i], RecoveryCode: codes[0]})
			mu.Lock()
			defer mu.Unlock()
			if err == nil {
				accepted++
			}
		})
		equal(t, "accepted", accepted, 1)
		equal(t, "codes left", w.number(`SELECT count(*) FROM recovery_codes WHERE used_at IS NULL`), int64(9))
	}, busy)
}

// TestAnUnconfirmedAppIsNoFactor begins to add an app: it completes nothing, and its secret cannot be read again, not
// even in the database.
func TestAnUnconfirmedAppIsNoFactor(t *testing.T) {
	eachStopped(t, func(t *testing.T, w *world, clock *stoppedClock) {
		olga := w.person("Olga", true)
		w.twoStep(olga.User)
		begun, err := w.Service.AddTOTP(ctx, olga.Principal, warranty.AddTOTP{})
		if err != nil {
			t.Fatal(err)
		}
		a := &app{t: t, secret: begun.Secret, shows: clock.Now()}
		flow := needsSecondStep(t, "a sign-in", w.Do(made("POST", "/api/auth/sessions", "",
			fields{"email": olga.User.Email, "password": servertest.Password}))) // with recovery codes alone
		refused(t, "its code", w.Do(byTOTP(flow, a.at(clock.Now()))), warranty.InvalidCode)
		refused(t, "its code, to confirm", w.Do(confirming(olga.session, fields{"password": servertest.Password, "totp": a.at(clock.Now())})), warranty.InvalidCode)
		hidden := func(what string) {
			t.Helper()
			raw := base32Of(t, begun.Secret)
			text := w.Do(request{Method: "GET", Path: accountSecurity, Secret: olga.session}).Body +
				securityPage(t, w, olga) + w.Log.String() + w.dump()
			for _, form := range []string{begun.Secret, string(raw), hex.EncodeToString(raw), fmt.Sprint(raw)} {
				if strings.Contains(strings.ToLower(text), strings.ToLower(form)) {
					t.Errorf("%s: the secret can be read", what)
				}
			}
		}
		hidden("before the first code")
		if _, err := w.Service.ConfirmTOTP(ctx, olga.Principal, warranty.ConfirmTOTP{Code: a.at(clock.Now())}); err != nil {
			t.Fatal(err)
		}
		hidden("afterwards")
		w.Must(201, byTOTP(w.begin(olga), a.next()))
	})
}

// TestTheLastFactorGoesOnlyWithTheSwitch turns two-step sign-in on while factors are removed, at once on all replicas:
// no one is left with two-step sign-in and no factor.
func TestTheLastFactorGoesOnlyWithTheSwitch(t *testing.T) {
	eachReplicas(t, func(t *testing.T, worlds []*world) {
		w := worlds[0]
		for range 8 {
			olga := w.person("Olga", true)
			w.withApp(olga)
			together(6, func(i int) {
				var err error
				s := worlds[i%len(worlds)].Service
				if i%2 == 0 {
					_, err = s.UpdateSecurity(ctx, olga.Principal, warranty.UpdateSecurity{TwoStep: new(true)})
				} else {
					_, err = s.RemoveTOTP(ctx, olga.Principal, warranty.RemoveTOTP{})
				}
				switch codeOf(err) {
				case "", warranty.LastMethod, warranty.InvalidTransition, warranty.NotFound:
				default:
					t.Error(err)
				}
			})
		}
		equal(t, "people with two-step sign-in and no factor", w.number(`SELECT count(*) FROM users u WHERE two_step_since IS NOT NULL
			AND NOT EXISTS (SELECT 1 FROM totp t WHERE t.user_id = u.id)`), int64(0))

		// With a passkey it is not the last one.
		olga := w.person("Olga", true)
		w.secured(olga)
		w.passkey(olga.User)
		if _, err := w.Service.RemoveTOTP(ctx, olga.Principal, warranty.RemoveTOTP{}); err != nil {
			t.Error(err)
		}
		w.execute(`DELETE FROM passkeys`)
		if _, err := w.Service.UpdateSecurity(ctx, olga.Principal, warranty.UpdateSecurity{TwoStep: new(false)}); err != nil {
			t.Error(err)
		}
		w.passkey(olga.User)
		w.turnOn(olga)
	}, busy)
}

// passkey adds a passkey for a person.
func (w *world) passkey(u warranty.User) {
	w.T.Helper()
	id := w.literal(w.Service.NewID())
	blob := `X'00'`
	if w.postgres {
		blob = `'\x00'`
	}
	w.execute(`INSERT INTO passkeys (id, user_id, name, credential_id, public_key, counter, transports, backup_eligible, backed_up, created_at)
		VALUES (` + id + `, ` + w.literal(u.ID) + `, 'Phone', ` + blob + `, ` + blob + `, 0, '', 0, 0, 1)`)
}

// securityPage returns the page /settings/security of a person.
func securityPage(t *testing.T, w *world, p person) string {
	t.Helper()
	b := w.Browser(t)
	b.Cookie = "__Host-svc_session=" + p.session
	page := b.Get("/settings/security")
	page.Says(t, "the page", 200, p.User.Email)
	return page.Body
}

// dump returns all rows of all tables as text.
func (w *world) dump() string {
	var all strings.Builder
	for _, table := range w.tables() {
		all.WriteString(strings.Join(w.rows(table), "\n"))
	}
	return all.String()
}

func base32Of(t *testing.T, text string) []byte {
	t.Helper()
	raw, err := base32.StdEncoding.WithPadding(base32.NoPadding).DecodeString(text)
	if err != nil {
		t.Fatal(err)
	}
	return raw
}

// TestSecondStepsAreCountedOverDoors guesses codes of an app by turns at every door. Ten are checked in an hour and
// thirty in a day, whatever is removed or switched meanwhile and whichever process counts; recovery codes still work.
func TestSecondStepsAreCountedOverDoors(t *testing.T) {
	eachStopped(t, func(t *testing.T, w *world, clock *stoppedClock) {
		olga, zoe := w.person("Olga", true), w.person("Zoe", true)
		a, codes := w.secured(olga)
		b := w.Browser(t)
		guess := []func() warranty.Code{
			func() warranty.Code { return code(t, w.Do(byTOTP(w.begin(olga), a.wrong(clock.Now())))) },
			func() warranty.Code {
				page := b.Post("/sign-in", "email", olga.User.Email, "password", servertest.Password)
				switch got := b.Post("/sign-in/second-step", "flow", hiddenFlow(t, page), "totp", a.wrong(clock.Now())); got.Status {
				case 422:
					return warranty.InvalidCode
				case 429:
					return warranty.RateLimited
				default:
					t.Errorf("the page is %d", got.Status)
					return ""
				}
			},
			func() warranty.Code {
				return code(t, w.Do(confirming(olga.session, fields{"password": servertest.Password, "totp": a.wrong(clock.Now())})))
			},
			func() warranty.Code {
				if _, err := w.Service.AddTOTP(ctx, olga.Principal, warranty.AddTOTP{}); err != nil {
					t.Fatal(err)
				}
				return code(t, w.Do(made("POST", accountTOTP+"/confirm", olga.session, fields{"code": a.wrong(clock.Now())})))
			},
			func() warranty.Code { // removed, and another one added
				off, on := warranty.UpdateSecurity{TwoStep: new(false)}, warranty.UpdateSecurity{TwoStep: new(true)}
				w.execute(`UPDATE totp SET last_step = 0`) // whatever was used
				if _, err := w.Service.UpdateSecurity(ctx, olga.Principal, off); err != nil {
					t.Fatal(err)
				}
				begun, err := w.Service.AddTOTP(ctx, olga.Principal, warranty.AddTOTP{})
				if err != nil {
					t.Fatal(err)
				}
				a = &app{t: t, secret: begun.Secret, shows: clock.Now()}
				in := warranty.ConfirmTOTP{Code: a.at(clock.Now())}
				if _, err := w.Service.ConfirmTOTP(ctx, olga.Principal, in); codeOf(err) == warranty.RateLimited {
					w.execute(`INSERT INTO totp (user_id, sealed_secret, created_at, confirmed_at, last_step)
						SELECT user_id, sealed_secret, 1, 1, 0 FROM totp_pending`)
				} else if err != nil {
					t.Fatal(err)
				}
				turned, err := w.Service.UpdateSecurity(ctx, olga.Principal, on)
				if err != nil {
					t.Fatal(err)
				}
				codes = turned.Codes
				return code(t, w.Do(byTOTP(w.begin(olga), a.wrong(clock.Now()))))
			},
		}
		for hour := range 4 {
			counts := map[warranty.Code]int{}
			for i := range 15 {
				olga = w.reconfirmed(olga)
				counts[guess[i%len(guess)]()]++
			}
			want := map[warranty.Code]int{warranty.InvalidCode: 10, warranty.RateLimited: 5}
			if hour == 3 { // thirty were checked
				want = map[warranty.Code]int{warranty.RateLimited: 15}
			}
			equal(t, fmt.Sprintf("hour %d", hour), counts, want)
			refused(t, "the right code", w.Do(byTOTP(w.begin(olga), a.next())), warranty.RateLimited)
			w.Must(201, second(w.begin(olga), codes[0]))
			clock.Set(clock.Now().Add(time.Hour))
			codes = codes[1:]
		}
		z, _ := w.secured(w.reconfirmed(zoe))
		w.Must(201, byTOTP(w.begin(zoe), z.next())) // others are not affected
		clock.Set(clock.Now().Add(21 * time.Hour))
		w.Must(201, byTOTP(w.begin(olga), a.at(clock.Now())))
	})
}

// code returns the code of a refusal.
func code(t *testing.T, a servertest.Answer) warranty.Code {
	t.Helper()
	if a.Status < 400 {
		t.Errorf("a wrong code was accepted: %d", a.Status)
	}
	return warranty.Code(a.Code())
}

// TestStrangersLockNobodyOut sends second steps without a right first one: nothing is counted.
func TestStrangersLockNobodyOut(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		olga := w.person("Olga", true)
		a, _ := w.secured(olga)
		for range 12 {
			refused(t, "a guess", w.Do(byTOTP(secret(t, warranty.FlowSecret), "123456")), warranty.InvalidCredential)
			refused(t, "a wrong password", w.Do(made("POST", "/api/auth/sessions", "",
				fields{"email": olga.User.Email, "password": passwordCanary})), warranty.InvalidCredential)
		}
		equal(t, "tries", w.number(`SELECT COALESCE(sum(tries), 0) FROM factor_tries`), int64(0))
		w.Must(201, byTOTP(w.begin(olga), a.next()))
	})
}

// TestChangesOfFactorsAreMailed changes everything once. People without a verified address get no email.
func TestChangesOfFactorsAreMailed(t *testing.T) {
	eachStopped(t, func(t *testing.T, w *world, clock *stoppedClock) {
		for _, verified := range []bool{true, false} {
			olga := w.person("Olga", verified)
			olga.Address, olga.UserAgent = "203.0.113.77", "Mozilla/5.0 (X11; Linux x86_64; rv:140.0) Gecko/20100101 Firefox/140.0"
			a, codes := w.secured(olga)
			flow := w.begin(olga)
			for range 3 {
				refused(t, "a wrong code", w.Do(byTOTP(flow, a.wrong(clock.Now()))), warranty.InvalidCode)
			}
			for range 7 {
				refused(t, "a wrong recovery code", w.Do(second(w.begin(olga), codes[0][:20])), warranty.InvalidCode)
			}
			w.Must(201, second(w.begin(olga), codes[0]))
			for range 2 {
				refused(t, "one more", w.Do(byTOTP(w.begin(olga), a.wrong(clock.Now()))), warranty.InvalidCode)
			}
			do := func(err error) {
				t.Helper()
				if err != nil {
					t.Fatal(err)
				}
			}
			_, err := w.Service.CreateRecoveryCodes(ctx, olga.Principal, warranty.CreateRecoveryCodes{})
			do(err)
			_, err = w.Service.UpdateSecurity(ctx, olga.Principal, warranty.UpdateSecurity{TwoStep: new(true)}) // it is on
			do(err)
			_, err = w.Service.UpdateSecurity(ctx, olga.Principal, warranty.UpdateSecurity{TwoStep: new(false)})
			do(err)
			w.withApp(olga)
			_, err = w.Service.RemoveTOTP(ctx, olga.Principal, warranty.RemoveTOTP{})
			do(err)
			do(w.Service.ResetSecondFactors(ctx, olga.User.Email))
			var want []string
			if verified {
				want = []string{"Authenticator app added", "Two-step sign-in is on", "Wrong codes for your account",
					"Recovery code used", "New recovery codes", "Two-step sign-in is off", "Authenticator app added",
					"Authenticator app removed", "Your second sign-in step was reset"}
			}
			equal(t, fmt.Sprintf("emails of a verified address: %v", verified), w.subjects(olga.User), want)
			if !verified {
				continue
			}
			bodies := w.strings(`SELECT body FROM mails WHERE address = '` + olga.User.Email + `' ORDER BY id`)
			for i, says := range map[int][]string{0: {"203.0.113.x", "Firefox", "This was not me"}, 2: {"10 wrong codes"}, 3: {"Codes left: 9"}} {
				for _, text := range says {
					if !strings.Contains(bodies[i], text) {
						t.Errorf("the email %q does not say %q: %s", want[i], text, bodies[i])
					}
				}
			}
			equal(t, "in the history", w.strings(`SELECT CAST(count(*) AS TEXT) FROM history WHERE thread_id = `+w.literal(olga.User.ID)), []string{"1"})
		}
	})
}

// TestWithoutTheSecretsKey signs in with another key, and without one: codes of apps are refused, and recovery codes
// work.
func TestWithoutTheSecretsKey(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		olga := w.person("Olga", true)
		a, codes := w.secured(olga)
		other, err := identity.NewSecretsKey()
		if err != nil {
			t.Fatal(err)
		}
		for i, key := range []identity.SecretsKey{{}, other} {
			w.Service.Secrets = key
			got := w.Do(byTOTP(w.begin(olga), a.at(w.Service.Now().Add(30*time.Second))))
			refused(t, "a code", got, warranty.InvalidCode)
			if !strings.Contains(got.Body, "cannot be checked") {
				t.Errorf("the answer is %s", got.Body)
			}
			w.Must(201, second(w.begin(olga), codes[i]))
		}
		w.Service.Secrets = identity.SecretsKey{}
		refused(t, "adding an app", w.Do(request{Method: "POST", Path: accountTOTP, Secret: olga.session}), warranty.RoleNotAllowed)
		if page := securityPage(t, w, w.person("Zoe", true)); !strings.Contains(page, "Authenticator apps are off") {
			t.Error("the page does not say so")
		}
	})
}

// TestASealedSecretStaysWithItsOwner copies the sealed secret of one person to another one: it cannot be opened there.
// A conversion moves it with the person.
func TestASealedSecretStaysWithItsOwner(t *testing.T) {
	eachStopped(t, func(t *testing.T, w *world, clock *stoppedClock) {
		olga, eve := w.person("Olga", true), w.person("Eve", true)
		a, _ := w.secured(olga)
		w.secured(eve)
		w.execute(`UPDATE totp SET last_step = 0, sealed_secret = (SELECT x.sealed_secret FROM totp x
			WHERE x.user_id = ` + w.literal(olga.User.ID) + `) WHERE user_id = ` + w.literal(eve.User.ID))
		refused(t, "a copied secret", w.Do(byTOTP(w.begin(eve), a.at(clock.Now()))), warranty.InvalidCode)

		email := "own." + olga.User.Email
		if _, err := w.Service.ConvertAccount(ctx, olga.Principal, warranty.ConvertAccount{OrganizationName: "Shop", Name: "Olga",
			Email: email, Password: servertest.Password}); err != nil {
			t.Fatal(err)
		}
		w.Must(200, made("POST", "/api/account/organization/confirm", olga.session, fields{"code": w.mailedCode(email)}))
		w.execute(`UPDATE users SET password_hash = '` + passwordHash(t, w) + `' WHERE email = '` + email + `'`)
		w.Must(201, byTOTP(w.beginOf(email), a.next()))
	})
}
