package api

import (
	"encoding"
	"fmt"
	"net/http"
	"net/url"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/go-json-experiment/json/jsontext"

	"warranty.example/svc/warranty"
)

// Parts are the parts of a request that parameters come from.
type Parts struct {
	Path   func(name string) string
	Query  string // as sent
	Header http.Header
	Body   []byte
}

// Decode makes the operation's input of the parts of an HTTP request. Every
// wrong field is reported at once; what the operation does not take is refused
// by name.
func (s *Spec) Decode(parts Parts) (any, error) {
	in := reflect.New(s.In)
	var c warranty.Checks
	if len(parts.Body) > 0 || s.HasBody() && !s.BodyOptional {
		if err := s.decodeObject(parts.Body, in.Elem(), &c, func(p Param) bool { return p.In == Body }, setJSON); err != nil {
			return nil, err
		}
	}
	if err := s.decodeQuery(parts.Query, in.Elem(), &c); err != nil {
		return nil, err
	}
	for _, p := range s.Params {
		switch p.In {
		case Path:
			if w := setText(in.Elem().FieldByIndex(p.index), parts.Path(p.Name)); w != nil {
				// No record can have such an id, so it is missing like any other.
				return nil, warranty.ErrNotFound
			}
		case Header:
			value, given, err := headerValue(p, parts.Header)
			if err != nil {
				return nil, err
			}
			if given {
				set(&c, in.Elem(), p, value)
			}
		}
	}
	return s.finish(in, &c)
}

// headerValue is the value of a parameter that comes in a header. An If-Match may be
// split over several lines (RFC 9110), and is never taken for absent when it is
// empty or malformed: the change would be made without its condition.
func headerValue(p Param, header http.Header) (value string, given bool, err error) {
	values := header.Values(p.HeaderName())
	switch {
	case len(values) == 0:
		return "", false, nil
	case p.Name == "if_match":
		value = strings.Join(values, ", ")
		if !warranty.ValidIfMatch(value) {
			return "", false, warranty.Refuse(warranty.MalformedRequest,
				"The header If-Match is malformed. Send the ETag of the record with its quotation marks, a list of ETags, or *.")
		}
		return value, true, nil
	case len(values) > 1:
		return "", false, warranty.Refuse(warranty.MalformedRequest, "The header "+p.HeaderName()+" is given more than once.")
	}
	return values[0], true, nil
}

// DecodeArguments makes the operation's input of one JSON object that holds every
// parameter, wherever HTTP would put it. A null is an argument that is not given:
// a model that fills in every argument of a tool must not empty a record by it.
func (s *Spec) DecodeArguments(data []byte) (any, error) {
	in := reflect.New(s.In)
	var c warranty.Checks
	if len(data) > 0 {
		if err := s.decodeObject(data, in.Elem(), &c, func(Param) bool { return true }, setArgument); err != nil {
			return nil, err
		}
	}
	var missing warranty.Checks // what a path always has, an object may lack
	for _, p := range s.Params {
		if p.In == Path && in.Elem().FieldByIndex(p.index).IsZero() {
			missing.Add(p.Name, "required", "This field is required.")
		}
	}
	c.Merge(missing.Err())
	return s.finish(in, &c)
}

// DecodeForm makes the operation's input of the fields of a form, wherever HTTP
// would put them. A field that was left empty is not given, except where the
// operation takes an empty text for "no value".
func (s *Spec) DecodeForm(values url.Values) (any, error) {
	in := reflect.New(s.In)
	var c warranty.Checks
	for _, p := range s.Params {
		given, ok := values[p.Name]
		field := in.Elem().FieldByIndex(p.index)
		switch {
		case !ok || len(given) == 0:
		case field.Kind() == reflect.Slice:
			field.Set(reflect.ValueOf(given))
		case given[0] == "" && !isText(deref(p.Type)):
		case deref(p.Type).Kind() == reflect.Bool:
			on := given[len(given)-1] == "true"
			field.Set(reflect.ValueOf(&on))
		default:
			set(&c, in.Elem(), p, given[0])
		}
	}
	return s.finish(in, &c)
}

// finish adds to the decoder's findings those of the input's own check, which an
// input that decoded well will meet in the service anyway.
func (s *Spec) finish(in reflect.Value, c *warranty.Checks) (any, error) {
	if len(c.Fields) == 0 {
		return in.Interface(), nil
	}
	c.Merge(check(in.Interface()))
	return nil, c.Err()
}

// check is what an input can tell by itself is wrong with it.
func check(in any) error {
	switch in := in.(type) {
	case interface{ Check() error }:
		return in.Check()
	case interface{ CheckShape() error }: // its Check needs the clock and the server's limits
		return in.CheckShape()
	}
	return nil
}

func (s *Spec) decodeObject(data []byte, in reflect.Value, c *warranty.Checks, takes func(Param) bool, assign func(Param, reflect.Value, jsontext.Value) *wrong) error {
	return readObject(data, func(name string, value jsontext.Value) {
		i, ok := s.byName[name]
		if !ok || !takes(s.Params[i]) {
			c.Add(Sayable(name), "unknown_field", "This operation does not take this field; it takes: "+s.names(takes)+".")
			return
		}
		field := in.FieldByIndex(s.Params[i].index)
		w := assign(s.Params[i], field, value)
		if w == nil {
			w = outOfRange(s.Params[i], field, value.Kind() == 'n')
		}
		if w != nil {
			c.Add(name, w.code, w.message)
		}
	})
}

