package mcp_test

import (
	"bytes"
	"context"
	"encoding/json"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"runtime"
	"strings"
	"testing"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"warranty.example/svc/api"
	"warranty.example/svc/internal/describe"
	"warranty.example/svc/internal/mcp"
	"warranty.example/svc/internal/servertest"
	"warranty.example/svc/internal/testenv"
	"warranty.example/svc/warranty"
)

// serve serves a server through Endpoint. The deadline of a request passes when late
// receives a value.
func serve(t *testing.T, server *mcp.Server, late <-chan struct{}) agent {
	t.Helper()
	endpoint := mcp.NewEndpoint(server)
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		ctx := &timed{Context: r.Context(), up: make(chan struct{})}
		go func() {
			select {
			case <-late:
			case <-r.Context().Done():
			}
			close(ctx.up)
		}()
		w.Header().Set("Cache-Control", "no-store")
		endpoint.ServeHTTP(w, r.WithContext(ctx))
	}))
	t.Cleanup(s.Close)
	return agent{t: t, url: s.URL}
}

// timed is a context whose deadline passes on demand.
type timed struct {
	context.Context
	up chan struct{}
}

func (c *timed) Done() <-chan struct{} { return c.up }

func (c *timed) Err() error {
	select {
	case <-c.up:
		return context.DeadlineExceeded
	default:
		return nil
	}
}

// TestLateAnswersAreRefused: a request that times out gets a response, and its handler is
// cancelled, in every protocol version. It is not parallel, so that no other session is
// closed meanwhile.
func TestLateAnswersAreRefused(t *testing.T) {
	started, ended := make(chan struct{}), make(chan struct{}, 2)
	server := sdk.NewServer(&sdk.Implementation{Name: "slow", Version: "1"}, nil)
	server.AddTool(&sdk.Tool{Name: "sleep", InputSchema: json.RawMessage(`{"type":"object"}`)},
		func(ctx context.Context, _ *sdk.CallToolRequest) (*sdk.CallToolResult, error) {
			started <- struct{}{}
			testenv.Receive(t, "the tool hears that its time is up", ctx.Done())
			testenv.Wait(t, "the SDK waits for the tool alone, which is too late to be the answer", func() bool {
				stacks := make([]byte, 1<<20)
				return bytes.Contains(stacks[:runtime.Stack(stacks, true)], []byte("mcp.(*ServerSession).Close"))
			})
			ended <- struct{}{}
			return nil, ctx.Err()
		})
	a := serve(t, &mcp.Server{Server: server}, started)
	newBody, newHeaders := modern("tools/call", "sleep", fields{"name": "sleep"})
	for name, send := range map[string]func() reply{
		"older":  func() reply { return a.send("POST", call("sleep", "{}")) },
		"newest": func() reply { return a.send("POST", newBody, newHeaders...) },
	} {
		r := send()
		got := r.rpc(t)
		if r.status != 503 || got.Error == nil || got.Error.Code != 50300 || string(got.ID) != "1" ||
			got.Error.problem(t).Code != warranty.Unavailable ||
			r.header.Get("Retry-After") != "1" || r.header.Get("Cache-Control") != "no-store" {
			t.Errorf("%s: %d %v %s", name, r.status, r.header, r.body)
		}
		testenv.Receive(t, name+": the tool ends", ended)
	}
}

// TestAnswersThatCannotBeWritten: the endpoint responds even if the SDK does not.
func TestAnswersThatCannotBeWritten(t *testing.T) {
	t.Parallel()
	server := sdk.NewServer(&sdk.Implementation{Name: "broken", Version: "1"}, nil)
	server.AddResource(&sdk.Resource{URI: "x://here", Name: "here"}, nil)
	r := serve(t, &mcp.Server{Server: server}, nil).send("POST", request(1, "resources/read", fields{"uri": "x://\x7f"}))
	if got := r.rpc(t); r.status != 500 || got.Error == nil || got.Error.Code != -32603 || string(got.ID) != "1" {
		t.Errorf("%d %s", r.status, r.body)
	}
}

// broken is a source of randomness that panics.
type broken struct{}

func (broken) Read([]byte) (int, error) { panic("a bug with postgres://user:password@host inside") }

// TestPanicsEndNothing: a panic in an operation becomes an error response, is logged with
// the request ID, and its details are not sent (threat 55).
func TestPanicsEndNothing(t *testing.T) {
	each(t, func(t *testing.T, w *servertest.World) {
		a := agentOf(w, w.Person("Ada"))
		random := w.Service.Random
		w.Service.Random = broken{}
		body := call("create_warranty", `{"product_name":"Lamp","start_date":"2026-01-01","end_date":"2027-01-01"}`)
		r := a.send("POST", body, "X-Request-Id", "panic-request-1")
		w.Service.Random = random
		var result toolResult
		decode(t, r.rpc(t).Result, &result)
		var p warranty.Problem
		decode(t, []byte(result.Content[0].Text), &p)
		if r.status != 200 || !result.IsError || p.Code != warranty.Internal || p.RequestID != "panic-request-1" ||
			strings.Contains(r.body, "postgres") || strings.Contains(r.body, "goroutine") {
			t.Errorf("%d %s", r.status, r.body)
		}
		for _, part := range []string{"a bug with", "goroutine", "panic-request-1"} {
			if !strings.Contains(w.Log.String(), part) {
				t.Errorf("the log does not contain %q", part)
			}
		}
		a.must("create_warranty", fields{"product_name": "Lamp", "start_date": "2026-01-01", "end_date": "2027-01-01"},
			new(record))
	})
}

// TestPanicsOutsideOfTools does the same for lists and prompts.
func TestPanicsOutsideOfTools(t *testing.T) {
	t.Parallel()
	log := &servertest.Buffer{}
	server, err := mcp.New(mcp.Config{Operations: bound(), Caller: func(context.Context) (api.Caller,
		error) {
		panic("a bug")
	},
		Schemas: describe.ToolSchemas, RecordSchema: describe.RecordSchema, Today: today,
		PublicURL: servertest.PublicURL, Version: "1", Log: slog.New(slog.NewJSONHandler(log, nil))})
	if err != nil {
		t.Fatal(err)
	}
	a := serve(t, server, nil)
	for method, params := range map[string]fields{"tools/list": nil, "prompts/list": nil,
		"prompts/get":    {"name": "review_expiring_warranties"},
		"resources/read": {"uri": "warranty://claims/" + unknownID},
		"completion/complete": {"ref": fields{"type": "ref/prompt", "name": "summarize_warranty"},
			"argument": fields{"name": "id", "value": ""}}} {
		r := a.ask(method, params)
		if r.Error == nil || r.Error.Code != -32603 || r.Error.problem(t).Code != warranty.Internal ||
			strings.Contains(r.Error.Message, "bug") {
			t.Errorf("%s: %+v", method, r)
		}
	}
	if strings.Count(log.String(), "a bug") != 5 {
		t.Errorf("the log: %s", log)
	}
}

// bound returns the operations of an integration token. They find nothing.
func bound() []api.Bound {
	var list []api.Bound
	for _, op := range api.Operations() {
		if op.Auth == api.Credential {
			list = append(list, api.Relay(op, func(context.Context, any) (api.Relayed, error) {
				return api.Relayed{}, warranty.ErrNotFound
			}))
		}
	}
	return list
}
