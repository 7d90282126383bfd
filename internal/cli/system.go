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

	"warranty.example/svc/client"
	"warranty.example/svc/internal/credentials"
	"warranty.example/svc/internal/signin"
	"warranty.example/svc/internal/terminal"
)

// New returns a Program that uses the terminal, files and clock of this machine.
func New(version string) *Program {
	return &Program{
		Version:        version,
		BaseURL:        client.DefaultBaseURL,
		Stdin:          os.Stdin,
		Stdout:         os.Stdout,
		Stderr:         os.Stderr,
		StdinTerminal:  terminal.Is(os.Stdin),
		StdoutTerminal: terminal.Is(os.Stdout),
		StderrTerminal: terminal.Is(os.Stderr),
		Width:          func() int { return terminal.Width(os.Stdout, os.Stderr, os.Stdin) },
		ReadSecret:     func(ctx context.Context) (string, error) { return terminal.ReadSecret(ctx, os.Stdin) },
		Getenv:         os.Getenv,
		ConfigDir:      os.UserConfigDir,
		FindMCP:        findMCP,
		Now:            time.Now,
		OpenBrowser:    func(address string) bool { return signin.Open(address, os.Getenv) },
	}
}

// readLine reads a line of at most credentials.MaxKey bytes.
func (r *run) readLine(ctx context.Context) (string, error) {
	return terminal.Interruptible(ctx, func() (string, error) {
		line, err := bufio.NewReader(io.LimitReader(r.Stdin, credentials.MaxKey)).ReadString('\n')
		if err == io.EOF {
			err = nil
		}
		return strings.TrimSpace(line), err
	}, func() {})
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
	n, err := terminal.Interruptible(i.ctx, func() (int, error) {
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
