package cli

import (
	"bufio"
	"context"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"golang.org/x/term"

	"warranty.example/svc/client"
	"warranty.example/svc/internal/credentials"
)

// New returns a Program that uses the terminal, files and clock of this machine.
func New(version string) *Program {
	return &Program{
		Version:        version,
		BaseURL:        client.DefaultBaseURL,
		Stdin:          os.Stdin,
		Stdout:         os.Stdout,
		Stderr:         os.Stderr,
		StdinTerminal:  isTerminal(os.Stdin),
		StdoutTerminal: isTerminal(os.Stdout),
		StderrTerminal: isTerminal(os.Stderr),
		Width:          terminalWidth,
		ReadSecret:     readSecret,
		Getenv:         os.Getenv,
		ConfigDir:      os.UserConfigDir,
		FindMCP:        findMCP,
		Now:            time.Now,
	}
}

func isTerminal(f *os.File) bool { return term.IsTerminal(int(f.Fd())) }

func terminalWidth() int {
	for _, f := range []*os.File{os.Stdout, os.Stderr, os.Stdin} {
		if width, _, err := term.GetSize(int(f.Fd())); err == nil {
			return width
		}
	}
	return 0
}

// readSecret reads a line without echo. On interruption it restores the terminal.
func readSecret(ctx context.Context) (string, error) {
	fd := int(os.Stdin.Fd())
	before, err := term.GetState(fd)
	if err != nil {
		return "", err
	}
	return interruptible(ctx, func() (string, error) {
		line, err := term.ReadPassword(fd)
		return string(line), err
	}, func() { _ = term.Restore(fd, before) }) // failures do not matter
}

// readLine reads a line of at most credentials.MaxKey bytes.
func (r *run) readLine(ctx context.Context) (string, error) {
	return interruptible(ctx, func() (string, error) {
		line, err := bufio.NewReader(io.LimitReader(r.Stdin, credentials.MaxKey)).ReadString('\n')
		if err == io.EOF {
			err = nil
		}
		return strings.TrimSpace(line), err
	}, func() {})
}

// interruptible waits for a read that cannot be canceled, or until ctx is done.
func interruptible[T any](ctx context.Context, read func() (T, error), undo func()) (T, error) {
	type result struct {
		value T
		err   error
	}
	done := make(chan result, 1)
	go func() {
		value, err := read()
		done <- result{value, err}
	}()
	select {
	case got := <-done:
		return got.value, got.err
	case <-ctx.Done():
		undo()
		var none T
		return none, ctx.Err()
	}
}

// stdin is a reader of standard input that returns when ctx is done.
type stdin struct {
	ctx context.Context // Read has no context parameter
	r   io.Reader
	buf []byte
}

// Read implements io.Reader. It reads into its own buffer, because an abandoned read
// may still write after Read returns.
func (i *stdin) Read(p []byte) (int, error) {
	if i.buf == nil {
		i.buf = make([]byte, 64<<10)
	}
	n, err := interruptible(i.ctx, func() (int, error) {
		return i.r.Read(i.buf[:min(len(p), len(i.buf))])
	}, func() {})
	copy(p, i.buf[:n])
	return n, err
}

// findMCP looks for svc-mcp next to this program, then in PATH.
func findMCP() (string, bool) {
	if self, err := os.Executable(); err == nil {
		beside := filepath.Join(filepath.Dir(self), "svc-mcp"+filepath.Ext(self))
		if info, err := os.Stat(beside); err == nil && info.Mode().IsRegular() {
			return beside, true
		}
	}
	path, err := exec.LookPath("svc-mcp")
	return path, err == nil
}
