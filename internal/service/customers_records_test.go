package service_test

import (
	"fmt"
	"testing"
	"time"

	"warranty.example/svc/internal/store"
	"warranty.example/svc/warranty"
)

// customers lists the customers that someone finds.
func (w *world) customers(p person, q string) []warranty.CustomerRecord {
	w.T.Helper()
	page, err := w.Service.ListCustomers(ctx, p.Principal, warranty.ListCustomers{Q: q})
	if err != nil {
		w.T.Fatal(err)
	}
	equal(w.T, "total of "+q, page.Pagination.Total, int64(len(page.Data)))
	return page.Data
}

// calledNames are the names of customers, or their addresses.
func calledNames(list []warranty.CustomerRecord) []string {
	out := []string{}
	for _, c := range list {
		switch {
		case c.Name != nil:
			out = append(out, *c.Name)
		case c.Email != nil:
			out = append(out, *c.Email)
		default:
			out = append(out, "")
		}
	}
	return out
}

// TestCustomersAreFound: an organization finds whom it issued to by name, address, phone and serial number, however it is
// typed.
func TestCustomersAreFound(t *testing.T) {
	eachInTurn(t, func(t *testing.T, w *world) {
		shop := w.issuer("Ann")
		shop.sells(warranty.CreateWarranty{CustomerEmail: "a.mueller@post.example", CustomerName: "Andrea Müller", SerialNumber: "BF-86-20077"})
		shop.sells(warranty.CreateWarranty{CustomerEmail: "a.mueller@post.example", SerialNumber: "dy 15.7"})
		shop.sells(warranty.CreateWarranty{CustomerName: "Kim Larsen"})
		shop.sells(warranty.CreateWarranty{CustomerName: "KIM  LÄRSEN"})
		shop.sells(warranty.CreateWarranty{})
		all := w.customers(shop.acting, "")
		equal(t, "all", calledNames(all), []string{"Kim Larsen", "Andrea Müller"})
		if _, err := w.Service.UpdateCustomer(ctx, shop.acting.Principal, warranty.UpdateCustomer{
			ID: all[1].ID, Phone: new("+49 4231 555 0188"), Note: new("Call after 17:00."),
		}); err != nil {
			t.Fatal(err)
		}
		for _, q := range []string{
			"müller", "MUELLER", "muller", "andrea mül", "a.mueller@post", "A.Mueller@post.example", "04231 555", "+49 4231 555 0188",
			"5550188", "0049 4231 555 0188", "04231/555-0188", "ndrea", "ueller@pos", "r@post.exa", "bf8620077", "BF-86-20", "86-20077", "müller 20077", "DY157",
		} {
			equal(t, q, calledNames(w.customers(shop.acting, q)), []string{"Andrea Müller"})
		}
		for _, q := range []string{"dr", "andrea kim", "b@post", "17:00", "%", "_", "''", "0", "20078", "müller 20078", "+49 000 0000000"} {
			equal(t, q, calledNames(w.customers(shop.acting, q)), []string{})
		}
		// Whole names come first, then starts of words, then fragments.
		for _, name := range []string{"Karim Ost", "Kim Larsen-Ost", "Kim"} {
			shop.sells(warranty.CreateWarranty{CustomerName: name})
		}
		shop.sells(warranty.CreateWarranty{CustomerName: "Hakim"})
		equal(t, "best first", calledNames(w.customers(shop.acting, "kim")), []string{"Kim", "Kim Larsen-Ost", "Kim Larsen", "Hakim"})
		// A number is found as it is written abroad, also if it is stored as at home.
		if _, err := w.Service.UpdateCustomer(ctx, shop.acting.Principal, warranty.UpdateCustomer{
			ID: w.customers(shop.acting, "hakim")[0].ID, Phone: new("(0171) 234-5678"),
		}); err != nil {
			t.Fatal(err)
		}
		for _, q := range []string{"+49 171 2345678", "0049171/2345678", "0171 2345678", "2345678"} {
			equal(t, q, calledNames(w.customers(shop.acting, q)), []string{"Hakim"})
		}
		equal(t, "counts", []int64{all[1].Warranties, all[1].UntakenOffers, all[1].OpenClaims, all[0].Warranties}, []int64{2, 2, 0, 2})
	}, busy)
}

