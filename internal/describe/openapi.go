// Package describe generates the API documentation from the operation table: OpenAPI,
// MCP tool schemas, discovery documents and examples.
package describe

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"

	"warranty.example/svc/api"
	"warranty.example/svc/warranty"
)

// Version is the version of the API in the OpenAPI document. make generate increases it
// when docs/openapi.json changes: the patch number for texts, the minor number for
// additions. The major number does not change within v1.
const Version = "1.43.1"

// OpenAPI returns the OpenAPI 3.1 document of the service at publicURL. The result is
// deterministic.
func OpenAPI(publicURL, version string) ([]byte, error) {
	publicURL = strings.TrimSuffix(publicURL, "/")
	b := &builder{
		publicURL: publicURL,
		samples:   sampleRecords(publicURL),
		headers:   map[string]bool{},
		problems:  map[string][]warranty.Code{},
	}
	b.doc = document{
		OpenAPI: "3.1.0",
		Info: info{
			Title:       "Warranty Records",
			Version:     version,
			Summary:     "Warranty records, claims and document metadata for systems and agents.",
			Description: about(publicURL),
			Contact:     contact{"Warranty Records", publicURL},
			License:     license{"Apache-2.0", "Apache-2.0"},
		},
		Servers: []server{{publicURL, "This service."}},
	}
	for _, s := range api.Operations() {
		b.operation(s)
	}
	b.documentFiles()
	b.hostOperations()
	b.finish()
	if len(b.wrong) > 0 {
		return nil, fmt.Errorf("describe: %w", errors.Join(b.wrong...))
	}
	line, err := api.AppendJSON(nil, b.doc)
	if err != nil {
		return nil, fmt.Errorf("describe: %w", err)
	}
	var out bytes.Buffer
	if err := json.Indent(&out, line, "", "  "); err != nil {
		return nil, fmt.Errorf("describe: %w", err)
	}
	out.WriteByte('\n')
	return out.Bytes(), nil
}

// builder builds the document and the components that it refers to.
type builder struct {
	doc       document
	publicURL string
	samples   map[reflect.Type]any // by result type
	headers   map[string]bool      // headers in use
	problems  map[string][]warranty.Code
	wrong     []error
}

func (b *builder) fail(message string) { b.wrong = append(b.wrong, errors.New(message)) }

// add adds an operation to the paths.
func (b *builder) add(method, path string, op *operation) {
	i := b.doc.Paths.index(path)
	if i < 0 {
		i = len(b.doc.Paths)
		b.doc.Paths.add(path, nil)
	}
	b.doc.Paths[i].value.add(strings.ToLower(method), op)
	if !slices.ContainsFunc(b.doc.Tags, func(t tag) bool { return t.Name == op.Tags[0] }) {
		b.doc.Tags = append(b.doc.Tags, tag{op.Tags[0], tagTexts[op.Tags[0]]})
	}
}

// finish adds the remaining components.
func (b *builder) finish() {
	c := &b.doc.Components
	b.record(reflect.TypeFor[warranty.Problem]())
	for _, m := range commonHeaders {
		if b.headers[m.name] {
			h := m.value
			c.Headers.add(m.name, &h)
		}
	}
	for _, info := range warranty.Codes() {
		c.Examples.add(string(info.Code), &example{Summary: info.Title, Value: sampleProblem(b.publicURL, info.Code)})
	}
	c.SecuritySchemes = ordered[securityScheme]{
		{"apiKey", securityScheme{Type: "apiKey", In: "header", Name: "x-api-key",
			Description: "An integration token. Signed-in users create them; the secret starts with `svc_`."}},
		{"bearer", securityScheme{Type: "http", Scheme: "bearer",
			Description: "The `access_token` of a session, which starts with `svs_`. " +
				"Integration tokens are accepted too, for clients that cannot send x-api-key."}},
	}
}
