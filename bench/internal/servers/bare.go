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

// Bare is the small program that somebody writes by hand.
type Bare struct{ Folder }

const (
	bareSchema = "bare/schema.sql"
	bareFile   = "bare.db"
)

// Name is a flag's value.
func (Bare) Name() string { return "bare" }

// Peer marks it as another one than svcd.
func (Bare) Peer() {}

// Title is for the report.
func (Bare) Title() string { return "bare net/http" }

// Build makes the program.
func (b Bare) Build(ctx context.Context) error { return b.build(ctx, "bare", ".", "./bare") }

// Fill writes its file.
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

// Start runs it on a copy of the file.
func (b Bare) Start(ctx context.Context, set data.Set) (*Running, error) {
	dir, remove, err := b.copied(b.Name(), set, bareSchema)
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
