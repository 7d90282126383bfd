// Command torture tries to make the service lose data. It keeps a model of every
// write that was acknowledged, breaks something, and reads everything back.
// docs/reliability.md tells what it has shown.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	err := command(ctx, os.Args[1:])
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "torture:", err)
		os.Exit(1)
	}
}

// command is main with an error.
func command(ctx context.Context, args []string) error {
	b := &bench{figures: newFigures()}
	flags := flag.NewFlagSet("torture", flag.ContinueOnError)
	length := flags.Duration("for", time.Minute, "how long to go on")
	seed := flags.Uint64("seed", uint64(time.Now().UnixNano()), "where chance begins")
	only := flags.String("only", "", "scenarios, with commas between; a name ending in / stands for all that begin so")
	short := flags.Bool("short", false, "the scenarios of the short version")
	list := flags.Bool("list", false, "list the scenarios")
	replay := flags.String("replay", "", "carry out a history that an earlier run has written")
	cycles := flags.Int("cycles", 4, "cycles on one cluster before another one is made")
	flags.StringVar(&b.svcd, "svcd", "", "the program to break")
	flags.StringVar(&b.previous, "previous", "", "the program of the previous release")
	flags.StringVar(&b.planted, "planted", "", "the program with faults that can be switched on")
	flags.StringVar(&b.config, "haproxy", "docs/haproxy.cfg", "the balancer's configuration")
	flags.StringVar(&b.scratch, "scratch", os.TempDir(), "folder for all files")
	flags.StringVar(&b.disk, "disk", "", "folder for images of disks (the same)")
	flags.BoolVar(&b.long, "long", false, "stall for minutes, not for seconds")
	plant := flags.String("plant", "", "switch a planted fault on")
	source := flags.String("build-planted", "", "build the program with planted faults from the sources in this folder")
	if err := flags.Parse(args); err != nil {
		return err
	}
	if *list {
		for _, s := range scenarios {
			fmt.Printf("%-24s %s\n", s.name, s.what)
		}
		return nil
	}
	if *source != "" {
		return buildPlanted(*source, os.TempDir(), b.planted)
	}
	if b.svcd == "" {
		return errors.New("--svcd is missing")
	}
	if b.disk == "" {
		b.disk = b.scratch
	}
	for _, path := range []*string{&b.svcd, &b.previous, &b.planted, &b.config, &b.scratch, &b.disk} {
		if *path != "" { // each process has a working folder of its own
			absolute, err := filepath.Abs(*path)
			if err != nil {
				return err
			}
			*path = absolute
		}
	}
	if *plant != "" {
		b.svcd, b.env = b.planted, append(b.env, "SVC_PLANTED="+*plant)
	}
	if *replay != "" {
		return b.replay(ctx, *replay)
	}
	chosen, err := choose(b, *only, *short)
	if err != nil {
		return err
	}
	if slices.ContainsFunc(chosen, func(s scenario) bool { return s.name == "postgres/drop" }) && os.Getenv("TORTURE_NETWORK") == "" {
		return ownNetwork(ctx, args)
	}
	fmt.Printf("seed %d, %d scenarios, %v\n", *seed, len(chosen), *length)
	begin, failures := time.Now(), 0
	for round := uint64(0); time.Since(begin) < *length && ctx.Err() == nil && failures < enoughFailures; round++ {
		s := chosen[int(round)%len(chosen)]
		if err := b.round(ctx, s, *seed+round, *cycles); err != nil && ctx.Err() == nil {
			fmt.Printf("FAILED %v\n", err)
			failures++
		}
	}
	b.figures.print(os.Stdout)
	if failures > 0 {
		return fmt.Errorf("%d rounds failed, with seed %d", failures, *seed)
	}
	if err := ctx.Err(); err != nil || len(b.figures.Cycles) == 0 {
		return errors.Join(err, errors.New("it was ended before it was over"))
	}
	fmt.Printf("Lost 0, doubled 0, half 0, 500 0, in %v and %d of %d scenarios, with seed %d.\n", time.Since(begin).Round(time.Second), len(b.figures.Cycles), len(scenarios), *seed)
	return nil
}

