package warranty

import (
	"errors"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Checks collects the invalid fields of an input, so that all of them are reported at
// once.
type Checks struct{ Fields []FieldError }

// Add records an invalid field.
func (c *Checks) Add(field, code, format string, args ...any) {
	message, parts := say(format, args...)
	c.Fields = append(c.Fields, FieldError{field, code, message, parts})
}

// Err returns nil if no field is invalid, and otherwise an Error with all of them.
func (c *Checks) Err() error {
	if len(c.Fields) == 0 {
		return nil
	}
	names := make([]string, 0, len(c.Fields))
	for _, f := range c.Fields {
		names = append(names, f.Field)
	}
	e := Refuse(ValidationFailed, "Fix these fields: %s.", strings.Join(names, ", "))
	e.Fields = c.Fields
	return e
}

// Merge adds the field errors in err, except for fields that already have one.
func (c *Checks) Merge(err error) {
	var other *Error
	if !errors.As(err, &other) {
		return
	}
	for _, f := range other.Fields {
		if !slices.ContainsFunc(c.Fields, func(have FieldError) bool { return have.Field == f.Field }) {
			c.Fields = append(c.Fields, f)
		}
	}
}

// text trims single-line text and checks its length in characters.
func (c *Checks) text(field, value string, least, most int) string {
	return c.anyText(field, value, least, most, false)
}

const invisible = "invisible"

// query is like text, for what is searched for and not stored.
func (c *Checks) query(value string) string {
	const field = "q"
	value = c.text(field, value, 0, MaxQuery)
	if last := len(c.Fields) - 1; last >= 0 && c.Fields[last].Field == field && c.Fields[last].Code == invisible {
		c.Fields = c.Fields[:last]
	}
	return value
}

// lines is like text, but allows line breaks and tabs.
func (c *Checks) lines(field, value string, least, most int) string {
	return c.anyText(field, value, least, most, true)
}

func (c *Checks) anyText(field, value string, least, most int, multiline bool) string {
	value = strings.TrimSpace(value)
	switch n := utf8.RuneCountInString(value); {
	case n == 0 && least > 0:
		c.Add(field, "required", "This field is required.")
	case n < least:
		c.Add(field, "too_short", "Must be at least %d characters.", least)
	case n > most:
		c.Add(field, "too_long", "Must be at most %d characters.", most)
	case !utf8.ValidString(value):
		c.Add(field, "invalid", "Must be valid UTF-8.")
	case strings.ContainsFunc(value, func(r rune) bool { return forbidden(r, multiline) }):
		c.Add(field, "forbidden_character", "Control, zero-width and direction-changing characters are not allowed.")
	case isInvisible(value):
		c.Add(field, invisible, "Must contain a visible character.")
	}
	return value
}

// forbidden reports whether r is not allowed in a record: control and invisible
// characters can deceive terminals, logs and readers, and PostgreSQL rejects NUL.
// Some format characters (Cf) are allowed: the joiners U+200C and U+200D, which
// Persian and emoji need; soft hyphens, which are common in text copied from web
// pages; and the Arabic number signs, which are visible.
func forbidden(r rune, multiline bool) bool {
	switch {
	case r >= ' ' && r <= '~':
		return false
	case r == '\n' || r == '\t' || r == '\r':
		return !multiline
	case r == 0x200C || r == 0x200D || r == 0xAD || unicode.Is(unicode.Prepended_Concatenation_Mark, r):
		return false
	}
	return unicode.In(r, unicode.Cc, unicode.Cf, unicode.Zl, unicode.Zp)
}

// ifMatch validates an optional If-Match value.
func (c *Checks) ifMatch(value string) string {
	before := len(c.Fields)
	value = c.text("if_match", value, 0, MaxIfMatch)
	if len(c.Fields) == before && value != "" && !ValidIfMatch(value) {
		c.Add("if_match", "invalid", "Must be the record's ETag with its quotation marks, a list of ETags, or *.")
	}
	return value
}

// idempotencyKey validates an optional idempotency key.
func (c *Checks) idempotencyKey(sent *string) *string {
	if sent == nil {
		return nil
	}
	key := strings.TrimSpace(*sent)
	// The IETF draft quotes the key; most clients do not.
	if len(key) >= 2 && key[0] == '"' && key[len(key)-1] == '"' {
		key = key[1 : len(key)-1]
	}
	if len(key) < 1 || len(key) > MaxKey || strings.ContainsFunc(key, func(r rune) bool { return r < 0x20 || r > 0x7E }) {
		c.Add("idempotency_key", "invalid", "Must be 1 to 255 printable ASCII characters.")
	}
	return &key
}

// email validates an address and lower-cases it. Addresses are limited to ASCII, so
// that no two accounts look alike.
func (c *Checks) email(field, value string, required bool) string {
	value = strings.TrimSpace(value)
	if value == "" {
		if required {
			c.Add(field, "required", "This field is required.")
		}
		return ""
	}
	if len(value) > MaxEmail {
		c.Add(field, "too_long", "Must be at most %d characters.", MaxEmail)
		return value
	}
	lower := strings.ToLower(value)
	// U+212A (Kelvin) and U+0130 are not ASCII, but their lower cases are: k and i.
	if len(lower) != len(value) || !validEmail(lower) {
		c.Add(field, "invalid_email", "Must be an email address such as name@example.com, with ASCII characters only.")
	}
	return lower
}

func validEmail(s string) bool {
	local, domain, ok := strings.Cut(s, "@")
	if !ok || len(local) == 0 || len(local) > 64 || !dotted(local, "!#$%&'*+-/=?^_`{|}~", 1) {
		return false
	}
	if !dotted(domain, "-", 2) {
		return false
	}
	for label := range strings.SplitSeq(domain, ".") {
		if len(label) > 63 || label[0] == '-' || label[len(label)-1] == '-' {
			return false
		}
	}
	return true
}

// dotted reports whether s consists of at least n non-empty parts separated by dots,
// with only ASCII letters, digits and the extra characters.
func dotted(s, extra string, n int) bool {
	for part := range strings.SplitSeq(s, ".") {
		if part == "" || strings.ContainsFunc(part, func(r rune) bool {
			return (r < 'a' || r > 'z') && (r < '0' || r > '9') && !strings.ContainsRune(extra, r)
		}) {
			return false
		}
		n--
	}
	return n <= 0
}

// Fold returns s in the form used for case-insensitive comparison. Folding is done in
// Go rather than in SQL so that both databases agree.
func Fold(s string) string { return strings.ToLower(s) }
