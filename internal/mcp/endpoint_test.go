package mcp_test

import (
	"context"
	"encoding/json"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"warranty.example/svc/api"
	"warranty.example/svc/internal/describe"
	"warranty.example/svc/internal/mcp"
	"warranty.example/svc/internal/servertest"
	"warranty.example/svc/warranty"
)

// serve puts a server behind the endpoint, with a time limit for each request.
func serve(t *testing.T, server *sdk.Server, limit time.Duration) agent {
	t.Helper()
	endpoint := mcp.NewEndpoint(server)
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		ctx, cancel := context.WithTimeout(r.Context(), limit)
		defer cancel()
		w.Header().Set("Cache-Control", "no-store")
		endpoint.ServeHTTP(w, r.WithContext(ctx))
	}))
	t.Cleanup(s.Close)
	return agent{t: t, url: s.URL}
}

// TestLateAnswersAreRefused: a request that takes too long is answered all the
// same, and what it has started ends with it, in every version of the protocol.
func TestLateAnswersAreRefused(t *testing.T) {
	t.Parallel()
	ended := make(chan struct{}, 10)
	server := sdk.NewServer(&sdk.Implementation{Name: "slow", Version: "1"}, nil)
	server.AddTool(&sdk.Tool{Name: "sleep", InputSchema: json.RawMessage(`{"type":"object"}`)}, func(ctx context.Context, _ *sdk.CallToolRequest) (*sdk.CallToolResult, error) {
		select {
		case <-ctx.Done():
			ended <- struct{}{}
			time.Sleep(100 * time.Millisecond) // too late to be the answer
		case <-time.After(20 * time.Second):
		}
		return nil, ctx.Err()
	})
	a := serve(t, server, 200*time.Millisecond)
	newBody, newHeaders := modern("tools/call", "sleep", fields{"name": "sleep"})
	for name, send := range map[string]func() reply{
		"older":  func() reply { return a.send("POST", call("sleep", "{}")) },
		"newest": func() reply { return a.send("POST", newBody, newHeaders...) },
	} {
		r := send()
		got := r.rpc(t)
		if r.status != 503 || got.Error == nil || got.Error.Code != 50300 || string(got.ID) != "1" || r.header.Get("Retry-After") != "1" || r.header.Get("Cache-Control") != "no-store" {
			t.Errorf("%s: %d %v %s", name, r.status, r.header, r.body)
		}
		select {
		case <-ended:
		case <-time.After(10 * time.Second):
			t.Errorf("%s: the tool goes on", name)
		}
	}
}

// TestAnswersThatCanNotBeWritten: where the SDK falls silent, the endpoint does not.
func TestAnswersThatCanNotBeWritten(t *testing.T) {
	t.Parallel()
	server := sdk.NewServer(&sdk.Implementation{Name: "broken", Version: "1"}, nil)
	server.AddResource(&sdk.Resource{URI: "x://here", Name: "here"}, nil)
	r := serve(t, server, 5*time.Second).send("POST", request(1, "resources/read", fields{"uri": "x://\x7f"}))
	if got := r.rpc(t); r.status != 500 || got.Error == nil || got.Error.Code != -32603 || string(got.ID) != "1" {
		t.Errorf("%d %s", r.status, r.body)
	}
}

// broken is a source of randomness with a bug.
type broken struct{}

func (broken) Read([]byte) (int, error) { panic("a bug with postgres://user:password@host inside") }

// TestPanicsEndNothing: a bug in an operation is answered, logged under the
// request's id and shows nothing of itself (threat 55).
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
		if r.status != 200 || !result.IsError || p.Code != warranty.Internal || p.RequestID != "panic-request-1" || strings.Contains(r.body, "postgres") || strings.Contains(r.body, "goroutine") {
			t.Errorf("%d %s", r.status, r.body)
		}
		for _, part := range []string{"a bug with", "goroutine", "panic-request-1"} {
			if !strings.Contains(w.Log.String(), part) {
				t.Errorf("the log does not hold %q", part)
			}
		}
		a.must("create_warranty", fields{"product_name": "Lamp", "start_date": "2026-01-01", "end_date": "2027-01-01"}, new(record))
	})
}

// TestPanicsOutsideOfTools: lists and prompts are no different.
func TestPanicsOutsideOfTools(t *testing.T) {
	t.Parallel()
	log := &servertest.Buffer{}
	server, err := mcp.New(mcp.Config{Operations: bound(), Caller: func(context.Context) (api.Caller, error) { panic("a bug") },
		Schemas: describe.ToolSchemas, PublicURL: servertest.PublicURL, Version: "1", Log: slog.New(slog.NewJSONHandler(log, nil))})
	if err != nil {
		t.Fatal(err)
	}
	a := serve(t, server, 5*time.Second)
	for method, params := range map[string]fields{"tools/list": nil, "prompts/list": nil, "prompts/get": {"name": "review_expiring_warranties"},
		"resources/read": {"uri": "warranty://claims/" + unknownID}, "completion/complete": {"ref": fields{"type": "ref/prompt", "name": "summarize_warranty"}, "argument": fields{"name": "id", "value": ""}}} {
		r := a.ask(method, params)
		if r.Error == nil || r.Error.Code != -32603 || r.Error.problem(t).Code != warranty.Internal || strings.Contains(r.Error.Message, "bug") {
			t.Errorf("%s: %+v", method, r)
		}
	}
	if strings.Count(log.String(), "a bug") != 5 {
		t.Errorf("the log: %s", log)
	}
}

// bound are the operations of the tools, performed by nobody.
func bound() []api.Bound {
	return []api.Bound{
		nobody(api.ListWarranties), nobody(api.CreateWarranty), nobody(api.GetWarranty), nobody(api.UpdateWarranty), nobody(api.DeleteWarranty), nobody(api.VerifyWarranty),
		nobody(api.ListClaims), nobody(api.GetClaim), nobody(api.ListDocuments), nobody(api.GetDocument),
	}
}

func nobody[In, Out any](op api.Op[In, Out]) api.Bound {
	return api.Bind(op, func(context.Context, warranty.Principal, In) (out Out, err error) { return out, warranty.ErrNotFound })
}
