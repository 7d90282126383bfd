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

// Svcd asks as the service wants it.
type Svcd struct{ Bare }

// Bare asks as the bare program wants it, which speaks the service's own API as far as it goes.
type Bare struct{ secrets sync.Map }

// secret is a user's token. Making one costs more than sending it, so it is kept.
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

// List reads a page of what a user sees.
func (s *Bare) List(user int, q Query) Call {
	path := warrantiesPath + "?page=" + strconv.Itoa(q.Page) + "&limit=" + strconv.Itoa(q.Limit)
	if q.Category != "" {
		path += "&category=" + url.QueryEscape(q.Category)
	}
	if q.Active {
		path += "&status=active"
	}
	call := Call{Method: http.MethodGet, Path: path, Token: s.secret(user), Status: http.StatusOK, Each: `"reference_number":`, Count: q.rows()}
	if q.Untotalled {
		call.Path += "&total=no"
	} else {
		call.Holds = []string{`"total":` + strconv.Itoa(q.Total) + ","}
	}
	return call
}

// List reads a page of what a user sees; the service always tells the total.
func (s *Svcd) List(user int, q Query) Call {
	q.Untotalled = false
	return s.Bare.List(user, q)
}

// Create makes a record that a shop sold, once for the key.
func (s *Bare) Create(user int, key string) Call {
	n := newRecord(user)
	return Call{Method: http.MethodPost, Path: warrantiesPath, Token: s.secret(user), Header: "Idempotency-Key: " + key,
		Body: fmt.Sprintf(`{"product_name":%q,"description":%q,"serial_number":%q,"category":%q,"supplier":%q,"seller_name":%q,"seller_email":%q,"start_date":%q,"end_date":%q}`,
			n.Product, n.Description, n.Serial, data.Common, n.Supplier, data.Name(n.seller), data.Email(n.seller), n.start, n.end),
		Status: http.StatusCreated, Holds: []string{n.Serial, `"reference_number":"WR-`}}
}

// Update moves a record's end.
func (s *Bare) Update(r data.Record, days int) Call {
	end := (r.End + warranty.Date(days)).String()
	return Call{Method: http.MethodPut, Path: warrantiesPath + "/" + r.ID().String(), Token: s.secret(r.Owner),
		Body: fmt.Sprintf(`{"end_date":%q,"supplier":"Supplier %d"}`, end, days), Status: http.StatusOK, Holds: []string{r.ID().String(), end}}
}

// Verify asks for a record as anybody can who has its reference.
func (s *Bare) Verify(r data.Record) Call {
	reference := data.Reference(r.Number)
	return Call{Method: http.MethodGet, Path: "/verify/" + reference, Status: http.StatusOK, Holds: []string{reference, r.Start.String()}}
}

// GetByTool reads one record as an agent does.
func (s *Svcd) GetByTool(user int, r data.Record) Call {
	id := r.ID().String()
	return Call{Method: http.MethodPost, Path: "/api/mcp", Token: s.secret(user),
		Body:   `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"get_warranty","arguments":{"id":"` + id + `"}}}`,
		Status: http.StatusOK, Holds: []string{id, data.Reference(r.Number), "structuredContent"}}
}

// created is what a new record is made of.
type created struct {
	data.Texts
	seller     int
	start, end string
}

// newRecord is alike for everybody: only who makes it differs. A shop sells it,
// so that every server has a seller to find, and Big's totals stay.
func newRecord(user int) created {
	texts := data.Record{Number: user, Seller: data.NoSeller}.Texts()
	if texts.Description == "" {
		texts.Description = "Parts and labour are covered."
	}
	return created{Texts: texts, seller: 1, start: "2026-01-15", end: "2028-01-14"}
}

// newKey is one that was never used.
func newKey() string { return strings.ToLower(rand.Text()) }
