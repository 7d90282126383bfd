package servers

import (
	"context"
	"crypto/sha256"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"

	"warranty.example/svc/bench/internal/data"
	"warranty.example/svc/bench/internal/fill"
	"warranty.example/svc/bench/internal/load"
	"warranty.example/svc/bench/internal/proc"
	"warranty.example/svc/internal/store"
)

// Svcd is the service itself, on SQLite, with the settings that it ships with but
// for limits so high that they count and never refuse.
type Svcd struct {
	Folder
	// Profiles opens the listener for them, which the service does not have by default.
	Profiles bool
}

// Name is a flag's value.
func (Svcd) Name() string { return "svcd" }

// Title is for the report.
func (Svcd) Title() string { return "svcd, SQLite" }

// Build makes svcd from the tree around this module.
func (s Svcd) Build(ctx context.Context) error { return s.build(ctx, "svcd", "..", "./cmd/svcd") }

// Fill writes the file that svcd would have.
func (s Svcd) Fill(ctx context.Context, set data.Set) error {
	name, err := schemaName("svcd", set)
	if err != nil {
		return err
	}
	return s.once(name, func(dir string) error {
		file := filepath.Join(dir, "svc.db")
		if err := migrate(ctx, file); err != nil {
			return err
		}
		return fill.SQLite(file, fill.Svc(set))
	})
}

// Start runs svcd on a copy of the file.
func (s Svcd) Start(ctx context.Context, set data.Set) (*Running, error) {
	name, err := schemaName("svcd", set)
	if err != nil {
		return nil, err
	}
	dir, remove, err := s.copied(name)
	if err != nil {
		return nil, err
	}
	return s.run(ctx, dir, remove)
}

// run starts svcd on a data folder, with further settings.
func (s Svcd) run(ctx context.Context, dir string, stop func(), more ...string) (*Running, error) {
	addr, err := proc.FreeAddress()
	if err != nil {
		return nil, err
	}
	const unlimited = "1000000000"
	args := append([]string{"--data", dir, "--listen", addr, "--rate-limit", unlimited, "--max-token-rate", unlimited,
		"--ip-rate-limit", unlimited, "--verify-rate-limit", unlimited}, more...)
	admin := ""
	if s.Profiles {
		if admin, err = proc.FreeAddress(); err != nil {
			return nil, err
		}
		args = append(args, "--admin-listen", admin)
	}
	p, err := proc.Start(exec.CommandContext(context.WithoutCancel(ctx), s.Path("bin", "svcd"), args...), dir+".log")
	if err != nil {
		return nil, err
	}
	r := &Running{Process: p, Addr: addr, Admin: admin, API: &load.Svc{}, stop: stop}
	if err := p.Await(ctx, proc.Answers("http://"+addr+"/readyz")); err != nil {
		r.Stop()
		return nil, err
	}
	return r, nil
}

// migrate gives a database the service's schema.
func migrate(ctx context.Context, database string) error {
	s, err := store.Open(ctx, database)
	if err != nil {
		return err
	}
	return s.Close()
}

// schemaName is of a filled database: another for every schema, set and generation of the data.
func schemaName(server string, set data.Set) (string, error) {
	files, err := filepath.Glob("../internal/store/migrations/*.sql")
	if err != nil || len(files) == 0 {
		return "", fmt.Errorf("found no migrations of svcd; run this in the folder bench of the repository (%w)", err)
	}
	h := sha256.New()
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			return "", err
		}
		h.Write(text)
	}
	return filledName(server, set, h.Sum(nil)), nil
}

// filledName is the name of a filled database whose schema has the hash.
func filledName(server string, set data.Set, schema []byte) string {
	return fmt.Sprintf("%s-%d-%d-%.4x", server, set.Records, data.Generation, schema)
}