// TestTokensOfWarrantiesSeeNoClaimants: a token without claims:read sees whom warranties were issued to, but not who only filed
// claims until they are merged with one of them.
func TestTokensOfWarrantiesSeeNoClaimants(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		d := w.desk() // Kim filed a claim
		shop := d.shop.Principal
		if _, err := w.Service.CreateWarranty(ctx, shop, warranty.CreateWarranty{ProductName: "Pan", StartDate: date("2026-01-01"),
			EndDate: date("2027-01-01"), CustomerName: "Nora"}); err != nil {
			t.Fatal(err)
		}
		everyone := w.customers(d.shop, "")
		equal(t, "a session", calledNames(everyone), []string{"Nora", "Kim"})
		token := func(scopes ...warranty.Scope) person {
			p := shop
			p.Credential, p.Scopes = warranty.ByToken, scopes
			return person{Principal: p}
		}
		few, all := token(warranty.WarrantiesRead), token(warranty.WarrantiesRead, warranty.ClaimsRead)
		equal(t, "with claims", calledNames(w.customers(all, "")), []string{"Nora", "Kim"})
		for _, q := range []string{"", "kim", "nora", d.kim.User.Email, "people"} {
			for _, c := range w.customers(few, q) {
				if *c.Name != "Nora" {
					t.Errorf("%q finds %s", q, *c.Name)
				}
			}
		}
		equal(t, "without claims", calledNames(w.customers(few, "")), []string{"Nora"})
		kim, nora := everyone[1].ID, everyone[0].ID
		_, err := w.Service.GetCustomer(ctx, few.Principal, warranty.GetCustomer{ID: kim})
		equal(t, "by its id", codeOf(err), warranty.NotFound)
		if _, err := w.Service.GetCustomer(ctx, few.Principal, warranty.GetCustomer{ID: nora}); err != nil {
			t.Errorf("one with a warranty: %v", err)
		}
		// After a merge there is one customer, to whom a warranty was issued.
		if _, err := w.Service.MergeCustomers(ctx, shop, warranty.MergeCustomers{FromID: nora, IntoID: kim}); err != nil {
			t.Fatal(err)
		}
		equal(t, "merged", calledNames(w.customers(few, "")), []string{"Kim"})
	})
}

