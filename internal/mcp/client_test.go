package mcp_test

import (
	"context"
	"net/http"
	"strings"
	"testing"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"warranty.example/svc/internal/servertest"
)

// keyed adds a token to requests.
type keyed struct{ secret string }

func (k keyed) RoundTrip(r *http.Request) (*http.Response, error) {
	r = r.Clone(r.Context())
	r.Header.Set("X-Api-Key", k.secret)
	return http.DefaultTransport.RoundTrip(r)
}

// TestOfficialClient uses all features with the official SDK's client, once for each
// protocol version.
func TestOfficialClient(t *testing.T) {
	each(t, func(t *testing.T, w *servertest.World) {
		ada := w.Person("Ada")
		secret, _ := w.Token(ada)
		for _, version := range versions {
			t.Run(version, func(t *testing.T) {
				ctx := context.Background()
				client := sdk.NewClient(&sdk.Implementation{Name: "test", Version: "1"}, nil)
				session, err := client.Connect(ctx, &sdk.StreamableClientTransport{Endpoint: w.HTTP.URL + "/api/mcp",
					HTTPClient: &http.Client{Transport: keyed{secret}}},
					&sdk.ClientSessionOptions{ProtocolVersion: version})
				if err != nil {
					t.Fatal(err)
				}
				tour(t, ctx, session)
				if err := session.Close(); err != nil {
					t.Error(err)
				}
			})
		}
	})
}

// tour uses all features.
func tour(t *testing.T, ctx context.Context, session *sdk.ClientSession) {
	t.Helper()
	check := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	tools, err := session.ListTools(ctx, nil)
	check(err)
	equal(t, "tools", len(tools.Tools), len(hints))
	made, err := session.CallTool(ctx, &sdk.CallToolParams{Name: "create_warranty",
		Arguments: fields{"product_name": "Lamp", "start_date": "2026-01-01", "end_date": "2030-01-01"}})
	check(err)
	if made.IsError {
		t.Fatalf("%+v", made.Content)
	}
	id := made.StructuredContent.(map[string]any)["data"].(map[string]any)["id"].(string)
	refused, err := session.CallTool(ctx, &sdk.CallToolParams{Name: "create_warranty",
		Arguments: fields{"product_name": ""}})
	check(err)
	if !refused.IsError || !strings.Contains(refused.Content[0].(*sdk.TextContent).Text, "validation_failed") {
		t.Errorf("%+v", refused)
	}
	templates, err := session.ListResourceTemplates(ctx, nil)
	check(err)
	equal(t, "templates", len(templates.ResourceTemplates), 3)
	resources, err := session.ListResources(ctx, nil)
	check(err)
	equal(t, "resources", len(resources.Resources), 3)
	read, err := session.ReadResource(ctx, &sdk.ReadResourceParams{URI: "warranty://warranties/" + id})
	check(err)
	if !strings.Contains(read.Contents[0].Text, `"Lamp"`) {
		t.Errorf("%+v", read.Contents[0])
	}
	if _, err := session.ReadResource(ctx, &sdk.ReadResourceParams{URI: "warranty://warranties/" +
		unknownID}); err == nil {
		t.Error("an unknown resource was read")
	}
	prompts, err := session.ListPrompts(ctx, nil)
	check(err)
	equal(t, "prompts", len(prompts.Prompts), 3)
	prompt, err := session.GetPrompt(ctx, &sdk.GetPromptParams{Name: "summarize_warranty",
		Arguments: map[string]string{"id": id}})
	check(err)
	if !strings.Contains(prompt.Messages[0].Content.(*sdk.TextContent).Text, id) {
		t.Errorf("%+v", prompt)
	}
	completed, err := session.Complete(ctx, &sdk.CompleteParams{Ref: &sdk.CompleteReference{Type: "ref/prompt",
		Name: "summarize_warranty"},
		Argument: sdk.CompleteParamsArgument{Name: "id", Value: id[:30]}})
	check(err)
	equal(t, "completions", completed.Completion.Values, []string{id})
}
