package main

import (
	"fmt"
	"io"
	"maps"
	"net/http"
	"slices"
	"sync"
	"time"
)

// figures are the statistics of a run.
type figures struct {
	mu       sync.Mutex
	Cycles   map[string]int // by scenario
	Requests int
	Acked    int            // acknowledged writes
	Codes    map[string]int // responses other than success
	Checked  map[string]int // compared items, by kind
	Resolved map[string]int // writes without a response, by result
	Again    int            // emails that arrived twice with the same Message-ID, after a crash
	Restarts map[string][]time.Duration
	Gaps     map[string][]time.Duration // longest time without an acknowledged write, by scenario

	faults  []string // responses with status 500, which are findings
	lastAck time.Time
	gap     time.Duration
}

func newFigures() *figures {
	return &figures{
		Cycles:   map[string]int{},
		Codes:    map[string]int{},
		Checked:  map[string]int{},
		Resolved: map[string]int{},
		Restarts: map[string][]time.Duration{},
		Gaps:     map[string][]time.Duration{},
	}
}

func (f *figures) count(method string, a answer) answer {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.Requests++
	if a.status == http.StatusInternalServerError {
		f.faults = append(f.faults, a.String())
	}
	if a.err != nil || a.status >= 300 {
		f.Codes[a.code()]++
	} else if method != "GET" {
		f.Acked++
		now := time.Now()
		f.gap = max(f.gap, now.Sub(f.lastAck))
		f.lastAck = now
	}
	return a
}

// internal returns the responses with status 500 since the last call.
func (f *figures) internal() []string {
	f.mu.Lock()
	defer f.mu.Unlock()
	faults := f.faults
	f.faults = nil
	return faults
}

// watch starts measuring the longest time without an acknowledged write.
func (f *figures) watch() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.lastAck, f.gap = time.Now(), 0
}

// watched ends the measurement that watch started.
func (f *figures) watched(scenario string) time.Duration {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.gap = max(f.gap, time.Since(f.lastAck))
	f.Gaps[scenario] = append(f.Gaps[scenario], f.gap)
	return f.gap
}

func (f *figures) add(into map[string]int, what string, n int) {
	f.mu.Lock()
	defer f.mu.Unlock()
	into[what] += n
}

// repeated records how often an email arrived again.
func (f *figures) repeated(n int) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.Again = max(f.Again, n)
}

func (f *figures) restarted(what string, took time.Duration) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.Restarts[what] = append(f.Restarts[what], took)
}

// print writes the figures as text.
func (f *figures) print(w io.Writer) {
	f.mu.Lock()
	defer f.mu.Unlock()
	list := func(title string, counts map[string]int) {
		fmt.Fprintf(w, "%s:\n", title)
		for _, key := range slices.Sorted(maps.Keys(counts)) {
			fmt.Fprintf(w, "  %8d  %s\n", counts[key], key)
		}
	}
	times := func(title string, all map[string][]time.Duration) {
		fmt.Fprintf(w, "%s:\n", title)
		for _, key := range slices.Sorted(maps.Keys(all)) {
			sorted := slices.Sorted(slices.Values(all[key]))
			ms := func(d time.Duration) int64 { return d.Milliseconds() }
			fmt.Fprintf(w, "  %-28s %4d times, median %d ms, longest %d ms\n",
				key, len(sorted), ms(sorted[len(sorted)/2]), ms(sorted[len(sorted)-1]))
		}
	}
	list("Cycles", f.Cycles)
	fmt.Fprintf(w, "Requests: %d, including %d acknowledged writes\n", f.Requests, f.Acked)
	list("Responses other than success", f.Codes)
	list("Read back and compared", f.Checked)
	list("Writes without a response", f.Resolved)
	fmt.Fprintf(w, "Emails that arrived again with the same Message-ID after a crash: %d\n", f.Again)
	times("Start until ready", f.Restarts)
	times("Longest time without an acknowledged write", f.Gaps)
}
