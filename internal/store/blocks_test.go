package store

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"warranty.example/svc/internal/store/engine"
	"warranty.example/svc/warranty"
)

// TestBlocksAgreeWithCounting runs random scripts in two processes that count in tiny blocks. After
// each step it compares a random page of a random list with a third process that always counts
// everything.
func TestBlocksAgreeWithCounting(t *testing.T) {
	eachDatabase(t, func(t *testing.T, database string) {
		processes := []*Store{open(t, database), open(t, database)}
		counting := open(t, database)
		counting.BlockLists(1<<40, time.Hour)
		shift := time.Duration(0)
		for _, p := range processes {
			p.BlockLists(2, time.Hour)
			p.lists.slots = 3
			p.SetClock(func() time.Time { return time.Now().Add(shift) })
		}
		processes[0].lists.rare = 2
		counted, rare := 0, 0
		rapid.Check(t, func(t *rapid.T) {
			random := rand.New(rand.NewPCG(rapid.Uint64().Draw(t, "seed"), 1))
			first := ids.Add(1_000_000)
			s := &script{random: random, base: first, last: first}
			s.made = func() time.Time {
				// Most ids are new, some are a little older, and some are late.
				minutes := []int{0, 0, 0, 10, 20, 70, 200}[random.IntN(7)]
				return processes[0].Now().Add(-time.Duration(minutes) * time.Minute)
			}
			steps := []func() (any, error){
				s.change, s.change, s.remove, s.transfer, s.transfer, s.fileClaim, s.fileClaim, s.moveClaim, s.moveClaim,
				s.upload, s.upload, s.listDocuments, s.addUser, s.addWarranty, s.addWarranty, s.addWarranty,
			}
			for i := range rapid.IntRange(25, 50).Draw(t, "steps") {
				s.Store = processes[random.IntN(2)]
				switch {
				case i < 3:
					s.told(s.addUser())
				case i < 20:
					s.told(s.addWarranty())
				case random.IntN(6) == 0:
					shift += 25 * time.Minute // young entries settle
				default:
					s.told(steps[random.IntN(len(steps))]())
				}
				for range 2 {
					s.Store = processes[random.IntN(2)]
					if diff := cmp.Diff(s.look(counting)); diff != "" {
						t.Fatalf("after step %d, full count (-) and blocks (+) differ:\n%s", i, diff)
					}
				}
			}
			for _, p := range processes {
				counted += p.lists.size
			}
			for _, entry := range processes[0].lists.entries {
				for _, b := range entry.current.Load().filters {
					rare += len(b.rare)
				}
			}
		})
		if counted == 0 || rare == 0 {
			t.Errorf("cached %d blocks and %d rare entries, want some of both", counted, rare)
		}
	})
}

// look reads the same page from two stores.
func (s *script) look(other *Store) (theirs, ours string) {
	if len(s.users) == 0 {
		return "", ""
	}
	ctx, user := context.Background(), s.users[s.random.IntN(len(s.users))].ID
	question, status := s.question(), warranty.EnumOf[warranty.ClaimStatus](s.random.Int64N(9))
	p := warranty.Paging{Page: 1 + s.random.IntN(6), Limit: 1 + s.random.IntN(5)}
	question.Paging, question.Q = p, ""
	if s.random.IntN(2) == 0 {
		question.Category, question.ExpiringWithinDays = "", nil
	}
	if s.random.IntN(2) == 0 {
		question.Status, status = "", ""
	}
	if s.random.IntN(2) == 0 {
		question.Role = ""
	}
	kind := s.random.IntN(4)
	ask := func(st *Store) string {
		switch kind {
		case 0:
			list, total, err := st.Claims(ctx, user, warranty.ListClaims{Paging: p, Status: status}, nil)
			return s.told([]any{list, total}, err)
		case 1:
			list, total, err := st.Documents(ctx, user, warranty.ListDocuments{Paging: p})
			return s.told([]any{list, total}, err)
		default:
			list, total, err := st.Warranties(ctx, user, question, s.today())
			return s.told([]any{list, total}, err)
		}
	}
	return ask(other), ask(s.Store)
}

