package store

import (
	"math/rand/v2"
	"testing"

	"warranty.example/svc/internal/testenv"
	"warranty.example/svc/warranty"
)

// TestTheFirstPageDoesNotCount asks a process that has just started for pages of a long list. The index
// answers until the background task has counted the blocks, and both agree with the records.
func TestTheFirstPageDoesNotCount(t *testing.T) {
	eachDatabase(t, func(t *testing.T, database string) {
		earlier := open(t, database)
		earlier.SegmentLists(6, 5, 0)
		base := ids.Add(1_000_000)
		s := &segmentScript{script: &script{Store: earlier, random: rand.New(rand.NewPCG(1, 1)), base: base, last: base, sure: true}}
		s.must(t, s.addUser)
		for range 40 {
			s.must(t, s.addWarranty)
		}
		user := s.users[0].ID
		for range 2 {
			if err := earlier.MaintainSegments(t.Context()); err != nil {
				t.Fatal(err)
			}
		}
		if !s.compare(t, user, 0)[kindWarranty] {
			t.Fatal("there is no index")
		}
		st := open(t, database)
		st.SegmentLists(6, 5, 0)
		st.BlockLists(4, 0)
		total := func(status warranty.Status) int64 {
			in := warranty.ListWarranties{Paging: warranty.Paging{Page: 2, Limit: 3}}
			in.Status = status
			_, total, err := st.Warranties(t.Context(), user, in, s.today())
			if err != nil {
				t.Fatal(err)
			}
			return total
		}
		want := number(t, st, `SELECT count(*) FROM access WHERE user_id = $1 AND kind = 1`, user)
		if got := total(""); got != want || st.lists.blocksOf(user) != 0 || len(st.lists.wanted) != 1 {
			t.Errorf("the first page has a total of %d, want %d, with %d blocks; %d lists are to be counted", got, want,
				st.lists.blocksOf(user), len(st.lists.wanted))
		}
		active := total(warranty.Active)
		for _, status := range []warranty.Status{"", warranty.Active} { // the second page is worth counting 10 blocks
			total(status)
		}
		testenv.Receive(t, "the list to be wanted", st.ListsWanted())
		if err := st.CountWanted(t.Context()); err != nil {
			t.Fatal(err)
		}
		if st.lists.blocksOf(user) == 0 || len(st.lists.wanted) != 0 {
			t.Error("the blocks were not counted")
		}
		if got := total(""); got != want || total(warranty.Active) != active || len(st.lists.wanted) != 0 {
			t.Errorf("with blocks the total is %d, want %d; %d lists are to be counted", got, want, len(st.lists.wanted))
		}
		// While the list is counted in the background, the index answers and does not wait.
		entry := st.lists.entry(listKey{user, kindWarranty})
		entry.busy <- struct{}{}
		entry.counting.Store(true)
		if got := total(""); got != want || len(st.lists.wanted) != 1 {
			t.Errorf("while the list is counted the total is %d, want %d; %d lists are to be counted", got, want,
				len(st.lists.wanted))
		}
		entry.counting.Store(false)
		<-entry.busy
		s.must(t, s.addWarranty)
		s.must(t, s.change)
		s.must(t, s.remove)
		s.compare(t, user, 1)
	})
}

// TestARarelyReadListIsNotCounted asks for pages of a list that takes long to count.
func TestARarelyReadListIsNotCounted(t *testing.T) {
	c := newListCache()
	l := listOf(newID(), kindWarranty)
	l.uncounted = 3 * blocksPerPage
	for i := range 3 {
		c.want(l)
		if due := len(c.wake) > 0; due != (i == 2) {
			t.Errorf("after %d pages the list is to be counted: %v", i+1, due)
		}
	}
	for range 2 * maxWanted {
		c.want(listOf(newID(), kindWarranty))
	}
	if len(c.wanted) != maxWanted {
		t.Errorf("%d lists are wanted, want %d", len(c.wanted), maxWanted)
	}
}
