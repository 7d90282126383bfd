package service_test

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"warranty.example/svc/internal/server"
	"warranty.example/svc/warranty"
)

// itemsOf returns the items of a batch, numbered from first.
func itemsOf(first, n int) []fields {
	items := make([]fields, n)
	for i := range items {
		items[i] = fields{
			"external_id": fmt.Sprintf("row-%d", first+i), "product_name": fmt.Sprintf("Pan %d", first+i), "start_date": "2026-01-01",
			"end_date": "2028-01-01", "serial_number": fmt.Sprintf("SN-%d", first+i), "brand": "Bosch",
		}
	}
	return items
}

func (w *world) batch(key string, body any, header ...string) warranty.BatchResults {
	w.T.Helper()
	r := request{Method: "POST", Path: "/api/v1/warranties/batch", Secret: key, Body: body, Header: map[string]string{}}
	for i := 0; i < len(header); i += 2 {
		r.Header[header[i]] = header[i+1]
	}
	var out warranty.BatchResults
	w.Must(200, r).Into(w.T, &out)
	return out
}

func statuses(b warranty.BatchResults) string {
	var list []string
	for _, r := range b.Results {
		text := r.Status.String()
		if r.Problem != nil {
			text += " " + string(r.Problem.Code)
		}
		list = append(list, text)
	}
	return strings.Join(list, ", ")
}

// TestBatch: items are independent, and an external id makes repeating safe. The body is an object, an array
// or lines.
func TestBatch(t *testing.T) {
	eachInTurn(t, func(t *testing.T, w *world) {
		shop := w.issuer("Ann")
		key, _ := w.token(warranty.User{ID: shop.ID}, warranty.AllScopes, time.Hour, false)
		items := itemsOf(0, 3)
		items = append(items,
			fields{"product_name": "No dates"},
			fields{"product_name": "Odd", "start_date": "2026-01-01", "end_date": "2028-01-01", "colour": "red"},
			fields{"product_name": 7},
			fields{"external_id": "row-1", "product_name": "Pan 1, renamed", "start_date": "2026-01-01", "end_date": "2028-01-01"},
			fields{"product_name": "For a customer", "start_date": "2026-01-01", "end_date": "2028-01-01", "customer_email": "kim@people.example"},
		)
		const first = "created, created, created, failed validation_failed, failed validation_failed, failed validation_failed, updated, created"
		array, err := json.Marshal(items)
		if err != nil {
			t.Fatal(err)
		}
		made := w.batch(key, string(array), "Content-Type", "application/json")
		equal(t, "an array", statuses(made), first)
		if got := made.Results[4].Problem.Errors; len(got) != 1 || got[0].Field != "colour" {
			t.Errorf("the problem of an item: %+v", got)
		}
		w.mailedCode("kim@people.example")
		var lines strings.Builder
		for _, item := range items[:7] {
			line, err := json.Marshal(item)
			if err != nil {
				t.Fatal(err)
			}
			lines.Write(append(line, '\n'))
		}
		again := w.batch(key, lines.String()+"\n", "Content-Type", "application/x-ndjson")
		equal(t, "lines, repeated", statuses(again), "unchanged, updated, unchanged, failed validation_failed, failed validation_failed, failed validation_failed, updated")
		equal(t, "the record", again.Results[0].ID, made.Results[0].ID)
		equal(t, "with items", statuses(w.batch(key, fields{"items": items[:1]})), "unchanged")
		items[0]["serial_number"] = "another"
		equal(t, "a serial number that differs", statuses(w.batch(key, fields{"items": items[:1]})), "failed validation_failed")
		if n := w.number(`SELECT count(*) FROM warranties`); n != 4 {
			t.Errorf("%d records", n)
		}
		equal(t, "without an external id", statuses(w.batch(key, fields{"items": items[7:]}, "Idempotency-Key", "k")), "created")
		equal(t, "repeated with a key", statuses(w.batch(key, fields{"items": items[7:]}, "Idempotency-Key", "k")), "created")
		if n := w.number(`SELECT count(*) FROM warranties`); n != 5 {
			t.Errorf("%d records", n)
		}
		for what, body := range map[string]string{"nothing": "[]", "no JSON": "[{]", "a number": "7", "too many": "[" + strings.Repeat("{},", 500) + "{}]"} {
			a := w.Do(request{Method: "POST", Path: "/api/v1/warranties/batch", Secret: key, Body: body, Header: map[string]string{"Content-Type": "application/json"}})
			if a.Status != 422 && a.Status != 400 {
				t.Errorf("%s: %d %s", what, a.Status, a.Body)
			}
		}
		checkAccess(t, w)
	}, busy)
}

