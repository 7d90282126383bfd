package service_test

import (
	"fmt"
	"testing"
	"time"

	"warranty.example/svc/internal/servertest"
	"warranty.example/svc/warranty"
)

const accountSessions = "/api/account/sessions"

// sessionList returns the ids of the sessions that a session sees, the current one marked.
func (w *world) sessionList(session string) map[string]bool {
	w.T.Helper()
	var list warranty.AccountSessions
	w.Must(200, made("GET", accountSessions, session, nil)).Into(w.T, &list)
	found := map[string]bool{}
	for _, s := range list.Sessions {
		found[s.ID.String()] = s.Current
	}
	return found
}

// TestSessionsAreSeenAndEnded lists and ends sessions, on every replica, and none of anybody else.
func TestSessionsAreSeenAndEnded(t *testing.T) {
	eachReplicas(t, func(t *testing.T, worlds []*world) {
		w := worlds[0]
		olga, eve := w.person("Olga", true), w.person("Eve", true)
		second, third, fourth := w.session(olga.User, time.Hour), w.session(olga.User, time.Hour), w.session(olga.User, time.Hour)
		w.session(olga.User, -time.Hour) // has expired
		id := func(p person) string { return p.CredentialID.String() }
		for _, w := range worlds {
			equal(t, "the sessions", w.sessionList(second.session),
				map[string]bool{id(olga): false, id(second): true, id(third): false, id(fourth): false})
			equal(t, "those of another person", w.sessionList(eve.session), map[string]bool{id(eve): true})
			refused(t, "another person's session", w.Send("DELETE", accountSessions+"/"+id(second), eve.session, nil), warranty.NotFound)
		}
		w.Must(204, made("DELETE", accountSessions+"/"+id(second), olga.session, nil))
		for _, w := range worlds {
			w.Alive(t, "the ended session", second.session, false)
			refused(t, "ending it again", w.Send("DELETE", accountSessions+"/"+id(second), olga.session, nil), warranty.NotFound)
			w.Alive(t, "another session", third.session, true)
		}
		refused(t, "others is missing", w.Send("DELETE", accountSessions, olga.session, nil), warranty.ValidationFailed)
		refused(t, "others is false", w.Send("DELETE", accountSessions+"?others=false", olga.session, nil), warranty.ValidationFailed)

		w.execute(`UPDATE sessions SET confirmed_at = 0 WHERE id = $1`, w.key(olga.CredentialID))
		refused(t, "one other, unconfirmed", w.Send("DELETE", accountSessions+"/"+id(third), olga.session, nil), warranty.ConfirmationRequired)
		refused(t, "all others, unconfirmed", w.Send("DELETE", accountSessions+"?others=true", olga.session, nil), warranty.ConfirmationRequired)
		w.Must(204, made("DELETE", accountSessions+"?others=true", third.session, nil))
		for _, w := range worlds {
			w.Alive(t, "the session that asked", third.session, true)
			w.Alive(t, "another session", olga.session, false)
			w.Alive(t, "one more", fourth.session, false)
			w.Alive(t, "another person's session", eve.session, true)
		}
		w.execute(`UPDATE sessions SET confirmed_at = 0 WHERE id = $1`, w.key(third.CredentialID))
		w.Must(204, made("DELETE", accountSessions+"/"+id(third), third.session, nil))
		w.Alive(t, "the own session, which needs no confirmation", third.session, false)

		olga = w.session(olga.User, time.Hour)
		if n, err := w.Service.SignOutUser(t.Context(), olga.User.Email); n != 1 || err != nil {
			t.Errorf("the operator ended %d sessions, %v", n, err)
		}
		for _, w := range worlds {
			w.Alive(t, "the session that the operator ended", olga.session, false)
			w.Alive(t, "another person's session", eve.session, true)
		}
		if n, err := w.Service.SignOutAll(t.Context()); n < 1 || err != nil {
			t.Errorf("the operator ended %d sessions, %v", n, err)
		}
		w.Alive(t, "everyone's session", eve.session, false)
	})
}

