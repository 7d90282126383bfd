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
	jsonType   = "application/json"
	schemaType = "application/schema+json"
	schemaURI  = "warranty://schema/warranty"
)

// template is a record type that is available as a resource.
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
		s.needs[t.uri] = op.Spec
		prefix := strings.TrimSuffix(t.uri, "{id}")
		template := &sdk.ResourceTemplate{
			URITemplate: t.uri,
			Name:        t.name,
			Title:       t.title,
			Description: op.Summary,
			MIMEType:    jsonType,
		}
		s.sdk.AddResourceTemplate(template,
			func(ctx context.Context, req *sdk.ReadResourceRequest) (*sdk.ReadResourceResult, error) {
				return s.read(ctx, op, req.Params.URI, strings.TrimPrefix(req.Params.URI, prefix))
			})
	}
	schema, err := s.RecordSchema(api.GetWarranty.Spec)
	s.sdk.AddResource(&sdk.Resource{
		URI:         schemaURI,
		Name:        "warranty_schema",
		Title:       "Schema of a warranty",
		MIMEType:    schemaType,
		Description: "JSON Schema of the result of get_warranty.",
	}, func(context.Context, *sdk.ReadResourceRequest) (*sdk.ReadResourceResult, error) {
		return contents(schemaURI, schemaType, schema), nil
	})
	return err
}

func (s *server) read(ctx context.Context, op api.Bound, uri, id string) (*sdk.ReadResourceResult, error) {
	arguments, err := api.AppendJSON(nil, map[string]string{"id": id})
	if err != nil {
		return nil, notFound(uri) // invalid UTF-8
	}
	body, err := s.answer(ctx, op, arguments)
	if err != nil {
		if code := warranty.AsError(err).Code; code == warranty.NotFound || code == warranty.ValidationFailed {
			return nil, notFound(uri)
		}
		return nil, s.fault(ctx, err)
	}
	return contents(uri, jsonType, body.structured), nil
}

func contents(uri, mediaType string, body []byte) *sdk.ReadResourceResult {
	return &sdk.ReadResourceResult{Contents: []*sdk.ResourceContents{{URI: uri, MIMEType: mediaType, Text: string(body)}}}
}

// maxCompletions is the protocol's limit of values in one response.
const maxCompletions = 100

// complete suggests IDs of the caller's records: of the newest ones, those whose ID
// starts with the typed text or whose product name, reference, claim number or file name
// mentions it, and of all records, those that a search finds.
func (s *server) complete(ctx context.Context, req *sdk.CompleteRequest) (*sdk.CompleteResult, error) {
	found := &sdk.CompleteResult{Completion: sdk.CompletionResultDetails{Values: []string{}}}
	list := listOf(req.Params)
	if list == nil {
		return found, nil
	}
	typed, values, more := strings.TrimSpace(req.Params.Argument.Value), []string{}, false
	queries := []map[string]any{{"limit": maxCompletions}}
	searches := slices.ContainsFunc(list.Params, func(p api.Param) bool { return p.Name == "q" })
	if searches && typed != "" {
		queries = append(queries, map[string]any{"limit": maxCompletions, "q": typed})
	}
	for i, query := range queries {
		arguments, err := api.AppendJSON(nil, query)
		if err != nil {
			continue // invalid UTF-8
		}
		_, result, err := s.do(ctx, s.byName[list.Name], arguments)
		if err != nil {
			continue // respond with no suggestions instead of an error
		}
		more = isFirstOfMany(result)
		for _, r := range recordsOf(result) {
			matches := i > 0 || strings.HasPrefix(r.id, typed) || r.mentions(typed)
			if matches && !slices.Contains(values, r.id) {
				values = append(values, r.id)
			}
		}
	}
	found.Completion.HasMore = more || len(values) > maxCompletions
	found.Completion.Values = values[:min(len(values), maxCompletions)]
	found.Completion.Total = len(found.Completion.Values)
	return found, nil
}

// isFirstOfMany reports whether a list has more pages.
func isFirstOfMany(page any) bool {
	if relayed, ok := page.(api.Relayed); ok {
		page = relayed.Value
	}
	paged, ok := page.(interface{ Paged() warranty.Pagination })
	return ok && paged.Paged().TotalPages > 1
}

// listOf returns the operation that lists the records to suggest, or nil.
func listOf(p *sdk.CompleteParams) *api.Spec {
	if p.Argument.Name != "id" {
		return nil
	}
	if p.Ref.Type == "ref/prompt" {
		return api.ListWarranties.Spec // the id of every prompt is that of a warranty
	}
	for _, t := range templates {
		if p.Ref.URI == t.uri {
			return t.list
		}
	}
	return nil
}

// record is a record as completion sees it.
type record struct {
	id    string
	texts []string // that match besides the ID
}

// mentions reports whether one of the texts contains typed, or a word that starts with
// each word of typed. Case and hyphens do not matter.
func (r record) mentions(typed string) bool {
	bare := func(s string) string { return strings.ReplaceAll(warranty.Fold(s), "-", "") }
	typed = bare(typed)
	return slices.ContainsFunc(r.texts, func(text string) bool {
		text = bare(text)
		return strings.Contains(text, typed) || !slices.ContainsFunc(strings.Fields(typed), func(word string) bool {
			return !strings.HasPrefix(text, word) && !strings.Contains(text, " "+word)
		})
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