// TestCustomersAreTheOrganizations: members see the customers of their organization, and nobody else does: neither another
// organization, nor the customers, nor a person, nor a token without the scope. Viewers change nothing.
func TestCustomersAreTheOrganizations(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		shop, rival, kim := w.issuer("Ann"), w.issuer("Rob"), w.person("Kim", true)
		shop.sells(warranty.CreateWarranty{CustomerEmail: kim.User.Email, CustomerName: "Kim"})
		if _, err := w.Service.CreateWarranty(ctx, kim.Principal, warranty.CreateWarranty{ProductName: "Pan",
			StartDate: date("2020-01-01"), EndDate: date("2099-12-31"), CustomerName: "Nora"}); err != nil {
			t.Fatal(err)
		}
		one := w.customers(shop.acting, "kim")[0]
		update := warranty.UpdateCustomer{ID: one.ID, Note: new("Complains."), Phone: new("555 0188")}
		if _, err := w.Service.UpdateCustomer(ctx, shop.acting.Principal, update); err != nil {
			t.Fatal(err)
		}
		viewer := w.person("Vera", true)
		w.join(shop.admin, shop.Organization, viewer, warranty.Viewer)
		viewer.Principal = w.acting(viewer, shop.Organization)
		card, err := w.Service.GetCustomerCard(ctx, viewer.Principal, warranty.GetCustomerCard{ID: one.ID})
		if err != nil || card.Note == nil || *card.Note != "Complains." {
			t.Errorf("a viewer reads %+v, %v", card, err)
		}
		_, err = w.Service.UpdateCustomer(ctx, viewer.Principal, update)
		equal(t, "a viewer changes", codeOf(err), warranty.RoleNotAllowed)
		_, err = w.Service.MergeCustomers(ctx, viewer.Principal, warranty.MergeCustomers{IntoID: one.ID, FromID: w.Service.NewID()})
		equal(t, "a viewer merges", codeOf(err), warranty.RoleNotAllowed)
		_, err = w.Service.UnmergeCustomer(ctx, viewer.Principal, warranty.UnmergeCustomer{ID: one.ID})
		equal(t, "a viewer undoes", codeOf(err), warranty.RoleNotAllowed)

		own := rival.sells(warranty.CreateWarranty{CustomerName: "Olaf"})
		other := w.customers(rival.acting, "olaf")[0]
		for _, p := range []person{rival.acting, kim} {
			if p.User.ID == kim.User.ID {
				equal(t, "a person has", w.customers(p, ""), []warranty.CustomerRecord{})
			}
			equal(t, "finds", w.customers(p, "kim"), []warranty.CustomerRecord{})
			equal(t, "finds by phone", w.customers(p, "5550188"), []warranty.CustomerRecord{})
			for what, do := range map[string]func() error{
				"gets": func() error {
					_, err := w.Service.GetCustomer(ctx, p.Principal, warranty.GetCustomer{ID: one.ID})
					return err
				},
				"gets the card": func() error {
					_, err := w.Service.GetCustomerCard(ctx, p.Principal, warranty.GetCustomerCard{ID: one.ID})
					return err
				},
				"updates": func() error { _, err := w.Service.UpdateCustomer(ctx, p.Principal, update); return err },
				"merges into": func() error {
					_, err := w.Service.MergeCustomers(ctx, p.Principal, warranty.MergeCustomers{IntoID: one.ID, FromID: other.ID})
					return err
				},
				"merges": func() error {
					_, err := w.Service.MergeCustomers(ctx, p.Principal, warranty.MergeCustomers{IntoID: other.ID, FromID: one.ID})
					return err
				},
				"undoes": func() error {
					_, err := w.Service.UnmergeCustomer(ctx, p.Principal, warranty.UnmergeCustomer{ID: one.ID})
					return err
				},
			} {
				equal(t, p.User.Name+" "+what, codeOf(do()), warranty.NotFound)
			}
			equal(t, "warranties by id", w.found(p, "", one.ID.String()), [4]int64{})
		}
		if _, err := w.Service.CustomerOfWarranty(ctx, kim.Principal, own.ID); codeOf(err) != warranty.NotFound {
			t.Errorf("the customer of a warranty: %v", err)
		}
		equal(t, "the organization", w.found(shop.acting, "", one.ID.String()), [4]int64{1, 0, 0, 1})
	}, busy)
}