// TestABatchCountsByItems: one request per 50 items.
func TestABatchCountsByItems(t *testing.T) {
	eachInTurn(t, func(t *testing.T, w *world) {
		olga := w.Verified("Olga")
		w.batch(olga.Session, fields{"items": itemsOf(0, 51)})
		a := w.Do(request{Method: "POST", Path: "/api/v1/warranties/batch", Secret: olga.Session, Body: fields{"items": itemsOf(100, 101)}})
		if a.Status != 429 {
			t.Errorf("%d %s", a.Status, a.Body)
		}
		if n := w.Count(`SELECT count(*) FROM warranties`); n != 51 {
			t.Errorf("%d records", n)
		}
	}, func(s *server.Server) { s.Service.RateLimit = 5 })
}

// TestBatchesAtOnce: three replicas perform the same batches at the same time, some of them twice, and every
// item is there once.
func TestBatchesAtOnce(t *testing.T) {
	const rows, size = 600, 100
	eachReplicas(t, func(t *testing.T, worlds []*world) {
		w := worlds[0]
		shop := w.issuer("Ann")
		key, _ := w.token(warranty.User{ID: shop.ID}, warranty.AllScopes, time.Hour, false)
		together(3*rows/size, func(i int) {
			body := fields{"items": itemsOf(i%(rows/size)*size, size)}
			out := worlds[i%len(worlds)].batch(key, body)
			for _, r := range out.Results {
				if r.ID == nil {
					t.Errorf("%+v", r)
				}
			}
		})
		all, distinct := w.number(`SELECT count(*) FROM warranties`), w.number(`SELECT count(DISTINCT external_id) FROM warranties`)
		if all != rows || distinct != rows {
			t.Errorf("%d records with %d external ids", all, distinct)
		}
		checkAccess(t, w)
	}, busy)
}

// TestABatchThatIsCutOff ends requests at any time and repeats them: nothing is doubled.
func TestABatchThatIsCutOff(t *testing.T) {
	const size = 200
	each(t, func(t *testing.T, w *world) {
		shop := w.issuer("Ann")
		raw := make([]warranty.BatchItem, size)
		for i, item := range itemsOf(0, size) {
			text, err := json.Marshal(item)
			if err != nil {
				t.Fatal(err)
			}
			raw[i].Text = text
		}
		for try := 0; ; try++ {
			cut, cancel := context.WithTimeout(ctx, time.Duration(try*try)*time.Millisecond)
			_, err := w.Service.CreateBatch(cut, shop.acting.Principal, warranty.CreateBatch{Items: raw})
			cancel()
			if n := w.number(`SELECT count(*) FROM warranties`); n != 0 && n != size {
				t.Fatalf("%d records", n)
			}
			if err == nil {
				break
			}
		}
		if n := w.number(`SELECT count(DISTINCT external_id) FROM warranties`); n != size {
			t.Errorf("%d records", n)
		}
	}, busy)
}

