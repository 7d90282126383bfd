package main

import (
	"context"
	"fmt"
	"math/rand/v2"
	"time"

	"warranty.example/svc/bench/internal/data"
	"warranty.example/svc/bench/internal/load"
	"warranty.example/svc/bench/internal/proc"
	"warranty.example/svc/bench/internal/report"
)

// awaitIndexes waits until svcd has indexed its long lists. A search makes svcd look at a list now;
// otherwise it looks at all lists in turn.
func awaitIndexes(ctx context.Context, targets []*target, r *report.Report) error {
	for _, t := range targets {
		finder, ok := t.running.API.(load.Finder)
		if _, summarizes := t.running.API.(load.Summarizer); !ok || !summarizes {
			continue
		}
		if err := waitIdle(ctx, []*target{t}); err != nil {
			return err
		}
		before, err := t.costs()
		if err != nil {
			return err
		}
		user, found := data.Big, t.audience.Found[0].Big
		if t.set.Giant {
			user, found = t.audience.Giant, t.audience.Found[0].Giant
		}
		start := time.Now()
		searches := []load.Call{finder.Find(user, load.Find{Page: 1, Words: data.Searches[0].Words, Found: found})}
		if children, ok := t.running.API.(load.ChildFinder); ok && t.set.Giant {
			for _, kind := range []string{"claims", "documents"} {
				searches = append(searches, load.SearchChildren(children, t.audience, kind, 0))
			}
		}
		for _, search := range searches {
			if err := t.repeatUntilCheap(ctx, func(*rand.Rand) load.Call { return search }); err != nil {
				return err
			}
		}
		if err := waitIdle(ctx, []*target{t}); err != nil {
			return err
		}
		after, err := t.costs()
		if err != nil {
			return err
		}
		cost := (after[0] + after[1] - before[0] - before[1]).Seconds()
		logf("%s: indexed after %.0f s, with %.1f s of CPU", t, time.Since(start).Seconds(), cost)
		if t.set.Giant {
			if err := t.addWrites(ctx, r, "first search and index"); err != nil {
				return err
			}
		}
	}
	return nil
}

// scanCost is less than a scan of the longest list costs, and more than an indexed search.
const scanCost = 400 * time.Millisecond

// repeatUntilCheap repeats a search until it does not scan a long list. On a busy machine, a scan may
// take longer than a request may.
func (t *target) repeatUntilCheap(ctx context.Context, search func(*rand.Rand) load.Call) error {
	for try := 0; ; try++ {
		before, err := t.costs()
		if err != nil {
			return err
		}
		_, failed := load.Run(ctx, t.running.Addr, 1, time.Millisecond, search)
		after, err := t.costs()
		if err != nil {
			return err
		}
		if failed == nil && after[0]+after[1]-before[0]-before[1] < scanCost {
			return nil
		}
		if try == 200 {
			return fmt.Errorf("%s: a long list is not indexed (%w)", t, failed)
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(idleCheck):
		}
	}
}

// mergeLength is how long updates are sent to find long transactions.
const mergeLength = 5 * time.Second

// measureMerges sends updates that change the list of Giant, so that svcd merges them into its index.
func measureMerges(ctx context.Context, o options, targets []*target, r *report.Report) error {
	for _, t := range targets {
		if !t.set.Giant {
			continue
		}
		if err := t.addWrites(ctx, r, ""); err != nil {
			return err
		}
		if _, err := load.Run(ctx, t.running.Addr, o.connections, mergeLength, func(rng *rand.Rand) load.Call {
			return load.Update(t.running.API, t.audience, rng)
		}); err != nil {
			return err
		}
		if err := waitIdle(ctx, []*target{t}); err != nil {
			return err
		}
		if err := t.addWrites(ctx, r, "updates and merges"); err != nil {
			return err
		}
	}
	return nil
}

// addWrites adds the transactions since the last call to the report, unless it has no title.
func (t *target) addWrites(ctx context.Context, r *report.Report, title string) error {
	text, err := proc.Fetch(ctx, fmt.Sprintf("http://%s/metrics", t.running.Admin))
	if err != nil {
		return err
	}
	now, err := report.ParseWrites(text)
	if err != nil {
		return err
	}
	if title != "" {
		r.Writes = append(r.Writes, report.Phase{Title: title, Server: t.server.Title(), Writes: now.Minus(t.writes)})
	}
	t.writes = now
	return nil
}
