package operate

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"warranty.example/svc/internal/config"
	"warranty.example/svc/internal/files"
	"warranty.example/svc/internal/service"
	"warranty.example/svc/internal/store"
	"warranty.example/svc/warranty"
)

// databaseFiles lists the folder and the files of a SQLite database.
func databaseFiles(c config.Config) []string {
	return []string{
		filepath.Dir(c.Database),
		c.Database,
		c.Database + "-wal",
		c.Database + "-shm",
		c.Database + lockSuffix,
	}
}

// checkContent rejects a file that is neither empty nor a SQLite database.
func checkContent(c config.Config) error {
	if info, err := os.Stat(c.Database); err == nil && info.Size() > 0 && !isSQLite(c.Database) {
		return fmt.Errorf("--database: %s is not a SQLite database; choose another file, "+
			"or if it was one, move it away and restore a backup with svcd restore", c.Database)
	}
	return nil
}

// lockSuffix is appended to the path of a SQLite database for its lock file.
const lockSuffix = "-lock"

// isSQLite reports whether a file starts like a SQLite database. It returns true for
// an unreadable file; opening the database reports the reason.
func isSQLite(path string) bool {
	const magic = "SQLite format 3\x00"
	file, err := os.Open(path)
	if err != nil {
		return true
	}
	defer file.Close()
	head := make([]byte, len(magic))
	_, err = io.ReadFull(file, head)
	return err == nil && string(head) == magic
}

// lockDatabase prevents a second server from using the same SQLite file. Operator
// commands do not need the lock, because SQLite serializes their writes. PostgreSQL
// supports replicas, so it has no lock.
func lockDatabase(c config.Config) (release func() error, err error) {
	if c.IsPostgres() {
		return func() error { return nil }, nil
	}
	folder := filepath.Dir(c.Database)
	if err := files.MkdirAll(folder); err != nil {
		err = fmt.Errorf("cannot create the folder %s: %w; choose another one with --data or --database", folder, err)
		return nil, explainMissing(explainDenied(UsageError{err}, folder), folder)
	}
	release, err = lockFile(c.Database + lockSuffix)
	if err != nil {
		return nil, err
	}
	// Only now: another svcd that is creating the database holds the lock.
	if err := checkContent(c); err != nil {
		return nil, errors.Join(UsageError{err}, release())
	}
	return release, nil
}

func lockFile(path string) (release func() error, err error) {
	lock, err := files.AcquireLock(path)
	var locked files.LockedError
	if errors.As(err, &locked) {
		return nil, UsageError{fmt.Errorf("%w; stop it, or choose another folder with --data", err)}
	}
	if err != nil {
		return nil, explainDenied(err, path, filepath.Dir(path))
	}
	return lock.Release, nil
}

// checkDatabase rejects a place without a database of svcd. Opening it would create one there.
func checkDatabase(ctx context.Context, c config.Config) error {
	if err := checkFinished(ctx, c); err != nil {
		return err
	}
	if !c.IsPostgres() {
		if !exists(c.Database) {
			return UsageError{fmt.Errorf("no database at %s; "+
				"set its place with --data, --database or --config, or start svcd once to create it", c.Database)}
		}
		return nil
	}
	st, err := store.OpenAsIs(ctx, c.Database)
	if err != nil {
		return explainUnfinished(err)
	}
	defer st.Close()
	_, err = st.SchemaVersion(ctx)
	var refusal *warranty.Error
	if err == nil || errors.As(err, &refusal) { // an outage
		return err
	}
	return UsageError{errors.New("svcd has not been started with this database yet, or it is not svcd's; check --database")}
}

// withService opens the database for one command.
func withService(do func(*cobra.Command, *service.Service, string) error) func(*cobra.Command, []string) error {
	return func(cmd *cobra.Command, args []string) (err error) {
		c, err := Load(cmd)
		if err != nil {
			return err
		}
		if err := checkDatabase(cmd.Context(), c); err != nil {
			return err
		}
		made := missingFiles(c)
		s, err := openService(cmd.Context(), c, slog.New(slog.NewTextHandler(os.Stderr, nil)))
		if err != nil {
			return err
		}
		// Now, for a server that starts meanwhile, and again for files that Close leaves.
		defer func() { err = errors.Join(err, s.Store.Close(), chownToFolderOwner(made)) }()
		if err := chownToFolderOwner(made); err != nil {
			return err
		}
		name := strings.ToLower(strings.TrimSpace(strings.Join(args, "")))
		if err = do(cmd, s, name); errors.Is(err, warranty.ErrNotFound) {
			err = fmt.Errorf("account %s not found", name)
		}
		var refusal *warranty.Error
		if errors.As(err, &refusal) && refusal.Code == warranty.ValidationFailed {
			err = UsageError{err}
		}
		return err
	}
}

// explainDamage says what to do about a SQLite file that is cut off or overwritten, or whose disk is full.
func explainDamage(err error, c config.Config) error {
	if err == nil || c.IsPostgres() || c.Database == "" {
		return err
	}
	if !store.IsDamaged(err) {
		if free, _, failed := spaceOf(filepath.Dir(c.Database)); failed == nil && free < fullSpace && store.IsDiskError(err) {
			return fmt.Errorf("%w; the disk of %s is full; %s", err, c.Database, spaceAdvice)
		}
		return err
	}
	return fmt.Errorf("%s is damaged or cut off (%w); stop svcd, move the file and its -wal and -shm away, "+
		"and restore the last backup with svcd restore", c.Database, err)
}

// checkNotEmptied finds a SQLite file that lost its content: files of documents exist, so it had some.
func checkNotEmptied(c config.Config) error {
	info, err := os.Stat(c.Database)
	if c.IsPostgres() || err != nil || info.Size() > 0 || !exists(filepath.Join(filesFolder(c), "id")) {
		return nil //nolint:nilerr // opening it reports the reason
	}
	if wal, err := os.Stat(c.Database + "-wal"); err == nil && wal.Size() > 0 {
		return nil
	}
	return errors.New(c.Database + " is empty, but has files of documents beside it; " +
		"stop svcd, move it away and restore the last backup with svcd restore")
}