func (s *Spec) decodeQuery(raw string, in reflect.Value, c *warranty.Checks) error {
	if raw == "" {
		return nil
	}
	query, err := url.ParseQuery(raw)
	if err != nil {
		return warranty.Refuse(warranty.MalformedRequest, "The query is not well formed; percent-encode what is not plain.")
	}
	takes := func(p Param) bool { return p.In == Query }
	names := make([]string, 0, len(query))
	for name := range query {
		names = append(names, name)
	}
	slices.Sort(names)
	for _, name := range names {
		i, ok := s.byName[name]
		switch {
		case secretNames[strings.ToLower(name)]:
			return warranty.Refuse(warranty.MalformedRequest, "A credential in an address ends up in logs and is never read there; send it as a header, and rotate this one.")
		case !ok || !takes(s.Params[i]):
			c.Add(Sayable(name), "unknown_parameter", "This operation does not take this parameter; it takes: "+s.names(takes)+".")
		case len(query[name]) > 1:
			c.Add(name, "duplicate", "This parameter is given more than once.")
		case query[name][0] == "":
			c.Add(name, "empty", "This parameter is empty; leave it out instead.")
		default:
			set(c, in, s.Params[i], query[name][0])
		}
	}
	return nil
}

// secretNames are query parameters that can only be a misplaced credential.
var secretNames = map[string]bool{"api_key": true, "apikey": true, "x-api-key": true, "key": true, "token": true, "access_token": true}

func (s *Spec) names(takes func(Param) bool) string {
	var names []string
	for _, p := range s.Params {
		if takes(p) {
			names = append(names, p.Name)
		}
	}
	if len(names) == 0 {
		return "none"
	}
	return strings.Join(names, ", ")
}

// Sayable is a name from outside that is fit to be said again.
func Sayable(name string) string {
	name = strings.Map(func(r rune) rune {
		if r < ' ' || r > '~' {
			return '?'
		}
		return r
	}, name)
	if len(name) > 64 {
		name = name[:64] + "…"
	}
	return name
}

// wrong is what is wrong with one value, in words that do not repeat it.
type wrong struct{ code, message string }

var timeType = reflect.TypeFor[time.Time]()

// isText tells types that are written as text: strings and all that read themselves from one.
func isText(t reflect.Type) bool {
	return t.Kind() == reflect.String || reflect.PointerTo(t).Implements(reflect.TypeFor[encoding.TextUnmarshaler]())
}

// setText sets a field from a text.
func setText(field reflect.Value, text string) *wrong {
	if !utf8.ValidString(text) {
		return &wrong{"invalid", "This is not valid UTF-8 text."}
	}
	target := field
	if field.Kind() == reflect.Pointer {
		target = reflect.New(field.Type().Elem()).Elem()
	}
	if w := setPlain(target, text); w != nil {
		return w
	}
	if field.Kind() == reflect.Pointer {
		field.Set(target.Addr())
	}
	return nil
}

func setPlain(target reflect.Value, text string) *wrong {
	if enum, ok := target.Interface().(interface{ Values() []string }); ok {
		// Records may hold any text; what a caller asks for has to be known.
		if err := warranty.CheckEnum(enum, text); err != nil {
			return &wrong{"invalid", strings.ToUpper(err.Error()[:1]) + err.Error()[1:] + "."}
		}
	}
	if reader, ok := target.Addr().Interface().(encoding.TextUnmarshaler); ok {
		err := reader.UnmarshalText([]byte(text))
		switch {
		case err == nil:
			return nil
		case target.Type() == timeType:
			return &wrong{"invalid", "Write an instant as 2027-01-31T12:00:00Z."}
		default:
			return &wrong{"invalid", strings.ToUpper(err.Error()[:1]) + err.Error()[1:] + "."}
		}
	}
	switch target.Kind() {
	case reflect.String:
		target.SetString(text)
		return nil
	case reflect.Int:
		n, err := strconv.Atoi(text)
		if err != nil || strings.HasPrefix(text, "+") {
			return &wrong{"wrong_type", "Write a whole number."}
		}
		target.SetInt(int64(n))
		return nil
	}
	return &wrong{"wrong_type", "This can not be given here."}
}

func expected(t reflect.Type) string {
	switch t = deref(t); {
	case isText(t):
		return "write a text"
	case t.Kind() == reflect.Int:
		return "write a whole number"
	case t.Kind() == reflect.Slice && t.Elem().Kind() == reflect.Struct:
		return "write a list of objects with: " + strings.Join(members(t.Elem()), ", ")
	case t.Kind() == reflect.Slice:
		return "write a list of texts"
	case t.Kind() == reflect.Bool:
		return "write true or false"
	}
	return "see the reference"
}

// members are the names of the fields of an object in a list.
func members(t reflect.Type) []string {
	var names []string
	for _, f := range reflect.VisibleFields(t) {
		name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		names = append(names, name)
	}
	return names
}

// set sets a parameter from a text and notes what is wrong with it.
func set(c *warranty.Checks, in reflect.Value, p Param, text string) {
	field := in.FieldByIndex(p.index)
	w := setText(field, text)
	if w == nil {
		w = outOfRange(p, field, false)
	}
	if w != nil {
		c.Add(p.Name, w.code, w.message)
	}
}

// outOfRange holds a number that was given to the bounds of its declaration. It
// must be done while it is known to be given: in an input, zero is "left out".
func outOfRange(p Param, field reflect.Value, null bool) *wrong {
	if field.Kind() == reflect.Pointer {
		field = field.Elem()
	}
	if null || field.Kind() != reflect.Int {
		return nil
	}
	n := field.Int()
	switch {
	case p.Min != nil && p.Max != nil && (n < *p.Min || n > *p.Max):
		return &wrong{"out_of_range", fmt.Sprintf("Write a number from %d to %d.", *p.Min, *p.Max)}
	case p.Min != nil && n < *p.Min:
		return &wrong{"out_of_range", fmt.Sprintf("Write a number from %d.", *p.Min)}
	}
	return nil
}
