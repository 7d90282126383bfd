package service_test

import (
	"fmt"
	"regexp"
	"strings"
	"sync"
	"testing"

	"warranty.example/svc/internal/servertest"
	"warranty.example/svc/internal/store"
	"warranty.example/svc/warranty"
)

// sees reports whether a user can read the record and finds it in their list.
func (w *world) sees(p person, id warranty.ID) (reads, lists bool) {
	w.T.Helper()
	_, err := w.Service.GetWarranty(ctx, p.Principal, warranty.GetWarranty{ID: warranty.WarrantyKey{ID: id}})
	if err != nil && codeOf(err) != warranty.NotFound {
		w.T.Error(err)
	}
	page, listing := w.Service.ListWarranties(ctx, p.Principal,
		warranty.ListWarranties{Paging: warranty.Paging{Limit: 100}})
	if listing != nil {
		w.T.Error(listing)
	}
	for _, r := range page.Data {
		lists = lists || r.ID == id
	}
	return err == nil, lists
}

// waiting returns the references of what waits for a user's confirmation, newest first.
func (w *world) waiting(p person) (list []string) {
	w.T.Helper()
	page, err := w.Service.ListConfirmations(ctx, p.Principal, warranty.ListConfirmations{Paging: warranty.Paging{Limit: 100}})
	if err != nil {
		w.T.Error(err)
	}
	for _, c := range page.Data {
		list = append(list, string(c.ReferenceNumber))
	}
	if int(page.Pagination.Total) != len(list) {
		w.T.Errorf("%d of %d are listed", len(list), page.Pagination.Total)
	}
	return list
}

func (w *world) decide(p person, id warranty.ID, decision warranty.Decision, all bool) (warranty.Confirmation, error) {
	in := warranty.DecideConfirmation{ID: warranty.WarrantyKey{ID: id}, Decision: decision, AllFromAccount: &all}
	if decision == warranty.Confirm {
		in.IfMatch = w.version(id)
	}
	return w.Service.DecideConfirmation(ctx, p.Principal, in)
}

// version returns the current etag of a warranty.
func (w *world) version(id warranty.ID) string {
	return warranty.Warranty{Version: w.number(`SELECT version FROM warranties WHERE id = $1`, w.key(id))}.ETag()
}