// enoughFailures end a run: there is enough to look at.
const enoughFailures = 5

// choose is the scenarios of a run. One that cannot be had is named and left out.
func choose(b *bench, only string, short bool) (chosen []scenario, err error) {
	wanted := strings.Split(only, ",")
	for _, s := range scenarios {
		fits := func(name string) bool {
			return name == s.name || strings.HasSuffix(name, "/") && strings.HasPrefix(s.name, name)
		}
		if only != "" && !slices.ContainsFunc(wanted, fits) || only == "" && short && !s.short {
			continue
		}
		lacks := missing(s.needs...)
		switch {
		case s.root && os.Geteuid() != 0:
			lacks = append(lacks, "root")
		case s.shape.previous && b.previous == "":
			lacks = append(lacks, "--previous")
		case s.name == "replicas/clock" && b.planted == "":
			lacks = append(lacks, "--planted")
		}
		if len(lacks) > 0 {
			fmt.Printf("%s is left out: it needs %s\n", s.name, strings.Join(lacks, ", "))
			continue
		}
		chosen = append(chosen, s)
	}
	if len(chosen) == 0 {
		return nil, errors.New("no scenario is left")
	}
	return chosen, nil
}

// ownNetwork runs the harness again in a network of its own, where packets can be
// dropped without harm to others.
func ownNetwork(ctx context.Context, args []string) error {
	self, err := os.Executable()
	if err != nil {
		return err
	}
	cmd := exec.CommandContext(ctx, "unshare", append([]string{"--net", "sh", "-c", `ip link set lo up && exec "$0" "$@"`, self}, args...)...)
	cmd.Stdout, cmd.Stderr, cmd.Env = os.Stdout, os.Stderr, append(os.Environ(), "TORTURE_NETWORK=own")
	cmd.Cancel = func() error { return cmd.Process.Signal(os.Interrupt) }
	return cmd.Run()
}

// Sizes of a town.
const (
	accounts = 4
	workers  = 8
)

// round makes a cluster and breaks it a few times. What is found is an error.
func (b *bench) round(ctx context.Context, s scenario, seed uint64, cycles int) error {
	found, err := b.hunt(ctx, s, seed, cycles)
	if err != nil || len(found) == 0 {
		return err
	}
	return b.report(ctx, s, seed, found)
}

// hunt makes a cluster and breaks it until something is found, a few times at most.
func (b *bench) hunt(ctx context.Context, s scenario, seed uint64, cycles int) ([]finding, error) {
	mailbox, err := newMailbox()
	if err != nil {
		return nil, err
	}
	defer mailbox.listener.Close()
	c, err := b.build(ctx, s.shape, mailbox.url())
	if err != nil {
		return nil, fmt.Errorf("%s: build: %w", s.name, err)
	}
	defer c.remove()
	built := c.starts
	t := &town{ctx: ctx, seed: seed, model: newModel(), front: newFront(b.figures, c.urls...), figures: b.figures, mailbox: mailbox, older: s.shape.previous}
	if err := t.settle(accounts); err != nil {
		return nil, fmt.Errorf("%s: %w", s.name, err)
	}
	c.probe = t.readAll
	t.crashes = func() int { return c.starts - built }
	var crew []*worker
	for n := range workers {
		crew = append(crew, t.newWorker(n))
	}
	rng := rand.New(rand.NewPCG(seed, 999))
	if s.once {
		cycles = 1
	}
	for cycle := range cycles {
		err := b.cycle(ctx, s, c, t, crew, rng)
		if found := t.found(); len(found) > 0 {
			found[0].logs = c.logs()
			return found, nil
		}
		if err != nil {
			if ctx.Err() != nil {
				return nil, ctx.Err()
			}
			return nil, fmt.Errorf("%s, seed %d, cycle %d: %w\n%s", s.name, seed, cycle, err, c.logs())
		}
	}
	return nil, nil
}

