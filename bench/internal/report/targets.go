package report

import (
	"fmt"
	"time"
)

// Names of the servers that targets are about.
const (
	Ours   = "svcd"
	OursPG = "svcd-postgres"
	Pocket = "pocketbase"
	Bare   = "bare"
)

// target is a promise: the ratio of two figures is at least, or at most, a number.
type target struct {
	what   string
	a, b   figure
	least  float64
	most   float64
	growth bool
}

// figure is the CPU of an operation on a server, at the full size or at the smallest.
type figure struct {
	server, operation string
	smallest          bool
}

// targets are what svcd has to reach.
func (r *Report) targets() []target {
	list := []target{
		{what: "get: PocketBase to svcd", a: figure{server: Pocket, operation: "get"}, b: figure{server: Ours, operation: "get"}, least: 4},
		{what: "small page: PocketBase to svcd", a: figure{server: Pocket, operation: "small"}, b: figure{server: Ours, operation: "small"}, least: 6},
		{what: "big's page: PocketBase to svcd", a: figure{server: Pocket, operation: "big"}, b: figure{server: Ours, operation: "big"}, least: 100},
		{what: "big by category: PocketBase to svcd", a: figure{server: Pocket, operation: "category"}, b: figure{server: Ours, operation: "category"}, least: 50},
		{what: "page 1,000: PocketBase to svcd", a: figure{server: Pocket, operation: "deep"}, b: figure{server: Ours, operation: "deep"}, least: 50},
		{what: "create: PocketBase to svcd", a: figure{server: Pocket, operation: "create"}, b: figure{server: Ours, operation: "create"}, least: 2.5},
		{what: "update: PocketBase to svcd", a: figure{server: Pocket, operation: "update"}, b: figure{server: Ours, operation: "update"}, least: 2.5},
		{what: "get: svcd to bare", a: figure{server: Ours, operation: "get"}, b: figure{server: Bare, operation: "get"}, most: 1.3},
		{what: "create: svcd to bare", a: figure{server: Ours, operation: "create"}, b: figure{server: Bare, operation: "create"}, most: 1.6},
		{what: "big's page to a small user's", a: figure{server: Ours, operation: "big"}, b: figure{server: Ours, operation: "small"}, most: 1.5},
		{what: "page 1,000 to page 1", a: figure{server: Ours, operation: "deep"}, b: figure{server: Ours, operation: "big"}, most: 5},
	}
	for _, server := range []string{Ours, OursPG} {
		for _, op := range r.Operations {
			if op.Lengthens {
				continue
			}
			list = append(list, target{what: "growth of " + op.Title + ", " + server, a: figure{server: server, operation: op.Name},
				b: figure{server: server, operation: op.Name, smallest: true}, most: 1.3, growth: true})
		}
	}
	return list
}

const (
	memoryMost = 150 << 20
	reached    = "reached"
	missed     = "MISSED"
)

// Targets is the table of what was promised, and how many promises were missed.
func (r *Report) Targets() (text string, misses int) {
	rows := [][]string{{"target", "wanted", "measured", ""}}
	add := func(what, wanted, measured string, ok bool) {
		verdict := reached
		if !ok {
			verdict = missed
			misses++
		}
		rows = append(rows, []string{what, wanted, measured, verdict})
	}
	for _, t := range r.targets() {
		a, b := r.cost(t.a), r.cost(t.b)
		if a == 0 || b == 0 || t.growth && len(r.Smaller) == 0 {
			continue // not measured this time
		}
		got := ratio(a, b)
		if t.least > 0 {
			add(t.what, fmt.Sprintf("≥ %v×", t.least), times(got), got >= t.least)
		} else {
			add(t.what, fmt.Sprintf("≤ %v×", t.most), times(got), got <= t.most)
		}
	}
	if n, measured := r.Peaks[Ours]; measured {
		add(fmt.Sprintf("memory of svcd at %d connections", r.PeakAt), fmt.Sprintf("< %d MiB", memoryMost>>20), fmt.Sprintf("%d MiB", n>>20), n < memoryMost)
	}
	return table(rows), misses
}

// cost is the CPU of a figure, or 0 when it was not measured.
func (r *Report) cost(f figure) time.Duration {
	records := r.Records
	if f.smallest && len(r.Smaller) > 0 {
		records = r.Smaller[0]
	}
	c, _ := r.Median(f.server, records, f.operation)
	return c.Total()
}
