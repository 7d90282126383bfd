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

// ID identifies a files folder. Database is the id of the database that it belongs
// to. Folder distinguishes it from other folders that replicas of the same database
// may use by mistake.
type ID struct{ Database, Folder warranty.ID }

// idFile contains the ID, after a line of explanation.
const idFile = "id"

const idFormat = "The files of documents of one svcd database. Keep this file with them.\ndatabase %s\nfolder %s\n"

// maxID is more than the length of an id file.
const maxID = 1 << 10

func (id ID) format() string { return fmt.Sprintf(idFormat, id.Database, id.Folder) }

// ErrDamaged reports that the folder's id file is invalid, for example truncated.
var ErrDamaged = errors.New("the folder's id file is damaged")

// ID reads the folder's id. It resolves the path again to detect that another folder
// was mounted there. Without an id file the error is fs.ErrNotExist.
func (d *Dir) ID(context.Context) (ID, error) {
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
	text, err := io.ReadAll(io.LimitReader(file, maxID))
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

// SetID durably writes the folder's id.
func (d *Dir) SetID(_ context.Context, id ID) error {
	err := d.write(idFile+"-"+rand.Text(), idFile, strings.NewReader(id.format()))
	if err != nil {
		return err
	}
	return d.disk.sync(".")
}

// Lock is a file lock. One process at a time holds it, at most until it exits.
type Lock struct{ file *os.File }

// AcquireLock locks a file and creates it if needed. If another process holds the
// lock, the error is a LockedError.
func AcquireLock(path string) (*Lock, error) {
	file, err := os.OpenFile(path, os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return nil, err
	}
	if err := lock(file); err != nil {
		holder, _ := io.ReadAll(io.LimitReader(file, 20)) // only for the error message
		file.Close()
		if errors.Is(err, errHeld) {
			return nil, LockedError{Path: path, Holder: strings.TrimSpace(string(holder))}
		}
		return nil, &fs.PathError{Op: "lock", Path: path, Err: err}
	}
	// The process id is for the LockedError of others.
	err = file.Truncate(0)
	if err == nil {
		_, err = fmt.Fprintln(file, os.Getpid())
	}
	if err != nil {
		return nil, errors.Join(err, file.Close())
	}
	return &Lock{file}, nil
}

// LockOpen locks an open file until it is closed or the process ends. It reports false if another process has
// locked it. On systems without locks the error is errors.ErrUnsupported.
func LockOpen(file *os.File) (locked bool, err error) {
	if !hasLocks {
		return false, errors.ErrUnsupported
	}
	err = lock(file)
	if errors.Is(err, errHeld) {
		return false, nil
	}
	return err == nil, err
}

// Release releases the lock.
func (l *Lock) Release() error { return l.file.Close() }

// LockedError reports that another process holds a lock.
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
