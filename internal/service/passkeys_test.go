package service_test

import (
	"bytes"
	"encoding/json"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"warranty.example/svc/internal/identity"
	"warranty.example/svc/internal/identity/identitytest"
	"warranty.example/svc/internal/servertest"
	"warranty.example/svc/internal/store"
	"warranty.example/svc/warranty"
)

// change changes the answer of an authenticator before it is signed.
type change = func(*identitytest.Answer)

// newPhone returns an authenticator, used on the pages of the service.
func newPhone() *identitytest.Authenticator {
	return &identitytest.Authenticator{Origin: servertest.PublicURL}
}

// inBrowser returns the principal of a person who uses a browser.
func inBrowser(p person) warranty.Principal {
	who := p.Principal
	who.Door, who.Browser, who.Device, who.Address = warranty.DoorWeb, "browser of "+p.User.ID.String(), "device", "192.0.2.1"
	return who
}

// visitor returns the principal of a browser in which nobody is signed in.
func visitor(browser string) warranty.Principal {
	return warranty.Principal{Door: warranty.DoorWeb, Browser: browser, Device: "device", Address: "192.0.2.1"}
}

// makePasskey makes a passkey for a page in the session of a person, and returns what the page sends.
func (w *world) makePasskey(p person, phone *identitytest.Authenticator, changes ...change) warranty.AddPasskey {
	w.T.Helper()
	made, err := w.Service.NewPasskey(ctx, inBrowser(p))
	if err != nil {
		w.T.Fatal(err)
	}
	answer, err := phone.Create([]byte(made.Options), changes...)
	if err != nil {
		w.T.Fatal(err)
	}
	return warranty.AddPasskey{Answer: string(answer), Handle: made.Handle, Name: "Phone"}
}

// withPasskey adds a passkey to the account of a person.
func (w *world) withPasskey(p person, changes ...change) *identitytest.Authenticator {
	w.T.Helper()
	phone := newPhone()
	if err := w.Service.AddPasskey(ctx, inBrowser(p), w.makePasskey(p, phone, changes...)); err != nil {
		w.T.Fatal(err)
	}
	return phone
}

// answer answers the sign-in page of a browser.
func (w *world) answer(browser string, phone *identitytest.Authenticator, changes ...change) string {
	w.T.Helper()
	options, err := w.Service.PasskeySignIn(visitor(browser))
	if err != nil {
		w.T.Fatal(err)
	}
	answer, err := phone.Get([]byte(options), changes...)
	if err != nil {
		w.T.Fatal(err)
	}
	return string(answer)
}

// signInWith signs in with a passkey in a browser of its own.
func (w *world) signInWith(phone *identitytest.Authenticator, changes ...change) (warranty.Session, error) {
	w.T.Helper()
	return w.Service.SignInByPasskey(ctx, visitor("a browser"), w.answer("a browser", phone, changes...))
}

const passkeyRefusal = "This passkey could not be used. Try again, or sign in another way."

// unusable checks that an error is the one that all unusable answers of passkeys have.
func unusable(t *testing.T, what string, err error) {
	t.Helper()
	if codeOf(err) != warranty.InvalidCredential || warranty.AsError(err).Message != passkeyRefusal {
		t.Errorf("%s: %v", what, err)
	}
}

// passkeyOf adds a passkey to the account of a person without a ceremony, and returns its id.
func (w *world) passkeyOf(p person) warranty.ID {
	w.T.Helper()
	id, err := warranty.ParseID(w.Passkey(p.User.Email))
	if err != nil {
		w.T.Fatal(err)
	}
	return id
}

func (w *world) passkeysOf(p person) []warranty.AccountPasskey {
	w.T.Helper()
	list, err := w.Service.ListPasskeys(ctx, p.Principal, warranty.ListPasskeys{})
	if err != nil {
		w.T.Fatal(err)
	}
	return list.Passkeys
}

// mailsAbout counts the emails to a person with a subject.
func (w *world) mailsAbout(p person, subject string) int64 {
	w.T.Helper()
	return w.number(`SELECT count(*) FROM mails WHERE address = '` + p.User.Email + `' AND subject = '` + subject + `'`)
}

