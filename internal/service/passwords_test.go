package service_test

import (
	"context"
	"log/slog"
	"slices"
	"strings"
	"testing"

	"warranty.example/svc/internal/servertest"
	"warranty.example/svc/internal/service"
	"warranty.example/svc/internal/store"
	"warranty.example/svc/internal/testenv"
	"warranty.example/svc/warranty"
)

// TestPasswordsAreHashedAtTheRecommendedCost uses the service as svcd does; other tests
// lower the cost.
func TestPasswordsAreHashedAtTheRecommendedCost(t *testing.T) {
	st, err := store.Open(t.Context(), servertest.SQLite(t))
	if err != nil {
		t.Fatal(err)
	}
	defer st.Close()
	s := service.New(st, slog.New(slog.DiscardHandler))
	in := warranty.Register{Name: "Ada", Email: "ada@people.example", Password: servertest.Password}
	if _, err := s.AddUser(t.Context(), in); err != nil {
		t.Fatal(err)
	}
	account, err := st.AccountByEmail(t.Context(), in.Email)
	if err != nil {
		t.Fatal(err)
	}
	if want := "$argon2id$v=19$m=19456,t=2,p=1$"; !strings.HasPrefix(account.PasswordHash, want) {
		t.Errorf("the stored hash is %.40s…, want %s", account.PasswordHash, want)
	}
	door := warranty.Principal{Door: warranty.DoorAPI}
	if _, err := s.SignIn(t.Context(), door, warranty.SignIn{Email: in.Email, Password: in.Password}); err != nil {
		t.Error(err)
	}
	_, err = s.SignIn(t.Context(), door, warranty.SignIn{Email: in.Email, Password: in.Password + "!"})
	if codeOf(err) != warranty.InvalidCredential {
		t.Errorf("a wrong password: %v", err)
	}
}

// TestUnknownAddressesCostAsMuchAsKnownOnes counts the work of a sign-in, which
// determines its time: an unknown address, a wrong password and the right one take one
// hash of the same cost each.
func TestUnknownAddressesCostAsMuchAsKnownOnes(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		known := w.person("Olga", true).User.Email
		hashes := w.Service.WatchHashes()
		for what, in := range map[string]warranty.SignIn{
			"an unknown address": {Email: "nobody@people.example", Password: servertest.Password},
			"a wrong password":   {Email: known, Password: servertest.Password + "!"},
			"the right password": {Email: known, Password: servertest.Password},
		} {
			_, err := w.Service.SignIn(context.Background(), warranty.Principal{Door: warranty.DoorAPI}, in)
			if (err == nil) != (what == "the right password") {
				t.Errorf("%s: %v", what, err)
			}
			if costs := hashes(); !slices.Equal(costs, []service.PasswordCost{servertest.WeakCost}) {
				t.Errorf("%s: hashes of the costs %v, want one of %v", what, costs, servertest.WeakCost)
			}
		}
	}, busy)
}

// TestSignInFlood sends more concurrent sign-ins than can be hashed or wait: the others
// fail immediately, and signed-in users are served meanwhile.
func TestSignInFlood(t *testing.T) {
	const tooMany = 5
	w := newWorld(t, servertest.SQLite(t), busy) // both databases behave the same here
	olga := w.person("Olga", true)
	started, release := w.Service.HoldHashes()
	answers := make(chan servertest.Answer, w.Service.MaxHashes()+service.MaxWaiting+tooMany)
	send := func(n int) {
		for range n {
			go func() {
				a, err := w.Try(request{
					Method: "POST",
					Path:   "/api/auth/sessions",
					Body:   fields{"email": olga.User.Email, "password": "not this one"},
				})
				if err != nil {
					t.Errorf("a sign-in: %v", err)
				}
				answers <- a
			}()
		}
	}
	send(w.Service.MaxHashes())
	for range w.Service.MaxHashes() {
		testenv.Receive(t, "the hash of a sign-in begins", started)
	}
	send(service.MaxWaiting + tooMany)
	for range tooMany {
		a := testenv.Receive(t, "a sign-in is refused", answers)
		if a.Status != 503 || a.Code() != string(warranty.Unavailable) || a.Header.Get("Retry-After") == "" {
			t.Errorf("one too many: %d %s", a.Status, a.Body)
		}
	}
	w.Must(200, request{Method: "GET", Path: "/api/v1/warranties", Secret: olga.session})
	close(release)
	for range w.Service.MaxHashes() + service.MaxWaiting {
		if a := testenv.Receive(t, "a sign-in is answered", answers); a.Code() != string(warranty.InvalidCredential) {
			t.Errorf("one that waited: %d %s", a.Status, a.Body)
		}
	}
	w.Must(201, request{
		Method: "POST",
		Path:   "/api/auth/sessions",
		Body:   fields{"email": olga.User.Email, "password": servertest.Password},
	})
}
