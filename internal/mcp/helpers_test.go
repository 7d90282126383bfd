package mcp_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"warranty.example/svc/internal/server"
	"warranty.example/svc/internal/servertest"
	"warranty.example/svc/warranty"
)

type (
	option = func(*server.Server)
	fields = map[string]any
)

// each runs a test on SQLite, and in a long run on both databases.
func each(t *testing.T, test func(t *testing.T, w *servertest.World), options ...option) {
	t.Helper()
	servertest.EachAtTheDoor(t, test, options...)
}

// busy raises the rate limits for tests of other features.
func busy(s *server.Server) { s.Service.RateLimit = 1_000_000 }

// onSQLite returns a world for tests that do not depend on the database.
func onSQLite(t *testing.T, options ...option) *servertest.World {
	t.Helper()
	t.Parallel()
	return servertest.New(t, servertest.SQLite(t), options...)
}

// agent is an MCP client with a token.
type agent struct {
	t      testing.TB
	url    string
	secret string
}

// agentOf returns an agent with a new token. Without scopes, the token has all of them.
func agentOf(w *servertest.World, p servertest.Person, scopes ...warranty.Scope) agent {
	w.T.Helper()
	secret, _ := w.Token(p, scopes...)
	return agent{w.T, w.HTTP.URL + "/api/mcp", secret}
}

// reply is an HTTP response.
type reply struct {
	status int
	header http.Header
	body   string
}

// send sends a raw request. headers alternates names and values; an empty value removes a
// header.
func (a agent) send(method, body string, headers ...string) reply {
	a.t.Helper()
	req, err := http.NewRequest(method, a.url, strings.NewReader(body))
	if err != nil {
		a.t.Fatal(err)
	}
	req.Header.Set("X-Api-Key", a.secret)
	req.Header.Set("Content-Type", "application/json")
	for i := 0; i < len(headers); i += 2 {
		switch name, value := headers[i], headers[i+1]; {
		case value == "":
			req.Header.Del(name)
		case name == "Host":
			req.Host = value
		default:
			req.Header.Set(name, value)
		}
	}
	resp, err := http.DefaultTransport.RoundTrip(req)
	if err != nil {
		a.t.Fatal(err)
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	if err != nil {
		a.t.Fatal(err)
	}
	return reply{resp.StatusCode, resp.Header, string(text)}
}

// rpc is a JSON-RPC response.
type rpc struct {
	JSONRPC string
	ID      json.RawMessage
	Result  json.RawMessage
	Error   *rpcError
}

type rpcError struct {
	Code    int
	Message string
	Data    json.RawMessage
}

// problem returns the problem in the error's data.
func (e *rpcError) problem(t testing.TB) warranty.Problem {
	t.Helper()
	var p warranty.Problem
	if e == nil {
		t.Fatal("no error")
	}
	decode(t, e.Data, &p)
	return p
}

// rpc decodes a response that must be JSON-RPC.
func (r reply) rpc(t testing.TB) rpc {
	t.Helper()
	var out rpc
	if got := r.header.Get("Content-Type"); got != "application/json" {
		t.Errorf("response %d has the type %q: %s", r.status, got, r.body)
	}
	d := json.NewDecoder(strings.NewReader(r.body))
	d.DisallowUnknownFields()
	if err := d.Decode(&out); err != nil {
		t.Fatalf("response %d is not JSON-RPC: %v: %q", r.status, err, r.body)
	}
	if out.JSONRPC != "2.0" || (out.Result == nil) == (out.Error == nil) || out.ID == nil {
		t.Errorf("response %d is not JSON-RPC: %s", r.status, r.body)
	}
	return out
}

// request encodes a message.
func request(id any, method string, params any) string {
	m := fields{"jsonrpc": "2.0", "method": method}
	if id != nil {
		m["id"] = id
	}
	if params != nil {
		m["params"] = params
	}
	b, err := json.Marshal(m)
	if err != nil {
		panic(err)
	}
	return string(b)
}

// ask sends a message and expects status 200.
func (a agent) ask(method string, params any) rpc {
	a.t.Helper()
	r := a.send("POST", request(1, method, params))
	if r.status != http.StatusOK {
		a.t.Fatalf("%s: %d %s", method, r.status, r.body)
	}
	return r.rpc(a.t)
}

// result is ask for calls that must succeed. It decodes the result into out.
func (a agent) result(method string, params, out any) {
	a.t.Helper()
	r := a.ask(method, params)
	if r.Error != nil {
		a.t.Fatalf("%s: %d %s", method, r.Error.Code, r.Error.Message)
	}
	decode(a.t, r.Result, out)
}

// toolResult is the result of a tool.
type toolResult struct {
	IsError           bool
	StructuredContent json.RawMessage
	Content           []struct{ Type, Text string }
}

// call calls a tool.
func (a agent) call(tool string, arguments any) toolResult {
	a.t.Helper()
	params := fields{"name": tool}
	if arguments != nil {
		params["arguments"] = arguments
	}
	var r toolResult
	a.result("tools/call", params, &r)
	if len(r.Content) != 1 || r.Content[0].Type != "text" {
		a.t.Fatalf("%s does not return exactly one text: %+v", tool, r.Content)
	}
	return r
}

// must is call for calls that must succeed.
func (a agent) must(tool string, arguments, out any) {
	a.t.Helper()
	r := a.call(tool, arguments)
	if r.IsError {
		a.t.Fatalf("%s: %s", tool, r.Content[0].Text)
	}
	decode(a.t, r.StructuredContent, out)
}

// refused is call for calls that must fail.
func (a agent) refused(tool string, arguments any) warranty.Problem {
	a.t.Helper()
	r := a.call(tool, arguments)
	if !r.IsError || r.StructuredContent != nil {
		a.t.Errorf("%s succeeds, or has structured content: %s", tool, r.Content[0].Text)
	}
	var p warranty.Problem
	decode(a.t, []byte(r.Content[0].Text), &p)
	return p
}

// record is the part of a tool's result that tests use.
type record struct {
	Data servertest.Record
	ETag string
}

func decode(t testing.TB, data []byte, out any) {
	t.Helper()
	d := json.NewDecoder(bytes.NewReader(data))
	d.UseNumber()
	if err := d.Decode(out); err != nil {
		t.Fatalf("%v: %s", err, data)
	}
}

func equal(t testing.TB, what string, got, want any) {
	t.Helper()
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("%s (-want +got):\n%s", what, diff)
	}
}

