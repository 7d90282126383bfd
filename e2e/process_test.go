package e2e

import (
	"context"
	"crypto/tls"
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"warranty.example/svc/internal/testenv"
)

// process is a running svcd.
type process struct {
	url    string // the base URL
	dir    string // the working folder, with the output in server.out and server.log
	client *http.Client

	cmd    *exec.Cmd
	exited chan struct{}
	err    error // the result of Wait; valid once exited is closed
}

// launch starts a command that runs svcd, and waits until it is ready. The environment
// is exactly env plus a drain of 0.
func launch(dir string, env []string, command ...string) (*process, error) {
	return launchWith(dir, nil, env, command...)
}

// launchWith is launch that passes open files on.
func launchWith(dir string, files []*os.File, env []string, command ...string) (*process, error) {
	p := &process{dir: dir, exited: make(chan struct{}), cmd: exec.Command(command[0], command[1:]...),
		client: &http.Client{Timeout: testenv.Patience, Transport: &http.Transport{MaxIdleConnsPerHost: 64}}}
	p.cmd.Dir, p.cmd.Env = dir, append([]string{"PATH=" + os.Getenv("PATH"), "SVC_DRAIN=0s"}, env...)
	out, err := os.Create(filepath.Join(dir, "server.out"))
	if err != nil {
		return nil, err
	}
	defer out.Close()
	log, err := os.Create(filepath.Join(dir, "server.log"))
	if err != nil {
		return nil, err
	}
	defer log.Close()
	p.cmd.Stdout, p.cmd.Stderr, p.cmd.ExtraFiles = out, log, files
	if err := p.cmd.Start(); err != nil {
		return nil, err
	}
	go func() { p.err = p.cmd.Wait(); close(p.exited) }()
	if err := p.awaitReady(); err != nil {
		p.kill()
		return nil, err
	}
	return p, nil
}

// awaitReady reads the address from the log and polls /readyz.
func (p *process) awaitReady() error {
	for deadline := time.Now().Add(testenv.Patience); time.Now().Before(deadline); time.Sleep(2 * time.Millisecond) {
		select {
		case <-p.exited:
			return fmt.Errorf("svcd ended instead of starting: %v\n%s", p.err, p.log())
		default:
		}
		if p.url == "" {
			for _, line := range p.logged("listening") {
				p.reach(line["address"].(string))
			}
			if text := regexp.MustCompile(`msg=listening address=(\S+)`).FindStringSubmatch(p.log()); text != nil {
				p.reach(text[1]) // --log-format text
			}
			continue
		}
		if a, err := p.try(call{method: "GET", path: "/readyz"}); err == nil && a.status == http.StatusOK {
			return nil
		}
	}
	return fmt.Errorf("svcd is not ready after %v:\n%s", testenv.Patience, p.log())
}

// reach sets the URL of the server from the address that it logs.
func (p *process) reach(address string) {
	path, isSocket := strings.CutPrefix(address, "unix:")
	if regexp.MustCompile(`--tls-cert=|SVC_TLS_CERT=|--acme\b`).MatchString(fmt.Sprint(p.cmd.Args, p.cmd.Env)) {
		p.url = "https://" + address
		p.client.Transport = &http.Transport{ForceAttemptHTTP2: true, TLSClientConfig: &tls.Config{InsecureSkipVerify: true}}
		return
	}
	if !isSocket {
		p.url = "http://" + address
		return
	}
	p.url = "http://socket"
	p.client.Transport = &http.Transport{DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
		return new(net.Dialer).DialContext(ctx, "unix", path)
	}}
}

// start runs svcd until the test ends, on a free port and with a new data folder
// unless the arguments override them.
func start(t testing.TB, args ...string) *process {
	t.Helper()
	return startIn(t, t.TempDir(), args...)
}

// startIn is start in the working folder of an earlier process.
func startIn(t testing.TB, dir string, args ...string) *process {
	t.Helper()
	if !slices.ContainsFunc(args, func(a string) bool { return strings.HasPrefix(a, "--listen") }) {
		args = append(args, "--listen="+freeAddress(t))
	}
	args = append(args, dataOf(args)...)
	p, err := launch(dir, nil, append([]string{svcd()}, args...)...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(p.kill)
	return p
}

// dataOf returns the --data argument for the database in the arguments: all servers on
// one database share a data folder.
func dataOf(args []string) []string {
	for _, arg := range args {
		database, ok := strings.CutPrefix(arg, "--database=")
		if !ok || slices.ContainsFunc(args, func(a string) bool { return strings.HasPrefix(a, "--data=") }) {
			continue
		}
		if u, err := url.Parse(database); err == nil && u.Scheme != "" {
			return []string{"--data=" + filepath.Join(binaries, "data of "+u.Query().Get("search_path"))}
		}
		return []string{"--data=" + filepath.Dir(database)}
	}
	return nil
}

// unthrottled disables the limits for tests that send many requests from one address.
var unthrottled = []string{"--ip-rate-limit=0", "--sign-in-rate-limit=0", "--sign-up-rate-limit=0", "--verify-rate-limit=0",
	"--rate-limit=1000000", "--max-token-rate=1000000", "--connections-per-address=0"}

// freeAddress returns a loopback address that nothing listens on.
func freeAddress(t testing.TB) string {
	t.Helper()
	return testenv.FreeAddress(t)
}

// stop sends SIGTERM, and returns an error unless the server exits with status 0.
func (p *process) stop() error {
	if err := p.cmd.Process.Signal(syscall.SIGTERM); err != nil {
		return err
	}
	select {
	case <-p.exited:
	case <-time.After(testenv.Patience):
		p.kill()
		return fmt.Errorf("svcd still ran %v after SIGTERM:\n%s", testenv.Patience, p.log())
	}
	p.client.CloseIdleConnections()
	if p.err != nil {
		return fmt.Errorf("after SIGTERM: %w\n%s", p.err, p.log())
	}
	return nil
}

// mustStop is stop, and fails the test on an error.
func (p *process) mustStop(t testing.TB) {
	t.Helper()
	if err := p.stop(); err != nil {
		t.Fatal(err)
	}
}

// kill sends SIGKILL if the process still runs.
func (p *process) kill() {
	select {
	case <-p.exited:
	default:
		_ = p.cmd.Process.Kill() // it may have ended already
		<-p.exited
	}
	p.client.CloseIdleConnections()
}

// output returns the stdout of the process so far.
func (p *process) output() string { return p.read("server.out") }

// log returns the stderr of the process so far.
func (p *process) log() string { return p.read("server.log") }

func (p *process) read(name string) string {
	text, err := os.ReadFile(filepath.Join(p.dir, name))
	if err != nil {
		return err.Error()
	}
	return string(text)
}

// logged returns the log lines with this message.
func (p *process) logged(message string) []map[string]any {
	var found []map[string]any
	for line := range strings.Lines(p.log()) {
		var fields map[string]any
		if json.Unmarshal([]byte(line), &fields) == nil && fields["msg"] == message {
			found = append(found, fields)
		}
	}
	return found
}

// mailed waits for the code in an email to an address, in the log of a server without
// SMTP.
func (p *process) mailed(email, subject string) (string, error) {
	for deadline := time.Now().Add(testenv.Patience); time.Now().Before(deadline); time.Sleep(20 * time.Millisecond) {
		for _, line := range p.logged("mail") {
			if code, ok := line["code"].(string); ok && line["to"] == email && line["subject"] == subject {
				return code, nil
			}
		}
	}
	return "", fmt.Errorf("no email to %s with the subject %q within %v", email, subject, testenv.Patience)
}
