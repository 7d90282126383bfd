package proc

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"time"
)

const (
	startLimit = 2 * time.Minute
	stopLimit  = 15 * time.Second
)

// Process is a running server.
type Process struct {
	PID   int
	cmd   *exec.Cmd
	log   *os.File
	ended chan struct{}
}

// Start starts a program with its output in a file.
func Start(cmd *exec.Cmd, log string) (*Process, error) {
	file, err := os.Create(log)
	if err != nil {
		return nil, err
	}
	cmd.Stdout, cmd.Stderr = file, file
	if err := cmd.Start(); err != nil {
		file.Close()
		return nil, err
	}
	p := &Process{PID: cmd.Process.Pid, cmd: cmd, log: file, ended: make(chan struct{})}
	go func() {
		_ = cmd.Wait() // the log has the reason
		close(p.ended)
	}()
	return p, nil
}

// Await waits until the server is ready.
func (p *Process) Await(ctx context.Context, ready func(context.Context) error) error {
	ctx, cancel := context.WithTimeout(ctx, startLimit)
	defer cancel()
	for {
		err := ready(ctx)
		if err == nil {
			return nil
		}
		select {
		case <-p.ended:
			return fmt.Errorf("%s exited during startup: see %s", p.cmd.Path, p.log.Name())
		case <-ctx.Done():
			return fmt.Errorf("%s is not ready (%w): see %s", p.cmd.Path, err, p.log.Name())
		case <-time.After(50 * time.Millisecond):
		}
	}
}

// Answers returns a readiness check that succeeds when the URL returns 200.
func Answers(url string) func(context.Context) error {
	return func(ctx context.Context) error {
		_, err := Fetch(ctx, url)
		return err
	}
}

// Fetch gets a URL, which must return 200.
func Fetch(ctx context.Context, url string) ([]byte, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return nil, err
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return nil, err
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	if err == nil && resp.StatusCode != http.StatusOK {
		err = fmt.Errorf("%s returned %s: %.600s", url, resp.Status, body)
	}
	return body, err
}

// Stop stops the server and waits for its end.
func (p *Process) Stop() {
	// SIGINT is a clean stop for all servers; on SIGTERM PostgreSQL waits for its clients.
	_ = p.cmd.Process.Signal(os.Interrupt)
	select {
	case <-p.ended:
	case <-time.After(stopLimit):
		_ = p.cmd.Process.Kill()
		<-p.ended
	}
	p.log.Close()
}

// FreeAddress returns a loopback address that nothing listens on.
func FreeAddress() (string, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return "", err
	}
	return l.Addr().String(), l.Close()
}
