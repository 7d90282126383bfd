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

// PocketBase is PocketBase with default settings, except that its rate limiter and logs are off.
type PocketBase struct{ Folder }

// pocketBaseSchema matches the files that define the collections.
const pocketBaseSchema = "pocketbase/*.go"

// Name returns the name of the server for flags.
func (PocketBase) Name() string { return "pocketbase" }

// Peer marks the server as an alternative to svcd.
func (PocketBase) Peer() {}

// Title returns the name of the server in the report.
func (PocketBase) Title() string { return "PocketBase" }

// Build builds the program.
func (p PocketBase) Build(ctx context.Context) error {
	return p.build(ctx, "pocketbase", ".", "./pocketbase")
}

// Fill lets PocketBase create its tables and loads the data.
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

// command runs a command of the program and returns its output.
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

// Start runs the program on a copy of its folder.
func (p PocketBase) Start(ctx context.Context, set data.Set) (*Running, error) {
	dir, remove, err := p.copied(p.Name(), p.Name(), set, pocketBaseSchema)
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
			return nil, fmt.Errorf("pocketbase printed %q instead of a token (%w)", line, err)
		}
		tokens[user] = token
	}
	addr, err := proc.FreeAddress()
	if err != nil {
		return nil, err
	}
	// The default query timeout of 30 seconds is too short for its longer lists under
	// load on a small machine.
	running := Running{Addr: addr, API: load.PocketBase{Tokens: tokens}, stop: remove}
	return p.serve(ctx, running, "pocketbase", dir+".log", "/api/health",
		"serve", "--dir", dir, "--http", addr, "--queryTimeout", "300")
}
