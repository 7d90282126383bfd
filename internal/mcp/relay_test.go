package mcp_test

import (
	"context"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/santhosh-tekuri/jsonschema/v6"

	"warranty.example/svc/api"
	"warranty.example/svc/client"
	"warranty.example/svc/internal/describe"
	"warranty.example/svc/internal/mcp"
	"warranty.example/svc/warranty"
)

// TestNewerServiceIsRelayed (C8) uses the tools with a newer service: unknown fields and
// values are passed through, and the output matches the published schema.
func TestNewerServiceIsRelayed(t *testing.T) {
	t.Parallel()
	const record = `{"id":"01935b2e-7c4a-7def-8123-456789abcdef","reference_number":"WR-7K2M-9QXT-4D8P-HV3A","product_name":"Kettle","serial_number":null,` +
		`"start_date":"2026-01-01","end_date":"2027-01-01","status":"frozen","roles":["owner","auditor"],"colour":"red","verify_url":"http://x/verify/1","web_url":"http://x/warranties/1",` +
		`"created_at":"2026-01-01T00:00:00Z","updated_at":"2026-01-01T00:00:00Z"}`
	service := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		w.Header().Set("Date", "Mon, 03 Feb 2031 10:00:00 GMT")
		if r.URL.Path != "/api/v1/warranties" {
			w.Header().Set("ETag", `"3"`)
			fmt.Fprint(w, `{"data":`+record+`}`)
			return
		}
		fmt.Fprint(w, `{"data":[`+record+`],"pagination":{"page":1,"limit":20,"total":1,"total_pages":1}}`)
	}))
	t.Cleanup(service.Close)
	c, err := client.New(service.URL+"/api/v1", "")
	if err != nil {
		t.Fatal(err)
	}
	server, err := mcp.New(mcp.Config{Operations: c.Operations(), Schemas: describe.ToolSchemas,
		RecordSchema: describe.RecordSchema, Today: today, PublicURL: c.Root(), Version: "1", Log: slog.New(slog.DiscardHandler),
		Caller: func(context.Context) (api.Caller, error) {
			return api.Caller{Principal: warranty.Principal{Credential: warranty.ByToken, Scopes: warranty.AllScopes}}, nil
		}})
	if err != nil {
		t.Fatal(err)
	}
	ours, theirs := sdk.NewInMemoryTransports()
	if _, err := server.Connect(t.Context(), ours, nil); err != nil {
		t.Fatal(err)
	}
	session, err := sdk.NewClient(&sdk.Implementation{Name: "test", Version: "1"}, nil).Connect(t.Context(), theirs, nil)
	if err != nil {
		t.Fatal(err)
	}
	tools, err := session.ListTools(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	schemas := map[string]*jsonschema.Schema{}
	for _, tool := range tools.Tools {
		schema, err := api.AppendJSON(nil, tool.OutputSchema)
		if err != nil {
			t.Fatal(err)
		}
		schemas[tool.Name] = compile(t, schema)
	}
	for tool, arguments := range map[string]fields{"list_warranties": {},
		"get_warranty": {"id": "01935b2e-7c4a-7def-8123-456789abcdef"}} {
		result, err := session.CallTool(t.Context(), &sdk.CallToolParams{Name: tool, Arguments: arguments})
		if err != nil || result.IsError {
			t.Fatalf("%s: %v %+v", tool, err, result)
		}
		text := result.Content[0].(*sdk.TextContent).Text
		wanted := []string{`"status":"frozen"`, `"roles":["owner","auditor"]`, `"colour":"red"`, `"etag":"\"3\""`}
		if tool == "list_warranties" { // the short set of fields, as rows
			wanted = []string{`"2027-01-01","frozen",null]`}
		}
		for _, want := range append(wanted, `"today":"2031-02-03"`) {
			if !strings.Contains(text, want) {
				t.Errorf("%s returned %s, without %s", tool, text, want)
			}
		}
		if err := schemas[tool].Validate(result.StructuredContent); err != nil {
			t.Errorf("%s: the output does not match its schema: %v", tool, err)
		}
	}
}
