package mcp_test

import (
	"encoding/json"
	"net/http"
	"strconv"
	"strings"
	"testing"

	"warranty.example/svc/internal/servertest"
	"warranty.example/svc/warranty"
)

const (
	parseError     = -32700
	invalidRequest = -32600
	noSuchMethod   = -32601
	invalidParams  = -32602
	wrongHeader    = -32020
	wrongVersion   = -32022
	forbidden      = 40300
)

// bare is the request in the documentation.
const bare = `{"jsonrpc":"2.0","id":1,"method":"tools/list","params":{}}`

// message is a request to the endpoint and the expected response, which is a result if
// code is 0.
type message struct {
	name    string
	method  string // POST if empty
	headers []string
	body    string
	status  int
	code    int
	id      string // 1 if empty
}

func (m message) check(t *testing.T, a agent) {
	t.Helper()
	method := m.method
	if method == "" {
		method = "POST"
	}
	r := a.send(method, m.body, m.headers...)
	if r.status != m.status {
		t.Fatalf("%s: got %d, want %d: %s", m.name, r.status, m.status, r.body)
	}
	for name, want := range map[string]string{"Cache-Control": "no-store", "Vary": "Authorization, x-api-key",
		"X-Content-Type-Options": "nosniff"} {
		if got := r.header.Get(name); got != want {
			t.Errorf("%s: %s is %q, not %q", m.name, name, got, want)
		}
	}
	for _, name := range []string{"X-Request-Id", "X-RateLimit-Limit", "X-RateLimit-Remaining", "X-RateLimit-Reset"} {
		if r.header.Get(name) == "" {
			t.Errorf("%s: no %s", m.name, name)
		}
	}
	if length := r.header.Get("Content-Length"); length != strconv.Itoa(len(r.body)) {
		t.Errorf("%s: %d bytes have the Content-Length %q", m.name, len(r.body), length)
	}
	if m.status == http.StatusAccepted {
		if r.body != "" {
			t.Errorf("%s: a notification got the response %s", m.name, r.body)
		}
		return
	}
	got := r.rpc(t)
	if m.id == "" {
		m.id = "1"
	}
	if string(got.ID) != m.id {
		t.Errorf("%s: the response has the id %s, not %s", m.name, got.ID, m.id)
	}
	switch {
	case m.code == 0 && got.Error != nil, m.code != 0 && (got.Error == nil || got.Error.Code != m.code):
		t.Errorf("%s: want the code %d: %s", m.name, m.code, r.body)
	case got.Error != nil && strings.TrimSpace(got.Error.Message) == "":
		t.Errorf("%s: the error has no message", m.name)
	case got.Error != nil && (strings.Contains(got.Error.Message, "mcp.") || strings.Contains(got.Error.Message, "Go ")):
		t.Errorf("%s: the error quotes Go types: %s", m.name, got.Error.Message)
	}
}

// versions are the supported protocol versions.
var versions = []string{"2026-07-28", "2025-11-25", "2025-06-18", "2025-03-26", "2024-11-05"}

const (
	newest = "2026-07-28"
	events = "application/json, text/event-stream"
)

// meta is the metadata of every request in the newest protocol.
func meta(version string) fields {
	return fields{"io.modelcontextprotocol/protocolVersion": version,
		"io.modelcontextprotocol/clientCapabilities": fields{},
		"io.modelcontextprotocol/clientInfo":         fields{"name": "test", "version": "1"}}
}

// modern returns a message of the newest protocol with its headers.
func modern(method, name string, params fields) (string, []string) {
	if params == nil {
		params = fields{}
	}
	params["_meta"] = meta(newest)
	headers := []string{"Mcp-Protocol-Version", newest, "Mcp-Method", method, "Accept", events}
	if name != "" {
		headers = append(headers, "Mcp-Name", name)
	}
	return request(1, method, params), headers
}

func call(tool, arguments string) string {
	return `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"` + tool + `","arguments":` + arguments + `}}`
}

