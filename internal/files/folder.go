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

// ID says whose folder this is. Database is the database whose documents it
// holds. Folder tells it from other folders of the same database, which a
// replica may use by mistake.
type ID struct{ Database, Folder warranty.ID }

// idFile holds the ID: a line for each, and a first line for whoever opens it.
const idFile = "id"

const idFormat = "The files of documents of one svcd database. Keep this file with them.\ndatabase %s\nfolder %s\n"

// ErrDamaged says that the folder's id cannot be read, for example because the
// file was cut off.
var ErrDamaged = errors.New("the folder's id is damaged")

// ID reads whose folder this is. It looks at the path again, so that it notices
// when another folder was mounted there. Without an id the error is fs.ErrNotExist.
func (d *Dir) ID() (ID, error) {
	opened, err := d.disk.stat(".")
	if err != nil {
		return ID{}, err
	}
	now, err := os.Stat(d.path)
	if err != nil {
		return ID{}, err
	}
	if !os.SameFile(opened, now) {
		return ID{}, errors.New("the folder was replaced while svcd was running; restart svcd")
	}
	file, err := os.Open(filepath.Join(d.path, idFile))
	if err != nil {
		return ID{}, err
	}
	defer file.Close()
	text, err := io.ReadAll(io.LimitReader(file, 1<<10))
	if err != nil {
		return ID{}, err
	}
	return parseID(string(text))
}

func parseID(text string) (ID, error) {
	lines := strings.Split(text, "\n")
	if len(lines) != 4 {
		return ID{}, ErrDamaged
	}
	database, wrong := warranty.ParseID(strings.TrimPrefix(lines[1], "database "))
	folder, alsoWrong := warranty.ParseID(strings.TrimPrefix(lines[2], "folder "))
	if wrong != nil || alsoWrong != nil {
		return ID{}, ErrDamaged
	}
	return ID{Database: database, Folder: folder}, nil
}

// SetID writes whose folder this is, durably.
func (d *Dir) SetID(id ID) error {
	err := d.write(idFile+"-"+rand.Text(), idFile, strings.NewReader(fmt.Sprintf(idFormat, id.Database, id.Folder)))
	if err != nil {
		return err
	}
	return d.disk.sync(".")
}

// Lock is a file that one process holds at a time, until it ends.
type Lock struct{ file *os.File }

// Take locks a file, and makes it if it does not exist. If another process
// holds it, the error is a LockedError.
func Take(path string) (*Lock, error) {
	file, err := os.OpenFile(path, os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return nil, err
	}
	if err := lock(file); err != nil {
		holder, _ := io.ReadAll(io.LimitReader(file, 20)) // a hint; the lock is what counts
		file.Close()
		if errors.Is(err, errHeld) {
			return nil, LockedError{Path: path, Holder: strings.TrimSpace(string(holder))}
		}
		return nil, &fs.PathError{Op: "lock", Path: path, Err: err}
	}
	// Whoever is refused is told which process holds it.
	err = file.Truncate(0)
	if err == nil {
		_, err = fmt.Fprintln(file, os.Getpid())
	}
	if err != nil {
		return nil, errors.Join(err, file.Close())
	}
	return &Lock{file}, nil
}

// Release lets another process take the lock.
func (l *Lock) Release() error { return l.file.Close() }

// LockedError says that another process holds a lock.
type LockedError struct{ Path, Holder string }

// Error names the process, if it is known.
func (e LockedError) Error() string {
	holder := ""
	if e.Holder != "" {
		holder = " (process " + e.Holder + ")"
	}
	return "another svcd" + holder + " is using " + filepath.Dir(e.Path)
}

var errHeld = errors.New("the lock is held")
