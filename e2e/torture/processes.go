package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// process is a process of the cluster: a server, a database, a balancer.
type process struct {
	name    string
	command []string
	dir     string
	env     []string
	as      *syscall.Credential
	cmd     *exec.Cmd
	exited  chan struct{}
	log     string
}

// start starts the process in its own process group.
func (p *process) start() error {
	log, err := os.OpenFile(p.log, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o644)
	if err != nil {
		return err
	}
	defer log.Close()
	cmd := exec.Command(p.command[0], p.command[1:]...)
	cmd.Dir, cmd.Stdout, cmd.Stderr = p.dir, log, log
	cmd.Env = append([]string{"PATH=" + os.Getenv("PATH") + ":/usr/sbin:/sbin", "LC_ALL=C"}, p.env...)
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Credential: p.as}
	if err := cmd.Start(); err != nil {
		return err
	}
	exited := make(chan struct{})
	p.cmd, p.exited = cmd, exited
	go func() { _ = cmd.Wait(); close(exited) }() // the log has the reason
	return nil
}

// running reports whether the process was started and has not ended.
func (p *process) running() bool {
	if p.cmd == nil {
		return false
	}
	select {
	case <-p.exited:
		return false
	default:
		return true
	}
}

func (p *process) pid() int { return p.cmd.Process.Pid }

func (p *process) signal(s syscall.Signal) error { return p.cmd.Process.Signal(s) }

// group signals the process group.
func (p *process) group(s syscall.Signal) {
	if p.cmd != nil {
		_ = syscall.Kill(-p.pid(), s) // they may have ended
	}
}

// kill kills the process group and waits for its end.
func (p *process) kill() {
	if p.running() {
		p.group(syscall.SIGKILL)
		<-p.exited
	}
}

// stop sends a signal and waits for the end.
func (p *process) stop(s syscall.Signal, patience time.Duration) error {
	if !p.running() {
		return nil
	}
	if err := p.signal(s); err != nil {
		return err
	}
	select {
	case <-p.exited:
		return nil
	case <-time.After(patience):
		p.kill()
		return fmt.Errorf("%s did not end within %v", p.name, patience)
	}
}

// downError is the error of a process that has ended, so that waiting is useless.
type downError struct{ error }

// until calls done until it succeeds, for at most a minute.
func until(ctx context.Context, what string, done func() error) error {
	var err error
	for deadline := time.Now().Add(time.Minute); time.Now().Before(deadline); {
		var down downError
		if err = done(); err == nil || errors.As(err, &down) {
			return err
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(5 * time.Millisecond):
		}
	}
	return fmt.Errorf("waited a minute for %s: %w", what, err)
}

// freePort returns a free loopback port below the ephemeral range.
func freePort() (int, error) {
	for range 200 {
		port := 20000 + int(time.Now().UnixNano()/1000%12000)
		listener, err := net.Listen("tcp", net.JoinHostPort("127.0.0.1", strconv.Itoa(port)))
		if err != nil {
			time.Sleep(time.Millisecond)
			continue
		}
		return port, listener.Close()
	}
	return 0, errors.New("no free port")
}

// run runs a command and waits for its end.
func run(name string, args ...string) error {
	out, err := exec.Command(name, args...).CombinedOutput()
	if err != nil {
		return fmt.Errorf("%s %s: %w: %s", name, strings.Join(args, " "), err, bytes.TrimSpace(out))
	}
	return nil
}

// server is a svcd.
type server struct {
	*process
	url string
}