// TestMessages sends valid and invalid messages. Every response must be JSON-RPC.
func TestMessages(t *testing.T) {
	w := onSQLite(t)
	a := agentOf(w, w.Person("Ada"))
	unknownModern, modernHeaders := modern("tools/nonsense", "", nil)
	future := request(1, "tools/list", fields{"_meta": meta("2027-01-01")})
	for _, m := range []message{
		{name: "the documented request", body: bare, status: 200},
		{name: "as curl sends it", headers: []string{"Accept", "*/*"}, body: bare, status: 200},
		{name: "accepting JSON alone", headers: []string{"Accept", "application/json"}, body: bare, status: 200},
		{name: "accepting a page", headers: []string{"Accept", "text/html"}, body: bare, status: 200},
		{name: "accepting both", headers: []string{"Accept", events}, body: bare, status: 200},
		{name: "with a charset", headers: []string{"Content-Type", "application/json; charset=utf-8"}, body: bare,
			status: 200},
		{name: "with a session of another server", headers: []string{"Mcp-Session-Id", "abc"}, body: bare, status: 200},
		{name: "without params", body: `{"jsonrpc":"2.0","id":1,"method":"tools/list"}`, status: 200},
		{name: "params null", body: `{"jsonrpc":"2.0","id":1,"method":"tools/list","params":null}`, status: 200},
		{name: "params a list", body: `{"jsonrpc":"2.0","id":1,"method":"tools/list","params":[]}`, status: 200,
			code: invalidParams},
		{name: "a cursor that is a number", body: request(1, "tools/list", fields{"cursor": 5}), status: 200,
			code: invalidParams},
		{name: "a tool that is a number", body: request(1, "tools/call", fields{"name": 5}), status: 200,
			code: invalidParams},
		{name: "a URI that is a number", body: request(1, "resources/read", fields{"uri": 5}), status: 200,
			code: invalidParams},
		{name: "a reference that is a number", body: request(1, "completion/complete", fields{"ref": 5}), status: 200,
			code: invalidParams},
		{name: "a version that is a number", body: request(1, "initialize", fields{"protocolVersion": 5}), status: 200,
			code: invalidParams},
		{name: "a call without initialize", body: call("list_warranties", "{}"), status: 200},
		{name: "ping", body: `{"jsonrpc":"2.0","id":1,"method":"ping"}`, status: 200},

		{name: "a batch", body: "[" + bare + "]", status: 400, code: invalidRequest, id: "null"},
		{name: "a batch after a blank", body: " \n[" + bare + "," + bare + "]", status: 400, code: invalidRequest,
			id: "null"},
		{name: "an empty batch", body: "[]", status: 400, code: invalidRequest, id: "null"},
		{name: "a batch of 2025-03-26", headers: []string{"Mcp-Protocol-Version", "2025-03-26"}, body: "[" + bare + "]",
			status: 400, code: invalidRequest, id: "null"},
		{name: "a batch of 2025-06-18", headers: []string{"Mcp-Protocol-Version", "2025-06-18"}, body: "[" + bare + "]",
			status: 400, code: invalidRequest, id: "null"},
		{name: "a batch of 2026-07-28", headers: []string{"Mcp-Protocol-Version", newest}, body: "[" + bare + "]",
			status: 400, code: invalidRequest, id: "null"},

		{name: "an unknown method", body: `{"jsonrpc":"2.0","id":"x","method":"tools/nonsense"}`, status: 200,
			code: noSuchMethod, id: `"x"`},
		{name: "a method of the newest protocol", body: request(1, "subscriptions/listen", fields{"notifications": fields{}}),
			status: 200, code: noSuchMethod},
		{name: "an unknown method of 2026-07-28", headers: modernHeaders, body: unknownModern, status: 404,
			code: noSuchMethod},
		{name: "an unknown tool", body: call("drop_tables", "{}"), status: 200, code: invalidParams},
		{name: "a call without params", body: `{"jsonrpc":"2.0","id":1,"method":"tools/call"}`, status: 400,
			code: invalidRequest},

		{name: "no JSON", body: `{"jsonrpc":`, status: 400, code: parseError, id: "null"},
		{name: "nothing", body: "", status: 400, code: parseError, id: "null"},
		{name: "blanks", body: " \r\n", status: 400, code: parseError, id: "null"},
		{name: "null", body: "null", status: 400, code: invalidRequest, id: "null"},
		{name: "a number", body: "5", status: 400, code: invalidRequest, id: "null"},
		{name: "no method", body: `{"jsonrpc":"2.0","id":1}`, status: 400, code: invalidRequest, id: "null"},
		{name: "an answer", body: `{"jsonrpc":"2.0","id":1,"result":{}}`, status: 400, code: invalidRequest, id: "null"},
		{name: "version 1", body: `{"jsonrpc":"1.0","id":1,"method":"ping"}`, status: 400, code: invalidRequest, id: "null"},
		{name: "version as a number", body: `{"jsonrpc":2.0,"id":1,"method":"ping"}`, status: 400, code: invalidRequest,
			id: "null"},

		{name: "id null", body: `{"jsonrpc":"2.0","id":null,"method":"ping"}`, status: 400, code: invalidRequest, id: "null"},
		{name: "id 1.5", body: `{"jsonrpc":"2.0","id":1.5,"method":"ping"}`, status: 400, code: invalidRequest, id: "null"},
		{name: "id true", body: `{"jsonrpc":"2.0","id":true,"method":"ping"}`, status: 400, code: invalidRequest, id: "null"},
		{name: "id an object", body: `{"jsonrpc":"2.0","id":{},"method":"ping"}`, status: 400, code: invalidRequest,
			id: "null"},
		{name: "id of 54 bits", body: `{"jsonrpc":"2.0","id":9007199254740993,"method":"ping"}`, status: 400,
			code: invalidRequest, id: "null"},
		{name: "id of 70 bits", body: `{"jsonrpc":"2.0","id":999999999999999999999,"method":"ping"}`, status: 400,
			code: invalidRequest, id: "null"},
		{name: "id of 53 bits", body: `{"jsonrpc":"2.0","id":9007199254740992,"method":"ping"}`, status: 200,
			id: "9007199254740992"},
		{name: "id 0", body: `{"jsonrpc":"2.0","id":0,"method":"ping"}`, status: 200, id: "0"},
		{name: "id below 0", body: `{"jsonrpc":"2.0","id":-7,"method":"ping"}`, status: 200, id: "-7"},
		{name: "id an empty text", body: `{"jsonrpc":"2.0","id":"","method":"ping"}`, status: 200, id: `""`},
		{name: "id a text", body: `{"jsonrpc":"2.0","id":"é\"","method":"ping"}`, status: 200, id: `"é\""`},

		{name: "a notification", body: `{"jsonrpc":"2.0","method":"notifications/initialized"}`, status: 202},
		{name: "a cancellation", body: `{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1}}`,
			status: 202},
		{name: "an unknown notification", body: `{"jsonrpc":"2.0","method":"notifications/nonsense"}`, status: 400,
			code: invalidRequest, id: "null"},
		{name: "a request without an id", body: `{"jsonrpc":"2.0","method":"tools/list"}`, status: 400, code: invalidRequest,
			id: "null"},
		{name: "a notification with an id", body: `{"jsonrpc":"2.0","id":1,"method":"notifications/initialized"}`,
			status: 200, code: noSuchMethod},

		{name: "GET", method: "GET", status: 405, code: invalidRequest, id: "null"},
		{name: "GET of events", method: "GET", headers: []string{"Accept", "text/event-stream"}, status: 405,
			code: invalidRequest, id: "null"},
		{name: "DELETE", method: "DELETE", status: 405, code: invalidRequest, id: "null"},
		{name: "PUT", method: "PUT", body: bare, status: 405, code: invalidRequest, id: "null"},
		{name: "OPTIONS", method: "OPTIONS", status: 405, code: invalidRequest, id: "null"},

		{name: "a form", headers: []string{"Content-Type", "text/plain"}, body: bare, status: 415, code: invalidRequest,
			id: "null"},
		{name: "a form that is encoded", headers: []string{"Content-Type", "application/x-www-form-urlencoded"}, body: bare,
			status: 415, code: invalidRequest, id: "null"},
		{name: "no type", headers: []string{"Content-Type", ""}, body: bare, status: 415, code: invalidRequest, id: "null"},
		{name: "more than 1 MiB", body: call("create_warranty", `{"description":"`+strings.Repeat("x", 1<<20)+`"}`),
			status: 413, code: invalidRequest, id: "null"},
		{name: "1 MiB", body: bare + strings.Repeat(" ", 1<<20-len(bare)), status: 200},

		{name: "a version of the future", headers: []string{"Mcp-Protocol-Version", "2027-01-01", "Mcp-Method", "tools/list"},
			body: future, status: 400, code: wrongVersion},
		{name: "a version of the past", headers: []string{"Mcp-Protocol-Version", "2023-01-01"}, body: bare, status: 400,
			code: invalidRequest},
		{name: "no version", headers: []string{"Mcp-Protocol-Version", "banana"}, body: bare, status: 400,
			code: invalidParams},
	} {
		m.check(t, a)
	}
	allow := a.send("GET", "").header.Get("Allow")
	equal(t, "Allow of GET", allow, "POST")
}

