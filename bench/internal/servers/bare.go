package servers

import (
	"context"
	"os"
	"path/filepath"

	"warranty.example/svc/bench/internal/data"
	"warranty.example/svc/bench/internal/fill"
	"warranty.example/svc/bench/internal/load"
	"warranty.example/svc/bench/internal/proc"
)

// Bare is the small handwritten program.
type Bare struct{ Folder }

const (
	bareSchema = "bare/schema.sql"
	bareFile   = "bare.db"
)

// Name returns the name of the server for flags.
func (Bare) Name() string { return "bare" }

// Peer marks the server as an alternative to svcd.
func (Bare) Peer() {}

// Title returns the name of the server in the report.
func (Bare) Title() string { return "bare net/http" }

// Build builds the program.
func (b Bare) Build(ctx context.Context) error { return b.build(ctx, "bare", ".", "./bare") }

// Fill creates the database file.
func (b Bare) Fill(_ context.Context, set data.Set) error {
	return b.once(b.Name(), set, bareSchema, func(dir string) error {
		schema, err := os.ReadFile(bareSchema)
		if err != nil {
			return err
		}
		file := filepath.Join(dir, bareFile)
		if err := fill.Schema(file, string(schema)); err != nil {
			return err
		}
		return fill.SQLite(file, fill.Bare(set))
	})
}

// Start runs the program on a copy of the file.
func (b Bare) Start(ctx context.Context, set data.Set) (*Running, error) {
	dir, remove, err := b.copied(b.Name(), b.Name(), set, bareSchema)
	if err != nil {
		return nil, err
	}
	addr, err := proc.FreeAddress()
	if err != nil {
		return nil, err
	}
	return b.serve(ctx, Running{Addr: addr, API: &load.Bare{}, stop: remove}, "bare", dir+".log", "/readyz",
		"--database", filepath.Join(dir, bareFile), "--listen", addr)
}
