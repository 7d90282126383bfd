package service_test

import (
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	"warranty.example/svc/internal/store"
	"warranty.example/svc/warranty"
)

// TestEveryClaimIsInOneQueue moves a claim through its life. On each side it is in one queue, the counts agree with the
// lists, and the time that it waits begins when the other side has to act.
func TestEveryClaimIsInOneQueue(t *testing.T) {
	eachInTurn(t, func(t *testing.T, w *world) {
		d := w.desk()
		since := time.Time{}
		look := func(what string, shop, kim warranty.ClaimQueue, sameWait bool) {
			t.Helper()
			for who, want := range map[*person]warranty.ClaimQueue{&d.shop: shop, &d.kim: kim} {
				counts, err := d.Service.CountClaims(ctx, who.Principal, warranty.CountClaims{})
				d.must(err)
				for _, name := range want.Values() {
					queue := warranty.ClaimQueue(name)
					page, err := d.Service.ListClaims(ctx, who.Principal, warranty.ListClaims{Queue: queue, Sort: warranty.ClaimsByWaiting})
					d.must(err)
					plain, err := d.Service.ListClaims(ctx, who.Principal, warranty.ListClaims{Queue: queue})
					d.must(err)
					n := int64(0)
					if queue == want {
						n = 1
					}
					equal(t, what+": "+name, []int64{page.Pagination.Total, plain.Pagination.Total, counts.In(queue)}, []int64{n, n, n})
				}
			}
			c, _ := d.read(d.shop)
			equal(t, what+": queue", c.Queue, shop)
			if (c.WaitingSince == nil) != (c.WaitingFor == nil) {
				t.Errorf("%s: waits since %v for %v", what, c.WaitingSince, c.WaitingFor)
			}
			if c.WaitingSince != nil {
				if same := c.WaitingSince.Equal(since); same != sameWait {
					t.Errorf("%s: waits since the same time: %t", what, same)
				}
				since = *c.WaitingSince
			}
		}
		const us, them, work, done = warranty.WaitingForUs, warranty.WaitingForThem, warranty.WorkInProgress, warranty.WorkDone
		look("filed", us, them, false)
		d.must(d.say(d.kim, "It also smells."))
		look("the customer wrote again", us, them, true)
		d.must(d.move(d.shop, warranty.InfoRequested, "Which colour?"))
		look("asked", them, us, false)
		d.must(d.say(d.kim, "Red."))
		look("answered", us, them, false)
		d.must(d.move(d.shop, warranty.Approved, ""))
		look("approved", work, work, false)
		d.must(d.say(d.kim, "Thank you. When?"))
		look("a question after the decision", us, them, false)
		d.must(d.say(d.shop, "Tomorrow."))
		look("answered by the shop", work, work, false)
		_, err := d.Service.MoveClaim(ctx, d.shop.Principal, warranty.MoveClaim{ID: d.key(), Status: warranty.Resolved, Resolution: warranty.Repaired})
		d.must(err)
		look("resolved", done, done, false)
	})
}

// TestQueueOfADesk: a desk sees customer, fault and assignee of its claims, and filters by them. The customer sees none
// of that.
func TestQueueOfADesk(t *testing.T) {
	eachInTurn(t, func(t *testing.T, w *world) {
		d := w.desk()
		ivo := w.person("Ivo", true)
		w.join(d.ann, d.o, ivo, warranty.Member)
		second := w.claim(d.kim, d.record.ID)
		_, err := d.Service.AssignClaim(ctx, d.shop.Principal, warranty.AssignClaim{ID: d.key(), UserID: &ivo.User.ID})
		d.must(err)
		desk := w.acting(ivo, d.o)
		ids := func(in warranty.ListClaims) (found string) {
			t.Helper()
			page, err := d.Service.ListClaims(ctx, desk, in)
			d.must(err)
			for _, c := range page.Data {
				if c.Customer == nil || c.Customer.Name != "Kim" || c.Fault == "" || (c.Assignee != nil) != (c.ID == d.claim.ID) {
					t.Errorf("customer %v, fault %q, assignee %v", c.Customer, c.Fault, c.Assignee)
				}
				found += map[warranty.ID]string{d.claim.ID: "1", second.ID: "2"}[c.ID]
			}
			return found
		}
		days := func(n int) *int { return &n }
		for _, try := range []struct {
			in   warranty.ListClaims
			want string
		}{
			{warranty.ListClaims{Assignee: "me"}, "1"},
			{warranty.ListClaims{Assignee: "none"}, "2"},
			{warranty.ListClaims{Assignee: ivo.User.ID.String()}, "1"},
			{warranty.ListClaims{Assignee: d.ann.User.ID.String()}, ""},
			{warranty.ListClaims{Age: days(0)}, "21"},
			{warranty.ListClaims{Age: days(1)}, ""},
			{warranty.ListClaims{Replied: true}, ""},
		} {
			equal(t, "filtered", ids(try.in), try.want)
		}
		counts, err := d.Service.CountClaims(ctx, desk, warranty.CountClaims{})
		d.must(err)
		equal(t, "mine and unassigned", []int64{counts.Mine, counts.Unassigned, counts.Replied}, []int64{1, 1, 0})
		d.must(d.say(d.kim, "Hello?"))
		equal(t, "replied", ids(warranty.ListClaims{Replied: true}), "1")
		if _, err := d.Service.ListClaims(ctx, desk, warranty.ListClaims{Assignee: "Ivo"}); codeOf(err) != warranty.ValidationFailed {
			t.Errorf("an assignee that is neither a word nor an ID: %v", err)
		}

		seen, _ := d.read(d.kim)
		if seen.Customer != nil || seen.Assignee != nil {
			t.Errorf("the customer sees %v and %v", seen.Customer, seen.Assignee)
		}
		_, err = d.Service.WriteNote(ctx, desk, warranty.WriteNote{ID: d.key(), Body: "Returned twice."})
		d.must(err)
		_, err = d.Service.WriteNote(ctx, d.kim.Principal, warranty.WriteNote{ID: d.key(), Body: "Mine."})
		equal(t, "a note of the customer", codeOf(err), warranty.RoleNotAllowed)
		page, err := d.Service.ListNotes(ctx, d.shop.Principal, warranty.ListNotes{ID: d.key()})
		d.must(err)
		equal(t, "notes", len(page.Data), 1)
		equal(t, "the author", page.Data[0].Author, "Ivo")
		_, err = d.Service.ListNotes(ctx, d.kim.Principal, warranty.ListNotes{ID: d.key()})
		equal(t, "notes for the customer", codeOf(err), warranty.RoleNotAllowed)
		equal(t, "what the customer reads", d.talk(d.kim), []string{"Kim (owner): Hello?"})
	})
}

