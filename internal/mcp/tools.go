package mcp

import (
	"cmp"
	"context"
	"encoding/json"
	"strconv"
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
	destroys, emails := op.Destroys(), op.Emails
	s.needs[op.Tool] = op.Spec
	s.tools[op.Tool] = func(ctx context.Context, arguments []byte) (answer, error) {
		a, err := safely(func() (answer, error) { return s.answer(ctx, op, arguments) })
		if err != nil {
			err = &toolError{op.Spec, err}
		}
		return a, err
	}
	s.sdk.AddTool(&sdk.Tool{
		Name:         op.Tool,
		Title:        title,
		Description:  cmp.Or(op.ToolDoc, op.Summary),
		InputSchema:  json.RawMessage(in),
		OutputSchema: json.RawMessage(out),
		Annotations: &sdk.ToolAnnotations{
			ReadOnlyHint:    op.Reads(),
			DestructiveHint: &destroys,
			IdempotentHint:  op.Repeats(),
			OpenWorldHint:   &emails,
		},
	}, func(ctx context.Context, req *sdk.CallToolRequest) (*sdk.CallToolResult, error) {
		a, err := s.tools[op.Tool](ctx, req.Params.Arguments)
		if err != nil {
			return &sdk.CallToolResult{
				IsError: true,
				Content: []sdk.Content{&sdk.TextContent{Text: string(refusalText(s.problem(ctx, err)))}},
			}, nil
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

// answer performs an operation and encodes its result as REST does, with only the fields
// that the tool returns. Both forms also have the day of the service as "today", and the
// ETag, which REST has in a header.
func (s *server) answer(ctx context.Context, op api.Bound, arguments []byte) (a answer, err error) {
	in, result, err := s.do(ctx, op, arguments)
	if err != nil {
		return a, err
	}
	body, err := envelope(result)
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
	end := s.lastMembers(result)
	a.structured = append(a.structured[:len(a.structured)-1], end...)
	if a.text == nil {
		a.text = a.structured
	} else {
		a.text = append(a.text[:len(a.text)-1], end...)
	}
	return a, nil
}

// envelope encodes a result as REST does. The body of a remote service is kept: it may
// have fields that this version does not know.
func envelope(result any) ([]byte, error) {
	relayed, elsewhere := result.(api.Relayed)
	if elsewhere {
		result = relayed.Value
	}
	if _, ok := result.(warranty.None); ok {
		return []byte(`{"done":true}`), nil
	}
	if elsewhere {
		return relayed.Body, nil
	}
	if _, ok := result.(interface{ Paged() warranty.Pagination }); ok {
		return api.AppendJSON(nil, result)
	}
	body, err := api.AppendJSON([]byte(`{"data":`), result)
	return append(body, '}'), err
}

// lastMembers returns the end of an answer: its ETag, if it has one, and the day.
func (s *server) lastMembers(result any) string {
	relayed, elsewhere := result.(api.Relayed)
	if elsewhere {
		result = relayed.Value
	}
	end := `,"today":"` + cmp.Or(relayed.Today, s.Today()).String() + `"}`
	if tagged, ok := result.(interface{ ETag() string }); ok {
		end = `,"etag":` + strconv.Quote(tagged.ETag()) + end
	}
	return end
}

// refusalText encodes a problem as REST would.
func refusalText(p warranty.Problem) []byte {
	body, err := api.AppendJSON(nil, p)
	if err != nil {
		return []byte(`{"code":"internal"}`)
	}
	return body
}
