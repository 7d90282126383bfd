package mcp

import (
	"context"
	"encoding/json"
	"net/http"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"

	"warranty.example/svc/api"
	"warranty.example/svc/warranty"
)

// problem is the object that REST would answer an error with. A remote service
// has made it already; what is no refusal is a fault of ours, which is logged
// and not shown.
func (s *server) problem(ctx context.Context, err error) warranty.Problem {
	if s.Remote != nil {
		if p, ok := s.Remote(err); ok {
			return p
		}
	}
	refusal := warranty.AsError(err)
	requestID := api.CallerOf(ctx).RequestID
	if (refusal.Code == warranty.Internal || refusal.Code == warranty.Unavailable) && !api.ClientGone(ctx, err) {
		s.Log.ErrorContext(ctx, "request failed", "request_id", requestID, "code", string(refusal.Code), "error", err.Error())
	}
	return refusal.Problem(s.PublicURL, requestID)
}

// fault is an error outside of a tool as JSON-RPC writes it: the problem's words,
// and the whole of it as data.
func (s *server) fault(ctx context.Context, err error) error {
	p := s.problem(ctx, err)
	data, err := api.AppendJSON(nil, p)
	if err != nil {
		data = nil
	}
	return &jsonrpc.Error{Code: int64(rpcCode(p.Status)), Message: p.Detail, Data: data}
}

// notFound is the protocol's error for a resource that is not there. The SDK's
// own breaks the connection when the address has characters that Go quotes in
// another way than JSON does.
func notFound(uri string) error {
	data, err := api.AppendJSON(nil, map[string]string{"uri": uri})
	if err != nil {
		data = nil // not even UTF-8: it is not said again
	}
	return &jsonrpc.Error{Code: jsonrpc.CodeInvalidParams, Message: "Resource not found", Data: data}
}

// rpcError is a JSON-RPC error on its own, for what ends before or outside of a tool.
type rpcError struct {
	JSONRPC string          `json:"jsonrpc"`
	ID      json.RawMessage `json:"id"`
	Error   struct {
		Code    int               `json:"code"`
		Message string            `json:"message"`
		Data    *warranty.Problem `json:"data,omitempty"`
	} `json:"error"`
}

// encodeError writes a JSON-RPC error; a request without a readable id gets null.
func encodeError(id json.RawMessage, code int, message string, data *warranty.Problem) []byte {
	e := rpcError{JSONRPC: "2.0", ID: id}
	if e.ID == nil {
		e.ID = json.RawMessage("null")
	}
	e.Error.Code, e.Error.Message, e.Error.Data = code, message, data
	body, err := api.AppendJSON(nil, e)
	if err != nil {
		return []byte(`{"jsonrpc":"2.0","id":null,"error":{"code":-32603,"message":"internal error"}}`)
	}
	return body
}

// rpcCode is the JSON-RPC code of a problem. Those of the service lie outside of
// the range that the protocol keeps for itself.
func rpcCode(status int) int {
	switch status {
	case http.StatusUnauthorized, http.StatusForbidden, http.StatusTooManyRequests, http.StatusServiceUnavailable:
		return status * 100
	case http.StatusInternalServerError:
		return jsonrpc.CodeInternalError
	}
	return jsonrpc.CodeInvalidRequest
}

// Problem writes a problem as the JSON-RPC error that answers a whole request.
func Problem(p warranty.Problem) []byte { return encodeError(nil, rpcCode(p.Status), p.Detail, &p) }
