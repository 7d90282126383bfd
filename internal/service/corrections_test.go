package service_test

import (
	"testing"
	"time"

	"warranty.example/svc/warranty"
)

func (w *world) correct(p person, in warranty.CorrectWarranty) (warranty.Warranty, error) {
	if in.Reason == "" {
		in.Reason = "Typing error"
	}
	return w.Service.CorrectWarranty(ctx, p.Principal, in)
}

// TestCorrections: a correction is found by search and kept in the history, ends the confirmation of a seller who
// confirmed something else, and names a new seller as a new record does.
func TestCorrections(t *testing.T) {
	eachInTurn(t, func(t *testing.T, w *world) {
		owner, seller, other := w.person("Olga", true), w.person("Sami", true), w.person("Otto", true)
		record := w.record(owner, seller.User.Email)
		w.confirm(seller, record.ID)
		key := warranty.WarrantyKey{ID: record.ID}
		found := func(q string) int {
			t.Helper()
			page, err := w.Service.ListWarranties(ctx, owner.Principal, warranty.ListWarranties{
				Paging: warranty.Paging{Page: 1, Limit: 10}, WarrantyFilter: warranty.WarrantyFilter{Q: q}})
			if err != nil {
				t.Fatal(err)
			}
			return len(page.Data)
		}
		seen, err := w.seen(owner, record.ID)
		if err != nil || !seen.SellerConfirmed {
			t.Fatal(seen, err)
		}
		if _, err := w.Service.CorrectWarranty(ctx, owner.Principal, warranty.CorrectWarranty{ID: key, Brand: new("Tessel"), Reason: " "}); codeOf(err) != warranty.ValidationFailed {
			t.Errorf("without a reason: %v", err)
		}
		for _, wrong := range []warranty.CorrectWarranty{
			{ID: key, GTIN: new("4006381333932")}, {ID: key, SellerEmail: new("nobody")}, {ID: key, SerialNumber: new("a\x00b")},
		} {
			if _, err := w.correct(owner, wrong); codeOf(err) != warranty.ValidationFailed {
				t.Errorf("an invalid value: %v", err)
			}
		}
		if _, err := w.correct(seller, warranty.CorrectWarranty{ID: key, SerialNumber: new("SN-9")}); codeOf(err) != warranty.RoleNotAllowed {
			t.Errorf("a seller corrects: %v", err)
		}
		if _, err := w.correct(other, warranty.CorrectWarranty{ID: key, SerialNumber: new("SN-9")}); codeOf(err) != warranty.NotFound {
			t.Errorf("a stranger corrects: %v", err)
		}

		token, _ := w.token(owner.User, warranty.AllScopes, time.Hour, false)
		refused(t, "a token corrects", w.Do(request{Method: "POST", Path: "/api/warranties/" + record.ID.String() + "/corrections",
			Secret: token, Body: fields{"serial_number": "SN-9", "reason": "Typing error"}}), warranty.SessionRequired)

		// What the seller did not confirm, such as notes, can change.
		noted, err := w.correct(owner, warranty.CorrectWarranty{ID: key, Description: new("Quartz kettle"), SellerName: new("Sami's shop"), IfMatch: seen.ETag()})
		if err != nil || !noted.SellerConfirmed || found("quartz") != 1 || found("sami") != 1 {
			t.Errorf("notes: %+v, %v", noted, err)
		}
		if _, err := w.correct(owner, warranty.CorrectWarranty{ID: key, SerialNumber: new("SN-9"), IfMatch: seen.ETag()}); codeOf(err) != warranty.PreconditionFailed {
			t.Errorf("with an old ETag: %v", err)
		}
		same, err := w.correct(owner, warranty.CorrectWarranty{ID: key, Description: new("Quartz kettle")})
		if err != nil || same.ETag() != noted.ETag() {
			t.Errorf("the same again: %+v, %v", same, err)
		}
		serial, err := w.correct(owner, warranty.CorrectWarranty{ID: key, SerialNumber: new("ZX-4471"), GTIN: new("4006381333931"), Reason: "Swapped"})
		if err != nil || serial.SellerConfirmed || *serial.SerialNumber != "ZX-4471" || found("4471") != 1 {
			t.Errorf("the serial number: %+v, %v", serial, err)
		}
		equal(t, "waits again", len(w.waiting(seller)), 1)

		// Another seller: the former one sees nothing any more, the new one can confirm it.
		w.confirm(seller, record.ID)
		named, err := w.correct(owner, warranty.CorrectWarranty{ID: key, SellerEmail: new(other.User.Email)})
		if err != nil || named.SellerConfirmed || named.Roles.Has(warranty.Seller) {
			t.Errorf("another seller: %+v, %v", named, err)
		}
		if reads, lists := w.sees(seller, record.ID); reads || lists {
			t.Error("the former seller sees the record")
		}
		equal(t, "waits for the former", len(w.waiting(seller)), 0)
		equal(t, "waits for the new one", len(w.waiting(other)), 1)
		if _, err := w.decide(other, record.ID, warranty.Decline, true); err != nil {
			t.Fatal(err)
		}
		// An own address needs no confirmation, and naming the other one again does not bring back what they declined.
		own, err := w.correct(owner, warranty.CorrectWarranty{ID: key, SellerEmail: new(owner.User.Email)})
		if err != nil || !own.SellerConfirmed || !own.Roles.Has(warranty.Seller) {
			t.Errorf("the own address: %+v, %v", own, err)
		}
		again, err := w.correct(owner, warranty.CorrectWarranty{ID: key, SellerEmail: new(other.User.Email)})
		if err != nil || again.SellerConfirmed || again.Roles.Has(warranty.Seller) {
			t.Errorf("the other one again: %+v, %v", again, err)
		}
		equal(t, "waits for who declined", len(w.waiting(other)), 0)

		history, err := w.Service.ListHistory(ctx, owner.Principal, warranty.ListHistory{ID: key, Paging: warranty.Paging{Page: 1, Limit: 20}})
		if err != nil {
			t.Fatal(err)
		}
		for _, e := range history.Data {
			if e.Action == warranty.WarrantyCorrected && len(e.Changes) == 4 {
				equal(t, "the history", e.Changes, []warranty.Change{
					{Field: "gtin", To: new("4006381333931")}, {Field: "serial_number", To: new("ZX-4471")},
					{Field: "seller_confirmed", From: new("true"), To: new("false")}, {Field: "reason", To: new("Swapped")},
				})
			}
		}
		if n := w.number(`SELECT count(*) FROM history WHERE action = ` + actionNumber(warranty.WarrantyCorrected)); n != 5 {
			t.Errorf("%d corrections in the history", n)
		}

		// A seller who may decide a claim keeps the role.
		claimed := w.record(owner, seller.User.Email)
		w.confirm(seller, claimed.ID)
		w.claim(owner, claimed.ID)
		if c, err := w.correct(owner, warranty.CorrectWarranty{ID: keyOf(claimed.ID), SellerEmail: new("")}); err != nil || c.SellerConfirmed {
			t.Errorf("with a claim: %+v, %v", c, err)
		}
		if reads, lists := w.sees(seller, claimed.ID); !reads || !lists {
			t.Error("who decides a claim was removed")
		}
		if c, err := w.Service.ListClaims(ctx, seller.Principal, warranty.ListClaims{Paging: warranty.Paging{Page: 1, Limit: 5}}); err != nil || len(c.Data) != 1 {
			t.Errorf("claims of the seller: %+v, %v", c.Data, err)
		}

		// A transfer moves the right to correct with the promise, and who corrects names the seller.
		w.transfer(record.ID, owner, seller)
		if _, err := w.correct(owner, warranty.CorrectWarranty{ID: key, Brand: new("Tessel")}); codeOf(err) != warranty.NotFound {
			t.Errorf("the former owner corrects: %v", err)
		}
		if _, err := w.correct(seller, warranty.CorrectWarranty{ID: key, SellerEmail: new("")}); err != nil {
			t.Error(err)
		}
		equal(t, "who named the seller", w.number(`SELECT count(*) FROM warranties WHERE named_by = $1`, w.key(seller.User.ID)), int64(1))
		checkAccess(t, w)
		if faults, err := w.Store.CheckRecords(ctx, date("2026-01-01"), func(string) {}); err != nil || len(faults) > 0 {
			t.Error(faults, err)
		}
	}, busy)
}

