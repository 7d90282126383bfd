package service_test

import (
	"bytes"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"warranty.example/svc/internal/servertest"
	"warranty.example/svc/internal/service"
	"warranty.example/svc/internal/store"
	"warranty.example/svc/internal/store/engine"
	"warranty.example/svc/warranty"
)

// operator is a person with access to the admin page.
func (w *world) operator(name string) person {
	w.T.Helper()
	p := w.person(name, true)
	if err := w.Service.SetAdmin(w.T.Context(), p.User.Email, true); err != nil {
		w.T.Fatal(err)
	}
	return w.reload(p)
}

// reload authenticates a person's session again.
func (w *world) reload(p person) person {
	w.T.Helper()
	principal, err := w.Service.Authenticate(w.T.Context(), p.session, false)
	if err != nil {
		w.T.Fatal(err)
	}
	p.Principal = principal
	return p
}

// TestAdminStopsARevokedOperator revokes an operator between the check of a request and its
// transaction, and presents a token of an operator.
func TestAdminStopsARevokedOperator(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		root, olga := w.operator("Root"), w.person("Olga", true)
		key, _ := w.token(root.User, warranty.AllScopes, time.Hour, false)
		token, err := w.Service.Authenticate(t.Context(), key, true)
		if err != nil || token.Admin || !token.SignedInAt.IsZero() {
			t.Error("a token has access to the admin page")
		}
		token.Admin, token.SignedInAt = true, w.Clock.Now() // even if it had
		if err := w.Service.AdminDisable(t.Context(), token, olga.User.ID); codeOf(err) != warranty.NotFound {
			t.Errorf("a token: %v", err)
		}
		if err := w.Service.SetAdmin(t.Context(), root.User.Email, false); err != nil {
			t.Fatal(err)
		}
		if !root.Admin {
			t.Fatal("the principal must be from before")
		}
		before := w.snapshot()
		for what, do := range map[string]func() error{
			"disable": func() error { return w.Service.AdminDisable(t.Context(), root.Principal, olga.User.ID) },
			"enable":  func() error { return w.Service.AdminEnable(t.Context(), root.Principal, olga.User.ID) },
			"retry":   func() error { return w.Service.AdminRetryMail(t.Context(), root.Principal, olga.User.ID) },
			"give up": func() error { return w.Service.AdminGiveUpMail(t.Context(), root.Principal, olga.User.ID) },
			"retry all": func() error {
				_, err := w.Service.AdminRetryMails(t.Context(), root.Principal)
				return err
			},
		} {
			if err := do(); codeOf(err) != warranty.NotFound {
				t.Errorf("%s after revoking: %v", what, err)
			}
		}
		equal(t, "changed tables", len(changed(before, w.snapshot())), 0)
	})
}

// TestAdminOperatorsDisableEachOther lets two operators disable each other at the same time, on
// different replicas: exactly one succeeds.
func TestAdminOperatorsDisableEachOther(t *testing.T) {
	eachReplicas(t, func(t *testing.T, worlds []*world) {
		for round := range 5 {
			first := worlds[0]
			both := []person{first.operator(fmt.Sprint("A", round)), first.operator(fmt.Sprint("B", round))}
			var mu sync.Mutex
			done := 0
			together(2, func(i int) {
				w := worlds[i%len(worlds)]
				err := w.Service.AdminDisable(t.Context(), both[i].Principal, both[1-i].User.ID)
				mu.Lock()
				defer mu.Unlock()
				if err == nil {
					done++
				} else if codeOf(err) != warranty.SessionExpired {
					t.Errorf("the loser gets %v", err)
				}
			})
			equal(t, "operators who succeeded", done, 1)
		}
	})
}

// flood records n errors.
func flood(w *world, n int, text string) {
	for i := range n {
		w.Service.RecordError(warranty.Principal{}, service.RequestInfo{
			Method: "GET", Route: "/", Status: 500, RequestID: fmt.Sprintf("flood-%06d", i)}, text)
	}
}

// TestAdminErrorsAreBounded records more errors than fit in memory: the first ones are kept, the rest
// are only counted.
func TestAdminErrorsAreBounded(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		long := "svc_" + strings.Repeat("a", 20) + " postgres://u:hunter2@db/x\n\tat\x00 " + strings.Repeat("x", 1<<16)
		flood(w, 300, long)
		flood(w, 10_000, long)
		if err := w.Service.FlushUsage(t.Context()); err != nil {
			t.Fatal(err)
		}
		list, total, err := w.Store.ServerErrors(t.Context(), "", warranty.Paging{Page: 1, Limit: 300})
		if err != nil {
			t.Fatal(err)
		}
		equal(t, "errors", total, int64(201))
		equal(t, "the rest", list[0].Message, "10100 more errors were not recorded. See the log.")
		equal(t, "the first", list[200].RequestID, "flood-000000")
		equal(t, "its text", list[200].Message[:60], "(secret) postgres://(secret)@db/x\n  at? "+strings.Repeat("x", 20))
		equal(t, "its length", len(list[200].Message), store.MaxErrorText)
	})
}

