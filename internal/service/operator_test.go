package service_test

import (
	"context"
	"slices"
	"testing"
	"time"

	"warranty.example/svc/internal/store"
	"warranty.example/svc/warranty"
)

// summary returns an account as the operator sees it.
func (w *world) summary(email string) store.UserSummary {
	w.T.Helper()
	for after := ""; ; {
		list, err := w.Store.Users(context.Background(), after, 2) // short pages, to test paging
		if err != nil {
			w.T.Fatal(err)
		}
		for _, u := range list {
			if u.Email == email {
				return u
			}
			if u.Email <= after {
				w.T.Fatalf("%s is listed after %s", u.Email, after)
			}
			after = u.Email
		}
		if len(list) < 2 {
			return store.UserSummary{}
		}
	}
}

// actions lists the actions in the history of an account, oldest first.
func (w *world) actions(account warranty.ID) (list []string) {
	w.T.Helper()
	question := `SELECT CAST(action AS TEXT) FROM history WHERE thread_id = ` + w.IDLiteral(account.String()) + ` ORDER BY id`
	for _, number := range w.strings(question) {
		n := int64(0)
		for _, digit := range number {
			n = 10*n + int64(digit-'0')
		}
		list = append(list, string(warranty.EnumOf[warranty.Action](n)))
	}
	return list
}

// TestOperatorListsAccounts compares the list with what the accounts did.
func TestOperatorListsAccounts(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		olga, sami := w.person("Olga", true), w.person("Sami", false)
		record := w.record(olga, "")
		w.record(olga, "")
		w.document(olga, record.ID)
		got := w.summary(olga.User.Email)
		if got.Records != 2 || got.StorageBytes != int64(len("A receipt, in plain text.")) || got.Name != "Olga" ||
			!got.Verified || got.State != store.UserActive || got.Admin || got.LastSignInAt == nil ||
			time.Since(*got.LastSignInAt) > time.Hour {
			t.Errorf("Olga is listed as %+v", got)
		}
		if got := w.summary(sami.User.Email); got.Records != 0 || got.Verified {
			t.Errorf("Sami is listed as %+v", got)
		}
		if err := w.Service.DisableUser(t.Context(), sami.User.Email); err != nil {
			t.Fatal(err)
		}
		if got := w.summary(sami.User.Email); got.State != store.UserDisabled {
			t.Errorf("a disabled account is listed as %+v", got)
		}
	})
}

// TestOperatorActionsAreInHistory performs every action and reads the account's history.
func TestOperatorActionsAreInHistory(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		ctx := t.Context()
		u, err := w.Service.AddUser(ctx, warranty.Register{Name: "Ada", Email: "ada@people.example", Password: "plum ladder quiet"})
		if err != nil {
			t.Fatal(err)
		}
		key, token := w.token(u, warranty.AllScopes, time.Hour, false)
		for i, step := range []func() error{
			func() error { return w.Service.SetPassword(ctx, u.Email, "seven grey herons", true) },
			func() error { return w.Service.SetAdmin(ctx, u.Email, true) },
			func() error { return w.Service.SetAdmin(ctx, u.Email, true) }, // no change, no event
			func() error { return w.Service.RevokeUserToken(ctx, u.Email, token) },
			func() error { return w.Service.SetAdmin(ctx, u.Email, false) },
			func() error { return w.Service.DisableUser(ctx, u.Email) },
			func() error { return w.Service.EnableUser(ctx, u.Email) },
			func() error { return w.delete(u.Email) },
			func() error { return w.delete(u.Email) }, // no change, no event
			func() error { return w.Service.EraseUser(ctx, u.Email) },
		} {
			if err := step(); err != nil {
				t.Fatalf("step %d: %v", i, err)
			}
			if i == 1 && !w.summary(u.Email).Admin {
				t.Error("the administrator is not listed as one")
			}
			if i == 3 {
				w.Alive(t, "a revoked token", key, false)
			}
		}
		want := []string{"account.added", "account.password_set", "account.admin_granted", "account.admin_revoked",
			"account.disabled", "account.enabled", "account.to_be_erased", "account.deleted"}
		if got := w.actions(u.ID); !slices.Equal(got, want) {
			t.Errorf("the history is %v, want %v", got, want)
		}
		if got := w.actions(token); !slices.Equal(got, []string{"token.revoked"}) {
			t.Errorf("the history of the token is %v", got)
		}
		if n := w.number(`SELECT count(*) FROM history WHERE actor <> 'Operator' OR door <> 5`); n != 0 {
			t.Errorf("%d events are not the operator's", n)
		}
	})
}

// TestEnabledAccountsWork: an enabled account can sign in again, and its old credentials stay ended.
func TestEnabledAccountsWork(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		olga := w.person("Olga", true)
		key, _ := w.token(olga.User, warranty.AllScopes, time.Hour, false)
		for _, step := range []func(context.Context, string) error{w.Service.DisableUser, w.Service.EnableUser} {
			if err := step(t.Context(), olga.User.Email); err != nil {
				t.Fatal(err)
			}
			w.Alive(t, "the old token", key, false)
			w.Alive(t, "the old session", olga.session, false)
		}
		again := w.session(olga.User, time.Hour)
		w.Alive(t, "a new session", again.session, true)
		unknown := w.Service.EnableUser(t.Context(), "nobody@people.example")
		if codeOf(unknown) != warranty.NotFound {
			t.Errorf("enabling an unknown account: %v", unknown)
		}
	})
}
