package service_test

import (
	"database/sql"
	"errors"
	"io"
	"sync/atomic"
	"testing"

	"warranty.example/svc/internal/servertest"
	"warranty.example/svc/internal/store"
	"warranty.example/svc/internal/testenv"
	"warranty.example/svc/warranty"
)

// overtaken is a source of randomness in which something happens at the first use.
type overtaken struct {
	io.Reader
	by func() // it uses randomness, too
}

func (o *overtaken) Read(b []byte) (int, error) {
	if by := o.by; by != nil {
		o.by = nil
		by()
	}
	return o.Reader.Read(b)
}

// TestSignInThatIsOvertaken has the password changed, or the account shut, after a
// sign-in has looked at the password: it opens no session that would outlive this.
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
			_, err := w.Service.SignIn(ctx, warranty.Principal{}, warranty.SignIn{Email: olga.User.Email, Password: servertest.Password})
			w.Service.Random = random
			if codeOf(err) != warranty.InvalidCredential {
				t.Errorf("overtaken %s: %v", what, err)
			}
			if n := w.number(`SELECT count(*) FROM sessions WHERE user_id = $1`, w.key(olga.User.ID)); n != 0 {
				t.Errorf("overtaken %s: %d sessions are left", what, n)
			}
		}
	})
}

// TestNobodyWaitsInARing lets everything that locks an account happen at once to
// one. PostgreSQL counts the rings that it had to break, in a database of the test's own: other tests
// provoke some.
func TestNobodyWaitsInARing(t *testing.T) {
	const rounds, uploaders = 4, 3
	test := func(t *testing.T, w *world) {
		for range rounds {
			olga := w.person("Olga", false)
			record := w.record(olga, olga.User.Email)
			reset, verification := w.code(olga.User, store.ForReset), w.code(olga.User, store.ForVerification)
			allow := func(err error) bool {
				if err != nil && codeOf(err) != warranty.SessionExpired {
					t.Error(err)
				}
				return err == nil
			}
			var over atomic.Bool
			together(uploaders+3, func(i int) {
				switch i {
				case 0:
					_, err := w.Service.ResetPassword(ctx, warranty.Principal{}, warranty.ResetPassword{Code: reset, Password: "another long password"})
					allow(err)
					over.Store(true)
				case 1:
					_, err := w.Service.VerifyEmail(ctx, olga.Principal, warranty.VerifyEmail{Code: verification})
					allow(err)
				case 2:
					name := "Olga again"
					for again := true; again && !over.Load(); {
						_, err := w.Service.UpdateAccount(ctx, olga.Principal, warranty.UpdateAccount{Name: &name})
						again = allow(err)
					}
				default:
					for again := true; again && !over.Load(); {
						_, err := w.upload(olga, record.ID, "receipt.txt")
						again = allow(err)
					}
				}
			})
		}
		if !w.postgres {
			return
		}
		// A connection tells what it has counted when it ends.
		if err := w.Store.Close(); err != nil {
			t.Fatal(err)
		}
		var rings int
		testenv.Wait(t, "the store's connections to PostgreSQL end", func() bool {
			err := w.db.QueryRow(`SELECT deadlocks FROM pg_stat_database WHERE datname = current_database() AND numbackends <= 1`).Scan(&rings)
			if err != nil && !errors.Is(err, sql.ErrNoRows) {
				t.Fatal(err)
			}
			return err == nil
		})
		if rings > 0 {
			t.Errorf("%d rings had to be broken", rings)
		}
	}
	t.Run("sqlite", func(t *testing.T) { t.Parallel(); test(t, newWorld(t, servertest.SQLite(t))) })
	t.Run("postgres", func(t *testing.T) { t.Parallel(); test(t, newWorld(t, testenv.PostgresDatabase(t))) })
}
