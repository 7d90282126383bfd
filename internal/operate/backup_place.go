package operate

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"time"

	"warranty.example/svc/internal/files"
)

// shelf is a place of backups: a folder or a prefix of a bucket.
type shelf interface {
	// write stores what fill writes, of about the expected size. It appears under its name when it is complete
	// and durable, and never replaces another file.
	write(ctx context.Context, name string, expected int64, fill func(io.Writer) error) error
	// sweep removes what killed processes left of the backups that accepts names. It never touches those of
	// running processes.
	sweep(ctx context.Context, accepts func(name string) bool) (removed []string, err error)
	names(ctx context.Context) ([]string, error)
	open(ctx context.Context, name string) (io.ReadSeekCloser, error)
	remove(ctx context.Context, name string) error
	// path returns where a backup is, without secrets.
	path(name string) string
	close() error
}

// backupPlace is where to write a backup to, or where to read it from.
type backupPlace struct {
	shelf shelf  // nil for standard output or input
	name  string // empty to choose one, in a folder
}

// parsePlace returns the place that an argument names: - for a stream, a folder, a file, or an s3:// URL of a
// prefix, or of an object if it ends like a backup.
func parsePlace(flag, to string) (p backupPlace, err error) {
	switch {
	case to == "-":
		return p, nil
	case strings.HasPrefix(to, "s3://"):
		return parseObject(flag, to)
	case isFolder(to):
		return backupPlace{shelf: newFolderShelf(to)}, nil
	case strings.HasSuffix(to, "/"):
		return p, UsageError{fmt.Errorf("the folder %s does not exist", to)}
	}
	return backupPlace{shelf: newFolderShelf(filepath.Dir(to)), name: filepath.Base(to)}, nil
}

func parseObject(flag, to string) (p backupPlace, err error) {
	where, err := files.ParseS3(to)
	if err != nil {
		return p, UsageError{fmt.Errorf("%s %w", flag, err)}
	}
	if parent, name := where.Split(); strings.HasSuffix(name, ".tar") || strings.HasSuffix(name, ".age") {
		where, p.name = parent, name
	}
	objects, err := where.Objects()
	if err != nil {
		return p, UsageError{err}
	}
	p.shelf = bucketShelf{where, objects}
	return p, nil
}

func (p backupPlace) close() error {
	if p.shelf == nil {
		return nil
	}
	return p.shelf.close()
}

// folderShelf is a folder of backups.
type folderShelf struct {
	folder string
	space  spaceCheck
}

func newFolderShelf(folder string) folderShelf { return folderShelf{folder, spaceCheck{spaceOf}} }

func (f folderShelf) path(name string) string { return filepath.Join(f.folder, name) }
func (f folderShelf) close() error            { return nil }

func (f folderShelf) names(context.Context) (names []string, err error) {
	entries, err := os.ReadDir(f.folder)
	for _, e := range entries {
		if e.Type().IsRegular() {
			names = append(names, e.Name())
		}
	}
	return names, err
}

func (f folderShelf) open(_ context.Context, name string) (io.ReadSeekCloser, error) {
	return os.Open(f.path(name))
}

func (f folderShelf) remove(_ context.Context, name string) error { return os.Remove(f.path(name)) }

func (f folderShelf) write(_ context.Context, name string, expected int64, fill func(io.Writer) error) error {
	path := f.path(name)
	if _, err := os.Lstat(path); !errors.Is(err, fs.ErrNotExist) {
		if err != nil {
			return UsageError{err}
		}
		return UsageError{fmt.Errorf("%s already exists and is not overwritten", path)}
	}
	file, err := createPartial(path)
	if err != nil {
		return UsageError{err}
	}
	defer os.Remove(file.Name()) // it has its final name then, or is not needed
	guard, err := f.space.guard(f.folder, file, expected)
	if err == nil {
		err = fill(guard)
	}
	if err == nil {
		err = file.Sync()
	}
	if err == nil {
		err = moveNew(file.Name(), path)
	}
	if err = errors.Join(err, file.Close()); err != nil { // the lock ends here
		return err
	}
	return syncFolder(f.folder)
}

