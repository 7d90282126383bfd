package store

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"warranty.example/svc/internal/store/engine"
	"warranty.example/svc/internal/store/lists"
	"warranty.example/svc/internal/testenv"
	"warranty.example/svc/warranty"
)

// TestEveryChangeIsTold makes every kind of change to long lists in one process and checks that another process, which
// remembers what its index answered, sees it.
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
		"many changes": func(t testing.TB, s *script) {
			for range 5 {
				s.must(t, s.change)
			}
		},
	}
	eachDatabase(t, func(t *testing.T, database string) {
		ours, theirs, counting := open(t, database), open(t, database), open(t, database)
		for _, p := range []*Store{ours, theirs} {
			p.SegmentLists(2, 5, 2)
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
				s.lookAtAll(t) // and note which lists are long
				testenv.Wait(t, "an index", func() bool {
					if err := theirs.MaintainSegments(t.Context()); err != nil {
						t.Fatal(err)
					}
					return slices.ContainsFunc(s.users, func(u warranty.User) bool {
						indexed, err := theirs.lists.IsIndexed(t.Context(), lists.Key{User: u.ID, Kind: lists.Warranties})
						return err == nil && indexed
					})
				})
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
					list, total, err := st.Claims(ctx, u.ID, u.ID, warranty.ListClaims{Paging: p, Status: status})
					answers[i] = append(answers[i], s.told([]any{list, total}, err))
				}
				list, total, err := st.Documents(ctx, u.ID, warranty.ListDocuments{Paging: p})
				answers[i] = append(answers[i], s.told([]any{list, total}, err))
			}
			if diff := cmp.Diff(answers[0], answers[1]); diff != "" {
				t.Fatalf("page %d, counted (-) and from the index (+):\n%s", page, diff)
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
		id, to := s.warranty(), s.user()
		from, roles, err := tx.ownerOf(id)
		if err != nil || from == to {
			return err
		}
		if roles.SelfRecorded() {
			return tx.passOn(id, from, to)
		}
		return tx.MoveOwner(id, from, to)
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
			p.SegmentLists(6, 8, 5)
			for range 3 {
				if err := p.MaintainSegments(ctx); err != nil {
					t.Fatal(err)
				}
			}
		}
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
		together(7, func(i int) {
			s := processes[i%2]
			for range rounds {
				if i == 6 {
					if err := s.MaintainSegments(ctx); err != nil {
						t.Errorf("maintain: %v", err)
					}
					continue
				}
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
		for _, p := range processes {
			if indexed, err := p.lists.IsIndexed(ctx, lists.Key{User: user.ID, Kind: lists.Warranties}); err != nil || !indexed {
				t.Errorf("the list has an index: %v, %v", indexed, err)
			}
		}
	})
}