// TestASellerSeesNothingBeforeConfirming: an address proves nothing until it is verified. Then the records
// that name it wait for the account, which sees them once it confirms them, until it leaves.
func TestASellerSeesNothingBeforeConfirming(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		owner, seller, other := w.person("Olga", true), w.person("Sami", false), w.person("Other", true)
		record, second := w.record(owner, seller.User.Email), w.record(owner, strings.ToUpper(seller.User.Email))
		unrelated, deleted := w.record(owner, other.User.Email), w.record(owner, seller.User.Email)
		claim, document := w.claim(owner, record.ID), w.document(owner, record.ID)
		_, err := w.Service.DeleteWarranty(ctx, owner.Principal, warranty.DeleteWarranty{ID: warranty.WarrantyKey{ID: deleted.ID}})
		if err != nil {
			t.Fatal(err)
		}
		check := func(when string, want bool) {
			t.Helper()
			if reads, lists := w.sees(seller, record.ID); reads != want || lists != want {
				t.Errorf("%s: the seller reads %v, lists %v, want %v", when, reads, lists, want)
			}
			for _, r := range []warranty.Warranty{second, unrelated, deleted} {
				if reads, lists := w.sees(seller, r.ID); reads || lists {
					t.Errorf("%s: the seller reads %v, lists %v what is not theirs", when, reads, lists)
				}
			}
			for path, readable := range map[string]bool{
				"/api/v1/claims/" + claim.ID.String():                       want,
				"/api/warranties/" + record.ID.String() + "/history":        want,
				"/api/v1/documents/" + document.ID.String():                 false, // the owner's
				"/api/documents/" + document.ID.String() + "/file":          false,
				"/api/warranties/" + second.ID.String() + "/history?page=1": false,
			} {
				status := w.Do(request{Method: "GET", Path: path, Secret: seller.session}).Status
				if (status == 200) != readable || status != 200 && status != 404 {
					t.Errorf("%s: %s is answered with %d", when, path, status)
				}
			}
		}
		check("before verification", false)
		equal(t, "waiting before verification", w.waiting(seller), []string(nil))
		if _, err := w.decide(seller, record.ID, warranty.Confirm, false); codeOf(err) != warranty.NotFound {
			t.Errorf("confirming before verification: %v", err)
		}
		w.Must(200, request{
			Method: "POST",
			Path:   "/api/auth/verify-email",
			Secret: seller.session,
			Body:   fields{"code": w.code(seller.User, store.ForVerification)},
		})
		check("after verification", false)
		equal(t, "waiting", w.waiting(seller), []string{string(second.ReferenceNumber), string(record.ReferenceNumber)})
		equal(t, "waiting for another", w.waiting(other), []string{string(unrelated.ReferenceNumber)})
		for range 2 { // confirming twice is no error
			if c, err := w.decide(seller, record.ID, warranty.Confirm, false); err != nil || c.Status != warranty.Confirmed {
				t.Fatal(c, err)
			}
		}
		check("after confirming", true)
		equal(t, "waiting after confirming", w.waiting(seller), []string{string(second.ReferenceNumber)})
		shown, err := w.Service.GetWarranty(ctx, owner.Principal, warranty.GetWarranty{ID: warranty.WarrantyKey{ID: record.ID}})
		if err != nil || !shown.SellerConfirmed || shown.Version != 2 {
			t.Errorf("the owner sees %+v, %v", shown, err)
		}
		if _, err := w.decide(seller, record.ID, warranty.Decline, false); codeOf(err) != warranty.InvalidTransition {
			t.Errorf("declining what was confirmed: %v", err)
		}
		if _, err := w.Service.LeaveWarranty(ctx, seller.Principal, warranty.LeaveWarranty{ID: warranty.WarrantyKey{ID: record.ID}}); err != nil {
			t.Fatal(err)
		}
		check("after leaving", false)
		equal(t, "waiting after leaving", w.waiting(seller), []string{string(second.ReferenceNumber)})
		if n := w.number(`SELECT count(*) FROM history WHERE action = ` + actionNumber(warranty.SellerHasConfirmed)); n != 1 {
			t.Errorf("%d confirmations in the history", n)
		}
		checkAccess(t, w)
	}, busy)
}

func actionNumber(a warranty.Action) string { return fmt.Sprint(warranty.EnumNumber(a)) }

// TestDecliningIsNotTold: who declines is left alone, and the account that named them learns nothing.
func TestDecliningIsNotTold(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		owner, nuisance, seller := w.person("Olga", true), w.person("Nero", true), w.person("Sami", true)
		wanted, one := w.record(owner, seller.User.Email), w.record(nuisance, seller.User.Email)
		two := w.record(nuisance, seller.User.Email)
		see := func() string {
			path := "/api/v1/warranties/" + one.ID.String()
			return w.Get(path, nuisance.session).Body + w.Get("/api/warranties/"+one.ID.String()+"/history", nuisance.session).Body
		}
		before := see()
		if _, err := w.decide(seller, one.ID, warranty.Decline, false); err != nil {
			t.Fatal(err)
		}
		equal(t, "waiting", w.waiting(seller), []string{string(two.ReferenceNumber), string(wanted.ReferenceNumber)})
		if _, err := w.decide(seller, two.ID, warranty.Decline, true); err != nil {
			t.Fatal(err)
		}
		w.record(nuisance, seller.User.Email) // nothing more from this account
		equal(t, "waiting after declining everything", w.waiting(seller), []string{string(wanted.ReferenceNumber)})
		// A transfer does not bring it back.
		w.transfer(two.ID, nuisance, owner)
		equal(t, "waiting after a transfer", w.waiting(seller), []string{string(wanted.ReferenceNumber)})
		equal(t, "what the account that named the seller sees", see(), before)
		if _, err := w.decide(seller, one.ID, warranty.Confirm, false); err != nil { // after all
			t.Fatal(err)
		}
		if reads, lists := w.sees(seller, one.ID); !reads || !lists {
			t.Error("what was declined and then confirmed is not seen")
		}
		w.execute(`UPDATE users SET disabled_at = 1 WHERE id = $1`, w.key(owner.User.ID))
		equal(t, "waiting from a disabled account", w.waiting(seller), []string(nil))
		checkAccess(t, w)
	}, busy)
}

