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

// part is a process that the harness has started: a server, a database, a balancer.
type part struct {
	name    string
	command []string
	dir     string
	env     []string
	as      *syscall.Credential
	cmd     *exec.Cmd
	exited  chan struct{}
	log     string
}

// start runs it, in a process group of its own.
func (p *part) start() error {
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
	go func() { _ = cmd.Wait(); close(exited) }() // how it ended is in its log
	return nil
}

// running tells whether it has not ended.
func (p *part) running() bool {
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

func (p *part) pid() int { return p.cmd.Process.Pid }

func (p *part) signal(s syscall.Signal) error { return p.cmd.Process.Signal(s) }

// group signals it and all that it has started.
func (p *part) group(s syscall.Signal) {
	if p.cmd != nil {
		_ = syscall.Kill(-p.pid(), s) // they may have ended
	}
}

// kill ends it at once, with all that it has started.
func (p *part) kill() {
	if p.running() {
		p.group(syscall.SIGKILL)
		<-p.exited
	}
}

// stop asks it to end.
func (p *part) stop(s syscall.Signal, patience time.Duration) error {
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

// downError says that something has ended that must run: waiting does not help.
type downError struct{ error }

// until asks again and again, for a minute at most.
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

// freePort is a loopback port below those that the system gives to clients.
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
	return 0, errors.New("found no free port")
}

// run runs a command to its end.
func run(name string, args ...string) error {
	out, err := exec.Command(name, args...).CombinedOutput()
	if err != nil {
		return fmt.Errorf("%s %s: %w: %s", name, strings.Join(args, " "), err, bytes.TrimSpace(out))
	}
	return nil
}

// server is one svcd.
type server struct {
	*part
	url string
}

// newServer describes an svcd; it does not start it.
func newServer(dir, name, binary string, env []string, args ...string) (*server, error) {
	port, err := freePort()
	if err != nil {
		return nil, err
	}
	address := fmt.Sprintf("127.0.0.1:%d", port)
	// In the environment, where an older release does not mind what it does not know.
	settings := []string{"SVC_DRAIN=0s", "SVC_IP_RATE_LIMIT=0", "SVC_SIGN_IN_RATE_LIMIT=0", "SVC_SIGN_UP_RATE_LIMIT=0", "SVC_VERIFY_RATE_LIMIT=0",
		"SVC_RATE_LIMIT=1000000", "SVC_MAX_TOKEN_RATE=1000000", "SVC_CONNECTIONS_PER_ADDRESS=0", "SVC_MAIL_LIMIT=0", "SVC_STORAGE_LIMIT=0"}
	return &server{part: &part{name: name, dir: dir, command: append([]string{binary, "--listen=" + address}, args...), env: append(settings, env...),
		log: filepath.Join(dir, name+".log")}, url: "http://" + address}, nil
}

// ready waits until the server answers, and tells how long that took.
func (s *server) ready(ctx context.Context, spent *figures) error {
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
	if err == nil && spent != nil {
		spent.restarted("svcd", time.Since(begin))
	}
	return err
}

// tail is the end of a log.
func tail(file string) string {
	text, err := os.ReadFile(file)
	if err != nil {
		return err.Error()
	}
	return string(text[max(0, len(text)-2000):])
}

// postgres is a PostgreSQL server with its data in a folder.
type postgres struct {
	*part
	bin, data string
	port      int
}

// postgresBin is the folder with PostgreSQL's programs.
func postgresBin() (string, error) {
	found, _ := filepath.Glob("/usr/lib/postgresql/*/bin/postgres") // a constant pattern
	if len(found) > 0 {
		return filepath.Dir(found[len(found)-1]), nil
	}
	file, err := exec.LookPath("postgres")
	return filepath.Dir(file), err
}

// postgresUser is the account that PostgreSQL runs as: it refuses root.
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
	return nil, errors.New("there is no user for PostgreSQL")
}

// newPostgres makes a cluster. Settings are lines of its configuration.
func newPostgres(ctx context.Context, dir string, settings ...string) (*postgres, error) {
	bin, err := postgresBin()
	if err != nil {
		return nil, err
	}
	p, err := describePostgres(bin, dir, "postgres")
	if err != nil {
		return nil, err
	}
	if err := p.runAs(ctx, filepath.Join(bin, "initdb"), "-D", p.data, "-U", "postgres", "-A", "trust", "-E", "UTF8", "--locale=C", "--no-sync"); err != nil {
		return nil, err
	}
	return p, p.configure(append([]string{"max_connections = 150", "shared_buffers = 64MB", "unix_socket_directories = ''", "listen_addresses = '127.0.0.1'",
		"max_wal_size = 256MB", "max_wal_senders = 4", "wal_level = replica",
		"dynamic_shared_memory_type = mmap"}, settings...)...)
}

// describePostgres is a server that does not run yet, with an empty folder.
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
	p.part = &part{name: name, dir: "/", as: as, log: filepath.Join(dir, name+".log"),
		command: []string{filepath.Join(bin, "postgres"), "-D", data, "-p", strconv.Itoa(port)}}
	return p, nil
}

// runAs runs one of PostgreSQL's programs as its user.
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

// url is the address of the database, for svcd.
func (p *postgres) url() string {
	return fmt.Sprintf("postgres://postgres@127.0.0.1:%d/postgres?sslmode=disable", p.port)
}

// up starts it and waits until it takes connections.
func (p *postgres) up(ctx context.Context) error {
	if err := p.start(); err != nil {
		return err
	}
	return p.accepting(ctx)
}

func (p *postgres) accepting(ctx context.Context) error {
	return until(ctx, p.name+" to take connections", func() error {
		if !p.running() {
			return downError{fmt.Errorf("it ended: %s", tail(p.log))}
		}
		return run(filepath.Join(p.bin, "pg_isready"), "-q", "-h", "127.0.0.1", "-p", strconv.Itoa(p.port))
	})
}

// redis is a Redis server.
func newRedis(dir string) (p *part, url string, err error) {
	binary, err := exec.LookPath("redis-server")
	if err != nil {
		return nil, "", err
	}
	port, err := freePort()
	if err != nil {
		return nil, "", err
	}
	return &part{name: "redis", dir: dir, log: filepath.Join(dir, "redis.log"),
		command: []string{binary, "--bind", "127.0.0.1", "--port", strconv.Itoa(port), "--save", "", "--appendonly", "no"}}, fmt.Sprintf("redis://127.0.0.1:%d/0", port), nil
}

// newBalancer is HAProxy in front of servers, with the configuration of the documents.
func newBalancer(dir, config string, servers []*server) (p *part, url string, err error) {
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
	return &part{name: "haproxy", dir: dir, log: filepath.Join(dir, "haproxy.log"), command: []string{binary, "-f", file, "-db"}}, fmt.Sprintf("http://127.0.0.1:%d", port), nil
}
