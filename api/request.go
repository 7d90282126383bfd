package api

import (
	"encoding"
	"net/http"
	"net/url"
	"reflect"
	"strconv"
	"strings"
)

// Request is an input encoded as an HTTP request. It is the inverse of Decode.
type Request struct {
	Method string
	Path   string // with the query
	Header http.Header
	Body   []byte // nil if the request has none
}

// Request encodes the input, which is a pointer to the operation's In, as an HTTP
// request.
func (s *Spec) Request(in any) (Request, error) {
	value := reflect.ValueOf(in).Elem()
	r := Request{Method: s.Method, Path: s.Route(), Header: http.Header{}}
	query := url.Values{}
	var names []string
	var values []any
	for _, p := range s.Params {
		field := value.FieldByIndex(p.index)
		if p.In != Path && field.IsZero() {
			continue
		}
		if p.In == Body {
			names, values = append(names, p.Name), append(values, field.Interface())
			continue
		}
		text, err := textOf(field)
		if err != nil {
			return Request{}, err
		}
		switch p.In {
		case Path:
			r.Path = strings.Replace(r.Path, "{"+p.Name+"}", url.PathEscape(text), 1)
		case Query:
			query.Set(p.Name, text)
		case Header:
			r.Header.Set(p.HeaderName(), text)
		}
	}
	if len(query) > 0 {
		r.Path += "?" + query.Encode()
	}
	if !s.HasBody() || (s.BodyOptional && len(names) == 0) {
		return r, nil
	}
	body, err := writeObject(names, values)
	r.Body = body
	return r, err
}

func textOf(field reflect.Value) (string, error) {
	if field.Kind() == reflect.Pointer {
		field = field.Elem()
	}
	if writer, ok := field.Interface().(encoding.TextMarshaler); ok {
		b, err := writer.MarshalText()
		return string(b), err
	}
	switch field.Kind() {
	case reflect.Int:
		return strconv.FormatInt(field.Int(), 10), nil
	case reflect.Bool:
		return strconv.FormatBool(field.Bool()), nil
	}
	return field.String(), nil
}
