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

// target is one server that runs on one size of data.
type target struct {
	server      servers.Server
	set         data.Set
	audience    *data.Audience
	running     *servers.Running
	connections map[string]int // by operation

	open *stretch // the load that is not accounted for yet
}

// stretch is some load that was put on a target.
type stretch struct {
	operation load.Operation
	before    [2]time.Duration // CPU of the server and of its database
	result    load.Result
}

// aftermath is how long a server may go on working for requests that it has
// answered: svcd writes down their use every three seconds.
const aftermath = 4 * time.Second

func (t *target) String() string { return fmt.Sprintf("%s at %d", t.server.Name(), t.set.Records) }

// prepare builds, fills and starts everything.
func prepare(ctx context.Context, o options) (targets []*target, err error) {
	audiences := map[int]*data.Audience{}
	for _, s := range o.servers {
		if err := s.Build(ctx); err != nil {
			return targets, err
		}
		for _, records := range o.sizes(s) {
			set := data.Of(records)
			if audiences[records] == nil {
				a := set.Audience(warranty.DateOf(time.Now()))
				audiences[records] = &a
			}
			begun := time.Now()
			if err := s.Fill(ctx, set); err != nil {
				return targets, fmt.Errorf("fill %s: %w", s.Name(), err)
			}
			running, err := s.Start(ctx, set)
			if err != nil {
				return targets, fmt.Errorf("start %s: %w", s.Name(), err)
			}
			t := &target{server: s, set: set, audience: audiences[records], running: running, connections: map[string]int{}}
			targets = append(targets, t)
			say("%s: ready after %.1f s", t, time.Since(begun).Seconds())
		}
	}
	return targets, nil
}

// can tells whether the server offers the operation at all.
func (t *target) can(op load.Operation) bool {
	_, agents := t.running.API.(load.Agents)
	return agents || !op.ForAgents
}

// operations are those that are asked for and that the server offers.
func (t *target) operations(o options) (list []load.Operation) {
	for _, op := range o.operations {
		if t.can(op) {
			list = append(list, op)
		}
	}
	return list
}

// calls makes an operation's calls.
func (t *target) calls(op load.Operation) func(*rand.Rand) load.Call {
	return func(dice *rand.Rand) load.Call { return op.Make(t.running.API, t.audience, dice) }
}

// begin puts one operation's load on the server.
func (t *target) begin(ctx context.Context, op load.Operation, connections int, length time.Duration) error {
	before, err := t.costs()
	if err != nil {
		return err
	}
	result, err := load.Run(ctx, t.running.Addr, connections, length, t.calls(op))
	if err != nil {
		return fmt.Errorf("%s, %s: %w", t, op.Title, err)
	}
	t.open = &stretch{op, before, result}
	return nil
}

// end says what the load has cost until now.
func (t *target) end() (report.Cell, error) {
	after, err := t.costs()
	if err != nil {
		return report.Cell{}, err
	}
	s := t.open
	t.open = nil
	n := time.Duration(len(s.result.Took))
	return report.Cell{Connections: s.result.Connections, PerSecond: float64(n) / s.result.Elapsed.Seconds(),
		P50: s.result.Percentile(50), P99: s.result.Percentile(99),
		CPU: (after[0] - s.before[0]) / n, Database: (after[1] - s.before[1]) / n}, nil
}

// keep adds the load that is not accounted for yet to the report. It is called
// when the server's next turn comes: what a server does for its requests after
// it has answered them costs, too.
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

// costs are the CPU times of the server and of its database.
func (t *target) costs() (c [2]time.Duration, err error) {
	if c[0], err = t.running.CPU(); err == nil {
		c[1], err = t.running.DatabaseCPU()
	}
	return c, err
}
