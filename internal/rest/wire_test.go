package rest_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"warranty.example/svc/internal/servertest"
	"warranty.example/svc/warranty"
)

// TestEnvelopes checks the envelope of responses and the headers of a create.
func TestEnvelopes(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		owner := w.Person("Olga")
		key, token := w.Token(owner)

		empty := w.Must(200, made("GET", "/api/v1/warranties", key, nil))
		equal(t, "an empty list", empty.Body, `{"data":[],"pagination":{"page":1,"limit":20,"total":0,"total_pages":0}}`)

		created := w.Must(201, made("POST", "/api/v1/warranties", key,
			fields{"product_name": "  Drill ", "start_date": "2026-01-01", "end_date": "9999-12-31",
				"seller_email": "Shop@Example.COM", "description": "line\nline"}))
		var record map[string]any
		created.Into(t, &record)
		id, reference := record["id"].(string), record["reference_number"].(string)
		if !regexp.MustCompile(`^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$`).MatchString(id) {
			t.Errorf("the id %s is not a UUIDv7", id)
		}
		if _, err := warranty.ParseReference(reference); err != nil ||
			!regexp.MustCompile(`^WR(-[0-9A-HJKMNP-TV-Z]{4}){4}$`).MatchString(reference) {
			t.Errorf("the reference is %s: %v", reference, err)
		}
		for _, name := range []string{"created_at", "updated_at"} {
			if !regexp.MustCompile(`^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z$`).MatchString(record[name].(string)) {
				t.Errorf("%s is %v", name, record[name])
			}
			delete(record, name)
		}
		equal(t, "a created record", record, map[string]any{"id": id, "reference_number": reference, "product_name": "Drill",
			"description":   "line\nline",
			"serial_number": nil, "external_id": nil, "category": nil, "supplier": nil, "seller_name": nil,
			"seller_email": "shop@example.com", "seller_confirmed": false,
			"brand": nil, "model": nil, "gtin": nil, "purchase_date": nil, "price": nil, "currency": nil, "customer_name": nil,
			"handover": map[string]any{"status": "none", "email": nil, "offered_at": nil, "expires_at": nil, "taken_at": nil,
				"not_emailed": nil},
			"start_date": "2026-01-01", "end_date": "9999-12-31", "status": "active", "days_remaining": nil,
			"roles":      []any{"owner", "issuer"},
			"verify_url": servertest.PublicURL + "/verify/" + reference,
			"web_url":    servertest.PublicURL + "/warranties/" + id,
			"claim_url":  servertest.PublicURL + "/claims/new?warranty_id=" + id,
			"upload_url": servertest.PublicURL + "/documents/new?warranty_id=" + id})
		equal(t, "Location", created.Header.Get("Location"), servertest.PublicURL+"/api/v1/warranties/"+id)
		equal(t, "ETag", created.Header.Get("ETag"), `"1"`)
		equal(t, "the created record is read back", w.Get("/api/v1/warranties/"+id, key).Body, created.Body)
		equal(t, "and listed", `{"data":[`+regexp.MustCompile(`,"(claim|upload)_url":"[^"]*"`).ReplaceAllString(
			strings.TrimSuffix(strings.TrimPrefix(created.Body, `{"data":`), `}`), "")+
			`],"pagination":{"page":1,"limit":20,"total":1,"total_pages":1}}`,
			w.Get("/api/v1/warranties", key).Body)

		made201 := w.Must(201, made("POST", "/api/integration-tokens", owner.Session,
			fields{"name": "ERP", "scopes": []string{"claims:read"}}))
		var second struct{ ID string }
		made201.Into(t, &second)
		equal(t, "Location of a token", made201.Header.Get("Location"),
			servertest.PublicURL+"/api/integration-tokens/"+second.ID)

		for _, path := range []string{"/api/v1/warranties/" + id, "/api/integration-tokens/" + token} {
			gone := w.Must(204, made("DELETE", path, owner.Session, nil))
			equal(t, "the body of a delete", gone.Body, "")
			equal(t, "the type of a delete", gone.Header.Get("Content-Type"), "")
			apiHeaders(t, "a delete", gone)
		}
	})
}

