package describe

import (
	"errors"
	"fmt"
	"reflect"
	"strings"

	"warranty.example/svc/api"
	"warranty.example/svc/warranty"
)

// ToolSchemas returns the input and output schemas of an operation as an MCP tool. The
// input is one object with all parameters. The schemas have no references and no null
// types: absent values are omitted.
func ToolSchemas(s *api.Spec) (in, out []byte, err error) {
	b := &builder{}
	in, err = api.AppendJSON(nil, b.arguments(s))
	if err != nil {
		return nil, nil, err
	}
	out, err = api.AppendJSON(nil, b.result(s))
	return in, out, errors.Join(append(b.wrong, err)...)
}

// arguments returns the input schema.
func (b *builder) arguments(s *api.Spec) *schema {
	closed := false
	object := &schema{Type: "object", AdditionalProperties: &closed}
	for _, p := range s.Params {
		field := b.paramSchema(p)
		field.Description = p.Doc
		object.Properties.add(p.Name, field)
		if p.Required {
			object.Required = append(object.Required, p.Name)
		}
	}
	if object.Properties == nil {
		object.Properties = ordered[*schema]{}
	}
	return object
}

// result returns the output schema.
func (b *builder) result(s *api.Spec) *schema {
	if s.Out == reflect.TypeFor[warranty.None]() {
		return &schema{
			Type:       "object",
			Required:   []string{"done"},
			Properties: ordered[*schema]{{"done", &schema{Type: "boolean", Description: "Always true."}}},
		}
	}
	if s.Paged() {
		page := b.inline(s.Out)
		for i, text := range []string{"The records of this page.", "Position of this page in the list."} {
			page.Properties[i].value.Description = text
		}
		return page
	}
	data := b.inline(s.Out)
	data.Description = "The record."
	object := &schema{Type: "object", Required: []string{"data"}, Properties: ordered[*schema]{{"data", data}}}
	if _, ok := reflect.Zero(s.Out).Interface().(interface{ ETag() string }); ok {
		object.Required = append(object.Required, "etag")
		object.Properties.add("etag", &schema{
			Type:        "string",
			Description: "Version of the record. Send it as if_match to update or delete the record.",
		})
	}
	return object
}

// inline returns a type's schema without references and null types.
func (b *builder) inline(t reflect.Type) *schema {
	switch {
	case t.Kind() == reflect.Pointer:
		return b.inline(t.Elem())
	case t.Kind() == reflect.Slice:
		list := listOf(b.inline(t.Elem()))
		return &list
	case t.Kind() != reflect.Struct || isPlain(t):
		return b.schemaOf(t)
	}
	object := &schema{Type: "object"}
	for _, f := range reflect.VisibleFields(t) {
		name, options, _ := strings.Cut(f.Tag.Get("json"), ",")
		if f.Anonymous || !f.IsExported() || name == "-" {
			continue
		}
		field := b.inline(f.Type)
		field.Description = strings.ReplaceAll(f.Tag.Get("doc"), "null", "omitted") + openEnum(field)
		if format := f.Tag.Get("format"); format != "" {
			field.Format = format
		}
		object.Properties.add(name, field)
		if f.Type.Kind() != reflect.Pointer && options == "" {
			object.Required = append(object.Required, name)
		}
	}
	return object
}

// openEnum removes the enum from a schema, because a newer service may return more
// values, and returns a sentence that lists the values.
func openEnum(s *schema) string {
	values := s.Enum
	if s.Items != nil && s.Items.Enum != nil {
		items := *s.Items
		values, items.Enum = items.Enum, nil
		s.Items = &items
	}
	if values == nil {
		return ""
	}
	s.Enum = nil
	var list strings.Builder
	for i, v := range values {
		if i > 0 {
			list.WriteString(", ")
		}
		fmt.Fprint(&list, v)
	}
	return " Known values: " + list.String() + "; more may be added."
}

func isPlain(t reflect.Type) bool {
	_, ok := plain[t]
	return ok
}
