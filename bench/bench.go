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

// run measures all operations and prints the report.
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
	r := newReport(o)
	if err := awaitIndexes(ctx, targets, r); err != nil {
		return err
	}
	if err := waitIdle(ctx, targets); err != nil {
		return err
	}
	busy := report.Busy()
	if err := warm(ctx, o, targets); err != nil {
		return err
	}
	if err := rounds(ctx, o, targets, r); err != nil {
		return err
	}
	if err := measureMerges(ctx, o, targets, r); err != nil {
		return err
	}
	if err := measureMemory(ctx, o, targets, r); err != nil {
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
	r := &report.Report{
		Records: o.records,
		Smaller: slices.Sorted(slices.Values(o.growth)),
		Peaks:   map[string]int64{},
		PeakAt:  peakConnections,
	}
	for _, s := range o.servers {
		r.Servers = append(r.Servers, report.Server{Name: s.Name(), Title: s.Title()})
	}
	for _, op := range o.operations {
		r.Operations = append(r.Operations, report.Operation{Name: op.Name, Title: op.Title, Lengthens: op.Lengthens,
			Question: op.Question, Account: op.Account})
	}
	return r
}

// waitIdle waits until all servers are idle: some do work at startup, like svcd, which
// looks for warranties that end soon.
func waitIdle(ctx context.Context, targets []*target) error {
	for _, t := range targets {
		begun := time.Now()
		for last := time.Duration(-1); ; {
			now, err := t.running.CPU()
			if err != nil {
				return err
			}
			if last >= 0 && now-last < idleCPU {
				break
			}
			last = now
			select {
			case <-ctx.Done():
				return ctx.Err()
			case <-time.After(idleCheck):
			}
		}
		if waited := time.Since(begun); waited > 2*idleCheck {
			logf("%s: busy with startup work for %.0f s", t, waited.Seconds())
		}
	}
	return nil
}

// A server is idle when it uses less than idleCPU in idleCheck.
const (
	idleCheck = 3 * time.Second // longer than the pauses of background tasks
	idleCPU   = 150 * time.Millisecond
)

// warm runs every operation before the measurement, so that caches are filled. The CPU
// time of the second run determines the number of connections.
func warm(ctx context.Context, o options, targets []*target) error {
	logf("warming up")
	for _, t := range targets {
		for _, op := range t.operations(o) {
			for range warmUps(op) {
				if err := t.begin(ctx, op, 2, o.length/5); err != nil {
					return err
				}
				cell, err := t.end()
				if err != nil {
					return err
				}
				t.connections[op.Name] = connectionsFor(o, cell.CPU)
			}
		}
	}
	return nil
}

// warmUps returns how often an operation runs before the measurement.
func warmUps(op load.Operation) int {
	if op.Group == load.Basic {
		return 2
	}
	return 1 // the indexes are ready, and the peers are slow
}

// connectionsFor returns the number of connections for an operation: fewer than
// --connections if that many requests would take much longer than --length.
func connectionsFor(o options, cost time.Duration) int {
	if cost == 0 {
		return o.connections
	}
	return max(2, min(o.connections, int(4*o.length/cost)))
}

// rounds measures every operation on every server in turn, so that a disturbance of
// the machine affects all servers.
func rounds(ctx context.Context, o options, targets []*target, r *report.Report) error {
	for round := range o.rounds {
		logf("round %d of %d", round+1, o.rounds)
		for _, op := range o.operations {
			if op.Group != load.Basic && round >= findingRounds {
				continue
			}
			for _, t := range targets {
				if !t.can(o, op) {
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

// findingRounds is the number of rounds for searches and orders, which vary less.
const findingRounds = 3

// peakConnections is the number of connections when memory is measured.
const peakConnections = 64

// measureMemory sends memory-intensive operations over more connections to the servers
// with all records, and reads their peak memory.
func measureMemory(ctx context.Context, o options, targets []*target, r *report.Report) error {
	logf("measuring memory")
	for _, t := range targets {
		if t.set.Records != o.records || t.set.Giant {
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

// show prints the report and returns the number of missed targets.
func show(ctx context.Context, o options, r *report.Report, busy string) int {
	fmt.Printf("%d records, %d connections, median of %d rounds of %v for each operation and server\n\n%s\n%s\n",
		o.records, o.connections, o.rounds, o.length, report.Machine(ctx, busy), r.Comparison())
	if finding := r.Finding(); finding != "" {
		fmt.Printf("Searches, orders and summaries: CPU ms of the server and its database per request\n\n%s\n", finding)
	}
	if len(r.Smaller) > 0 {
		fmt.Printf("CPU ms per request by number of records\n\n%s\n", r.Growth())
	}
	fmt.Printf("Peak memory, with %d connections\n\n%s\n", r.PeakAt, r.Memory())
	if len(r.Writes) > 0 {
		fmt.Printf("Transactions, with a user who sees all records\n\n%s\n", r.WriteTimes())
	}
	targets, misses := r.Targets()
	fmt.Printf("Targets, for a million records\n\n%s", targets)
	return misses
}

// logf prints progress to standard error; only the report goes to standard output.
func logf(format string, args ...any) {
	fmt.Fprintf(os.Stderr, time.Now().Format(time.TimeOnly)+" "+format+"\n", args...)
}
