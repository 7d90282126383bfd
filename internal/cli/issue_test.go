package cli

import (
	"crypto/rand"
	"encoding/json"
	"io"
	"maps"
	"net/http"
	"strings"
	"testing"

	"warranty.example/svc/warranty"
)

// TestIssueAProduct: --product is sent as an ID, which the service fills the fields from. A name that
// no product has is not guessed. Without an address, a code is printed.
func TestIssueAProduct(t *testing.T) {
	session, err := warranty.NewSecret(warranty.SessionSecret, rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	var sent map[string]any
	var paths []string
	d := newHarness(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		paths = append(paths, r.Method+" "+r.URL.Path)
		if r.URL.Path == "/api/v1/products" {
			product := `{"id":"` + id + `","name":"Tessel hob T64","length_months":24}`
			answers(200, `{"data":[`+strings.Replace(product, "T64", "T65", 1)+`,`+product+
				`],"pagination":{"page":1,"limit":100,"total":2,"total_pages":1}}`).ServeHTTP(w, r)
			return
		}
		body, _ := io.ReadAll(r.Body)
		sent = nil
		if err := json.Unmarshal(body, &sent); err != nil || r.Header.Get("Idempotency-Key") == "" {
			t.Errorf("%s %s: %v", r.URL.Path, body, err)
		}
		answers(201, `{"data":{"warranty":`+record(`"Tessel hob T64"`)+`,"code":"7K2M","take_url":"http://x/take#7K2M",`+
			`"expires_at":"2028-11-15T00:00:00Z","note":null}}`).ServeHTTP(w, r)
	}))
	issue := func(want map[string]any, args ...string) {
		t.Helper()
		d.want(0, append([]string{"warranties", "issue"}, args...)...)
		if !maps.Equal(sent, want) || paths[len(paths)-1] != "POST /api/v1/warranties/issue" {
			t.Errorf("%q sends %v to %s, want %v", args, sent, paths[len(paths)-1], want)
		}
	}
	byID := map[string]any{"product_id": id, "print": true}
	issue(byID, "--product", id)
	issue(byID, "--product-id", id)
	issue(map[string]any{"product_id": id, "customer_email": "kim@people.example", "brand": "Other"},
		"--product-id", id, "--customer-email", "kim@people.example", "--brand", "Other")
	issue(map[string]any{"product_name": "Kettle", "start_date": "2026-03-01", "end_date": "2028-02-29", "print": true},
		"--product-name", "Kettle", "--start-date", "2026-03-01", "--end-date", "2028-02-29")
	d.want(0, "warranties", "issue", "--product", id, "-o", "table")
	for _, text := range []string{"Tessel hob T64", "7K2M", "take url"} {
		if !strings.Contains(d.stdout, text) {
			t.Errorf("%q is not in %s", text, d.stdout)
		}
	}
	issue(byID, "--product", "tessel HOB t64")
	d.env["SVC_API_KEY"] = session
	issue(byID, "--product", "tessel HOB t64")
	paths = nil
	d.want(2, "warranties", "issue", "--product", "Tessel")
	d.want(2, "warranties", "issue", "--product", " ")
	d.want(2, "warranties", "issue", "--product", id, "--product-id", id)
	if strings.Contains(strings.Join(paths, " "), "warranties") {
		t.Errorf("sent %q", paths)
	}
}

// TestIssueNotEmailed: svc says if the offer was not emailed.
func TestIssueNotEmailed(t *testing.T) {
	issued := strings.TrimSuffix(record(`"Kettle"`), "}") +
		`,"handover":{"status":"none","not_emailed":"The offer was not emailed."}}`
	d := newHarness(t, answers(201,
		`{"data":{"warranty":`+issued+`,"code":null,"take_url":null,"expires_at":null,"note":null}}`))
	d.want(0, "warranties", "issue", "--product", id, "--customer-email", "kim@people.example")
	if !strings.Contains(d.stderr, "The offer was not emailed.") || !strings.Contains(d.stdout, `"code":null`) {
		t.Errorf("%s%s", d.stdout, d.stderr)
	}
}

// TestIssueAgainHasNoCode repeats requests whose responses were lost: svc shows the record, says how to get another code,
// and does not end as if there was something to print.
func TestIssueAgainHasNoCode(t *testing.T) {
	again := func(body string) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Idempotent-Replayed", "true")
			answers(201, body).ServeHTTP(w, r)
		})
	}
	d := newHarness(t, again(`{"data":{"warranty":`+record(`"Kettle"`)+`,"code":null,"take_url":null,`+
		`"expires_at":"2028-11-15T00:00:00Z","note":"Shown once."}}`))
	d.want(6, "warranties", "issue", "--product", id, "--print", "--idempotency-key", "k")
	if !strings.Contains(d.stdout, "Kettle") || !strings.Contains(d.stderr, "svc warranties hand-over WR-") {
		t.Errorf("%s%s", d.stdout, d.stderr)
	}
	d.handler = again(`{"data":{"warranty_id":"` + id + `","email":null,"code":null,"take_url":null,` +
		`"expires_at":"2028-11-15T00:00:00Z","note":"Shown once."}}`)
	d.want(6, "warranties", "hand-over", id, "--idempotency-key", "k")
	if !strings.Contains(d.stderr, "svc warranties hand-over "+id) {
		t.Errorf("%s%s", d.stdout, d.stderr)
	}
	d.handler = again(`{"data":{"warranty":` + record(`"Kettle"`) + `,"code":null,"take_url":null,` +
		`"expires_at":"2028-11-15T00:00:00Z","note":null}}`)
	d.want(0, "warranties", "issue", "--product", id, "--customer-email", "kim@people.example", "--idempotency-key", "k")
}
