// Package report makes tables of what was measured, and holds it against what
// was promised.
package report

import (
	"cmp"
	"slices"
	"time"
)

// Cell is one operation on one server: of one round, or the median of all.
type Cell struct {
	Requests      int
	PerSecond     float64
	P50, P99      time.Duration
	CPU, Database time.Duration // of the server, and of a database beside it, for a request
}

// key is what a cell is about.
type key struct {
	server    string
	records   int
	operation string
}

// Results are the cells of all rounds.
type Results map[key][]Cell

// Add adds the cell of one round.
func (r Results) Add(server string, records int, operation string, c Cell) {
	k := key{server, records, operation}
	r[k] = append(r[k], c)
}

// Median is what the middle round was, figure by figure.
func (r Results) Median(server string, records int, operation string) (Cell, bool) {
	cells := r[key{server, records, operation}]
	if len(cells) == 0 {
		return Cell{}, false
	}
	var m Cell
	for _, c := range cells {
		m.Requests += c.Requests
	}
	m.PerSecond = middle(cells, func(c Cell) float64 { return c.PerSecond })
	m.P50 = middle(cells, func(c Cell) time.Duration { return c.P50 })
	m.P99 = middle(cells, func(c Cell) time.Duration { return c.P99 })
	m.CPU = middle(cells, func(c Cell) time.Duration { return c.CPU })
	m.Database = middle(cells, func(c Cell) time.Duration { return c.Database })
	return m, true
}

func middle[T cmp.Ordered](cells []Cell, figure func(Cell) T) T {
	figures := make([]T, len(cells))
	for i, c := range cells {
		figures[i] = figure(c)
	}
	slices.Sort(figures)
	return figures[len(figures)/2]
}
