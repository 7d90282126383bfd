package warranty

import (
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"
)

// Text is an English text for people. A translation is found by its format, which has only the verbs %s and %d, and
// filled with its arguments. An argument may be a Text too.
type Text struct {
	Format string
	Args   []any
}

// Textf returns a text.
func Textf(format string, args ...any) Text { return Text{format, args} }

// say returns a message, and its parts if it has arguments.
func say(format string, args ...any) (string, *Text) {
	if len(args) == 0 {
		return format, nil
	}
	return fmt.Sprintf(format, args...), &Text{format, args} // Sprintf, so that go vet checks the arguments
}

// Parts returns the text, or nil if it has no arguments.
func (t Text) Parts() *Text {
	if len(t.Args) == 0 {
		return nil
	}
	return &t
}

// TextOf returns a message with its arguments apart.
func TextOf(message string, parts *Text) Text {
	if parts == nil {
		return Text{Format: message}
	}
	return *parts
}

// String returns the text in English.
func (t Text) String() string {
	if len(t.Args) == 0 {
		return t.Format
	}
	return fmt.Sprintf(t.Format, t.Args...)
}

// Error is String: a text can be an error.
func (t Text) Error() string { return t.String() }

// Sentence returns the text of an error as a sentence.
func Sentence(err error) Text {
	var t Text
	if !errors.As(err, &t) {
		t.Format = err.Error()
	}
	t.Format = strings.ToUpper(t.Format[:1]) + t.Format[1:] + "."
	return t
}

// Stored returns the text as it is stored: the text itself if it has no arguments, or JSON.
func (t Text) Stored() string {
	stored, err := json.Marshal(t)
	if err != nil || len(t.Args) == 0 {
		return t.String()
	}
	return string(stored)
}

// ParseText returns the text that Stored has encoded.
func ParseText(stored string) (t Text) {
	if !strings.HasPrefix(stored, `{"format":`) || json.Unmarshal([]byte(stored), &t) != nil {
		t = Text{Format: stored}
	}
	return t
}

// storedText is a Text as it is stored. An argument is a kind and a value.
type storedText struct {
	Format string      `json:"format"`
	Args   [][2]string `json:"args"`
}

// The kinds of stored arguments. Others are strings.
const (
	numberArg = "number"
	dateArg   = "date"
	claimArg  = "claim_status"
	statusArg = "status"
	textArg   = "text"
)

// MarshalJSON encodes the text with the kinds of its arguments.
func (t Text) MarshalJSON() ([]byte, error) {
	stored := storedText{Format: t.Format}
	for _, arg := range t.Args {
		kind, value := "", fmt.Sprint(arg)
		switch arg := arg.(type) {
		case int, int64:
			kind = numberArg
		case Date:
			kind = dateArg
		case ClaimStatus:
			kind = claimArg
		case Status:
			kind = statusArg
		case Text:
			kind, value = textArg, arg.Stored()
		}
		stored.Args = append(stored.Args, [2]string{kind, value})
	}
	return json.Marshal(stored)
}

// UnmarshalJSON decodes what MarshalJSON has encoded.
func (t *Text) UnmarshalJSON(data []byte) (err error) {
	var stored storedText
	err = json.Unmarshal(data, &stored)
	*t = Text{Format: stored.Format}
	for i := 0; i < len(stored.Args) && err == nil; i++ {
		value := stored.Args[i][1]
		var arg any = value
		switch stored.Args[i][0] {
		case numberArg:
			arg, err = strconv.ParseInt(value, 10, 64)
		case dateArg:
			arg, err = ParseDate(value)
		case claimArg:
			arg = ClaimStatus(value)
		case statusArg:
			arg = Status(value)
		case textArg:
			arg = ParseText(value)
		}
		t.Args = append(t.Args, arg)
	}
	return err
}