// TestStrictJSON sends malformed JSON that encoding/json accepts (threat 36).
func TestStrictJSON(t *testing.T) {
	each(t, func(t *testing.T, w *servertest.World) {
		a := agentOf(w, w.Person("Ada"))
		deep := func(n int) string { return strings.Repeat("[", n) + strings.Repeat("]", n) }
		for _, m := range []message{
			{name: "a name twice", body: `{"jsonrpc":"2.0","id":1,"id":2,"method":"ping"}`, status: 400, code: parseError,
				id: "null"},
			{name: "a name twice in params",
				body:   `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"get_claim","name":"list_claims"}}`,
				status: 400, code: parseError, id: "null"},
			{name: "a name twice in arguments", body: call("list_claims", `{"limit":1,"limit":2}`), status: 400,
				code: parseError, id: "null"},
			{name: "names in other case", body: `{"jsonrpc":"2.0","id":1,"Method":"ping"}`, status: 400, code: invalidRequest,
				id: "null"},
			{name: "a long s", body: `{"jſonrpc":"2.0","id":1,"method":"ping"}`, status: 400, code: invalidRequest, id: "null"},
			{name: "bad UTF-8", body: call("list_warranties", "{\"q\":\"\xff\"}"), status: 400, code: parseError, id: "null"},
			{name: "half a surrogate", body: call("list_warranties", `{"q":"\ud800"}`), status: 400, code: parseError,
				id: "null"},
			{name: "something behind", body: bare + bare, status: 400, code: parseError, id: "null"},
			{name: "a comma at the end", body: `{"jsonrpc":"2.0","id":1,"method":"ping",}`, status: 400, code: parseError,
				id: "null"},
			{name: "deep", body: request(1, "tools/list", fields{"x": json.RawMessage(deep(5_000))}), status: 400,
				code: invalidRequest},
			{name: "deeper", body: request(1, "tools/list", fields{"x": json.RawMessage(deep(9_000))}), status: 400,
				code: invalidRequest},
			{name: "a mile deep", body: `{"jsonrpc":"2.0","id":1,"method":"tools/list","params":{"x":` + deep(400_000) + `}}`,
				status: 400, code: parseError, id: "null"},
		} {
			m.check(t, a)
		}
		for name, text := range map[string]string{"NUL": "a\x00b", "escape": "a\x1b[31mb", "direction": "a\u202eb",
			"zero width": "a\u200bb"} {
			p := a.refused("create_warranty", fields{"product_name": text, "start_date": "2026-01-01", "end_date": "2027-01-01"})
			if p.Code != warranty.ValidationFailed || len(p.Errors) != 1 || p.Errors[0].Code != "forbidden_character" {
				t.Errorf("%s: %+v", name, p)
			}
		}
		p := a.refused("create_warranty", fields{"Product_Name": "x", "start_date": "2026-01-01", "end_date": "2027-01-01"})
		if p.Code != warranty.ValidationFailed || len(p.Errors) != 2 || p.Errors[0].Code != "unknown_field" {
			t.Errorf("a field in other case: %+v", p)
		}
	})
}

