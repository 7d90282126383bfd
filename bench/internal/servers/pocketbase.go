package servers

import (
	"context"
	"fmt"
	"os/exec"
	"path/filepath"
	"strings"

	"warranty.example/svc/bench/internal/data"
	"warranty.example/svc/bench/internal/fill"
	"warranty.example/svc/bench/internal/load"
	"warranty.example/svc/bench/internal/proc"
)

// PocketBase is PocketBase as it ships, but for its limiter and its logs, which are off.
type PocketBase struct{ Folder }

// pocketBaseSchema is where its collections are.
const pocketBaseSchema = "pocketbase/*.go"

// Name is a flag's value.
func (PocketBase) Name() string { return "pocketbase" }

// Peer marks it as another one than svcd.
func (PocketBase) Peer() {}

// Title is for the report.
func (PocketBase) Title() string { return "PocketBase" }

// Build makes the program.
func (p PocketBase) Build(ctx context.Context) error {
	return p.build(ctx, "pocketbase", ".", "./pocketbase")
}

// Fill lets PocketBase make its tables and writes into them.
func (p PocketBase) Fill(ctx context.Context, set data.Set) error {
	return p.once(p.Name(), set, pocketBaseSchema, func(dir string) error {
		if _, err := p.command(ctx, "prepare", dir); err != nil {
			return err
		}
		if err := fill.SQLite(filepath.Join(dir, "data.db"), fill.PocketBase(set)); err != nil {
			return err
		}
		_, err := p.command(ctx, "analyze", dir)
		return err
	})
}

// command runs one of the program's own commands and returns what it prints.
func (p PocketBase) command(ctx context.Context, name, dir string) (string, error) {
	var errors strings.Builder
	cmd := exec.CommandContext(ctx, p.Path("bin", "pocketbase"), name, "--dir", dir)
	cmd.Stderr = &errors
	out, err := cmd.Output()
	if err != nil || errors.Len() > 0 {
		return "", fmt.Errorf("pocketbase %s: %s (%w)", name, errors.String(), err)
	}
	return string(out), nil
}

// Start runs it on a copy of its folder.
func (p PocketBase) Start(ctx context.Context, set data.Set) (*Running, error) {
	dir, remove, err := p.copied(p.Name(), set, pocketBaseSchema)
	if err != nil {
		return nil, err
	}
	printed, err := p.command(ctx, "tokens", dir)
	if err != nil {
		return nil, err
	}
	tokens := make([]string, set.Users)
	for line := range strings.Lines(printed) {
		var user int
		var token string
		if _, err := fmt.Sscanf(line, "u%d %s", &user, &token); err != nil || user < 0 || user >= len(tokens) {
			return nil, fmt.Errorf("pocketbase printed %q for a token (%w)", line, err)
		}
		tokens[user] = token
	}
	addr, err := proc.FreeAddress()
	if err != nil {
		return nil, err
	}
	// It gives a query up after 30 seconds, which under this load are not enough for
	// its longer lists on a small machine.
	return p.serve(ctx, Running{Addr: addr, API: load.PocketBase{Tokens: tokens}, stop: remove}, "pocketbase", dir+".log", "/api/health",
		"serve", "--dir", dir, "--http", addr, "--queryTimeout", "300")
}
