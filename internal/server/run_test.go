package server_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"warranty.example/svc/internal/limit"
	"warranty.example/svc/internal/server"
)

// patience is the timeout of these tests, long enough for a slow machine.
const patience = time.Minute

// running is a server started with Run on a TCP listener, like in svcd.
type running struct {
	*world
	address string
	stop    func()
	ended   chan error
}

func run(t *testing.T, options ...option) *running {
	t.Helper()
	w := newWorld(t, databases[0].Open(t), options...)
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	r := &running{world: w, address: listener.Addr().String(), stop: cancel, ended: make(chan error, 1)}
	go func() { r.ended <- w.Server.Run(ctx, listener) }()
	t.Cleanup(func() { cancel(); r.end(t) })
	return r
}

// end waits until the server has stopped and returns its error.
func (r *running) end(t *testing.T) error {
	t.Helper()
	select {
	case err := <-r.ended:
		r.ended <- err
		return err
	case <-time.After(patience):
		t.Fatalf("the server did not stop within %v", patience)
		return nil
	}
}

// peer is a client connection that can send more than one request.
type peer struct {
	net.Conn
	reader *bufio.Reader
}

// dial connects from the given loopback address. A connection that is reset during
// connect counts as closed.
func (r *running) dial(t *testing.T, from string) *peer {
	t.Helper()
	dialer := net.Dialer{LocalAddr: &net.TCPAddr{IP: net.ParseIP(from)}, Timeout: patience}
	c, err := dialer.Dial("tcp", r.address)
	if errors.Is(err, syscall.ECONNRESET) {
		c, _ = net.Pipe()
		c.Close()
	} else if err != nil {
		t.Skipf("cannot connect from %s on this machine: %v", from, err)
	}
	t.Cleanup(func() { c.Close() })
	return &peer{Conn: c, reader: bufio.NewReader(c)}
}

// get requests a path; the status is 0 when the connection was closed instead.
func (p *peer) get(t *testing.T, path string) (status int, header http.Header) {
	t.Helper()
	_ = p.SetDeadline(time.Now().Add(patience))                         // fails on a closed connection
	_, _ = fmt.Fprintf(p, "GET %s HTTP/1.1\r\nHost: svc\r\n\r\n", path) // reading reports a closed connection
	resp, err := http.ReadResponse(p.reader, nil)
	if timeout, ok := err.(net.Error); ok && timeout.Timeout() {
		t.Fatalf("no response to GET %s within %v", path, patience)
	}
	if err != nil {
		return 0, nil
	}
	defer resp.Body.Close()
	if _, err := io.Copy(io.Discard, resp.Body); err != nil {
		t.Fatal(err)
	}
	return resp.StatusCode, resp.Header
}

func (r *running) metrics() string {
	answer := httptest.NewRecorder()
	r.Server.Metrics.Handler().ServeHTTP(answer, httptest.NewRequest("GET", "/metrics", nil))
	return answer.Body.String()
}

// TestOneAddressCannotHoldEveryConnection checks the connection limit per address (B4).
func TestOneAddressCannotHoldEveryConnection(t *testing.T) {
	t.Parallel()
	proxies, err := limit.ParseProxies("127.0.0.3")
	if err != nil {
		t.Fatal(err)
	}
	r := run(t, func(s *server.Server) {
		s.ConnectionsPerAddress, s.Proxies, s.Metrics = 5, proxies, server.NewMetrics("test")
	})
	var greedy []*peer
	served := 0
	for range 20 {
		p := r.dial(t, "127.0.0.1")
		if status, _ := p.get(t, "/healthz"); status == 200 {
			served++
			greedy = append(greedy, p)
		}
	}
	if served != 5 {
		t.Errorf("%d of 20 connections from one address were served, want 5", served)
	}
	if status, _ := r.dial(t, "127.0.0.2").get(t, "/healthz"); status != 200 {
		t.Errorf("a connection from another address got %d", status)
	}
	for i := range 10 {
		if status, _ := r.dial(t, "127.0.0.3").get(t, "/healthz"); status != 200 {
			t.Errorf("connection %d of a trusted proxy got %d", i+1, status)
		}
	}
	if got := r.metrics(); !strings.Contains(got, `svc_connections_refused_total{reason="address"} 15`) || !strings.Contains(got, "svc_connections 16\n") {
		t.Errorf("the metrics do not show 15 refused and 16 open connections:\n%s", connectionMetrics(got))
	}
	if n := strings.Count(r.Log.String(), "connections refused"); n != 1 {
		t.Errorf("the refusals were logged %d times, want once", n)
	}
	greedy[0].Close()
	eventually(t, "a closed connection makes room for another", func() bool {
		status, _ := r.dial(t, "127.0.0.1").get(t, "/healthz")
		return status == 200
	})
}

