package servers

import (
	"context"
	"os"
	"strings"
	"time"

	"warranty.example/svc/bench/internal/data"
	"warranty.example/svc/bench/internal/fill"
	"warranty.example/svc/bench/internal/proc"
)

// SvcdPostgres is svcd on a PostgreSQL server that the benchmark starts.
type SvcdPostgres struct {
	Svcd
	server *proc.Postgres
}

// Name returns the name of the server for flags.
func (*SvcdPostgres) Name() string { return "svcd-postgres" }

// Title returns the name of the server in the report.
func (*SvcdPostgres) Title() string { return "svcd, PostgreSQL" }

// Build builds svcd and starts PostgreSQL.
func (s *SvcdPostgres) Build(ctx context.Context) (err error) {
	if err := s.Svcd.Build(ctx); err != nil {
		return err
	}
	s.server, err = proc.StartPostgres(ctx, s.Path("postgres"))
	return err
}

// Close stops PostgreSQL.
func (s *SvcdPostgres) Close() {
	if s.server != nil {
		s.server.Stop()
	}
}

// database returns the name of the filled database, which needs no quotes.
func (s *SvcdPostgres) database(set data.Set) (string, error) {
	name, err := filled("svcd", set, migrations)
	return strings.ReplaceAll(name, "-", "_"), err
}

// Fill creates the database of svcd.
func (s *SvcdPostgres) Fill(ctx context.Context, set data.Set) error {
	name, err := s.database(set)
	if err != nil {
		return err
	}
	count, err := s.server.Ask(ctx, `SELECT count(*)::text FROM pg_database WHERE datname = $1`, name)
	if err != nil || count == "1" {
		return err
	}
	draft := name + "_draft"
	if err := s.server.Execute(ctx, `DROP DATABASE IF EXISTS `+draft, `CREATE DATABASE `+draft); err != nil {
		return err
	}
	if err := migrate(ctx, s.server.URL(draft)); err != nil {
		return err
	}
	if err := fill.Postgres(ctx, s.server.URL(draft), fill.Svc(set)); err != nil {
		return err
	}
	return s.server.Execute(ctx, `ALTER DATABASE `+draft+` RENAME TO `+name)
}

// Start runs svcd on a copy of the database.
func (s *SvcdPostgres) Start(ctx context.Context, set data.Set) (*Running, error) {
	name, err := s.database(set)
	if err != nil {
		return nil, err
	}
	run := name + "_run"
	drop := `DROP DATABASE IF EXISTS ` + run + ` WITH (FORCE)`
	if err := s.server.Execute(ctx, drop, `CREATE DATABASE `+run+` TEMPLATE `+name+` STRATEGY = FILE_COPY`); err != nil {
		return nil, err
	}
	dir := s.Path("run", run)
	remove := func() {
		os.RemoveAll(dir)
		_ = s.server.Execute(context.WithoutCancel(ctx), drop) // the next run drops leftovers
	}
	svcd := s.Svcd
	svcd.Profiles = svcd.Profiles || set.Giant
	r, err := svcd.run(ctx, svcd.Name(), dir, remove, "--database", s.server.URL(run))
	if err == nil {
		// The title of a backend process contains the name of its database.
		r.Database = func() (time.Duration, error) { return proc.ChildrenCPU(s.server.PID, " "+run+" ") }
	}
	return r, err
}
