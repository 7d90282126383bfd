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
	Connections   int
	PerSecond     float64
	P50, P99      time.Duration
	CPU, Database time.Duration // of the server, and of a database beside it, for a request
	Spread        float64       // how far the CPU of the rounds lies apart, as a part of the median
}

// Total is the CPU of the server and of its database for a request.
func (c Cell) Total() time.Duration { return c.CPU + c.Database }

// Server is one of the compared.
type Server struct{ Name, Title string }

// Operation is one of the measured.
type Operation struct {
	Name, Title string
	Lengthens   bool // more records make its answer longer, so it is not promised that it stays
}

// Report is all that was measured. The first server is the one that the others
// are compared with.
type Report struct {
	Servers    []Server
	Operations []Operation
	Records    int
	Smaller    []int            // other sizes that were measured, the smallest first
	Peaks      map[string]int64 // bytes of memory by server, with Connections of them
	PeakAt     int              // connections at which the peaks were measured
	rounds     map[key][]Cell
}

// key is what a cell is about.
type key struct {
	server    string
	records   int
	operation string
}

// Add adds the cell of one round.
func (r *Report) Add(server string, records int, operation string, c Cell) {
	if r.rounds == nil {
		r.rounds = map[key][]Cell{}
	}
	k := key{server, records, operation}
	r.rounds[k] = append(r.rounds[k], c)
}

// Median is what the middle round was, figure by figure.
func (r *Report) Median(server string, records int, operation string) (Cell, bool) {
	cells := r.rounds[key{server, records, operation}]
	if len(cells) == 0 {
		return Cell{}, false
	}
	total := figures(cells, Cell.Total)
	m := Cell{
		Connections: cells[0].Connections,
		PerSecond:   middle(figures(cells, func(c Cell) float64 { return c.PerSecond })),
		P50:         middle(figures(cells, func(c Cell) time.Duration { return c.P50 })),
		P99:         middle(figures(cells, func(c Cell) time.Duration { return c.P99 })),
		CPU:         middle(figures(cells, func(c Cell) time.Duration { return c.CPU })),
		Database:    middle(figures(cells, func(c Cell) time.Duration { return c.Database })),
	}
	if typical := middle(total); typical > 0 {
		m.Spread = float64(total[len(total)-1]-total[0]) / float64(typical)
	}
	return m, true
}

// figure is the CPU of an operation on a server at a size.
type figure struct {
	server, operation string
	records           int
}

// ratio is how many times b goes into a: the median over the rounds, because the
// two were measured one after the other in each, and what disturbed one of them
// mostly disturbed the other, too.
func (r *Report) ratio(a, b figure) (times float64, measured bool) {
	of := r.rounds[key{a.server, a.records, a.operation}]
	to := r.rounds[key{b.server, b.records, b.operation}]
	var list []float64
	for i := range min(len(of), len(to)) {
		if to[i].Total() > 0 {
			list = append(list, float64(of[i].Total())/float64(to[i].Total()))
		}
	}
	if len(list) == 0 {
		return 0, false
	}
	slices.Sort(list)
	return middle(list), true
}

// figures are one figure of all cells, the smallest first.
func figures[T cmp.Ordered](cells []Cell, figure func(Cell) T) []T {
	list := make([]T, len(cells))
	for i, c := range cells {
		list[i] = figure(c)
	}
	slices.Sort(list)
	return list
}

func middle[T any](sorted []T) T { return sorted[len(sorted)/2] }
