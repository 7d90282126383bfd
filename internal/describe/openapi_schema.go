package describe

import (
	"reflect"
	"slices"
	"strconv"
	"strings"
	"time"

	"warranty.example/svc/api"
	"warranty.example/svc/warranty"
)

// plain holds the schemas of types that are encoded as a single JSON value.
var plain = map[reflect.Type]schema{
	reflect.TypeFor[time.Time]():              {Type: "string", Format: "date-time"},
	reflect.TypeFor[warranty.Date]():          {Type: "string", Format: "date"},
	reflect.TypeFor[warranty.ID]():            {Type: "string", Format: "uuid"},
	reflect.TypeFor[warranty.Reference]():     {Type: "string", Pattern: "^(WR|CL)(-[0-9A-HJKMNP-TV-Z]{4}){4}$"},
	reflect.TypeFor[warranty.Scope]():         {Type: "string", Enum: names(warranty.AllScopes...)},
	reflect.TypeFor[warranty.Code]():          {Type: "string", Enum: codeNames()},
	reflect.TypeFor[warranty.Roles]():         listOf(&schema{Type: "string", Enum: names(warranty.Role("").Values()...)}),
	reflect.TypeFor[warranty.FeedPosition]():  {Type: "string"},
	reflect.TypeFor[warranty.ChangesCursor](): {Type: "string"},
	reflect.TypeFor[warranty.BatchItem]():     {Ref: "#/components/schemas/CreateWarranty"},
	reflect.TypeFor[int64]():                  {Type: "integer", Format: "int64"},
	// References are accepted as people type them, so keys have no pattern.
	reflect.TypeFor[warranty.WarrantyKey](): {Type: "string"},
	reflect.TypeFor[warranty.ClaimKey]():    {Type: "string"},
}

// kinds holds the schemas of basic types.
var kinds = map[reflect.Kind]schema{
	reflect.String: {Type: "string"},
	reflect.Int:    {Type: "integer"},
	reflect.Int64:  {Type: "integer", Format: "int64"},
	reflect.Bool:   {Type: "boolean"},
}

// schemaOf returns the schema of a type in responses. Pointers may be null; structs are
// named components.
func (b *builder) schemaOf(t reflect.Type) *schema {
	if s, ok := plain[t]; ok {
		return &s
	}
	if e, ok := reflect.Zero(t).Interface().(interface{ Values() []string }); ok && t.Kind() != reflect.Pointer {
		return &schema{Type: "string", Enum: names(e.Values()...)}
	}
	switch t.Kind() {
	case reflect.Pointer:
		return orNull(b.schemaOf(t.Elem()))
	case reflect.Slice:
		s := listOf(b.schemaOf(t.Elem()))
		return &s
	case reflect.Struct:
		return b.record(t)
	}
	s, ok := kinds[t.Kind()]
	if !ok {
		b.fail("no schema for type " + t.String() + ": add it to plain or kinds in openapi_schema.go")
	}
	return &s
}

// record adds a struct as a component and returns a reference to it. Embedded fields
// are inlined, as in JSON.
func (b *builder) record(t reflect.Type) *schema {
	ref := &schema{Ref: "#/components/schemas/" + t.Name()}
	if b.doc.Components.Schemas.index(t.Name()) >= 0 {
		return ref
	}
	s := &schema{Type: "object"}
	b.doc.Components.Schemas.add(t.Name(), s) // before the components of its fields
	for _, f := range reflect.VisibleFields(t) {
		name, options, _ := strings.Cut(f.Tag.Get("json"), ",")
		if f.Anonymous || !f.IsExported() || name == "-" {
			continue
		}
		field := b.schemaOf(f.Type)
		field.Description = f.Tag.Get("doc")
		if format := f.Tag.Get("format"); format != "" {
			field.Format = format
		}
		if values := f.Tag.Get("enum"); values != "" {
			field.Enum = names(strings.Split(values, ",")...)
		}
		s.Properties.add(name, field)
		if options == "" || f.Tag.Get("required") == "true" {
			s.Required = append(s.Required, name)
		}
	}
	if sample, ok := b.samples[t]; ok {
		s.Examples = []any{sample}
	}
	return ref
}

