package lab

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
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"warranty.example/svc/internal/servertest"
	"warranty.example/svc/internal/testenv"
)

// Process is a running svcd.
type Process struct {
	URL    string // the base URL
	Dir    string // the working folder, with the output in server.out and server.log
	Client *http.Client

	Cmd    *exec.Cmd
	Exited chan struct{}
	Err    error // the result of Wait; valid once exited is closed
}

// Launch starts a command that runs svcd, and waits until it is ready. The environment
// is exactly env plus a drain of 0.
func Launch(dir string, env []string, command ...string) (*Process, error) {
	return LaunchWith(dir, nil, env, command...)
}

// LaunchWith is launch that passes open files on.
func LaunchWith(dir string, files []*os.File, env []string, command ...string) (*Process, error) {
	p := &Process{Dir: dir, Exited: make(chan struct{}), Cmd: exec.Command(command[0], command[1:]...),
		Client: &http.Client{Timeout: testenv.Patience, Transport: &http.Transport{MaxIdleConnsPerHost: 64}}}
	p.Cmd.Dir, p.Cmd.Env = dir, append([]string{"PATH=" + os.Getenv("PATH"), "SVC_DRAIN=0s"}, env...)
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
	p.Cmd.Stdout, p.Cmd.Stderr, p.Cmd.ExtraFiles = out, log, files
	if err := p.Cmd.Start(); err != nil {
		return nil, err
	}
	go func() { p.Err = p.Cmd.Wait(); close(p.Exited) }()
	if err := p.awaitReady(); err != nil {
		p.Kill()
		return nil, err
	}
	return p, nil
}

// awaitReady reads the address from the log and polls /readyz.
func (p *Process) awaitReady() error {
	for deadline := time.Now().Add(testenv.Patience); time.Now().Before(deadline); time.Sleep(2 * time.Millisecond) {
		select {
		case <-p.Exited:
			return fmt.Errorf("svcd ended instead of starting: %v\n%s", p.Err, p.Log())
		default:
		}
		if p.URL == "" {
			for _, line := range p.Logged("listening") {
				p.reach(line["address"].(string))
			}
			if text := regexp.MustCompile(`msg=listening address=(\S+)`).FindStringSubmatch(p.Log()); text != nil {
				p.reach(text[1]) // --log-format text
			}
			continue
		}
		if a, err := p.Try(Call{Method: "GET", Path: "/readyz"}); err == nil && a.Status == http.StatusOK {
			return nil
		}
	}
	return fmt.Errorf("svcd is not ready after %v:\n%s", testenv.Patience, p.Log())
}

// reach sets the URL of the server from the address that it logs.
func (p *Process) reach(address string) {
	path, isSocket := strings.CutPrefix(address, "unix:")
	if regexp.MustCompile(`--tls-cert=|SVC_TLS_CERT=|--acme\b`).MatchString(fmt.Sprint(p.Cmd.Args, p.Cmd.Env)) {
		p.URL = "https://" + address
		p.Client.Transport = &http.Transport{ForceAttemptHTTP2: true, TLSClientConfig: &tls.Config{InsecureSkipVerify: true}}
		return
	}
	if !isSocket {
		p.URL = "http://" + address
		return
	}
	p.URL = "http://socket"
	p.Client.Transport = &http.Transport{DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
		return new(net.Dialer).DialContext(ctx, "unix", path)
	}}
}

// Start runs svcd until the test ends, on a free port and with a new data folder
// unless the arguments override them.
func Start(t testing.TB, args ...string) *Process {
	t.Helper()
	return StartIn(t, t.TempDir(), args...)
}

