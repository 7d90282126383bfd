package main

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"
)

// harness is the configuration of a run.
type harness struct {
	svcd     string // the svcd to test
	previous string // svcd of the previous release, or ""
	planted  string // svcd with planted faults, or ""
	config   string // docs/haproxy.cfg
	scratch  string // folder for temporary files
	disk     string // folder on a real disk, for disk images
	env      []string
	long     bool // stall for minutes instead of seconds
	figures  *figures
}

// cluster is a service with its database and other processes.
type cluster struct {
	*harness
	dir        string
	data       string // the data folder; with SQLite also the database
	onPostgres bool
	servers    []*server
	primary    *postgres // the harness reads from it
	standby    *postgres
	redis      *process
	balancer   *process
	proxy      *proxy
	volume     *volume
	urls       []string // base URLs for clients
	processes  []*process
	databaseOf func() string // the --database of svcd, if not the primary
	redisURL   string
	mailURL    string
	drain      string
	starts     int          // number of starts of servers
	probe      func() error // reads like a client
}

// address returns the database that the harness reads.
func (c *cluster) address() string {
	if c.onPostgres {
		return c.primary.url()
	}
	return filepath.Join(c.data, "svc.db")
}

func (c *cluster) files() string { return filepath.Join(c.data, "files") }

// shape is the topology of a cluster.
type shape struct {
	postgres, standby, bouncer, proxied bool
	replicas                            int // 0 means 1
	redis, balanced, previous           bool
	volume                              bool // the data folder is a separate file system
	drain                               string
}

// build starts a cluster.
func (h *harness) build(ctx context.Context, s shape, mailURL string) (built *cluster, err error) {
	dir, err := os.MkdirTemp(h.scratch, "torture")
	if err != nil {
		return nil, err
	}
	if err := os.Chmod(dir, 0o755); err != nil { // PostgreSQL runs as another user
		return nil, err
	}
	c := &cluster{
		harness:    h,
		dir:        dir,
		data:       filepath.Join(dir, "data"),
		onPostgres: s.postgres,
		mailURL:    mailURL,
		drain:      s.drain,
	}
	defer func() {
		if err != nil {
			c.remove()
		}
	}()
	if err := os.Mkdir(c.data, 0o755); err != nil {
		return nil, err
	}
	if s.volume {
		if c.volume, err = newVolume(h.disk, c.data); err != nil {
			return nil, err
		}
	}
	if s.postgres {
		if err := c.buildPostgres(ctx, s); err != nil {
			return nil, err
		}
	}
	if s.redis {
		if c.redis, c.redisURL, err = newRedis(dir); err != nil {
			return nil, err
		}
		c.processes = append(c.processes, c.redis)
		if err := c.redis.start(); err != nil {
			return nil, err
		}
	}
	binary := h.svcd
	if s.previous {
		binary = h.previous
	}
	for n := range max(1, s.replicas) {
		server, err := newServer(dir, fmt.Sprint("svcd", n), binary, h.env, c.arguments()...)
		if err != nil {
			return nil, err
		}
		if s.drain != "" {
			server.env = append(server.env, "SVC_DRAIN="+s.drain)
		}
		c.servers = append(c.servers, server)
		c.processes = append(c.processes, server.process)
		c.urls = append(c.urls, server.url)
		if err := c.startServer(ctx, server); err != nil {
			return nil, err
		}
	}
	if s.balanced {
		var url string
		if c.balancer, url, err = newBalancer(dir, h.config, c.servers); err != nil {
			return nil, err
		}
		c.processes, c.urls = append(c.processes, c.balancer), []string{url}
		if err := c.balancer.start(); err != nil {
			return nil, err
		}
		if err := (&server{process: c.balancer, url: url}).ready(ctx, nil); err != nil {
			return nil, err
		}
	}
	if s.volume { // sync files that were written without one
		return c, run("sync", "-f", c.data)
	}
	return c, nil
}

// arguments returns the arguments of svcd.
func (c *cluster) arguments() []string {
	args := []string{"--data=" + c.data, "--smtp=" + c.mailURL, "--mail-from=warranties@shop.example"}
	if c.onPostgres {
		address := c.primary.url()
		if c.databaseOf != nil {
			address = c.databaseOf()
		}
		args = append(args, "--database="+address)
	}
	if c.redisURL != "" {
		args = append(args, "--redis="+c.redisURL)
	}
	return args
}

// startServer starts a server and waits until it is ready.
func (c *cluster) startServer(ctx context.Context, s *server) error {
	c.starts++
	if err := s.start(); err != nil {
		return err
	}
	return s.ready(ctx, c.figures)
}