// TestBatchAfterTaking: repeating a batch leaves what belongs to the customer, still updates the promise, and says
// that it does not offer a record to another address.
func TestBatchAfterTaking(t *testing.T) {
	eachInTurn(t, func(t *testing.T, w *world) {
		shop, kim := w.issuer("Ann"), w.person("Kim", true)
		key, _ := w.token(warranty.User{ID: shop.ID}, warranty.AllScopes, time.Hour, false)
		items := itemsOf(0, 2)
		for _, item := range items {
			item["category"], item["price"], item["currency"], item["purchase_date"] = "Kitchen", "9.90", "EUR", "2026-01-02"
		}
		items[1]["customer_email"] = kim.User.Email
		made := w.batch(key, items)
		w.taken(kim, shop.prints(*made.Results[0].ID))
		mine := "Mine"
		if _, err := w.Service.UpdateWarranty(ctx, kim.Principal, warranty.UpdateWarranty{ID: warranty.WarrantyKey{ID: *made.Results[0].ID}, Category: &mine}); err != nil {
			t.Fatal(err)
		}
		equal(t, "again", statuses(w.batch(key, items)), "unchanged, unchanged")
		items[0]["end_date"], items[0]["price"], items[0]["purchase_date"] = "2029-01-01", "8.90", "2026-01-03"
		items[1]["customer_email"] = "eve@evil.example"
		equal(t, "changed", statuses(w.batch(key, items)), "updated, failed validation_failed")
		got, err := w.seen(kim, *made.Results[0].ID)
		if err != nil || *got.Category != "Mine" || *got.Price != "9.90" || got.EndDate != date("2029-01-01") {
			t.Errorf("the customer has %+v, %v", got, err)
		}
	}, busy)
}

// TestABatchKeepsExistingRecords: with existing=keep, items with a known external id change nothing, and the result names
// the fields that differ, also those that an update would refuse.
func TestABatchKeepsExistingRecords(t *testing.T) {
	eachInTurn(t, func(t *testing.T, w *world) {
		olga := w.Verified("Olga")
		items := itemsOf(0, 3)
		w.batch(olga.Session, fields{"items": items})
		items[1]["end_date"], items[1]["brand"] = "2029-01-01", "Miele"
		items[2]["serial_number"] = "another"
		keep := func() warranty.BatchResults {
			var out warranty.BatchResults
			w.Must(200, made("POST", "/api/v1/warranties/batch?existing=keep", olga.Session, fields{"items": append(items, itemsOf(9, 1)...)})).Into(t, &out)
			return out
		}
		got := keep()
		equal(t, "compared", statuses(got), "unchanged, differs, differs, created")
		equal(t, "fields", strings.Join(got.Results[1].Differs, " ")+", "+strings.Join(got.Results[2].Differs, " "), "brand end_date, serial_number")
		equal(t, "again", statuses(keep()), "unchanged, differs, differs, unchanged")
		equal(t, "changed", w.Count(`SELECT count(*) FROM warranties WHERE version > 1`), 0)
		equal(t, "updated", statuses(w.batch(olga.Session, fields{"items": items[:2]})), "unchanged, updated")
		a := w.Do(made("POST", "/api/v1/warranties/batch?existing=maybe", olga.Session, fields{"items": items}))
		equal(t, "another choice", a.Status, 422)
	}, busy)
}

// TestItemsOfABatchHaveTheirOwnKeys: an item with an idempotency key is created once, in whatever batch it is sent, also
// by two batches at the same time.
func TestItemsOfABatchHaveTheirOwnKeys(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		olga := w.Verified("Olga")
		item := func(key any, name string) fields {
			return fields{"idempotency_key": key, "product_name": name, "start_date": "2026-01-01", "end_date": "2028-01-01"}
		}
		items := []fields{item("a", "Pan"), item("b", "Pot"), item("c", "Cup")}
		first := w.batch(olga.Session, fields{"items": items[:2]})
		equal(t, "first", statuses(first), "created, created")
		second := w.batch(olga.Session, fields{"items": []fields{items[2], items[0], item("b", "Other"), item(7, "Number"), item("", "Empty")}})
		equal(t, "second", statuses(second), "created, created, failed idempotency_key_reused, failed validation_failed, failed validation_failed")
		equal(t, "replayed", fmt.Sprint(second.Results[0].Replayed, second.Results[1].Replayed), "false true")
		equal(t, "the same record", *second.Results[1].ID, *first.Results[0].ID)
		together(4, func(i int) {
			many := make([]fields, 40)
			for n := range many {
				k := (n + 10*i) % 40 // in another order
				many[n] = item(fmt.Sprint("many", k), fmt.Sprint("Lamp ", k))
			}
			w.batch(olga.Session, fields{"items": many})
		})
		equal(t, "records", w.Count(`SELECT count(*) FROM warranties`), 43)
	}, busy)
}