// cycle lets clients work, breaks something meanwhile, and reads everything back.
func (b *bench) cycle(ctx context.Context, s scenario, c *cluster, t *town, crew []*worker, rng *rand.Rand) error {
	stop := make(chan struct{})
	var wg sync.WaitGroup
	t.strict.Store(s.strict)
	for _, w := range crew {
		wg.Go(func() { w.run(stop) })
	}
	pause(ctx, between(rng, 300*time.Millisecond, 900*time.Millisecond))
	b.figures.watch()
	// The next start looks again whom to remind.
	if err := c.tell(ctx, `DELETE FROM milestones`); err != nil {
		close(stop)
		wg.Wait()
		return err
	}
	begin, starts := t.model.since(), c.starts
	err := s.fault(ctx, c, rng)
	t.model.noteFault(s.name, fmt.Sprintf("over after %v", t.model.since()-begin))
	pause(ctx, between(rng, 200*time.Millisecond, 500*time.Millisecond))
	gap := b.figures.watched(s.name)
	t.strict.Store(false)
	close(stop)
	wg.Wait()
	var down downError
	if errors.As(err, &down) {
		t.find("down", "service", "it does not start again: %v", err)
	}
	if err != nil {
		return err
	}
	for _, text := range b.figures.internal() {
		t.find("500", "service", "%s", text)
	}
	b.figures.add(b.figures.Cycles, s.name, 1)
	if c.starts > starts { // who starts reminds
		t.remindedBefore = begin
	}
	begin = t.model.since()
	if err := t.check(ctx, c); err != nil {
		return fmt.Errorf("reading back: %w", err)
	}
	fmt.Printf("%-24s %d records, %d ms without a write, read back in %d ms\n", s.name, len(t.model.records), gap.Milliseconds(), (t.model.since() - begin).Milliseconds())
	return ctx.Err()
}

// report prints what was found, and writes a history that shows it.
func (b *bench) report(ctx context.Context, s scenario, seed uint64, found []finding) error {
	logs := found[0].logs
	slices.SortStableFunc(found, func(a, b finding) int { return len(a.history) - len(b.history) })
	var text strings.Builder
	fmt.Fprintf(&text, "%s, seed %d: %d findings\n", s.name, seed, len(found))
	for i, f := range found {
		if i == 10 {
			fmt.Fprintf(&text, "… and %d more\n", len(found)-i)
			break
		}
		fmt.Fprintf(&text, "%s: %s: %s\n", strings.ToUpper(f.what), f.subject, f.detail)
		for _, step := range f.history {
			fmt.Fprintf(&text, "    %s\n", step)
		}
	}
	fmt.Fprintf(&text, "The last errors of the servers:\n%s", logs)
	file := filepath.Join(b.scratch, fmt.Sprintf("torture-%d.json", seed))
	if err := writeHistory(file, s.name, seed, found[0]); err != nil {
		return err
	}
	// It may take many tries on clusters of their own; the file is there in any case.
	fmt.Printf("found something, looking for the shortest history of it\n")
	trying, cancel := context.WithTimeout(ctx, 2*time.Minute)
	defer cancel()
	shortest, err := b.shortest(trying, s, history{Scenario: s.name, Seed: seed, What: found[0].what, Steps: found[0].history})
	switch {
	case err != nil:
		fmt.Fprintf(&text, "It could not be tried again: %v\n", err)
	case shortest == nil:
		fmt.Fprintf(&text, "One step after the other, the first of them does not show again: it takes the load, with the seed.\n")
	default:
		fmt.Fprintf(&text, "The shortest history that shows the first of them:\n")
		for _, step := range shortest {
			fmt.Fprintf(&text, "    %s\n", step)
		}
	}
	fmt.Fprintf(&text, "Again: scripts/torture --replay %s", file)
	return errors.New(text.String())
}
