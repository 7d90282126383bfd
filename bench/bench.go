package main

import (
	"context"
	"fmt"
	"os"
	"slices"
	"time"

	"warranty.example/svc/bench/internal/load"
	"warranty.example/svc/bench/internal/proc"
	"warranty.example/svc/bench/internal/report"
)

// run measures everything and prints the report.
func run(ctx context.Context, o options) error {
	for _, s := range o.servers {
		defer s.Close()
	}
	targets, err := prepare(ctx, o)
	for _, t := range targets {
		defer t.running.Stop()
	}
	if err != nil {
		return err
	}
	if err := rest(ctx, targets); err != nil {
		return err
	}
	busy := report.Busy()
	if err := warm(ctx, o, targets); err != nil {
		return err
	}
	r := newReport(o)
	if err := rounds(ctx, o, targets, r); err != nil {
		return err
	}
	if err := fillMemory(ctx, o, targets, r); err != nil {
		return err
	}
	misses := show(ctx, o, r, fmt.Sprintf("load average %s before and %s after", busy, report.Busy()))
	if o.profiles != "" {
		if err := profile(ctx, o, targets); err != nil {
			return err
		}
	}
	if o.check && misses > 0 {
		return fmt.Errorf("%d targets missed", misses)
	}
	return nil
}

func newReport(o options) *report.Report {
	r := &report.Report{Records: o.records, Smaller: slices.Sorted(slices.Values(o.growth)), Peaks: map[string]int64{}, PeakAt: peakConnections}
	for _, s := range o.servers {
		r.Servers = append(r.Servers, report.Server{Name: s.Name(), Title: s.Title()})
	}
	for _, op := range o.operations {
		r.Operations = append(r.Operations, report.Operation{Name: op.Name, Title: op.Title, Lengthens: op.Lengthens})
	}
	return r
}

// rest waits until no server computes any more: some have work of their own to do
// when they start, as svcd looks for warranties that end soon.
func rest(ctx context.Context, targets []*target) error {
	for _, t := range targets {
		begun := time.Now()
		for last := time.Duration(-1); ; {
			now, err := t.running.CPU()
			if err != nil {
				return err
			}
			if last >= 0 && now-last < restful {
				break
			}
			last = now
			select {
			case <-ctx.Done():
				return ctx.Err()
			case <-time.After(restCheck):
			}
		}
		if waited := time.Since(begun); waited > 2*restCheck {
			say("%s: busy with itself for %.0f s more", t, waited.Seconds())
		}
	}
	return nil
}

// restful is what a server without work computes at most between two looks at it.
const (
	restCheck = time.Second
	restful   = 50 * time.Millisecond
)

// warm asks for everything before anything is measured, so that nobody pays in
// the first round for what is kept in memory later. What an operation costs the
// second time decides how many may ask for it at once: a stretch of load should end.
func warm(ctx context.Context, o options, targets []*target) error {
	say("warming up")
	for _, t := range targets {
		for _, op := range t.operations(o) {
			for range 2 {
				if err := t.begin(ctx, op, 2, o.length/5); err != nil {
					return err
				}
				cell, err := t.end()
				if err != nil {
					return err
				}
				t.connections[op.Name] = enough(o, cell.CPU)
			}
		}
	}
	return nil
}

// enough is the number of connections, or fewer where that many requests would
// take far longer than a stretch of load.
func enough(o options, cost time.Duration) int {
	if cost == 0 {
		return o.connections
	}
	return max(2, min(o.connections, int(4*o.length/cost)))
}

// rounds measures every operation on every server in turn, again and again: what
// disturbs the machine for a while disturbs all of them.
func rounds(ctx context.Context, o options, targets []*target, r *report.Report) error {
	for round := range o.rounds {
		say("round %d of %d", round+1, o.rounds)
		for _, op := range o.operations {
			for _, t := range targets {
				if !t.can(op) {
					continue
				}
				if err := t.keep(r); err != nil {
					return err
				}
				if err := t.begin(ctx, op, t.connections[op.Name], o.length); err != nil {
					return err
				}
			}
		}
	}
	time.Sleep(aftermath)
	for _, t := range targets {
		if err := t.keep(r); err != nil {
			return err
		}
	}
	return nil
}

// peakConnections ask at once when memory is looked at.
const peakConnections = 64

// fillMemory asks the full-sized servers by more connections for what takes
// memory, and notes the most that each of them ever had.
func fillMemory(ctx context.Context, o options, targets []*target, r *report.Report) error {
	say("looking at memory")
	for _, t := range targets {
		if t.set.Records != o.records {
			continue
		}
		for _, op := range t.operations(o) {
			if !slices.Contains([]string{"get", "small", "big", "create"}, op.Name) {
				continue
			}
			if _, err := load.Run(ctx, t.running.Addr, peakConnections, o.length, t.calls(op)); err != nil {
				return err
			}
		}
		peak, err := proc.Peak(t.running.Process.PID)
		if err != nil {
			return err
		}
		r.Peaks[t.server.Name()] = peak
	}
	return nil
}

// show prints the report and returns how many targets were missed.
func show(ctx context.Context, o options, r *report.Report, busy string) int {
	fmt.Printf("%d records, %d connections, median of %d rounds of %v for each operation and server\n\n%s\n%s\n",
		o.records, o.connections, o.rounds, o.length, report.Machine(ctx, busy), r.Comparison())
	if len(r.Smaller) > 0 {
		fmt.Printf("CPU ms for a request as records grow\n\n%s\n", r.Growth())
	}
	fmt.Printf("Memory, with %d connections at the end\n\n%s\n", r.PeakAt, r.Memory())
	targets, misses := r.Targets()
	fmt.Printf("Targets, which are for a million records\n\n%s", targets)
	return misses
}

// say tells whoever waits what is being done; the report alone goes to standard output.
func say(format string, args ...any) {
	fmt.Fprintf(os.Stderr, time.Now().Format(time.TimeOnly)+" "+format+"\n", args...)
}
