package mcp

import (
	"context"
	"encoding/json"
	"net/http"
	"strings"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"warranty.example/svc/api"
	"warranty.example/svc/warranty"
)

// addTool adds an operation as a tool.
func (s *server) addTool(op api.Bound) error {
	in, out, err := s.Schemas(op.Spec)
	if err != nil {
		return err
	}
	title := strings.ReplaceAll(op.Tool, "_", " ")
	title = strings.ToUpper(title[:1]) + title[1:]
	closed, changes := false, op.Method == http.MethodPut || op.Method == http.MethodDelete
	s.scopes[op.Tool] = op.Scope
	s.sdk.AddTool(&sdk.Tool{
		Name:         op.Tool,
		Title:        title,
		Description:  op.Summary,
		InputSchema:  json.RawMessage(in),
		OutputSchema: json.RawMessage(out),
		Annotations: &sdk.ToolAnnotations{
			Title:           title,
			ReadOnlyHint:    op.Method == http.MethodGet,
			DestructiveHint: &changes,
			IdempotentHint:  op.Method != http.MethodPost,
			OpenWorldHint:   &closed,
		},
	}, func(ctx context.Context, req *sdk.CallToolRequest) (*sdk.CallToolResult, error) {
		body, err := s.answer(ctx, op, req.Params.Arguments)
		if err != nil {
			return s.refusal(ctx, err), nil
		}
		return &sdk.CallToolResult{
			StructuredContent: json.RawMessage(body),
			// For clients that do not support structured content.
			Content: []sdk.Content{&sdk.TextContent{Text: string(body)}},
		}, nil
	})
	return nil
}

// answer performs an operation and encodes its result as JSON.
func (s *server) answer(ctx context.Context, op api.Bound, arguments []byte) ([]byte, error) {
	result, err := s.do(ctx, op, arguments)
	if err != nil {
		return nil, err
	}
	return content(result)
}

// content encodes a result in the same envelope as REST, plus the ETag, which REST has
// in a header. It omits null members, because many clients do not support schemas with
// null types.
func content(result any) ([]byte, error) {
	relayed, elsewhere := result.(api.Relayed)
	if elsewhere {
		result = relayed.Value
	}
	if _, ok := result.(warranty.None); ok {
		return []byte(`{"done":true}`), nil
	}
	if _, ok := result.(interface{ Paged() warranty.Pagination }); ok {
		if elsewhere {
			return api.WithoutNulls(relayed.Body)
		}
		return encode(result)
	}
	var record struct {
		Data any    `json:"data"`
		ETag string `json:"etag,omitzero"`
	}
	record.Data = result
	if elsewhere { // keep fields that this version does not know
		var envelope struct {
			Data json.RawMessage `json:"data"`
		}
		if err := api.ReadJSON(relayed.Body, &envelope); err != nil {
			return nil, err
		}
		record.Data = envelope.Data
	}
	if tagged, ok := result.(interface{ ETag() string }); ok {
		record.ETag = tagged.ETag()
	}
	return encode(record)
}

func encode(v any) ([]byte, error) {
	body, err := api.AppendJSON(nil, v)
	if err != nil {
		return nil, err
	}
	return api.WithoutNulls(body)
}

// refusal returns err as a tool result with the problem that REST would send.
func (s *server) refusal(ctx context.Context, err error) *sdk.CallToolResult {
	body, encoding := api.AppendJSON(nil, s.problem(ctx, err))
	if encoding != nil {
		body = []byte(`{"code":"internal"}`)
	}
	return &sdk.CallToolResult{IsError: true, Content: []sdk.Content{&sdk.TextContent{Text: string(body)}}}
}
