package service_test

import (
	"encoding/json"
	"fmt"
	"sync/atomic"
	"testing"

	"warranty.example/svc/internal/servertest"
	"warranty.example/svc/internal/store"
	"warranty.example/svc/warranty"
)

// product adds a product of 24 months to an organization.
func (i issuer) product(name string) warranty.Product {
	i.T.Helper()
	months := 24
	made, err := i.Service.CreateProduct(ctx, i.acting.Principal, warranty.CreateProduct{Name: name, LengthMonths: &months})
	if err != nil {
		i.T.Fatal(err)
	}
	return made
}

// TestProducts: an organization lists, finds, changes and deletes its products; others see nothing of them.
func TestProducts(t *testing.T) {
	eachInTurn(t, func(t *testing.T, w *world) {
		shop, other := w.issuer("Ann"), w.issuer("Bea")
		at := func(i issuer, method, path string, body any) servertest.Answer {
			base := "/api/products"
			if method == "GET" {
				base = "/api/v1/products"
			}
			return w.Do(request{Method: method, Path: base + path, Secret: i.admin.session, Body: body,
				Header: map[string]string{"X-Account": i.ID.String()}})
		}
		made := at(shop, "POST", "", fields{"name": " Tessel hob T64 ", "brand": "Tessel", "gtin": "2000000064116",
			"length_months": 24, "terms": "Parts.\nLabour."})
		equal(t, "created", made.Status, 201)
		var hob warranty.Product
		made.Into(t, &hob)
		equal(t, "name", hob.Name, "Tessel hob T64")
		equal(t, "location", made.Header.Get("Location"), "https://warranty.example.com/api/v1/products/"+hob.ID.String())
		kettle := shop.product("Kettle")
		for _, wrong := range []struct {
			body  fields
			field string
		}{
			{fields{"name": "A"}, "length_months"},
			{fields{"name": "A", "lifetime": false}, "length_months"},
			{fields{"name": "A", "length_months": 0}, "length_months"},
			{fields{"name": "A", "length_months": 1201}, "length_months"},
			{fields{"name": "A", "length_months": 12, "lifetime": true}, "length_months"},
			{fields{"name": "", "lifetime": true}, "name"},
			{fields{"name": "A", "lifetime": true, "gtin": "2000000064117"}, "gtin"},
		} {
			a := at(shop, "POST", "", wrong.body)
			equal(t, fmt.Sprint(wrong.body), a.Status, 422)
			var problem warranty.Problem
			if err := json.Unmarshal([]byte(a.Body), &problem); err != nil {
				t.Fatal(err)
			}
			if got := problem.Errors; len(got) != 1 || got[0].Field != wrong.field {
				t.Errorf("%v: %+v", wrong.body, got)
			}
		}
		equal(t, "a name in another case", at(shop, "POST", "", fields{"name": "KETTLE", "lifetime": true}).Status, 409)
		equal(t, "the same name elsewhere", at(other, "POST", "", fields{"name": "Kettle", "lifetime": true}).Status, 201)
		equal(t, "a taken name", at(shop, "PUT", "/"+hob.ID.String(), fields{"name": "kettle"}).Status, 409)

		names := func(query string) (list []string) {
			var page warranty.Page[warranty.Product]
			if err := json.Unmarshal([]byte(at(shop, "GET", query, nil).Body), &page); err != nil {
				t.Fatal(err)
			}
			for _, p := range page.Data {
				list = append(list, p.Name)
			}
			return append(list, fmt.Sprint(page.Pagination.Total))
		}
		equal(t, "all", fmt.Sprint(names("")), "[Kettle Tessel hob T64 2]")
		equal(t, "a page", fmt.Sprint(names("?limit=1&page=2")), "[Tessel hob T64 2]")
		equal(t, "words", fmt.Sprint(names("?q=t64+TESSEL")), "[Tessel hob T64 1]")
		equal(t, "a scanned GTIN", fmt.Sprint(names("?q=2000000064116")), "[Tessel hob T64 1]")
		equal(t, "nothing", fmt.Sprint(names("?q=zebra")), "[0]")

		equal(t, "lifetime", at(shop, "PUT", "/"+hob.ID.String(), fields{"lifetime": true, "brand": nil}).Status, 200)
		at(shop, "GET", "/"+hob.ID.String(), nil).Into(t, &hob)
		if !hob.Lifetime || hob.LengthMonths != nil || hob.Brand != nil || hob.GTIN == nil || hob.EndDate(date("2026-03-01")) != warranty.Lifetime {
			t.Errorf("the product is %+v", hob)
		}
		equal(t, "no length", at(shop, "PUT", "/"+hob.ID.String(), fields{"lifetime": false}).Status, 422)
		equal(t, "a length", at(shop, "PUT", "/"+hob.ID.String(), fields{"length_months": 18}).Status, 200)
		for _, method := range []string{"GET", "PUT", "DELETE"} {
			equal(t, method+" by others", at(other, method, "/"+hob.ID.String(), map[string]any{"GET": nil, "PUT": fields{"name": "X"}, "DELETE": nil}[method]).Status, 404)
		}
		equal(t, "deleted", at(shop, "DELETE", "/"+kettle.ID.String(), nil).Status, 204)
		equal(t, "gone", at(shop, "GET", "/"+kettle.ID.String(), nil).Status, 404)
		equal(t, "left", fmt.Sprint(names("")), "[Tessel hob T64 1]")
	})
}

// TestProductsAtOnce: of many products with one name, one is added; the limit holds; a repeated request adds
// nothing.
func TestProductsAtOnce(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		shop := w.issuer("Ann")
		months := 24
		var added atomic.Int64
		together(20, func(int) {
			_, err := w.Service.CreateProduct(ctx, shop.acting.Principal, warranty.CreateProduct{Name: "Pan", LengthMonths: &months})
			switch code := codeOf(err); {
			case err == nil:
				added.Add(1)
			case code != warranty.AlreadyExists:
				t.Errorf("%v", err)
			}
		})
		equal(t, "added", added.Load(), int64(1))
		key := "k"
		again := warranty.CreateProduct{Name: "Pot", LengthMonths: &months, IdempotencyKey: &key}
		first, err := w.Service.CreateProduct(ctx, shop.acting.Principal, again)
		if err != nil {
			t.Fatal(err)
		}
		second, err := w.Service.CreateProduct(ctx, shop.acting.Principal, again)
		if err != nil || !second.Replay || second.ID != first.ID || *second.LengthMonths != 24 {
			t.Errorf("repeated: %+v, %v", second, err)
		}
		w.write(func(tx *store.Tx) error {
			for n := range warranty.MaxProducts - 4 {
				p := warranty.Product{ID: w.Service.NewID(), Name: fmt.Sprint("Part ", n)}
				if err := tx.InsertProduct(shop.ID, p); err != nil {
					return err
				}
			}
			return nil
		})
		added.Store(0)
		together(8, func(i int) {
			_, err := w.Service.CreateProduct(ctx, shop.acting.Principal,
				warranty.CreateProduct{Name: fmt.Sprint("Last ", i), LengthMonths: &months})
			switch code := codeOf(err); {
			case err == nil:
				added.Add(1)
			case code != warranty.InUse:
				t.Errorf("%v", err)
			}
		})
		equal(t, "up to the limit", added.Load(), int64(2))
	})
}
