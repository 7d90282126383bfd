package service_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"warranty.example/svc/warranty"
)

// changesOfPromise are all ways in which a business changes the promise of a warranty that a customer holds, with what the
// customer is told.
var changesOfPromise = map[string]struct {
	change func(i issuer, id warranty.ID) error
	told   []string
}{
	"an earlier end": {put(func(in *warranty.UpdateWarranty) { in.EndDate = new(date("2026-11-30")) }), []string{"Ends: 30 Nov 2026 (before: 31 Dec 2099)"}},
	"a later end":    {put(func(in *warranty.UpdateWarranty) { in.EndDate = new(date("9999-12-31")) }), []string{"Ends: never (lifetime) (before: 31 Dec 2099)"}},
	"a later start":  {put(func(in *warranty.UpdateWarranty) { in.StartDate = new(date("2026-02-01")) }), []string{"Starts: 1 Feb 2026 (before: 1 Jan 2020)"}},
	"another product": {put(func(in *warranty.UpdateWarranty) {
		in.ProductName, in.Brand, in.Model = new("Pot"), new("Oak"), new("M1")
	}), []string{"Product: Pot (before: Pan)", "Brand: Oak (before: none)", "Model: M1 (before: none)"}},
	"a supplier": {put(func(in *warranty.UpdateWarranty) { in.Supplier, in.GTIN = new("Nord"), new("4006381333931") }), []string{"Supplier: Nord (before: none)", "GTIN: 4006381333931"}},
	"voided": {put(func(in *warranty.UpdateWarranty) { in.Status, in.StatusReason = new(warranty.Void), "Returned." }),
		[]string{"Status: void (before: in force)", "Reason: Returned."}},
	"cancelled": {put(func(in *warranty.UpdateWarranty) { in.Status = new(warranty.Cancelled) }), []string{"Status: cancelled (before: in force)"}},
	"a batch": {func(i issuer, id warranty.ID) error {
		text, _ := json.Marshal(fields{"product_name": "Pan", "start_date": "2020-01-01", "end_date": "2026-11-30", "external_id": "order-" + id.String()})
		out, err := i.Service.CreateBatch(ctx, i.acting.Principal, warranty.CreateBatch{Items: []warranty.BatchItem{{Text: text}}})
		if err == nil && out.Results[0].Status != warranty.BatchUpdated {
			err = fmt.Errorf("%+v", out.Results[0])
		}
		return err
	}, []string{"Ends: 30 Nov 2026 (before: 31 Dec 2099)"}},
	"a correction": {func(i issuer, id warranty.ID) error {
		_, err := i.Service.CorrectWarranty(ctx, i.acting.Principal, warranty.CorrectWarranty{ID: warranty.WarrantyKey{ID: id}, SerialNumber: new("S-2"), Reason: "A typing error."})
		return err
	}, []string{"Serial number: S-2 (before: none)", "Reason: A typing error."}},
}

func put(set func(*warranty.UpdateWarranty)) func(issuer, warranty.ID) error {
	return func(i issuer, id warranty.ID) error {
		in := warranty.UpdateWarranty{ID: warranty.WarrantyKey{ID: id}}
		set(&in)
		_, err := i.Service.UpdateWarranty(ctx, i.acting.Principal, in)
		return err
	}
}

// held sells a warranty that a customer takes.
func (i issuer) held(kim person) warranty.ID {
	i.T.Helper()
	made := i.sells(warranty.CreateWarranty{})
	put(func(in *warranty.UpdateWarranty) { in.ExternalID = new("order-" + made.ID.String()) })(i, made.ID)
	if _, err := i.take(kim, i.prints(made.ID)); err != nil {
		i.T.Fatal(err)
	}
	return made.ID
}

// notices sends what is due after some time.
func (w *world) notices(clock *stoppedClock, after time.Duration) {
	w.T.Helper()
	clock.Set(clock.Now().Add(after))
	if err := w.Service.SendNotices(ctx); err != nil {
		w.T.Fatal(err)
	}
	w.deliver()
}

// TestPromisesAreNotTakenBackQuietly: whatever a business changes in a promise that a customer holds, through any
// door, is emailed to the customer 10 minutes later with the old and the new values.
func TestPromisesAreNotTakenBackQuietly(t *testing.T) {
	eachStoppedInTurn(t, func(t *testing.T, w *world, clock *stoppedClock) {
		for name, c := range changesOfPromise {
			shop, kim := w.issuer("Ann"), w.person("Kim", true)
			id := shop.held(kim)
			o := w.mailbox()
			if err := c.change(shop, id); err != nil {
				t.Fatalf("%s: %v", name, err)
			}
			w.notices(clock, 10*time.Minute-time.Microsecond)
			equal(t, name+": emails before it is due", len(o.sent), 0)
			w.notices(clock, time.Microsecond)
			if len(o.sent) != 1 || o.sent[0].To != kim.User.Email || o.sent[0].Unsubscribe != "" {
				t.Fatalf("%s: sent %+v", name, o.sent)
			}
			for _, want := range append(c.told, shop.Name, "/warranties/"+id.String()) {
				if !strings.Contains(o.sent[0].Text, want) {
					t.Errorf("%s: the email does not say %q:\n%s", name, want, o.sent[0].Text)
				}
			}
			equal(t, name+": counted", w.Count(`SELECT count(*) FROM mail_log WHERE recipient = '`+kim.User.Email+`' AND chosen = 0`), 1)
			clock.Set(clock.Now().Add(-10 * time.Minute))
		}
	}, busy)
}

