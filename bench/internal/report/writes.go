package report

import (
	"bytes"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"
)

// Writes counts transactions by their duration: each count is of those up to a bound, the last of all.
type Writes struct {
	Bounds []time.Duration
	Counts []int64
}

// Phase is a part of the run with the transactions during it.
type Phase struct {
	Title, Server string
	Writes        Writes
}

// maxHold is how long a transaction may hold the writer.
const maxHold = 50 * time.Millisecond

// ParseWrites reads the histogram of transactions from the metrics of svcd.
func ParseWrites(metrics []byte) (w Writes, err error) {
	for line := range bytes.Lines(metrics) {
		text, found := strings.CutPrefix(strings.TrimSpace(string(line)), `svc_database_write_duration_seconds_bucket{le="`)
		if !found {
			continue
		}
		bound, count, _ := strings.Cut(text, `"} `)
		n, err := strconv.ParseInt(count, 10, 64)
		if err != nil {
			return w, err
		}
		w.Counts = append(w.Counts, n)
		if seconds, err := strconv.ParseFloat(bound, 64); err == nil && bound != "+Inf" {
			w.Bounds = append(w.Bounds, time.Duration(seconds*float64(time.Second)).Round(time.Microsecond))
		}
	}
	if len(w.Counts) != len(w.Bounds)+1 {
		err = errors.New("the metrics of svcd have no histogram svc_database_write_duration_seconds")
	}
	return w, err
}

// Minus returns the transactions that are not in an earlier count.
func (w Writes) Minus(earlier Writes) Writes {
	counts := make([]int64, len(w.Counts))
	for i, n := range w.Counts {
		counts[i] = n
		if earlier.Counts != nil {
			counts[i] -= earlier.Counts[i]
		}
	}
	return Writes{w.Bounds, counts}
}

// all returns the number of transactions.
func (w Writes) all() int64 { return w.Counts[len(w.Counts)-1] }

// longer returns the number of transactions that took longer than a bound.
func (w Writes) longer(bound time.Duration) int64 {
	for i, b := range w.Bounds {
		if b == bound {
			return w.all() - w.Counts[i]
		}
	}
	return w.all()
}

// longest returns between which bounds the longest transaction was.
func (w Writes) longest() string {
	for i := len(w.Bounds) - 1; i >= 0; i-- {
		if w.all() == w.Counts[i] {
			continue
		}
		if i == len(w.Bounds)-1 {
			return "> " + millis(w.Bounds[i])
		}
		return millis(w.Bounds[i]) + "–" + millis(w.Bounds[i+1])
	}
	return "< " + millis(w.Bounds[0])
}

// WriteTimes returns the table of transactions.
func (r *Report) WriteTimes() string {
	rows := [][]string{{"phase", "server", "transactions", "> 10 ms", "> 25 ms", "> 50 ms", "longest, ms"}}
	for _, p := range r.Writes {
		row := []string{p.Title, p.Server, fmt.Sprint(p.Writes.all())}
		for _, bound := range []time.Duration{10 * time.Millisecond, 25 * time.Millisecond, maxHold} {
			row = append(row, fmt.Sprint(p.Writes.longer(bound)))
		}
		rows = append(rows, append(row, p.Writes.longest()))
	}
	return table(rows)
}
