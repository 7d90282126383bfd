package servers

import (
	"context"
	"path/filepath"

	"warranty.example/svc/bench/internal/data"
	"warranty.example/svc/bench/internal/fill"
	"warranty.example/svc/bench/internal/load"
	"warranty.example/svc/bench/internal/proc"
	"warranty.example/svc/internal/store"
)

// Svcd is the service on SQLite with default settings, except for limits that are so
// high that they never refuse a request.
type Svcd struct {
	Folder
	// Profiles enables the admin listener, which is off by default. Sets with a user who sees all
	// records always have it, for the durations of transactions.
	Profiles bool
}

// migrations matches the files with the service's schema.
const migrations = "../internal/store/migrations/*.sql"

// Name returns the name of the server for flags.
func (Svcd) Name() string { return "svcd" }

// Title returns the name of the server in the report.
func (Svcd) Title() string { return "svcd, SQLite" }

// Build builds svcd from the parent folder of this module.
func (s Svcd) Build(ctx context.Context) error { return s.build(ctx, "svcd", "..", "./cmd/svcd") }

// Fill creates the database file of svcd.
func (s Svcd) Fill(ctx context.Context, set data.Set) error {
	return s.once(s.Name(), set, migrations, func(dir string) error {
		file := filepath.Join(dir, "svc.db")
		if err := migrate(ctx, file); err != nil {
			return err
		}
		return fill.SQLite(file, fill.SvcSQLite(set))
	})
}

// Start runs svcd on a copy of the file.
func (s Svcd) Start(ctx context.Context, set data.Set) (*Running, error) {
	dir, remove, err := s.copied(s.Name(), s.Name(), set, migrations)
	if err != nil {
		return nil, err
	}
	s.Profiles = s.Profiles || set.Giant
	return s.run(ctx, s.Name(), dir, remove)
}

// run starts a svcd with a data folder and further flags.
func (s Svcd) run(ctx context.Context, program, dir string, stop func(), more ...string) (*Running, error) {
	addr, err := proc.FreeAddress()
	if err != nil {
		return nil, err
	}
	r := Running{Addr: addr, API: &load.Svcd{}, stop: stop}
	const unlimited = "1000000000"
	// The generated documents have no files, so the empty folder must be adopted.
	args := append([]string{"--data", dir, "--adopt-files", "--listen", addr, "--rate-limit", unlimited,
		"--max-token-rate", unlimited, "--ip-rate-limit", unlimited, "--verify-rate-limit", unlimited,
		"--connections-per-address", "0", "--drain", "0s"}, more...)
	if s.Profiles {
		if r.Admin, err = proc.FreeAddress(); err != nil {
			return nil, err
		}
		args = append(args, "--admin-listen", r.Admin)
	}
	return s.serve(ctx, r, program, dir+".log", "/readyz", args...)
}

// migrate creates the service's schema in a database.
func migrate(ctx context.Context, database string) error {
	s, err := store.Open(ctx, database)
	if err != nil {
		return err
	}
	return s.Close()
}
