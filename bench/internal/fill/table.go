// Package fill writes the records of package data directly into the databases of the
// servers, which is much faster than their APIs.
package fill

import "iter"

// Table is the rows of one table, in the order of its key.
type Table struct {
	Name    string
	Columns []string
	Rows    iter.Seq[[]any]
}

// rowsOf returns count rows of a table.
func rowsOf(count int, row func(i int) []any) iter.Seq[[]any] {
	return func(yield func([]any) bool) {
		for i := range count {
			if !yield(row(i)) {
				return
			}
		}
	}
}

// optional returns nil (NULL) for an empty text.
func optional(text string) any {
	if text == "" {
		return nil
	}
	return text
}
