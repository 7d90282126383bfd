package mcp

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"runtime/debug"
	"slices"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"warranty.example/svc/api"
	"warranty.example/svc/warranty"
)

// Server is an MCP server.
type Server struct {
	*sdk.Server
	// tools are called without the SDK where that makes no difference; see direct.
	tools map[string]func(ctx context.Context, arguments []byte) (answer, error)
	// problem returns err as REST would.
	problem func(ctx context.Context, err error) warranty.Problem
	// missing and challenge are for access tokens of apps; see Endpoint.refuseScope.
	missing   func(context.Context, message) (warranty.Scope, error)
	challenge func(warranty.Scope) string
}

// direct responds to the call of a tool without the SDK, which decodes and encodes every
// message several times, with large buffers: a get costs a third. It returns false for
// everything out of the ordinary, which is left to the SDK: other methods, unknown tools,
// and the newest protocol, whose results have more members. The body is nil if the time
// of the request is up.
func (s *Server) direct(r *http.Request, m message) (body []byte, ok bool) {
	version := r.Header.Get("Mcp-Protocol-Version")
	if m.Method != "tools/call" || m.ID == nil || version != "" && !slices.Contains(legacyVersions, version) {
		return nil, false
	}
	var params struct {
		Meta      json.RawMessage `json:"_meta"`
		Name      string          `json:"name"`
		Arguments json.RawMessage `json:"arguments"`
	}
	if err := api.ReadJSON(m.Params, &params); err != nil ||
		bytes.Contains(params.Meta, []byte("io.modelcontextprotocol/")) {
		return nil, false
	}
	call := s.tools[params.Name]
	if call == nil {
		return nil, false
	}
	a, err := call(r.Context(), params.Arguments)
	out := append(append([]byte(`{"jsonrpc":"2.0","id":`), m.ID...), `,"result":{"content":[{"type":"text","text":`...)
	if err != nil {
		if r.Context().Err() != nil {
			return nil, true
		}
		a.text = refusalText(s.problem(r.Context(), err))
	}
	out, quoting := api.AppendJSON(out, string(a.text))
	if quoting != nil {
		return nil, false
	}
	if err != nil {
		return append(out, `}],"isError":true}}`...), true
	}
	return append(append(append(out, `}],"structuredContent":`...), a.structured...), `}}`...), true
}

// legacyVersions are the protocol versions whose results have no metadata.
var legacyVersions = slices.DeleteFunc(sdk.SupportedProtocolVersions(), func(v string) bool { return v >= firstModern })

// safely turns a panic of f into an error.
func safely[T any](f func() (T, error)) (result T, err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("panic: %v\n%s", p, debug.Stack())
		}
	}()
	return f()
}
