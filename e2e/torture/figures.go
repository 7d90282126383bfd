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

// figures are what a run has seen.
type figures struct {
	mu       sync.Mutex
	Cycles   map[string]int // by scenario
	Requests int
	Acked    int            // writes
	Codes    map[string]int // of answers that are not success
	Checked  map[string]int // what was read back, by kind
	Resolved map[string]int // unanswered writes that were made, and that were not
	Again    int            // mails that arrived twice with the same Message-ID, after a crash
	Restarts map[string][]time.Duration
	Gaps     map[string][]time.Duration // longest time without an acknowledged write, by scenario

	faults  []string // answers of 500, which must not be
	lastAck time.Time
	gap     time.Duration
}

func newFigures() *figures {
	return &figures{Cycles: map[string]int{}, Codes: map[string]int{}, Checked: map[string]int{}, Resolved: map[string]int{},
		Restarts: map[string][]time.Duration{}, Gaps: map[string][]time.Duration{}}
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

// internal are the answers of 500 since it was asked last.
func (f *figures) internal() []string {
	f.mu.Lock()
	defer f.mu.Unlock()
	faults := f.faults
	f.faults = nil
	return faults
}

// watch begins to look for the longest time without an acknowledged write.
func (f *figures) watch() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.lastAck, f.gap = time.Now(), 0
}

// watched ends what watch began.
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

func (f *figures) restarted(what string, took time.Duration) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.Restarts[what] = append(f.Restarts[what], took)
}

// print writes the figures for people.
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
			fmt.Fprintf(w, "  %-28s %4d times, median %d ms, longest %d ms\n", key, len(sorted), ms(sorted[len(sorted)/2]), ms(sorted[len(sorted)-1]))
		}
	}
	list("Cycles", f.Cycles)
	fmt.Fprintf(w, "Requests: %d, of which %d acknowledged writes\n", f.Requests, f.Acked)
	list("Answers that were not a success", f.Codes)
	list("Read back and compared", f.Checked)
	list("Writes without an answer", f.Resolved)
	fmt.Fprintf(w, "Mails that came again with the same Message-ID after a crash: %d\n", f.Again)
	times("Start until ready", f.Restarts)
	times("Longest time without an acknowledged write", f.Gaps)
}