// createPartial creates a file for a backup that is not complete yet, and locks it.
func createPartial(path string) (*os.File, error) {
	for {
		file, err := os.CreateTemp(filepath.Dir(path), filepath.Base(path)+".*.partial") // mode 0600
		if err != nil {
			return nil, err
		}
		locked, err := files.LockOpen(file)
		if err != nil {
			return file, nil //nolint:nilerr // the file system has no locks, so no other process removes the file
		}
		if locked && isAt(file, file.Name()) {
			return file, nil
		}
		_ = file.Close() // another process took it for one of a killed process, and removes it
	}
}

// isAt reports whether an open file still has a name.
func isAt(file *os.File, name string) bool {
	opened, err := file.Stat()
	if err != nil {
		return false
	}
	now, err := os.Lstat(name)
	return err == nil && os.SameFile(opened, now)
}

// partials matches the names of createPartial.
var partials = regexp.MustCompile(`^(.+)\.\d+\.partial$`)

func (f folderShelf) sweep(ctx context.Context, accepts func(name string) bool) (removed []string, err error) {
	names, err := f.names(ctx)
	if err != nil {
		return nil, UsageError{err}
	}
	for _, name := range names {
		if parts := partials.FindStringSubmatch(name); parts == nil || !accepts(parts[1]) {
			continue
		}
		gone, err := removeUnlocked(f.path(name))
		if err != nil {
			return removed, err
		}
		if gone {
			removed = append(removed, name)
		}
	}
	return removed, nil
}

// removeUnlocked removes a file unless a process has locked it.
func removeUnlocked(path string) (removed bool, err error) {
	file, err := os.OpenFile(path, os.O_RDWR, 0)
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil // it was completed
	}
	if err != nil {
		return false, err
	}
	defer file.Close()
	if locked, err := files.LockOpen(file); err != nil || !locked {
		return false, nil // without locks, nobody knows whether it is used
	}
	err = os.Remove(path)
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil // its process removed it before it was locked here
	}
	return err == nil, err
}

// bucketShelf is a prefix of a bucket.
type bucketShelf struct {
	where   *files.S3
	objects *files.Objects
}

func (b bucketShelf) path(name string) string { return b.where.String() + "/" + name }
func (b bucketShelf) close() error            { return b.objects.Close() }

func (b bucketShelf) names(ctx context.Context) ([]string, error) {
	return b.objects.Names(ctx, "svcd-")
}

func (b bucketShelf) open(ctx context.Context, name string) (io.ReadSeekCloser, error) {
	file, err := b.objects.Open(ctx, name)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("%s does not exist", b.path(name))
	}
	return file, err
}

func (b bucketShelf) remove(ctx context.Context, name string) error {
	return b.objects.Remove(ctx, name)
}

func (b bucketShelf) write(ctx context.Context, name string, expected int64, fill func(io.Writer) error) error {
	from, to := io.Pipe()
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		to.CloseWithError(fill(to))
	}()
	err := b.objects.Put(ctx, name, from, expected)
	from.CloseWithError(errUpload)
	<-ended
	if errors.Is(err, fs.ErrExist) {
		return UsageError{fmt.Errorf("%s already exists and is not overwritten", b.path(name))}
	}
	return err
}

// errUpload ends a backup whose upload failed.
var errUpload = errors.New("the upload failed")

// staleAfter is how long an upload to S3 gets no part before it counts as left by a killed process: parts
// follow each other within minutes.
const staleAfter = 24 * time.Hour

func (b bucketShelf) sweep(ctx context.Context, accepts func(name string) bool) ([]string, error) {
	return b.objects.RemoveStale(ctx, accepts, time.Now().Add(-staleAfter))
}