// TestAPasskeySignsInOnce signs in without an address, sends the answer 32 times at once and once more: there is one
// session.
func TestAPasskeySignsInOnce(t *testing.T) {
	eachBoth(t, func(t *testing.T, w *world) {
		olga := w.person("Olga", true)
		phone := w.withPasskey(olga)
		before := w.sessionsOf(olga.User)
		answer := w.answer("a browser", phone)
		var made atomic.Int32
		var session atomic.Value
		together(32, func(int) {
			s, err := w.Service.SignInByPasskey(ctx, visitor("a browser"), answer)
			switch {
			case err == nil:
				made.Add(1)
				session.Store(s.AccessToken)
			case codeOf(err) != warranty.Unavailable:
				unusable(t, "another one", err)
			}
		})
		equal(t, "sign-ins", made.Load(), int32(1))
		equal(t, "sessions", w.sessionsOf(olga.User)-before, int64(1))
		who, err := w.Service.Authenticate(ctx, session.Load().(string), false)
		if err != nil || who.User.ID != olga.User.ID || who.Method != warranty.MethodPasskey || who.ConfirmedAt.IsZero() {
			t.Errorf("the session is %+v, %v", who, err)
		}
		_, err = w.Service.SignInByPasskey(ctx, visitor("a browser"), answer)
		unusable(t, "a replay", err)
		list := w.passkeysOf(olga)
		if len(list) != 1 || list[0].LastUsedAt == nil || list[0].Name != "Phone" {
			t.Errorf("the passkeys are %+v", list)
		}
	})
}

// TestPasskeysNeedNoSecondStep signs in with two-step sign-in on: the passkey is both steps.
func TestPasskeysNeedNoSecondStep(t *testing.T) {
	eachBoth(t, func(t *testing.T, w *world) {
		olga := w.person("Olga", true)
		phone := w.withPasskey(olga)
		w.twoStep(olga.User)
		session, err := w.signInWith(phone)
		if err != nil {
			t.Fatal(err)
		}
		w.Alive(t, "the session", session.AccessToken, true)
	})
}

// TestPasskeyChallengesAreBound answers challenges of another browser, late, forged, and of other ceremonies.
func TestPasskeyChallengesAreBound(t *testing.T) {
	onStopped(t, servertest.Both, func(t *testing.T, w *world, clock *stoppedClock) {
		olga := w.person("Olga", true)
		phone := w.withPasskey(olga)
		who := inBrowser(olga)
		signIn := func(what, browser, answer string) {
			t.Helper()
			_, err := w.Service.SignInByPasskey(ctx, visitor(browser), answer)
			unusable(t, what, err)
		}
		signIn("another browser", "browser B", w.answer("browser A", phone))
		signIn("no browser", "", w.answer("browser A", phone))
		late := w.answer("browser A", phone)
		clock.Set(clock.Now().Add(identity.ChallengeLife))
		signIn("a late answer", "browser A", late)
		forger, err := identity.NewRelyingParty(servertest.PublicURL, "W", bytes.Repeat([]byte{1}, 32))
		if err != nil {
			t.Fatal(err)
		}
		options, err := forger.SignInOptions("browser A", clock.Now())
		if err != nil {
			t.Fatal(err)
		}
		forged, err := phone.Get(options)
		if err != nil {
			t.Fatal(err)
		}
		signIn("a forged challenge", "browser A", string(forged))
		confirmation, err := w.Service.PasskeyConfirmation(ctx, who)
		if err != nil {
			t.Fatal(err)
		}
		answer, err := phone.Get([]byte(confirmation))
		if err != nil {
			t.Fatal(err)
		}
		signIn("the challenge of a confirmation", who.Browser, string(answer))
		_, err = w.Service.ConfirmByPasskey(ctx, who, w.answer(who.Browser, phone))
		unusable(t, "confirming with the challenge of a sign-in", err)
		again := w.session(olga.User, time.Hour)
		other := inBrowser(again)
		_, err = w.Service.ConfirmByPasskey(ctx, other, string(answer))
		unusable(t, "confirming another session", err)
		if _, err := w.Service.SignInByPasskey(ctx, visitor("browser A"), w.answer("browser A", phone)); err != nil {
			t.Error("right:", err)
		}
	})
}