// TestEvictedListsAreCountedAgain reads more long lists than the cache holds.
func TestEvictedListsAreCountedAgain(t *testing.T) {
	each(t, func(t *testing.T, st *Store) {
		st.BlockLists(2, time.Hour)
		st.lists.maxSize = 30
		first := ids.Add(1_000_000)
		s := &script{Store: st, random: rand.New(rand.NewPCG(1, 1)), base: first, last: first, sure: true}
		for range 6 {
			s.must(t, s.addUser)
		}
		for range 90 {
			s.must(t, s.addWarranty)
		}
		for round := range 4 {
			for _, u := range s.users {
				want := number(t, st, `SELECT count(*) FROM access WHERE user_id = $1`, u.ID)
				in := warranty.ListWarranties{Paging: warranty.Paging{Page: 1, Limit: 5}}
				_, total, err := st.Warranties(context.Background(), u.ID, in, s.today())
				if err != nil || total != want {
					t.Fatalf("round %d: total %d, want %d, %v", round, total, want, err)
				}
			}
			size := 0
			for _, entry := range st.lists.entries {
				size += entry.current.Load().size()
			}
			if size != st.lists.size || size > 30 || size == 0 {
				t.Fatalf("round %d: size is %d, recorded as %d", round, size, st.lists.size)
			}
		}
	})
}

// TestRareEntriesAreRemembered changes which of many records are void and checks that the few are
// cached.
func TestRareEntriesAreRemembered(t *testing.T) {
	each(t, func(t *testing.T, st *Store) {
		ctx := context.Background()
		st.BlockLists(4, time.Hour)
		st.lists.rare = 8
		first := ids.Add(1_000_000)
		s := &script{Store: st, random: rand.New(rand.NewPCG(1, 1)), base: first, last: first, sure: true}
		s.must(t, s.addUser)
		for range 80 {
			s.must(t, s.addWarranty)
		}
		user, void := s.users[0].ID, map[int]bool{}
		for round, turned := range []int{4, 30, 31, 79, 30, 50, 4, 3, 31, 79, 50, 3} {
			void[turned] = !void[turned]
			err := st.Write(ctx, func(tx *Tx) error {
				w, err := tx.LockWarranty(user, warranty.WarrantyKey{ID: s.warranties[turned]})
				if err != nil {
					return err
				}
				changed := w
				changed.Version, changed.Standing = w.Version+1, warranty.Active
				if void[turned] {
					changed.Standing = warranty.Void
				}
				return tx.UpdateWarranty(w, changed)
			})
			if err != nil {
				t.Fatal(err)
			}
			var want, got []warranty.ID
			for i, id := range s.warranties {
				if void[i] {
					want = append(want, id)
				}
			}
			in := warranty.ListWarranties{Paging: warranty.Paging{Page: 1, Limit: 5}, WarrantyFilter: warranty.WarrantyFilter{Status: warranty.Void}}
			if _, _, err := st.Warranties(ctx, user, in, s.today()); err != nil {
				t.Fatal(err)
			}
			for _, b := range st.lists.entry(listKey{user, kindWarranty}).current.Load().filters {
				got = append(got, b.rare...)
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Fatalf("round %d, void (-) and cached (+):\n%s", round, diff)
			}
		}
	})
}

// TestEveryChangeIsTold makes every kind of change to long lists in one process and checks that
// another process, which had counted them, sees it.
func TestEveryChangeIsTold(t *testing.T) {
	changes := map[string]func(t testing.TB, s *script){
		"a status":       func(t testing.TB, s *script) { s.must(t, s.change) },
		"a deletion":     func(t testing.TB, s *script) { s.must(t, s.delete) },
		"a transfer":     func(t testing.TB, s *script) { s.must(t, s.giveAway) },
		"a claim":        func(t testing.TB, s *script) { s.must(t, s.moveClaim) },
		"a document":     func(t testing.TB, s *script) { s.must(t, s.deleteDocument) },
		"a seller":       func(t testing.TB, s *script) { s.must(t, s.linkSeller) },
		"a late record":  func(t testing.TB, s *script) { s.must(t, s.addWarranty) },
		"a late claim":   func(t testing.TB, s *script) { s.must(t, s.fileClaim) },
		"a late file":    func(t testing.TB, s *script) { s.must(t, s.upload) },
		"a young record": func(t testing.TB, s *script) { s.made = s.Now; s.must(t, s.addWarranty) },
		"out of order": func(t testing.TB, s *script) {
			s.made = s.Now
			for range 24 {
				s.must(t, s.addWarranty)
			}
			s.lookAtAll(t)
			s.made = func() time.Time { return s.Now().Add(-10 * time.Minute) }
			s.must(t, s.addWarranty)
		},
		"more changes than slots": func(t testing.TB, s *script) {
			for range 5 {
				s.must(t, s.change)
			}
		},
	}
	eachDatabase(t, func(t *testing.T, database string) {
		ours, theirs, counting := open(t, database), open(t, database), open(t, database)
		counting.BlockLists(1<<40, time.Hour)
		for _, p := range []*Store{ours, theirs} {
			p.BlockLists(2, time.Hour)
			p.lists.slots = 3
			p.lists.rare = 3 // one status is rare, all of them are not
		}
		for name, change := range changes {
			t.Run(name, func(t *testing.T) {
				first := ids.Add(1_000_000)
				s := &script{
					Store:  ours,
					random: rand.New(rand.NewPCG(first, 1)),
					base:   first,
					last:   first,
					others: []*Store{counting, theirs},
					sure:   true,
				}
				for range 2 {
					s.must(t, s.addUser)
				}
				for range 12 {
					s.must(t, s.addWarranty)
					s.must(t, s.fileClaim)
					s.must(t, s.upload)
				}
				s.lookAtAll(t)
				change(t, s)
				s.lookAtAll(t)
			})
		}
	})
}