// TestConfirmingAtOnce confirms, leaves, changes, corrects, transfers and deletes records at the same time.
func TestConfirmingAtOnce(t *testing.T) {
	const rounds = 15
	each(t, func(t *testing.T, w *world) {
		owner, seller, next := w.person("Olga", true), w.person("Sami", true), w.person("Nina", true)
		for round := range rounds {
			r := w.record(owner, seller.User.Email)
			key := warranty.WarrantyKey{ID: r.ID}
			w.claim(owner, r.ID)
			offer, err := w.Service.OfferTransfer(ctx, owner.Principal, warranty.OfferTransfer{ID: key, Email: next.User.Email})
			if err != nil {
				t.Fatal(err)
			}
			together(8, func(i int) {
				var err error
				switch {
				case i < 4:
					if _, err = w.decide(seller, r.ID, warranty.Confirm, false); codeOf(err) == warranty.PreconditionFailed {
						err = nil // it changed after its version was read
					}
				case i == 4:
					_, err = w.Service.LeaveWarranty(ctx, seller.Principal, warranty.LeaveWarranty{ID: key})
				case i == 5:
					_, err = w.Service.Take(ctx, next.Principal, warranty.TakeHandover{Code: offer.Code})
				case i == 6:
					category := "Kitchen"
					_, err = w.Service.UpdateWarranty(ctx, owner.Principal, warranty.UpdateWarranty{ID: key, Category: &category})
				case round%3 == 1:
					email := []string{"", owner.User.Email, next.User.Email}[round/3%3]
					_, err = w.Service.CorrectWarranty(ctx, owner.Principal, warranty.CorrectWarranty{ID: key, SellerEmail: &email, Reason: "Wrong shop"})
				case round%3 == 0:
					_, err = w.Service.DeleteWarranty(ctx, owner.Principal, warranty.DeleteWarranty{ID: key, Force: new(true)})
				}
				if err != nil && codeOf(err) != warranty.NotFound && codeOf(err) != warranty.ValidationFailed {
					t.Error(err)
				}
			})
		}
		checkAccess(t, w)
		if faults, err := w.Store.CheckRecords(ctx, date("2026-01-01"), func(string) {}); err != nil || len(faults) > 0 {
			t.Error(faults, err)
		}
	}, busy)
}

// TestCreateTellsNothingOfTheSeller: the response is the same whether the address is
// verified, unverified or unknown.
func TestCreateTellsNothingOfTheSeller(t *testing.T) {
	ofOneRecord := regexp.MustCompile(`[0-9a-f]{8}-[0-9a-f-]{27}|WR(-[0-9A-Z]{4}){4}|\d{4}-\d\d-\d\dT[0-9:.]+Z`)
	each(t, func(t *testing.T, w *world) {
		owner := w.person("Olga", true)
		answers := map[string]string{}
		for who, address := range map[string]string{
			"verified":     w.person("Vera", true).User.Email,
			"not verified": w.person("Nora", false).User.Email,
			"unknown":      "nobody@people.example",
		} {
			for _, key := range []string{"", fmt.Sprintf("key %s", address)} { // and the replay
				header := map[string]string{}
				if key != "" {
					header["Idempotency-Key"] = key
				}
				for n := range 2 {
					a := w.Must(201, request{
						Method: "POST",
						Path:   "/api/v1/warranties",
						Secret: owner.session,
						Header: header,
						Body: fields{
							"product_name": "Pan",
							"start_date":   "2024-01-01",
							"end_date":     "2025-01-01",
							"seller_email": address,
						},
					})
					text := strings.ReplaceAll(bare(t, a), address, "THE-ADDRESS")
					text = regexp.MustCompile(`Content-Length: .*`).ReplaceAllString(
						ofOneRecord.ReplaceAllString(text, "X"), "")
					name := fmt.Sprintf("with key %v, time %d", key != "", n)
					if answers[name] == "" {
						answers[name] = text
					}
					if answers[name] != text {
						t.Errorf("the answer tells that the address is %s:\n%s\nand not\n%s", who, text, answers[name])
					}
				}
			}
		}
	}, busy)
}

