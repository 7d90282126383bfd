package mcp_test

import (
	"bufio"
	"context"
	"errors"
	"io"
	"log/slog"
	"strings"
	"testing"

	"warranty.example/svc/api"
	"warranty.example/svc/internal/describe"
	"warranty.example/svc/internal/mcp"
	"warranty.example/svc/internal/testenv"
	"warranty.example/svc/warranty"
)

// pipe is a client of a server over a pair of streams.
type pipe struct {
	t     *testing.T
	in    *io.PipeWriter
	lines *bufio.Reader
	ended chan error
}

// overStdio serves operations that find nothing to a caller with all scopes.
func overStdio(t *testing.T, operations []api.Bound) pipe {
	t.Helper()
	t.Parallel()
	server, err := mcp.New(mcp.Config{Operations: operations, Schemas: describe.ToolSchemas,
		RecordSchema: describe.RecordSchema, Today: today, PublicURL: "http://here", Version: "1", Log: slog.New(slog.DiscardHandler),
		Caller: func(context.Context) (api.Caller, error) {
			return api.Caller{Principal: warranty.Principal{Credential: warranty.ByToken, Scopes: warranty.AllScopes}}, nil
		}})
	if err != nil {
		t.Fatal(err)
	}
	in, feed := io.Pipe()
	answers, out := io.Pipe()
	ctx, cancel := context.WithCancel(context.Background())
	t.Cleanup(cancel)
	p := pipe{t: t, in: feed, lines: bufio.NewReader(answers), ended: make(chan error, 1)}
	go func() {
		p.ended <- mcp.ServeStdio(ctx, server, in, out)
		_ = out.Close() // so that readers do not block
	}()
	return p
}

func (p pipe) send(lines ...string) {
	p.t.Helper()
	for _, line := range lines {
		if _, err := io.WriteString(p.in, line+"\n"); err != nil {
			p.t.Fatal(err)
		}
	}
}

// answer reads one line of JSON-RPC.
func (p pipe) answer() rpc {
	p.t.Helper()
	line, err := p.lines.ReadString('\n')
	if err != nil {
		p.t.Fatal(err)
	}
	var r rpc
	decode(p.t, []byte(line), &r)
	if r.JSONRPC != "2.0" || (r.Result == nil) == (r.Error == nil) {
		p.t.Errorf("not JSON-RPC: %s", line)
	}
	return r
}

// ended waits until the server returns.
func (p pipe) end() {
	p.t.Helper()
	if err := p.in.Close(); err != nil {
		p.t.Fatal(err)
	}
	if rest, err := io.ReadAll(p.lines); err != nil || len(rest) > 0 {
		p.t.Errorf("left over: %q, %v", rest, err)
	}
	if err := testenv.Receive(p.t, "the server ends", p.ended); err != nil {
		p.t.Errorf("ServeStdio returned %v", err)
	}
}

const (
	hello       = `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"t","version":"1"}}}`
	initialized = `{"jsonrpc":"2.0","method":"notifications/initialized"}`
)

// begin initializes the session.
func (p pipe) begin() {
	p.t.Helper()
	p.send(hello)
	if r := p.answer(); r.Error != nil {
		p.t.Fatalf("%+v", r.Error)
	}
	p.send(initialized)
}

