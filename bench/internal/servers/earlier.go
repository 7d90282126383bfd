package servers

import (
	"context"
	"io"
	"os"

	"warranty.example/svc/bench/internal/data"
)

// Earlier is another svcd on SQLite, to compare two versions in the same rounds. It runs on the schema of
// this one, like a replica during an upgrade.
type Earlier struct {
	Svcd
	Program string
}

// Name returns the name of the server for flags.
func (Earlier) Name() string { return "earlier" }

// Peer marks the server as an alternative to svcd.
func (Earlier) Peer() {}

// Title returns the name of the server in the report.
func (Earlier) Title() string { return "earlier svcd, SQLite" }

// Build copies the program.
func (e Earlier) Build(context.Context) error {
	from, err := os.Open(e.Program)
	if err != nil {
		return err
	}
	defer from.Close()
	if err := e.folders(); err != nil {
		return err
	}
	to, err := os.OpenFile(e.Path("bin", e.Name()), os.O_CREATE|os.O_WRONLY|os.O_TRUNC, 0o755) //nolint:gosec // a program
	if err != nil {
		return err
	}
	if _, err := io.Copy(to, from); err != nil {
		to.Close()
		return err
	}
	return to.Close()
}

// Start runs the program on a copy of svcd's file.
func (e Earlier) Start(ctx context.Context, set data.Set) (*Running, error) {
	dir, remove, err := e.copied(e.Name(), e.Svcd.Name(), set, migrations)
	if err != nil {
		return nil, err
	}
	return e.run(ctx, e.Name(), dir, remove)
}
