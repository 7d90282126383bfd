package store

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	gocmp "github.com/google/go-cmp/cmp"

	"warranty.example/svc/internal/find"
	"warranty.example/svc/internal/store/engine"
	"warranty.example/svc/warranty"
)

// scannedCustomer is a row of a customer, with the codes of what was issued to it.
type scannedCustomer struct {
	id, head      warranty.ID
	merged        bool
	folded        string
	search, email string
	recent        int64
	codes         []string
}

// matches reports whether a row has what all terms of a reading look for.
func (c *scannedCustomer) matches(terms []find.CustomerTerm) bool {
	for _, t := range terms {
		has := func(text, part string) bool { return part != "" && strings.Contains(text, part) }
		sold := func(code string) bool { return has(code, t.Code) }
		if !has(c.search, t.Word) && !has(c.search, t.Digits) && !has(c.email, t.Email) && !slices.ContainsFunc(c.codes, sold) {
			return false
		}
	}
	return true
}

// scanCustomers answers a search from all rows, one by one.
func scanCustomers(rows []*scannedCustomer, q string) (ids []warranty.ID) {
	readings, found := find.CustomerQuery(q), map[warranty.ID]bool{}
	for _, c := range rows {
		if slices.ContainsFunc(readings, c.matches) {
			found[c.head] = true
		}
	}
	rank := map[warranty.ID]int{}
	var list []*scannedCustomer
	for _, c := range rows {
		if !found[c.id] || c.merged {
			continue
		}
		starts := !slices.ContainsFunc(readings[0], func(t find.CustomerTerm) bool { return !strings.Contains(c.search, t.Start) })
		switch {
		case c.folded == find.CustomerName(q):
		case starts:
			rank[c.id] = 1
		default:
			rank[c.id] = 2
		}
		list = append(list, c)
	}
	slices.SortFunc(list, func(a, b *scannedCustomer) int {
		return cmp.Or(cmp.Compare(rank[a.id], rank[b.id]), cmp.Compare(b.recent, a.recent), strings.Compare(b.id.String(), a.id.String()))
	})
	for _, c := range list {
		ids = append(ids, c.id)
	}
	return ids
}

// TestSearchOfCustomersIsAScan compares the pages and totals of searches with what a scan of all rows finds, also for parts
// of serial numbers that many or few warranties have, and by what was merged.
func TestSearchOfCustomersIsAScan(t *testing.T) {
	each(t, func(t *testing.T, s *Store) {
		const n, batch = fewSold + 100, 300
		ctx, shop, other := context.Background(), newID(), newID()
		now := s.Now().UTC().Truncate(time.Microsecond)
		for from := 0; from < n; from += batch {
			if err := s.Write(ctx, func(tx *Tx) error { return addCustomers(tx, shop, from, batch, now) }); err != nil {
				t.Fatal(err)
			}
		}
		if err := s.Write(ctx, func(tx *Tx) error { return addCustomers(tx, other, 10_000, 50, now) }); err != nil {
			t.Fatal(err)
		}
		merged := customersOf(ctx, t, s, shop)
		if err := s.Write(ctx, func(tx *Tx) error {
			for i := 0; i < 120; i += 3 {
				if err := tx.MergeCustomer(shop, merged[i].id, merged[i+1].id, now); err != nil {
					return err
				}
				if err := tx.UpdateCustomer(shop, warranty.CustomerCard{CustomerRecord: warranty.CustomerRecord{
					ID: merged[i+2].id, Name: warranty.Optional(fmt.Sprintf("Zoë %d", i)), Phone: warranty.Optional(fmt.Sprintf("+49 151 55%05d", i)),
				}}); err != nil {
					return err
				}
			}
			return tx.later(`UPDATE warranties SET serial_number = 'BF/86.' || CAST(id AS TEXT) WHERE customer_id = $1`, merged[7].id)
		}); err != nil {
			t.Fatal(err)
		}
		rows := customersOf(ctx, t, s, shop)
		for _, q := range []string{"ndrea", "mueller", "Müller", "de.49@post", "mueller 499", "BF-86-2007", "bf86", "bf-86-1", "12", "bf 86 1",
			"Andrea Müller 44", "kunde.77", "bernd 12", "0151 5500012", "+49 151 5500012", "zoe", "zoë 3", "nobody", "86 müller", "post.example 40"} {
			var got []warranty.ID
			total := int64(1)
			for page := 1; int64(len(got)) < total; page++ {
				list, count, err := s.Customers(ctx, shop, warranty.ListCustomers{Q: q, Paging: warranty.Paging{Page: page, Limit: 100_000}}, true, now)
				if total = count; err != nil || len(list) == 0 && total > 0 {
					t.Fatal(q, page, err)
				}
				for _, c := range list {
					got = append(got, c.ID)
				}
			}
			if diff := gocmp.Diff(scanCustomers(rows, q), got); diff != "" || total != int64(len(got)) {
				t.Errorf("%q: %d found, %s", q, total, diff)
			}
		}
	})
}

// customersOf reads all rows of the customers of an account.
func customersOf(ctx context.Context, t *testing.T, s *Store, account warranty.ID) (rows []*scannedCustomer) {
	t.Helper()
	byID := map[warranty.ID]*scannedCustomer{}
	if err := s.db.Query(ctx, `SELECT id, head_id, folded_name, search, email, recent_at, merged_into FROM customers WHERE account_id = $1
		ORDER BY id`, func(r *engine.Row) error {
		c := &scannedCustomer{id: r.ID(), head: r.ID(), folded: r.Text(), search: r.Text(), email: find.Fold(r.Text()), recent: r.Int(), merged: r.Set()}
		rows, byID[c.id] = append(rows, c), c
		return nil
	}, account); err != nil {
		t.Fatal(err)
	}
	if err := s.db.Query(ctx, `SELECT customer_id, serial_number FROM warranties WHERE issuer_id = $1 AND customer_id IS NOT NULL`,
		func(r *engine.Row) error {
			c := byID[r.ID()]
			c.codes = append(c.codes, find.Code(r.Text()))
			return nil
		}, account); err != nil {
		t.Fatal(err)
	}
	return rows
}