// must runs a step until it succeeds.
func (s *script) must(t testing.TB, step func() (any, error)) {
	t.Helper()
	for try := 0; ; try++ {
		_, err := step()
		if err == nil {
			return
		}
		if try == 50 { // steps fail when they pick missing or taken values
			t.Fatal(err)
		}
	}
}

// lookAtAll checks that the other stores agree on all lists of all users.
func (s *script) lookAtAll(t testing.TB) {
	t.Helper()
	ctx := context.Background()
	for _, u := range s.users {
		for page := 1; page <= 4; page++ {
			p := warranty.Paging{Page: page, Limit: 5}
			var answers [2][]string
			for i, st := range s.others {
				for n := range int64(6) {
					status := warranty.EnumOf[warranty.Status](n)
					list, total, err := st.Warranties(ctx, u.ID, warranty.ListWarranties{Paging: p, WarrantyFilter: warranty.WarrantyFilter{Status: status}}, s.today())
					answers[i] = append(answers[i], s.told([]any{list, total}, err))
				}
				for n := range int64(9) {
					status := warranty.EnumOf[warranty.ClaimStatus](n)
					list, total, err := st.Claims(ctx, u.ID, warranty.ListClaims{Paging: p, Status: status}, nil)
					answers[i] = append(answers[i], s.told([]any{list, total}, err))
				}
				list, total, err := st.Documents(ctx, u.ID, warranty.ListDocuments{Paging: p})
				answers[i] = append(answers[i], s.told([]any{list, total}, err))
			}
			if diff := cmp.Diff(answers[0], answers[1]); diff != "" {
				t.Fatalf("page %d, full count (-) and blocks (+):\n%s", page, diff)
			}
		}
	}
}

func (s *script) delete() (any, error) {
	return nil, s.write(func(tx *Tx) error {
		w, err := tx.LockWarranty(s.user(), warranty.WarrantyKey{ID: s.warranty()})
		if err != nil {
			return err
		}
		return tx.DeleteWarranty(w, s.now())
	})
}

func (s *script) deleteDocument() (any, error) {
	return nil, s.write(func(tx *Tx) error {
		f, err := tx.LockFile(s.user(), oneOf(s, s.documents, warranty.ID{4}))
		if err != nil {
			return err
		}
		return tx.DeleteDocument(f.Document, s.now())
	})
}

func (s *script) giveAway() (any, error) {
	return nil, s.write(func(tx *Tx) error {
		id, code := s.warranty(), s.hash(1)
		if err := tx.OfferTransfer(id, code, s.now().Add(time.Hour), nil); err != nil {
			return err
		}
		_, _, err := tx.AcceptTransfer(code, s.user(), s.now())
		return err
	})
}

func (s *script) linkSeller() (any, error) {
	return nil, s.write(func(tx *Tx) error {
		u := s.users[s.random.IntN(len(s.users))]
		return linkSeller(tx, u.ID, s.address(), s.now())
	})
}

