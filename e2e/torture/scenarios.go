package main

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// scenario is a fault and the cluster that it is injected into.
type scenario struct {
	name, what string
	shape      shape
	// fault breaks something while clients send requests, and repairs it.
	fault  func(ctx context.Context, c *cluster, rng *rand.Rand) error
	strict bool     // no request may fail
	once   bool     // each cycle needs a new cluster
	short  bool     // part of the short version
	root   bool     // needs root
	needs  []string // programs
}

var scenarios = []scenario{
	{name: "sqlite/kill", what: "kill -9 of svcd", short: true, fault: killServer},
	{name: "sqlite/kill-at-start", what: "kill -9 of svcd while it starts and migrates", fault: killAtStart},
	{name: "sqlite/power", what: "the power fails", shape: shape{volume: true}, short: true, root: true, needs: []string{"mkfs.ext4", "mount"}, fault: powerCut},
	{name: "sqlite/full", what: "the disk is full", shape: shape{volume: true}, short: true, root: true, needs: []string{"mkfs.ext4", "mount"}, fault: diskFull},
	{name: "sqlite/eio", what: "fsync fails, and then the power", shape: shape{volume: true}, short: true, root: true, needs: []string{"strace", "mkfs.ext4", "mount"}, fault: syncsFail},
	{name: "sqlite/read-only", what: "the disk becomes read-only", shape: shape{volume: true}, root: true, needs: []string{"mkfs.ext4", "mount"}, fault: diskAborts},
	{name: "sqlite/descriptors", what: "no file can be opened", needs: []string{"prlimit"}, fault: noDescriptors},
	{name: "sqlite/second", what: "a second svcd on the folder, and another database on it", fault: secondServer},

	{name: "postgres/kill", what: "kill -9 of svcd", shape: shape{postgres: true}, short: true, fault: killServer},
	{name: "postgres/kill-at-start", what: "kill -9 of svcd while it starts and migrates", shape: shape{postgres: true}, fault: killAtStart},
	{name: "postgres/backend", what: "kill -9 of a backend", shape: shape{postgres: true}, fault: killBackend},
	{name: "postgres/postmaster", what: "kill -9 of the postmaster", shape: shape{postgres: true}, short: true, fault: killPostmaster},
	{name: "postgres/immediate", what: "PostgreSQL is stopped at once", shape: shape{postgres: true}, fault: immediateStop},
	{name: "postgres/power", what: "the power fails", shape: shape{postgres: true, volume: true}, root: true, needs: []string{"mkfs.ext4", "mount"}, fault: powerCut},
	{name: "postgres/stall", what: "commits stall", shape: shape{postgres: true}, fault: stallCommits},
	{name: "postgres/delay", what: "each packet takes 200 ms", shape: shape{postgres: true, proxied: true}, fault: delay},
	{name: "postgres/drop", what: "packets are dropped", shape: shape{postgres: true}, root: true, needs: []string{"unshare", "ip", "nft"}, fault: dropPackets},
	{name: "postgres/bouncer", what: "kill -9 of svcd behind PgBouncer in transaction mode", shape: shape{postgres: true, bouncer: true}, needs: []string{"pgbouncer"}, fault: killServer},
	{name: "postgres/failover", what: "the primary crashes", shape: shape{postgres: true, standby: true, replicas: 2}, once: true, fault: crashPrimary},
	{name: "postgres/freeze", what: "the primary freezes", shape: shape{postgres: true, standby: true, replicas: 2}, once: true, fault: freezePrimary},

	{name: "replicas/kill", what: "kill -9 of one of three replicas", shape: replicas, short: true, fault: killServer},
	{name: "replicas/postmaster", what: "kill -9 of the postmaster under three replicas", shape: replicas, fault: killPostmaster},
	{name: "replicas/redis", what: "Redis is killed, frozen and flushed", shape: replicas, needs: []string{"redis-cli"}, fault: breakRedis},
	{name: "replicas/clock", what: "a replica's clock is two hours off", shape: replicas, fault: wrongClock},
	{name: "replicas/restart", what: "rolling restart", shape: draining, strict: true, fault: rollingRestart},
	{name: "replicas/upgrade", what: "rolling upgrade from the previous release", shape: upgraded, strict: true, once: true, fault: rollingUpgrade},
}

var (
	replicas = shape{postgres: true, replicas: 3, redis: true, balanced: true}
	draining = shape{postgres: true, replicas: 3, redis: true, balanced: true, drain: "4s"}
	upgraded = shape{postgres: true, replicas: 3, redis: true, balanced: true, drain: "4s", previous: true}
)

// randomServer returns one of the servers.
func (c *cluster) randomServer(rng *rand.Rand) *server { return c.servers[rng.IntN(len(c.servers))] }

