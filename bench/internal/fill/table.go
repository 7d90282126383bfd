// Package fill writes the records of package data into the databases of the
// servers, past their APIs: a million in the time that an API takes for thousands.
package fill

import "iter"

// Table is the rows of one table, in the order of its key.
type Table struct {
	Name    string
	Columns []string
	Rows    iter.Seq[[]any]
}

// rowsOf makes the rows of a table from numbers.
func rowsOf(count int, row func(i int) []any) iter.Seq[[]any] {
	return func(yield func([]any) bool) {
		for i := range count {
			if !yield(row(i)) {
				return
			}
		}
	}
}

// optional is nil for an empty text: NULL, where it was not given.
func optional(text string) any {
	if text == "" {
		return nil
	}
	return text
}