// linkSeller makes a user the confirmed seller of all warranties that name an address.
func linkSeller(tx *Tx, user warranty.ID, email string, now time.Time) error {
	var ids []warranty.ID
	err := tx.tx.Query(tx.ctx, `SELECT w.id FROM warranties w WHERE w.seller_email = $1 AND w.deleted_at IS NULL
		ORDER BY w.id /*pg: FOR UPDATE */`, func(r *engine.Row) error { ids = append(ids, r.ID()); return nil }, email)
	linked := false
	for _, id := range ids {
		added := false
		if err == nil {
			added, err = tx.AddSeller(user, id, now)
		}
		linked = linked || added
	}
	if err == nil && !linked {
		err = warranty.ErrNotFound
	}
	return err
}

// TestTotalsAreOfOneMoment has two processes change a long list in transactions that keep its
// length, while both read it: every total and page must be consistent.
func TestTotalsAreOfOneMoment(t *testing.T) {
	const records, void, rounds = 60, 20, 40
	eachDatabase(t, func(t *testing.T, database string) {
		ctx := context.Background()
		processes := []*Store{open(t, database), open(t, database)}
		user := warranty.User{ID: newID(), Email: fmt.Sprintf("many%d@people.example", ids.Add(1)), CreatedAt: time.Now()}
		insert := func(tx *Tx, standing warranty.Status) error {
			id := newID()
			reference, err := warranty.NewReference(warranty.WarrantyPrefix, strings.NewReader(fmt.Sprintf("%015d", ids.Add(1))))
			if err != nil {
				return err
			}
			return tx.InsertWarranty(warranty.Warranty{
				ID:              id,
				ReferenceNumber: reference,
				ProductName:     "x",
				Standing:        standing,
				StartDate:       1,
				EndDate:         2,
				Version:         1,
			}, user.ID)
		}
		if err := processes[0].Write(ctx, func(tx *Tx) error {
			if err := tx.InsertUser(user, "x"); err != nil {
				return err
			}
			for i := range records {
				standing := warranty.Cancelled
				if i%(records/void) == 0 {
					standing = warranty.Void
				}
				if err := insert(tx, standing); err != nil {
					return err
				}
			}
			return nil
		}); err != nil {
			t.Fatal(err)
		}
		for _, p := range processes {
			p.BlockLists(4, time.Hour)
		}
		processes[0].lists.rare = 2
		// swap exchanges the status of two records, or deletes one and adds one.
		swap := func(s *Store) error {
			return s.Write(ctx, func(tx *Tx) error {
				at := rand.Int64N(records)
				var all []warranty.ID
				if err := tx.tx.Query(ctx, `SELECT item_id FROM access WHERE user_id = $1 ORDER BY item_id LIMIT 2 OFFSET $2`,
					func(r *engine.Row) error { all = append(all, r.ID()); return nil }, user.ID, min(at, records-2)); err != nil {
					return err
				}
				var pair []warranty.Warranty
				for _, id := range all {
					w, err := tx.LockWarranty(user.ID, warranty.WarrantyKey{ID: id})
					if errors.Is(err, warranty.ErrNotFound) {
						return nil // deleted concurrently
					}
					if err != nil {
						return err
					}
					pair = append(pair, w)
				}
				if rand.IntN(2) == 0 {
					if err := tx.DeleteWarranty(pair[0], time.Now()); err != nil {
						return err
					}
					return insert(tx, pair[0].Standing)
				}
				for i, w := range pair {
					changed := w
					changed.Standing, changed.Version = pair[1-i].Standing, w.Version+1
					if err := tx.UpdateWarranty(w, changed); err != nil {
						return err
					}
				}
				return nil
			})
		}
		together(6, func(i int) {
			s := processes[i%2]
			for range rounds {
				if i < 2 {
					if err := swap(s); err != nil {
						t.Errorf("swap: %v", err)
					}
					continue
				}
				in, want := warranty.ListWarranties{Paging: warranty.Paging{Page: 1 + rand.IntN(8), Limit: 10}}, int64(records)
				if rand.IntN(2) == 0 {
					in.Status, want = warranty.Void, void
				}
				list, total, err := s.Warranties(ctx, user.ID, in, 3)
				expected := max(0, min(10, want-in.Offset()))
				if err != nil || total != want || int64(len(list)) != expected {
					t.Errorf("page %d of %v: total %d, want %d; %d records, want %d: %v",
						in.Page, in.Status, total, want, len(list), expected, err)
				}
			}
		})
		if processes[0].lists.size == 0 {
			t.Error("the list was never counted in blocks")
		}
	})
}