// queued fails the test if the queue that is stored for a claim is not the one that it is in, or if the lists of the queues,
// their counts and the places in them disagree, for accounts that see claims.
func (w *world) queued(what string, accounts ...warranty.Principal) {
	w.T.Helper()
	for _, p := range accounts {
		list := func(in warranty.ListClaims) []warranty.Claim {
			in.Paging = warranty.Paging{Page: 1, Limit: 100}
			page, err := w.Service.ListClaims(ctx, p, in)
			if err != nil || page.Pagination.Total != int64(len(page.Data)) {
				w.T.Fatal(what, page.Pagination, err)
			}
			return page.Data
		}
		all := list(warranty.ListClaims{})
		counts, err := w.Service.CountClaims(ctx, p, warranty.CountClaims{})
		if err != nil {
			w.T.Fatal(err)
		}
		for _, name := range warranty.ClaimQueue("").Values() {
			queue := warranty.ClaimQueue(name)
			var want []warranty.ID
			for _, c := range all {
				if c.Queue == queue {
					want = append(want, c.ID)
				}
			}
			for _, sort := range warranty.ClaimSort("").Values() {
				in := warranty.ListClaims{Queue: queue, Sort: warranty.ClaimSort(sort)}
				found := list(in)
				if len(found) != len(want) || int64(len(want)) != counts.In(queue) {
					w.T.Errorf("%s, %s of %s by %s: %d claims, counted %d, want %d", what, name, p.Account.Name, sort, len(found),
						counts.In(queue), len(want))
				}
				for i, c := range found {
					if !slices.Contains(want, c.ID) {
						w.T.Errorf("%s, %s of %s by %s: has a claim in %s", what, name, p.Account.Name, sort, c.Queue)
					}
					place, err := w.Service.ClaimPlace(ctx, p, in, c.ID)
					if err != nil || place.At != int64(i+1) || place.Of != int64(len(found)) ||
						i > 0 && (place.Previous == nil || *place.Previous != found[i-1].ID) || i == 0 && place.Previous != nil ||
						i+1 < len(found) && (place.Next == nil || *place.Next != found[i+1].ID) || i+1 == len(found) && place.Next != nil {
						w.T.Errorf("%s, %s of %s by %s: the place of claim %d is %+v, %v", what, name, p.Account.Name, sort, i+1, place, err)
					}
				}
			}
		}
	}
	if faults, err := w.Store.CheckRecords(ctx, date("2026-01-01"), func(string) {}); err != nil || len(faults) > 0 {
		w.T.Error(what, faults, err)
	}
}

// TestTheQueueIsStored compares the stored queue of claims with the computed one through their life: what is written,
// decided and assigned, who sells, owns, deletes and leaves, and what an earlier release writes. So does the index of long
// lists.
func TestTheQueueIsStored(t *testing.T) {
	for _, indexed := range []bool{false, true} {
		t.Run(fmt.Sprintf("indexed=%v", indexed), func(t *testing.T) {
			eachInTurn(t, func(t *testing.T, w *world) { queueIsStored(t, w, indexed) })
		})
	}
}