func connectionMetrics(all string) string {
	lines := strings.Split(all, "\n")
	return strings.Join(slices.DeleteFunc(lines, func(l string) bool { return !strings.HasPrefix(l, "svc_connections") }), "\n")
}

// TestIdleConnectionsMakeRoom checks which connections a full server closes (B4).
func TestIdleConnectionsMakeRoom(t *testing.T) {
	t.Parallel()
	proxies, err := limit.ParseProxies("127.0.0.3")
	if err != nil {
		t.Fatal(err)
	}
	r := run(t, func(s *server.Server) { s.MaxConnections, s.Proxies, s.Metrics = 4, proxies, server.NewMetrics("test") })
	var proxy, direct []*peer
	for range 2 {
		proxy, direct = append(proxy, r.dial(t, "127.0.0.3")), append(direct, r.dial(t, "127.0.0.1"))
	}
	for _, p := range slices.Concat(proxy, direct) {
		if status, _ := p.get(t, "/healthz"); status != 200 {
			t.Fatalf("the first connections got %d", status)
		}
	}
	// The server may take a moment to mark a connection as idle.
	eventually(t, "an idle connection makes room for a new one", func() bool {
		status, _ := r.dial(t, "127.0.0.2").get(t, "/healthz")
		return status == 200
	})
	for i, p := range proxy {
		if status, _ := p.get(t, "/healthz"); status != 200 {
			t.Errorf("connection %d of the proxy was closed for being idle", i)
		}
	}
	closed := 0
	for _, p := range direct {
		if status, _ := p.get(t, "/healthz"); status == 0 {
			closed++
		}
	}
	if closed == 0 {
		t.Error("the server accepted more connections than its limit")
	}
}

// TestRequestsThatNeverEndAreCutOff stops a server during a request that never ends (C1).
func TestRequestsThatNeverEndAreCutOff(t *testing.T) {
	t.Parallel()
	r := run(t, func(s *server.Server) { s.StopTimeout = 10 * time.Millisecond })
	p := r.dial(t, "127.0.0.1")
	p.SetDeadline(time.Now().Add(patience))
	// The server sends "100 Continue" when it starts to read, and then waits for a body that never arrives.
	fmt.Fprint(p, "POST /api/auth/sessions HTTP/1.1\r\nHost: svc\r\nContent-Type: application/json\r\nContent-Length: 100\r\nExpect: 100-continue\r\n\r\n")
	if line, err := p.reader.ReadString('\n'); err != nil || !strings.Contains(line, "100 Continue") {
		t.Fatalf("the server does not read the body: %q %v", line, err)
	}
	r.stop()
	if err := r.end(t); err != nil { // a request that never ends does not make Run fail
		t.Errorf("Run returned %v", err)
	}
	if _, err := io.Copy(io.Discard, p.reader); err != nil {
		if timeout, ok := err.(net.Error); ok && timeout.Timeout() {
			t.Error("the connection is still open after the server has stopped")
		}
	}
}

// eventually polls until holds returns true.
func eventually(t *testing.T, what string, holds func() bool) {
	t.Helper()
	for deadline := time.Now().Add(patience); !holds(); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("not within %v: %s", patience, what)
		}
	}
}
