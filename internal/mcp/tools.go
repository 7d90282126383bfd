package mcp

import (
	"cmp"
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
	s.needs[op.Tool] = op.Spec
	s.sdk.AddTool(&sdk.Tool{
		Name:         op.Tool,
		Title:        title,
		Description:  cmp.Or(op.ToolDoc, op.Summary),
		InputSchema:  json.RawMessage(in),
		OutputSchema: json.RawMessage(out),
		Annotations: &sdk.ToolAnnotations{
			ReadOnlyHint:    op.Method == http.MethodGet,
			DestructiveHint: &changes,
			IdempotentHint:  op.Method != http.MethodPost,
			OpenWorldHint:   &closed,
		},
	}, func(ctx context.Context, req *sdk.CallToolRequest) (*sdk.CallToolResult, error) {
		a, err := s.answer(ctx, op, req.Params.Arguments)
		if err != nil {
			return s.refusal(ctx, err), nil
		}
		return &sdk.CallToolResult{
			StructuredContent: json.RawMessage(a.structured),
			Content:           []sdk.Content{&sdk.TextContent{Text: string(a.text)}},
		}, nil
	})
	return nil
}

// answer is a result in its two forms: structured for programs, and text, which most
// clients give to the model. They differ only for lists, where text names the fields
// once.
type answer struct{ structured, text []byte }

// answer performs an operation and encodes its result. Both forms have the day of the
// service as "today", and only the fields that the tool returns.
func (s *server) answer(ctx context.Context, op api.Bound, arguments []byte) (a answer, err error) {
	in, result, err := s.do(ctx, op, arguments)
	if err != nil {
		return a, err
	}
	body, today, err := s.envelope(result)
	if err != nil {
		return a, err
	}
	if fields := op.Columns(in); fields != nil {
		if op.Paged() {
			if a.text, err = api.Rows(body, fields); err != nil {
				return a, err
			}
		}
		if body, err = api.Pick(body, fields); err != nil {
			return a, err
		}
	}
	// Many clients do not support schemas with null types.
	if a.structured, err = api.WithoutNulls(body); err != nil {
		return a, err
	}
	a.structured = withDay(a.structured, today)
	if a.text == nil {
		a.text = a.structured
	} else {
		a.text = withDay(a.text, today)
	}
	return a, nil
}

// withDay adds the member "today" to an object.
func withDay(object []byte, today warranty.Date) []byte {
	return append(object[:len(object)-1], `,"today":"`+today.String()+`"}`...)
}

// envelope encodes a result as REST does, plus the ETag, which REST has in a header. It
// also returns the day of the service that made the result.
func (s *server) envelope(result any) ([]byte, warranty.Date, error) {
	relayed, elsewhere := result.(api.Relayed)
	if elsewhere {
		result = relayed.Value
	}
	today := cmp.Or(relayed.Today, s.Today())
	if _, ok := result.(warranty.None); ok {
		return []byte(`{"done":true}`), today, nil
	}
	if _, ok := result.(interface{ Paged() warranty.Pagination }); ok {
		if elsewhere {
			return relayed.Body, today, nil
		}
		body, err := api.AppendJSON(nil, result)
		return body, today, err
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
			return nil, today, err
		}
		record.Data = envelope.Data
	}
	if tagged, ok := result.(interface{ ETag() string }); ok {
		record.ETag = tagged.ETag()
	}
	body, err := api.AppendJSON(nil, record)
	return body, today, err
}

// refusal returns err as a tool result with the problem that REST would send.
func (s *server) refusal(ctx context.Context, err error) *sdk.CallToolResult {
	body, encoding := api.AppendJSON(nil, s.problem(ctx, err))
	if encoding != nil {
		body = []byte(`{"code":"internal"}`)
	}
	return &sdk.CallToolResult{IsError: true, Content: []sdk.Content{&sdk.TextContent{Text: string(body)}}}
}
