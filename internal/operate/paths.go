package operate

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"warranty.example/svc/internal/config"
)

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

func isFolder(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.IsDir()
}

// writeDurably writes a file that survives a power cut.
func writeDurably(path, text string) error {
	file, err := os.OpenFile(path, os.O_CREATE|os.O_TRUNC|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	_, err = file.WriteString(text)
	if err == nil {
		err = file.Sync()
	}
	if err = errors.Join(err, file.Close()); err != nil {
		return err
	}
	return syncFolder(filepath.Dir(path))
}

func syncFolder(path string) error {
	folder, err := os.Open(path)
	if err != nil {
		return err
	}
	return errors.Join(folder.Sync(), folder.Close())
}

// moveNew gives a file its final name and never replaces another file.
func moveNew(from, to string) error {
	err := os.Link(from, to)
	if err == nil || errors.Is(err, fs.ErrExist) {
		return err
	}
	// The file system has no hard links.
	if _, err := os.Lstat(to); !errors.Is(err, fs.ErrNotExist) {
		return &fs.PathError{Op: "rename", Path: to, Err: fs.ErrExist}
	}
	return os.Rename(from, to)
}

// absolute returns an absolute path, or path if the working folder is not known.
func absolute(path string) string {
	if full, err := filepath.Abs(path); err == nil {
		return full
	}
	return path
}

// quoteArg quotes a path for a shell if it needs it.
func quoteArg(path string) string {
	if path != "" && !strings.ContainsFunc(path, func(r rune) bool {
		return !strings.ContainsRune("/._-+:@%", r) && (r < '0' || r > '9' && r < 'A' || r > 'Z' && r < 'a' || r > 'z')
	}) {
		return path
	}
	return "'" + strings.ReplaceAll(path, "'", `'\''`) + "'"
}