// StartIn is start in the working folder of an earlier process. A new data folder has a database with the schema, because
// to migrate takes as long as the rest of a start.
func StartIn(t testing.TB, dir string, args ...string) *Process {
	t.Helper()
	if !slices.ContainsFunc(args, func(a string) bool { return strings.HasPrefix(a, "--da") || a == "--demo" }) {
		if err := Migrated(t, dir); err != nil {
			t.Fatal(err)
		}
	}
	if !slices.ContainsFunc(args, func(a string) bool { return strings.HasPrefix(a, "--listen") }) {
		args = append(args, "--listen="+FreeAddress(t))
	}
	args = append(args, DataOf(args)...)
	p, err := Launch(dir, nil, append([]string{Svcd()}, args...)...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(p.Kill)
	return p
}

// Migrated puts an empty database into the default data folder of a working folder, unless there is one.
func Migrated(t testing.TB, dir string) error {
	t.Helper()
	data := filepath.Join(dir, "data")
	if err := os.Mkdir(data, 0o700); err != nil {
		if os.IsExist(err) {
			return nil
		}
		return err
	}
	return os.Rename(servertest.SQLite(t), filepath.Join(data, "svc.db"))
}

// DataOf returns the --data argument for the database in the arguments: all servers on
// one database share a data folder.
func DataOf(args []string) []string {
	for _, arg := range args {
		database, ok := strings.CutPrefix(arg, "--database=")
		if !ok || slices.ContainsFunc(args, func(a string) bool { return strings.HasPrefix(a, "--data=") }) {
			continue
		}
		if u, err := url.Parse(database); err == nil && u.Scheme != "" {
			return []string{"--data=" + filepath.Join(Binaries, "data of "+path.Base(u.Path))}
		}
		return []string{"--data=" + filepath.Dir(database)}
	}
	return nil
}

// Unthrottled disables the limits for tests that send many requests from one address.
var Unthrottled = []string{"--ip-rate-limit=0", "--sign-in-rate-limit=0", "--sign-up-rate-limit=0", "--verify-rate-limit=0",
	"--rate-limit=1000000", "--max-token-rate=1000000", "--connections-per-address=0"}

// FreeAddress returns a loopback address that nothing listens on.
func FreeAddress(t testing.TB) string {
	t.Helper()
	return testenv.FreeAddress(t)
}

// Stop sends SIGTERM, and returns an error unless the server exits with status 0.
func (p *Process) Stop() error {
	if err := p.Cmd.Process.Signal(syscall.SIGTERM); err != nil {
		return err
	}
	select {
	case <-p.Exited:
	case <-time.After(testenv.Patience):
		p.Kill()
		return fmt.Errorf("svcd still ran %v after SIGTERM:\n%s", testenv.Patience, p.Log())
	}
	p.Client.CloseIdleConnections()
	if p.Err != nil {
		return fmt.Errorf("after SIGTERM: %w\n%s", p.Err, p.Log())
	}
	return nil
}

// MustStop is stop, and fails the test on an error.
func (p *Process) MustStop(t testing.TB) {
	t.Helper()
	if err := p.Stop(); err != nil {
		t.Fatal(err)
	}
}

// Kill sends SIGKILL if the process still runs.
func (p *Process) Kill() {
	select {
	case <-p.Exited:
	default:
		_ = p.Cmd.Process.Kill() // it may have ended already
		<-p.Exited
	}
	p.Client.CloseIdleConnections()
}

// Output returns the stdout of the process so far.
func (p *Process) Output() string { return p.read("server.out") }

// Log returns the stderr of the process so far.
func (p *Process) Log() string { return p.read("server.log") }

func (p *Process) read(name string) string {
	text, err := os.ReadFile(filepath.Join(p.Dir, name))
	if err != nil {
		return err.Error()
	}
	return string(text)
}

// Logged returns the log lines with this message.
func (p *Process) Logged(message string) []map[string]any {
	var found []map[string]any
	for line := range strings.Lines(p.Log()) {
		if !strings.Contains(line, `"msg":"`+message) { // parsing takes much longer
			continue
		}
		var fields map[string]any
		if json.Unmarshal([]byte(line), &fields) == nil && fields["msg"] == message {
			found = append(found, fields)
		}
	}
	return found
}

// Mailed waits for the code in an email to an address, in the log of a server without
// SMTP.
func (p *Process) Mailed(email, subject string) (string, error) {
	for deadline := time.Now().Add(testenv.Patience); time.Now().Before(deadline); time.Sleep(20 * time.Millisecond) {
		for _, line := range p.Logged("mail") {
			if code, ok := line["code"].(string); ok && line["to"] == email && strings.Contains(line["subject"].(string), subject) {
				return code, nil
			}
		}
	}
	return "", fmt.Errorf("no email to %s with %q in its subject within %v", email, subject, testenv.Patience)
}
