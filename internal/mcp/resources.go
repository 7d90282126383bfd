package mcp

import (
	"context"
	"strings"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"warranty.example/svc/api"
	"warranty.example/svc/warranty"
)

const (
	jsonType  = "application/json"
	schemaURI = "warranty://schema/warranty"
)

// template is a kind of record that can be read by its address.
type template struct {
	uri, name, title string
	get, list        *api.Spec
}

var templates = []template{
	{"warranty://warranties/{id}", "warranty", "A warranty", api.GetWarranty.Spec, api.ListWarranties.Spec},
	{"warranty://claims/{id}", "claim", "A claim", api.GetClaim.Spec, api.ListClaims.Spec},
	{"warranty://documents/{id}", "document", "Metadata of a document", api.GetDocument.Spec, api.ListDocuments.Spec},
}

func (s *server) addResources() error {
	for _, t := range templates {
		op := s.byName[t.get.Name]
		s.scopes[t.uri] = op.Scope
		prefix := strings.TrimSuffix(t.uri, "{id}")
		s.sdk.AddResourceTemplate(&sdk.ResourceTemplate{URITemplate: t.uri, Name: t.name, Title: t.title, Description: op.Summary, MIMEType: jsonType},
			func(ctx context.Context, req *sdk.ReadResourceRequest) (*sdk.ReadResourceResult, error) {
				return s.read(ctx, op, req.Params.URI, strings.TrimPrefix(req.Params.URI, prefix))
			})
	}
	_, schema, err := s.Schemas(api.GetWarranty.Spec)
	s.sdk.AddResource(&sdk.Resource{URI: schemaURI, Name: "warranty_schema", Title: "Schema of a warranty", MIMEType: "application/schema+json",
		Description: "JSON Schema of the answer that holds one warranty."},
		func(context.Context, *sdk.ReadResourceRequest) (*sdk.ReadResourceResult, error) {
			return contents(schemaURI, "application/schema+json", schema), nil
		})
	return err
}

func (s *server) read(ctx context.Context, op api.Bound, uri, id string) (*sdk.ReadResourceResult, error) {
	arguments, err := api.AppendJSON(nil, map[string]string{"id": id})
	if err != nil {
		return nil, notFound(uri) // no UTF-8, so no id
	}
	body, err := s.answer(ctx, op, arguments)
	if err != nil {
		if code := warranty.AsError(err).Code; code == warranty.NotFound || code == warranty.ValidationFailed {
			return nil, notFound(uri)
		}
		return nil, s.fault(ctx, err)
	}
	return contents(uri, jsonType, body), nil
}

func contents(uri, mediaType string, body []byte) *sdk.ReadResourceResult {
	return &sdk.ReadResourceResult{Contents: []*sdk.ResourceContents{{URI: uri, MIMEType: mediaType, Text: string(body)}}}
}

// maxCompletions is the most that the protocol lets one answer hold.
const maxCompletions = 100

// complete offers the ids of the caller's newest records that begin as typed.
func (s *server) complete(ctx context.Context, req *sdk.CompleteRequest) (*sdk.CompleteResult, error) {
	none := &sdk.CompleteResult{Completion: sdk.CompletionResultDetails{Values: []string{}}}
	if req.Params.Argument.Name != "id" {
		return none, nil
	}
	var list *api.Spec
	if req.Params.Ref.Type == "ref/prompt" {
		list = api.ListWarranties.Spec // what a prompt's id is of
	}
	for _, t := range templates {
		if req.Params.Ref.URI == t.uri {
			list = t.list
		}
	}
	if list == nil {
		return none, nil
	}
	result, err := s.do(ctx, s.byName[list.Name], []byte(`{"limit":100}`))
	if err != nil {
		return none, nil //nolint:nilerr // a completion that can not be made is an empty one
	}
	for _, id := range ids(result) {
		if strings.HasPrefix(id, req.Params.Argument.Value) && len(none.Completion.Values) < maxCompletions {
			none.Completion.Values = append(none.Completion.Values, id)
		}
	}
	none.Completion.Total = len(none.Completion.Values)
	return none, nil
}

func ids(page any) (list []string) {
	if relayed, ok := page.(api.Relayed); ok {
		page = relayed.Value
	}
	switch p := page.(type) {
	case warranty.Page[warranty.Warranty]:
		return idsOf(p.Data)
	case warranty.Page[warranty.Claim]:
		return idsOf(p.Data)
	case warranty.Page[warranty.Document]:
		return idsOf(p.Data)
	}
	return nil
}

func idsOf[T interface{ RecordID() warranty.ID }](records []T) (list []string) {
	for _, r := range records {
		list = append(list, r.RecordID().String())
	}
	return list
}