// TestChangedPasskeyAnswersAreRefused changes one thing in an answer: all errors are that of an unknown passkey, and
// nothing is written.
func TestChangedPasskeyAnswersAreRefused(t *testing.T) {
	eachBoth(t, func(t *testing.T, w *world) {
		olga, eve := w.person("Olga", true), w.person("Eve", true)
		phone, hers := w.withPasskey(olga), w.withPasskey(eve)
		for what, c := range map[string]change{
			"origin":            func(a *identitytest.Answer) { a.Origin = "https://evil.example" },
			"port":              func(a *identitytest.Answer) { a.Origin += ":8443" },
			"subdomain":         func(a *identitytest.Answer) { a.Origin = "https://sub.warranty.example.com" },
			"http":              func(a *identitytest.Answer) { a.Origin = "http://warranty.example.com" },
			"crossOrigin":       func(a *identitytest.Answer) { a.More = map[string]any{"crossOrigin": true} },
			"type":              func(a *identitytest.Answer) { a.Type = "webauthn.create" },
			"relying party":     func(a *identitytest.Answer) { a.RPID = "evil.example" },
			"not present":       func(a *identitytest.Answer) { a.Flags &^= identitytest.Present },
			"not verified":      func(a *identitytest.Answer) { a.Flags &^= identitytest.Verified },
			"signature":         func(a *identitytest.Answer) { a.Sign = func([]byte) []byte { return []byte("bogus") } },
			"handle of another": func(a *identitytest.Answer) { a.Handle = hers.Passkeys[0].Handle },
			"no handle":         func(a *identitytest.Answer) { a.Handle = nil },
			"unknown":           func(a *identitytest.Answer) { a.ID, a.RawID = []byte("unknown"), []byte("unknown") },
			"id of another":     func(a *identitytest.Answer) { a.ID, a.RawID = hers.Passkeys[0].ID, hers.Passkeys[0].ID },
			"eligible":          func(a *identitytest.Answer) { a.Flags |= identitytest.Eligible },
		} {
			answer := w.answer("a browser", phone, c)
			before := w.snapshot()
			_, err := w.Service.SignInByPasskey(ctx, visitor("a browser"), answer)
			unusable(t, what, err)
			if tables := changed(before, w.snapshot()); len(tables) > 0 {
				t.Errorf("%s changed %v", what, tables)
			}
		}
		for what, text := range map[string]string{"empty": "", "not JSON": "{", "long": strings.Repeat("[", 20000)} {
			_, err := w.Service.SignInByPasskey(ctx, visitor("a browser"), text)
			unusable(t, what, err)
		}
		if err := w.Service.AdminDisable(ctx, w.operator("Root").Principal, olga.User.ID); err != nil {
			t.Fatal(err)
		}
		_, err := w.signInWith(phone)
		unusable(t, "a disabled account", err)
		if _, err := w.signInWith(hers); err != nil {
			t.Error("right:", err)
		}
	})
}

// TestPasskeysOfOthersAreNotTaken registers the credential id of another account, a weak key, and in other sessions.
func TestPasskeysOfOthersAreNotTaken(t *testing.T) {
	eachBoth(t, func(t *testing.T, w *world) {
		olga, eve := w.person("Olga", true), w.person("Eve", true)
		phone := w.withPasskey(olga)
		stolen := phone.Passkeys[0].ID
		in := w.makePasskey(eve, newPhone(), func(a *identitytest.Answer) { a.AttestedID, a.ID, a.RawID = stolen, stolen, stolen })
		if err := w.Service.AddPasskey(ctx, inBrowser(eve), in); codeOf(err) != warranty.AlreadyExists {
			t.Errorf("the credential id of another account: %v", err)
		}
		equal(t, "passkeys of the thief", len(w.passkeysOf(eve)), 0)
		session, err := w.signInWith(phone)
		if err != nil || session.User.ID != olga.User.ID {
			t.Errorf("the passkey signs in %v, %v", session.User.ID, err)
		}
		add := func(what string, who warranty.Principal, in warranty.AddPasskey) {
			t.Helper()
			unusable(t, what, w.Service.AddPasskey(ctx, who, in))
		}
		add("in the account of another", inBrowser(eve), w.makePasskey(olga, newPhone()))
		add("in another session", inBrowser(w.session(olga.User, time.Hour)), w.makePasskey(olga, newPhone()))
		other := inBrowser(olga)
		other.Browser = "another browser"
		add("in another browser", other, w.makePasskey(olga, newPhone()))
		other.Browser = ""
		add("in a program", other, w.makePasskey(olga, newPhone()))
		weak := newPhone()
		weak.Algorithm = identitytest.ES384
		add("with another algorithm", inBrowser(olga), w.makePasskey(olga, weak))
		add("not verified", inBrowser(olga), w.makePasskey(olga, newPhone(), func(a *identitytest.Answer) { a.Flags &^= identitytest.Verified }))
		in = w.makePasskey(olga, newPhone())
		in.Handle = w.makePasskey(eve, newPhone()).Handle
		add("with the handle of another", inBrowser(olga), in)
		in = w.makePasskey(olga, newPhone())
		if err := w.Service.AddPasskey(ctx, inBrowser(olga), in); err != nil {
			t.Fatal(err)
		}
		add("twice", inBrowser(olga), in)
		equal(t, "passkeys", len(w.passkeysOf(olga)), 2)
		// The first page of two, each with a new handle, brings the handle. The other one is refused.
		first, second := w.makePasskey(eve, newPhone()), w.makePasskey(eve, newPhone())
		if err := w.Service.AddPasskey(ctx, inBrowser(eve), first); err != nil {
			t.Fatal(err)
		}
		add("with a second handle", inBrowser(eve), second)
		equal(t, "emails", w.mailsAbout(eve, "New passkey"), int64(1))
	})
}