// TestAdminErrorsOutliveAnOutage records errors while the database fails. They are written when it is
// back, once each, the first ones first.
func TestAdminErrorsOutliveAnOutage(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		st, err := store.Open(t.Context(), w.Database)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = st.Close() }) // the test is over
		faults := []engine.Fault{engine.CommitFails, engine.AnswerLost, engine.CommitFails, engine.NoFault}
		st.InjectFaults(func() engine.Fault {
			fault := faults[0]
			if len(faults) > 1 {
				faults = faults[1:]
			}
			return fault
		})
		s := *w.Service
		s.Store = st
		broken := &world{World: w.World, postgres: w.postgres}
		copied := *w.World
		copied.Service = &s
		broken.World = &copied
		flood(broken, 10, "down")
		for range 3 {
			if err := s.FlushUsage(t.Context()); err == nil {
				t.Fatal("the database works")
			}
		}
		flood(broken, 500, "still down")
		if err := s.FlushUsage(t.Context()); err != nil {
			t.Fatal(err)
		}
		equal(t, "errors", w.number(`SELECT count(*) FROM server_errors WHERE message IN ('down', 'still down')`), int64(200))
		equal(t, "of the beginning", w.number(`SELECT count(*) FROM server_errors WHERE message = 'down'`), int64(10))
	})
}

// TestAdminErrorsArePruned keeps the newest errors, of the last 30 days.
func TestAdminErrorsArePruned(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		now := w.Clock.Now().UTC().Truncate(time.Microsecond)
		var list []store.ServerError
		for i := range 50 {
			list = append(list, store.ServerError{ID: w.Service.NewID(), At: now.Add(-time.Duration(i) * 24 * time.Hour)})
		}
		w.write(func(tx *store.Tx) error { return tx.InsertServerErrors(list) })
		w.write(func(tx *store.Tx) error { return tx.PruneServerErrors(now.Add(-store.ServerErrorLifetime), 1000) })
		equal(t, "of 30 days", w.number(`SELECT count(*) FROM server_errors`), int64(31))
		w.write(func(tx *store.Tx) error { return tx.PruneServerErrors(now.Add(-store.ServerErrorLifetime), 5) })
		equal(t, "the newest", w.number(`SELECT count(*) FROM server_errors`), int64(5))
	})
}

// TestAdminListsUsersByPage compares pages in each order with each other.
func TestAdminListsUsersByPage(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		var people []person
		for i := range 7 {
			people = append(people, w.person(fmt.Sprint("Person", i), true))
		}
		root := w.operator("Root")
		w.record(people[3], "")
		if err := w.Service.EraseUser(t.Context(), people[0].User.Email); err != nil {
			t.Fatal(err)
		}
		for _, order := range []service.UserOrder{store.NewestUsers, store.UsersByEmail, store.UsersBySignIn} {
			for _, text := range []string{"", "people.example"} { // by index, and by a scan
				var got []warranty.ID
				for page := 1; page <= 5; page++ {
					q := service.UserQuery{Text: text, Order: order, Paging: warranty.Paging{Page: page, Limit: 2}}
					list, err := w.Service.AdminUsers(t.Context(), root.Principal, q)
					if err != nil {
						t.Fatal(err)
					}
					if list.Pagination.Total < 7 || list.Pagination.Total > 8 { // the account of passwordHash
						t.Errorf("%s: %d in total", order, list.Pagination.Total)
					}
					for _, u := range list.Data {
						got = append(got, u.ID)
						if want := int64(0); u.ID == people[3].User.ID && u.Records != want+1 || u.ID != people[3].User.ID && u.Records != want {
							t.Errorf("%s has %d records", u.Email, u.Records)
						}
					}
				}
				seen := map[warranty.ID]bool{}
				for i, id := range got {
					seen[id] = true
					if i > 0 && order == store.NewestUsers && bytes.Compare(got[i-1][:], id[:]) < 0 {
						t.Errorf("%s is after an older one", id)
					}
				}
				if len(seen) != len(got) || seen[people[0].User.ID] || !seen[root.User.ID] {
					t.Errorf("%s %q lists %d accounts, %d different", order, text, len(got), len(seen))
				}
			}
		}
	})
}

// BenchmarkErrorFlood measures the cost of an error while the buffer is full.
func BenchmarkErrorFlood(b *testing.B) {
	w := newWorld(b, servertest.SQLite(b))
	flood(w, 1000, "full")
	b.ReportAllocs()
	for b.Loop() {
		flood(w, 1, "one more")
	}
}
