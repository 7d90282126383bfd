// Package files keeps the files of documents in a folder. A key is all that the
// rest of the service knows of a file.
package files

import (
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

// Dir keeps files in a folder. It opens nothing outside of it, whatever a key says.
type Dir struct {
	disk disk
	path string
}

// Place is a folder below the one of a Dir.
type Place string

// Files arrive in one place and are complete in another. Files that no document
// needs wait in the trash before they are removed.
const (
	Arriving Place = "arriving"
	Complete Place = "complete"
	Trash    Place = "trash"
)

func (p Place) of(key string) string { return filepath.Join(string(p), key) }

// Open opens the folder, which only its owner may read, and makes it if it does
// not exist. It fails if the folder cannot be written to.
func Open(path string) (*Dir, error) {
	base, rest, err := ancestor(path)
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

// openIn opens a folder below a disk.
func openIn(base disk, path string) (*Dir, error) {
	if err := makeIn(base, path); err != nil {
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

// probe fails if no file can be written.
func (d *Dir) probe() error {
	name := Arriving.of("probe-" + rand.Text())
	file, err := d.disk.create(name)
	if err != nil {
		return err
	}
	return errors.Join(file.Close(), d.disk.remove(name))
}

// Close closes the folder.
func (d *Dir) Close() error { return d.disk.close() }

// Path is where the folder is.
func (d *Dir) Path() string { return d.path }

// Put stores what the reader gives under a key. When it returns nil the file is
// complete and durable; otherwise there is none.
func (d *Dir) Put(key string, from io.Reader) error {
	if err := d.write(Arriving.of(key), Complete.of(key), from); err != nil {
		return nameless(err)
	}
	if err := d.disk.sync(string(Complete)); err != nil {
		return errors.Join(nameless(err), d.Delete(key))
	}
	return nil
}

// write makes a file under a temporary name, syncs it, and renames it. The final
// name is durable once its folder is synced.
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

// Get opens the file of a key, also if it is in the trash: a restored database
// may know it again.
func (d *Dir) Get(key string) (io.ReadSeekCloser, error) {
	file, err := d.disk.open(Complete.of(key))
	if errors.Is(err, fs.ErrNotExist) {
		file, err = d.disk.open(Trash.of(key))
	}
	if errors.Is(err, fs.ErrNotExist) { // it may have been on its way back from the trash
		file, err = d.disk.open(Complete.of(key))
	}
	return file, nameless(err)
}

// Delete removes the file of a key, wherever it is; a missing one is not an error.
func (d *Dir) Delete(key string) error {
	return errors.Join(d.Remove(Complete, key), d.Remove(Trash, key))
}

// Remove removes a file from a place; a missing one is not an error.
func (d *Dir) Remove(place Place, key string) error {
	return nameless(ignoreMissing(d.disk.remove(place.of(key))))
}

// Move moves a file from one place to another, durably. A missing one is not an error.
func (d *Dir) Move(key string, from, to Place) error {
	err := d.disk.rename(from.of(key), to.of(key))
	if err == nil {
		err = errors.Join(d.disk.sync(string(to)), d.disk.sync(string(from)))
	}
	return nameless(ignoreMissing(err))
}

// Has tells whether a place has the file of a key.
func (d *Dir) Has(place Place, key string) (bool, error) {
	_, err := d.disk.stat(place.of(key))
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	return err == nil, nameless(err)
}

// Keys gives out the keys of the files in a place, at most count at a time and in
// no order. Whatever is not named like a file of ours is left out.
func (d *Dir) Keys(place Place, count int, each func(keys []string) error) error {
	folder, err := d.disk.open(string(place))
	if err != nil {
		return err
	}
	defer folder.Close()
	for {
		entries, err := folder.ReadDir(count)
		keys := make([]string, 0, len(entries))
		for _, entry := range entries {
			if entry.Type().IsRegular() && isKey(entry.Name()) {
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

// keyLength is the length of a key.
const keyLength = 20

// NewKey is a key for a new file: it says nothing of the file, its name or its owner.
func NewKey(random io.Reader) (string, error) {
	code, err := warranty.NewCode(random)
	return strings.ToLower(strings.ReplaceAll(code, "-", "")), err
}

// isKey tells whether a name may be a key.
func isKey(name string) bool {
	return len(name) == keyLength && strings.Trim(name, "0123456789abcdefghjkmnpqrstvwxyz") == ""
}

// ErrKind refuses a file whose content is not of a kind that is taken.
var ErrKind = func() error {
	var c warranty.Checks
	c.Add("file", "unsupported_file", "Upload a PDF, a JPEG, PNG or WebP image, or plain text; the content is looked at, not the name.")
	return c.Err()
}()

// errTooLarge refuses a file above the limit.
var errTooLarge = warranty.Refuse(warranty.BodyTooLarge, fmt.Sprintf("A file has at most %d MiB.", warranty.MaxFileSize>>20))
