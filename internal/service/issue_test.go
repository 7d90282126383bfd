package service_test

import (
	"maps"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"warranty.example/svc/internal/server"
	"warranty.example/svc/warranty"
)

// slip returns a valid input to issue a warranty on paper.
func slip() warranty.IssueWarranty {
	return warranty.IssueWarranty{
		ProductName: "Pan", StartDate: date("2026-01-01"), EndDate: date("2027-12-31"), Print: new(true),
	}
}

// issues issues a warranty for the organization.
func (i issuer) issues(in warranty.IssueWarranty) (warranty.IssuedWarranty, error) {
	return i.Service.IssueWarranty(ctx, i.acting.Principal, in)
}

// made counts what an issue makes: records, codes, events and offers by email.
func (w *world) made() [4]int64 {
	return [4]int64{
		w.number(`SELECT count(*) FROM warranties`), w.number(`SELECT count(*) FROM offer_codes`),
		w.number(`SELECT count(*) FROM history WHERE action IN (` + actionNumber(warranty.WarrantyCreated) + `, ` +
			actionNumber(warranty.HandoverWasOffered) + `)`),
		w.number(`SELECT count(*) FROM mails WHERE address LIKE 'kim%'`),
	}
}

// TestIssueOnPaper: the record, its code and its history are made together, the code takes the record, and a
// repetition shows no code.
func TestIssueOnPaper(t *testing.T) {
	eachStoppedInTurn(t, func(t *testing.T, w *world, clock *stoppedClock) {
		shop := w.issuer("Ann")
		in := slip()
		in.CustomerName, in.ExternalID, in.IdempotencyKey = "Kim Larsen", "order-1", new("sale-1")
		first, err := shop.issues(in)
		if err != nil || first.Code == nil || !strings.HasSuffix(*first.TakeURL, "/take#"+*first.Code) || first.Note != nil ||
			!first.ExpiresAt.Equal(first.Warranty.CreatedAt.Add(2*365*24*time.Hour)) {
			t.Fatalf("issued %+v, %v", first, err)
		}
		if h := first.Warranty.Handover; h.Status != warranty.HandoverOffered || h.Email != nil ||
			*first.Warranty.CustomerName != "Kim Larsen" {
			t.Errorf("the record is %+v", first.Warranty)
		}
		if got := w.made(); got != [4]int64{1, 1, 2, 0} {
			t.Errorf("made %v", got)
		}
		seen, err := w.seen(shop.acting, first.Warranty.ID)
		if err != nil || seen.ETag() != first.ETag() || *seen.Handover.ExpiresAt != *first.ExpiresAt {
			t.Errorf("seen %+v, %v", seen, err)
		}
		codes, err := w.Service.ListPrintedCodes(ctx, shop.admin.Principal,
			warranty.ListPrintedCodes{ID: shop.ID, Paging: warranty.Paging{Page: 1, Limit: 10}})
		if err != nil || len(codes.Data) != 1 || codes.Data[0].MadeByID != shop.admin.User.ID {
			t.Errorf("printed %+v, %v", codes.Data, err)
		}
		clock.Set(clock.Now().Add(time.Hour))
		again, err := shop.issues(in)
		if err != nil || !again.Replayed() || again.Code != nil || again.TakeURL != nil ||
			*again.Note != warranty.CodeShownOnce || again.Warranty.ID != first.Warranty.ID ||
			again.ETag() != first.ETag() || !again.ExpiresAt.Equal(*first.ExpiresAt) {
			t.Errorf("repeated: %+v, %v", again, err)
		}
		for _, row := range w.rows("idempotency") {
			if strings.Contains(row, *first.Code) {
				t.Error("the code is stored")
			}
		}
		in.ProductName = "Pot"
		if _, err := shop.issues(in); codeOf(err) != warranty.IdempotencyKeyReused {
			t.Errorf("the key of another request: %v", err)
		}
		in.IdempotencyKey = nil
		_, err = shop.issues(in)
		if refusal := warranty.AsError(err); refusal.Code != warranty.AlreadyExists || refusal.ExistingID == nil ||
			*refusal.ExistingID != first.Warranty.ID || fieldCode(err) != "external_id taken" {
			t.Errorf("the external id again: %v", err)
		}
		if got := w.made(); got != [4]int64{1, 1, 2, 0} {
			t.Errorf("repeated, made %v", got)
		}
		if _, err := w.take(w.person("Kim", true), *first.Code); err != nil {
			t.Error(err)
		}
		checkAccess(t, w)
	}, busy)
}

