package store

import (
	"regexp"
	"strings"
	"sync"
)

// dialect is how one engine's SQL differs from the text that both share.
type dialect struct {
	mine, other *regexp.Regexp
	// number turns $1 into ?1: SQLite counts $n by first appearance, so that
	// "$2, $1" would bind the wrong way round without a word.
	number bool
	// types are the column types that have another name there.
	types *strings.Replacer
	cache sync.Map // SQL as written -> SQL as sent
}

var (
	pgComment     = regexp.MustCompile(`(?s)/\*pg:(.*?)\*/`)
	sqliteComment = regexp.MustCompile(`(?s)/\*sqlite:(.*?)\*/`)
	placeholder   = regexp.MustCompile(`\$(\d+)`)
)

func postgresDialect() *dialect {
	return &dialect{mine: pgComment, other: sqliteComment, types: strings.NewReplacer()}
}

func sqliteDialect() *dialect {
	return &dialect{mine: sqliteComment, other: pgComment, number: true,
		types: strings.NewReplacer(" UUID", " BLOB", " BYTEA", " BLOB")}
}

// sql is a statement in the engine's own words, translated once.
func (d *dialect) sql(text string) string {
	if done, ok := d.cache.Load(text); ok {
		return done.(string)
	}
	done := d.translate(text)
	d.cache.Store(text, done)
	return done
}

func (d *dialect) translate(text string) string {
	text = d.mine.ReplaceAllString(text, "$1")
	text = d.other.ReplaceAllString(text, "")
	if d.number {
		text = placeholder.ReplaceAllString(text, "?$1")
	}
	return d.types.Replace(text)
}
