package main

import (
	"context"
	"fmt"
	"math/rand/v2"
	"time"

	"warranty.example/svc/bench/internal/data"
	"warranty.example/svc/bench/internal/load"
	"warranty.example/svc/bench/internal/report"
	"warranty.example/svc/bench/internal/servers"
	"warranty.example/svc/warranty"
)

// target is a running server with a number of records.
type target struct {
	server      servers.Server
	set         data.Set
	audience    *data.Audience
	running     *servers.Running
	connections map[string]int // by operation
	writes      report.Writes  // when addWrites was last called

	open *interval // the last load, whose CPU time is not read yet
}

// interval is the load of one operation on a target.
type interval struct {
	operation load.Operation
	before    [2]time.Duration // CPU of the server and of its database
	result    load.Result
}

// aftermath is how long a server may work after its responses: svcd writes usage every
// three seconds.
const aftermath = 4 * time.Second

func (t *target) String() string {
	if t.set.Giant {
		return fmt.Sprintf("%s at %d with giant", t.server.Name(), t.set.Records)
	}
	return fmt.Sprintf("%s at %d", t.server.Name(), t.set.Records)
}

// prepare builds, fills and starts everything.
func prepare(ctx context.Context, o options) (targets []*target, err error) {
	audiences := map[int]*data.Audience{}
	for _, s := range o.servers {
		if err := s.Build(ctx); err != nil {
			return targets, err
		}
		for _, set := range o.sets(s) {
			if audiences[set.Records] == nil {
				a := set.Audience(warranty.DateOf(time.Now()))
				audiences[set.Records] = &a
			}
			begun := time.Now()
			if err := s.Fill(ctx, set); err != nil {
				return targets, fmt.Errorf("fill %s: %w", s.Name(), err)
			}
			running, err := s.Start(ctx, set)
			if err != nil {
				return targets, fmt.Errorf("start %s: %w", s.Name(), err)
			}
			t := &target{
				server:      s,
				set:         set,
				audience:    audiences[set.Records],
				running:     running,
				connections: map[string]int{},
			}
			targets = append(targets, t)
			logf("%s: ready after %.1f s", t, time.Since(begun).Seconds())
		}
	}
	return targets, nil
}

// can reports whether an operation is measured on the server.
func (t *target) can(o options, op load.Operation) bool {
	switch op.Group {
	case load.Basic:
		if t.set.Giant {
			return false
		}
	case load.Finding:
		if t.set.Giant || t.set.Records != o.records {
			return false
		}
	case load.FindingGiant:
		if !t.set.Giant {
			return false
		}
	}
	return op.Supports == nil || op.Supports(t.running.API)
}

// operations returns the selected operations that the server supports.
func (t *target) operations(o options) (list []load.Operation) {
	for _, op := range o.operations {
		if t.can(o, op) {
			list = append(list, op)
		}
	}
	return list
}

// calls returns a function that makes the calls of an operation.
func (t *target) calls(op load.Operation) func(*rand.Rand) load.Call {
	return func(rng *rand.Rand) load.Call { return op.Make(t.running.API, t.audience, rng) }
}

// begin runs the load of one operation.
func (t *target) begin(ctx context.Context, op load.Operation, connections int, length time.Duration) error {
	before, err := t.costs()
	if err != nil {
		return err
	}
	result, err := load.Run(ctx, t.running.Addr, connections, length, t.calls(op))
	if err != nil {
		return fmt.Errorf("%s, %s: %w", t, op.Title, err)
	}
	t.open = &interval{op, before, result}
	return nil
}

// end returns the figures of the last load, with the CPU time up to now.
func (t *target) end() (report.Cell, error) {
	after, err := t.costs()
	if err != nil {
		return report.Cell{}, err
	}
	s := t.open
	t.open = nil
	n := max(1, time.Duration(len(s.result.Took))) // a busy machine may answer none in time
	return report.Cell{
		Connections: s.result.Connections,
		PerSecond:   float64(n) / s.result.Elapsed.Seconds(),
		P50:         s.result.Percentile(50),
		P99:         s.result.Percentile(99),
		CPU:         (after[0] - s.before[0]) / n,
		Database:    (after[1] - s.before[1]) / n,
	}, nil
}

// keep adds the last load to the report. It is called before the next load of the
// server, so that work after the responses counts too.
func (t *target) keep(r *report.Report) error {
	if t.open == nil {
		return nil
	}
	operation := t.open.operation.Name
	cell, err := t.end()
	if err == nil {
		r.Add(t.server.Name(), t.set.Records, operation, cell)
	}
	return err
}

// costs returns the CPU times of the server and of its database.
func (t *target) costs() (c [2]time.Duration, err error) {
	if c[0], err = t.running.CPU(); err == nil {
		c[1], err = t.running.DatabaseCPU()
	}
	return c, err
}
