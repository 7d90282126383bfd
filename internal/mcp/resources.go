package mcp

import (
	"context"
	"slices"
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

// complete offers the ids of the caller's records that begin as typed, or whose
// product name, reference, claim number or file name has it anywhere: those among
// the newest, and what a search finds among all.
func (s *server) complete(ctx context.Context, req *sdk.CompleteRequest) (*sdk.CompleteResult, error) {
	found := &sdk.CompleteResult{Completion: sdk.CompletionResultDetails{Values: []string{}}}
	list := listOf(req.Params)
	if list == nil {
		return found, nil
	}
	typed := strings.TrimSpace(req.Params.Argument.Value)
	questions := []map[string]any{{"limit": maxCompletions}}
	if takesText := slices.ContainsFunc(list.Params, func(p api.Param) bool { return p.Name == "q" }); takesText && typed != "" {
		questions = append(questions, map[string]any{"limit": maxCompletions, "q": typed})
	}
	for i, question := range questions {
		arguments, err := api.AppendJSON(nil, question)
		if err != nil {
			continue // not even UTF-8
		}
		result, err := s.do(ctx, s.byName[list.Name], arguments)
		if err != nil {
			continue // a completion that cannot be made is an empty one
		}
		for _, r := range recordsOf(result) {
			matches := i > 0 || strings.HasPrefix(r.id, typed) || r.mentions(typed)
			if matches && len(found.Completion.Values) < maxCompletions && !slices.Contains(found.Completion.Values, r.id) {
				found.Completion.Values = append(found.Completion.Values, r.id)
			}
		}
	}
	found.Completion.Total = len(found.Completion.Values)
	return found, nil
}

// listOf is the list that an argument's values come from; nil when there is none.
func listOf(p *sdk.CompleteParams) *api.Spec {
	if p.Argument.Name != "id" {
		return nil
	}
	if p.Ref.Type == "ref/prompt" {
		return api.ListWarranties.Spec // what a prompt's id is of
	}
	for _, t := range templates {
		if p.Ref.URI == t.uri {
			return t.list
		}
	}
	return nil
}

// record is what a completion knows of a record.
type record struct {
	id    string
	texts []string // that people know it by
}

// mentions tells whether one of the texts has the typed one in it, whatever its
// case. Reference numbers are also found without their hyphens.
func (r record) mentions(typed string) bool {
	typed = warranty.Fold(typed)
	bare := strings.ReplaceAll(typed, "-", "")
	return slices.ContainsFunc(r.texts, func(text string) bool {
		text = warranty.Fold(text)
		return strings.Contains(text, typed) || bare != "" && strings.Contains(strings.ReplaceAll(text, "-", ""), bare)
	})
}

func recordsOf(page any) (list []record) {
	if relayed, ok := page.(api.Relayed); ok {
		page = relayed.Value
	}
	named := func(id warranty.ID, w warranty.WarrantyName, texts ...string) {
		list = append(list, record{id.String(), append(texts, w.ProductName, string(w.ReferenceNumber))})
	}
	switch p := page.(type) {
	case warranty.Page[warranty.Warranty]:
		for _, w := range p.Data {
			named(w.ID, warranty.WarrantyName{ProductName: w.ProductName, ReferenceNumber: w.ReferenceNumber})
		}
	case warranty.Page[warranty.Claim]:
		for _, c := range p.Data {
			named(c.ID, c.Warranty, string(c.ClaimNumber))
		}
	case warranty.Page[warranty.Document]:
		for _, d := range p.Data {
			named(d.ID, d.Warranty, d.FileName)
		}
	}
	return list
}