// TestChangesOfPromisesAreGathered: many changes are one email, in the language of the owner, what was changed back is not
// told, and owners are not told what they do themselves or what the issuer changes before they took the warranty.
func TestChangesOfPromisesAreGathered(t *testing.T) {
	eachStoppedInTurn(t, func(t *testing.T, w *world, clock *stoppedClock) {
		shop, kim := w.issuer("Ann"), w.person("Kim", true)
		if _, err := w.Service.UpdateAccount(ctx, kim.Principal, warranty.UpdateAccount{Language: new("de")}); err != nil {
			t.Fatal(err)
		}
		var ids []warranty.ID
		for range 25 {
			ids = append(ids, shop.held(kim))
		}
		own := shop.sells(warranty.CreateWarranty{})
		o := w.mailbox()
		end := func(id warranty.ID, day string) {
			t.Helper()
			if err := put(func(in *warranty.UpdateWarranty) { in.EndDate = new(date(day)) })(shop, id); err != nil {
				t.Fatal(err)
			}
		}
		end(own.ID, "2030-01-01")
		for _, id := range ids {
			end(id, "2030-01-01")
			end(id, "2027-12-31")
		}
		category := warranty.UpdateWarranty{ID: warranty.WarrantyKey{ID: ids[0]}, Category: new("Kitchen")}
		if _, err := w.Service.UpdateWarranty(ctx, kim.Principal, category); err != nil {
			t.Fatal(err)
		}
		w.notices(clock, 10*time.Minute)
		if len(o.sent) != 1 || o.sent[0].Subject != "25 Ihrer Garantien wurden geändert" ||
			strings.Count(o.sent[0].Text, "Endet: 31. Dez. 2027 (vorher: 31. Dez. 2099)") != 20 || !strings.Contains(o.sent[0].Text, "5 weitere") {
			t.Fatalf("sent %+v", o.sent)
		}
		o.take()
		end(ids[0], "2099-12-31")
		end(ids[0], "2027-12-31")
		w.notices(clock, 10*time.Minute)
		equal(t, "changed back", o.take(), []string{})
		equal(t, "pending", w.Count(`SELECT count(*) FROM mail_notices WHERE kind = 1`), 0)

		reduced := func(p person, id warranty.ID) (list []string) {
			t.Helper()
			seen, err := w.seen(p, id)
			if err != nil {
				t.Fatal(err)
			}
			found, err := w.Service.Reductions(ctx, p.Principal, seen)
			if err != nil {
				t.Fatal(err)
			}
			for _, r := range found {
				list = append(list, r.Field+" "+*r.From+" "+*r.To+" "+r.By)
			}
			return list
		}
		equal(t, "what was taken away", reduced(kim, ids[1]), []string{"end_date 2030-01-01 2027-12-31 Halden", "end_date 2099-12-31 2030-01-01 Halden"})
		end(ids[1], "2099-12-31")
		equal(t, "after it was given back", reduced(kim, ids[1]), []string(nil))
		if err := put(func(in *warranty.UpdateWarranty) { in.Status = new(warranty.Void) })(shop, ids[1]); err != nil {
			t.Fatal(err)
		}
		equal(t, "voided", reduced(kim, ids[1]), []string{"status active void Halden"})
		equal(t, "before it was taken", reduced(shop.acting, own.ID), []string(nil))

		// An issuer who changes something all day causes 20 emails, and then one an hour.
		for n := range 200 {
			end(ids[2], day(date("2028-01-01").Time(), n))
			w.notices(clock, 10*time.Minute)
			w.Exec(`UPDATE sessions SET expires_at = 9000000000000000`)
		}
		if n := len(o.sent); n > 20+24 {
			t.Errorf("%d emails a day", n)
		}
	}, busy)
}

// TestSellersAreAskedAndOwnersTold: the account that has verified the address of a seller is emailed about what waits for
// its confirmation, all of an hour in one email, and the owner when it confirmed. Accounts that decline everything of
// someone, and people who turned such emails off, get none. Finding T9.
func TestSellersAreAskedAndOwnersTold(t *testing.T) {
	eachStopped(t, func(t *testing.T, w *world, clock *stoppedClock) {
		olga, shop, eve := w.person("Olga", true), w.person("Sami", true), w.person("Eve", false)
		o := w.mailbox()
		after := func(wait time.Duration) []string {
			t.Helper()
			clock.Set(clock.Now().Add(wait))
			if err := w.Service.SendNotices(ctx); err != nil {
				t.Fatal(err)
			}
			return w.mailed(o)
		}
		first := w.record(olga, shop.User.Email)
		second := w.record(olga, shop.User.Email)
		third := w.record(olga, shop.User.Email)
		w.record(olga, "nobody@people.example")
		w.record(eve, shop.User.Email) // her address is not verified
		equal(t, "at once", after(0), []string{})
		w.confirm(shop, third.ID)
		equal(t, "an hour later", after(time.Hour), []string{
			olga.User.Email + ": Your warranty was confirmed", shop.User.Email + ": 2 warranties wait for your confirmation"})
		equal(t, "once", after(time.Hour), []string{})
		w.confirm(shop, first.ID)
		w.confirm(shop, second.ID)
		equal(t, "ten minutes later", after(10*time.Minute), []string{olga.User.Email + ": 2 of your warranties were confirmed"})

		email := shop.User.Email
		if _, err := w.Service.CorrectWarranty(ctx, olga.Principal, warranty.CorrectWarranty{ID: keyOf(w.record(olga, "").ID), SellerEmail: &email, Reason: "Typing error"}); err != nil {
			t.Fatal(err)
		}
		equal(t, "a seller who is named later", after(time.Hour), []string{email + ": A warranty waits for your confirmation"})
		w.execute(`UPDATE users SET mail_choices = 0`)
		w.record(olga, email)
		equal(t, "to someone who turned them off", after(time.Hour), []string{})
	}, busy)
}
