package engine

import (
	"regexp"
	"strings"
	"sync"
)

// dialect translates shared SQL into the SQL of one database.
type dialect struct {
	mine, other *regexp.Regexp
	// number rewrites $1 as ?1: SQLite numbers $n parameters by first appearance, so "$2, $1" would
	// silently bind in the wrong order.
	number bool
	// types replaces column types that have another name.
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

// sql translates a statement. Translations are cached.
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
