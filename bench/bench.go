package main

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"time"

	"warranty.example/svc/bench/internal/data"
	"warranty.example/svc/bench/internal/load"
	"warranty.example/svc/bench/internal/report"
	"warranty.example/svc/bench/internal/servers"
	"warranty.example/svc/warranty"
)

// target is one server that runs on one size of data.
type target struct {
	server   servers.Server
	set      data.Set
	audience *data.Audience
	running  *servers.Running
}

func (t target) String() string { return fmt.Sprintf("%s at %d", t.server.Name(), t.set.Records) }

// can tells whether the server offers the operation at all.
func (t target) can(op load.Operation) bool {
	_, agents := t.running.API.(load.Agents)
	return agents || !op.ForAgents
}

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
	if err := warm(ctx, o, targets); err != nil {
		return err
	}
	results := report.Results{}
	for round := range o.rounds {
		say("round %d of %d", round+1, o.rounds)
		for _, op := range o.operations {
			for _, t := range targets {
				if !t.can(op) {
					continue
				}
				cell, err := measure(ctx, t, op, o.connections, o.length)
				if err != nil {
					return err
				}
				results.Add(t.server.Name(), t.set.Records, op.Name, cell)
			}
		}
	}
	fmt.Print(report.Plain(results))
	if o.profiles != "" {
		return profile(ctx, o, targets)
	}
	return nil
}

// prepare builds, fills and starts everything.
func prepare(ctx context.Context, o options) (targets []target, err error) {
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
			t := target{s, set, audiences[records], running}
			targets = append(targets, t)
			say("%s: ready after %.1f s", t, time.Since(begun).Seconds())
		}
	}
	return targets, nil
}

// warm asks for everything once before anything is measured, so that nobody pays
// in the first round for what is kept in memory later.
func warm(ctx context.Context, o options, targets []target) error {
	say("warming up")
	for _, t := range targets {
		for _, op := range o.operations {
			if !t.can(op) {
				continue
			}
			if _, err := measure(ctx, t, op, 2, o.length/5); err != nil {
				return err
			}
		}
	}
	return nil
}

// measure puts one operation's load on one server.
func measure(ctx context.Context, t target, op load.Operation, connections int, length time.Duration) (report.Cell, error) {
	before, err := costs(t.running)
	if err != nil {
		return report.Cell{}, err
	}
	result, err := load.Run(ctx, t.running.Addr, connections, length, func(dice *rand.Rand) load.Call {
		return op.Make(t.running.API, t.audience, dice)
	})
	if err != nil {
		return report.Cell{}, fmt.Errorf("%s, %s: %w", t, op.Title, err)
	}
	after, err := costs(t.running)
	if err != nil {
		return report.Cell{}, err
	}
	n := len(result.Took)
	return report.Cell{Requests: n, PerSecond: float64(n) / result.Elapsed.Seconds(), P50: result.Percentile(50), P99: result.Percentile(99),
		CPU: (after[0] - before[0]) / time.Duration(n), Database: (after[1] - before[1]) / time.Duration(n)}, nil
}

// costs are the CPU times of a server and of its database.
func costs(r *servers.Running) (c [2]time.Duration, err error) {
	if c[0], err = r.CPU(); err == nil {
		c[1], err = r.DatabaseCPU()
	}
	return c, err
}

// say tells whoever waits what is being done; the report alone goes to standard output.
func say(format string, args ...any) {
	fmt.Fprintf(os.Stderr, time.Now().Format(time.TimeOnly)+" "+format+"\n", args...)
}
