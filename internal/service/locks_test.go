package service_test

import (
	"io"
	"sync/atomic"
	"testing"

	"warranty.example/svc/internal/servertest"
	"warranty.example/svc/internal/store"
	"warranty.example/svc/internal/testenv"
	"warranty.example/svc/warranty"
)

// overtaken is a source of randomness that calls by at its first use.
type overtaken struct {
	io.Reader
	by func() // uses randomness, too
}

func (o *overtaken) Read(b []byte) (int, error) {
	if by := o.by; by != nil {
		o.by = nil
		by()
	}
	return o.Reader.Read(b)
}

// TestSignInThatIsOvertaken changes the password or disables the account after a
// sign-in has checked the password: no session may be created.
func TestSignInThatIsOvertaken(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		for what, by := range map[string]func(email string) error{
			"by a new password": func(email string) error { return w.Service.SetPassword(ctx, email, "another long password", false) },
			"by its end":        func(email string) error { return w.Service.DisableUser(ctx, email) },
		} {
			olga := w.person("Olga", true)
			random := w.Service.Random
			w.Service.Random = &overtaken{Reader: random, by: func() {
				if err := by(olga.User.Email); err != nil {
					t.Error(err)
				}
			}}
			_, err := w.Service.SignIn(ctx, warranty.Principal{},
				warranty.SignIn{Email: olga.User.Email, Password: servertest.Password})
			w.Service.Random = random
			if codeOf(err) != warranty.InvalidCredential {
				t.Errorf("overtaken %s: %v", what, err)
			}
			if n := w.number(`SELECT count(*) FROM sessions WHERE user_id = $1`, w.key(olga.User.ID)); n != 0 {
				t.Errorf("overtaken %s: %d sessions are left", what, n)
			}
		}
	}, busy)
}

// TestNobodyWaitsInARing runs everything that locks an account or its credentials
// concurrently on one account: uploads, account changes, records that name its own
// address, rotations and revocations, until a password reset or the end of the account.
// PostgreSQL counts its deadlocks. (C5)
func TestNobodyWaitsInARing(t *testing.T) {
	const rounds = 3
	test := func(t *testing.T, w *world) {
		for range rounds {
			turmoil(t, w, func(olga person) error {
				_, err := w.Service.ResetPassword(ctx, warranty.Principal{},
					warranty.ResetPassword{Code: w.code(olga.User, store.ForReset), Password: "another long password"})
				return err
			})
			turmoil(t, w, func(olga person) error { return w.Service.DisableUser(ctx, olga.User.Email) })
		}
	}
	t.Run("sqlite", func(t *testing.T) { t.Parallel(); test(t, newWorld(t, servertest.SQLite(t), busy)) })
	t.Run("postgres", func(t *testing.T) {
		t.Parallel()
		w := newWorld(t, servertest.Postgres(t), busy)
		test(t, w)
		if n := deadlocks(t, w); n > 0 {
			t.Errorf("%d deadlocks had to be broken", n)
		}
	})
}

// TestRecordsOfTheSamePeopleAreNotHeldUp transfers records between two users in both
// directions while other records of theirs are changed and deleted: their lists are
// locked in one order. Each deadlock delays everything by a second.
func TestRecordsOfTheSamePeopleAreNotHeldUp(t *testing.T) {
	t.Parallel()
	const rounds = 12
	w := newWorld(t, servertest.Postgres(t), busy)
	people := []person{w.person("Olga", true), w.person("Ben", true), w.person("Cleo", true)}
	together(9, func(i int) {
		owner, other := people[i%3], people[(i+1+i/3%2)%3]
		for range rounds {
			made := w.record(owner, other.User.Email)
			w.claim(owner, made.ID)
			w.document(owner, made.ID)
			switch i / 3 {
			case 0, 1:
				w.transfer(made.ID, owner, other)
			case 2:
				if _, err := w.Service.UpdateWarranty(ctx, owner.Principal,
					warranty.UpdateWarranty{ID: warranty.WarrantyKey{ID: made.ID}, Status: new(warranty.Void)}); err != nil {
					t.Error(err)
				}
				w.confirm(other, made.ID)
				w.trash(owner, made.ID)
				if _, err := w.restore(owner, made.ID); err != nil {
					t.Error(err)
				}
			}
		}
	})
	if n := deadlocks(t, w); n > 0 {
		t.Errorf("%d deadlocks had to be broken", n)
	}
}

// turmoil does everything concurrently to a new account until end returns.
func turmoil(t *testing.T, w *world, end func(person) error) {
	olga := w.person("Olga", false)
	record := w.record(olga, "")
	verification := w.code(olga.User, store.ForVerification)
	byToken := w.tokenOf(olga)
	own := pan
	own.SellerEmail = olga.User.Email
	name := "Olga again"
	loops := []func() error{
		func() error { _, err := w.Service.CreateWarranty(ctx, olga.Principal, own); return err },
		func() error { _, err := w.Service.CreateWarranty(ctx, byToken, own); return err },
		func() error { _, err := w.Service.CreateWarranty(ctx, byToken, pan); return err },
		func() error { _, err := w.upload(olga, record.ID, "receipt.txt"); return err },
		func() error { _, err := w.upload(olga, record.ID, "invoice.txt"); return err },
		func() error {
			_, err := w.Service.UpdateAccount(ctx, olga.Principal, warranty.UpdateAccount{Name: &name})
			return err
		},
		func() error {
			id := w.tokenOf(olga).CredentialID
			_, err := w.Service.RotateToken(ctx, olga.Principal, warranty.RotateToken{ID: id})
			if err == nil {
				_, err = w.Service.RevokeToken(ctx, olga.Principal, warranty.RevokeToken{ID: id})
			}
			return err
		},
	}
	var over atomic.Bool
	together(len(loops)+2, func(i int) {
		var err error
		switch {
		case i == len(loops):
			err = end(olga)
			over.Store(true)
		case i == len(loops)+1:
			_, err = w.Service.VerifyEmail(ctx, olga.Principal, warranty.VerifyEmail{Code: verification})
		default:
			for err == nil && !over.Load() {
				err = loops[i]()
			}
		}
		switch codeOf(err) {
		case "", warranty.SessionExpired, warranty.TokenRevoked:
		case warranty.InvalidTransition: // the account ended between creating and rotating a token
		default:
			t.Error(err)
		}
	})
}

// deadlocks closes the store, because connections report their counts when they end,
// and returns the number of deadlocks in the test's own database.
func deadlocks(t *testing.T, w *world) (n int) {
	t.Helper()
	if err := w.Store.Close(); err != nil {
		t.Fatal(err)
	}
	w.DB.SetMaxIdleConns(1)
	testenv.Wait(t, "the connections to end", func() bool {
		connections := 0
		err := w.DB.QueryRow(
			`SELECT deadlocks, numbackends FROM pg_stat_database WHERE datname = current_database()`).Scan(&n,
			&connections)
		if err != nil {
			t.Fatal(err)
		}
		return connections <= 1
	})
	return n
}
