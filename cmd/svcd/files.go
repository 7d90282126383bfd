package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"warranty.example/svc/internal/config"
	"warranty.example/svc/internal/files"
	"warranty.example/svc/internal/service"
)

// filesFolder returns the folder of the document files.
func filesFolder(c config.Config) string { return filepath.Join(c.Data, "files") }

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

// checkPaths rejects paths of the wrong kind before anything is created there.
func checkPaths(c config.Config) error {
	if info, err := os.Stat(c.Data); err == nil && !info.IsDir() {
		return fmt.Errorf("--data: %s is not a folder", c.Data)
	}
	if c.IsPostgres() {
		return nil
	}
	// If Stat fails, opening the database later reports the reason.
	if info, err := os.Stat(c.Database); err == nil {
		switch {
		case info.IsDir():
			return fmt.Errorf("--database: %s is a folder; give the path of a file", c.Database)
		case !info.Mode().IsRegular():
			return fmt.Errorf("--database: %s is not a regular file", c.Database)
		case !exists(c.Database + lockSuffix): // otherwise see lockDatabase
			return checkContent(c)
		}
	}
	return nil
}

// checkSecrets rejects a signing key and keys for S3 that a start could not use, before anything is created.
func checkSecrets(c config.Config) error {
	if c.S3 != nil {
		bucket, err := c.S3.Connect() // it contacts nobody yet
		if err == nil {
			err = bucket.Close()
		}
		if err != nil {
			return fmt.Errorf("--files: %w", err)
		}
	}
	if c.SigningKey == "" {
		return nil
	}
	if folder := filepath.Dir(c.SigningKey); folder != filepath.Clean(c.Data) && !exists(folder) {
		return fmt.Errorf("--signing-key: the folder %s does not exist; create it, or check the path", folder)
	}
	if _, err := readSigningKey(c.SigningKey); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("--signing-key: %w", err)
	}
	return nil
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

// exists reports whether there may be something at a path. If it is not accessible, opening it later
// reports the reason.
func exists(path string) bool {
	_, err := os.Stat(path)
	return !errors.Is(err, fs.ErrNotExist)
}

// resolveLinks resolves symbolic links, so that a database opened under two names
// has one lock file.
func resolveLinks(path string) string {
	if real, err := filepath.EvalSymlinks(path); err == nil {
		return real
	}
	if folder, err := filepath.EvalSymlinks(filepath.Dir(path)); err == nil { // a new file
		return filepath.Join(folder, filepath.Base(path))
	}
	return path
}

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
		return nil, explainMissing(explainDenied(usageError{err}, folder), folder)
	}
	release, err = lockFile(c.Database + lockSuffix)
	if err != nil {
		return nil, err
	}
	// Only now: another svcd that is creating the database holds the lock.
	if err := checkContent(c); err != nil {
		return nil, errors.Join(usageError{err}, release())
	}
	return release, nil
}

func lockFile(path string) (release func() error, err error) {
	lock, err := files.AcquireLock(path)
	var locked files.LockedError
	if errors.As(err, &locked) {
		return nil, usageError{fmt.Errorf("%w; stop it, or choose another folder with --data", err)}
	}
	if err != nil {
		return nil, explainDenied(err, path, filepath.Dir(path))
	}
	return lock.Release, nil
}

// openFiles opens the store of the document files and checks that it belongs to this
// database.
func openFiles(ctx context.Context, c config.Config, s *service.Service) (release func() error, err error) {
	if c.S3 == nil {
		return openFolder(ctx, c, s)
	}
	bucket, err := c.S3.Connect()
	if err == nil {
		s.Files = bucket
		err = bucket.Probe(ctx)
	}
	var remote files.RemoteError
	if err == nil || errors.As(err, &remote) && !remote.Setting {
		err = s.BindFolder(ctx, !c.IsPostgres(), c.AdoptFiles) // it copes with an outage
	}
	var foreign service.ForeignFolderError
	switch {
	case err == nil:
		return bucket.Close, nil
	case errors.As(err, &foreign) || errors.As(err, &remote) && remote.Setting:
		err = usageError{fmt.Errorf("--files: %w", err)}
	case errors.As(err, &remote):
		err = fmt.Errorf("--files: %w", err)
	}
	return nil, err
}

// openFolder opens the files folder. With SQLite it also locks it.
func openFolder(ctx context.Context, c config.Config, s *service.Service) (release func() error, err error) {
	folder := filesFolder(c)
	if s.Files, err = files.Open(folder); err != nil {
		err = usageError{fmt.Errorf("--data: cannot use the folder %s: %w", folder, err)}
		return nil, explainDenied(err, c.Data, folder,
			filepath.Join(folder, "complete"), filepath.Join(folder, "arriving"), filepath.Join(folder, "trash"))
	}
	unlock := func() error { return nil }
	if !c.IsPostgres() {
		if unlock, err = lockFile(filepath.Join(folder, "lock")); err != nil {
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
		return nil, errors.Join(explainDenied(err, filepath.Join(folder, "id")), release())
	}
	return release, nil
}
