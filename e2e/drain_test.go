package e2e

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"warranty.example/svc/e2e/lab"
	"warranty.example/svc/internal/servertest"
	"warranty.example/svc/internal/testenv"
)

// TestDrainingServes checks that after SIGTERM the server still accepts connections and
// requests, /readyz returns 503, and a second signal ends the process (C1).
func TestDrainingServes(t *testing.T) {
	t.Parallel()
	p := lab.Start(t, "--drain=10m")
	session := p.Register(t, "olga") // leaves a connection open
	if err := p.Cmd.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	testenv.Wait(t, "draining", func() bool { return strings.Contains(p.Log(), "draining") })
	if a := p.Want(t, 503, lab.Call{Method: "GET", Path: "/readyz"}); a.Must(t, "code") != "unavailable" || a.Header.Get("Retry-After") == "" {
		t.Errorf("/readyz: %v %s", a.Header, a.Body)
	}
	if strings.Contains(p.Log(), `"level":"ERROR"`) {
		t.Errorf("it is logged as an error:\n%s", p.Log())
	}
	p.Want(t, 200, lab.Call{Method: "GET", Path: "/healthz"})
	p.Want(t, 201, lab.Create(session, "Kettle", "")) // on a new connection: the last response closed the open one
	resp, err := http.Get(p.URL + "/healthz")
	if err != nil {
		t.Fatal(err)
	}
	resp.Body.Close()
	if !resp.Close {
		t.Error("a response while draining keeps its connection open")
	}
	if len(p.Logged("stopping")) > 0 {
		t.Error("the server is already stopping")
	}
	// The handler of the first signal may not have restored the default for the second yet.
	testenv.Wait(t, "the end by a second signal", func() bool {
		select {
		case <-p.Exited:
			return true
		default:
			_ = p.Cmd.Process.Signal(syscall.SIGTERM) // it may have ended
			return false
		}
	})
}

// balancer is HAProxy with the documented configuration in front of replicas.
type balancer struct {
	url, socket string
}

// balance starts HAProxy with docs/haproxy.cfg for replicas at the addresses. It checks
// health more often, which leaves a slow machine more time, and does not retry, so
// that failures of a replica are visible.
func balance(t *testing.T, addresses []string) *balancer {
	t.Helper()
	program := testenv.HAProxy(t)
	text, err := os.ReadFile("../docs/haproxy.cfg")
	if err != nil {
		t.Fatal(err)
	}
	dir, public := t.TempDir(), lab.FreeAddress(t)
	b := &balancer{url: "http://" + public, socket: filepath.Join(dir, "admin")}
	replaced := []string{"127.0.0.1:8000", public, "global\n", "global\n    stats socket " + b.socket + "\n", "inter 1s", "inter 100ms",
		"retries 3", "retries 0", "option redispatch 1", "no option redispatch"}
	for i, address := range addresses {
		replaced = append(replaced, fmt.Sprintf("127.0.0.1:808%d", i+1), address)
	}
	config := string(text)
	for i := 0; i < len(replaced); i += 2 {
		if !strings.Contains(config, replaced[i]) {
			t.Fatalf("docs/haproxy.cfg lacks %q", replaced[i])
		}
		config = strings.Replace(config, replaced[i], replaced[i+1], 1)
	}
	file := filepath.Join(dir, "haproxy.cfg")
	if err := os.WriteFile(file, []byte(config), 0o600); err != nil {
		t.Fatal(err)
	}
	log, err := os.Create(filepath.Join(dir, "haproxy.log"))
	if err != nil {
		t.Fatal(err)
	}
	defer log.Close()
	cmd := exec.Command(program, "-db", "-f", file)
	cmd.Stdout, cmd.Stderr = log, log
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait() // an error, because it was killed
		if said, _ := os.ReadFile(log.Name()); t.Failed() {
			t.Logf("HAProxy said:\n%s", said)
		}
	})
	return b
}

// up returns the number of replicas that HAProxy sends requests to.
func (b *balancer) up() int {
	conn, err := net.DialTimeout("unix", b.socket, 10*time.Second)
	if err != nil {
		return -1
	}
	defer conn.Close()
	conn.SetDeadline(time.Now().Add(10 * time.Second))
	fmt.Fprintln(conn, "show stat -1 4 -1") // the servers
	n := 0
	for lines := bufio.NewScanner(conn); lines.Scan(); {
		if strings.Contains(lines.Text(), ",UP,") {
			n++
		}
	}
	return n
}

