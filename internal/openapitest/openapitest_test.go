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

// recorder is a testing.TB that records failures.
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

// exchange is a request and its response, which each test case breaks in one way.
type exchange struct {
	method, path string
	status       int
	header       http.Header
	body         string
}

const record = `{"id":"019ca93e-5b40-7a1c-8d02-6f3b91c42001","reference_number":"WR-7K2M-9QXT-4D8P-HV3A","product_name":"Kettle",
"description":null,"serial_number":null,"external_id":null,"category":null,"supplier":null,"seller_name":null,"seller_email":null,"seller_confirmed":false,"brand":null,"model":null,
"gtin":null,"purchase_date":null,"price":null,"currency":null,"customer_name":null,"handover":null,"start_date":"2026-03-01",
"end_date":"2028-02-29","status":"active","days_remaining":3,"roles":["owner"],"verify_url":"https://w.example/verify/WR-7K2M-9QXT-4D8P-HV3A",
"web_url":"https://w.example/warranties/019ca93e-5b40-7a1c-8d02-6f3b91c42001",
"created_at":"2026-03-01T09:30:00Z","updated_at":"2026-03-01T09:30:00Z"}`

func apiHeader(more ...string) http.Header {
	h := http.Header{}
	pairs := append([]string{"X-Request-Id", "r1", "X-RateLimit-Limit", "100", "X-RateLimit-Remaining", "99",
		"X-RateLimit-Reset", "1780306223",
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
	return exchange{method, path, status, apiHeader(append([]string{"Content-Type", "application/problem+json"},
		more...)...),
		fmt.Sprintf(`{"type":"https://w.example/docs/errors#%s","title":"T","status":%d,"code":"%s","detail":"D","request_id":"r1"}`, code, status, code)}
}

const filePath = "/api/documents/019ca93e-5b40-7a1c-8d02-6f3b91c42003/file"

// file returns a response with a file or part of one.
func file(method string, status int, kind string, more ...string) exchange {
	return exchange{method, filePath, status, apiHeader(append([]string{"Content-Type", kind, "Content-Disposition",
		"attachment; filename*=UTF-8''a.pdf",
		"ETag", `"9f86"`, "Last-Modified", "Wed, 20 May 2026 09:30:00 GMT", "Accept-Ranges", "bytes"}, more...)...),
		"%PDF-\xff"}
}

// noRange is how http.ServeContent refuses a range.
func noRange(method, body string) exchange {
	e := exchange{method, filePath, 416, apiHeader("Content-Type", "text/plain; charset=utf-8", "Content-Range",
		"bytes */7"), body}
	e.header.Del("Cache-Control")
	return e
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
	fileHead, partHead := file("HEAD", 200, "image/webp"), file("HEAD", 206, "image/png", "Content-Range", "bytes 0-1/7")
	fileHead.body, partHead.body = "", ""
	document := `{"data":{"id":"019ca93e-5b40-7a1c-8d02-6f3b91c42003","warranty_id":"019ca93e-5b40-7a1c-8d02-6f3b91c42001","claim_id":null,
"warranty":{"id":"019ca93e-5b40-7a1c-8d02-6f3b91c42001","reference_number":"WR-7K2M-9QXT-4D8P-HV3A","product_name":"Kettle"},"file_name":"a.pdf",
"type":"receipt","content_type":"application/pdf","size_bytes":7,"sha256":"9f86",
"web_url":"https://w.example/warranties/019ca93e-5b40-7a1c-8d02-6f3b91c42001","created_at":"2026-03-01T09:30:00Z"}}`
	for name, e := range map[string]exchange{
		"record": oneWarranty(),
		"head":   head,
		"page": {"GET", "/api/v1/warranties?page=1", 200,
			apiHeader("Content-Type", "application/json", "Link", `<x>; rel="first"`), page},
		"nothing":            {"DELETE", "/api/v1/warranties/x", 204, apiHeader(), ""},
		"accepted":           {"POST", "/api/auth/password-reset", 202, apiHeader(), ""},
		"file":               file("GET", 200, "application/pdf"),
		"text file":          file("GET", 200, "text/plain"),
		"head of a file":     fileHead,
		"part":               file("GET", 206, "image/jpeg", "Content-Range", "bytes 0-1/7"),
		"head of a part":     partHead,
		"parts":              file("GET", 206, "multipart/byteranges; boundary=x"),
		"file known already": {"GET", filePath, 304, apiHeader("ETag", `"9f86"`), ""},
		"head, known":        {"HEAD", filePath, 304, apiHeader("ETag", `"9f86"`), ""},
		"another file":       {"GET", filePath, 412, apiHeader("ETag", `"9f86"`, "Content-Type", "application/pdf"), ""},
		"no such part":       noRange("GET", "invalid range: failed to overlap\n"),
		"head, no such part": noRange("HEAD", ""),
		"no such file":       refused("GET", filePath, 404, "not_found"),
		"upload": {"POST", "/api/documents", 201, apiHeader("Content-Type", "application/json", "Location",
			"https://w.example/api/v1/documents/x"), document},
		"upload too large":   refused("POST", "/api/documents", 413, "body_too_large"),
		"upload for others":  refused("POST", "/api/documents", 403, "role_not_allowed"),
		"not found":          refused("GET", "/api/v1/warranties/x", 404, "not_found"),
		"unknown path":       refused("GET", "/api/v1/nothing", 404, "not_found"),
		"unknown, throttled": refused("GET", "/api/v1/nothing", 429, "ip_throttled", "Retry-After", "3"),
		"wrong method": refused("PATCH", "/api/v1/warranties/x", 405, "method_not_allowed", "Allow",
			"GET, PUT, DELETE"),
		"health": {"GET", "/healthz", 200, http.Header{"X-Request-Id": {"r1"},
			"Content-Type": {"application/json"}}, `{"status":"ok"}`},
		"verify page": {"GET", "/verify/WR-1", 200, http.Header{"X-Request-Id": {"r1"},
			"Content-Type": {"text/html; charset=utf-8"}}, `<p>`},
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
		{"wrong status", oneWarranty(), func(e *exchange) { e.status = 203 }, "status 203 is not documented"},
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
		{"limit is not a number", oneWarranty(), with("X-RateLimit-Limit", "many"), "not a single integer"},
		{"stored by caches", oneWarranty(), with("Cache-Control", "private"), "Cache-Control"},
		{"varies by less", oneWarranty(), with("Vary", "Authorization"), "x-api-key"},
		{"HEAD with a body", oneWarranty(), func(e *exchange) { e.method = "HEAD" }, "HEAD"},
		{"code not listed", found, replaced(`"code":"not_found"`, `"code":"internal"`), "not documented for this operation"},
		{"status in the problem", found, replaced(`"status":404`, `"status":400`), "has the status 400"},
		{"request id in the problem", found, replaced(`"r1"`, `"r2"`), "request_id"},
		{"type of the problem", found, replaced(`#not_found`, `#other`), "does not link to its code"},
		{"success of an unknown path", oneWarranty(), func(e *exchange) { e.path = "/api/v1/nothing" }, "no such operation"},
		{"unknown path without headers", refused("GET", "/api/nothing", 404, "not_found"), without("Vary"),
			"Vary is missing"},
		{"unknown path in plain text", refused("GET", "/api/nothing", 404, "not_found"), with("Content-Type", "text/plain"),
			"Content-Type"},
		{"405 without Allow", refused("PATCH", "/api/v1/claims", 405, "method_not_allowed", "Allow", "GET"), without("Allow"),
			"Allow is missing"},
		{"body of nothing", exchange{"DELETE", "/api/v1/warranties/x", 204, apiHeader(), ""},
			func(e *exchange) { e.body = "{}" }, "but none is documented"},
		{"file to be shown", file("GET", 200, "application/pdf"), with("Content-Disposition", "inline"),
			"Content-Disposition"},
		{"file without a name", file("GET", 200, "application/pdf"), without("Content-Disposition"),
			"Content-Disposition is missing"},
		{"file without an ETag", file("GET", 200, "application/pdf"), without("ETag"), "Etag is missing"},
		{"file of another type", file("GET", 200, "application/pdf"), with("Content-Type", "text/html"), "Content-Type"},
		{"file without a type", file("GET", 200, "application/pdf"), without("Content-Type"), "Content-Type"},
		{"file stored by caches", file("GET", 200, "application/pdf"), without("Cache-Control"), "Cache-Control is missing"},
		{"file without a request id", file("GET", 206, "application/pdf"), without("X-Request-Id"),
			"X-Request-Id is missing"},
		{"HEAD of a file with a body", file("GET", 200, "application/pdf"), func(e *exchange) { e.method = "HEAD" }, "HEAD"},
		{"part of nothing", file("GET", 206, "application/pdf"), with("Content-Range", "all"), "Content-Range"},
		{"known file with a body", exchange{"GET", filePath, 304, apiHeader("ETag", `"9f86"`), "x"}, func(*exchange) {},
			"but none is documented"},
		{"refused range in another type", noRange("GET", "x"), with("Content-Type", "text/html"), "Content-Type"},
		{"refused range stored by caches", noRange("GET", "x"), with("Cache-Control", "public"), "Cache-Control"},
		{"parts of a record", oneWarranty(), func(e *exchange) { e.status = 206 }, "status 206 is not documented"},
		{"code not listed for files", refused("GET", filePath, 404, "not_found"),
			replaced(`"code":"not_found"`, `"code":"role_not_allowed"`), "not documented for this operation"},
		{"429 without Retry-After", refused("GET", "/api/v1/claims", 429, "rate_limited"), func(*exchange) {},
			"Retry-After is missing"},
		{"401 without a challenge", refused("GET", "/api/v1/claims", 401, "token_expired"), func(*exchange) {},
			"Www-Authenticate is missing"},
	} {
		t.Run(test.name, func(t *testing.T) {
			e, fake := test.from, &recorder{}
			e.header = e.header.Clone()
			test.spoil(&e)
			e.check(c, fake)
			if len(fake.said) != 1 || !strings.Contains(fake.said[0], test.want) {
				t.Errorf("reported %q, want one failure that contains %q", fake.said, test.want)
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
			t.Errorf("the body was not passed through: %q, %v", body, err)
		}
		if err := resp.Body.Close(); err != nil {
			t.Error(err)
		}
		if bad := query != ""; (len(fake.said) > 0) != bad {
			t.Errorf("%q: reported %q", query, fake.said)
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
			t.Errorf("New accepted %q", doc)
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
		t.Error("an invalid example passed")
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
