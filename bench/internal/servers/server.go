// Package servers builds, fills and starts the programs that are compared.
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

// Server is a program that is compared.
type Server interface {
	// Name returns the name of the server for flags.
	Name() string
	// Title returns the name of the server in the report.
	Title() string
	// Build builds the program.
	Build(ctx context.Context) error
	// Fill creates a database with the records of the set, unless it exists.
	Fill(ctx context.Context, set data.Set) error
	// Start runs the program on a copy of the filled database.
	Start(ctx context.Context, set data.Set) (*Running, error)
	// Close stops processes that Build started.
	Close()
}

// Peer is an alternative to svcd.
type Peer interface{ Peer() }

// Running is a running server.
type Running struct {
	Process  *proc.Process
	Addr     string
	Admin    string // address for profiles, or ""
	API      load.API
	Database func() (time.Duration, error) // CPU time of a separate database, or nil
	stop     func()
}

// CPU returns the CPU time of the server without its database.
func (r *Running) CPU() (time.Duration, error) { return proc.CPU(r.Process.PID) }

// DatabaseCPU returns the CPU time of a separate database.
func (r *Running) DatabaseCPU() (time.Duration, error) {
	if r.Database == nil {
		return 0, nil
	}
	return r.Database()
}

// Stop stops the server and removes its copy of the data.
func (r *Running) Stop() {
	r.Process.Stop()
	r.stop()
}

// Folder holds programs, databases and logs between runs.
type Folder string

// Path returns a path in the folder.
func (f Folder) Path(parts ...string) string {
	return filepath.Join(append([]string{string(f)}, parts...)...)
}

// Close does nothing.
func (Folder) Close() {}

func (f Folder) folders() error {
	for _, dir := range []string{"bin", "filled", "run"} {
		if err := os.MkdirAll(f.Path(dir), 0o755); err != nil { //nolint:gosec // PostgreSQL runs as another user and needs access
			return err
		}
	}
	return nil
}

// build builds a static release program from the module in a folder.
func (f Folder) build(ctx context.Context, name, module, source string) error {
	if err := f.folders(); err != nil {
		return err
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

// once fills a folder for a server and a set, unless it exists. The folder appears only
// when it is complete.
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

// filled returns the name of a database with the records of the set. It contains a hash
// of the schema, which is in the files that match the pattern.
func filled(server string, set data.Set, pattern string) (string, error) {
	files, err := filepath.Glob(pattern)
	if err != nil || len(files) == 0 {
		return "", fmt.Errorf("no files match %s: run this in the folder bench of the repository (%w)", pattern, err)
	}
	h := sha256.New()
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			return "", err
		}
		h.Write(text)
	}
	if set.Giant {
		server += "-giant"
	}
	return fmt.Sprintf("%s-%d-%d-%.4x", server, set.Records, data.Generation, h.Sum(nil)), nil
}

// serve starts a program and waits until its ready path returns 200.
func (f Folder) serve(ctx context.Context, r Running, program, log, ready string, args ...string) (*Running, error) {
	var err error
	// Only Stop stops it, cleanly.
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

// copied returns a copy of the folder that was filled for a server, for one run of a program, and a function
// that removes it.
func (f Folder) copied(program, server string, set data.Set, schema string) (dir string, remove func(), err error) {
	name, err := filled(server, set, schema)
	if err != nil {
		return "", nil, err
	}
	dir = f.Path("run", program+"-on-"+name)
	remove = func() { os.RemoveAll(dir) }
	remove()
	err = os.CopyFS(dir, os.DirFS(f.Path("filled", name)))
	return dir, remove, err
}
