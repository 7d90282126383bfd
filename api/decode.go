package api

import (
	"bytes"
	"cmp"
	"encoding"
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

// Decode decodes an HTTP request into the operation's input. It reports all invalid and
// unknown fields at once.
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
				// No record can have this ID.
				return nil, s.NotFound()
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

// ItemsBody returns a body of items as an object: an array, or newline-delimited JSON if lines is set. An
// object is returned as it is.
func ItemsBody(body []byte, lines bool) []byte {
	text := bytes.TrimSpace(body)
	switch {
	case lines:
		var list [][]byte
		for line := range bytes.Lines(text) {
			if line = bytes.TrimSpace(line); len(line) > 0 {
				list = append(list, line)
			}
		}
		text = slices.Concat([]byte{'['}, bytes.Join(list, []byte{','}), []byte{']'})
	case len(text) == 0 || text[0] != '[':
		return body
	}
	return slices.Concat([]byte(`{"items":`), text, []byte{'}'})
}

// headerValue returns the value of a header parameter. If-Match may be split over
// several lines (RFC 9110). An empty or malformed If-Match is an error, because
// ignoring it would make the change unconditional.
func headerValue(p Param, header http.Header) (value string, given bool, err error) {
	values := header.Values(p.HeaderName())
	switch {
	case len(values) == 0:
		return "", false, nil
	case p.Name == "if_match":
		value = strings.Join(values, ", ")
		if !warranty.ValidIfMatch(value) {
			return "", false, warranty.Refuse(warranty.MalformedRequest,
				"The If-Match header is malformed. Send the record's ETag with its quotation marks, a list of ETags, or *.")
		}
		return value, true, nil
	case len(values) > 1:
		return "", false, warranty.Refuse(warranty.MalformedRequest,
			"The %s header was sent more than once. Send it once.", p.HeaderName())
	}
	return values[0], true, nil
}

// DecodeArguments decodes one JSON object with all parameters into the operation's
// input. A null argument counts as not given, so that a model which fills in every
// argument does not clear fields by accident.
func (s *Spec) DecodeArguments(data []byte) (any, error) {
	in := reflect.New(s.In)
	var c warranty.Checks
	if len(data) > 0 {
		if s.decodeObject(data, in.Elem(), &c, func(Param) bool { return true }, setArgument) != nil {
			return nil, malformedArguments
		}
	}
	var missing warranty.Checks // unlike a path, an object can lack path parameters
	for _, p := range s.Params {
		if p.In == Path && in.Elem().FieldByIndex(p.index).IsZero() {
			missing.Add(p.Name, "required", required)
		}
	}
	c.Merge(missing.Err())
	return s.finish(in, &c)
}

// DecodeForm decodes form fields into the operation's input. An empty field counts as
// not given, unless it is text.
func (s *Spec) DecodeForm(values url.Values) (any, error) {
	in := reflect.New(s.In)
	var c warranty.Checks
	for _, p := range s.Params {
		given, ok := values[p.Name]
		field := in.Elem().FieldByIndex(p.index)
		switch {
		case !ok || len(given) == 0:
		case field.Type() == reflect.TypeFor[warranty.ReminderDays]():
			days, err := warranty.ParseReminderDays(strings.Join(given, ","))
			if err != nil {
				c.Add(p.Name, "invalid", "Enter numbers of days, separated by commas, such as 30, 7, 1.")
			}
			field.Set(reflect.ValueOf(days))
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

// finish returns the input, or all errors if decoding found any. It then adds those of
// the input's own check; otherwise the service runs that check.
func (s *Spec) finish(in reflect.Value, c *warranty.Checks) (any, error) {
	if len(c.Fields) == 0 {
		return in.Interface(), nil
	}
	c.Merge(check(in.Interface()))
	return nil, c.Err()
}

// check runs the input's own check.
func check(in any) error {
	switch in := in.(type) {
	case interface{ Check() error }:
		return in.Check()
	case interface{ CheckShape() error }: // Check needs the clock and the server's limits
		return in.CheckShape()
	}
	return nil
}

func (s *Spec) decodeObject(
	data []byte,
	in reflect.Value,
	c *warranty.Checks,
	takes func(Param) bool,
	assign func(Param, reflect.Value, jsontext.Value) *wrong,
) error {
	return readObject(data, func(name string, value jsontext.Value) {
		i, ok := s.byName[name]
		if !ok || !takes(s.Params[i]) {
			if slices.Contains(s.ByPerson, name) {
				c.Add(name, "unknown_field", "The API cannot change this field. A person can correct it at web_url/correct.")
				return
			}
			c.Add(Printable(name), "unknown_field", "Unknown field. Allowed fields: %s.", s.names(takes))
			return
		}
		field := in.FieldByIndex(s.Params[i].index)
		w := assign(s.Params[i], field, value)
		if w == nil {
			w = outOfRange(s.Params[i], field, value.Kind() == 'n')
		}
		if w != nil {
			c.Add(name, w.code, "%s", w.text)
		}
	})
}

func (s *Spec) decodeQuery(raw string, in reflect.Value, c *warranty.Checks) error {
	if raw == "" {
		return nil
	}
	query, err := url.ParseQuery(raw)
	if err != nil {
		return warranty.Refuse(warranty.MalformedRequest, "The query string is malformed. Percent-encode special characters.")
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
			return warranty.Refuse(warranty.MalformedRequest, "Credentials are not accepted in the URL, which may be logged. "+
				"Rotate this credential and send the new one in a header.")
		case !ok || !takes(s.Params[i]):
			c.Add(Printable(name), "unknown_parameter", "Unknown parameter. Allowed parameters: %s.", s.names(takes))
		case len(query[name]) > 1:
			c.Add(name, "duplicate", "Sent more than once. Send it once.")
		case query[name][0] == "":
			c.Add(name, "empty", emptyParameter)
		default:
			set(c, in, s.Params[i], query[name][0])
		}
	}
	return nil
}

// secretNames are query parameters that are certainly misplaced credentials.
var secretNames = map[string]bool{
	"api_key": true, "apikey": true, "x-api-key": true, "key": true, "token": true, "access_token": true,
}

const (
	emptyParameter = "Cannot be empty. Omit it instead."
	required       = "This field is required."
)

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

// Printable returns a caller-supplied name in a form that is safe to include in a
// response: printable ASCII, at most 64 bytes.
func Printable(name string) string {
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

// wrong is the error of a field. Its message does not repeat the value.
type wrong struct {
	code string
	text warranty.Text
}

func wrongf(code, format string, args ...any) *wrong {
	return &wrong{code, warranty.Textf(format, args...)}
}

var (
	timeType   = reflect.TypeFor[time.Time]()
	fieldNames = reflect.TypeFor[warranty.FieldNames]()
)

// isText reports whether values of type t are encoded as strings.
func isText(t reflect.Type) bool {
	return t.Kind() == reflect.String || reflect.PointerTo(t).Implements(reflect.TypeFor[encoding.TextUnmarshaler]())
}

// setText sets a field from text.
func setText(field reflect.Value, text string) *wrong {
	if !utf8.ValidString(text) {
		return wrongf("invalid", "Must be valid UTF-8.")
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
		// Requests must use a known value; records may have any.
		if err := warranty.CheckEnum(enum, text); err != nil {
			return &wrong{"invalid", warranty.Sentence(err)}
		}
	}
	if reader, ok := target.Addr().Interface().(encoding.TextUnmarshaler); ok {
		err := reader.UnmarshalText([]byte(text))
		switch {
		case err == nil:
			return nil
		case target.Type() == timeType:
			return wrongf("invalid", "Must be a time such as 2027-01-31T12:00:00Z.")
		default:
			return &wrong{"invalid", warranty.Sentence(err)}
		}
	}
	switch target.Kind() {
	case reflect.String:
		target.SetString(text)
		return nil
	case reflect.Int:
		n, err := strconv.Atoi(text)
		if err != nil || strings.HasPrefix(text, "+") {
			return wrongf("wrong_type", "Must be an integer.")
		}
		target.SetInt(int64(n))
		return nil
	case reflect.Bool:
		if text != "true" && text != "false" {
			return wrongType(target.Type())
		}
		target.SetBool(text == "true")
		return nil
	}
	return wrongf("wrong_type", "Not supported here.")
}

// set sets a parameter from text and records an error if it is invalid.
func set(c *warranty.Checks, in reflect.Value, p Param, text string) {
	field := in.FieldByIndex(p.index)
	w := setText(field, text)
	if w == nil {
		w = outOfRange(p, field, false)
	}
	if w != nil {
		c.Add(p.Name, w.code, "%s", w.text)
	}
}

// unknownField checks a list of field names.
func unknownField(p Param, names warranty.FieldNames) *wrong {
	for _, name := range names.Names() {
		if !slices.Contains(p.Enum, name) {
			return wrongf("unknown_field", "Unknown field: %s. Allowed fields: %s.",
				cmp.Or(Printable(name), "(empty)"), strings.Join(p.Enum, ", "))
		}
	}
	return nil
}

// outOfRange checks a number against its bounds, and field names against the record. It
// runs while decoding, because in the input zero means "not given".
func outOfRange(p Param, field reflect.Value, null bool) *wrong {
	if field.Kind() == reflect.Pointer {
		field = field.Elem()
	}
	if p.Type == fieldNames {
		return unknownField(p, warranty.FieldNames(field.String()))
	}
	if null || field.Kind() != reflect.Int {
		return nil
	}
	n := field.Int()
	switch {
	case p.Min != nil && p.Max != nil && (n < *p.Min || n > *p.Max):
		return wrongf("out_of_range", "Must be between %d and %d.", *p.Min, *p.Max)
	case p.Min != nil && n < *p.Min:
		return wrongf("out_of_range", "Must be at least %d.", *p.Min)
	}
	return nil
}
