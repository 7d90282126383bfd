package api

import (
	"reflect"
	"strconv"
	"strings"
)

// Where is the part of a request that contains a parameter.
type Where string

// The parts of a request.
const (
	Path   Where = "path"
	Query  Where = "query"
	Header Where = "header"
	Body   Where = "body"
)

// Param is a parameter of an operation, derived from a field of its input.
type Param struct {
	Name     string // in snake_case
	In       Where
	Type     reflect.Type
	Doc      string
	ToolDoc  string // for models, in place of Doc
	Example  string
	Format   string
	Default  string
	Enum     []string
	Min, Max *int64 // of a number, or of the length of a string or list
	Required bool
	// Nullable allows null in the body, which means "no value" (ADR 5).
	Nullable bool
	index    []int
}

// HeaderName returns the parameter's name as an HTTP header: Idempotency-Key for
// idempotency_key.
func (p Param) HeaderName() string {
	parts := strings.Split(p.Name, "_")
	for i, part := range parts {
		parts[i] = strings.ToUpper(part[:1]) + part[1:]
	}
	return strings.Join(parts, "-")
}

// Flag returns the parameter's command-line flag: expiring-within-days for
// expiring_within_days, and query for q.
func (p Param) Flag() string { return FlagName(p.Name) }

// FlagName returns the command-line flag of the parameter called name.
func FlagName(name string) string {
	if name == "q" {
		return "query"
	}
	return strings.ReplaceAll(name, "_", "-")
}

// params derives the parameters of an input type from its struct tags: json, in, doc,
// tool, required, null, example, format, default, enum, min, max. It is the only reader of
// the tags.
func params(t reflect.Type) []Param {
	var list []Param
	for _, f := range reflect.VisibleFields(t) {
		if f.Anonymous || !f.IsExported() {
			continue
		}
		name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		p := Param{
			Name:     name,
			In:       Where(f.Tag.Get("in")),
			Type:     f.Type,
			Doc:      f.Tag.Get("doc"),
			ToolDoc:  f.Tag.Get("tool"),
			Example:  f.Tag.Get("example"),
			Format:   f.Tag.Get("format"),
			Default:  f.Tag.Get("default"),
			Min:      bound(f.Tag.Get("min")),
			Max:      bound(f.Tag.Get("max")),
			Required: f.Tag.Get("required") == "true",
			Nullable: f.Tag.Get("null") == "true",
			index:    f.Index,
		}
		if p.In == "" {
			p.In = Body
		}
		if values := f.Tag.Get("enum"); values != "" {
			p.Enum = strings.Split(values, ",")
		} else if e, ok := reflect.Zero(deref(f.Type)).Interface().(interface{ Values() []string }); ok {
			p.Enum = e.Values()
		}
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
