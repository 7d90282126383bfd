package operate

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/google/uuid"

	"warranty.example/svc/internal/archive"
	"warranty.example/svc/internal/config"
	"warranty.example/svc/internal/files"
	"warranty.example/svc/internal/store"
	"warranty.example/svc/warranty"
)

// newPlace is an empty place for a database and its files. Both are made under other names and moved into
// place once they are complete, files first.
type newPlace struct {
	config   config.Config
	database string      // as it is made
	files    files.Store // as they are made; nil if they stay where they are
	folder   string      // their final folder; empty for a bucket
	bucket   *files.S3   // or their bucket
	release  []func() error
	// attempt identifies this restore or copy, and previous an earlier one that was killed. It is the id of the folder of
	// the files, so that what a killed command has put into place is known as such.
	attempt  warranty.ID
	previous string
}

// unfinished is appended to names of what is not complete yet.
const unfinished = ".unfinished"

// openPlace checks that a place is empty and locks it. It removes what an interrupted command left.
func openPlace(ctx context.Context, c config.Config, where *filesPlace) (p *newPlace, err error) {
	p = &newPlace{config: c, database: c.Database, attempt: newID()}
	defer func() {
		if err != nil {
			err = errors.Join(err, p.close())
		}
	}()
	if c.IsPostgres() {
		p.previous, err = store.Unfinished(ctx, c.Database)
	} else {
		err = p.openDatabase()
	}
	if err != nil {
		return p, err
	}
	switch {
	case where == nil:
		return p, nil
	case where.bucket != nil:
		return p, p.openBucket(ctx, where.bucket)
	}
	return p, p.openFolder(ctx, where.folder)
}

func (p *newPlace) openFolder(ctx context.Context, folder string) error {
	p.folder = folder
	if err := files.MkdirAll(filepath.Dir(folder)); err != nil {
		return explainDenied(UsageError{err}, filepath.Dir(folder))
	}
	lock := folder + unfinished + lockSuffix
	release, err := lockFile(lock)
	if err != nil {
		return err
	}
	p.release = append(p.release, func() error { return errors.Join(release(), os.Remove(lock)) })
	if err := p.removePrevious(ctx, folder); err != nil {
		return err
	}
	if err := checkEmpty(folder); err != nil {
		return err
	}
	// Only an interrupted command leaves this folder, and none is running.
	if err := os.RemoveAll(folder + unfinished); err != nil {
		return err
	}
	dir, err := files.Open(folder + unfinished)
	if err == nil {
		p.files = dir
	}
	return err
}

// removePrevious removes a folder that a killed command has put into place. Its database was never finished.
func (p *newPlace) removePrevious(ctx context.Context, folder string) error {
	if p.previous == "" || !exists(folder) {
		return nil
	}
	dir, err := files.Open(folder)
	if err != nil {
		return explainDenied(err, folder)
	}
	id, err := dir.ID(ctx)
	if closing := dir.Close(); closing != nil {
		return closing
	}
	if err != nil || id.Folder.String() != p.previous {
		return nil //nolint:nilerr // it is not one, or not of that command: see checkEmpty
	}
	return os.RemoveAll(folder)
}

// openBucket checks that a prefix of a bucket is empty. Files are put there at once, because objects
// cannot be moved cheaply; without a database they are orphans.
func (p *newPlace) openBucket(ctx context.Context, where *files.S3) error {
	bucket, err := where.Connect()
	if err != nil {
		return UsageError{fmt.Errorf("--files: %w", err)}
	}
	p.files, p.bucket = bucket, where
	if err := bucket.Probe(ctx); err != nil {
		return UsageError{fmt.Errorf("--files: %w", err)}
	}
	id, err := bucket.ID(ctx)
	if err == nil && p.previous != "" && id.Folder.String() == p.previous {
		return nil // of a killed command; files that this one does not replace are orphans
	}
	if err != nil && !errors.Is(err, fs.ErrNotExist) && !errors.Is(err, files.ErrDamaged) {
		return err
	}
	used := err == nil || errors.Is(err, files.ErrDamaged)
	for _, place := range []files.Place{files.Complete, files.Trash} {
		if err := bucket.Keys(ctx, place, 1, func([]string) error { used = true; return errEnough }); err != nil &&
			!errors.Is(err, errEnough) {
			return err
		}
	}
	if used {
		return UsageError{fmt.Errorf("%s is not empty and is not overwritten; choose another prefix, or empty it", where)}
	}
	return nil
}

var errEnough = errors.New("enough")

