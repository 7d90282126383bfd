//go:build unix

package e2e

import (
	"bytes"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"warranty.example/svc/e2e/lab"
	"warranty.example/svc/internal/testenv"
)

// TestUnixSocketCountsForwardedAddresses serves on a Unix socket. Its peers are trusted
// proxies: the last address in X-Forwarded-For is the client, and the others are not
// trusted.
func TestUnixSocketCountsForwardedAddresses(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	socket := filepath.Join(dir, "svcd.sock")
	args := []string{"--listen=unix:" + socket, "--public-url=https://w.example", "--ip-rate-limit=2", "--connections-per-address=1"}
	p := lab.StartIn(t, dir, args...)
	if info, err := os.Stat(socket); err != nil || info.Mode().Perm() != 0o660 {
		t.Fatal(info, err)
	}
	from := func(forwarded string) int {
		a, err := p.Try(lab.Call{Method: "GET", Path: "/openapi.json", Header: map[string]string{"X-Forwarded-For": forwarded}})
		if err != nil {
			t.Fatal(err)
		}
		return a.Status
	}
	for i := range 4 {
		want := 200
		if i >= 2 {
			want = 429
		}
		if got := from(fmt.Sprintf("198.51.100.%d, 203.0.113.1", i)); got != want {
			t.Errorf("request %d of an address that claims to forward others: %d, want %d", i, got, want)
		}
		if got := from(fmt.Sprintf("203.0.113.%d", 10+i)); got != 200 {
			t.Errorf("request of another address: %d", got)
		}
	}
	page, err := p.Try(lab.Call{Method: "GET", Path: "/sign-in", Header: map[string]string{"X-Forwarded-For": "203.0.113.50"}})
	if err != nil || page.Header.Get("Strict-Transport-Security") == "" {
		t.Error("no Strict-Transport-Security behind a Unix socket:", err)
	}

	second := exec.Command(lab.Svcd(), "--listen=unix:"+socket, "--public-url=https://w.example", "--data="+t.TempDir())
	var stderr bytes.Buffer
	second.Stderr = &stderr
	var exit *exec.ExitError
	if err := second.Run(); !errors.As(err, &exit) || exit.ExitCode() != 1 || !strings.Contains(stderr.String(), "another process listens on") {
		t.Errorf("%v: %s", err, stderr.String())
	}
	p.Kill() // leaves the socket behind
	p = lab.StartIn(t, dir, args...)
	if err := p.Stop(); err != nil {
		t.Fatal(err)
	}
	if exists(socket) {
		t.Error("the socket is left behind after SIGTERM")
	}
}

// TestSystemdPassesASocket starts svcd as systemd does, with a listening socket, a
// notification socket and a watchdog.
func TestSystemdPassesASocket(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	states, err := net.ListenUnixgram("unixgram", &net.UnixAddr{Name: filepath.Join(dir, "notify"), Net: "unixgram"})
	if err != nil {
		t.Fatal(err)
	}
	defer states.Close()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	file, err := listener.(*net.TCPListener).File()
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	pass := func(args ...string) (*lab.Process, error) {
		// The shell sets LISTEN_PID to its own id, which exec keeps. The first extra file is descriptor 3.
		command := append([]string{"bash", "-c", `LISTEN_PID=$$ exec "$0" "$@"`, lab.Svcd(), "--public-url=http://w.example"}, args...)
		return lab.LaunchWith(dir, []*os.File{file}, []string{"LISTEN_FDS=1", "LISTEN_FDNAMES=web",
			"NOTIFY_SOCKET=" + filepath.Join(dir, "notify"), "WATCHDOG_USEC=20000"}, command...)
	}
	// The kernel queues only a few datagrams, and there is one every 10 ms: read them as they come.
	said := make(chan string, 100_000)
	go func() {
		defer close(said)
		for state := make([]byte, 100); ; {
			n, err := states.Read(state)
			if err != nil {
				return // the socket was closed
			}
			said <- string(state[:n])
		}
	}()
	next := func(want string) {
		t.Helper()
		for testenv.Receive(t, want, said) != want {
		}
	}
	for _, listen := range []string{"systemd", "systemd:web"} {
		p, err := pass("--listen=" + listen)
		if err != nil {
			t.Fatal(err)
		}
		if want := "http://" + listener.Addr().String(); p.URL != want {
			t.Errorf("listens on %s, want %s", p.URL, want)
		}
		next("READY=1")
		next("WATCHDOG=1")
		if err := p.Stop(); err != nil {
			t.Error(err)
		}
		next("STOPPING=1")
	}
	for listen, want := range map[string]string{
		"127.0.0.1:0":  "systemd passed a socket that no setting uses: web",
		"systemd:mail": "systemd passed no such socket",
	} {
		p, err := pass("--listen=" + listen)
		if err == nil {
			p.Kill()
			t.Errorf("%s: svcd starts", listen)
		} else if !strings.Contains(err.Error(), want) || !strings.Contains(err.Error(), "exit status 2") {
			t.Errorf("%s: %v", listen, err)
		}
	}
}