// TestIssueByEmail: the offer is emailed once. Over the limit, the record is made without an offer, and says so.
func TestIssueByEmail(t *testing.T) {
	eachInTurn(t, func(t *testing.T, w *world) {
		shop := w.issuer("Ann")
		in := slip()
		in.Print, in.CustomerEmail, in.IdempotencyKey = nil, "Kim@people.example", new("sale-1")
		for range 2 {
			out, err := shop.issues(in)
			if err != nil || out.Code != nil || out.TakeURL != nil || out.Note != nil || out.ExpiresAt == nil ||
				*out.Warranty.Handover.Email != "kim@people.example" || out.Warranty.Handover.NotEmailed != nil {
				t.Errorf("issued %+v, %v", out, err)
			}
		}
		if got := w.made(); got != [4]int64{1, 1, 1, 1} {
			t.Errorf("made %v", got)
		}
		session, err := w.Service.RegisterHandover(ctx, warranty.Principal{},
			warranty.RegisterHandover{Code: w.mailedCode("kim@people.example")})
		if err != nil || session.Warranty.ProductName != "Pan" {
			t.Errorf("taken: %+v, %v", session, err)
		}
		in.CustomerEmail, in.IdempotencyKey = "lee@people.example", nil
		if _, err := shop.issues(in); err != nil {
			t.Fatal(err)
		}
		in.CustomerEmail, in.IdempotencyKey = "max@people.example", new("sale-2")
		for range 2 {
			out, err := shop.issues(in)
			if err != nil || out.ExpiresAt != nil || out.Code != nil || out.Warranty.Handover.Status != warranty.HandoverNone ||
				out.Warranty.Handover.NotEmailed == nil || out.Note != nil {
				t.Errorf("over the limit: %+v, %v", out, err)
			}
		}
		if n := w.number(`SELECT count(*) FROM warranties`); n != 3 {
			t.Errorf("%d records", n)
		}
		checkAccess(t, w)
	}, busy, func(s *server.Server) { s.Service.MailLimit = 1 })
}

// TestIssueAProduct: a product gives what is left out. A repetition gets its response also after the product was
// deleted.
func TestIssueAProduct(t *testing.T) {
	eachStoppedInTurn(t, func(t *testing.T, w *world, clock *stoppedClock) {
		shop, other := w.issuer("Ann"), w.issuer("Bea")
		months := 24
		product, err := w.Service.CreateProduct(ctx, shop.acting.Principal, warranty.CreateProduct{Name: "Hob T64",
			Brand: "Tessel", Model: "T64", GTIN: "2000000064116", Category: "Appliances", Terms: "Parts.", LengthMonths: &months})
		if err != nil {
			t.Fatal(err)
		}
		today := warranty.DateOf(w.Service.Now())
		in := warranty.IssueWarranty{ProductID: &product.ID, Brand: "Other", Print: new(true), IdempotencyKey: new("sale-1")}
		out, err := shop.issues(in)
		if err != nil {
			t.Fatal(err)
		}
		if m := out.Warranty; m.ProductName != "Hob T64" || *m.Brand != "Other" || *m.Model != "T64" ||
			*m.GTIN != "2000000064116" || *m.Category != "Appliances" || *m.Description != "Parts." ||
			m.StartDate != today || m.EndDate != product.EndDate(today) {
			t.Errorf("issued %+v", m)
		}
		bought := in
		bought.IdempotencyKey, bought.PurchaseDate = nil, date("2026-03-01")
		if out, err := shop.issues(bought); err != nil || out.Warranty.StartDate != date("2026-03-01") ||
			out.Warranty.EndDate != date("2028-02-29") {
			t.Errorf("bought before: %+v, %v", out, err)
		}
		late := in
		late.IdempotencyKey, late.EndDate = nil, today-1
		if _, err := shop.issues(late); fieldCode(err) != "end_date before_start" {
			t.Errorf("ended before it starts: %v", err)
		}
		if _, err := other.issues(bought); fieldCode(err) != "product_id unknown" {
			t.Errorf("a product of others: %v", err)
		}
		if _, err := w.Service.DeleteProduct(ctx, shop.acting.Principal, warranty.DeleteProduct{ID: product.ID}); err != nil {
			t.Fatal(err)
		}
		clock.Set(clock.Now().Add(11 * time.Hour))
		if again, err := shop.issues(in); err != nil || !again.Replayed() || again.Warranty.ID != out.Warranty.ID {
			t.Errorf("repeated without the product: %+v, %v", again, err)
		}
		before := w.snapshot()
		in.IdempotencyKey = new("sale-2")
		if _, err := shop.issues(in); fieldCode(err) != "product_id unknown" {
			t.Errorf("a deleted product: %v", err)
		}
		if tables := changed(before, w.snapshot()); tables != nil {
			t.Errorf("a refused request changed %v", tables)
		}
	}, busy)
}

