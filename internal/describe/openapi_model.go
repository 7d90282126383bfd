package describe

import (
	"slices"

	"warranty.example/svc/api"
)

// The types in this file are the OpenAPI 3.1 objects that the document uses, with
// fields in the order of the document.

type document struct {
	OpenAPI    string            `json:"openapi"`
	Info       info              `json:"info"`
	Servers    []server          `json:"servers"`
	Tags       []tag             `json:"tags"`
	Paths      ordered[pathItem] `json:"paths"`
	Components components        `json:"components"`
}

type info struct {
	Title       string  `json:"title"`
	Version     string  `json:"version"`
	Summary     string  `json:"summary"`
	Description string  `json:"description"`
	Contact     contact `json:"contact"`
	License     license `json:"license"`
}

type contact struct {
	Name string `json:"name"`
	URL  string `json:"url"`
}

// license names a license and its SPDX identifier.
type license struct {
	Name       string `json:"name"`
	Identifier string `json:"identifier"`
}

type server struct {
	URL         string `json:"url"`
	Description string `json:"description"`
}

type tag struct {
	Name        string `json:"name"`
	Description string `json:"description,omitzero"`
}

// pathItem maps lower-case methods to operations.
type pathItem = ordered[*operation]

type operation struct {
	OperationID string              `json:"operationId"`
	Tags        []string            `json:"tags"`
	Summary     string              `json:"summary"`
	Description string              `json:"description"`
	Security    []ordered[[]string] `json:"security"`
	Parameters  []parameter         `json:"parameters,omitzero"`
	RequestBody *requestBody        `json:"requestBody,omitzero"`
	Responses   ordered[*response]  `json:"responses"`
	Scope       string              `json:"x-required-scope,omitzero"`
	Tool        string              `json:"x-mcp-tool,omitzero"`
}

type parameter struct {
	Name        string  `json:"name"`
	In          string  `json:"in"`
	Required    bool    `json:"required,omitzero"`
	Description string  `json:"description"`
	Explode     *bool   `json:"explode,omitzero"` // false for values separated by commas
	Schema      *schema `json:"schema"`
	Example     any     `json:"example,omitzero"`
}

type requestBody struct {
	Required bool                `json:"required"`
	Content  ordered[*mediaType] `json:"content"`
}

type mediaType struct {
	Schema   *schema           `json:"schema"`
	Example  any               `json:"example,omitzero"`
	Examples ordered[*example] `json:"examples,omitzero"`
	Encoding ordered[encoding] `json:"encoding,omitzero"`
}

// encoding describes a part of a multipart form.
type encoding struct {
	ContentType string `json:"contentType"`
}

type response struct {
	Ref         string              `json:"$ref,omitzero"`
	Description string              `json:"description,omitzero"`
	Headers     ordered[*header]    `json:"headers,omitzero"`
	Content     ordered[*mediaType] `json:"content,omitzero"`
}

type header struct {
	Ref         string  `json:"$ref,omitzero"`
	Description string  `json:"description,omitzero"`
	Required    bool    `json:"required,omitzero"`
	Schema      *schema `json:"schema,omitzero"`
	Example     any     `json:"example,omitzero"`
}

type example struct {
	Ref     string `json:"$ref,omitzero"`
	Summary string `json:"summary,omitzero"`
	Value   any    `json:"value,omitzero"`
}

type components struct {
	Schemas         ordered[*schema]        `json:"schemas"`
	Responses       ordered[*response]      `json:"responses"`
	Examples        ordered[*example]       `json:"examples"`
	Headers         ordered[*header]        `json:"headers"`
	SecuritySchemes ordered[securityScheme] `json:"securitySchemes"`
}

type securityScheme struct {
	Type        string `json:"type"`
	Description string `json:"description"`
	Name        string `json:"name,omitzero"`
	In          string `json:"in,omitzero"`
	Scheme      string `json:"scheme,omitzero"`
}

// schema is a JSON Schema, draft 2020-12.
type schema struct {
	Ref                  string           `json:"$ref,omitzero"`
	Description          string           `json:"description,omitzero"`
	Type                 any              `json:"type,omitzero"` // a name, or a list of names
	Format               string           `json:"format,omitzero"`
	Pattern              string           `json:"pattern,omitzero"`
	Const                any              `json:"const,omitzero"`
	Enum                 []any            `json:"enum,omitzero"`
	MinLength            *int64           `json:"minLength,omitzero"`
	MaxLength            *int64           `json:"maxLength,omitzero"`
	Minimum              *int64           `json:"minimum,omitzero"`
	Maximum              *int64           `json:"maximum,omitzero"`
	Items                *schema          `json:"items,omitzero"`
	MinItems             *int64           `json:"minItems,omitzero"`
	MaxItems             *int64           `json:"maxItems,omitzero"`
	UniqueItems          bool             `json:"uniqueItems,omitzero"`
	Properties           ordered[*schema] `json:"properties,omitzero"`
	Required             []string         `json:"required,omitzero"`
	AdditionalProperties *bool            `json:"additionalProperties,omitzero"`
	AnyOf                []*schema        `json:"anyOf,omitzero"`
	Default              any              `json:"default,omitzero"`
	Examples             []any            `json:"examples,omitzero"`
}

// ordered is a JSON object that keeps the order of its members.
type ordered[T any] []member[T]

type member[T any] struct {
	name  string
	value T
}

func (o *ordered[T]) add(name string, value T) { *o = append(*o, member[T]{name, value}) }

// index returns the position of the member called name, or -1.
func (o ordered[T]) index(name string) int {
	return slices.IndexFunc(o, func(m member[T]) bool { return m.name == name })
}

// MarshalJSON encodes the members in order.
func (o ordered[T]) MarshalJSON() ([]byte, error) {
	b := []byte{'{'}
	for i, m := range o {
		if i > 0 {
			b = append(b, ',')
		}
		var err error
		if b, err = api.AppendJSON(b, m.name); err != nil {
			return nil, err
		}
		b = append(b, ':')
		if b, err = api.AppendJSON(b, m.value); err != nil {
			return nil, err
		}
	}
	return append(b, '}'), nil
}
