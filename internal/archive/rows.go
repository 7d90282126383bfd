package archive

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"

	"warranty.example/svc/internal/store"
	"warranty.example/svc/internal/store/engine"
)

var (
	errStopped = errors.New("stopped")
	errRow     = fmt.Errorf("%w: it has an invalid row", ErrChecksum)
)

// appendRow appends the line of a row.
func appendRow(line []byte, row []any) []byte {
	line = append(line, '[')
	for i, value := range row {
		if i > 0 {
			line = append(line, ',')
		}
		switch v := value.(type) {
		case nil:
			line = append(line, "null"...)
		case int64:
			line = strconv.AppendInt(line, v, 10)
		case string:
			line = appendText(line, v)
		case []byte:
			line = append(line, '"')
			line = base64.StdEncoding.AppendEncode(line, v)
			line = append(line, '"')
		default:
			panic(fmt.Sprintf("archive: a value of type %T", value))
		}
	}
	return append(line, ']', '\n')
}

// appendText appends a JSON string. Only what must be escaped is, so that equal texts have equal lines.
func appendText(line []byte, text string) []byte {
	const hexDigits = "0123456789abcdef"
	line = append(line, '"')
	start := 0
	for i := range len(text) {
		c := text[i]
		if c >= ' ' && c != '"' && c != '\\' {
			continue
		}
		line = append(line, text[start:i]...)
		if c < ' ' {
			line = append(line, '\\', 'u', '0', '0', hexDigits[c>>4], hexDigits[c&15])
		} else {
			line = append(line, '\\', c)
		}
		start = i + 1
	}
	line = append(line, text[start:]...)
	return append(line, '"')
}

// parseRow parses a line of appendRow into row, which has a value per column.
func parseRow(line []byte, columns []store.Column, row []any) error {
	rest, ok := bytes.CutPrefix(line, []byte("["))
	for i, c := range columns {
		if i > 0 && ok {
			rest, ok = bytes.CutPrefix(rest, []byte(","))
		}
		if !ok {
			return errRow
		}
		var err error
		if row[i], rest, err = parseValue(rest, c.Kind); err != nil {
			return err
		}
	}
	if !ok || string(rest) != "]" {
		return errRow
	}
	return nil
}

// parseValue parses a value of a kind and returns what follows it.
func parseValue(text []byte, kind engine.Kind) (value any, rest []byte, err error) {
	if rest, ok := bytes.CutPrefix(text, []byte("null")); ok {
		return nil, rest, nil
	}
	if kind == engine.Int {
		end := bytes.IndexAny(text, ",]")
		if end < 0 {
			return nil, nil, errRow
		}
		n, err := strconv.ParseInt(string(text[:end]), 10, 64)
		if err != nil {
			return nil, nil, errRow
		}
		return n, text[end:], nil
	}
	quoted, rest, err := parseQuoted(text)
	if err != nil {
		return nil, nil, err
	}
	if kind == engine.Text {
		return quoted, rest, nil
	}
	content, err := base64.StdEncoding.DecodeString(quoted)
	if err != nil {
		return nil, nil, errRow
	}
	return content, rest, nil
}

func parseQuoted(text []byte) (quoted string, rest []byte, err error) {
	if len(text) == 0 || text[0] != '"' {
		return "", nil, errRow
	}
	escaped := false
	for i := 1; i < len(text); i++ {
		switch text[i] {
		case '\\':
			escaped = true
			i++
		case '"':
			if !escaped {
				return string(text[1:i]), text[i+1:], nil
			}
			if err := json.Unmarshal(text[:i+1], &quoted); err != nil {
				return "", nil, errRow
			}
			return quoted, text[i+1:], nil
		}
	}
	return "", nil, errRow
}
