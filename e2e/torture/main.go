// Command torture tries to make the service lose data. It keeps a model of every
// acknowledged write, injects a fault, and reads everything back. docs/reliability.md
// has the results.
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

// command runs torture with command line arguments.
func command(ctx context.Context, args []string) error {
	h := &harness{figures: newFigures()}
	flags := flag.NewFlagSet("torture", flag.ContinueOnError)
	length := flags.Duration("for", time.Minute, "how long to run")
	seed := flags.Uint64("seed", uint64(time.Now().UnixNano()), "seed of the random choices")
	only := flags.String("only", "", "comma-separated scenarios; a name ending in / selects all with this prefix")
	short := flags.Bool("short", false, "only the scenarios of the short version")
	list := flags.Bool("list", false, "list the scenarios")
	replay := flags.String("replay", "", "replay a history that an earlier run has written")
	cycles := flags.Int("cycles", 4, "number of cycles on one cluster before a new one is built")
	flags.StringVar(&h.svcd, "svcd", "", "the svcd to test")
	flags.StringVar(&h.previous, "previous", "", "svcd of the previous release")
	flags.StringVar(&h.planted, "planted", "", "svcd with planted faults")
	flags.StringVar(&h.config, "haproxy", "docs/haproxy.cfg", "HAProxy configuration")
	flags.StringVar(&h.scratch, "scratch", os.TempDir(), "folder for temporary files")
	flags.StringVar(&h.disk, "disk", "", "folder for disk images (default: --scratch)")
	flags.BoolVar(&h.long, "long", false, "stall for minutes instead of seconds")
	plant := flags.String("plant", "", "enable a planted fault")
	source := flags.String("build-planted", "", "build svcd with planted faults from the sources in this folder")
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
		return buildPlanted(*source, os.TempDir(), h.planted)
	}
	if h.svcd == "" {
		return errors.New("--svcd is required")
	}
	if h.disk == "" {
		h.disk = h.scratch
	}
	for _, path := range []*string{&h.svcd, &h.previous, &h.planted, &h.config, &h.scratch, &h.disk} {
		if *path != "" { // each process has its own working folder
			absolute, err := filepath.Abs(*path)
			if err != nil {
				return err
			}
			*path = absolute
		}
	}
	if *plant != "" {
		h.svcd, h.env = h.planted, append(h.env, "SVC_PLANTED="+*plant)
	}
	if *replay != "" {
		return h.replay(ctx, *replay)
	}
	chosen, err := choose(h, *only, *short)
	if err != nil {
		return err
	}
	drops := slices.ContainsFunc(chosen, func(s scenario) bool { return s.name == "postgres/drop" })
	if drops && os.Getenv("TORTURE_NETWORK") == "" {
		return inNetworkNamespace(ctx, args)
	}
	fmt.Printf("seed %d, %d scenarios, %v\n", *seed, len(chosen), *length)
	begin, failures := time.Now(), 0
	for round := uint64(0); time.Since(begin) < *length && ctx.Err() == nil && failures < maxFailures; round++ {
		s := chosen[int(round)%len(chosen)]
		if err := h.round(ctx, s, *seed+round, *cycles); err != nil && ctx.Err() == nil {
			fmt.Printf("FAILED %v\n", err)
			failures++
		}
	}
	h.figures.print(os.Stdout)
	if failures > 0 {
		return fmt.Errorf("%d rounds failed, seed %d", failures, *seed)
	}
	if err := ctx.Err(); err != nil || len(h.figures.Cycles) == 0 {
		return errors.Join(err, errors.New("interrupted"))
	}
	fmt.Printf("Lost 0, doubled 0, half 0, status 500 0, in %v and %d of %d scenarios, seed %d.\n",
		time.Since(begin).Round(time.Second), len(h.figures.Cycles), len(scenarios), *seed)
	return nil
}

// maxFailures ends a run early.
const maxFailures = 5

// choose returns the scenarios of a run. It prints and skips those that cannot run.
func choose(h *harness, only string, short bool) (chosen []scenario, err error) {
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
		case s.shape.previous && h.previous == "":
			lacks = append(lacks, "--previous")
		case s.name == "replicas/clock" && h.planted == "":
			lacks = append(lacks, "--planted")
		}
		if len(lacks) > 0 {
			fmt.Printf("skipping %s: it needs %s\n", s.name, strings.Join(lacks, ", "))
			continue
		}
		chosen = append(chosen, s)
	}
	if len(chosen) == 0 {
		return nil, errors.New("no scenario can run")
	}
	return chosen, nil
}

// inNetworkNamespace runs the harness again in a network namespace, where it can drop
// packets without affecting other programs.
func inNetworkNamespace(ctx context.Context, args []string) error {
	self, err := os.Executable()
	if err != nil {
		return err
	}
	inner := []string{"--net", "sh", "-c", `ip link set lo up && exec "$0" "$@"`, self}
	cmd := exec.CommandContext(ctx, "unshare", append(inner, args...)...)
	cmd.Stdout, cmd.Stderr, cmd.Env = os.Stdout, os.Stderr, append(os.Environ(), "TORTURE_NETWORK=own")
	cmd.Cancel = func() error { return cmd.Process.Signal(os.Interrupt) }
	return cmd.Run()
}

// Sizes of a workload.
const (
	accountCount = 4
	workerCount  = 8
)

