package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"warranty.example/svc/internal/config"
	"warranty.example/svc/internal/files"
	"warranty.example/svc/internal/service"
)

// filesFolder is the folder of the documents' files.
func filesFolder(c config.Config) string { return filepath.Join(c.Data, "files") }

// databaseFiles are the files of a SQLite database, and first its folder.
func databaseFiles(c config.Config) []string {
	return []string{filepath.Dir(c.Database), c.Database, c.Database + "-wal", c.Database + "-shm", c.Database + "-lock"}
}

// checkPaths refuses a folder and a database file that cannot be what they are said
// to be, before anything is made or changed there.
func checkPaths(c config.Config) error {
	if info, err := os.Stat(c.Data); err == nil && !info.IsDir() {
		return fmt.Errorf("--data: %s is not a folder", c.Data)
	}
	if c.IsPostgres() {
		return nil
	}
	// Where it does not exist yet or cannot be looked at, opening it tells why.
	if info, err := os.Stat(c.Database); err == nil {
		switch {
		case info.IsDir():
			return fmt.Errorf("--database: %s is a folder; name a file in it", c.Database)
		case !info.Mode().IsRegular():
			return fmt.Errorf("--database: %s is not a file", c.Database)
		case info.Size() > 0 && !isSQLite(c.Database):
			return fmt.Errorf("--database: %s is a file, but not a SQLite database", c.Database)
		}
	}
	return nil
}

// withoutLinks is where a path leads: whoever opens a database under another name
// must find the same lock beside it.
func withoutLinks(path string) string {
	if real, err := filepath.EvalSymlinks(path); err == nil {
		return real
	}
	if folder, err := filepath.EvalSymlinks(filepath.Dir(path)); err == nil { // it does not exist yet
		return filepath.Join(folder, filepath.Base(path))
	}
	return path
}

// isSQLite tells whether a file begins as a SQLite database does. One that cannot
// be read may be: opening it tells why.
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

// lockDatabase keeps a second server from using the same SQLite file. The
// operator's commands do not take this lock: they only use the database, which
// SQLite itself guards. PostgreSQL is there for replicas, and has no lock.
func lockDatabase(c config.Config) (release func() error, err error) {
	if c.IsPostgres() {
		return func() error { return nil }, nil
	}
	if err := files.Make(filepath.Dir(c.Database)); err != nil {
		return nil, denied(usageError{fmt.Errorf("the folder %s cannot be made: %w; choose another one with --data or --database", filepath.Dir(c.Database), err)}, filepath.Dir(c.Database))
	}
	return take(c.Database + "-lock")
}

func take(path string) (release func() error, err error) {
	lock, err := files.Take(path)
	var locked files.LockedError
	if errors.As(err, &locked) {
		return nil, usageError{fmt.Errorf("%w; stop it first, or choose another folder with --data", err)}
	}
	if err != nil {
		return nil, denied(err, path)
	}
	return lock.Release, nil
}

// openFiles opens the folder of files and makes sure that it is this database's.
// With SQLite the folder is locked: nobody else may use it.
func openFiles(ctx context.Context, c config.Config, s *service.Service) (release func() error, err error) {
	folder := filesFolder(c)
	if s.Files, err = files.Open(folder); err != nil {
		return nil, denied(usageError{fmt.Errorf("--data: the folder %s cannot be used: %w", folder, err)}, c.Data, folder, filepath.Join(folder, "complete"), filepath.Join(folder, "arriving"), filepath.Join(folder, "trash"))
	}
	unlock := func() error { return nil }
	if !c.IsPostgres() {
		if unlock, err = take(filepath.Join(folder, "lock")); err != nil {
			return nil, errors.Join(err, s.Files.Close())
		}
	}
	release = func() error { return errors.Join(s.Files.Close(), unlock()) }
	err = s.BindFolder(ctx, !c.IsPostgres(), c.AdoptFiles)
	var foreign service.ForeignFolderError
	if errors.As(err, &foreign) {
		err = usageError{fmt.Errorf("--data: %w", err)}
	}
	if err != nil {
		return nil, errors.Join(denied(err, filepath.Join(folder, "id")), release())
	}
	return release, nil
}
