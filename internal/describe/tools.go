package describe

import (
	"errors"
	"fmt"
	"reflect"
	"strings"

	"warranty.example/svc/api"
	"warranty.example/svc/warranty"
)

// ToolSchemas are the input and the output schema of an operation as an MCP
// tool: every parameter in one object, wherever HTTP would put it, and nothing
// that refers elsewhere or may be null. What has no value is left out instead.
func ToolSchemas(s *api.Spec) (in, out []byte, err error) {
	b := &builder{}
	in, err = api.AppendJSON(nil, b.arguments(s))
	if err != nil {
		return nil, nil, err
	}
	out, err = api.AppendJSON(nil, b.result(s))
	return in, out, errors.Join(append(b.wrong, err)...)
}

// arguments is the object of all parameters.
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

// result is the answer in its envelope.
func (b *builder) result(s *api.Spec) *schema {
	if s.Out == reflect.TypeFor[warranty.None]() {
		return &schema{Type: "object", Required: []string{"done"}, Properties: ordered[*schema]{{"done", &schema{Type: "boolean", Description: "Always true: it was done."}}}}
	}
	if s.Paged() {
		page := b.inline(s.Out)
		for i, text := range []string{"The records of this page.", "Where this page stands in the whole list."} {
			page.Properties[i].value.Description = text
		}
		return page
	}
	data := b.inline(s.Out)
	data.Description = "The record."
	object := &schema{Type: "object", Required: []string{"data"}, Properties: ordered[*schema]{{"data", data}}}
	if _, ok := reflect.Zero(s.Out).Interface().(interface{ ETag() string }); ok {
		object.Required = append(object.Required, "etag")
		object.Properties.add("etag", &schema{Type: "string", Description: "Version of the record, for if_match of a tool that changes it."})
	}
	return object
}

// inline is a type's schema written out in place, without null.
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
		field.Description = strings.ReplaceAll(f.Tag.Get("doc"), "null", "left out") + opened(field)
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

// opened takes the fixed list of values out of a schema, since a newer service may
// answer with more of them, and puts it into words.
func opened(s *schema) string {
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