// round runs a scenario on a new cluster. Findings are an error.
func (h *harness) round(ctx context.Context, s scenario, seed uint64, cycles int) error {
	found, err := h.search(ctx, s, seed, cycles)
	if err != nil || len(found) == 0 {
		return err
	}
	return h.report(ctx, s, seed, found)
}

// newWorkload builds a cluster and registers accounts.
func (h *harness) newWorkload(ctx context.Context, s scenario, seed uint64) (
	l *workload, c *cluster, remove func(), err error,
) {
	mailbox, err := newMailbox()
	if err != nil {
		return nil, nil, nil, err
	}
	c, err = h.build(ctx, s.shape, mailbox.url())
	if err != nil {
		_ = mailbox.listener.Close() // the first error matters
		return nil, nil, nil, fmt.Errorf("%s: build: %w", s.name, err)
	}
	remove = func() {
		c.remove()
		_ = mailbox.listener.Close() // nothing is pending
	}
	built := c.starts
	l = &workload{
		ctx:     ctx,
		seed:    seed,
		model:   newModel(),
		api:     newAPIClient(h.figures, c.urls...),
		figures: h.figures,
		mailbox: mailbox,
		crashes: func() int { return c.starts - built },
	}
	if err := errors.Join(l.setUp(c.servers), l.register(accountCount)); err != nil {
		remove()
		return nil, nil, nil, fmt.Errorf("%s: %w", s.name, err)
	}
	c.probe = l.readAll
	return l, c, remove, nil
}

// search runs cycles of a scenario on a new cluster until it finds something.
func (h *harness) search(ctx context.Context, s scenario, seed uint64, cycles int) ([]finding, error) {
	l, c, remove, err := h.newWorkload(ctx, s, seed)
	if err != nil {
		return nil, err
	}
	defer remove()
	var workers []*worker
	for n := range workerCount {
		workers = append(workers, l.newWorker(n))
	}
	rng := rand.New(rand.NewPCG(seed, 999))
	if s.once {
		cycles = 1
	}
	for cycle := range cycles {
		err := h.cycle(ctx, s, c, l, workers, rng)
		if found := l.found(); len(found) > 0 {
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

// cycle injects a fault while the workers run, and reads everything back.
func (h *harness) cycle(
	ctx context.Context, s scenario, c *cluster, l *workload, workers []*worker, rng *rand.Rand,
) error {
	stop := make(chan struct{})
	var wg sync.WaitGroup
	l.strict.Store(s.strict)
	for _, w := range workers {
		wg.Go(func() { w.run(stop) })
	}
	pause(ctx, between(rng, 300*time.Millisecond, 900*time.Millisecond))
	h.figures.watch()
	// The next start checks for due reminders again.
	if err := c.exec(ctx, `DELETE FROM milestones`); err != nil {
		close(stop)
		wg.Wait()
		return err
	}
	begin, starts := l.model.since(), c.starts
	err := s.fault(ctx, c, rng)
	l.model.noteFault(s.name, fmt.Sprintf("ended after %v", l.model.since()-begin))
	pause(ctx, between(rng, 200*time.Millisecond, 500*time.Millisecond))
	gap := h.figures.watched(s.name)
	l.strict.Store(false)
	close(stop)
	wg.Wait()
	var down downError
	if errors.As(err, &down) {
		l.find("down", "service", "it does not start again: %v", err)
	}
	if err != nil {
		return err
	}
	for _, text := range h.figures.internal() {
		l.find("500", "service", "%s", text)
	}
	h.figures.add(h.figures.Cycles, s.name, 1)
	if c.starts > starts { // a start sends due reminders
		l.remindedBefore = begin
	}
	begin = l.model.since()
	if err := l.check(ctx, c); err != nil {
		return fmt.Errorf("reading back: %w", err)
	}
	fmt.Printf("%-24s %d records, %d ms without a write, read back in %d ms\n",
		s.name, len(l.model.records), gap.Milliseconds(), (l.model.since() - begin).Milliseconds())
	return ctx.Err()
}

// report returns the findings as an error, and writes a history that reproduces the first.
func (h *harness) report(ctx context.Context, s scenario, seed uint64, found []finding) error {
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
	fmt.Fprintf(&text, "Last errors of the servers:\n%s", logs)
	file := filepath.Join(h.scratch, fmt.Sprintf("torture-%d.json", seed))
	if err := writeHistory(file, s.name, seed, found[0]); err != nil {
		return err
	}
	// This may take many attempts on new clusters; the file exists in any case.
	fmt.Println("found a violation, looking for the shortest history that reproduces it")
	limited, cancel := context.WithTimeout(ctx, 2*time.Minute)
	defer cancel()
	shortest, err := h.shortest(limited, s,
		history{Scenario: s.name, Seed: seed, What: found[0].what, Steps: found[0].history})
	switch {
	case err != nil:
		fmt.Fprintf(&text, "The replay failed: %v\n", err)
	case shortest == nil:
		fmt.Fprintf(&text, "A sequential replay does not reproduce the first finding: run the scenario with the seed.\n")
	default:
		fmt.Fprintf(&text, "The shortest history that reproduces the first finding:\n")
		for _, step := range shortest {
			fmt.Fprintf(&text, "    %s\n", step)
		}
	}
	fmt.Fprintf(&text, "To replay: scripts/torture --replay %s", file)
	return errors.New(text.String())
}
