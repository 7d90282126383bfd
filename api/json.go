package api

import (
	"bytes"
	"errors"
	"io"
	"math"
	"reflect"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"warranty.example/svc/warranty"
)

// Only this file, append.go and fields.go use the JSON library, which becomes part of the
// standard library in Go 1.27. encoding/json is not strict enough: it accepts duplicate names,
// names in other case, invalid UTF-8 and trailing data.

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

// WithoutNulls removes object members that are null from a JSON value.
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
		token = token.Clone() // the next read reuses its memory
		// Skip a name and its value if the value is null.
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

// ReadJSON decodes exactly one JSON value into v.
func ReadJSON(data []byte, v any) error { return json.Unmarshal(data, v) }

var malformed = warranty.Refuse(warranty.MalformedRequest,
	"The body is malformed. Send one valid JSON object in UTF-8, without duplicate names or trailing data.")

var malformedArguments = warranty.Refuse(warranty.MalformedRequest,
	"The arguments are malformed. Send one JSON object with the tool's parameters.")

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
		name := token.String() // the next read reuses the token's memory
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

// readArray calls each for every element of a JSON array.
func readArray(data []byte, each func(value jsontext.Value)) error {
	d := jsontext.NewDecoder(bytes.NewReader(data))
	if _, err := d.ReadToken(); err != nil {
		return malformed
	}
	for d.PeekKind() != ']' {
		value, err := d.ReadValue()
		if err != nil {
			return malformed
		}
		each(value)
	}
	return nil
}

// setJSON sets a field from a JSON value.
func setJSON(p Param, field reflect.Value, value jsontext.Value) *wrong {
	switch value.Kind() {
	case 'n':
		if p.Required {
			return wrongf("required", required)
		}
		if !p.Nullable {
			return wrongf("required", "Cannot be null. Omit the field to keep the current value.")
		}
		// null means "no value": it clears text and leaves other types not given.
		if field.Kind() == reflect.Pointer && isText(field.Type().Elem()) {
			_ = setText(field, "") // fails for a time, which then counts as not given
		}
		return nil
	case '"':
		if !isText(deref(field.Type())) {
			return wrongType(field.Type())
		}
		text, err := jsontext.AppendUnquote(nil, value)
		if err != nil {
			return wrongf("invalid", "Must be a valid JSON string.")
		}
		return setText(field, string(text))
	default:
		if isText(deref(field.Type())) {
			return wrongType(field.Type())
		}
		if deref(field.Type()).Kind() == reflect.Int {
			value = whole(value)
		}
		if err := json.Unmarshal(value, field.Addr().Interface(), json.RejectUnknownMembers(true)); err != nil {
			return wrongType(field.Type())
		}
		return nil
	}
}

// wrongType is the error of a JSON value that does not have type t.
func wrongType(t reflect.Type) *wrong {
	switch t = deref(t); {
	case t == fieldNames:
		return wrongf("wrong_type", "Must be a list of field names.")
	case isText(t):
		return wrongf("wrong_type", "Must be a string.")
	case t.Kind() == reflect.Int:
		return wrongf("wrong_type", "Must be an integer.")
	case t.Kind() == reflect.Slice && t.Elem().Kind() == reflect.Struct:
		return wrongf("wrong_type", "Must be an array of objects with the fields: %s.", strings.Join(members(t.Elem()), ", "))
	case t.Kind() == reflect.Slice && t.Elem().Kind() == reflect.Int:
		return wrongf("wrong_type", "Must be an array of integers.")
	case t.Kind() == reflect.Slice:
		return wrongf("wrong_type", "Must be an array of strings.")
	case t.Kind() == reflect.Bool:
		return wrongf("wrong_type", "Must be true or false.")
	}
	return wrongf("wrong_type", "Must be of the documented type.")
}

// members lists the JSON names of the fields of a struct.
func members(t reflect.Type) []string {
	var names []string
	for _, f := range reflect.VisibleFields(t) {
		if name, _, _ := strings.Cut(f.Tag.Get("json"), ","); !f.Anonymous && name != "" && name != "-" {
			names = append(names, name)
		}
	}
	return names
}

// whole returns a whole number without a fraction or exponent, which JSON Schema allows for an integer:
// 1 for 1.0. It returns other values as they are.
func whole(value jsontext.Value) jsontext.Value {
	if n, err := strconv.ParseFloat(string(value), 64); err == nil && n == math.Trunc(n) && math.Abs(n) < 1<<53 {
		return strconv.AppendInt(nil, int64(n), 10)
	}
	return value
}

// setArgument is setJSON for the arguments of a tool, where null means "not given". An
// empty header parameter is an error. Models also send numbers and booleans as text, days
// as times, and lists of field names as arrays.
func setArgument(p Param, field reflect.Value, value jsontext.Value) *wrong {
	kind := deref(p.Type).Kind()
	day := len(value) == len(`"2006-01-02"`) && deref(p.Type) == timeType
	switch {
	case value.Kind() == 'n':
		return nil
	case p.In == Header && field.Kind() == reflect.String && string(value) == `""`:
		return wrongf("empty", emptyParameter)
	case value.Kind() == '"' && (kind == reflect.Int || kind == reflect.Bool):
		var text string
		if err := json.Unmarshal(value, &text); err != nil {
			return wrongType(p.Type)
		}
		return setText(field, strings.TrimSpace(text))
	case value.Kind() == '"' && day:
		return setText(field, string(value[1:len(value)-1])+"T00:00:00Z")
	case value.Kind() == '[' && p.Type == fieldNames:
		var names []string
		if err := json.Unmarshal(value, &names); err != nil {
			return wrongType(p.Type)
		}
		if len(names) == 1 && names[0] == "" {
			return unknownField(p, " ")
		}
		field.SetString(strings.Join(names, ","))
		return nil
	}
	return setJSON(p, field, value)
}

// writeObject encodes the values as a JSON object.
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