// TestCustomersOfClaims: who files a claim is a customer of those who decide it, the same one as was issued to, with the
// claims that are theirs. A later owner is another one, and the former keeps the name and what they bought.
func TestCustomersOfClaims(t *testing.T) {
	eachInTurn(t, func(t *testing.T, w *world) {
		shop, kim, sam, eve := w.issuer("Ann"), w.person("Kim", true), w.person("Sam", true), w.person("Eve", true)
		made := shop.sells(warranty.CreateWarranty{CustomerEmail: kim.User.Email})
		before := w.customers(shop.acting, "")[0]
		equal(t, "untaken", before.UntakenOffers, int64(1))
		w.Clock.Advance(time.Hour)
		w.write(func(tx *store.Tx) error { return tx.MoveOwner(made.ID, shop.ID, kim.User.ID) })
		w.execute(`UPDATE warranties SET taken_at = 1`)
		first := w.claim(kim, made.ID)
		list := w.customers(shop.acting, "")
		equal(t, "after the claim", calledNames(list), []string{"Kim"})
		if c := list[0]; c.ID != before.ID || c.OpenClaims != 1 || c.Warranties != 1 || c.UntakenOffers != 0 ||
			!c.LastContactAt.After(before.LastContactAt) {
			t.Errorf("the customer is %+v, before %+v", c, before)
		}
		w.transfer(made.ID, kim, eve)
		w.claim(eve, made.ID)
		list = w.customers(shop.acting, "")
		equal(t, "after the transfer", calledNames(list), []string{"Eve", "Kim"})
		equal(t, "what they have", []int64{list[0].Warranties, list[0].OpenClaims, list[1].Warranties, list[1].OpenClaims},
			[]int64{0, 1, 1, 1})
		for i, number := range []warranty.Reference{"", first.ClaimNumber} {
			page, err := w.Service.ListClaims(ctx, shop.acting.Principal, warranty.ListClaims{Customer: list[i].ID.String()})
			if err != nil || len(page.Data) != 1 || i == 1 && page.Data[0].ClaimNumber != number {
				t.Errorf("the claims of %s are %+v, %v", *list[i].Name, page.Data, err)
			}
		}
		id, err := w.Service.CustomerOfClaim(ctx, shop.acting.Principal, first.ID)
		equal(t, "the error of the customer of the claim", err, nil)
		equal(t, "customer of the claim", id, list[1].ID)
		if _, err = w.Service.CustomerOfClaim(ctx, kim.Principal, first.ID); codeOf(err) != warranty.NotFound {
			t.Errorf("the claimant reads: %v", err)
		}
		// Records that are closed count no more, and a person has no customers by deciding.
		own := w.record(kim, sam.User.Email)
		w.confirm(sam, own.ID)
		w.claim(kim, own.ID)
		equal(t, "a person who decides", w.customers(sam, ""), []warranty.CustomerRecord{})
	}, busy)
}

// TestCustomersAreMerged: a merged customer's records are found under the other one, and undoing it restores both, also
// what came in meanwhile, and customers that had been merged before.
func TestCustomersAreMerged(t *testing.T) {
	eachStoppedInTurn(t, func(t *testing.T, w *world, clock *stoppedClock) {
		shop := w.issuer("Ann")
		sell := func(name string) {
			clock.Set(clock.Now().Add(time.Minute))
			shop.sells(warranty.CreateWarranty{CustomerName: name, SerialNumber: "SN-" + name + "-77"})
		}
		for _, name := range []string{"Ada", "Bob", "Cem"} {
			sell(name)
		}
		list := w.customers(shop.acting, "")
		cem, bob, ada := list[0], list[1], list[2]
		merge := func(from, into warranty.CustomerRecord) (warranty.CustomerCard, error) {
			return w.Service.MergeCustomers(ctx, shop.acting.Principal, warranty.MergeCustomers{IntoID: into.ID, FromID: from.ID})
		}
		undo := func(c warranty.CustomerRecord) (warranty.CustomerCard, error) {
			return w.Service.UnmergeCustomer(ctx, shop.acting.Principal, warranty.UnmergeCustomer{ID: c.ID})
		}
		must := func(card warranty.CustomerCard, err error) warranty.CustomerCard {
			t.Helper()
			if err != nil {
				t.Fatal(err)
			}
			return card
		}
		card := must(merge(cem, bob))
		equal(t, "merged", []int64{card.Warranties, int64(len(card.Merged))}, []int64{2, 1})
		card = must(merge(bob, ada))
		equal(t, "merged again", []int64{card.Warranties, int64(len(card.Merged))}, []int64{3, 2})
		for _, again := range [][2]warranty.CustomerRecord{{cem, ada}, {ada, cem}, {bob, ada}} {
			_, err := merge(again[0], again[1])
			equal(t, "merge a merged one", codeOf(err), warranty.InvalidTransition)
		}
		_, err := merge(ada, ada)
		equal(t, "merge with itself", codeOf(err), warranty.ValidationFailed)
		_, err = w.Service.UpdateCustomer(ctx, shop.acting.Principal, warranty.UpdateCustomer{ID: cem.ID, Note: new("x")})
		equal(t, "update a merged one", codeOf(err), warranty.InvalidTransition)
		sell("Cem")
		for _, q := range []string{"", "ada", "bob", "cem", "SN-Cem-77", "sncem77"} {
			found := w.customers(shop.acting, q)
			if len(found) != 1 || found[0].ID != ada.ID || found[0].Warranties != 4 || !found[0].LastContactAt.Equal(clock.Now()) {
				t.Errorf("%q finds %+v", q, found)
			}
		}
		for _, c := range []warranty.CustomerRecord{ada, bob, cem} {
			got, err := w.Service.GetCustomer(ctx, shop.acting.Principal, warranty.GetCustomer{ID: c.ID})
			if err != nil || got.ID != ada.ID {
				t.Errorf("the id of %s returns %+v, %v", *c.Name, got, err)
			}
			equal(t, "warranties by the id of "+*c.Name, w.found(shop.acting, "", c.ID.String())[0], int64(4))
			equal(t, "and by a search", w.found(shop.acting, "pan", c.ID.String())[0], int64(4))
		}
		earlier := func(d time.Duration) { w.execute(`UPDATE customers SET merged_at = merged_at - $1`, d.Microseconds()) }
		earlier(warranty.CustomerMergeUndo - time.Hour)
		card = must(undo(bob))
		equal(t, "restored", []int64{card.Warranties, int64(len(card.Merged))}, []int64{3, 1})
		after := w.customers(shop.acting, "")
		equal(t, "two", calledNames(after), []string{"Bob", "Ada"})
		if !after[1].LastContactAt.Equal(ada.LastContactAt) || after[1].Warranties != 1 {
			t.Errorf("the survivor is %+v, and was %+v", after[1], ada)
		}
		_, err = undo(bob)
		equal(t, "undo again", codeOf(err), warranty.InvalidTransition)
		earlier(2 * time.Hour)
		_, err = undo(cem)
		equal(t, "undo after 30 days", codeOf(err), warranty.InvalidTransition)
	}, busy)
}

