package describe

import (
	"cmp"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"

	"warranty.example/svc/api"
	"warranty.example/svc/warranty"
)

// ToolSchemas returns the input and output schemas of an operation as an MCP tool. The
// input is one object with all parameters. The output schema names the fields of records
// without describing them: models read every schema, and RecordSchema has the descriptions.
// The schemas have no references and no null types: absent values are omitted.
func ToolSchemas(s *api.Spec) (in, out []byte, err error) {
	b := &builder{}
	in, err = api.AppendJSON(nil, b.arguments(s))
	if err != nil {
		return nil, nil, err
	}
	out, err = api.AppendJSON(nil, b.result(s, func(t reflect.Type) *schema { return b.named(t, s.Paged()) }))
	return in, out, errors.Join(append(b.wrong, err)...)
}

// RecordSchema returns the schema of an operation's result as an MCP tool, with the fields
// of the record and their descriptions.
func RecordSchema(s *api.Spec) ([]byte, error) {
	b := &builder{}
	object := b.result(s, b.inline)
	for i, text := range map[string]string{
		"data":  "The record.",
		"etag":  "Version of the record. Send it as if_match to update or delete the record.",
		"today": "Current day of the service, in UTC.",
	} {
		if at := object.Properties.index(i); at >= 0 {
			object.Properties[at].value.Description = text
		}
	}
	out, err := api.AppendJSON(nil, object)
	return out, errors.Join(append(b.wrong, err)...)
}

// arguments returns the input schema.
func (b *builder) arguments(s *api.Spec) *schema {
	closed := false
	object := &schema{Type: "object", Properties: ordered[*schema]{}, AdditionalProperties: &closed}
	for _, p := range s.Params {
		field := b.paramSchema(p)
		if p.Type.Kind() == reflect.Slice && p.Type.Elem().Kind() == reflect.Struct {
			field.Items = b.item(p.Type.Elem())
		}
		field.Description = cmp.Or(p.ToolDoc, p.Doc)
		field.MinLength, field.MaxLength = nil, nil // the service checks them
		if p.Type == reflect.TypeFor[warranty.FieldNames]() && !s.Paged() {
			field.Items.Enum = nil // the tool of the list has the names
		}
		object.Properties.add(p.Name, field)
		if p.Required {
			object.Required = append(object.Required, p.Name)
		}
	}
	return object
}

// item returns the schema of an element of a list of arguments, with the fields whose tag has no tool:"-".
func (b *builder) item(t reflect.Type) *schema {
	object := b.inline(t)
	closed := false
	object.AdditionalProperties = &closed
	for _, f := range reflect.VisibleFields(t) {
		name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		at := object.Properties.index(name)
		switch text := f.Tag.Get("tool"); {
		case at < 0 || text == "":
		case text == "-":
			object.Properties = slices.Delete(object.Properties, at, at+1)
		default:
			object.Properties[at].value.Description = text
		}
	}
	return object
}

// result returns the output schema. record returns the schema of a record.
func (b *builder) result(s *api.Spec, record func(reflect.Type) *schema) *schema {
	object := &schema{Type: "object"}
	add := func(name string, value *schema) {
		object.Properties.add(name, value)
		object.Required = append(object.Required, name)
	}
	switch {
	case s.Out == reflect.TypeFor[warranty.None]():
		add("done", &schema{Type: "boolean"})
	case s.Paged():
		list := listOf(record(s.Record()))
		add("data", &list)
		add("pagination", record(reflect.TypeFor[warranty.Pagination]()))
		if s.ListsChanges() { // with updated_since, instead of pagination
			object.Required = object.Required[:1]
			object.Properties.add("next", &schema{Type: "string"})
			object.Properties.add("synced_to", &schema{Type: "string", Format: "date-time"})
		}
	default:
		add("data", record(s.Out))
	}
	if s.Out.Implements(reflect.TypeFor[interface{ ETag() string }]()) {
		add("etag", &schema{Type: "string"})
	}
	add("today", &schema{Type: "string", Format: "date"})
	return object
}

// named returns the schema of a record with the names and types of its fields. All are optional, because a call can
// select others. listed leaves out those that only a single record has.
func (b *builder) named(t reflect.Type, listed bool) *schema {
	object := &schema{Type: "object"}
	for _, f := range reflect.VisibleFields(t) {
		name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		if f.Anonymous || !f.IsExported() || name == "-" || listed && f.Tag.Get("lists") == "no" {
			continue
		}
		field := &schema{Type: b.inline(f.Type).Type}
		if t.NumField() == 1 && f.Type.Kind() == reflect.Slice { // a list without pages
			list := listOf(b.named(f.Type.Elem(), true))
			field = &list
		}
		object.Properties.add(name, field)
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
