// Package files stores document files, each under a key: in a folder, or in S3.
package files

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"warranty.example/svc/warranty"
)

// Dir stores files in a folder. It opens nothing outside it, whatever the key.
type Dir struct {
	disk disk
	path string
}

func (p Place) path(key string) string { return filepath.Join(string(p), key) }

// Open opens a folder and creates it if needed, readable only by its owner. It fails
// if the folder is not writable.
func Open(path string) (*Dir, error) {
	base, rest, err := openAncestor(path)
	if err != nil {
		return nil, err
	}
	d, err := openIn(base, rest)
	if err != nil {
		return nil, errors.Join(err, base.close())
	}
	if d.path, err = filepath.Abs(path); err != nil {
		return nil, errors.Join(err, base.close(), d.Close())
	}
	return d, base.close()
}

// openIn opens the folder path of base.
func openIn(base disk, path string) (*Dir, error) {
	if err := mkdirAll(base, path); err != nil {
		return nil, err
	}
	folder, err := base.sub(path)
	if err != nil {
		return nil, err
	}
	d := &Dir{disk: folder}
	for _, place := range []Place{Complete, Arriving, Trash} {
		if err := folder.mkdir(string(place)); err != nil {
			return nil, errors.Join(err, folder.close())
		}
	}
	if err := errors.Join(folder.sync("."), d.probe()); err != nil {
		return nil, errors.Join(err, folder.close())
	}
	return d, nil
}

// probe fails if no file can be created.
func (d *Dir) probe() error {
	name := Arriving.path("probe-" + rand.Text())
	file, err := d.disk.create(name)
	if err != nil {
		return err
	}
	return errors.Join(file.Close(), d.disk.remove(name))
}

// Close closes the folder.
func (d *Dir) Close() error { return d.disk.close() }

// Path returns the path of the folder.
func (d *Dir) Path() string { return d.path }

// Put stores a file under a key. If it returns nil, the file is complete and durable;
// otherwise it does not exist.
func (d *Dir) Put(ctx context.Context, key string, from io.Reader) error {
	if err := d.write(Arriving.path(key), Complete.path(key), from); err != nil {
		return withoutPath(err)
	}
	if err := d.disk.sync(string(Complete)); err != nil {
		return errors.Join(withoutPath(err), d.Delete(ctx, key))
	}
	return nil
}

// write creates a file under a temporary name, syncs and renames it. The caller syncs
// the folder to make the final name durable.
func (d *Dir) write(temporary, final string, from io.Reader) error {
	file, err := d.disk.create(temporary)
	if err != nil {
		return err
	}
	_, err = io.Copy(file, from)
	if err == nil {
		err = file.Sync()
	}
	if closing := file.Close(); err == nil {
		err = closing
	}
	if err == nil {
		err = d.disk.rename(temporary, final)
	}
	if err != nil {
		return errors.Join(err, ignoreMissing(d.disk.remove(temporary)))
	}
	return nil
}

// Get opens the file of a key. It also looks in the trash, because a restored
// database can reference trashed files. The file system guards the content, so sum is
// not used.
func (d *Dir) Get(_ context.Context, key, _ string) (io.ReadSeekCloser, error) {
	file, err := d.disk.open(Complete.path(key))
	if errors.Is(err, fs.ErrNotExist) {
		file, err = d.disk.open(Trash.path(key))
	}
	if errors.Is(err, fs.ErrNotExist) { // it may just have been moved back from the trash
		file, err = d.disk.open(Complete.path(key))
	}
	return file, withoutPath(err)
}

// Delete removes the file of a key, including from the trash. A missing file is not
// an error.
func (d *Dir) Delete(ctx context.Context, key string) error {
	return errors.Join(d.Remove(ctx, Complete, key), d.Remove(ctx, Trash, key))
}

// Remove removes a file from a place. A missing file is not an error.
func (d *Dir) Remove(_ context.Context, place Place, key string) error {
	return withoutPath(ignoreMissing(d.disk.remove(place.path(key))))
}

// Move durably moves a file between places. A missing file is not an error.
func (d *Dir) Move(_ context.Context, key string, from, to Place) error {
	err := d.disk.rename(from.path(key), to.path(key))
	if err == nil {
		err = errors.Join(d.disk.sync(string(to)), d.disk.sync(string(from)))
	}
	return withoutPath(ignoreMissing(err))
}

// Has reports whether a place has the file of a key.
func (d *Dir) Has(_ context.Context, place Place, key string) (bool, error) {
	_, err := d.disk.stat(place.path(key))
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	return err == nil, withoutPath(err)
}

// Keys calls each with the keys of the files in a place, in batches of at most count,
// in no particular order. It skips entries that are not named like a key.
func (d *Dir) Keys(_ context.Context, place Place, count int, each func(keys []string) error) error {
	folder, err := d.disk.open(string(place))
	if err != nil {
		return err
	}
	defer folder.Close()
	for {
		entries, err := folder.ReadDir(count)
		keys := make([]string, 0, len(entries))
		for _, entry := range entries {
			if entry.Type().IsRegular() && IsKey(entry.Name()) {
				keys = append(keys, entry.Name())
			}
		}
		if len(keys) > 0 {
			if err := each(keys); err != nil {
				return err
			}
		}
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
	}
}

// withoutPath removes the file name from an error, so that it is not logged.
func withoutPath(err error) error {
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

// keyLength is the length of a key.
const keyLength = 20

// NewKey returns a random key, which reveals nothing about the file or its owner.
func NewKey(random io.Reader) (string, error) {
	code, err := warranty.NewCode(random)
	return strings.ToLower(strings.ReplaceAll(code, "-", "")), err
}

// IsKey reports whether name has the form of a key.
func IsKey(name string) bool {
	return len(name) == keyLength && strings.Trim(name, "0123456789abcdefghjkmnpqrstvwxyz") == ""
}

// ErrKind rejects a file whose content is not of a supported type.
var ErrKind = refuseFile("Upload a PDF, a JPEG, PNG or WebP image, or plain text.")

// errHEIC is ErrKind for the photos that some phones make.
var errHEIC = refuseFile("HEIC photos can't be opened everywhere, so they are not accepted. Send the photo as JPEG. " +
	"On an iPhone: Settings, Camera, Formats, Most Compatible.")

// errDamaged rejects an image whose metadata cannot be found, because its structure is broken.
var errDamaged = refuseFile("This picture is damaged. Save it again with a picture program, or take a new one.")

func refuseFile(message string) error {
	var c warranty.Checks
	c.Add("file", "unsupported_file", "%s", warranty.Text{Format: message})
	return c.Err()
}

// errTooLarge rejects a file above the size limit.
var errTooLarge = warranty.Refuse(warranty.BodyTooLarge,
	"The file is too large. The limit is %d MiB.", warranty.MaxFileSize>>20)