// TestBatchesPerformNothing checks that a rejected batch has no effect and counts as one
// request.
func TestBatchesPerformNothing(t *testing.T) {
	w := onSQLite(t)
	a := agentOf(w, w.Person("Ada"))
	create := call("create_warranty", `{"product_name":"Lamp","start_date":"2026-01-01","end_date":"2027-01-01"}`)
	before := a.send("POST", bare).header.Get("X-RateLimit-Remaining")
	r := a.send("POST", "["+strings.Repeat(create+",", 49)+create+"]")
	equal(t, "status", r.status, 400)
	equal(t, "remaining", r.header.Get("X-RateLimit-Remaining"), minus(t, before, 1))
	var list struct{ Pagination struct{ Total int } }
	a.must("list_warranties", nil, &list)
	equal(t, "records", list.Pagination.Total, 0)
}

func minus(t testing.TB, number string, n int) string {
	t.Helper()
	var have int
	decode(t, []byte(number), &have)
	out, err := json.Marshal(have - n)
	if err != nil {
		t.Fatal(err)
	}
	return string(out)
}

// TestHostAndOrigin checks that DNS rebinding and cross-origin requests are rejected, and
// that reverse proxies work (threat 43). The service listens on loopback, as behind a
// proxy on the same machine.
func TestHostAndOrigin(t *testing.T) {
	w := onSQLite(t)
	a := agentOf(w, w.Person("Ada"))
	const host = "warranty.example.com"
	for _, m := range []message{
		{name: "the public host", headers: []string{"Host", host}, status: 200},
		{name: "the public host in capitals", headers: []string{"Host", "Warranty.Example.COM"}, status: 200},
		{name: "the public host with its port", headers: []string{"Host", host + ":443"}, status: 200},
		{name: "a proxy that names its upstream", headers: []string{"Host", "127.0.0.1:8080"}, status: 200},
		{name: "localhost", headers: []string{"Host", "localhost:8080"}, status: 200},
		{name: "IPv6 loopback", headers: []string{"Host", "[::1]:8080"}, status: 200},
		{name: "another port", headers: []string{"Host", host + ":8080"}, status: 403, code: forbidden, id: "null"},
		{name: "another host", headers: []string{"Host", "evil.example"}, status: 403, code: forbidden, id: "null"},
		{name: "a host that begins like loopback", headers: []string{"Host", "127.0.0.1.evil.example"}, status: 403,
			code: forbidden, id: "null"},
		{name: "a host that ends like loopback", headers: []string{"Host", "evil.localhost"}, status: 403, code: forbidden,
			id: "null"},
		{name: "a host that begins like the public one", headers: []string{"Host", host + ".evil.example"}, status: 403,
			code: forbidden, id: "null"},
		{name: "the network's address", headers: []string{"Host", "192.168.1.5:8080"}, status: 403, code: forbidden,
			id: "null"},
		{name: "forwarded host is not believed", headers: []string{"Host", "evil.example", "X-Forwarded-Host", host},
			status: 403, code: forbidden, id: "null"},
		{name: "rebinding", headers: []string{"Host", "evil.example:8080", "Origin", "http://evil.example:8080"}, status: 403,
			code: forbidden, id: "null"},

		{name: "the public origin", headers: []string{"Host", host, "Origin", "https://" + host}, status: 200},
		{name: "another origin", headers: []string{"Host", host, "Origin", "https://evil.example"}, status: 403,
			code: forbidden, id: "null"},
		{name: "another scheme", headers: []string{"Host", host, "Origin", "http://" + host}, status: 403, code: forbidden,
			id: "null"},
		{name: "no origin in particular", headers: []string{"Origin", "null"}, status: 403, code: forbidden, id: "null"},
		{name: "another program on this machine", headers: []string{"Host", "localhost:8080", "Origin",
			"http://localhost:3000"}, status: 403, code: forbidden, id: "null"},
		{name: "an origin equal to the host", headers: []string{"Host", "localhost:8080", "Origin", "http://localhost:8080"},
			status: 403, code: forbidden, id: "null"},
	} {
		m.body = bare
		m.check(t, a)
	}
	for _, r := range []reply{a.send("POST", bare, "Host", "evil.example"),
		a.send("POST", bare, "Origin", "https://evil.example"), a.send("GET", "", "Host", "evil.example")} {
		if r.status != 403 || strings.Contains(r.body, "evil") {
			t.Errorf("%d %s", r.status, r.body)
		}
		if r.header.Get("Access-Control-Allow-Origin") != "" {
			t.Error("pages of other origins can read the response")
		}
	}
}