// TestPages reads a list page by page and checks the totals and links.
func TestPages(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		key, _ := w.Token(w.Person("Olga"))
		var all []string
		for i := range 7 {
			all = append(all, w.Warranty(key, fields{"category": "A & B", "product_name": fmt.Sprintf("Thing %d", i)}).ID)
			w.Warranty(key, fields{"category": "other"})
		}
		slices.Reverse(all) // newest first

		const query = "?category=a+%26+b&status=active&q=thing&limit=3"
		link := func(rel string, page int) string {
			return fmt.Sprintf(`<%s/api/v1/warranties?category=a+%%26+b&limit=3&page=%d&q=thing&status=active>; rel="%s"`,
				servertest.PublicURL, page, rel)
		}
		for _, c := range []struct {
			page  int
			ids   []string
			links []string
		}{
			{1, all[:3], []string{link("first", 1), link("next", 2), link("last", 3)}},
			{2, all[3:6], []string{link("first", 1), link("prev", 1), link("next", 3), link("last", 3)}},
			{3, all[6:], []string{link("first", 1), link("prev", 2), link("last", 3)}},
			{4, []string{}, []string{link("first", 1), link("prev", 3), link("last", 3)}},
			{1_000_000_000, []string{}, []string{link("first", 1), link("prev", 3), link("last", 3)}},
		} {
			a := w.Must(200, made("GET", fmt.Sprintf("/api/v1/warranties%s&page=%d", query, c.page), key, nil))
			equal(t, fmt.Sprintf("the records of page %d", c.page), ids(t, a), c.ids)
			equal(t, fmt.Sprintf("the links of page %d", c.page), strings.Split(a.Header.Get("Link"), ", "), c.links)
			equal(t, "X-Total-Count", a.Header.Get("X-Total-Count"), "7")
			var list struct{ Pagination warranty.Pagination }
			if err := json.Unmarshal([]byte(a.Body), &list); err != nil {
				t.Fatal(err)
			}
			equal(t, fmt.Sprintf("the figures of page %d", c.page), list.Pagination,
				warranty.Pagination{Page: c.page, Limit: 3, Total: 7, TotalPages: 3})
		}

		for query, wrong := range map[string][]string{
			"limit=1": nil, "limit=100": nil, "page=1&limit=7": nil,
			"limit=0": {"limit out_of_range"}, "limit=101": {"limit out_of_range"}, "limit=-1": {"limit out_of_range"},
			"limit=1e2": {"limit wrong_type"}, "limit=%2B5": {"limit wrong_type"},
			"limit=99999999999999999999": {"limit wrong_type"},
			"page=0":                     {"page out_of_range"}, "page=1000000001": {"page out_of_range"},
			"page=9223372036854775807": {"page out_of_range"},
			"page=":                    {"page empty"}, "page=1&page=2": {"page duplicate"}, "Page=1": {"Page unknown_parameter"},
			"status=lost": {"status invalid"}, "role=boss": {"role invalid"},
			"expiring_within_days=3651": {"expiring_within_days out_of_range"},
			"expiring_within_days=-1":   {"expiring_within_days out_of_range"}, "q=" + strings.Repeat("x", 201): {"q too_long"},
			"category=%00":        {"category forbidden_character"},
			"page=x&limit=y&id=z": {"id unknown_parameter", "limit wrong_type", "page wrong_type"},
		} {
			a := w.Get("/api/v1/warranties?"+query, key)
			if wrong == nil {
				want(t, query, a, 200, "")
				continue
			}
			refused(t, query, a, warranty.ValidationFailed)
			equal(t, query, wrongFields(t, a), wrong)
		}
	})
}

// TestAccept checks which Accept headers get JSON.
func TestAccept(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		key, _ := w.Token(w.Person("Olga"))
		for accept, ok := range map[string]bool{
			"application/json": true, "*/*": true, "application/*": true, "text/html, */*;q=0.1": true,
			"text/html,application/json;q=0.9": true,
			"application/problem+json":         true, "APPLICATION/JSON": true, "application/json; charset=utf-8": true,
			"text/html": false, "application/xml": false, "text/*": false, "application/json;q=0": false,
			"application/json;q=0.0": false, "nonsense": false,
		} {
			a := w.Get("/api/v1/warranties", key, "Accept", accept)
			if ok != (a.Status == 200) || !ok && a.Code() != string(warranty.NotAcceptable) {
				t.Errorf("Accept: %s: got %d %s", accept, a.Status, a.Code())
			}
		}
	})
}

