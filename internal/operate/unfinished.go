package operate

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"

	"warranty.example/svc/internal/config"
	"warranty.example/svc/internal/service"
	"warranty.example/svc/internal/store"
)

// checkFinished refuses a place where a restore or copy was killed: a start would make an empty database there, and
// other commands would work on it. A database that is complete is used whatever lies beside it.
func checkFinished(ctx context.Context, c config.Config) error {
	left := leftovers(c)
	if left == "" {
		return nil
	}
	if c.IsPostgres() {
		has, err := hasSchema(ctx, c)
		if err != nil || has {
			return err
		}
	} else if exists(c.Database) {
		return nil
	}
	return UsageError{fmt.Errorf("a restore or copy was not finished and left %s; repeat the command, "+
		"or delete what it left to use an empty database", left)}
}

// checkFresh refuses a new database beside the files of another one, before anything is created. A start would refuse
// the files only after it has made the tables.
func checkFresh(ctx context.Context, c config.Config) error {
	if c.S3 != nil || c.AdoptFiles || !exists(filepath.Join(filesFolder(c), "id")) || leftovers(c) != "" {
		return nil // for leftovers see checkFinished
	}
	if c.IsPostgres() {
		if has, err := hasSchema(ctx, c); err != nil || has {
			return err
		}
	} else if exists(c.Database) {
		return nil
	}
	what := "--database is empty" // its address may have a password
	if !c.IsPostgres() {
		what = c.Database + " does not exist"
	}
	reason := fmt.Sprintf("%s, and the folder %s belongs to another database", what, filesFolder(c))
	return UsageError{fmt.Errorf("--data: %w", service.ForeignFolderError{Reason: reason})}
}

// leftovers returns what an unfinished command left, or "".
func leftovers(c config.Config) string {
	if path := c.Database + unfinished; !c.IsPostgres() && exists(path) {
		return path
	}
	if path := filesFolder(c) + unfinished; c.S3 == nil && exists(path) {
		return path
	}
	return ""
}

// hasSchema reports whether a PostgreSQL database has been used.
func hasSchema(ctx context.Context, c config.Config) (bool, error) {
	st, err := store.OpenAsIs(ctx, c.Database)
	if err != nil {
		return false, explainUnfinished(err)
	}
	version, reading := st.SchemaVersion(ctx)
	return reading == nil && version > 0, st.Close()
}

// explainUnfinished makes a PostgreSQL database with an unfinished restore a usage error.
func explainUnfinished(err error) error {
	if errors.Is(err, store.ErrUnfinished) {
		return UsageError{err}
	}
	return err
}
