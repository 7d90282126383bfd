// Package files keeps the files of documents in a folder. A key is all that the
// rest of the service knows of a file; a store of another kind needs the same
// five methods.
package files

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"warranty.example/svc/warranty"
)

// Dir keeps files in a folder. It opens nothing outside of it, whatever a key says.
type Dir struct{ root *os.Root }

// The folder holds files that are complete, by their key, and beside them those
// that are still arriving.
const (
	complete = "complete"
	arriving = "arriving"
)

// Open opens the folder, which only its owner may read, and makes it when it is not there.
func Open(path string) (*Dir, error) {
	if err := os.MkdirAll(path, 0o700); err != nil {
		return nil, err
	}
	root, err := os.OpenRoot(path)
	if err != nil {
		return nil, err
	}
	for _, name := range []string{complete, arriving} {
		if err := root.Mkdir(name, 0o700); err != nil && !errors.Is(err, fs.ErrExist) {
			return nil, errors.Join(err, root.Close())
		}
	}
	return &Dir{root: root}, nil
}

// Close lets go of the folder.
func (d *Dir) Close() error { return d.root.Close() }

// Put stores what the reader gives under a key. When it returns nil the file is
// whole and durable; otherwise there is none.
func (d *Dir) Put(key string, from io.Reader) (err error) {
	temporary, final := filepath.Join(arriving, key), filepath.Join(complete, key)
	file, err := d.root.OpenFile(temporary, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if err != nil {
		return nameless(err)
	}
	_, err = io.Copy(file, from)
	if err == nil {
		err = file.Sync()
	}
	if closing := file.Close(); err == nil {
		err = closing
	}
	if err == nil {
		err = d.root.Rename(temporary, final)
	}
	if err != nil {
		return errors.Join(nameless(err), nameless(ignoreMissing(d.root.Remove(temporary))))
	}
	if err := d.sync(complete); err != nil {
		return errors.Join(err, d.Delete(key))
	}
	return nil
}

// sync makes the names in a folder durable.
func (d *Dir) sync(name string) error {
	folder, err := d.root.Open(name)
	if err != nil {
		return err
	}
	return errors.Join(folder.Sync(), folder.Close())
}

// Get opens the file of a key.
func (d *Dir) Get(key string) (io.ReadSeekCloser, error) {
	file, err := d.root.Open(filepath.Join(complete, key))
	return file, nameless(err)
}

// Delete removes the file of a key; one that is not there is no error.
func (d *Dir) Delete(key string) error {
	return nameless(ignoreMissing(d.root.Remove(filepath.Join(complete, key))))
}

// nameless is an error of a file without the file's name, which has no place in a log.
func nameless(err error) error {
	var path *fs.PathError
	var link *os.LinkError
	switch {
	case errors.As(err, &path):
		return fmt.Errorf("%s a file: %w", path.Op, path.Err)
	case errors.As(err, &link):
		return fmt.Errorf("%s a file: %w", link.Op, link.Err)
	}
	return err
}

func ignoreMissing(err error) error {
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}

// Sweep removes what a crash left behind: files that never became whole, and
// those that no record speaks of. What is younger than the age may still be
// under way in another process and is left alone.
func (d *Dir) Sweep(ctx context.Context, age time.Duration, isKnown func(ctx context.Context, key string) (bool, error)) (removed int, err error) {
	for _, folder := range []string{arriving, complete} {
		entries, err := fs.ReadDir(d.root.FS(), folder)
		if err != nil {
			return removed, err
		}
		for _, entry := range entries {
			info, err := entry.Info()
			if errors.Is(err, fs.ErrNotExist) || err == nil && time.Since(info.ModTime()) < age {
				continue
			}
			if err != nil {
				return removed, err
			}
			if folder == complete {
				if known, err := isKnown(ctx, entry.Name()); err != nil || known {
					if err != nil {
						return removed, err
					}
					continue
				}
			}
			if err := ignoreMissing(d.root.Remove(filepath.Join(folder, entry.Name()))); err != nil {
				return removed, err
			}
			removed++
		}
	}
	return removed, nil
}

// NewKey is a key for a new file: it says nothing of the file, its name or its owner.
func NewKey(random io.Reader) (string, error) {
	code, err := warranty.NewCode(random)
	return strings.ToLower(strings.ReplaceAll(code, "-", "")), err
}

// ErrKind refuses a file whose content is not of a kind that is taken.
var ErrKind = func() error {
	var c warranty.Checks
	c.Add("file", "unsupported_file", "Upload a PDF, a JPEG, PNG or WebP image, or plain text; the content is looked at, not the name.")
	return c.Err()
}()

// errTooLarge refuses a file above the limit.
var errTooLarge = warranty.Refuse(warranty.BodyTooLarge, fmt.Sprintf("A file has at most %d MiB.", warranty.MaxFileSize>>20))