// newServer returns a svcd that is not started.
func newServer(dir, name, binary string, env []string, args ...string) (*server, error) {
	port, err := freePort()
	if err != nil {
		return nil, err
	}
	address := fmt.Sprintf("127.0.0.1:%d", port)
	// Environment variables, because older releases ignore unknown ones.
	settings := []string{
		"SVC_DRAIN=0s",
		"SVC_IP_RATE_LIMIT=0",
		"SVC_SIGN_IN_RATE_LIMIT=0",
		"SVC_SIGN_UP_RATE_LIMIT=0",
		"SVC_VERIFY_RATE_LIMIT=0",
		"SVC_RATE_LIMIT=1000000",
		"SVC_MAX_TOKEN_RATE=1000000",
		"SVC_CONNECTIONS_PER_ADDRESS=0",
		"SVC_MAIL_LIMIT=0",
		"SVC_STORAGE_LIMIT=0",
	}
	p := &process{
		name:    name,
		dir:     dir,
		command: append([]string{binary, "--listen=" + address}, args...),
		env:     append(settings, env...),
		log:     filepath.Join(dir, name+".log"),
	}
	return &server{process: p, url: "http://" + address}, nil
}

// ready waits until the server is ready, and adds the time to the figures.
func (s *server) ready(ctx context.Context, f *figures) error {
	begin := time.Now()
	client := http.Client{Timeout: 5 * time.Second}
	err := until(ctx, s.name+" to be ready", func() error {
		if !s.running() {
			return downError{fmt.Errorf("%s ended: %s", s.name, tail(s.log))}
		}
		r, err := client.Get(s.url + "/readyz")
		if err != nil {
			return err
		}
		defer r.Body.Close()
		if r.StatusCode != http.StatusOK {
			text, _ := io.ReadAll(r.Body) // for the message
			return fmt.Errorf("%d %s", r.StatusCode, text)
		}
		return nil
	})
	if err == nil && f != nil {
		f.restarted("svcd", time.Since(begin))
	}
	return err
}

// tail returns the end of a log.
func tail(file string) string {
	text, err := os.ReadFile(file)
	if err != nil {
		return err.Error()
	}
	return string(text[max(0, len(text)-2000):])
}

// postgres is a PostgreSQL server with its data in a folder.
type postgres struct {
	*process
	bin, data string
	port      int
}

// postgresBin returns the folder with PostgreSQL's programs.
func postgresBin() (string, error) {
	found, _ := filepath.Glob("/usr/lib/postgresql/*/bin/postgres") // fails only for a bad pattern
	if len(found) > 0 {
		return filepath.Dir(found[len(found)-1]), nil
	}
	file, err := exec.LookPath("postgres")
	return filepath.Dir(file), err
}

// postgresUser returns the user for PostgreSQL, which refuses to run as root.
func postgresUser() (*syscall.Credential, error) {
	if os.Geteuid() != 0 {
		return nil, nil
	}
	for _, name := range []string{"postgres", "nobody"} {
		if u, err := user.Lookup(name); err == nil {
			uid, _ := strconv.Atoi(u.Uid) // numbers on Unix
			gid, _ := strconv.Atoi(u.Gid)
			return &syscall.Credential{Uid: uint32(uid), Gid: uint32(gid)}, nil
		}
	}
	return nil, errors.New("no user to run PostgreSQL as: create postgres or nobody")
}

// newPostgres creates a database cluster. Settings are added to its configuration.
func newPostgres(ctx context.Context, dir string, settings ...string) (*postgres, error) {
	bin, err := postgresBin()
	if err != nil {
		return nil, err
	}
	p, err := describePostgres(bin, dir, "postgres")
	if err != nil {
		return nil, err
	}
	if err := p.runAs(ctx, filepath.Join(bin, "initdb"), "-D", p.data, "-U", "postgres", "-A", "trust",
		"-E", "UTF8", "--locale=C", "--no-sync"); err != nil {
		return nil, err
	}
	return p, p.configure(append([]string{
		"max_connections = 150",
		"shared_buffers = 64MB",
		"unix_socket_directories = ''",
		"listen_addresses = '127.0.0.1'",
		"max_wal_size = 256MB",
		"max_wal_senders = 4",
		"wal_level = replica",
		"dynamic_shared_memory_type = mmap",
	}, settings...)...)
}

