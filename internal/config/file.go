package config

import (
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"slices"
	"strconv"
	"strings"
	"unicode"

	"github.com/BurntSushi/toml"

	"warranty.example/svc/internal/netaddr"
)

// maxFile is the most that is read of a configuration file or of a file with a secret.
const maxFile = 1 << 20

// fileEntry is a value in the configuration file.
type fileEntry struct {
	value string // in the form of a flag's argument
	line  int
}

// readFile reads a configuration file: the settings of [Table] by the names of their
// flags. Its errors name the line and the key but never contain a value, which may
// be a secret.
func readFile(path string) (map[string]fileEntry, error) {
	text, err := readBounded(path)
	if err != nil {
		return nil, err
	}
	var values map[string]toml.Primitive
	meta, err := toml.Decode(text, &values)
	var syntax toml.ParseError
	if errors.As(err, &syntax) {
		after := ""
		if syntax.LastKey != "" {
			after = " at or after the key " + netaddr.Quote(syntax.LastKey)
		}
		return nil, fmt.Errorf("%s:%d: not valid TOML%s; write name = \"text\", name = 5 or name = true, each once",
			path, syntax.Position.Line, after)
	}
	if err != nil {
		return nil, fmt.Errorf("%s: not valid TOML", path)
	}
	entries, kinds := map[string]fileEntry{}, fileKinds()
	for _, name := range slices.Sorted(maps.Keys(values)) {
		entry := fileEntry{line: lineOf(meta, values[name])}
		kind, known := kinds[name]
		if !known {
			return nil, fmt.Errorf("%s:%d: %s is not a setting; svcd --help lists them", path, entry.line, netaddr.Quote(name))
		}
		var value any
		if err := meta.PrimitiveDecode(values[name], &value); err != nil {
			return nil, fmt.Errorf("%s:%d: %s is not valid TOML", path, entry.line, name)
		}
		if entry.value, err = argument(kind, value); err != nil {
			return nil, fmt.Errorf("%s:%d: %s: %w", path, entry.line, name, err)
		}
		entries[name] = entry
	}
	return entries, nil
}

// fileKinds returns the kind of argument of every key that a configuration file may have.
func fileKinds() map[string]string {
	kinds := map[string]string{}
	for _, s := range Table() {
		if s.Flag == FileFlag {
			continue
		}
		kinds[s.Flag] = s.arg
		if s.shown != nil {
			kinds[s.Flag+fileSuffix] = "path"
		}
	}
	return kinds
}

// argument converts a TOML value to the argument of a flag.
func argument(kind string, value any) (string, error) {
	switch v := value.(type) {
	case bool:
		if kind == boolean {
			return strconv.FormatBool(v), nil
		}
	case int64:
		if kind == number {
			return strconv.FormatInt(v, 10), nil
		}
	case string:
		if kind != boolean && kind != number {
			return strings.TrimSpace(v), nil
		}
	case []any:
		if kind == networks {
			return joined(v)
		}
	}
	switch kind {
	case boolean:
		return "", errors.New("must be true or false, without quotes")
	case number:
		return "", errors.New("must be a whole number, without quotes")
	case networks:
		return "", errors.New("must be a string or a list of strings")
	}
	return "", errors.New("must be a string, in quotes")
}

// joined joins a list of strings with commas.
func joined(list []any) (string, error) {
	texts := make([]string, 0, len(list))
	for _, item := range list {
		text, ok := item.(string)
		if !ok {
			return "", errors.New("must be a string or a list of strings")
		}
		texts = append(texts, text)
	}
	return strings.Join(texts, ","), nil
}

// lineOf returns the line of a value, which the library only reports with an error. A
// dotted key has the line of its last part.
func lineOf(meta toml.MetaData, value toml.Primitive) int {
	var at toml.ParseError
	if errors.As(meta.PrimitiveDecode(value, refusing{}), &at) && at.Position.Line > 0 {
		return at.Position.Line
	}
	var table map[string]toml.Primitive
	if meta.PrimitiveDecode(value, &table) == nil {
		for _, part := range table {
			return lineOf(meta, part)
		}
	}
	return 1
}

// refusing is a value that cannot be decoded.
type refusing struct{}

// UnmarshalTOML implements toml.Unmarshaler.
func (refusing) UnmarshalTOML(any) error { return errors.New("refused") }

// ReadSecret reads a secret from a file of one line.
func ReadSecret(path string) (string, error) {
	text, err := readBounded(path)
	if err != nil {
		return "", err
	}
	text = strings.TrimSuffix(strings.TrimSuffix(text, "\n"), "\r")
	switch {
	case strings.TrimSpace(text) == "":
		return "", fmt.Errorf("%s is empty", path)
	case strings.ContainsFunc(text, unicode.IsControl):
		return "", fmt.Errorf("%s must have one line of text", path)
	}
	return strings.TrimSpace(text), nil
}

// readBounded reads a file of at most maxFile bytes.
func readBounded(path string) (string, error) {
	if err := checkPath(path); err != nil {
		return "", err
	}
	file, err := os.Open(path)
	if err != nil {
		return "", fmt.Errorf("cannot %w", err)
	}
	defer file.Close()
	content, err := io.ReadAll(io.LimitReader(file, maxFile+1))
	if err != nil {
		return "", fmt.Errorf("cannot %w", err)
	}
	if len(content) > maxFile {
		return "", fmt.Errorf("%s is larger than 1 MiB", path)
	}
	return string(content), nil
}