// TestASellerConfirmsWhatTheySaw: the list has every field that the public page and the certificate have, and a
// record that changed since the seller read it is not confirmed.
func TestASellerConfirmsWhatTheySaw(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		owner, seller := w.person("Olga", true), w.person("Sami", true)
		record, err := w.Service.CreateWarranty(ctx, owner.Principal, warranty.CreateWarranty{
			ProductName: "Pan", Brand: "Bosch", Model: "K2", GTIN: "4006381333931", Category: "Kitchen", Supplier: "Depot",
			SerialNumber: "SN-1", SellerEmail: seller.User.Email, StartDate: date("2026-01-01"), EndDate: date("2027-01-01"),
		})
		if err != nil {
			t.Fatal(err)
		}
		read := func() warranty.Confirmation {
			t.Helper()
			page, err := w.Service.ListConfirmations(ctx, seller.Principal, warranty.ListConfirmations{Paging: warranty.Paging{Limit: 1}})
			if err != nil || len(page.Data) != 1 {
				t.Fatalf("%+v, %v", page, err)
			}
			return page.Data[0]
		}
		seen := read()
		for _, f := range []struct{ shown, is *string }{
			{seen.Brand, record.Brand}, {seen.Model, record.Model}, {seen.GTIN, record.GTIN}, {seen.Category, record.Category},
			{seen.Supplier, record.Supplier}, {seen.SerialNumber, record.SerialNumber},
		} {
			if f.shown == nil || *f.shown != *f.is {
				t.Errorf("the seller sees %v of %s", f.shown, *f.is)
			}
		}
		later := date("2036-01-01")
		if _, err := w.Service.UpdateWarranty(ctx, owner.Principal, warranty.UpdateWarranty{ID: warranty.WarrantyKey{ID: record.ID}, EndDate: &later}); err != nil {
			t.Fatal(err)
		}
		confirm := func(tag string) error {
			_, err := w.Service.DecideConfirmation(ctx, seller.Principal, warranty.DecideConfirmation{
				ID: warranty.WarrantyKey{ID: record.ID}, Decision: warranty.Confirm, IfMatch: tag,
			})
			return err
		}
		if err := confirm(seen.ETag); codeOf(err) != warranty.PreconditionFailed {
			t.Errorf("confirmed what changed: %v", err)
		}
		equal(t, "sellers", w.number(`SELECT count(*) FROM warranties WHERE seller_id IS NOT NULL`), int64(0))
		if err := confirm(read().ETag); err != nil {
			t.Error(err)
		}
		equal(t, "waiting", w.waiting(seller), []string(nil))
	}, busy)
}

