package service_test

import (
	"encoding/json"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"warranty.example/svc/internal/servertest"
	"warranty.example/svc/warranty"
)

// newAddress asks for another address of a person and returns the code that it got.
func (w *world) newAddress(t *testing.T, session, email string) string {
	t.Helper()
	want(t, "asking for "+email, w.Send("POST", "/api/account/email", session, fields{"email": email}), 202, "")
	return w.MailedCode(email)
}

// userOf returns the user with the address of a person.
func (w *world) userOf(p servertest.Person) warranty.User {
	w.T.Helper()
	account, err := w.Store.AccountByEmail(ctx, p.Email)
	if err != nil {
		w.T.Fatal(err)
	}
	return account.User
}

// TestAnAddressIsChanged: the code works once, in the session that asked for it, until a later one was asked for; the
// other sessions, codes and flows end, and the old secret of this one too. Both addresses are told.
func TestAnAddressIsChanged(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		const home, work = "ann@home.example", "ann@work.example"
		ann := w.Verified("Ann")
		other := w.SignIn(ann.Email, ann.Password)
		w.Must(202, made("POST", "/api/auth/codes", "", fields{"email": ann.Email}))
		signIn := w.MailedCode(ann.Email)
		confirm := func(session, code string) servertest.Answer {
			return w.Send("POST", "/api/account/email/confirm", session, fields{"code": code})
		}
		old := w.newAddress(t, ann.Session, work)
		code := w.newAddress(t, ann.Session, home)
		w.Unchanged(t, "codes", func() {
			refused(t, "an older request", confirm(ann.Session, old), warranty.ValidationFailed)
			refused(t, "another session", confirm(other, code), warranty.ValidationFailed)
			refused(t, "a code for something else", confirm(ann.Session, signIn), warranty.ValidationFailed)
		})
		var renewed warranty.Session
		w.Must(200, made("POST", "/api/account/email/confirm", ann.Session, fields{"code": code})).Into(t, &renewed)
		equal(t, "the address", renewed.User.Email, home)
		for name, secret := range map[string]string{"the old secret": ann.Session, "another session": other} {
			equal(t, name, w.Get("/api/account", secret).Status, 401)
		}
		want(t, "the session", w.Get("/api/account", renewed.AccessToken), 200, "")
		refused(t, "the code again", confirm(renewed.AccessToken, code), warranty.ValidationFailed)
		signedIn := func(email string, body fields) int {
			body["email"] = email
			return w.Send("POST", "/api/auth/sessions", "", body).Status
		}
		equal(t, "the old address", signedIn(ann.Email, fields{"password": ann.Password}), 401)
		equal(t, "a code of before", signedIn(home, fields{"code": signIn}), 401)
		equal(t, "the new address", signedIn(home, fields{"password": ann.Password}), 201)
		for _, email := range []string{ann.Email, home} {
			if w.MailedNotMe(email) == "" {
				t.Errorf("%s was not told", email)
			}
		}
	})
}

// TestAnAddressInUseIsNotRevealed: the answer for an address of someone else is that for any other. The owner of the
// address gets no code; an account that never verified it loses it to who has the code.
func TestAnAddressInUseIsNotRevealed(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		ann, zoe := w.Verified("Ann"), w.Verified("Zoe")
		id := w.userOf(ann).ID
		kim := w.person("Kim", false)
		w.record(kim, "")
		taken := w.Send("POST", "/api/account/email", ann.Session, fields{"email": zoe.Email})
		free := w.Send("POST", "/api/account/email", ann.Session, fields{"email": "nobody@home.example"})
		equal(t, "the answers", [2]any{taken.Status, taken.Body}, [2]any{free.Status, free.Body})
		if err := w.Service.SendMail(ctx); err != nil {
			t.Fatal(err)
		}
		for line := range strings.Lines(w.Log.String()) {
			var mail struct{ Msg, To, Code, Subject string }
			if json.Unmarshal([]byte(line), &mail) == nil && mail.Msg == "mail" && mail.To == zoe.Email && mail.Code != "" &&
				strings.Contains(mail.Subject, "new email") {
				t.Errorf("the owner of the address got a code: %s", line)
			}
		}
		code := w.newAddress(t, ann.Session, kim.User.Email)
		w.Must(200, made("POST", "/api/account/email/confirm", ann.Session, fields{"code": code}))
		equal(t, "who was there", w.Get("/api/account", kim.session).Status, 401)
		equal(t, "records set aside", w.number(`SELECT count(*) FROM users WHERE set_aside_for = `+w.literal(id)), int64(1))
	})
}