// TestCorrectionsWithoutAReason: a record that nobody else relies on needs none. Once a seller confirmed it, or it was
// offered to a customer, a correction without a reason is refused and changes nothing.
func TestCorrectionsWithoutAReason(t *testing.T) {
	eachInTurn(t, func(t *testing.T, w *world) {
		owner, seller := w.person("Olga", true), w.person("Sami", true)
		record := w.record(owner, seller.User.Email)
		fix := warranty.CorrectWarranty{ID: warranty.WarrantyKey{ID: record.ID}, SerialNumber: new("SN-1")}.WithoutReason()
		if changed, err := w.Service.CorrectWarranty(ctx, owner.Principal, fix); err != nil || *changed.SerialNumber != "SN-1" {
			t.Fatal(changed, err)
		}
		w.confirm(seller, record.ID)
		fix.SerialNumber = new("SN-2")
		if _, err := w.Service.CorrectWarranty(ctx, owner.Principal, fix); codeOf(err) != warranty.ValidationFailed {
			t.Errorf("a record that a seller confirmed: %v", err)
		}
		if seen, err := w.seen(owner, record.ID); err != nil || *seen.SerialNumber != "SN-1" || !seen.SellerConfirmed {
			t.Errorf("%+v, %v", seen, err)
		}
	})
}
