package cli

import (
	"crypto/rand"
	"encoding/json"
	"io"
	"net/http"
	"strings"
	"testing"

	"warranty.example/svc/warranty"
)

// TestIssueAProduct: --product fills the fields that no other flag gives. An integration token cannot read
// products, and a name that no product has is not guessed.
func TestIssueAProduct(t *testing.T) {
	session, err := warranty.NewSecret(warranty.SessionSecret, rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	var created map[string]any
	var paths []string
	d := newHarness(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		paths = append(paths, r.Method+" "+r.URL.Path)
		product := `{"id":"` + id + `","name":"Tessel hob T64","brand":"Tessel","gtin":"2000000064116","length_months":24,"terms":"Parts."}`
		switch {
		case r.URL.Path == "/api/products":
			answers(200, `{"data":[`+strings.Replace(product, "T64", "T65", 1)+`,`+product+`],"pagination":{"page":1,"limit":100,"total":2,"total_pages":1}}`).ServeHTTP(w, r)
		case strings.HasPrefix(r.URL.Path, "/api/products/"):
			answers(200, `{"data":`+product+`}`).ServeHTTP(w, r)
		case strings.HasSuffix(r.URL.Path, "/handover"):
			answers(201, `{"data":{"warranty_id":"`+id+`","code":"7K2M","take_url":"http://x/take#7K2M","expires_at":"2028-11-15T00:00:00Z"}}`).ServeHTTP(w, r)
		default:
			body, _ := io.ReadAll(r.Body)
			created = nil
			if err := json.Unmarshal(body, &created); err != nil {
				t.Errorf("%s: %v", body, err)
			}
			answers(201, `{"data":`+record(`"Tessel hob T64"`)+`}`).ServeHTTP(w, r)
		}
	}))
	d.want(2, "warranties", "issue", "--product", "Tessel hob T64")
	if !strings.Contains(d.stderr, "Integration tokens cannot read products") || len(paths) != 0 {
		t.Errorf("with a token: %s %q", d.stderr, paths)
	}
	d.env["SVC_API_KEY"] = session
	for _, named := range []string{"tessel HOB t64", id} {
		d.want(0, "warranties", "issue", "--product", named, "--serial-number", "T64-1", "--start-date", "2026-03-01", "--brand", "Other")
		want := map[string]any{"product_name": "Tessel hob T64", "brand": "Other", "gtin": "2000000064116", "description": "Parts.",
			"serial_number": "T64-1", "start_date": "2026-03-01", "end_date": "2028-02-29"}
		for name, value := range want {
			if created[name] != value {
				t.Errorf("--product %s: %s is %v, want %v", named, name, created[name], value)
			}
		}
		if len(created) != len(want) {
			t.Errorf("--product %s sends %v", named, created)
		}
	}
	paths = nil
	d.want(2, "warranties", "issue", "--product", "Tessel")
	d.want(2, "warranties", "issue", "--product", " ")
	if strings.Contains(strings.Join(paths, " "), "warranties") {
		t.Errorf("sent %q", paths)
	}
	created = nil
	d.want(0, "warranties", "issue", "--product", "Tessel hob T64")
	if created["start_date"] != "2026-11-15" || created["end_date"] != "2028-11-14" {
		t.Errorf("today is not the start: %v", created)
	}
}