func killServer(ctx context.Context, c *cluster, rng *rand.Rand) error {
	s := c.randomServer(rng)
	s.kill()
	return c.startServer(ctx, s)
}

func killAtStart(ctx context.Context, c *cluster, rng *rand.Rand) error {
	s := c.randomServer(rng)
	s.kill()
	// A server on a new database is killed while it migrates.
	if err := c.killInMigrations(ctx, rng); err != nil {
		return fmt.Errorf("after a kill during migrations: %w", err)
	}
	for range 3 {
		if err := s.start(); err != nil {
			return err
		}
		pause(ctx, between(rng, 0, 120*time.Millisecond))
		s.kill()
	}
	return c.startServer(ctx, s)
}

// killInMigrations kills a server on a new database several times while it starts, and
// then lets it start.
func (c *cluster) killInMigrations(ctx context.Context, rng *rand.Rand) error {
	name := fmt.Sprint("fresh", rng.Uint32())
	args := []string{"--data=" + filepath.Join(c.dir, name)}
	if c.onPostgres {
		if err := c.exec(ctx, "CREATE DATABASE "+name); err != nil {
			return err
		}
		args = append(args, "--database="+strings.Replace(c.primary.url(), "/postgres?", "/"+name+"?", 1))
	}
	s, err := newServer(c.dir, name, c.svcd, c.env, args...)
	if err != nil {
		return err
	}
	defer s.kill()
	for range 4 {
		if err := s.start(); err != nil {
			return err
		}
		pause(ctx, between(rng, 0, 80*time.Millisecond))
		s.kill()
	}
	return c.startServer(ctx, s)
}

// powerCut cuts the power of the servers and their database at the same time.
func powerCut(ctx context.Context, c *cluster, _ *rand.Rand) error {
	all := []*process{}
	for _, s := range c.servers {
		all = append(all, s.process)
	}
	if c.onPostgres {
		all = append(all, c.primary.process)
	}
	err := c.volume.cut(func() {
		for _, p := range all {
			p.group(syscall.SIGSTOP)
		}
		c.signalBackends(syscall.SIGSTOP)
	}, func() {
		c.signalBackends(syscall.SIGKILL)
		for _, p := range all {
			p.kill()
		}
	})
	if err != nil {
		return err
	}
	if c.onPostgres {
		if err := c.primary.up(ctx); err != nil {
			return err
		}
	}
	for _, s := range c.servers {
		if err := c.startServer(ctx, s); err != nil {
			return err
		}
	}
	return nil
}

// signalBackends signals the child processes of PostgreSQL, which have their own process groups.
func (c *cluster) signalBackends(sig syscall.Signal) {
	if !c.onPostgres || !c.primary.running() {
		return
	}
	for _, pid := range childProcesses(c.primary.pid()) {
		_ = syscall.Kill(pid, sig) // it may have ended
	}
}

// childProcesses returns the ids of the children of a process.
func childProcesses(parent int) (pids []int) {
	entries, _ := os.ReadDir("/proc") // no entries without /proc
	for _, entry := range entries {
		pid, err := strconv.Atoi(entry.Name())
		if err != nil {
			continue
		}
		stat, _ := os.ReadFile(filepath.Join("/proc", entry.Name(), "stat")) // it may have ended
		fields := strings.Fields(string(stat[strings.LastIndex(string(stat), ")")+1:]))
		if len(fields) > 1 && fields[1] == strconv.Itoa(parent) {
			pids = append(pids, pid)
		}
	}
	return pids
}

// diskFull fills the disk, and frees the space. Reads must work meanwhile.
func diskFull(ctx context.Context, c *cluster, rng *rand.Rand) error {
	empty, err := c.volume.fill()
	if err != nil {
		return err
	}
	pause(ctx, between(rng, 500*time.Millisecond, time.Second))
	err = c.probe()
	if err := errors.Join(err, empty()); err != nil {
		return err
	}
	return c.servers[0].ready(ctx, nil)
}

// syncsFail makes fsync fail and then cuts the power: acknowledged writes must survive.
func syncsFail(ctx context.Context, c *cluster, rng *rand.Rand) error {
	restore, err := failSyncs(c.servers[0].pid(), 2+rng.IntN(4), filepath.Join(c.dir, "strace.log"))
	if err != nil {
		return err
	}
	pause(ctx, between(rng, 400*time.Millisecond, 900*time.Millisecond))
	return errors.Join(powerCut(ctx, c, rng), restore())
}

// diskAborts makes the disk read-only, then checks and mounts it again like an operator would.
func diskAborts(ctx context.Context, c *cluster, rng *rand.Rand) error {
	if err := c.volume.abort(); err != nil {
		return err
	}
	pause(ctx, between(rng, 300*time.Millisecond, 900*time.Millisecond))
	for _, s := range c.servers {
		s.kill()
	}
	fsck := "e2fsck -fy " + c.volume.image + " >/dev/null; [ $? -lt 4 ]"
	if err := errors.Join(c.volume.unmount(), run("sh", "-c", fsck), c.volume.mount()); err != nil {
		return err
	}
	return c.startServer(ctx, c.servers[0])
}