// TestIssuesToOneAddressMakeOneCustomer: replicas that issue to a new address at the same time make one customer, with all
// of the warranties, also while it is merged and restored.
func TestIssuesToOneAddressMakeOneCustomer(t *testing.T) {
	eachReplicas(t, func(t *testing.T, worlds []*world) {
		w := worlds[0]
		shop := w.issuer("Ann")
		shop.sells(warranty.CreateWarranty{CustomerName: "Bob"})
		bob := w.customers(shop.acting, "bob")[0]
		const n = 24
		name := "" // new in every round
		issue := func(i int) {
			in := warranty.CreateWarranty{ProductName: "Pan", StartDate: date("2020-01-01"), EndDate: date("2099-12-31"),
				CustomerName: name} // without an email, which would lock the account
			if _, err := worlds[i%len(worlds)].Service.CreateWarranty(ctx, shop.acting.Principal, in); err != nil {
				t.Error(err)
			}
		}
		var kim warranty.CustomerRecord
		for _, name = range []string{"Ida", "Jan", "Leo", "Mia", "Kim"} {
			together(n, issue)
			list := w.customers(shop.acting, name)
			if len(list) != 1 || list[0].Warranties != n {
				t.Fatalf("the customers are %+v", list)
			}
			kim = list[0]
		}
		together(n, func(i int) {
			p, s := shop.acting.Principal, worlds[i%len(worlds)].Service
			var err error
			switch i % 4 {
			case 0:
				_, err = s.MergeCustomers(ctx, p, warranty.MergeCustomers{IntoID: bob.ID, FromID: kim.ID})
			case 1:
				_, err = s.MergeCustomers(ctx, p, warranty.MergeCustomers{IntoID: kim.ID, FromID: bob.ID})
			case 2:
				_, err = s.UnmergeCustomer(ctx, p, warranty.UnmergeCustomer{ID: []warranty.ID{kim.ID, bob.ID}[i/4%2]})
			default:
				issue(i)
			}
			if err != nil && codeOf(err) != warranty.InvalidTransition {
				t.Error(err)
			}
		})
		for _, id := range []warranty.ID{kim.ID, bob.ID} {
			if _, err := w.Service.UnmergeCustomer(ctx, shop.acting.Principal, warranty.UnmergeCustomer{ID: id}); err != nil &&
				codeOf(err) != warranty.InvalidTransition {
				t.Fatal(err)
			}
		}
		equal(t, "after merging and restoring", []int64{w.customers(shop.acting, "kim")[0].Warranties,
			w.customers(shop.acting, "bob")[0].Warranties}, []int64{n + n/4, 1})
		equal(t, "heads", w.number(`SELECT count(*) FROM customers WHERE head_id <> id OR merged_into IS NOT NULL`), int64(0))
	}, busy)
}