// claim files a claim on a warranty.
func claim(w *servertest.World, session, warrantyID, description string) string {
	w.T.Helper()
	var c struct{ ID string }
	w.Must(201, servertest.Request{Method: "POST", Path: "/api/claims", Secret: session,
		Body: fields{"warranty_id": warrantyID, "type": "repair", "description": description,
			"incident_date": "2024-05-06"}}).Into(w.T, &c)
	return c.ID
}

// document uploads a file to a warranty.
func document(w *servertest.World, session, warrantyID, name string) string {
	w.T.Helper()
	const boundary = "a-boundary"
	part := func(header, value string) string {
		return "--" + boundary + "\r\nContent-Disposition: form-data; " + header + "\r\n\r\n" + value + "\r\n"
	}
	body := part(`name="warranty_id"`, warrantyID) + part(`name="type"`, "receipt") +
		part(`name="file"; filename="`+name+`"`, "a receipt") + "--" + boundary + "--\r\n"
	var d struct{ ID string }
	w.Must(201, servertest.Request{Method: "POST", Path: "/api/documents", Secret: session, Body: body,
		Header: map[string]string{"Content-Type": "multipart/form-data; boundary=" + boundary}}).Into(w.T, &d)
	return d.ID
}

// names returns the values of one member in a list of objects.
func names(t testing.TB, list json.RawMessage, member string) []string {
	t.Helper()
	var items []map[string]any
	decode(t, list, &items)
	out := []string{}
	for _, item := range items {
		out = append(out, fmt.Sprint(item[member]))
	}
	return out
}

func sorted(list []string) []string {
	list = slices.Clone(list)
	slices.Sort(list)
	return list
}

// today is the day of servers without a clock.
func today() warranty.Date {
	return warranty.DateOf(time.Date(2026, time.June, 1, 0, 0, 0, 0, time.UTC))
}

const unknownID = "01935b2e-7c4a-7def-8123-456789abcdef"