func queueIsStored(t *testing.T, w *world, indexed bool) {
	if indexed {
		w.Store.SegmentLists(0, 4, 0)
	}
	d := w.desk()
	ivo, lea, sami := w.person("Ivo", true), w.person("Lea", true), w.person("Sami", true)
	w.join(d.ann, d.o, ivo, warranty.Member)
	seen := []warranty.Principal{d.shop.Principal, d.kim.Principal, lea.Principal, sami.Principal}
	look := func(what string) {
		t.Helper()
		w.queued(what, seen...)
		if indexed {
			w.index()
			w.queued(what+", indexed", seen...)
		}
	}
	step := func(what string, err error) { t.Helper(); d.must(err); look(what) }
	look("filed")
	for range 3 {
		w.claim(d.kim, d.record.ID)
	}
	look("filed again")
	step("the customer wrote", d.say(d.kim, "It also smells."))
	step("asked", d.move(d.shop, warranty.InfoRequested, "Which colour?"))
	step("answered", d.say(d.kim, "Red."))
	step("the shop wrote", d.say(d.shop, "Thanks."))
	assign := func(user *warranty.ID) error {
		_, err := d.Service.AssignClaim(ctx, d.shop.Principal, warranty.AssignClaim{ID: d.key(), UserID: user})
		return err
	}
	mine := func(want int64) {
		t.Helper()
		acting := d.shop.Principal
		acting.User = ivo.User
		page, err := d.Service.ListClaims(ctx, acting, warranty.ListClaims{Queue: warranty.WaitingForThem, Assignee: "me"})
		d.must(err)
		equal(t, "assigned to Ivo", page.Pagination.Total, want)
	}
	step("assigned", assign(&ivo.User.ID))
	mine(1)
	step("assigned to nobody", assign(nil))
	mine(0)
	step("assigned again", assign(&ivo.User.ID))
	w.remove(d.ann, d.o, ivo, false)
	mine(0)
	look("the assignee was removed")
	step("approved", d.move(d.shop, warranty.Approved, ""))
	step("a question after the decision", d.say(d.kim, "When?"))
	step("in progress", d.move(d.shop, warranty.InProgress, ""))
	_, err := d.Service.MoveClaim(ctx, d.shop.Principal,
		warranty.MoveClaim{ID: d.key(), Status: warranty.Resolved, Resolution: warranty.Repaired})
	step("resolved", err)

	// A log waits for nobody until a seller decides the claims.
	own := w.record(lea, sami.User.Email)
	w.claim(lea, own.ID)
	look("a log")
	w.confirm(sami, own.ID)
	look("with a seller")
	w.trash(lea, own.ID)
	look("deleted")
	_, err = w.restore(lea, own.ID)
	step("restored", err)
	w.write(func(tx *store.Tx) error {
		if _, err := tx.LockWarranty(sami.User.ID, keyOf(own.ID)); err != nil {
			return err
		}
		return tx.RemoveSeller(sami.User.ID, own.ID, w.Service.Now())
	})
	look("without the seller")

	w.transfer(d.record.ID, d.kim, lea)
	look("transferred")
	for range 2 { // two writers at a time
		var running sync.WaitGroup
		mina := w.record(d.shop, "")
		w.issue(mina.ID, person{Principal: warranty.Principal{User: warranty.User{ID: d.o.ID}}}, lea)
		claim := w.claim(lea, mina.ID)
		for _, write := range []func() error{
			func() error {
				_, err := d.Service.MoveClaim(ctx, d.shop.Principal,
					warranty.MoveClaim{ID: warranty.ClaimKey{ID: claim.ID}, Status: warranty.InfoRequested, Reason: "Which?"})
				return err
			},
			func() error {
				_, err := d.Service.AssignClaim(ctx, d.shop.Principal,
					warranty.AssignClaim{ID: warranty.ClaimKey{ID: claim.ID}, UserID: &d.ann.User.ID})
				return err
			},
			func() error {
				return w.Store.Write(ctx, func(tx *store.Tx) error {
					if _, err := tx.LockWarranty(lea.User.ID, keyOf(mina.ID)); err != nil {
						return err
					}
					return tx.MoveOwner(mina.ID, lea.User.ID, d.kim.User.ID)
				})
			},
			func() error { return w.Service.QueueClaims(ctx) },
		} {
			running.Go(func() {
				if err := write(); err != nil {
					t.Error(err)
				}
			})
		}
		running.Wait()
		look("two writers")
	}

	// 1.0.0 knows none of it.
	w.execute(`UPDATE access SET queue = 0, queued_at = 0, queued_as = 0, assignee = NULL WHERE kind = 2 AND status = 3`)
	w.execute(`UPDATE claims SET status = 3, spoke = 0 WHERE status = 1`)
	w.execute(`UPDATE access SET status = 3, start_date = 0 WHERE kind = 2 AND status = 1`)
	step("an earlier release", d.Service.QueueClaims(ctx))

	d.must(w.delete(sami.User.Email))
	w.execute(`UPDATE erasures SET due_at = 0`)
	w.erase()
	look("an account was erased")
}
