// Package servers knows the programs that are compared: how each is built,
// filled, started and asked.
package servers

import (
	"context"
	"crypto/sha256"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"time"

	"warranty.example/svc/bench/internal/data"
	"warranty.example/svc/bench/internal/load"
	"warranty.example/svc/bench/internal/proc"
)

// Server is one of the programs that are compared.
type Server interface {
	// Name is short: a flag's value.
	Name() string
	// Title is what the report calls it.
	Title() string
	// Build makes the program.
	Build(ctx context.Context) error
	// Fill makes a database with the set in it, unless there is one.
	Fill(ctx context.Context, set data.Set) error
	// Start runs the program on a copy of the filled database.
	Start(ctx context.Context, set data.Set) (*Running, error)
	// Close ends what Build began.
	Close()
}

// Peer is a server that svcd is compared with.
type Peer interface{ Peer() }

// Running is a server that answers.
type Running struct {
	Process  *proc.Process
	Addr     string
	Admin    string // where profiles are, if anywhere
	API      load.API
	Database func() (time.Duration, error) // CPU of a database in processes of its own, if any
	stop     func()
}

// CPU is what the server has computed, without its database.
func (r *Running) CPU() (time.Duration, error) { return proc.CPU(r.Process.PID) }

// DatabaseCPU is what a database beside the server has computed.
func (r *Running) DatabaseCPU() (time.Duration, error) {
	if r.Database == nil {
		return 0, nil
	}
	return r.Database()
}

// Stop ends the server and takes its copy of the data away.
func (r *Running) Stop() {
	r.Process.Stop()
	r.stop()
}

// Folder is where everything is kept between runs.
type Folder string

// Path is a path in the folder.
func (f Folder) Path(parts ...string) string {
	return filepath.Join(append([]string{string(f)}, parts...)...)
}

// Close has nothing to end.
func (Folder) Close() {}

// build makes a static program as it would be shipped, from the module in a folder.
func (f Folder) build(ctx context.Context, name, module, source string) error {
	for _, dir := range []string{"bin", "filled", "run"} {
		if err := os.MkdirAll(f.Path(dir), 0o755); err != nil { //nolint:gosec // PostgreSQL, which runs as another user, goes through it
			return err
		}
	}
	program, err := filepath.Abs(f.Path("bin", name))
	if err != nil {
		return err
	}
	cmd := exec.CommandContext(ctx, "go", "build", "-trimpath", "-buildvcs=false", "-ldflags=-s -w", "-o", program, source)
	cmd.Dir = module
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("build %s: %w\n%s", name, err, out)
	}
	return nil
}

// once fills a folder for a server and a set, unless it is there: whole or not at all.
func (f Folder) once(server string, set data.Set, schema string, fill func(dir string) error) error {
	name, err := filled(server, set, schema)
	if err != nil {
		return err
	}
	final := f.Path("filled", name)
	if _, err := os.Stat(final); err == nil {
		return nil
	}
	draft := final + ".draft"
	if err := os.RemoveAll(draft); err != nil {
		return err
	}
	if err := os.MkdirAll(draft, 0o700); err != nil {
		return err
	}
	if err := fill(draft); err != nil {
		return err
	}
	return os.Rename(draft, final)
}

// filled is the name of a database with the set in it. It is another one for
// another schema, which is in the files that the pattern finds.
func filled(server string, set data.Set, pattern string) (string, error) {
	files, err := filepath.Glob(pattern)
	if err != nil || len(files) == 0 {
		return "", fmt.Errorf("found no %s: run this in the folder bench of the repository (%w)", pattern, err)
	}
	h := sha256.New()
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			return "", err
		}
		h.Write(text)
	}
	return fmt.Sprintf("%s-%d-%d-%.4x", server, set.Records, data.Generation, h.Sum(nil)), nil
}

// serve starts a program and waits until a path of it answers.
func (f Folder) serve(ctx context.Context, r Running, program, log, ready string, args ...string) (*Running, error) {
	var err error
	// It is stopped by Stop alone, which lets it end well.
	cmd := exec.CommandContext(context.WithoutCancel(ctx), f.Path("bin", program), args...)
	if r.Process, err = proc.Start(cmd, log); err != nil {
		return nil, err
	}
	if err := r.Process.Await(ctx, proc.Answers("http://"+r.Addr+ready)); err != nil {
		r.Stop()
		return nil, err
	}
	return &r, nil
}

// copied is a copy of a filled folder for one run, and how to take it away.
func (f Folder) copied(server string, set data.Set, schema string) (dir string, remove func(), err error) {
	name, err := filled(server, set, schema)
	if err != nil {
		return "", nil, err
	}
	dir = f.Path("run", name)
	remove = func() { os.RemoveAll(dir) }
	remove()
	err = os.CopyFS(dir, os.DirFS(f.Path("filled", name)))
	return dir, remove, err
}