// TestCopiedPasskeysAreRefused signs in with a counter that does not grow: the person gets one email for each challenge,
// and none for a signature that is wrong.
func TestCopiedPasskeysAreRefused(t *testing.T) {
	eachBoth(t, func(t *testing.T, w *world) {
		const subject = "Remove a passkey that may have been copied"
		counter := func(n uint32) change { return func(a *identitytest.Answer) { a.Counter = n } }
		olga := w.person("Olga", true)
		phone := w.withPasskey(olga, counter(5))
		for _, n := range []uint32{6, 9} {
			if _, err := w.signInWith(phone, counter(n)); err != nil {
				t.Fatal(err)
			}
		}
		before := w.sessionsOf(olga.User)
		for i, n := range []uint32{9, 7, 0} {
			answer := w.answer("a browser", phone, counter(n))
			for range 2 {
				_, err := w.Service.SignInByPasskey(ctx, visitor("a browser"), answer)
				unusable(t, "a copy", err)
			}
			equal(t, "emails", w.mailsAbout(olga, subject), int64(i+1))
		}
		_, err := w.signInWith(phone, counter(1), func(a *identitytest.Answer) { a.Sign = func([]byte) []byte { return []byte("x") } })
		unusable(t, "a bogus signature", err)
		equal(t, "emails", w.mailsAbout(olga, subject), int64(3))
		equal(t, "sessions", w.sessionsOf(olga.User), before)
		equal(t, "counter", w.number(`SELECT counter FROM passkeys`), int64(9))
		// Several answers with the same counter at once: one is right.
		var answers []string
		for range 8 {
			answers = append(answers, w.answer("a browser", phone, counter(10)))
		}
		var made atomic.Int32
		together(len(answers), func(i int) {
			if _, err := w.Service.SignInByPasskey(ctx, visitor("a browser"), answers[i]); err == nil {
				made.Add(1)
			}
		})
		equal(t, "sign-ins with one counter", made.Load(), int32(1))
	})
}

// TestBackupFlagsAreKept stores that a passkey is synced now.
func TestBackupFlagsAreKept(t *testing.T) {
	eachBoth(t, func(t *testing.T, w *world) {
		olga := w.person("Olga", true)
		phone := w.withPasskey(olga, func(a *identitytest.Answer) { a.Flags |= identitytest.Eligible })
		equal(t, "synced", w.passkeysOf(olga)[0].Synced, false)
		if _, err := w.signInWith(phone, func(a *identitytest.Answer) { a.Flags |= identitytest.Eligible | identitytest.BackedUp }); err != nil {
			t.Fatal(err)
		}
		equal(t, "synced", w.passkeysOf(olga)[0].Synced, true)
	})
}

// TestTwentyPasskeys adds 8 at once to a person with 18.
func TestTwentyPasskeys(t *testing.T) {
	eachBoth(t, func(t *testing.T, w *world) {
		olga := w.person("Olga", true)
		for range 18 {
			w.withPasskey(olga)
		}
		var ins []warranty.AddPasskey
		for range 8 {
			ins = append(ins, w.makePasskey(olga, newPhone()))
		}
		var refusals atomic.Int32
		together(len(ins), func(i int) {
			switch err := w.Service.AddPasskey(ctx, inBrowser(olga), ins[i]); codeOf(err) {
			case "":
			case warranty.InUse:
				refusals.Add(1)
			default:
				t.Error(err)
			}
		})
		equal(t, "passkeys", len(w.passkeysOf(olga)), warranty.MaxPasskeys)
		equal(t, "refusals", refusals.Load(), int32(6))
		if _, err := w.Service.NewPasskey(ctx, inBrowser(olga)); codeOf(err) != warranty.InUse {
			t.Errorf("the page of another one: %v", err)
		}
	})
}

