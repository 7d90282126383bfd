package api

import (
	"bytes"
	"errors"
	"io"
	"reflect"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"warranty.example/svc/warranty"
)

// This file and append.go are the only ones that know the JSON library, which becomes the
// standard one with Go 1.27. The decoder of encoding/json is no choice: it takes
// duplicate names, other case, bad UTF-8 and trailing data without a word.

// AppendJSON appends v as JSON on one line.
func AppendJSON(b []byte, v any) ([]byte, error) {
	switch v := v.(type) {
	case warranty.Warranty:
		return appendWarranty(b, &v)
	case warranty.Page[warranty.Warranty]:
		return appendWarranties(b, v)
	}
	return reflectJSON(b, v)
}

func reflectJSON(b []byte, v any) ([]byte, error) {
	buf := bytes.NewBuffer(b)
	err := json.MarshalWrite(buf, v, json.Deterministic(true))
	return buf.Bytes(), err
}

// WithoutNulls is a JSON value without the members of objects that are null.
func WithoutNulls(value []byte) ([]byte, error) {
	d := jsontext.NewDecoder(bytes.NewReader(value))
	var out bytes.Buffer
	e := jsontext.NewEncoder(&out)
	for {
		token, err := d.ReadToken()
		if errors.Is(err, io.EOF) {
			return bytes.TrimSpace(out.Bytes()), nil
		}
		if err != nil {
			return nil, err
		}
		token = token.Clone() // the next look would take its memory
		// A name is followed by its value: skip both when that is null.
		if kind, n := d.StackIndex(d.StackDepth()); kind == '{' && n%2 == 1 && d.PeekKind() == 'n' {
			if err := d.SkipValue(); err != nil {
				return nil, err
			}
			continue
		}
		if err := e.WriteToken(token); err != nil {
			return nil, err
		}
	}
}

// ReadJSON reads one JSON value and nothing behind it into v.
func ReadJSON(data []byte, v any) error { return json.Unmarshal(data, v) }

var malformed = warranty.Refuse(warranty.MalformedRequest,
	"The body is not one well-formed JSON object in UTF-8, with each name once and nothing behind it.")

// readObject calls each for every member of a JSON object.
func readObject(data []byte, each func(name string, value jsontext.Value)) error {
	d := jsontext.NewDecoder(bytes.NewReader(data))
	if d.PeekKind() != '{' {
		return malformed
	}
	if _, err := d.ReadToken(); err != nil {
		return malformed
	}
	for d.PeekKind() == '"' {
		token, err := d.ReadToken()
		if err != nil {
			return malformed
		}
		name := token.String() // before the next read reuses the token's memory
		value, err := d.ReadValue()
		if err != nil {
			return malformed
		}
		each(name, value)
	}
	if _, err := d.ReadToken(); err != nil {
		return malformed
	}
	if _, err := d.ReadToken(); !errors.Is(err, io.EOF) {
		return malformed
	}
	return nil
}

// setJSON sets a field from a JSON value; what is wrong with it is put into words.
func setJSON(p Param, field reflect.Value, value jsontext.Value) *wrong {
	switch value.Kind() {
	case 'n':
		if p.Required {
			return &wrong{"required", "This field is required."}
		}
		if !p.Nullable {
			return &wrong{"required", "This field always has a value; leave it out to keep it."}
		}
		// null is "no value": a text that can be empty is emptied, all else is not given.
		if field.Kind() == reflect.Pointer && isText(field.Type().Elem()) {
			_ = setText(field, "") // an instant can not be empty: it stays not given
		}
		return nil
	case '"':
		if !isText(deref(field.Type())) {
			return &wrong{"wrong_type", "This can not be a text; " + expected(field.Type()) + "."}
		}
		text, err := jsontext.AppendUnquote(nil, value)
		if err != nil {
			return &wrong{"invalid", "This is not a text."}
		}
		return setText(field, string(text))
	default:
		if isText(deref(field.Type())) {
			return &wrong{"wrong_type", "This must be a text, between quotation marks."}
		}
		if err := json.Unmarshal(value, field.Addr().Interface(), json.RejectUnknownMembers(true)); err != nil {
			return &wrong{"wrong_type", "The type is wrong; " + expected(field.Type()) + "."}
		}
		return nil
	}
}

// setArgument is setJSON for a tool's arguments, where null is "not given". What
// HTTP has in a header is there or is not: an empty one is neither.
func setArgument(p Param, field reflect.Value, value jsontext.Value) *wrong {
	switch {
	case value.Kind() == 'n':
		return nil
	case p.In == Header && field.Kind() == reflect.String && string(value) == `""`:
		return &wrong{"empty", "This parameter is empty; leave it out instead."}
	}
	return setJSON(p, field, value)
}

// writeObject writes the named values as a JSON object.
func writeObject(names []string, values []any) ([]byte, error) {
	var buf bytes.Buffer
	e := jsontext.NewEncoder(&buf)
	if err := e.WriteToken(jsontext.BeginObject); err != nil {
		return nil, err
	}
	for i, name := range names {
		if err := e.WriteToken(jsontext.String(name)); err != nil {
			return nil, err
		}
		if err := json.MarshalEncode(e, values[i]); err != nil {
			return nil, err
		}
	}
	if err := e.WriteToken(jsontext.EndObject); err != nil {
		return nil, err
	}
	return bytes.TrimSpace(buf.Bytes()), nil
}