// noDescriptors keeps the process from opening files for a while.
func noDescriptors(ctx context.Context, c *cluster, rng *rand.Rand) error {
	s := c.servers[0]
	if err := run("prlimit", "--pid", strconv.Itoa(s.pid()), "--nofile=12:"); err != nil {
		return err
	}
	pause(ctx, between(rng, 300*time.Millisecond, 900*time.Millisecond))
	if err := run("prlimit", "--pid", strconv.Itoa(s.pid()), "--nofile=4096:"); err != nil {
		return err
	}
	return s.ready(ctx, nil)
}

// secondServer starts other servers on the same folder: they must fail, and the first must keep running.
func secondServer(ctx context.Context, c *cluster, _ *rand.Rand) error {
	for _, args := range [][]string{
		{"--data=" + c.data},
		{"--data=" + c.data, "--database=" + filepath.Join(c.dir, "other.db")},
		{"--data=" + filepath.Join(c.dir, "elsewhere"), "--database=" + filepath.Join(c.data, "svc.db")},
		{"--data=" + c.data, "--adopt-files"},
	} {
		port, err := freePort()
		if err != nil {
			return err
		}
		ctx, cancel := context.WithTimeout(ctx, time.Minute)
		cmd := exec.CommandContext(ctx, c.svcd, append(args, fmt.Sprintf("--listen=127.0.0.1:%d", port))...)
		out, err := cmd.CombinedOutput()
		cancel()
		var exit *exec.ExitError
		if !errors.As(err, &exit) || exit.ExitCode() != 2 {
			return fmt.Errorf("svcd %v: %w, want exit code 2: %s", args, err, out)
		}
	}
	return nil
}

func killBackend(ctx context.Context, c *cluster, _ *rand.Rand) error {
	pid, err := c.queryText(ctx, `SELECT pid::text FROM pg_stat_activity
		WHERE backend_type = 'client backend' AND pid <> pg_backend_pid() ORDER BY random() LIMIT 1`)
	if err != nil {
		return err
	}
	n, err := strconv.Atoi(pid)
	if err != nil {
		return err
	}
	if err := syscall.Kill(n, syscall.SIGKILL); err != nil {
		return err
	}
	return c.recovered(ctx)
}

// recovered waits until the database and the servers are ready again.
func (c *cluster) recovered(ctx context.Context) error {
	if err := c.primary.accepting(ctx); err != nil {
		return err
	}
	begin := time.Now()
	for _, s := range c.servers {
		if err := s.ready(ctx, nil); err != nil {
			return err
		}
	}
	c.figures.restarted("svcd ready again after its database", time.Since(begin))
	return nil
}

func killPostmaster(ctx context.Context, c *cluster, rng *rand.Rand) error {
	if err := c.primary.signal(syscall.SIGKILL); err != nil {
		return err
	}
	<-c.primary.exited
	pause(ctx, between(rng, 0, 300*time.Millisecond))
	// A new postmaster does not start before the children of the old one have ended.
	if err := until(ctx, "PostgreSQL to start again", func() error {
		if err := c.primary.start(); err != nil {
			return err
		}
		pause(ctx, 100*time.Millisecond)
		if !c.primary.running() {
			return errors.New(tail(c.primary.log))
		}
		return nil
	}); err != nil {
		return err
	}
	return c.recovered(ctx)
}

func immediateStop(ctx context.Context, c *cluster, rng *rand.Rand) error {
	if err := c.primary.stop(syscall.SIGQUIT, 30*time.Second); err != nil {
		return err
	}
	pause(ctx, between(rng, 0, time.Second))
	if err := c.primary.up(ctx); err != nil {
		return err
	}
	return c.recovered(ctx)
}

// stallCommits makes every commit wait, with --long beyond the timeout of clients.
func stallCommits(ctx context.Context, c *cluster, rng *rand.Rand) error {
	if err := c.exec(ctx, `ALTER SYSTEM SET synchronous_standby_names = 'nobody'`, `SELECT pg_reload_conf()`); err != nil {
		return err
	}
	length := between(rng, 3*time.Second, 8*time.Second)
	if c.long {
		length = between(rng, time.Minute, 3*time.Minute)
	}
	pause(ctx, length)
	db, err := openDatabase(c.address() + "&options=-csynchronous_commit%3Dlocal") // does not wait for the standby
	if err != nil {
		return err
	}
	defer db.Close()
	for _, statement := range []string{`ALTER SYSTEM RESET synchronous_standby_names`, `SELECT pg_reload_conf()`} {
		if _, err := db.ExecContext(ctx, statement); err != nil {
			return err
		}
	}
	return c.recovered(ctx)
}

