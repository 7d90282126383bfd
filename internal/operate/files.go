package operate

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path/filepath"
	"strings"

	"warranty.example/svc/internal/archive"
	"warranty.example/svc/internal/config"
	"warranty.example/svc/internal/files"
	"warranty.example/svc/internal/service"
	"warranty.example/svc/internal/store"
)

// filesFolder returns the folder of the document files.
func filesFolder(c config.Config) string { return filepath.Join(c.Data, "files") }

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
		err = UsageError{fmt.Errorf("--files: %w", err)}
	case errors.As(err, &remote):
		err = fmt.Errorf("--files: %w", err)
	}
	return nil, err
}

// openFolder opens the files folder. With SQLite it also locks it.
func openFolder(ctx context.Context, c config.Config, s *service.Service) (release func() error, err error) {
	folder := filesFolder(c)
	if s.Files, err = files.Open(folder); err != nil {
		err = UsageError{fmt.Errorf("--data: cannot use the folder %s: %w", folder, err)}
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
		err = UsageError{fmt.Errorf("--data: %w", err)}
	}
	if err != nil {
		return nil, errors.Join(explainDenied(err, filepath.Join(folder, "id")), release())
	}
	return release, nil
}

// filesPlace is where document files are: in a bucket or a folder.
type filesPlace struct {
	bucket *files.S3
	folder string
}

// filesOf returns where the settings say that the files are.
func filesOf(c config.Config) filesPlace {
	if c.S3 != nil {
		return filesPlace{bucket: c.S3}
	}
	return filesPlace{folder: filesFolder(c)}
}

// String returns the place without secrets.
func (f filesPlace) String() string {
	if f.bucket != nil {
		return f.bucket.String()
	}
	return f.folder
}

func (f filesPlace) open() (files.Store, error) {
	if f.bucket != nil {
		bucket, err := f.bucket.Connect()
		if err != nil {
			return nil, UsageError{fmt.Errorf("--files: %w", err)}
		}
		return bucket, nil
	}
	dir, err := files.Open(f.folder)
	if err != nil {
		return nil, explainDenied(err, f.folder)
	}
	return dir, nil
}

// openSource opens a database as it is, and its files. The files must be those of the database.
func openSource(
	ctx context.Context, c config.Config, where filesPlace,
) (*store.Store, archive.Source, func() error, error) {
	if err := checkDatabase(ctx, c); err != nil {
		return nil, nil, nil, err
	}
	made := missingFiles(c)
	st, err := store.OpenAsIs(ctx, c.Database)
	if err != nil {
		return nil, nil, nil, explainDenied(err, databaseFiles(c)...)
	}
	dir, err := openSourceFiles(ctx, st, where)
	if err != nil {
		return nil, nil, nil, errors.Join(err, st.Close(), chownToFolderOwner(made))
	}
	if dir == nil {
		return st, noFiles{}, func() error { return errors.Join(st.Close(), chownToFolderOwner(made)) }, nil
	}
	return st, dir, func() error { return errors.Join(dir.Close(), st.Close(), chownToFolderOwner(made)) }, nil
}

// openSourceFiles opens the files of a database. It returns nil if there are none yet.
func openSourceFiles(ctx context.Context, st *store.Store, where filesPlace) (files.Store, error) {
	row, err := st.Folder(ctx)
	if err != nil {
		return nil, fmt.Errorf("this is not a database of svcd, or an old one: %w", err)
	}
	if where.bucket == nil && !exists(where.folder) {
		if row.Folder.IsZero() {
			return nil, nil
		}
		return nil, UsageError{fmt.Errorf("the files of the database are not in %s; "+
			"set --data or --files to their place", where)}
	}
	dir, err := where.open()
	if err != nil {
		return nil, err
	}
	id, err := dir.ID(ctx)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, errors.Join(err, dir.Close())
	}
	if !row.Folder.IsZero() && (id.Database != row.Database || id.Folder != row.Folder) {
		return nil, errors.Join(UsageError{fmt.Errorf(
			"the files in %s belong to another database; set --data or --files to the place of this one's files",
			where)}, dir.Close())
	}
	return dir, nil
}

// noFiles is an empty place of files.
type noFiles struct{}

// Get reports that there is no file.
func (noFiles) Get(context.Context, string, string) (io.ReadSeekCloser, error) {
	return nil, fs.ErrNotExist
}

// same reports whether two places are one.
func (f filesPlace) same(g filesPlace) bool {
	if f.bucket != nil || g.bucket != nil {
		return f.bucket != nil && g.bucket != nil && *f.bucket == *g.bucket
	}
	return resolveLinks(f.folder) == resolveLinks(g.folder)
}

// filesBeside returns the default place of the files of a database.
func filesBeside(c config.Config) filesPlace {
	if c.IsPostgres() || c.S3 != nil {
		return filesOf(c)
	}
	return filesPlace{folder: filepath.Join(filepath.Dir(c.Database), "files")}
}

// placeOf returns the place that a flag names, or the default.
func placeOf(flag, given string, otherwise filesPlace) (filesPlace, error) {
	if given == "" {
		return otherwise, nil
	}
	if !strings.HasPrefix(given, "s3://") {
		return filesPlace{folder: given}, nil
	}
	bucket, err := files.ParseS3(given)
	if err != nil {
		return filesPlace{}, UsageError{fmt.Errorf("%s: %w", flag, err)}
	}
	return filesPlace{bucket: bucket}, nil
}
