package openapitest

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
)

// recorder is a test that notes its failures instead of failing.
type recorder struct {
	testing.TB
	mu   sync.Mutex
	said []string
}

func (r *recorder) Helper() {}

func (r *recorder) Errorf(format string, args ...any) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.said = append(r.said, fmt.Sprintf(format, args...))
}

func (r *recorder) Fatalf(format string, args ...any) {
	r.Errorf(format, args...)
	panic("fatal")
}

func published(t testing.TB) []byte {
	t.Helper()
	doc, err := os.ReadFile(filepath.Join("..", "..", "docs", "openapi.json"))
	if err != nil {
		t.Fatal(err)
	}
	return doc
}

// exchange is a request and its answer, which a test case spoils in one way.
type exchange struct {
	method, path string
	status       int
	header       http.Header
	body         string
}

const record = `{"id":"019ca93e-5b40-7a1c-8d02-6f3b91c42001","reference_number":"WR-7K2M-9QXT-4D8P-HV3A","product_name":"Kettle",
"description":null,"serial_number":null,"category":null,"supplier":null,"seller_name":null,"seller_email":null,"start_date":"2026-03-01",
"end_date":"2028-02-29","status":"active","days_remaining":3,"roles":["owner"],"verify_url":"https://w.example/verify/WR-7K2M-9QXT-4D8P-HV3A",
"created_at":"2026-03-01T09:30:00Z","updated_at":"2026-03-01T09:30:00Z"}`

func apiHeader(more ...string) http.Header {
	h := http.Header{}
	pairs := append([]string{"X-Request-Id", "r1", "X-RateLimit-Limit", "100", "X-RateLimit-Remaining", "99", "X-RateLimit-Reset", "1780306223",
		"Cache-Control", "no-store", "Vary", "Authorization, x-api-key"}, more...)
	for i := 0; i < len(pairs); i += 2 {
		h.Set(pairs[i], pairs[i+1])
	}
	return h
}

func oneWarranty() exchange {
	return exchange{"GET", "/api/v1/warranties/019ca93e-5b40-7a1c-8d02-6f3b91c42001", 200,
		apiHeader("Content-Type", "application/json", "ETag", `"1"`), `{"data":` + record + `}`}
}

func refused(method, path string, status int, code string, more ...string) exchange {
	return exchange{method, path, status, apiHeader(append([]string{"Content-Type", "application/problem+json"}, more...)...),
		fmt.Sprintf(`{"type":"https://w.example/docs/errors#%s","title":"T","status":%d,"code":"%s","detail":"D","request_id":"r1"}`, code, status, code)}
}

func (e exchange) check(c *Checker, t testing.TB) {
	req := httptest.NewRequest(e.method, "http://w.example"+e.path, nil)
	c.Check(t, req, &http.Response{StatusCode: e.status, Header: e.header}, []byte(e.body))
}

func TestCheckAccepts(t *testing.T) {
	c := New(t, published(t))
	page := `{"data":[` + record + `],"pagination":{"page":1,"limit":20,"total":1,"total_pages":1}}`
	head := oneWarranty()
	head.method, head.body = "HEAD", ""
	for name, e := range map[string]exchange{
		"record":             oneWarranty(),
		"head":               head,
		"page":               {"GET", "/api/v1/warranties?page=1", 200, apiHeader("Content-Type", "application/json", "Link", `<x>; rel="first"`), page},
		"nothing":            {"DELETE", "/api/v1/warranties/x", 204, apiHeader(), ""},
		"accepted":           {"POST", "/api/auth/password-reset", 202, apiHeader(), ""},
		"not found":          refused("GET", "/api/v1/warranties/x", 404, "not_found"),
		"unknown path":       refused("GET", "/api/v1/nothing", 404, "not_found"),
		"unknown, throttled": refused("GET", "/api/v1/nothing", 429, "ip_throttled", "Retry-After", "3"),
		"wrong method":       refused("PATCH", "/api/v1/warranties/x", 405, "method_not_allowed", "Allow", "GET, PUT, DELETE"),
		"health":             {"GET", "/healthz", 200, http.Header{"X-Request-Id": {"r1"}, "Content-Type": {"application/json"}}, `{"status":"ok"}`},
		"verify page":        {"GET", "/verify/WR-1", 200, http.Header{"X-Request-Id": {"r1"}, "Content-Type": {"text/html; charset=utf-8"}}, `<p>`},
	} {
		t.Run(name, func(t *testing.T) { e.check(c, t) })
	}
}