// TestNotMe: without a session, the code of a notice ends everything, gives back the address and the account, and works
// once. The codes of other emails and of other accounts do not.
func TestNotMe(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		ann, zoe := w.Verified("Ann"), w.Verified("Zoe")
		key, _ := w.Token(ann)
		notMe := func(code string) servertest.Answer {
			return w.Send("POST", "/api/auth/not-me", "", fields{"code": code})
		}
		// A thief has the session: the address is changed, then the account is deleted.
		code := w.newAddress(t, ann.Session, "thief@people.example")
		early := w.MailedNotMe(ann.Email)
		var renewed warranty.Session
		w.Must(200, made("POST", "/api/account/email/confirm", ann.Session, fields{"code": code})).Into(t, &renewed)
		w.Must(200, made("DELETE", "/api/account", renewed.AccessToken, fields{"email": "thief@people.example"}))
		thiefs := w.MailedNotMe("thief@people.example")
		w.Must(202, made("POST", "/api/auth/codes", "", fields{"email": zoe.Email}))
		w.Unchanged(t, "other codes", func() {
			refused(t, "a sign-in code", notMe(w.MailedCode(zoe.Email)), warranty.ValidationFailed)
			refused(t, "no code", notMe("AAAA-BBBB-CCCC-DDDD-EEEE"), warranty.ValidationFailed)
		})
		want(t, "it was not Ann", notMe(early), 204, "")
		refused(t, "again", notMe(early), warranty.ValidationFailed)
		refused(t, "the code of the thief", notMe(thiefs), warranty.ValidationFailed)
		equal(t, "the session", w.Get("/api/account", renewed.AccessToken).Status, 401)
		equal(t, "the token", w.Do(servertest.Request{Method: "GET", Path: "/api/v1/auth/status", Secret: key}).Status, 401)
		equal(t, "the password", w.Send("POST", "/api/auth/sessions", "",
			fields{"email": ann.Email, "password": ann.Password}).Status, 401)
		session := w.ResetPassword(t, ann.Email, passwordCanary)
		equal(t, "the address", w.userOf(ann).Email+" "+strconv.Itoa(w.Get("/api/account", session).Status), ann.Email+" 200")
		equal(t, "the other account", w.Get("/api/account", zoe.Session).Status, 200)

		// A week later it is too late.
		zoe.Session = w.SignIn(zoe.Email, zoe.Password)
		w.newAddress(t, zoe.Session, "zoe@home.example")
		late := w.MailedNotMe(zoe.Email)
		w.execute(`UPDATE not_me_codes SET expires_at = expires_at - ` + strconv.FormatInt(warranty.NotMeLifetime.Microseconds(), 10))
		refused(t, "late", notMe(late), warranty.ValidationFailed)
	})
}

// TestAThiefCannotEndTheWayBack: who changed the address gets notices too. Their codes do not end those of the address
// before, and end with the first of these.
func TestAThiefCannotEndTheWayBack(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		ann := w.Verified("Ann")
		id := w.userOf(ann).ID
		notMe := func(code string) servertest.Answer {
			return w.Send("POST", "/api/auth/not-me", "", fields{"code": code})
		}
		session := ann.Session
		change := func(email string) {
			t.Helper()
			code := w.newAddress(t, session, email)
			var renewed warranty.Session
			w.Must(200, made("POST", "/api/account/email/confirm", session, fields{"code": code})).Into(t, &renewed)
			session = renewed.AccessToken
		}
		change("thief@people.example")
		anns, thiefs := w.MailedNotMe(ann.Email), w.MailedNotMe("thief@people.example")
		change("lair@people.example")
		lairs := w.MailedNotMe("lair@people.example")
		want(t, "the thief's", notMe(thiefs), 204, "")
		equal(t, "the address", w.number(`SELECT count(*) FROM users WHERE id = `+w.literal(id)+
			` AND email = 'thief@people.example'`), int64(1))
		refused(t, "of the last address", notMe(lairs), warranty.ValidationFailed)
		want(t, "Ann's", notMe(anns), 204, "")
		equal(t, "the account of the address", w.userOf(ann).ID, id)
		refused(t, "again", notMe(anns), warranty.ValidationFailed)
		refused(t, "the thief's again", notMe(thiefs), warranty.ValidationFailed)
		equal(t, "codes", w.number(`SELECT count(*) FROM not_me_codes`), int64(0))
	})
}

// TestNotMeEndsThePasskeyOfAThief: without two-step sign-in, a passkey that was added since the notice ends, and earlier
// ones stay. With it, all factors stay.
func TestNotMeEndsThePasskeyOfAThief(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		ann, ivo := w.person("Ann", true), w.person("Ivo", true)
		w.withPasskey(ann)
		w.withPasskey(ivo)
		w.execute(`UPDATE passkeys SET created_at = created_at - 3600000000`)
		w.withPasskey(ann)
		w.withPasskey(ivo)
		w.execute(`UPDATE users SET two_step_since = 1 WHERE id = ` + w.literal(ivo.User.ID))
		for _, p := range []person{ann, ivo} {
			code := w.MailedNotMe(p.User.Email)
			want(t, p.User.Name, w.Send("POST", "/api/auth/not-me", "", fields{"code": code}), 204, "")
		}
		left := func(p person) int64 {
			return w.number(`SELECT count(*) FROM passkeys WHERE user_id = ` + w.literal(p.User.ID))
		}
		equal(t, "passkeys left", [2]int64{left(ann), left(ivo)}, [2]int64{1, 2})
	})
}

