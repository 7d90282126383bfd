package service_test

import (
	"testing"
	"time"

	"warranty.example/svc/warranty"
)

// TestEveryClaimIsInOneQueue moves a claim through its life. On each side it is in one queue, the counts agree with the
// lists, and the time that it waits begins when the other side has to act.
func TestEveryClaimIsInOneQueue(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
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
	each(t, func(t *testing.T, w *world) {
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