// TestTheLastMethodStays removes all passkeys of a person at once, with two-step sign-in and without another way in.
func TestTheLastMethodStays(t *testing.T) {
	eachBoth(t, func(t *testing.T, w *world) {
		for what, prepare := range map[string]func(p person){
			"two-step sign-in": func(p person) { w.twoStep(p.User) },
			"no other way": func(p person) {
				w.execute(`UPDATE users SET password_hash = '', verified_at = NULL WHERE id = ` + w.literal(p.User.ID))
			},
		} {
			olga := w.person("Olga", true)
			for range 8 {
				w.withPasskey(olga)
			}
			prepare(olga)
			list := w.passkeysOf(olga)
			var refusals atomic.Int32
			together(len(list), func(i int) {
				_, err := w.Service.RemovePasskey(ctx, olga.Principal, warranty.RemovePasskey{ID: list[i].ID})
				if codeOf(err) == warranty.LastMethod {
					refusals.Add(1)
				} else if err != nil {
					t.Errorf("%s: %v", what, err)
				}
			})
			equal(t, what+": refusals", refusals.Load(), int32(1))
			equal(t, what+": passkeys", len(w.passkeysOf(olga)), 1)
		}
		// A person with a password and no two-step sign-in can remove the last one.
		zoe := w.person("Zoe", true)
		w.withPasskey(zoe)
		path := "/api/account/passkeys/" + w.passkeysOf(zoe)[0].ID.String()
		w.Must(200, made("PUT", path, zoe.session, fields{"name": "Laptop"}))
		equal(t, "the name", w.passkeysOf(zoe)[0].Name, "Laptop")
		eve := w.person("Eve", true)
		refused(t, "renaming another person's", w.Do(made("PUT", path, eve.session, fields{"name": "Mine"})), warranty.NotFound)
		refused(t, "removing another person's", w.Do(made("DELETE", path, eve.session, nil)), warranty.NotFound)
		w.Must(204, made("DELETE", path, zoe.session, nil))
		equal(t, "passkeys", len(w.passkeysOf(zoe)), 0)
	})
}

// TestPasskeysNeedAConfirmedSession adds and removes passkeys with a session that was confirmed 15 minutes ago.
func TestPasskeysNeedAConfirmedSession(t *testing.T) {
	eachBoth(t, func(t *testing.T, w *world) {
		olga := w.person("Olga", true)
		phone := w.withPasskey(olga)
		in := w.makePasskey(olga, newPhone())
		stale := w.old(olga)
		if _, err := w.Service.NewPasskey(ctx, inBrowser(stale)); codeOf(err) != warranty.ConfirmationRequired {
			t.Errorf("the page returns %v", err)
		}
		if err := w.Service.AddPasskey(ctx, inBrowser(stale), in); codeOf(err) != warranty.ConfirmationRequired {
			t.Errorf("adding returns %v", err)
		}
		path := "/api/account/passkeys/" + w.passkeysOf(olga)[0].ID.String()
		refused(t, "removing", w.Do(made("DELETE", path, olga.session, nil)), warranty.ConfirmationRequired)
		equal(t, "passkeys", len(w.passkeysOf(olga)), 1)
		// The passkey confirms the session, which gets a new secret.
		who := inBrowser(stale)
		options, err := w.Service.PasskeyConfirmation(ctx, who)
		if err != nil {
			t.Fatal(err)
		}
		answer, err := phone.Get([]byte(options))
		if err != nil {
			t.Fatal(err)
		}
		session, err := w.Service.ConfirmByPasskey(ctx, who, string(answer))
		if err != nil {
			t.Fatal(err)
		}
		w.Alive(t, "the old secret", olga.session, false)
		olga.session = session.AccessToken
		olga = w.reload(olga)
		_, err = w.Service.ConfirmByPasskey(ctx, inBrowser(olga), string(answer))
		unusable(t, "the same answer again", err)
		w.Must(204, made("DELETE", path, olga.session, nil))
	})
}

