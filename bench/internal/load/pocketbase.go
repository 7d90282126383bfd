package load

import (
	"cmp"
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"warranty.example/svc/bench/internal/data"
	"warranty.example/svc/warranty"
)

// PocketBase is the API of PocketBase. Its create has no idempotency key, because
// PocketBase does not support them.
type PocketBase struct{ Tokens []string } // by user

const recordsPath = "/api/collections/warranties/records"

// Get reads one record.
func (p PocketBase) Get(user int, r data.Record) Call {
	id := data.PocketBaseID('w', r.Number)
	return Call{Method: http.MethodGet, Path: recordsPath + "/" + id, Token: p.Tokens[user],
		Status: http.StatusOK, Holds: []string{id, data.Reference(r.Number)}}
}

// List reads a page of a user's list.
func (p PocketBase) List(user int, q Query) Call {
	path := recordsPath + "?page=" + strconv.Itoa(q.Page) + "&perPage=" + strconv.Itoa(q.Limit)
	if q.Limit > 1 { // a count needs no order, which is expensive
		path += "&sort=-created"
	}
	var filters []string
	if q.Category != "" {
		filters = append(filters, fmt.Sprintf("category=%q", q.Category))
	}
	if q.Active {
		today := time.Now().UTC().Format(time.DateOnly)
		const active = `status="active"&&start_date<="%[1]s 00:00:00.000Z"&&end_date>="%[1]s 00:00:00.000Z"`
		filters = append(filters, fmt.Sprintf(active, today))
	}
	if len(filters) > 0 {
		path += "&filter=" + url.QueryEscape(strings.Join(filters, "&&"))
	}
	call := Call{
		Method: http.MethodGet,
		Path:   path,
		Token:  p.Tokens[user],
		Status: http.StatusOK,
		Each:   `"reference_number":`,
		Count:  q.rows(),
	}
	if q.Untotalled {
		call.Path += "&skipTotal=1"
	} else {
		call.Holds = []string{`"totalItems":` + strconv.Itoa(q.Total) + ","}
	}
	return call
}

// pocketBaseSorts are the fields by which PocketBase sorts for an order of svcd.
var pocketBaseSorts = strings.NewReplacer("created_at", "created", "updated_at", "updated")

// Find reads a page of a search for pieces of text, or in an order.
func (p PocketBase) Find(user int, f Find) Call {
	path := recordsPath + "?page=" + strconv.Itoa(f.Page) + "&perPage=" + strconv.Itoa(data.PageSize) +
		"&sort=" + cmp.Or(pocketBaseSorts.Replace(f.Sort), "-created")
	var filters []string
	for _, word := range f.Words {
		fields := []string{"product_name", "description", "supplier", "seller_name", "serial_number", "reference_number"}
		for i, field := range fields {
			fields[i] = fmt.Sprintf("%s~%q", field, word)
		}
		filters = append(filters, "("+strings.Join(fields, "||")+")")
	}
	if len(filters) > 0 {
		path += "&filter=" + url.QueryEscape(strings.Join(filters, "&&"))
	}
	return Call{Method: http.MethodGet, Path: path, Token: p.Tokens[user], Status: http.StatusOK,
		Holds: []string{`"totalItems":` + strconv.Itoa(f.Found.Pieces) + ","},
		Each:  `"reference_number":`, Count: pageRows(f.Page, f.Found.Pieces)}
}

// Create creates a record with a shop as the seller.
func (p PocketBase) Create(user int, _ string) Call {
	n, owner := newRecord(user), data.PocketBaseID('u', user)
	return Call{Method: http.MethodPost, Path: recordsPath, Token: p.Tokens[user],
		Body: fmt.Sprintf(`{%s,"owner":%q,"issuer":%q,"seller":%q,"status":"active"}`,
			n.fields(), owner, owner, data.PocketBaseID('u', n.seller)),
		Status: http.StatusOK, Holds: []string{n.Serial, `"reference_number":"WR-`}}
}

// Update changes a record's end date.
func (p PocketBase) Update(r data.Record, days int) Call {
	id, end := data.PocketBaseID('w', r.Number), (r.End + warranty.Date(days)).String()
	return Call{Method: http.MethodPatch, Path: recordsPath + "/" + id, Token: p.Tokens[r.Owner],
		Body:   fmt.Sprintf(`{"end_date":%q,"supplier":"Supplier %d"}`, end, days),
		Status: http.StatusOK, Holds: []string{id, end}}
}

// Verify reads the public page of a record.
func (p PocketBase) Verify(r data.Record) Call {
	reference := data.Reference(r.Number)
	return Call{Method: http.MethodGet, Path: "/verify/" + reference,
		Status: http.StatusOK, Holds: []string{reference, r.Start.String()}}
}
