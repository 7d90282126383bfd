package store

import (
	"fmt"
	"strings"
	"sync"
	"time"

	"warranty.example/svc/internal/store/engine"
	"warranty.example/svc/warranty"
)

// column is a column of a record: how it is read, written and compared.
type column[T any] struct {
	name  string
	read  func(*T, *engine.Row) // nil if it is only written
	value func(*T) any
	same  func(a, b *T) bool
	// fixed columns are written when the record is inserted, and never again.
	fixed bool
	// index is not zero for a column in an index. An update names the columns with the same number together, and
	// only if one of them changed: SQLite rewrites every index on a column that an UPDATE names.
	index uint8
}

// once marks a column that never changes.
func (c column[T]) once() column[T] { c.fixed = true; return c }

// in marks a column that is in an index.
func (c column[T]) in(index uint8) column[T] { c.index = index; return c }

// plainColumn makes a column of a field that is always set.
func plainColumn[T any, V comparable](name string, read func(*engine.Row) V, field func(*T) *V) column[T] {
	return column[T]{
		name:  name,
		read:  func(record *T, r *engine.Row) { *field(record) = read(r) },
		value: func(record *T) any { return *field(record) },
		same:  func(a, b *T) bool { return *field(a) == *field(b) },
	}
}

// optionalColumn makes a column of a field that may be nil.
func optionalColumn[T any, V comparable](name string, read func(*engine.Row) *V, field func(*T) **V) column[T] {
	return column[T]{
		name:  name,
		read:  func(record *T, r *engine.Row) { *field(record) = read(r) },
		value: func(record *T) any { return *field(record) },
		same: func(a, b *T) bool {
			x, y := *field(a), *field(b)
			return x == y || x != nil && y != nil && *x == *y
		},
	}
}

func textColumn[T any](name string, field func(*T) *string) column[T] {
	return plainColumn(name, (*engine.Row).Text, field)
}

func optionalTextColumn[T any](name string, field func(*T) **string) column[T] {
	return optionalColumn(name, (*engine.Row).OptionalText, field)
}

func timeColumn[T any](name string, field func(*T) *time.Time) column[T] {
	return plainColumn(name, (*engine.Row).Time, field)
}

func optionalTimeColumn[T any](name string, field func(*T) **time.Time) column[T] {
	return optionalColumn(name, (*engine.Row).OptionalTime, field)
}

func dateColumn[T any](name string, field func(*T) *warranty.Date) column[T] {
	return plainColumn(name, (*engine.Row).Date, field)
}

// derivedColumn makes a column that repeats a part of the record for SQL and is never read.
func derivedColumn[T any](name string, value func(*T) string) column[T] {
	return column[T]{
		name:  name,
		value: func(record *T) any { return value(record) },
		same:  func(a, b *T) bool { return value(a) == value(b) },
	}
}

// table is a table of records, each with a row. SELECT, INSERT, UPDATE and the reader come from its columns.
type table[T any] struct {
	name    string
	columns []column[T]
	// readers are the columns that are read.
	readers []column[T]
	// updates caches the statements by the groups that changed.
	updates sync.Map
}

func newTable[T any](name string, columns ...column[T]) *table[T] {
	t := &table[T]{name: name, columns: columns}
	for _, c := range columns {
		if c.read != nil {
			t.readers = append(t.readers, c)
		}
	}
	return t
}

// selected lists the columns that read reads, of a table with an alias.
func (t *table[T]) selected(alias string) string {
	names := make([]string, 0, len(t.readers))
	for _, c := range t.readers {
		names = append(names, alias+"."+c.name)
	}
	return strings.Join(names, ", ")
}

// read reads the columns of selected.
func (t *table[T]) read(r *engine.Row) (record T) {
	for i := range t.readers {
		t.readers[i].read(&record, r)
	}
	return record
}

// insertWith returns the statement that adds a record, for the arguments of values and more of them, from which the values
// of more columns are computed: %[1]d is the number of the first.
func (t *table[T]) insertWith(more, computed string) string {
	names := make([]string, 0, len(t.columns))
	for _, c := range t.columns {
		names = append(names, c.name)
	}
	n := len(names)
	return `INSERT INTO ` + t.name + ` (` + strings.Join(names, ", ") + `, ` + more + `)
		VALUES (` + placeholders(n) + `, ` + fmt.Sprintf(computed, n+1, n+2) + `)`
}

// values returns the values of all columns, followed by others.
func (t *table[T]) values(record *T, more ...any) []any {
	args := make([]any, 0, len(t.columns)+len(more))
	for i := range t.columns {
		args = append(args, t.columns[i].value(record))
	}
	return append(args, more...)
}

// update returns the statement that changes a record, without its condition, and its arguments. The condition may
// use the first parameters, for which the arguments of the condition are passed.
func (t *table[T]) update(before, after *T, condition ...any) (sql string, args []any) {
	changed := uint64(1) // group 0, of the columns that are in no index
	for i := range t.columns {
		if c := &t.columns[i]; !c.fixed && c.index != 0 && !c.same(before, after) {
			changed |= 1 << c.index
		}
	}
	args = condition
	var set []string
	known, found := t.updates.Load(changed)
	for i := range t.columns {
		c := &t.columns[i]
		if c.fixed || changed&(1<<c.index) == 0 {
			continue
		}
		args = append(args, c.value(after))
		if !found {
			set = append(set, fmt.Sprintf("%s = $%d", c.name, len(args)))
		}
	}
	if !found {
		known = `UPDATE ` + t.name + ` SET ` + strings.Join(set, ", ")
		t.updates.Store(changed, known)
	}
	return known.(string), args
}

// placeholders lists n parameters.
func placeholders(n int) string {
	list := make([]string, n)
	for i := range list {
		list[i] = fmt.Sprintf("$%d", i+1)
	}
	return strings.Join(list, ", ")
}
