package files

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
)

// disk is a folder of a file system. Tests implement one that loses unsynced data on
// a simulated power failure.
type disk interface {
	// create creates a file that must not exist.
	create(name string) (writer, error)
	open(name string) (*os.File, error)
	stat(name string) (fs.FileInfo, error)
	// mkdir creates a folder unless it exists.
	mkdir(name string) error
	rename(from, to string) error
	remove(name string) error
	// sync makes the entries of a folder durable.
	sync(folder string) error
	// sub opens a subfolder as a disk.
	sub(name string) (disk, error)
	close() error
}

// writer is a file that is being written.
type writer interface {
	io.Writer
	Sync() error
	Close() error
}

// rootDisk is a folder of the real file system. It opens nothing outside it.
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

// MkdirAll durably creates a folder that only its owner can read, along with its
// parents. Existing folders are not changed.
func MkdirAll(path string) error {
	base, rest, err := openAncestor(path)
	if err != nil {
		return err
	}
	return errors.Join(mkdirAll(base, rest), base.close())
}

// openAncestor opens the nearest existing folder at or above path; rest is the path
// relative to it.
func openAncestor(path string) (base disk, rest string, err error) {
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

// mkdirAll creates the folders of path in d, parents first.
func mkdirAll(d disk, path string) error {
	if path == "." {
		return nil
	}
	above := filepath.Dir(path)
	if err := mkdirAll(d, above); err != nil {
		return err
	}
	if err := d.mkdir(path); err != nil {
		return err
	}
	return d.sync(above)
}