func TestCheckRefuses(t *testing.T) {
	c := New(t, published(t))
	replaced := func(old, with string) func(*exchange) {
		return func(e *exchange) { e.body = strings.Replace(e.body, old, with, 1) }
	}
	without := func(name string) func(*exchange) { return func(e *exchange) { e.header.Del(name) } }
	with := func(name, value string) func(*exchange) { return func(e *exchange) { e.header.Set(name, value) } }
	found := refused("GET", "/api/v1/warranties/x", 404, "not_found")
	for _, test := range []struct {
		name  string
		from  exchange
		spoil func(*exchange)
		want  string
	}{
		{"wrong status", oneWarranty(), func(e *exchange) { e.status = 203 }, "status 203 is not listed"},
		{"extra property", oneWarranty(), replaced(`"roles"`, `"owner_id":"x","roles"`), "owner_id"},
		{"extra member beside data", oneWarranty(), replaced(`{"data"`, `{"meta":1,"data"`), "meta"},
		{"missing property", oneWarranty(), replaced(`"days_remaining":3,`, ""), "days_remaining"},
		{"wrong type", oneWarranty(), replaced(`"days_remaining":3`, `"days_remaining":"3"`), "days_remaining"},
		{"wrong enum", oneWarranty(), replaced(`"active"`, `"alive"`), "status"},
		{"wrong date", oneWarranty(), replaced(`2026-03-01"`, `2026-02-30"`), "start_date"},
		{"wrong id", oneWarranty(), replaced(`019ca93e`, `x`), "uuid"},
		{"null list", oneWarranty(), replaced(`["owner"]`, `null`), "roles"},
		{"no JSON", oneWarranty(), replaced(`}`, ``), "not JSON"},
		{"wrong type of content", oneWarranty(), with("Content-Type", "text/plain"), "Content-Type"},
		{"no request id", oneWarranty(), without("X-Request-Id"), "X-Request-Id is missing"},
		{"no limit", oneWarranty(), without("X-RateLimit-Remaining"), "X-Ratelimit-Remaining is missing"},
		{"no ETag", oneWarranty(), without("ETag"), "Etag is missing"},
		{"limit is no number", oneWarranty(), with("X-RateLimit-Limit", "many"), "not one whole number"},
		{"stored by caches", oneWarranty(), with("Cache-Control", "private"), "Cache-Control"},
		{"varies by less", oneWarranty(), with("Vary", "Authorization"), "x-api-key"},
		{"HEAD with a body", oneWarranty(), func(e *exchange) { e.method = "HEAD" }, "HEAD"},
		{"code not listed", found, replaced(`"code":"not_found"`, `"code":"internal"`), "not listed for this operation"},
		{"status in the problem", found, replaced(`"status":404`, `"status":400`), "says the status 400"},
		{"request id in the problem", found, replaced(`"r1"`, `"r2"`), "request_id"},
		{"type of the problem", found, replaced(`#not_found`, `#other`), "does not lead to its code"},
		{"success of an unknown path", oneWarranty(), func(e *exchange) { e.path = "/api/v1/nothing" }, "no such operation"},
		{"unknown path without headers", refused("GET", "/api/nothing", 404, "not_found"), without("Vary"), "Vary is missing"},
		{"unknown path in plain text", refused("GET", "/api/nothing", 404, "not_found"), with("Content-Type", "text/plain"), "Content-Type"},
		{"405 without Allow", refused("PATCH", "/api/v1/claims", 405, "method_not_allowed", "Allow", "GET"), without("Allow"), "Allow is missing"},
		{"body of nothing", exchange{"DELETE", "/api/v1/warranties/x", 204, apiHeader(), ""}, func(e *exchange) { e.body = "{}" }, "there is a body"},
		{"429 without Retry-After", refused("GET", "/api/v1/claims", 429, "rate_limited"), func(*exchange) {}, "Retry-After is missing"},
		{"401 without a challenge", refused("GET", "/api/v1/claims", 401, "token_expired"), func(*exchange) {}, "Www-Authenticate is missing"},
	} {
		t.Run(test.name, func(t *testing.T) {
			e, fake := test.from, &recorder{}
			e.header = e.header.Clone()
			test.spoil(&e)
			e.check(c, fake)
			if len(fake.said) != 1 || !strings.Contains(fake.said[0], test.want) {
				t.Errorf("said %q, want one failure that says %q", fake.said, test.want)
			}
		})
	}
}

func TestRoundTripperChecks(t *testing.T) {
	good := oneWarranty()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		for name := range good.header {
			w.Header().Set(name, good.header.Get(name))
		}
		if r.URL.Query().Has("bad") {
			w.WriteHeader(http.StatusTeapot)
		}
		io.WriteString(w, good.body)
	}))
	defer server.Close()
	fake := &recorder{}
	client := http.Client{Transport: New(fake, published(t)).RoundTripper(nil)}
	for _, query := range []string{"", "?bad=1"} {
		resp, err := client.Get(server.URL + good.path + query)
		if err != nil {
			t.Fatal(err)
		}
		body, err := io.ReadAll(resp.Body)
		if err != nil || string(body) != good.body {
			t.Errorf("the body did not pass through: %q, %v", body, err)
		}
		if err := resp.Body.Close(); err != nil {
			t.Error(err)
		}
		if bad := query != ""; (len(fake.said) > 0) != bad {
			t.Errorf("%q: said %q", query, fake.said)
		}
	}
}

func TestNewRefusesWhatIsNoDocument(t *testing.T) {
	for _, doc := range []string{"", "[]", `{"openapi":"3.0.3"}`, `{"openapi":"3.1.0"}`} {
		fake := &recorder{}
		func() {
			defer func() { _ = recover() }()
			New(fake, []byte(doc))
		}()
		if len(fake.said) == 0 {
			t.Errorf("New took %q", doc)
		}
	}
}

func TestExamplesAreChecked(t *testing.T) {
	good := published(t)
	New(t, good).CheckExamples(t)
	fake := &recorder{}
	bad := strings.ReplaceAll(string(good), `"file_name": "motor.jpg"`, `"file_name": 7`)
	New(fake, []byte(bad)).CheckExamples(fake)
	if len(fake.said) == 0 {
		t.Error("a wrong example passed")
	}
}

func BenchmarkCheck(b *testing.B) {
	c := New(b, published(b))
	records := strings.Repeat(record+",", 19) + record
	for name, e := range map[string]exchange{
		"record": oneWarranty(),
		"page": {"GET", "/api/v1/warranties", 200, apiHeader("Content-Type", "application/json", "Link", "<x>"),
			`{"data":[` + records + `],"pagination":{"page":1,"limit":20,"total":1,"total_pages":1}}`},
	} {
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				e.check(c, b)
			}
		})
	}
}

func BenchmarkRead(b *testing.B) {
	doc := published(b)
	for b.Loop() {
		if _, err := read(doc); err != nil {
			b.Fatal(err)
		}
	}
}
