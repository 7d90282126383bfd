package main

import (
	"context"
	"errors"
	"fmt"
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

// lockDatabase keeps a second server from using the same SQLite file. The
// operator's commands do not take this lock: they only use the database, which
// SQLite itself guards. PostgreSQL is there for replicas, and has no lock.
func lockDatabase(c config.Config) (release func() error, err error) {
	if c.IsPostgres() {
		return func() error { return nil }, nil
	}
	if err := files.Make(filepath.Dir(c.Database)); err != nil {
		return nil, denied(err, filepath.Dir(c.Database))
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
		return nil, denied(fmt.Errorf("--data: %w", err), c.Data, folder, filepath.Join(folder, "complete"), filepath.Join(folder, "arriving"), filepath.Join(folder, "trash"))
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