// TestConfirmingNeedsTheVersionThatWasSeen: over HTTP, a confirmation names the etag of the list. Nothing is confirmed
// without one, with any version, or after a change. Repeating it confirms nothing new.
func TestConfirmingNeedsTheVersionThatWasSeen(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		owner, seller := w.person("Olga", true), w.person("Sami", true)
		record := w.record(owner, seller.User.Email)
		confirm := func(tag string) servertest.Answer {
			r := made("POST", "/api/v1/confirmations/"+string(record.ReferenceNumber), seller.session, fields{"decision": "confirm"})
			if tag != "" {
				r.Header["If-Match"] = tag
			}
			return w.Do(r)
		}
		for tag, want := range map[string]struct {
			status int
			code   warranty.Code
		}{
			"":          {428, warranty.PreconditionRequired},
			"*":         {428, warranty.PreconditionRequired},
			`"1", *`:    {400, warranty.MalformedRequest},
			`W/"1"`:     {412, warranty.PreconditionFailed},
			`"2"`:       {412, warranty.PreconditionFailed},
			`"0", "99"`: {412, warranty.PreconditionFailed},
		} {
			servertest.Want(t, "If-Match: "+tag, confirm(tag), want.status, want.code)
		}
		equal(t, "confirmed", w.number(`SELECT count(*) FROM warranties WHERE seller_id IS NOT NULL`), int64(0))
		seen := w.Waiting(seller.session, record.ID.String())
		for range 2 { // a repeat after a lost response
			equal(t, "the status", confirm(seen).Status, 200)
		}
		equal(t, "events", w.number(`SELECT count(*) FROM history WHERE action = `+actionNumber(warranty.SellerHasConfirmed)), int64(1))
		later := date("2099-12-30")
		w.changes(owner, record.ID, warranty.UpdateWarranty{EndDate: &later})
		servertest.Want(t, "a repeat after a change", confirm(seen), 412, warranty.PreconditionFailed)
		// Declining needs no version: it leaves no trace on the record.
		other := w.record(owner, seller.User.Email)
		w.Must(200, made("POST", "/api/v1/confirmations/"+other.ID.String(), seller.session, fields{"decision": "decline"}))
	}, busy)
}

func (w *world) changes(p person, id warranty.ID, in warranty.UpdateWarranty) {
	w.T.Helper()
	in.ID = warranty.WarrantyKey{ID: id}
	if _, err := w.Service.UpdateWarranty(ctx, p.Principal, in); err != nil {
		w.T.Fatal(err)
	}
}

// TestNobodyConfirmsWhatTheyDidNotSee: a change races with the confirmation of what was listed before. Whichever comes
// first, the mark is never on the changed record.
func TestNobodyConfirmsWhatTheyDidNotSee(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		owner, seller := w.person("Olga", true), w.person("Sami", true)
		for race := range 12 {
			record := w.record(owner, seller.User.Email)
			confirm := made("POST", "/api/v1/confirmations/"+record.ID.String(), seller.session, fields{"decision": "confirm"})
			confirm.Header["If-Match"] = w.Waiting(seller.session, record.ID.String())
			change := made("PUT", "/api/v1/warranties/"+record.ID.String(), owner.session, fields{"end_date": "2099-12-30"})
			var both sync.WaitGroup
			for _, r := range []request{confirm, change} {
				both.Go(func() { w.Do(r) })
			}
			both.Wait()
			var v warranty.Verification
			w.Must(200, made("GET", "/verify/"+string(record.ReferenceNumber), "", nil)).Into(t, &v)
			confirmed := w.number(`SELECT count(*) FROM warranties WHERE id = $1 AND seller_id IS NOT NULL`, w.key(record.ID))
			if v.EndDate != date("2099-12-30") || confirmed != 0 {
				t.Errorf("race %d: until %s, confirmed by %d", race, v.EndDate, confirmed)
			}
		}
	}, busy)
}

// TestConfirmationsOfAMovedAddress: what another account confirmed waits for the account that has the address now,
// and records of both conditions are listed in one order.
func TestConfirmationsOfAMovedAddress(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		owner, seller := w.person("Olga", true), w.person("Sami", true)
		var want []string
		for i, by := range []any{nil, w.key(owner.User.ID), nil, w.key(w.person("Zoe", true).User.ID), w.key(seller.User.ID)} {
			r := w.record(owner, seller.User.Email)
			w.execute(`UPDATE warranties SET seller_id = $1 WHERE id = $2`, by, w.key(r.ID))
			if i < 4 {
				want = append([]string{string(r.ReferenceNumber)}, want...)
			}
		}
		equal(t, "waiting", w.waiting(seller), want)
		second, err := w.Service.ListConfirmations(ctx, seller.Principal, warranty.ListConfirmations{Paging: warranty.Paging{Page: 2, Limit: 3}})
		if err != nil || len(second.Data) != 1 || string(second.Data[0].ReferenceNumber) != want[3] || second.Pagination.Total != 4 {
			t.Errorf("page 2: %+v, %v", second, err)
		}
	}, busy)
}