// TestRollingRestartLosesNoRequest restarts replicas behind HAProxy one by one, under
// load, and expects no failed request (C1, D5). SVC_TEST_RESTARTS overrides the default
// of three restarts.
func TestRollingRestartLosesNoRequest(t *testing.T) {
	t.Parallel()
	restarts, err := strconv.Atoi(os.Getenv("SVC_TEST_RESTARTS"))
	if err != nil {
		restarts = 3
	}
	const clients, between = 8, 100 // minimum number of requests between two restarts
	args := append(slices.Clone(lab.Unthrottled), "--database="+servertest.Postgres(t), "--redis="+testenv.Redis(t), "--data="+t.TempDir(),
		"--trusted-proxies=127.0.0.1", "--drain=5s")
	testenv.HAProxy(t) // skip before starting anything
	var replicas [3]*lab.Process
	addresses := make([]string, len(replicas))
	for i := range replicas {
		addresses[i] = lab.FreeAddress(t)
		replicas[i] = lab.Start(t, append(slices.Clone(args), "--listen="+addresses[i])...)
	}
	secret, _ := replicas[0].Token(t, replicas[0].Register(t, "olga"), "load", 1_000_000)
	b := balance(t, addresses)
	testenv.Wait(t, "HAProxy uses all replicas", func() bool { return b.up() == len(replicas) })

	front := &lab.Process{URL: b.url, Client: &http.Client{Timeout: time.Minute, Transport: &http.Transport{MaxIdleConnsPerHost: 64}}}
	l, stop := newLoad(), make(chan struct{})
	var readers readLoad
	var wg sync.WaitGroup
	for range clients / 2 {
		wg.Go(func() { readers.run(front, secret, stop) })
	}
	for c := range clients / 2 {
		wg.Go(func() { writes(l, front, secret, c, stop) })
	}
	for i := range restarts {
		before := l.progress() + readers.progress()
		testenv.Wait(t, "load", func() bool { return l.progress()+readers.progress() >= before+between })
		at := i % len(replicas)
		replicas[at].MustStop(t)
		replicas[at] = lab.Start(t, append(slices.Clone(args), "--listen="+addresses[at])...)
		testenv.Wait(t, "HAProxy uses the new process", func() bool { return b.up() == len(replicas) })
	}
	close(stop)
	wg.Wait()

	t.Logf("%d restarts, %d creates and %d reads", restarts, l.progress(), readers.progress())
	for key, err := range l.unanswered {
		t.Errorf("create %s: %v", key, err)
	}
	for _, failure := range readers.failures {
		t.Errorf("read: %s", failure)
	}
	have := front.Products(t, secret)
	if len(have) != l.progress() {
		t.Errorf("%d records were acknowledged, %d exist", l.progress(), len(have))
	}
}

// pause keeps clients from using all cores. Eight of them always have requests in flight, which take a few milliseconds.
func pause() <-chan time.Time {
	return time.After(time.Duration(testenv.Times(40, 10)) * time.Millisecond)
}

// writes creates warranties until stop is closed.
func writes(l *load, p *lab.Process, secret string, client int, stop <-chan struct{}) {
	for i := 0; ; i++ {
		select {
		case <-stop:
			return
		case <-pause():
			l.send(p, secret, fmt.Sprintf("load-%d-%d", client, i))
		}
	}
}

// readLoad counts the outcomes of clients that read.
type readLoad struct {
	mu       sync.Mutex
	read     int
	failures []string
}

func (l *readLoad) run(p *lab.Process, secret string, stop <-chan struct{}) {
	for {
		select {
		case <-stop:
			return
		case <-pause():
		}
		a, err := p.Try(lab.Call{Method: "GET", Path: "/api/v1/auth/status", Secret: secret})
		l.mu.Lock()
		if err != nil || a.Status != 200 {
			l.failures = append(l.failures, fmt.Sprintf("%v %d %.200s", err, a.Status, a.Body))
		} else {
			l.read++
		}
		l.mu.Unlock()
	}
}

func (l *readLoad) progress() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.read
}

// TestManySockets opens SVC_TEST_SOCKETS connections from one address and measures how
// long others wait for /healthz (B4). It runs by hand only, because it needs as many
// file descriptors.
func TestManySockets(t *testing.T) {
	sockets, err := strconv.Atoi(os.Getenv("SVC_TEST_SOCKETS"))
	if err != nil {
		t.Skip("SVC_TEST_SOCKETS is not set; TestOneAddressCannotHoldEveryConnection is the small version")
	}
	p := lab.Start(t)
	address := strings.TrimPrefix(p.URL, "http://")
	done := make(chan struct{})
	go func() {
		defer close(done)
		for range sockets {
			conn, err := net.Dial("tcp", address)
			if err != nil {
				continue // reset during connect
			}
			t.Cleanup(func() { conn.Close() })
			fmt.Fprint(conn, "GET /healthz HTTP/1.1\r\nHost: svc\r\n\r\n") // and keeps the connection open
		}
	}()
	elsewhere := &http.Client{Timeout: time.Minute, Transport: &http.Transport{
		DialContext: (&net.Dialer{LocalAddr: &net.TCPAddr{IP: net.IPv4(127, 0, 0, 2)}}).DialContext, DisableKeepAlives: true}}
	var slowest time.Duration
	checks := 0
	for open := true; open || checks < 200; checks++ { // while they are opened, and after
		select {
		case <-done:
			open = false
		default:
		}
		asked := time.Now()
		resp, err := elsewhere.Get(p.URL + "/healthz")
		if err != nil {
			t.Fatal(err)
		}
		_, _ = io.Copy(io.Discard, resp.Body)
		resp.Body.Close()
		if resp.StatusCode != 200 {
			t.Errorf("/healthz from another address: %d", resp.StatusCode)
		}
		slowest = max(slowest, time.Since(asked))
	}
	t.Logf("%d sockets opened from one address; the slowest of %d health checks from another took %v", sockets, checks, slowest)
}
