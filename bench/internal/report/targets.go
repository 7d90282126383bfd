package report

import (
	"fmt"
	"strings"
	"time"
)

// Names of the servers that targets are about.
const (
	Ours   = "svcd"
	OursPG = "svcd-postgres"
	Pocket = "pocketbase"
	Bare   = "bare"
)

// target is a bound for the ratio of two figures.
type target struct {
	what        string
	a, b        figure
	least, most float64
}

// targets returns the targets of svcd.
func (r *Report) targets() []target {
	at := func(server, operation string) figure { return figure{server, operation, r.Records} }
	list := []target{
		{what: "get: PocketBase to svcd", a: at(Pocket, "get"), b: at(Ours, "get"), least: 4},
		{what: "small page: PocketBase to svcd", a: at(Pocket, "small"), b: at(Ours, "small"), least: 6},
		{what: "big's page: PocketBase to svcd", a: at(Pocket, "big"), b: at(Ours, "big"), least: 100},
		{what: "big by category: PocketBase to svcd", a: at(Pocket, "category"), b: at(Ours, "category"), least: 50},
		{what: "page 1,000: PocketBase to svcd", a: at(Pocket, "deep"), b: at(Ours, "deep"), least: 50},
		{what: "create: PocketBase to svcd", a: at(Pocket, "create"), b: at(Ours, "create"), least: 2.5},
		{what: "update: PocketBase to svcd", a: at(Pocket, "update"), b: at(Ours, "update"), least: 2.5},
		{what: "get: svcd to bare", a: at(Ours, "get"), b: at(Bare, "get"), most: 1.3},
		{what: "update: svcd to bare", a: at(Ours, "update"), b: at(Bare, "update"), most: 1.3},
		{what: "MCP get to get", a: at(Ours, "mcp"), b: at(Ours, "get"), most: 2.5},
		{what: "MCP get to get, PostgreSQL", a: at(OursPG, "mcp"), b: at(OursPG, "get"), most: 2.5},
		{what: "create: svcd to bare", a: at(Ours, "create"), b: at(Bare, "create"), most: 1.6},
		{what: "big's page to a small user's", a: at(Ours, "big"), b: at(Ours, "small"), most: 1.5},
		{what: "page 1,000 to page 1", a: at(Ours, "deep"), b: at(Ours, "big"), most: 5},
	}
	if len(r.Smaller) == 0 {
		return list
	}
	for _, server := range []string{Ours, OursPG} {
		for _, op := range r.Operations {
			if !op.Lengthens {
				list = append(list, target{what: "growth of " + op.Title + ", " + server, a: at(server, op.Name),
					b: figure{server, op.Name, r.Smaller[0]}, most: 1.3})
			}
		}
	}
	return list
}

// bound is an upper bound for the CPU time of a request.
type bound struct {
	what       string
	cost, most time.Duration
}

// bounds returns the measured CPU times that have an upper bound, with a million records.
func (r *Report) bounds() (list []bound) {
	if r.Records != 1_000_000 {
		return nil
	}
	for _, op := range r.Operations {
		for _, server := range []string{Ours, OursPG} {
			c, measured := r.Median(server, r.Records, op.Name)
			most := boundOf(op.Name, server)
			if measured && most > 0 {
				list = append(list, bound{op.Title + ", " + server, c.Total(), most})
			}
		}
	}
	return list
}

// boundOf returns the upper bound for an operation, or 0.
func boundOf(operation, server string) time.Duration {
	has := func(prefix string) bool { return strings.HasPrefix(operation, prefix) }
	switch {
	case has("small-search"):
		return 2 * time.Millisecond
	case (has("search") || has("claims-search") || has("documents-search")) && server == OursPG:
		return 30 * time.Millisecond
	case has("search"), has("claims-search"), has("documents-search"):
		return 20 * time.Millisecond
	case has("giant-search"):
		return 120 * time.Millisecond
	case has("summary"):
		return 10 * time.Millisecond
	case has("sort"):
		return 40 * time.Millisecond
	case has("overview"):
		return 30 * time.Millisecond
	}
	return 0
}

func (r *Report) titleOf(server string) string {
	for _, s := range r.Servers {
		if s.Name == server {
			return s.Title
		}
	}
	return ""
}

const (
	maxMemory = 150 << 20
	reached   = "reached"
	missed    = "MISSED"
)

// Targets returns the table of targets, and the number of missed ones.
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
		got, measured := r.ratio(t.a, t.b)
		switch {
		case !measured:
		case t.least > 0:
			add(t.what, fmt.Sprintf("≥ %v×", t.least), times(got), got >= t.least)
		default:
			add(t.what, fmt.Sprintf("≤ %v×", t.most), times(got), got <= t.most)
		}
	}
	for _, b := range r.bounds() {
		add(b.what, "≤ "+millis(b.most)+" ms", millis(b.cost)+" ms", b.cost <= b.most)
	}
	for _, p := range r.Writes {
		longer := p.Writes.longer(maxHold)
		if p.Server == r.titleOf(Ours) {
			add(p.Title+": transactions longer than "+millis(maxHold)+" ms", "0", fmt.Sprint(longer), longer == 0)
		}
	}
	if n, measured := r.Peaks[Ours]; measured {
		add(fmt.Sprintf("memory of svcd at %d connections", r.PeakAt),
			fmt.Sprintf("< %d MiB", maxMemory>>20), fmt.Sprintf("%d MiB", n>>20), n < maxMemory)
	}
	return table(rows), misses
}