// TestErasingEmptiesCustomers: what an organization wrote about a person goes with the account of the person; its
// customers go with the organization.
func TestErasingEmptiesCustomers(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		shop, kim := w.issuer("Ann"), w.person("Kim", true)
		shop.sells(warranty.CreateWarranty{CustomerEmail: kim.User.Email, CustomerName: "Kim Larsen"})
		one := w.customers(shop.acting, "larsen")[0]
		if _, err := w.Service.UpdateCustomer(ctx, shop.acting.Principal, warranty.UpdateCustomer{
			ID: one.ID, Note: new("Complains."), Phone: new("555 0188"),
		}); err != nil {
			t.Fatal(err)
		}
		w.write(func(tx *store.Tx) error { return tx.EraseUser(kim.User.ID, kim.User.Email, w.Clock.Now()) })
		equal(t, "by name", w.customers(shop.acting, "larsen"), []warranty.CustomerRecord{})
		equal(t, "by phone", w.customers(shop.acting, "5550188"), []warranty.CustomerRecord{})
		card, err := w.Service.GetCustomerCard(ctx, shop.acting.Principal, warranty.GetCustomerCard{ID: one.ID})
		if err != nil || card.Name != nil || card.Email != nil || card.Phone != nil || card.Note != nil || card.Warranties != 1 {
			t.Errorf("what is left is %+v, %v", card, err)
		}
		shop.sells(warranty.CreateWarranty{CustomerEmail: kim.User.Email})
		equal(t, "issued again", len(w.customers(shop.acting, "")), 2)
		for range 3 {
			w.write(func(tx *store.Tx) error { _, err := tx.EraseTraces(shop.ID, 1); return err })
		}
		equal(t, "of an erased organization", w.number(`SELECT count(*) FROM customers`), int64(0))
	}, busy)
}