// TestBodies checks which request bodies are accepted.
func TestBodies(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		key, _ := w.Token(w.Person("Olga"))
		const valid = `{"product_name":"x","start_date":"2026-01-01","end_date":"2026-01-01"}`
		padded := func(size int) string { return valid + strings.Repeat(" ", size-len(valid)) }
		for _, c := range []struct {
			name, body, media string
			status            int
		}{
			{"plain", valid, "application/json", 201},
			{"with a charset", valid, "Application/JSON; charset=utf-8", 201},
			{"as big as allowed", padded(1 << 20), "application/json", 201},
			{"a byte too big", padded(1<<20 + 1), "application/json", 413},
			{"deep", `{"product_name":` + strings.Repeat("[", 20000) + strings.Repeat("]", 20000) + `}`, "application/json",
				400},
			{"text", valid, "text/plain", 415},
			{"JSON of another kind", valid, "application/merge-patch+json", 415},
			{"no type", valid, "", 415},
			{"two types", valid, "application/json, text/plain", 415},
			{"other case", strings.Replace(valid, "product_name", "Product_Name", 1), "application/json", 422},
			{"long s", strings.Replace(valid, `"x"`, `"x","ſupplier":"y"`, 1), "application/json", 422},
			{"NUL", strings.Replace(valid, `"x"`, `"x\u0000y"`, 1), "application/json", 422},
			{"number for text", strings.Replace(valid, `"x"`, `1`, 1), "application/json", 422},
			{"null for a required field", strings.Replace(valid, `"x"`, `null`, 1), "application/json", 422},
			{"null for an optional field", strings.Replace(valid, `"x"`, `"x","category":null`, 1), "application/json", 201},
		} {
			a := w.Send("POST", "/api/v1/warranties", key, c.body, "Content-Type", c.media)
			if a.Status != c.status {
				t.Errorf("%s: got %d, want %d: %s", c.name, a.Status, c.status, a.Body)
			}
		}
	})
}

// TestEndlessBody sends an endless body without a Content-Length.
func TestEndlessBody(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		key, _ := w.Token(w.Person("Olga"))
		body := &endless{}
		req, err := http.NewRequest("POST", w.HTTP.URL+"/api/v1/warranties", body)
		if err != nil {
			t.Fatal(err)
		}
		req.Header.Set("Content-Type", "application/json")
		req.Header.Set("X-Api-Key", key)
		w.Unchanged(t, "an endless body", func() { refused(t, "an endless body", w.RoundTrip(req), warranty.BodyTooLarge) })
		if sent := body.sent.Load(); sent > 64<<20 {
			t.Errorf("%d MiB were read before the error", sent>>20)
		}
	})
}

// endless is a reader of infinite spaces.
type endless struct{ sent atomic.Int64 }

func (e *endless) Read(p []byte) (int, error) {
	for i := range p {
		p[i] = ' '
	}
	e.sent.Add(int64(len(p)))
	return len(p), nil
}

// TestWhatIsNotTakenIsRefusedByName sends each field to each operation that does not accept it.
func TestWhatIsNotTakenIsRefusedByName(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		key, _ := w.Token(w.Person("Olga"))
		record := w.Warranty(key, fields{"category": "A", "serial_number": "S-1"})
		path := "/api/v1/warranties/" + record.ID
		valid := fields{"product_name": "x", "start_date": "2026-01-01", "end_date": "2026-01-01"}
		made1 := []string{"id", "reference_number", "days_remaining", "roles", "verify_url", "web_url", "created_at", "updated_at",
			"owner", "owner_id", "issuer_id", "user_id", "version", "standing", "deleted_at"}
		for _, name := range append(slices.Clone(made1), "status", "idempotency_key", "if_match", "<b>") {
			body := maps.Clone(valid)
			body[name] = "active"
			w.Unchanged(t, "create with "+name, func() {
				a := w.Send("POST", "/api/v1/warranties", key, body)
				refused(t, "create with "+name, a, warranty.ValidationFailed)
				equal(t, "create with "+name, wrongFields(t, a), []string{name + " unknown_field"})
			})
		}
		for _, name := range append(slices.Clone(made1), "description", "serial_number", "seller_name", "seller_email",
			"if_match") {
			w.Unchanged(t, "update with "+name, func() {
				a := w.Send("PUT", path, key, fields{name: "x@y.example", "category": "B"})
				refused(t, "update with "+name, a, warranty.ValidationFailed)
				equal(t, "update with "+name, wrongFields(t, a), []string{name + " unknown_field"})
			})
		}
		for _, query := range []string{"page=1", "expand=claims"} {
			name, _, _ := strings.Cut(query, "=")
			for _, r := range []request{made("GET", path+"?"+query, key, nil),
				made("PUT", path+"?"+query, key, fields{"category": "B"}), made("DELETE", path+"?"+query, key, nil)} {
				w.Unchanged(t, r.Method+" with "+query, func() {
					a := w.Do(r)
					refused(t, r.Method+" with "+query, a, warranty.ValidationFailed)
					equal(t, r.Method+" with "+query, wrongFields(t, a), []string{name + " unknown_parameter"})
				})
			}
		}
	})
}
