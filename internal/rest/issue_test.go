package rest_test

import (
	"strings"
	"testing"

	"warranty.example/svc/warranty"
)

// TestIssue: an organization issues a warranty in one request. The response is as documented, repetitions issue
// nothing, and wrong fields are refused by name.
func TestIssue(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		admin := w.Verified("Nora")
		var shop, product, token struct{ ID, Secret string }
		organization := fields{"name": "Halden Electronics"}
		w.Must(201, made("POST", "/api/organizations", admin.Session, organization)).Into(t, &shop)
		acting := func(path string, body fields) request {
			return made("POST", path, admin.Session, body, "X-Account", shop.ID)
		}
		w.Must(201, acting("/api/products", fields{"name": "Hob T64", "length_months": 24})).Into(t, &product)
		w.Must(201, acting("/api/integration-tokens",
			fields{"name": "till", "scopes": []string{"warranties:write"}})).Into(t, &token)
		issue := func(body fields, headers ...string) answer {
			return w.Do(made("POST", "/api/v1/warranties/issue", token.Secret, body, headers...))
		}
		sale := fields{"product_id": product.ID, "purchase_date": "2026-03-01", "serial_number": "T64-1", "print": true,
			"external_id": "order-1"}
		first := issue(sale, "Idempotency-Key", "sale-1")
		var out, again warranty.IssuedWarranty
		first.Into(t, &out)
		equal(t, "status", first.Status, 201)
		path := "/api/v1/warranties/" + out.Warranty.ID.String()
		equal(t, "location", strings.HasSuffix(first.Header.Get("Location"), path), true)
		equal(t, "ETag", first.Header.Get("ETag"), `"1"`)
		equal(t, "end", out.Warranty.EndDate.String(), "2028-02-29")
		equal(t, "status of the offer", out.Warranty.Handover.Status, warranty.HandoverOffered)
		if out.Code == nil || out.TakeURL == nil || out.ExpiresAt == nil || out.Note != nil {
			t.Fatalf("issued %s", first.Body)
		}
		repeated := issue(sale, "Idempotency-Key", "sale-1")
		repeated.Into(t, &again)
		equal(t, "repeated", repeated.Header.Get("Idempotent-Replayed"), "true")
		equal(t, "the record of the repetition", again.Warranty.ID, out.Warranty.ID)
		if again.Code != nil || again.TakeURL != nil || again.Note == nil || *again.Note != warranty.CodeShownOnce {
			t.Errorf("repeated: %s", repeated.Body)
		}
		taken := issue(sale)
		refused(t, "the external id again", taken, warranty.AlreadyExists)
		equal(t, "existing_id", strings.Contains(taken.Body, `"existing_id":"`+out.Warranty.ID.String()+`"`), true)
		var mailed warranty.IssuedWarranty
		issue(fields{"product_id": product.ID, "customer_email": "kim@people.example"}).Into(t, &mailed)
		if mailed.Code != nil || mailed.TakeURL != nil || mailed.ExpiresAt == nil ||
			*mailed.Warranty.Handover.Email != "kim@people.example" {
			t.Errorf("emailed: %+v", mailed)
		}
		for want, body := range map[string]fields{
			"product_name required, start_date required, end_date required, customer_email required": {},
			"customer_email required": {"product_id": product.ID, "print": false},
			"print not_accepted":      {"product_id": product.ID, "print": true, "customer_email": "kim@people.example"},
			"length unknown_field":    {"product_id": product.ID, "print": true, "length": 24},
			"product_id unknown":      {"product_id": shop.ID, "print": true},
			"product_id invalid": {"product_id": "hob", "print": true, "product_name": "Hob", "start_date": "2026-03-01",
				"end_date": "2028-02-29"},
			"end_date before_start": {"product_id": product.ID, "print": true, "start_date": "2026-03-01",
				"end_date": "2026-02-01"},
		} {
			a := issue(body)
			var problem warranty.Problem
			decode(t, a, &problem)
			var faults []string
			for _, f := range problem.Errors {
				faults = append(faults, f.Field+" "+f.Code)
			}
			equal(t, want, strings.Join(faults, ", "), want)
			equal(t, want, a.Status, 422)
		}
		refused(t, "a person", w.Do(made("POST", "/api/v1/warranties/issue", admin.Session, fields{"product_name": "Pan",
			"start_date": "2026-01-01", "end_date": "2027-01-01", "print": true})), warranty.RoleNotAllowed)
		equal(t, "records", w.Count(`SELECT count(*) FROM warranties`), 2)
		equal(t, "codes", w.Count(`SELECT count(*) FROM offer_codes`), 2)
	})
}