// buildPostgres starts the database and the proxies in front of it.
func (c *cluster) buildPostgres(ctx context.Context, s shape) (err error) {
	folder := c.dir
	if s.volume {
		folder = c.data // a power cut must affect everything
	}
	if c.primary, err = newPostgres(ctx, folder); err != nil {
		return err
	}
	c.processes = append(c.processes, c.primary.process)
	if err := c.primary.up(ctx); err != nil {
		return err
	}
	if s.standby {
		if err := c.buildStandby(ctx); err != nil {
			return err
		}
	}
	if s.proxied {
		if c.proxy, err = newProxy(fmt.Sprintf("127.0.0.1:%d", c.primary.port)); err != nil {
			return err
		}
		c.databaseOf = func() string {
			return fmt.Sprintf("postgres://postgres@%s/postgres?sslmode=disable", c.proxy.address())
		}
	}
	if s.bouncer {
		bouncer, address, err := newBouncer(c.dir, c.primary)
		if err != nil {
			return err
		}
		c.processes = append(c.processes, bouncer)
		if err := bouncer.start(); err != nil {
			return err
		}
		if err := until(ctx, "PgBouncer", func() error {
			db, err := openDatabase(address)
			if err != nil {
				return err
			}
			defer db.Close()
			return db.PingContext(ctx)
		}); err != nil {
			return fmt.Errorf("%w: %s", err, tail(bouncer.log))
		}
		c.databaseOf = func() string { return address }
	}
	return nil
}

// buildStandby adds a synchronous standby.
func (c *cluster) buildStandby(ctx context.Context) (err error) {
	if c.standby, err = describePostgres(c.primary.bin, c.dir, "standby"); err != nil {
		return err
	}
	c.processes = append(c.processes, c.standby.process)
	if err := c.standby.runAs(ctx, filepath.Join(c.primary.bin, "pg_basebackup"), "-D", c.standby.data, "-R", "-X", "stream",
		"-d", fmt.Sprintf("host=127.0.0.1 port=%d user=postgres application_name=standby", c.primary.port)); err != nil {
		return err
	}
	if err := c.standby.up(ctx); err != nil {
		return err
	}
	if err := c.exec(ctx, `ALTER SYSTEM SET synchronous_standby_names = 'standby'`, `SELECT pg_reload_conf()`); err != nil {
		return err
	}
	if err := until(ctx, "the standby to be synchronous", func() error {
		state, err := c.queryText(ctx, `SELECT coalesce(max(sync_state), 'none') FROM pg_stat_replication`)
		if err == nil && state != "sync" {
			err = errors.New("its state is " + state)
		}
		return err
	}); err != nil {
		return err
	}
	first, second := c.primary.port, c.standby.port
	c.databaseOf = func() string {
		const format = "postgres://postgres@127.0.0.1:%d,127.0.0.1:%d/postgres?sslmode=disable&target_session_attrs=read-write"
		return fmt.Sprintf(format, first, second)
	}
	return nil
}

// exec executes statements on the primary.
func (c *cluster) exec(ctx context.Context, statements ...string) error {
	db, err := openDatabase(c.address())
	if err != nil {
		return err
	}
	defer db.Close()
	for _, statement := range statements {
		if _, err := db.ExecContext(ctx, statement); err != nil {
			return fmt.Errorf("%s: %w", statement, err)
		}
	}
	return nil
}

// queryText runs a query for one text on the primary. No row is "".
func (c *cluster) queryText(ctx context.Context, query string) (text string, err error) {
	db, err := openDatabase(c.address())
	if err != nil {
		return "", err
	}
	defer db.Close()
	err = db.QueryRowContext(ctx, query).Scan(&text)
	if errors.Is(err, sql.ErrNoRows) {
		err = nil
	}
	return text, err
}

// promote makes the standby the primary.
func (c *cluster) promote(ctx context.Context) error {
	c.primary, c.standby = c.standby, nil
	if err := c.primary.configure("synchronous_standby_names = ''"); err != nil {
		return err
	}
	if err := c.primary.runAs(ctx, filepath.Join(c.primary.bin, "pg_ctl"), "promote", "-w", "-D", c.primary.data); err != nil {
		return err
	}
	return c.exec(ctx, `ALTER SYSTEM SET synchronous_standby_names = ''`, `SELECT pg_reload_conf()`)
}

// remove kills all processes and removes their files.
func (c *cluster) remove() {
	for _, p := range slices.Backward(c.processes) {
		p.group(syscall.SIGCONT)
		p.kill()
	}
	if c.proxy != nil {
		c.proxy.close()
	}
	if c.volume != nil {
		_ = c.volume.remove() // the folder is removed below
	}
	_ = os.RemoveAll(c.dir) // temporary files
}

// pause waits for d or until ctx is done.
func pause(ctx context.Context, d time.Duration) {
	select {
	case <-ctx.Done():
	case <-time.After(d):
	}
}

func between(rng *rand.Rand, least, most time.Duration) time.Duration {
	return least + time.Duration(rng.Int64N(int64(most-least)))
}

func decode(a answer, into any) error {
	if a.err != nil || a.status >= 300 {
		return errors.New(a.String())
	}
	return json.Unmarshal(a.body, into)
}

// logs returns the last errors in the log of each server.
func (c *cluster) logs() string {
	var text strings.Builder
	for _, s := range c.servers {
		log, _ := os.ReadFile(s.log) // it may never have started
		lines := slices.DeleteFunc(strings.Split(string(log), "\n"), func(line string) bool {
			return line == "" || strings.Contains(line, `"level":"INFO"`) || strings.Contains(line, `"msg":"request"`)
		})
		fmt.Fprintf(&text, "%s:\n    %s\n", s.name, strings.Join(lines[max(0, len(lines)-8):], "\n    "))
	}
	return text.String()
}