// TestErasingEmptiesWhatWasMerged: what was typed for customers that were merged with an erased person goes too, whichever
// was merged into the other; another account's is left.
func TestErasingEmptiesWhatWasMerged(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		for n, into := range []bool{true, false} {
			shop := w.issuer(fmt.Sprint("Ann", n))
			kim, lia := w.person(fmt.Sprint("Kim", n), true), w.person(fmt.Sprint("Lia", n), true)
			shop.sells(warranty.CreateWarranty{CustomerEmail: kim.User.Email, CustomerName: "Kim Larsen"})
			shop.sells(warranty.CreateWarranty{CustomerName: "K. Larsen"})
			shop.sells(warranty.CreateWarranty{CustomerEmail: lia.User.Email, CustomerName: "Lia Larsen"})
			person, slip, other := w.customers(shop.acting, "kim larsen")[0], w.customers(shop.acting, "k. larsen")[0],
				w.customers(shop.acting, "lia larsen")[0]
			if slip.Email != nil {
				slip = w.customers(shop.acting, "k. larsen")[1]
			}
			from, head := slip, person
			if into {
				from, head = person, slip
			}
			merge := func(from, into warranty.ID) {
				t.Helper()
				if _, err := w.Service.MergeCustomers(ctx, shop.acting.Principal, warranty.MergeCustomers{FromID: from, IntoID: into}); err != nil {
					t.Fatal(err)
				}
			}
			merge(from.ID, head.ID)
			merge(other.ID, head.ID)
			if _, err := w.Service.UpdateCustomer(ctx, shop.acting.Principal, warranty.UpdateCustomer{
				ID: head.ID, Note: new("Complains."), Phone: new("555 0188"),
			}); err != nil {
				t.Fatal(err)
			}
			w.write(func(tx *store.Tx) error { return tx.EraseUser(kim.User.ID, kim.User.Email, w.Clock.Now()) })
			equal(t, "by phone", w.customers(shop.acting, "5550188"), []warranty.CustomerRecord{})
			equal(t, "by name", w.customers(shop.acting, "k. larsen"), []warranty.CustomerRecord{})
			card, err := w.Service.GetCustomerCard(ctx, shop.acting.Principal, warranty.GetCustomerCard{ID: head.ID})
			if err != nil || card.Name != nil || card.Email != nil || card.Phone != nil || card.Note != nil || card.Warranties != 3 {
				t.Errorf("what is left is %+v, %v", card, err)
			}
			left := 0
			for _, m := range card.Merged {
				if m.Name != nil || m.Email != nil || m.Phone != nil {
					left++
					equal(t, "another person", *m.Name, "Lia Larsen")
				}
			}
			equal(t, "left of others", left, 1)
		}
	}, busy)
}

// TestCustomersFromBeforeAreLinked: records of the release before have customers after the worker ran.
func TestCustomersFromBeforeAreLinked(t *testing.T) {
	eachInTurn(t, func(t *testing.T, w *world) {
		shop, kim := w.issuer("Ann"), w.person("Kim", true)
		made := shop.sells(warranty.CreateWarranty{CustomerEmail: kim.User.Email, CustomerName: "Kim"})
		shop.sells(warranty.CreateWarranty{CustomerName: "Nora"})
		shop.sells(warranty.CreateWarranty{})
		w.write(func(tx *store.Tx) error { return tx.MoveOwner(made.ID, shop.ID, kim.User.ID) })
		w.claim(kim, made.ID)
		before := w.rows("customers")
		w.execute(`UPDATE warranties SET customer_id = NULL`)
		w.execute(`UPDATE claims SET met = 0`)
		w.execute(`DELETE FROM customers`)
		for range 2 {
			if err := w.Service.LinkCustomers(ctx); err != nil {
				t.Fatal(err)
			}
			equal(t, "customers", len(w.rows("customers")), len(before))
			list := w.customers(shop.acting, "")
			equal(t, "found", calledNames(list), []string{"Kim", "Nora"})
			equal(t, "counts", []int64{list[0].Warranties, list[0].OpenClaims, list[1].Warranties}, []int64{1, 1, 1})
		}
	}, busy)
}

// customersOf adds customers to an account, merges the last one into the first, and returns their IDs.
func (w *world) customersOf(account warranty.ID, n int) (ids []string) {
	w.T.Helper()
	now := w.Clock.Now()
	var last, first warranty.ID
	w.write(func(tx *store.Tx) error {
		ids = nil
		for i := range n {
			id := w.Service.NewID()
			contact := store.Contact{Name: fmt.Sprint("Customer ", i), At: now}
			if err := tx.NoteContacts(account, []store.Contact{contact}, func() warranty.ID { return id }); err != nil {
				return err
			}
			if i == 0 {
				first = id
			}
			last, ids = id, append(ids, id.String())
		}
		return tx.MergeCustomer(account, last, first, now)
	})
	return ids
}

