// Package report prints the results as tables and compares them with the targets.
package report

import (
	"cmp"
	"slices"
	"time"
)

// Cell is the result of one operation on one server, in one round or as the median.
type Cell struct {
	Connections   int
	PerSecond     float64
	P50, P99      time.Duration
	CPU, Database time.Duration // CPU time per request of the server and of a separate database
	Spread        float64       // range of the CPU times of the rounds, relative to the median
}

// Total returns the CPU time per request of the server and its database.
func (c Cell) Total() time.Duration { return c.CPU + c.Database }

// Server is a measured server.
type Server struct{ Name, Title string }

// Operation is a measured operation.
type Operation struct {
	Name, Title string
	Lengthens   bool // the response grows with the number of records, so there is no target for growth
	// Question and Account are the row and the column in the table Finding; others are in Comparison.
	Question, Account string
}

// Report holds all results. The other servers are compared with the first one.
type Report struct {
	Servers    []Server
	Operations []Operation
	Records    int
	Smaller    []int            // other measured sizes in ascending order
	Peaks      map[string]int64 // peak memory in bytes by server
	PeakAt     int              // number of connections for Peaks
	Writes     []Phase          // transactions with a user who sees all records
	rounds     map[key][]Cell
}

// key identifies the cells of an operation on a server with a number of records.
type key struct {
	server    string
	records   int
	operation string
}

// Add adds the result of one round.
func (r *Report) Add(server string, records int, operation string, c Cell) {
	if r.rounds == nil {
		r.rounds = map[key][]Cell{}
	}
	k := key{server, records, operation}
	r.rounds[k] = append(r.rounds[k], c)
}

// Median returns the median of each figure.
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

// figure identifies the CPU time of an operation on a server with a number of records.
type figure struct {
	server, operation string
	records           int
}

// ratio returns a divided by b: the median of the ratios of the rounds. In each round
// both were measured one after the other, so a disturbance mostly affected both.
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

// figures returns one figure of all cells in ascending order.
func figures[T cmp.Ordered](cells []Cell, figure func(Cell) T) []T {
	list := make([]T, len(cells))
	for i, c := range cells {
		list[i] = figure(c)
	}
	slices.Sort(list)
	return list
}

func middle[T any](sorted []T) T { return sorted[len(sorted)/2] }
