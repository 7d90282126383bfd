package load

import (
	"crypto/rand"
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"sync"

	"warranty.example/svc/bench/internal/data"
	"warranty.example/svc/warranty"
)

// Svcd is the API of the service.
type Svcd struct{ Bare }

// Bare is the API of the bare program, a subset of the service's API.
type Bare struct{ secrets sync.Map }

// secret returns a user's token. Tokens are cached, because deriving one is expensive.
func (s *Bare) secret(user int) string {
	secret, ok := s.secrets.Load(user)
	if !ok {
		secret, _ = s.secrets.LoadOrStore(user, data.Secret(user))
	}
	return secret.(string)
}

const warrantiesPath = "/api/v1/warranties"

// Get reads one record.
func (s *Bare) Get(user int, r data.Record) Call {
	return Call{Method: http.MethodGet, Path: warrantiesPath + "/" + r.ID().String(), Token: s.secret(user),
		Status: http.StatusOK, Holds: []string{r.ID().String(), data.Reference(r.Number)}}
}

// List reads a page of a user's list.
func (s *Bare) List(user int, q Query) Call {
	path := warrantiesPath + "?page=" + strconv.Itoa(q.Page) + "&limit=" + strconv.Itoa(q.Limit)
	if q.Category != "" {
		path += "&category=" + url.QueryEscape(q.Category)
	}
	if q.Active {
		path += "&status=active"
	}
	call := Call{
		Method: http.MethodGet,
		Path:   path,
		Token:  s.secret(user),
		Status: http.StatusOK,
		Each:   `"reference_number":`,
		Count:  q.rows(),
	}
	if q.Untotalled {
		call.Path += "&total=no"
	} else {
		call.Holds = []string{`"total":` + strconv.Itoa(q.Total) + ","}
	}
	return call
}

// List reads a page of a user's list; the service always returns the total.
func (s *Svcd) List(user int, q Query) Call {
	q.Untotalled = false
	return s.Bare.List(user, q)
}

// Create creates a record with a shop as the seller and an idempotency key.
func (s *Bare) Create(user int, key string) Call {
	n := newRecord(user)
	return Call{Method: http.MethodPost, Path: warrantiesPath, Token: s.secret(user), Header: "Idempotency-Key: " + key,
		Body:   "{" + n.fields() + "}",
		Status: http.StatusCreated, Holds: []string{n.Serial, `"reference_number":"WR-`}}
}

// Update changes a record's end date.
func (s *Bare) Update(r data.Record, days int) Call {
	end := (r.End + warranty.Date(days)).String()
	return Call{Method: http.MethodPut, Path: warrantiesPath + "/" + r.ID().String(), Token: s.secret(r.Owner),
		Body:   fmt.Sprintf(`{"end_date":%q,"supplier":"Supplier %d"}`, end, days),
		Status: http.StatusOK, Holds: []string{r.ID().String(), end}}
}

// Verify reads the public page of a record.
func (s *Bare) Verify(r data.Record) Call {
	reference := data.Reference(r.Number)
	return Call{Method: http.MethodGet, Path: "/verify/" + reference,
		Status: http.StatusOK, Holds: []string{reference, r.Start.String()}}
}

// Find reads a page of a search or in an order.
func (s *Svcd) Find(user int, f Find) Call {
	path := warrantiesPath + "?page=" + strconv.Itoa(f.Page) + "&limit=" + strconv.Itoa(data.PageSize)
	if len(f.Words) > 0 {
		path += "&q=" + url.QueryEscape(strings.Join(f.Words, " "))
	}
	if f.Sort != "" {
		path += "&sort=" + f.Sort
	}
	return Call{Method: http.MethodGet, Path: path, Token: s.secret(user), Status: http.StatusOK,
		Holds: []string{`"total":` + strconv.Itoa(f.Found.Words) + ","},
		Each:  `"reference_number":`, Count: pageRows(f.Page, f.Found.Words)}
}

// FindChildren reads the first page of a search of claims or documents.
func (s *Svcd) FindChildren(user int, kind string, words []string, total int) Call {
	return Call{Method: http.MethodGet, Path: "/api/v1/" + kind + "?limit=" + strconv.Itoa(data.PageSize) +
		"&q=" + url.QueryEscape(strings.Join(words, " ")), Token: s.secret(user), Status: http.StatusOK,
		Holds: []string{`"total":` + strconv.Itoa(total) + ","},
		Each:  `"reference_number":`, Count: pageRows(1, total)}
}

// Summary counts a user's records.
func (s *Svcd) Summary(user int, by string, total int) Call {
	return Call{Method: http.MethodGet, Path: warrantiesPath + "/summary?group_by=" + by, Token: s.secret(user),
		Status: http.StatusOK, Holds: []string{`"total":` + strconv.Itoa(total) + ",", `"groups":[{`}}
}

// Overview reads the first web page.
func (s *Svcd) Overview(user int, total int) Call {
	return Call{Method: http.MethodGet, Path: "/", Page: true, Header: "Cookie: svc_session=" + data.Session(user),
		Status: http.StatusOK, Holds: []string{grouped(total)}}
}

// grouped returns a number as the pages print it: 1,000,000.
func grouped(n int) string {
	text := strconv.Itoa(n)
	for i := len(text) - 3; i > 0; i -= 3 {
		text = text[:i] + "," + text[i:]
	}
	return text
}

// GetByTool reads one record with an MCP tool.
func (s *Svcd) GetByTool(user int, r data.Record) Call {
	id := r.ID().String()
	return Call{Method: http.MethodPost, Path: "/api/mcp", Token: s.secret(user),
		Body:   `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"get_warranty","arguments":{"id":"` + id + `"}}}`,
		Status: http.StatusOK, Holds: []string{id, data.Reference(r.Number), "structuredContent"}}
}

// created is the content of a new record.
type created struct {
	data.Texts
	seller     int
	start, end string
}

// fields returns the fields of the record as JSON members.
func (n created) fields() string {
	return fmt.Sprintf(`"product_name":%q,"description":%q,"serial_number":%q,"category":%q,"supplier":%q,`+
		`"seller_name":%q,"seller_email":%q,"start_date":%q,"end_date":%q`,
		n.Product, n.Description, n.Serial, data.Common, n.Supplier,
		data.Name(n.seller), data.Email(n.seller), n.start, n.end)
}

// newRecord returns the same record for all users except for its texts. The seller is a
// shop, so that every server looks a seller up, and Big's totals stay constant.
func newRecord(user int) created {
	texts := data.Record{Number: user, Seller: data.NoSeller}.Texts()
	if texts.Description == "" {
		texts.Description = "Parts and labour are covered."
	}
	return created{Texts: texts, seller: 1, start: "2026-01-15", end: "2028-01-14"}
}

// newKey returns a unique idempotency key.
func newKey() string { return strings.ToLower(rand.Text()) }
