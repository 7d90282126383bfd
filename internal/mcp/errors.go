package mcp

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"

	"warranty.example/svc/api"
	"warranty.example/svc/warranty"
)

// toolError is the error of a tool.
type toolError struct {
	op *api.Spec
	error
}

// Unwrap returns the error of the operation.
func (e *toolError) Unwrap() error { return e.error }

// problem returns err as REST would. A tool that finds nothing also says which tool does. Internal errors are
// logged, and their details are not sent.
func (s *server) problem(ctx context.Context, err error) warranty.Problem {
	p := s.refusal(ctx, err)
	var failed *toolError
	if p.Code == warranty.NotFound && errors.As(err, &failed) {
		p.Detail += s.nextStep(ctx, failed.op)
	}
	return p
}

// nextStep returns the sentence that leads a model from a record that was not found to the tool that finds it. It is
// the same whether the record is missing or not the caller's.
func (s *server) nextStep(ctx context.Context, op *api.Spec) string {
	group, _, _ := strings.Cut(op.Name, ".")
	list, ok := s.byName[group+".list"]
	caller, err := s.Caller(ctx)
	if !ok || list.Tool == "" || err != nil || s.allow(ctx, caller, list.Spec) != nil {
		return ""
	}
	if op == api.VerifyWarranty.Spec {
		return " Compare the reference number with the original. " + list.Tool + " finds the user's own warranties."
	}
	for _, p := range list.Params {
		if p.Name == "q" {
			return " Find it with " + list.Tool + " and q, such as words of the product."
		}
	}
	return " " + list.Tool + " lists what there is."
}

// refusal returns err as REST would.
func (s *server) refusal(ctx context.Context, err error) warranty.Problem {
	if s.Remote != nil {
		if p, ok := s.Remote(err); ok {
			return p
		}
	}
	refusal := warranty.AsError(err)
	caller := api.CallerOf(ctx)
	if (refusal.Code == warranty.Internal || refusal.Code == warranty.Unavailable) && !api.ClientGone(ctx, err) {
		caller.Fail(err)
		s.Log.ErrorContext(ctx, "request failed",
			"request_id", caller.RequestID, "code", string(refusal.Code), "error", err.Error())
	}
	return refusal.Problem(s.PublicURL, caller.RequestID)
}

// fault returns err as a JSON-RPC error with the problem as its data.
func (s *server) fault(ctx context.Context, err error) error {
	p := s.problem(ctx, err)
	data, err := api.AppendJSON(nil, p)
	if err != nil {
		data = nil
	}
	return &jsonrpc.Error{Code: int64(rpcCode(p.Status)), Message: p.Detail, Data: data}
}

// notFound is the protocol's error for an unknown resource. The SDK's own error breaks
// the connection if the URI has characters that Go and JSON quote differently.
func notFound(uri string) error {
	data, err := api.AppendJSON(nil, map[string]string{"uri": uri})
	if err != nil {
		data = nil // invalid UTF-8
	}
	return &jsonrpc.Error{Code: jsonrpc.CodeInvalidParams, Message: "Resource not found", Data: data}
}

// rpcError is a JSON-RPC error response.
type rpcError struct {
	JSONRPC string          `json:"jsonrpc"`
	ID      json.RawMessage `json:"id"`
	Error   struct {
		Code    int               `json:"code"`
		Message string            `json:"message"`
		Data    *warranty.Problem `json:"data,omitempty"`
	} `json:"error"`
}

// encodeError encodes a JSON-RPC error response. A nil id is sent as null.
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

// plainly returns a message of the SDK with an error that has a code and a text for users. Errors before
// initialize have code 0: the protocol defines no code for them, and -32002 meant a missing resource in
// older versions, so they become invalid requests. Errors about parameters quote Go types.
func plainly(message []byte) []byte {
	if !bytes.Contains(message, []byte(`"error":{`)) {
		return message
	}
	decoded, err := jsonrpc.DecodeMessage(message)
	answer, ok := decoded.(*jsonrpc.Response)
	if err != nil || !ok || answer.Error == nil {
		return message
	}
	rpc := &jsonrpc.Error{Message: answer.Error.Error()}
	_ = errors.As(answer.Error, &rpc) // otherwise the text is enough
	code, text := int(rpc.Code), rpc.Message
	switch {
	case strings.Contains(text, "unmarshaling "):
		code, text = jsonrpc.CodeInvalidParams, "Invalid params. A parameter has the wrong type."
	case strings.Contains(text, `missing required "params"`):
		text = "Invalid params. This method requires params."
	case strings.Contains(text, "session initialization"):
		text = "Send initialize first: " + text + "."
	}
	id, err := json.Marshal(answer.ID.Raw())
	if err != nil || code != 0 && text == rpc.Message {
		return message
	}
	return append(encodeError(id, cmp.Or(code, jsonrpc.CodeInvalidRequest), text, nil), '\n')
}

// plainEvents is plainly for the messages of a stream. The SDK writes whole events.
func plainEvents(events []byte) []byte {
	if !bytes.Contains(events, []byte(`"error":{`)) {
		return events
	}
	lines := bytes.Split(events, []byte("\n"))
	for i, line := range lines {
		if message, ok := bytes.CutPrefix(line, []byte("data: ")); ok {
			lines[i] = append([]byte("data: "), bytes.TrimSpace(plainly(message))...)
		}
	}
	return bytes.Join(lines, []byte("\n"))
}

// rpcCode returns the JSON-RPC code of a problem. The service's own codes are outside
// the range that JSON-RPC reserves.
func rpcCode(status int) int {
	switch status {
	case http.StatusUnauthorized, http.StatusForbidden, http.StatusTooManyRequests, http.StatusServiceUnavailable:
		return status * 100
	case http.StatusInternalServerError:
		return jsonrpc.CodeInternalError
	}
	return jsonrpc.CodeInvalidRequest
}

// Problem encodes a problem as a JSON-RPC error response without an id.
func Problem(p warranty.Problem) []byte { return encodeError(nil, rpcCode(p.Status), p.Detail, &p) }