func (p *newPlace) openDatabase() error {
	release, err := lockDatabase(p.config)
	if err != nil {
		return err
	}
	p.release = append(p.release, release)
	if exists(p.config.Database) || exists(p.config.Database+"-wal") {
		_ = os.Remove(p.config.Database + unfinished + attemptSuffix) // of a command that was killed after its end
		return UsageError{fmt.Errorf("%s already exists and is not overwritten; choose another place, or move it away",
			p.config.Database)}
	}
	p.database = p.config.Database + unfinished
	previous, err := os.ReadFile(p.database + attemptSuffix)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return explainDenied(err, p.database+attemptSuffix)
	}
	p.previous = strings.TrimSpace(string(previous))
	for _, path := range p.databaseFiles() {
		if err := os.Remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	return nil
}

// attemptSuffix is appended to the name of an unfinished SQLite file for the file with the attempt.
const attemptSuffix = "-attempt"

// begin marks the place before anything is put there. A PostgreSQL database is marked by then.
func (p *newPlace) begin(ctx context.Context, id files.ID) error {
	if !p.config.IsPostgres() {
		if err := writeDurably(p.database+attemptSuffix, p.attempt.String()+"\n"); err != nil {
			return err
		}
	}
	if p.bucket == nil {
		return nil
	}
	return p.files.SetID(ctx, id)
}

func (p *newPlace) databaseFiles() []string {
	return []string{p.database, p.database + "-wal", p.database + "-shm", p.database + "-journal"}
}

// checkEmpty rejects a files folder that contains something.
func checkEmpty(folder string) error {
	entries, err := os.ReadDir(folder)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return UsageError{err}
	}
	for _, e := range entries {
		inside := []os.DirEntry{}
		if e.IsDir() {
			if inside, err = os.ReadDir(filepath.Join(folder, e.Name())); err != nil {
				return UsageError{err}
			}
		}
		if !e.IsDir() && e.Name() != "lock" || len(inside) > 0 {
			return UsageError{fmt.Errorf("the folder %s is not empty and is not overwritten; choose another place, "+
				"or move it away", folder)}
		}
	}
	return nil
}

// target returns where to create the data. The files get a new id.
func (p *newPlace) target(ctx context.Context, database warranty.ID) archive.Target {
	t := archive.Target{
		Database: p.database,
		ID:       database,
		NewID:    newID,
		Now:      time.Now().UTC().Truncate(time.Microsecond),
	}
	if p.files != nil {
		t.Files, t.Folder = p.files, p.attempt
	}
	id := files.ID{Database: database, Folder: p.attempt}
	t.Attempt = p.attempt.String()
	t.Begin = func() error { return p.begin(ctx, id) }
	t.BeforeCommit = func() error { return p.placeFiles(ctx, id) }
	return t
}

// newID returns an id that is ordered by time, like those of records.
func newID() warranty.ID { return warranty.ID(uuid.Must(uuid.NewV7())) }

// placeFiles moves the files into place.
func (p *newPlace) placeFiles(ctx context.Context, id files.ID) error {
	if p.files == nil {
		return nil
	}
	if err := p.files.SetID(ctx, id); err != nil || p.folder == "" {
		return err
	}
	if err := chownTree(p.folder + unfinished); err != nil {
		return err
	}
	if err := checkEmpty(p.folder); err != nil {
		return err
	}
	for _, name := range []string{"complete", "arriving", "trash", "lock", ""} { // all of them empty
		if err := os.Remove(filepath.Join(p.folder, name)); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	if err := os.Rename(p.folder+unfinished, p.folder); err != nil {
		return err
	}
	return syncFolder(filepath.Dir(p.folder))
}

// placeDatabase moves the SQLite file into place.
func (p *newPlace) placeDatabase() error {
	if p.config.IsPostgres() {
		return nil
	}
	if err := os.Rename(p.database, p.config.Database); err != nil {
		return err
	}
	if err := chownToFolderOwner([]string{p.config.Database, p.config.Database + lockSuffix}); err != nil {
		return err
	}
	if err := os.Remove(p.database + attemptSuffix); err != nil {
		return err
	}
	return syncFolder(filepath.Dir(p.config.Database))
}

// discard removes what was made so far and returns the error with what is left. Files in a bucket are
// left: another command or server may use the prefix by now, or the database may be complete.
func (p *newPlace) discard(err error) error {
	if !p.config.IsPostgres() {
		for _, path := range append(p.databaseFiles(), p.database+attemptSuffix) {
			_ = os.Remove(path) // the next attempt removes it
		}
		if p.folder != "" {
			p.previous = p.attempt.String()
			_ = p.removePrevious(context.Background(), p.folder) // or the operator does
		}
	}
	if p.folder != "" {
		_ = os.RemoveAll(p.folder + unfinished) // the next attempt removes it
	}
	if p.bucket != nil {
		return fmt.Errorf("%w; files may be left at %s; empty it before you repeat the command", err, p.bucket)
	}
	return err
}

func (p *newPlace) close() (err error) {
	if p.files != nil {
		err = p.files.Close()
	}
	for _, release := range p.release {
		err = errors.Join(err, release())
	}
	return err
}