// TestNothingIsWrittenWithAnEndedSession ends a session during a request that is authenticated but whose body has not
// arrived.
func TestNothingIsWrittenWithAnEndedSession(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		body := fields{"product_name": "late", "start_date": "2026-01-01", "end_date": "2026-01-01"}
		for name, end := range map[string]func(p, other person){
			"from another one": func(p, other person) {
				w.Must(204, made("DELETE", accountSessions+"/"+p.CredentialID.String(), other.session, nil))
			},
			"with all others": func(_, other person) {
				w.Must(204, made("DELETE", accountSessions+"?others=true", other.session, nil))
			},
			"by the operator": func(p, _ person) {
				if _, err := w.Service.SignOutUser(t.Context(), p.User.Email); err != nil {
					t.Fatal(err)
				}
			},
			"because it was idle": func(p, _ person) {
				w.execute(fmt.Sprintf(`UPDATE sessions SET seen_at = 0, created_at = created_at - %d WHERE id = $1`,
					warranty.SessionIdle.Microseconds()), w.key(p.CredentialID))
			},
			"because there are too many": func(p, _ person) {
				w.execute(`UPDATE sessions SET seen_at = 0, created_at = created_at - 1 WHERE id = $1`, w.key(p.CredentialID))
				for range warranty.MaxSessions - 2 {
					w.session(p.User, time.Hour)
				}
				w.SignIn(p.User.Email, servertest.Password)
				equal(t, "sessions", len(w.sessionList(w.session(p.User, time.Hour).session)), warranty.MaxSessions+1)
			},
		} {
			olga := w.person("Olga", true)
			other := w.session(olga.User, time.Hour)
			create := w.Hold(made("POST", "/api/v1/warranties", olga.session, body))
			end(olga, other)
			w.Unchanged(t, name, func() { refused(t, name, create(), warranty.SessionExpired) })
			w.Alive(t, name, olga.session, false)
		}
	})
}

// TestSessionsEndWhenTheyAreNotUsed uses a session of the web just in time, then too late. The last use is written at
// most every 5 minutes.
func TestSessionsEndWhenTheyAreNotUsed(t *testing.T) {
	eachStopped(t, func(t *testing.T, w *world, clock *stoppedClock) {
		olga := w.person("Olga", true)
		start := clock.Now()
		signIn := func() string {
			session, err := w.Service.SignIn(t.Context(), warranty.Principal{Door: warranty.DoorWeb, Browser: "b", Address: "192.0.2.1"},
				warranty.SignIn{Email: olga.User.Email, Password: servertest.Password})
			if err != nil {
				t.Fatal(err)
			}
			return session.AccessToken
		}
		session := signIn()
		at := func(after time.Duration, alive bool) {
			t.Helper()
			clock.Set(start.Add(after))
			w.Alive(t, after.String(), session, alive)
			if err := w.Service.FlushUsage(t.Context()); err != nil {
				t.Fatal(err)
			}
		}
		seen := func() int64 { return w.number(`SELECT max(seen_at - created_at) FROM sessions`) }
		at(warranty.SeenInterval-time.Microsecond, true)
		equal(t, "seen", seen(), int64(0))
		at(warranty.SeenInterval, true)
		equal(t, "seen", seen(), warranty.SeenInterval.Microseconds())
		idle, bit := warranty.SessionIdle, time.Microsecond
		at(warranty.SeenInterval+idle-bit, true)
		at(warranty.SeenInterval+2*(idle-bit), true)
		at(warranty.SeenInterval+3*idle-2*bit, false)
		equal(t, "a late use", seen(), (warranty.SeenInterval + 2*(idle-bit)).Microseconds())

		start = clock.Now()
		session = signIn()
		for after := idle - bit; after < warranty.WebSessionLifetime; after += idle - bit {
			at(after, true)
		}
		at(warranty.WebSessionLifetime-bit, true)
		at(warranty.WebSessionLifetime, false)
	})
}

// TestAtMostFiftySessions signs in 60 times at once, on all replicas.
func TestAtMostFiftySessions(t *testing.T) {
	eachReplicas(t, func(t *testing.T, worlds []*world) {
		w := worlds[0]
		olga := w.person("Olga", true)
		sessions := make([]string, 60)
		together(len(sessions), func(i int) {
			p := warranty.Principal{Address: fmt.Sprint("192.0.2.", i)}
			in := warranty.SignIn{Email: olga.User.Email, Password: servertest.Password}
			session, err := worlds[i%len(worlds)].Service.SignIn(t.Context(), p, in)
			for codeOf(err) == warranty.Unavailable { // too many passwords are being checked
				time.Sleep(10 * time.Millisecond)
				session, err = worlds[i%len(worlds)].Service.SignIn(t.Context(), p, in)
			}
			if err != nil {
				t.Error(err)
			}
			sessions[i] = session.AccessToken
		})
		alive := 0
		for _, s := range append(sessions, olga.session) {
			if _, err := w.Service.Authenticate(t.Context(), s, false); err == nil {
				alive++
			}
		}
		equal(t, "sessions", alive, warranty.MaxSessions)
	}, busy)
}
