package service_test

import (
	"fmt"
	"testing"

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
	each(t, func(t *testing.T, w *world) {
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
			"5550188", "bf8620077", "BF-86-20", "86-20077", "müller 20077", "DY157",
		} {
			equal(t, q, calledNames(w.customers(shop.acting, q)), []string{"Andrea Müller"})
		}
		for _, q := range []string{"ndrea", "andrea kim", "17:00", "%", "_", "''", "0", "20078", "müller 20078"} {
			equal(t, q, calledNames(w.customers(shop.acting, q)), []string{})
		}
		equal(t, "counts", []int64{all[1].Warranties, all[1].UntakenOffers, all[1].OpenClaims, all[0].Warranties}, []int64{2, 2, 0, 2})
	}, busy)
}

// customersOf adds customers to an account, of which the last is merged into the first, and returns their ids.
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