// describePostgres returns a server that is not started, with an empty data folder.
func describePostgres(bin, dir, name string) (*postgres, error) {
	as, err := postgresUser()
	if err != nil {
		return nil, err
	}
	port, err := freePort()
	if err != nil {
		return nil, err
	}
	data := filepath.Join(dir, name)
	if err := os.MkdirAll(data, 0o700); err != nil {
		return nil, err
	}
	if as != nil {
		if err := os.Chown(data, int(as.Uid), int(as.Gid)); err != nil {
			return nil, err
		}
	}
	p := &postgres{bin: bin, data: data, port: port}
	p.process = &process{
		name:    name,
		dir:     "/",
		as:      as,
		log:     filepath.Join(dir, name+".log"),
		command: []string{filepath.Join(bin, "postgres"), "-D", data, "-p", strconv.Itoa(port)},
	}
	return p, nil
}

// runAs runs a program as the user of PostgreSQL.
func (p *postgres) runAs(ctx context.Context, name string, args ...string) error {
	cmd := exec.CommandContext(ctx, name, args...)
	cmd.Dir, cmd.SysProcAttr = "/", &syscall.SysProcAttr{Credential: p.as}
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("%s: %w: %s", filepath.Base(name), err, out)
	}
	return nil
}

func (p *postgres) configure(lines ...string) error {
	file, err := os.OpenFile(filepath.Join(p.data, "postgresql.conf"), os.O_APPEND|os.O_WRONLY, 0)
	if err != nil {
		return err
	}
	_, err = file.WriteString(strings.Join(lines, "\n") + "\n")
	return errors.Join(err, file.Close())
}

// url returns the URL of the database.
func (p *postgres) url() string {
	return fmt.Sprintf("postgres://postgres@127.0.0.1:%d/postgres?sslmode=disable", p.port)
}

// up starts the database and waits until it accepts connections.
func (p *postgres) up(ctx context.Context) error {
	if err := p.start(); err != nil {
		return err
	}
	return p.accepting(ctx)
}

func (p *postgres) accepting(ctx context.Context) error {
	return until(ctx, p.name+" to accept connections", func() error {
		if !p.running() {
			return downError{fmt.Errorf("%s ended: %s", p.name, tail(p.log))}
		}
		return run(filepath.Join(p.bin, "pg_isready"), "-q", "-h", "127.0.0.1", "-p", strconv.Itoa(p.port))
	})
}

// newRedis returns a Redis server and its URL.
func newRedis(dir string) (p *process, url string, err error) {
	binary, err := exec.LookPath("redis-server")
	if err != nil {
		return nil, "", err
	}
	port, err := freePort()
	if err != nil {
		return nil, "", err
	}
	p = &process{
		name:    "redis",
		dir:     dir,
		log:     filepath.Join(dir, "redis.log"),
		command: []string{binary, "--bind", "127.0.0.1", "--port", strconv.Itoa(port), "--save", "", "--appendonly", "no"},
	}
	return p, fmt.Sprintf("redis://127.0.0.1:%d/0", port), nil
}

// newBalancer returns HAProxy with the documented configuration, and its URL.
func newBalancer(dir, config string, servers []*server) (p *process, url string, err error) {
	binary, err := exec.LookPath("haproxy")
	if err != nil {
		if binary, err = exec.LookPath("/usr/sbin/haproxy"); err != nil {
			return nil, "", err
		}
	}
	port, err := freePort()
	if err != nil {
		return nil, "", err
	}
	text, err := os.ReadFile(config)
	if err != nil {
		return nil, "", err
	}
	changed := strings.Replace(string(text), "127.0.0.1:8000", fmt.Sprintf("127.0.0.1:%d", port), 1)
	for i, s := range servers {
		changed = strings.Replace(changed, fmt.Sprintf("127.0.0.1:%d", 8081+i), strings.TrimPrefix(s.url, "http://"), 1)
	}
	file := filepath.Join(dir, "haproxy.cfg")
	if err := os.WriteFile(file, []byte(changed), 0o644); err != nil {
		return nil, "", err
	}
	p = &process{
		name:    "haproxy",
		dir:     dir,
		log:     filepath.Join(dir, "haproxy.log"),
		command: []string{binary, "-f", file, "-db"},
	}
	return p, fmt.Sprintf("http://127.0.0.1:%d", port), nil
}
