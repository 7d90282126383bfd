package files

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
)

// disk is a folder as the operating system keeps it. Tests use one that loses
// whatever was not synced when the power fails.
type disk interface {
	// create makes a file that must not exist.
	create(name string) (writer, error)
	open(name string) (*os.File, error)
	stat(name string) (fs.FileInfo, error)
	// mkdir makes a folder; one that exists is not an error.
	mkdir(name string) error
	rename(from, to string) error
	remove(name string) error
	// sync makes the names in a folder durable.
	sync(folder string) error
	// sub is a folder in this one, as a disk.
	sub(name string) (disk, error)
	close() error
}

// writer is a file that is being written.
type writer interface {
	io.Writer
	Sync() error
	Close() error
}

// rootDisk is a folder of the real file system. It opens nothing outside of it.
type rootDisk struct{ root *os.Root }

func (d rootDisk) create(name string) (writer, error) {
	return d.root.OpenFile(name, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
}

func (d rootDisk) open(name string) (*os.File, error)    { return d.root.Open(name) }
func (d rootDisk) stat(name string) (fs.FileInfo, error) { return d.root.Lstat(name) }
func (d rootDisk) rename(from, to string) error          { return d.root.Rename(from, to) }
func (d rootDisk) remove(name string) error              { return d.root.Remove(name) }
func (d rootDisk) close() error                          { return d.root.Close() }

func (d rootDisk) mkdir(name string) error {
	err := d.root.Mkdir(name, 0o700)
	if errors.Is(err, fs.ErrExist) {
		return nil
	}
	return err
}

func (d rootDisk) sync(folder string) error {
	f, err := d.root.Open(folder)
	if err != nil {
		return err
	}
	return errors.Join(f.Sync(), f.Close())
}

func (d rootDisk) sub(name string) (disk, error) {
	root, err := d.root.OpenRoot(name)
	return rootDisk{root}, err
}

// Make makes a folder that only its owner may read, with the folders above it,
// and makes their names durable. A folder that exists stays as it is.
func Make(path string) error {
	base, rest, err := ancestor(path)
	if err != nil {
		return err
	}
	return errors.Join(makeIn(base, rest), base.close())
}

// ancestor opens the nearest folder above a path that exists; rest leads from
// there to the path.
func ancestor(path string) (base disk, rest string, err error) {
	path, err = filepath.Abs(path)
	if err != nil {
		return nil, "", err
	}
	for above := path; ; above = filepath.Dir(above) {
		root, err := os.OpenRoot(above)
		if errors.Is(err, fs.ErrNotExist) && above != filepath.Dir(above) {
			continue
		}
		if err != nil {
			return nil, "", err
		}
		rest, err := filepath.Rel(above, path)
		return rootDisk{root}, rest, err
	}
}

// makeIn makes the folders of a path below a disk, from the top.
func makeIn(d disk, path string) error {
	if path == "." {
		return nil
	}
	above := filepath.Dir(path)
	if err := makeIn(d, above); err != nil {
		return err
	}
	if err := d.mkdir(path); err != nil {
		return err
	}
	return d.sync(above)
}
