package api

import (
	"reflect"
	"strconv"
	"strings"
)

// Where is the part of a request that a parameter comes in.
type Where string

// The places.
const (
	Path   Where = "path"
	Query  Where = "query"
	Header Where = "header"
	Body   Where = "body"
)

// Param is one parameter of an operation, read from a field of its input.
type Param struct {
	Name     string // the caller's name for it: snake_case
	In       Where
	Type     reflect.Type
	Doc      string
	Example  string
	Format   string
	Default  string
	Enum     []string
	Min, Max *int64 // of a number, or of a text's length
	Required bool
	// Nullable lets the body have null for it, which means "no value" (ADR 5).
	Nullable bool
	index    []int
}

// HeaderName is the parameter's name as an HTTP header: idempotency_key is Idempotency-Key.
func (p Param) HeaderName() string {
	parts := strings.Split(p.Name, "_")
	for i, part := range parts {
		parts[i] = strings.ToUpper(part[:1]) + part[1:]
	}
	return strings.Join(parts, "-")
}

// Flag is the parameter's name on the command line: expiring_within_days is
// expiring-within-days, and q is query.
func (p Param) Flag() string { return FlagName(p.Name) }

// FlagName is a parameter's name on the command line.
func FlagName(name string) string {
	if name == "q" {
		return "query"
	}
	return strings.ReplaceAll(name, "_", "-")
}

// params reads the parameters of an input type. It is the one place that knows
// the tags: json, in, doc, required, null, example, format, default, enum, min, max.
func params(t reflect.Type) []Param {
	var list []Param
	for _, f := range reflect.VisibleFields(t) {
		if f.Anonymous || !f.IsExported() {
			continue
		}
		name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		p := Param{Name: name, In: Where(f.Tag.Get("in")), Type: f.Type, Doc: f.Tag.Get("doc"), Example: f.Tag.Get("example"),
			Format: f.Tag.Get("format"), Default: f.Tag.Get("default"), Required: f.Tag.Get("required") == "true", Nullable: f.Tag.Get("null") == "true", index: f.Index}
		if p.In == "" {
			p.In = Body
		}
		if values := f.Tag.Get("enum"); values != "" {
			p.Enum = strings.Split(values, ",")
		} else if e, ok := reflect.Zero(deref(f.Type)).Interface().(interface{ Values() []string }); ok {
			p.Enum = e.Values()
		}
		p.Min, p.Max = bound(f.Tag.Get("min")), bound(f.Tag.Get("max"))
		list = append(list, p)
	}
	return list
}

func bound(tag string) *int64 {
	n, err := strconv.ParseInt(tag, 10, 64)
	if err != nil {
		return nil
	}
	return &n
}

func deref(t reflect.Type) reflect.Type {
	if t.Kind() == reflect.Pointer {
		return t.Elem()
	}
	return t
}