// TestIssueIsForOrganizations: people and viewers issue nothing.
func TestIssueIsForOrganizations(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		shop, olga, vera := w.issuer("Ann"), w.person("Olga", true), w.person("Vera", true)
		w.join(shop.admin, shop.Organization, vera, warranty.Viewer)
		before := w.snapshot()
		mailed := slip()
		mailed.Print, mailed.CustomerEmail = nil, "kim@people.example"
		_, err := w.Service.IssueWarranty(ctx, olga.Principal, mailed)
		if fieldCode(err) != "customer_email organization_required" {
			t.Errorf("a person emails: %v", err)
		}
		if _, err := w.Service.IssueWarranty(ctx, olga.Principal, slip()); codeOf(err) != warranty.RoleNotAllowed {
			t.Errorf("a person prints: %v", err)
		}
		for _, in := range []warranty.IssueWarranty{slip(), mailed} {
			_, err := w.Service.IssueWarranty(ctx, w.acting(vera, shop.Organization), in)
			if codeOf(err) != warranty.RoleNotAllowed {
				t.Errorf("a viewer: %v", err)
			}
		}
		if tables := changed(before, w.snapshot()); tables != nil {
			t.Errorf("refused requests changed %v", tables)
		}
	}, busy)
}

// TestIssueAtOnce: of many requests with one external id, or with one key, on three replicas, one issues. There is one
// record, one code and at most one email.
func TestIssueAtOnce(t *testing.T) {
	const requests = 24
	eachReplicas(t, func(t *testing.T, worlds []*world) {
		w := worlds[0]
		shop := w.issuer("Ann")
		secret, _ := w.token(warranty.User{ID: shop.ID}, warranty.AllScopes, time.Hour, false)
		header := func(key string) map[string]string { return map[string]string{"Idempotency-Key": key} }
		for name, c := range map[string]struct {
			body   fields
			header map[string]string
			status int // of all but one
			code   int64
			mails  int64
		}{
			"external id on paper": {fields{"print": true, "external_id": "a"}, nil, 409, 1, 0},
			"external id by email": {fields{"customer_email": "kim@people.example", "external_id": "b"}, nil, 409, 0, 1},
			"key on paper":         {fields{"print": true}, header("c"), 201, 1, 0},
			"key by email":         {fields{"customer_email": "kim2@people.example"}, header("d"), 201, 0, 1},
			"key and external id":  {fields{"print": true, "external_id": "e"}, header("e"), 201, 1, 0},
		} {
			maps.Copy(c.body, fields{"product_name": "Pan", "start_date": "2026-01-01", "end_date": "2027-12-31"})
			before := w.made()
			var codes, fresh atomic.Int64
			together(requests, func(i int) {
				a := worlds[i%len(worlds)].Do(request{
					Method: "POST", Path: "/api/v1/warranties/issue", Secret: secret, Body: c.body, Header: c.header,
				})
				var out warranty.IssuedWarranty
				if a.Status == 201 {
					a.Into(t, &out)
				}
				switch {
				case a.Status == 201 && a.Header.Get("Idempotent-Replayed") == "":
					fresh.Add(1)
				case a.Status != c.status || a.Status == 409 && !strings.Contains(a.Body, "existing_id"):
					t.Errorf("%s: %d %s", name, a.Status, a.Body)
				}
				if out.Code != nil {
					codes.Add(1)
				}
			})
			after := w.made()
			if fresh.Load() != 1 || codes.Load() != c.code ||
				after[0]-before[0] != 1 || after[1]-before[1] != 1 || after[3]-before[3] != c.mails {
				t.Errorf("%s: %d issued, %d codes shown, %v, then %v", name, fresh.Load(), codes.Load(), before, after)
			}
		}
		checkAccess(t, w)
	}, busy)
}
