package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"warranty.example/svc/bench/internal/load"
	"warranty.example/svc/bench/internal/proc"
)

// profile runs every operation once more on the servers that provide CPU profiles, and
// saves the profiles. It measures nothing.
func profile(ctx context.Context, o options, targets []*target) error {
	if err := os.MkdirAll(o.profiles, 0o755); err != nil { //nolint:gosec // profiles are not secret
		return err
	}
	for _, t := range targets {
		if t.running.Admin == "" {
			continue
		}
		for _, op := range t.operations(o) {
			file := filepath.Join(o.profiles, fmt.Sprintf("%s-%d-%s.pprof", t.server.Name(), t.set.Records, op.Name))
			if err := profileOne(ctx, o, t, op, file); err != nil {
				return err
			}
			logf("wrote %s", file)
		}
	}
	return nil
}

// profileLength gives a profile of a few hundred samples.
const profileLength = 4 * time.Second

func profileOne(ctx context.Context, o options, t *target, op load.Operation, file string) error {
	fetched := make(chan error, 1)
	go func() {
		url := fmt.Sprintf("http://%s/debug/pprof/profile?seconds=%.0f", t.running.Admin, profileLength.Seconds())
		body, err := proc.Fetch(ctx, url)
		if err == nil {
			err = os.WriteFile(file, body, 0o600)
		}
		fetched <- err
	}()
	if _, err := load.Run(ctx, t.running.Addr, o.connections, profileLength, t.calls(op)); err != nil {
		return err
	}
	return <-fetched
}