// TestCustomersAreAdded adds customers by hand: each address or name once, found at once, and the same when something is issued
// to them.
func TestCustomersAreAdded(t *testing.T) {
	eachInTurn(t, func(t *testing.T, w *world) {
		shop, rival, kim := w.issuer("Ann"), w.issuer("Rob"), w.person("Kim", true)
		add := func(p person, in warranty.AddCustomer) (warranty.CustomerCard, error) {
			return w.Service.AddCustomer(ctx, p.Principal, in)
		}
		made, err := add(shop.acting, warranty.AddCustomer{Name: "Andrea Müller", Email: "A.Mueller@post.example",
			Phone: "+49 4231 555 0188", Note: "Call after 17:00."})
		if err != nil {
			t.Fatal(err)
		}
		equal(t, "added", []string{*made.Name, *made.Email, *made.Phone, *made.Note},
			[]string{"Andrea Müller", "a.mueller@post.example", "+49 4231 555 0188", "Call after 17:00."})
		for _, q := range []string{"mueller", "a.mueller@post", "5550188"} {
			equal(t, q, calledNames(w.customers(shop.acting, q)), []string{"Andrea Müller"})
		}
		_, err = add(shop.acting, warranty.AddCustomer{Name: "Someone", Email: "a.mueller@post.example"})
		equal(t, "the address again", codeOf(err), warranty.AlreadyExists)
		if _, err = add(shop.acting, warranty.AddCustomer{Name: "Andrea Müller"}); err != nil {
			t.Errorf("the name without an address: %v", err)
		}
		_, err = add(shop.acting, warranty.AddCustomer{Name: "ANDREA  Mueller"})
		equal(t, "the name again", codeOf(err), warranty.AlreadyExists)
		_, err = add(shop.acting, warranty.AddCustomer{Phone: "1"})
		equal(t, "without a name", codeOf(err), warranty.ValidationFailed)
		_, err = add(kim, warranty.AddCustomer{Name: "Nora"})
		equal(t, "a person", codeOf(err), warranty.RoleNotAllowed)
		if _, err = add(rival.acting, warranty.AddCustomer{Name: "Andrea", Email: "a.mueller@post.example"}); err != nil {
			t.Errorf("another organization: %v", err)
		}
		shop.sells(warranty.CreateWarranty{CustomerEmail: "a.mueller@post.example", CustomerName: "A. Müller"})
		found := w.customers(shop.acting, "a.mueller@post")
		equal(t, "after a sale", []any{len(found), found[0].ID, *found[0].Name, found[0].Warranties}, []any{1, made.ID, "Andrea Müller", int64(1)})
		equal(t, "the customer of another organization", w.customers(rival.acting, "")[0].Warranties, int64(0))
		// Who was added is no claimant: tokens without claims:read see them.
		token := shop.acting
		token.Principal.Credential, token.Principal.Scopes = warranty.ByToken, []warranty.Scope{warranty.WarrantiesRead}
		equal(t, "a token", len(w.customers(token, "")), 2)
		// Merged, the address stays taken.
		second := w.customers(shop.acting, "andrea")[1]
		if second.Email != nil {
			t.Fatalf("got %v", *second.Email)
		}
		if _, err := w.Service.MergeCustomers(ctx, shop.acting.Principal, warranty.MergeCustomers{FromID: made.ID, IntoID: second.ID}); err != nil {
			t.Fatal(err)
		}
		_, err = add(shop.acting, warranty.AddCustomer{Name: "Andrea", Email: "a.mueller@post.example"})
		equal(t, "merged", codeOf(err), warranty.AlreadyExists)
	}, busy)
}

// TestCustomersSayWhoseTurnItIs counts the open claims of a customer by their queue.
func TestCustomersSayWhoseTurnItIs(t *testing.T) {
	eachInTurn(t, func(t *testing.T, w *world) {
		d := w.desk() // Kim filed a claim
		turn := func() [3]int64 {
			t.Helper()
			for _, c := range w.customers(d.shop, "kim") {
				return [3]int64{c.OpenClaims, c.WaitingClaims, c.ActiveClaims}
			}
			t.Fatal("no customer")
			return [3]int64{}
		}
		equal(t, "filed", turn(), [3]int64{1, 1, 0})
		if err := d.move(d.shop, warranty.Approved, ""); err != nil {
			t.Fatal(err)
		}
		equal(t, "approved", turn(), [3]int64{1, 0, 1})
	}, busy)
}