func delay(ctx context.Context, c *cluster, rng *rand.Rand) error {
	c.proxy.delay.Store(int64(200 * time.Millisecond))
	pause(ctx, between(rng, 2*time.Second, 4*time.Second))
	if rng.IntN(2) == 0 { // and then the process dies
		c.servers[0].kill()
		c.proxy.delay.Store(0)
		return c.startServer(ctx, c.servers[0])
	}
	c.proxy.delay.Store(0)
	return c.recovered(ctx)
}

// dropPackets drops all packets between the servers and the database for a while. The
// harness runs in its own network namespace for this (inNetworkNamespace).
func dropPackets(ctx context.Context, c *cluster, rng *rand.Rand) error {
	port := strconv.Itoa(c.primary.port)
	for _, line := range []string{
		"add table inet torture",
		"add chain inet torture out { type filter hook output priority 0 ; }",
		"add rule inet torture out tcp dport " + port + " drop",
		"add rule inet torture out tcp sport " + port + " drop",
	} {
		if err := run("nft", strings.Fields(line)...); err != nil {
			return err
		}
	}
	length := between(rng, time.Second, 12*time.Second)
	pause(ctx, length)
	if err := run("nft", "delete", "table", "inet", "torture"); err != nil {
		return err
	}
	return c.recovered(ctx)
}

func crashPrimary(ctx context.Context, c *cluster, _ *rand.Rand) error {
	old := c.primary
	c.signalBackends(syscall.SIGKILL)
	old.kill()
	return c.failOver(ctx, old, "after a crash")
}

func freezePrimary(ctx context.Context, c *cluster, _ *rand.Rand) error {
	old := c.primary
	c.signalBackends(syscall.SIGSTOP)
	if err := old.signal(syscall.SIGSTOP); err != nil {
		return err
	}
	pids := childProcesses(old.pid())
	err := c.failOver(ctx, old, "after a freeze")
	for _, pid := range pids { // the old primary must never continue
		_ = syscall.Kill(pid, syscall.SIGKILL)
	}
	old.kill()
	return err
}

// failOver promotes the standby immediately, and measures the time until all servers
// are ready.
func (c *cluster) failOver(ctx context.Context, _ *postgres, what string) error {
	begin := time.Now()
	if err := c.promote(ctx); err != nil {
		return err
	}
	for _, s := range c.servers {
		if err := s.ready(ctx, nil); err != nil {
			return err
		}
	}
	c.figures.restarted("svcd ready "+what+" of the primary", time.Since(begin))
	return nil
}

func breakRedis(ctx context.Context, c *cluster, rng *rand.Rand) error {
	switch rng.IntN(3) {
	case 0:
		c.redis.kill()
		pause(ctx, between(rng, 200*time.Millisecond, 2*time.Second))
		return c.redis.start()
	case 1:
		if err := c.redis.signal(syscall.SIGSTOP); err != nil {
			return err
		}
		pause(ctx, between(rng, 200*time.Millisecond, 2*time.Second))
		return c.redis.signal(syscall.SIGCONT)
	}
	return run("redis-cli", "-u", c.redisURL, "FLUSHALL")
}

// wrongClock restarts a replica with a clock that is two hours off.
func wrongClock(ctx context.Context, c *cluster, rng *rand.Rand) error {
	if c.planted == "" {
		return errors.New("--planted is required")
	}
	s := c.randomServer(rng)
	if err := s.stop(syscall.SIGTERM, time.Minute); err != nil {
		return err
	}
	shift := []string{"2h", "-2h"}[rng.IntN(2)]
	command, env := s.command, s.env
	s.command, s.env = append([]string{c.planted}, command[1:]...), append(slices.Clip(env), "SVC_PLANTED=clock:"+shift)
	if err := c.startServer(ctx, s); err != nil {
		return err
	}
	pause(ctx, between(rng, time.Second, 2*time.Second))
	if err := s.stop(syscall.SIGTERM, time.Minute); err != nil {
		return err
	}
	s.command, s.env = command, env
	return c.startServer(ctx, s)
}

// rollingRestart restarts every replica, one after the other.
func rollingRestart(ctx context.Context, c *cluster, _ *rand.Rand) error {
	for _, s := range c.servers {
		if err := s.stop(syscall.SIGTERM, time.Minute); err != nil {
			return err
		}
		if err := c.startServer(ctx, s); err != nil {
			return err
		}
		pause(ctx, 2*time.Second) // the balancer checks once a second
	}
	return nil
}

// rollingUpgrade replaces the previous release with this one.
func rollingUpgrade(ctx context.Context, c *cluster, rng *rand.Rand) error {
	for _, s := range c.servers {
		s.command[0] = c.svcd
	}
	return rollingRestart(ctx, c, rng)
}