// selected is record for operations that take fields, which returns only the selected ones: none is required.
func (b *builder) selected(t reflect.Type) *schema {
	b.record(t)
	schemas := &b.doc.Components.Schemas
	name := "Selected" + t.Name()
	if schemas.index(name) < 0 {
		s := *(*schemas)[schemas.index(t.Name())].value
		s.Required, s.Examples = nil, nil
		s.Description = "The selected fields of a " + strings.ToLower(t.Name()) + "; all without the parameter fields."
		schemas.add(name, &s)
	}
	return &schema{Ref: "#/components/schemas/" + name}
}

// body adds the body parameters as a component and returns a reference to it. Additional
// properties are not allowed.
func (b *builder) body(s *api.Spec) *schema {
	ref := &schema{Ref: "#/components/schemas/" + s.In.Name()}
	if b.doc.Components.Schemas.index(s.In.Name()) >= 0 {
		return ref
	}
	closed := false
	object := &schema{Type: "object", AdditionalProperties: &closed}
	b.doc.Components.Schemas.add(s.In.Name(), object)
	for _, p := range s.Params {
		if p.In != api.Body {
			continue
		}
		field := b.paramSchema(p)
		if p.Nullable {
			field = orNull(field)
		}
		field.Description = p.Doc
		if p.Example != "" {
			field.Examples = []any{typed(p.Type, p.Example)}
		}
		object.Properties.add(p.Name, field)
		if p.Required {
			object.Required = append(object.Required, p.Name)
		}
	}
	return ref
}

// paramSchema returns the schema of a parameter. A pointer means that it is optional, not
// that it may be null.
func (b *builder) paramSchema(p api.Param) *schema {
	t := p.Type
	if t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	if t == reflect.TypeFor[warranty.FieldNames]() {
		return &schema{Type: "array", Items: &schema{Type: "string", Enum: names(p.Enum...)}}
	}
	s := b.schemaOf(t)
	if p.Default != "" {
		s.Default = typed(t, p.Default)
	}
	one := int64(1)
	switch t.Kind() {
	case reflect.Slice:
		s.MaxItems = p.Max
		if len(p.Enum) > 0 {
			list := listOf(&schema{Type: "string", Enum: names(p.Enum...)})
			s = &list
		}
		if p.Required {
			s.MinItems = &one
		}
		return s
	case reflect.Int, reflect.Int64:
		s.Minimum, s.Maximum = p.Min, p.Max
		return s
	}
	if p.Format != "" {
		s.Format = p.Format
	}
	if len(p.Enum) > 0 {
		s.Enum = names(p.Enum...)
		return s
	}
	s.MinLength, s.MaxLength = p.Min, p.Max
	// Required strings, and strings in queries and headers, cannot be empty.
	if s.MinLength == nil && t.Kind() == reflect.String && (p.Required || p.In != api.Body) {
		s.MinLength = &one
	}
	return s
}

// orNull returns the schema of a value that may be null.
func orNull(s *schema) *schema {
	if s.Ref != "" {
		return &schema{AnyOf: []*schema{s, {Type: "null"}}}
	}
	s.Type = []any{s.Type, "null"}
	if s.Enum != nil {
		s.Enum = append(slices.Clip(s.Enum), nil) // the array is shared
	}
	return s
}

// listOf returns the schema of a list. A list of enum values is a set.
func listOf(items *schema) schema {
	return schema{Type: "array", Items: items, UniqueItems: items.Enum != nil}
}

// names converts enum values for a schema.
func names[T ~string](values ...T) []any {
	list := make([]any, 0, len(values))
	for _, v := range values {
		list = append(list, string(v))
	}
	return list
}

func codeNames() []any {
	var list []any
	for _, c := range warranty.Codes() {
		list = append(list, string(c.Code))
	}
	return list
}

// typed converts the text of a tag to the JSON value of type t.
func typed(t reflect.Type, text string) any {
	if t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	switch t.Kind() {
	case reflect.Slice:
		return names(strings.Split(text, ",")...)
	case reflect.Int, reflect.Int64:
		if n, err := strconv.ParseInt(text, 10, 64); err == nil {
			return n
		}
	}
	return text
}