// TestPasskeysEndSessions adds one and ends the other sessions on request, and removes one, which ends them, emailed codes
// and sign-ins that are not complete.
func TestPasskeysEndSessions(t *testing.T) {
	eachBoth(t, func(t *testing.T, w *world) {
		olga := w.person("Olga", true)
		other := w.session(olga.User, time.Hour)
		w.withPasskey(olga)
		w.Alive(t, "another session", other.session, true)
		in := w.makePasskey(olga, newPhone())
		in.EndOthers = true
		if err := w.Service.AddPasskey(ctx, inBrowser(olga), in); err != nil {
			t.Fatal(err)
		}
		w.Alive(t, "another session after the request", other.session, false)
		w.Alive(t, "the session", olga.session, true)

		other = w.session(olga.User, time.Hour)
		codes := w.twoStep(olga.User)
		begun := w.Do(made("POST", "/api/auth/sessions", "", fields{"email": olga.User.Email, "password": servertest.Password}))
		var p warranty.Problem
		if err := json.Unmarshal([]byte(begun.Body), &p); err != nil {
			t.Fatal(err)
		}
		code := w.code(olga.User, store.ForSignIn)
		w.Must(204, made("DELETE", "/api/account/passkeys/"+w.passkeysOf(olga)[0].ID.String(), olga.session, nil))
		w.Alive(t, "another session after the removal", other.session, false)
		w.Alive(t, "the session after the removal", olga.session, true)
		refused(t, "the flow", w.Do(second(p.Flow, codes[0])), warranty.InvalidCredential)
		refused(t, "the code", w.Do(made("POST", "/api/auth/sessions", "", fields{"email": olga.User.Email, "code": code})),
			warranty.InvalidCredential)
		equal(t, "emails about two", w.mailsAbout(olga, "New passkey"), int64(2))
		equal(t, "emails about the removal", w.mailsAbout(olga, "A passkey was removed"), int64(1))
	})
}

// TestPasskeysAsASecondStep completes a sign-in with the person's own passkey, in the browser that began it, once.
func TestPasskeysAsASecondStep(t *testing.T) {
	eachBoth(t, func(t *testing.T, w *world) {
		olga, eve := w.person("Olga", true), w.person("Eve", true)
		phone, hers := w.withPasskey(olga), w.withPasskey(eve)
		w.twoStep(olga.User)
		who := visitor("a browser")
		begin := func() string {
			_, err := w.Service.SignIn(ctx, who, warranty.SignIn{Email: olga.User.Email, Password: servertest.Password})
			step := warranty.AsError(err).SecondStep
			if step == nil || !slices.Contains(step.Methods, warranty.SecondPasskey) {
				t.Fatalf("the sign-in returns %v", err)
			}
			return step.Flow
		}
		answer := func(flow string, phone *identitytest.Authenticator, changes ...change) string {
			options, err := w.Service.PasskeySecondStep(ctx, who, flow)
			if err != nil {
				t.Fatal(err)
			}
			if phone == hers { // her device ignores the list
				hers.Passkeys[0].Handle = nil
				options = strings.ReplaceAll(options, `"allowCredentials":[`, `"ignored":[`)
			}
			answer, err := phone.Get([]byte(options), changes...)
			if err != nil {
				t.Fatal(err)
			}
			return string(answer)
		}
		flow := begin()
		before := w.sessionsOf(olga.User)
		try := func(what string, who warranty.Principal, flow, answer string) {
			t.Helper()
			if _, err := w.Service.SecondStepByPasskey(ctx, who, flow, answer); codeOf(err) != warranty.InvalidCredential {
				t.Errorf("%s: %v", what, err)
			}
		}
		try("another person's", who, flow, answer(flow, hers))
		try("the answer of a sign-in", who, flow, w.answer("a browser", phone))
		try("not verified", who, flow, answer(flow, phone, func(a *identitytest.Answer) { a.Flags &^= identitytest.Verified }))
		try("another browser", visitor("another"), flow, answer(flow, phone))
		equal(t, "sessions before", w.sessionsOf(olga.User), before)
		right := answer(flow, phone)
		session, err := w.Service.SecondStepByPasskey(ctx, who, flow, right)
		if err != nil {
			t.Fatal(err)
		}
		w.Alive(t, "the session", session.AccessToken, true)
		try("again", who, flow, right)
		try("in another flow", who, begin(), right)
		flow = begin()
		for range warranty.FlowTries {
			try("a wrong answer", who, flow, "{}")
		}
		right = answer(flow, phone)
		try("the sixth try", who, flow, right)
		equal(t, "the second step", w.number(`SELECT count(*) FROM sessions WHERE method = 1 AND second = 1`), int64(1))
	})
}