// TestStdioOutlivesNonsense: each invalid line gets one error, and serving continues.
func TestStdioOutlivesNonsense(t *testing.T) {
	p := overStdio(t, bound())
	p.begin()
	for _, c := range []struct {
		line string
		code int
	}{
		{"nonsense", parseError}, {"{", parseError}, {`{"jsonrpc":"2.0","id":1,"id":2,"method":"ping"}`, parseError},
		{"\xff", parseError}, {bare + bare, parseError},
		{"[]", invalidRequest}, {"[" + bare + "]", invalidRequest}, {"5", invalidRequest}, {"null", invalidRequest},
		{"{}", invalidRequest},
		{`{"jsonrpc":"2.0","id":7}`, invalidRequest}, {`{"jsonrpc":"1.0","id":7,"method":"ping"}`, invalidRequest},
		{`{"jsonrpc":"2.0","id":1.5,"method":"ping"}`, invalidRequest},
		{`{"jsonrpc":"2.0","id":null,"method":"ping"}`, invalidRequest},
		{`{"jsonrpc":"2.0","id":9007199254740993,"method":"ping"}`, invalidRequest},
		{`{"jsonrpc":"2.0","id":1,"method":"tools/list","params":{"x":` + strings.Repeat("[", 3000) +
			strings.Repeat("]", 3000) + `}}`, invalidRequest},
		{strings.Repeat("x", 5<<20), invalidRequest},
	} {
		p.send(c.line)
		if r := p.answer(); r.Error == nil || r.Error.Code != c.code || string(r.ID) != "null" {
			t.Errorf("%.60s: %+v", c.line, r)
		}
	}
	p.send("", "   ", "\r", `{"jsonrpc":"2.0","id":1,"result":{}}`) // no response
	for line, code := range map[string]int{
		`{"jsonrpc":"2.0","id":2,"method":"nonsense"}`:                                                   noSuchMethod,
		`{"jsonrpc":"2.0","id":2,"method":"tools/list","params":[]}`:                                     invalidParams,
		`{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"nonsense"}}`:                    invalidParams,
		`{"jsonrpc":"2.0","id":2,"method":"resources/read","params":{"uri":"x://\u007f"}}`:               invalidParams,
		`{"jsonrpc":"2.0","id":2,"method":"resources/read","params":{"uri":"warranty://claims/\u007f"}}`: invalidParams,
		strings.Replace(hello, `"id":1`, `"id":2`, 1):                                                    invalidRequest,
	} {
		p.send(line)
		if r := p.answer(); r.Error == nil || r.Error.Code != code || string(r.ID) != "2" {
			t.Errorf("%s: %+v %+v", line, r, r.Error)
		}
	}
	p.send(strings.Replace(bare, `"id":1`, `"id":"last"`, 1) + "\r") // a Windows line ending
	if r := p.answer(); string(r.ID) != `"last"` || r.Error != nil {
		t.Errorf("%+v", r)
	}
	p.end()
}

// TestStdioSpeaksTheNewestProtocol: it needs no handshake.
func TestStdioSpeaksTheNewestProtocol(t *testing.T) {
	p := overStdio(t, bound())
	body, _ := modern("tools/list", "", nil)
	p.send(body)
	var list struct{ Tools []any }
	decode(t, p.answer().Result, &list)
	equal(t, "tools", len(list.Tools), len(hints))
	body, _ = modern("server/discover", "", nil)
	p.send(body)
	var found struct{ SupportedVersions []string }
	decode(t, p.answer().Result, &found)
	equal(t, "versions", found.SupportedVersions, versions)
	p.end()
}

// TestStdioAnswersBeforeItEnds: the input may end right after the last call.
func TestStdioAnswersBeforeItEnds(t *testing.T) {
	inputEnded := make(chan struct{})
	slow := api.Bind(api.GetClaim, func(context.Context, warranty.Principal, warranty.GetClaim) (warranty.Claim, error) {
		<-inputEnded
		return warranty.Claim{}, errors.New("a fault")
	})
	operations := bound()
	for i, op := range operations {
		if op.Tool == slow.Tool {
			operations[i] = slow
		}
	}
	p := overStdio(t, operations)
	p.begin()
	p.send(call("get_claim", `{"id":"`+unknownID+`"}`))
	go func() {
		defer close(inputEnded)
		_ = p.in.Close() // a pipe does not fail to close
	}()
	var r toolResult
	decode(t, p.answer().Result, &r)
	var problem warranty.Problem
	decode(t, []byte(r.Content[0].Text), &problem)
	equal(t, "code", problem.Code, warranty.Internal)
	if strings.Contains(r.Content[0].Text, "a fault") {
		t.Errorf("the internal error is sent: %s", r.Content[0].Text)
	}
	p.end()
}

// TestStdioRefusesWhatComesBeforeInitialize checks that calls before initialize get a
// JSON-RPC error code (C19), and that calls after it work.
func TestStdioRefusesWhatComesBeforeInitialize(t *testing.T) {
	p := overStdio(t, bound())
	for _, id := range []string{`"early"`, "7"} {
		p.send(`{"jsonrpc":"2.0","id":` + id + `,"method":"tools/list","params":{}}`)
		r := p.answer()
		if r.Error == nil || r.Error.Code != invalidRequest || !strings.Contains(r.Error.Message, "initialize first") ||
			string(r.ID) != id {
			t.Errorf("%s %+v", r.ID, r.Error)
		}
	}
	p.begin()
	p.send(bare)
	if r := p.answer(); r.Error != nil {
		t.Errorf("%+v", r.Error)
	}
	p.end()
}

// TestLocalErrorsHaveNoRequestID (C19): without an HTTP request there is no request ID.
func TestLocalErrorsHaveNoRequestID(t *testing.T) {
	p := overStdio(t, bound())
	p.begin()
	p.send(call("get_claim", `{}`))
	if r := p.answer(); !strings.Contains(string(r.Result), "validation_failed") ||
		strings.Contains(string(r.Result), "request_id") {
		t.Errorf("%s", r.Result)
	}
	p.end()
}