// TestAnAccountIsDeletedByItsPerson: everything ends at once; within 30 days a whole sign-in leads to a flow that only
// restores the account, once, in the program that has it. Then it is erased.
func TestAnAccountIsDeletedByItsPerson(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		ann := w.Verified("Ann")
		user := w.userOf(ann)
		record := w.record(w.session(user, time.Hour), "")
		signIn := func(body fields) servertest.Answer { return w.Send("POST", "/api/auth/sessions", "", body) }
		restore := func(flow string) servertest.Answer {
			return w.Send("POST", "/api/auth/restore", "", fields{"flow": flow})
		}
		flowOf := func(what string, a servertest.Answer) string {
			t.Helper()
			refused(t, what, a, warranty.AccountIsDeleted)
			var p warranty.Problem
			if err := json.Unmarshal([]byte(a.Body), &p); err != nil || p.Flow == "" || len(p.Methods) > 0 {
				t.Fatalf("%s: %s", what, a.Body)
			}
			return p.Flow
		}
		refused(t, "another address", w.Send("DELETE", "/api/account", ann.Session, fields{"email": "zoe@people.example"}),
			warranty.ValidationFailed)

		// Twice at once, it is deleted once.
		var group sync.WaitGroup
		statuses := make([]int, 2)
		for i := range statuses {
			group.Go(func() { statuses[i] = w.Send("DELETE", "/api/account", ann.Session, fields{"email": ann.Email}).Status })
		}
		group.Wait()
		slices.Sort(statuses)
		equal(t, "deleting twice", statuses, []int{200, 401})
		equal(t, "planned", w.number(`SELECT count(*) FROM erasures WHERE restorable = 1`), int64(1))

		refused(t, "a wrong password", signIn(fields{"email": ann.Email, "password": passwordCanary}), warranty.InvalidCredential)
		flow := flowOf("the password", signIn(fields{"email": ann.Email, "password": ann.Password}))
		equal(t, "a flow is no session", w.Get("/api/account", flow).Status, 401)
		w.execute(`UPDATE erasures SET started_at = 1`)
		refused(t, "after the erasure began", restore(flow), warranty.InvalidCredential)
		refused(t, "signing in then", signIn(fields{"email": ann.Email, "password": ann.Password}), warranty.InvalidCredential)
		w.execute(`UPDATE erasures SET started_at = NULL, restorable = 0`)
		refused(t, "deleted by the operator", signIn(fields{"email": ann.Email, "password": ann.Password}), warranty.InvalidCredential)
		w.execute(`UPDATE erasures SET restorable = 1`)
		w.Must(202, made("POST", "/api/auth/codes", "", fields{"email": ann.Email}))
		flow = flowOf("a code", signIn(fields{"email": ann.Email, "code": w.MailedCode(ann.Email)}))

		var session warranty.Session
		w.Must(200, made("POST", "/api/auth/restore", "", fields{"flow": flow})).Into(t, &session)
		refused(t, "again", restore(flow), warranty.InvalidCredential)
		want(t, "the record", w.Get("/api/v1/warranties/"+record.ID.String(), session.AccessToken), 200, "")
		equal(t, "planned", w.number(`SELECT count(*) FROM erasures`), int64(0))
	})
}

// TestTwoStepProtectsADeletedAccount: what restores an account comes after the second step.
func TestTwoStepProtectsADeletedAccount(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		ann := w.Verified("Ann")
		w.Must(200, made("DELETE", "/api/account", ann.Session, fields{"email": ann.Email}))
		codes := w.twoStep(w.userOf(ann))
		begun := w.Send("POST", "/api/auth/sessions", "", fields{"email": ann.Email, "password": ann.Password})
		step := needsSecondStep(t, "the password", begun)
		refused(t, "the flow of the second step", w.Send("POST", "/api/auth/restore", "", fields{"flow": step}),
			warranty.InvalidCredential)
		done := w.Send("POST", "/api/auth/sessions", "", fields{"flow": step, "recovery_code": codes[0]})
		var p warranty.Problem
		if err := json.Unmarshal([]byte(done.Body), &p); err != nil || p.Code != warranty.AccountIsDeleted {
			t.Fatal(done.Status, done.Body)
		}
		w.Must(200, made("POST", "/api/auth/restore", "", fields{"flow": p.Flow}))
	})
}

// TestTheLastAdminStays: of the two admins of an organization who delete their accounts at once, one stays.
func TestTheLastAdminStays(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		ann, ivo := w.person("Ann", true), w.person("Ivo", true)
		shop := w.shop(ann)
		w.join(ann, shop, ivo, warranty.Admin)
		var group sync.WaitGroup
		statuses := make([]int, 2)
		for i, p := range []person{ann, ivo} {
			group.Go(func() {
				statuses[i] = w.Send("DELETE", "/api/account", p.session, fields{"email": p.User.Email}).Status
			})
		}
		group.Wait()
		slices.Sort(statuses)
		equal(t, "deleting", statuses, []int{200, 409})
	})
}
