package api

import (
	"reflect"
	"slices"
	"strings"

	"github.com/go-json-experiment/json/jsontext"
)

// selectable lists the fields that the parameter fields offers: those of the record, in a list without those
// that only a single record has.
func (s *Spec) selectable() (names []string) {
	for _, f := range reflect.VisibleFields(s.Record()) {
		name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		if !f.Anonymous && name != "" && name != "-" && (f.Tag.Get("lists") != "no" || !s.Paged()) {
			names = append(names, name)
		}
	}
	return names
}

// Selected returns the fields that an input selects, or nil for all.
func Selected(in any) []string {
	if s, ok := in.(interface{ Selected() []string }); ok {
		return s.Selected()
	}
	return nil
}

// Columns returns the fields that a tool returns for an input, in the order of the record:
// the selected ones, or else those of ToolFields. It returns nil for all.
func (s *Spec) Columns(in any) []string {
	fields := Selected(in)
	if fields == nil {
		return s.ToolFields
	}
	known := s.Params[s.byName["fields"]].Enum
	return slices.DeleteFunc(slices.Clone(known), func(name string) bool { return !slices.Contains(fields, name) })
}

// Pick returns a response with only the given fields of its records. The order of the
// fields stays.
func Pick(body []byte, fields []string) ([]byte, error) {
	return rewriteData(body, func(b []byte, record jsontext.Value) ([]byte, error) {
		b = append(b, '{')
		first := len(b)
		err := readObject(record, func(name string, value jsontext.Value) {
			if slices.Contains(fields, name) {
				b = appendMember(b, first, name, value)
			}
		})
		return append(b, '}'), err
	})
}

// Rows returns a page with each record as an array of the given fields, which the member
// "columns" names. It has all the data of Pick in fewer tokens of a language model.
func Rows(body []byte, fields []string) ([]byte, error) {
	body, err := rewriteData(body, func(b []byte, record jsontext.Value) ([]byte, error) {
		row := make([]jsontext.Value, len(fields))
		err := readObject(record, func(name string, value jsontext.Value) {
			if i := slices.Index(fields, name); i >= 0 {
				row[i] = slices.Clone(value)
			}
		})
		b = append(b, '[')
		for i, value := range row {
			if i > 0 {
				b = append(b, ',')
			}
			if value == nil {
				value = jsontext.Value("null")
			}
			b = append(b, value...)
		}
		return append(b, ']'), err
	})
	if err != nil {
		return nil, err
	}
	columns, err := AppendJSON([]byte(`{"columns":`), fields)
	return append(append(columns, ','), body[1:]...), err
}

// rewriteData returns a response with each record replaced by what rewrite appends. The
// other members stay.
func rewriteData(body []byte, rewrite func([]byte, jsontext.Value) ([]byte, error)) ([]byte, error) {
	out := []byte{'{'}
	var failed error
	record := func(value jsontext.Value) {
		b, err := rewrite(out, value)
		if err != nil {
			failed = err
		}
		out = b
	}
	err := readObject(body, func(name string, value jsontext.Value) {
		if name != "data" {
			out = appendMember(out, 1, name, value)
			return
		}
		out = appendMember(out, 1, name, nil)
		if value.Kind() != '[' {
			record(value)
			return
		}
		out = append(out, '[')
		first := len(out)
		if err := readArray(value, func(value jsontext.Value) {
			if len(out) > first {
				out = append(out, ',')
			}
			record(value)
		}); err != nil {
			failed = err
		}
		out = append(out, ']')
	})
	if err == nil {
		err = failed
	}
	return append(out, '}'), err
}

// appendMember appends a member of an object whose first member begins at first.
func appendMember(b []byte, first int, name string, value jsontext.Value) []byte {
	if len(b) > first {
		b = append(b, ',')
	}
	b, _ = jsontext.AppendQuote(b, name) // just read, so valid UTF-8
	b = append(b, ':')
	return append(b, value...)
}
