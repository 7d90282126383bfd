package main

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/user"
	"path/filepath"
	"strconv"

	"warranty.example/svc/internal/config"
)

// owner is whom a file belongs to.
type owner struct{ uid, gid int }

// denied adds to an error that permission was denied for one of some files: whose
// it is, who svcd is, and what to do.
func denied(err error, paths ...string) error {
	for _, path := range paths {
		if reason := denial(path); reason != "" {
			return fmt.Errorf("%w; %s", err, reason)
		}
	}
	return err
}

// denial says why this process may not write a file or folder, or nothing if it may.
func denial(path string) string {
	info, err := os.Stat(path)
	if errors.Is(err, fs.ErrPermission) {
		return fmt.Sprintf("svcd runs as %s and may not look at %s; give it the folders above, or start it as their owner", account(os.Geteuid()), path)
	}
	if err != nil || !errors.Is(access(path, info.IsDir()), fs.ErrPermission) {
		return ""
	}
	owner, _ := ownerOf(info)
	folder := path
	if !info.IsDir() {
		folder = filepath.Dir(path)
	}
	return fmt.Sprintf("%s belongs to %s and svcd runs as %s; start svcd as its owner, or change the owner with: chown -R %d:%d %s",
		path, account(owner.uid), account(os.Geteuid()), os.Geteuid(), os.Getegid(), folder)
}

// access tries whether a file or folder can be written.
func access(path string, isFolder bool) error {
	if isFolder {
		return mayWrite(path)
	}
	file, err := os.OpenFile(path, os.O_RDWR, 0)
	if err != nil {
		return err
	}
	return file.Close()
}

// account is a user's name, if the system knows it, and number.
func account(uid int) string {
	if u, err := user.LookupId(strconv.Itoa(uid)); err == nil {
		return fmt.Sprintf("%s (uid %d)", u.Username, uid)
	}
	return fmt.Sprintf("uid %d", uid)
}

// handOver gives the files that a command run by root has made to the owner of
// the folder they are in: else the service, which runs as that owner, could not
// open them. made tells which ones were not there before. What is a link, or has
// another name, is left alone: who owns the folder must not get more that way.
func handOver(made []string) error {
	if os.Geteuid() != 0 {
		return nil
	}
	for _, path := range made {
		folder, err := os.Stat(filepath.Dir(path))
		if err != nil {
			return err
		}
		info, err := os.Lstat(path)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return err
		}
		to, _ := ownerOf(folder)
		from, links := ownerOf(info)
		if to.uid == 0 || from.uid != 0 || links != 1 || !info.Mode().IsRegular() {
			continue
		}
		if err := os.Lchown(path, to.uid, to.gid); err != nil {
			return err
		}
	}
	return nil
}

// missingFiles are those of a SQLite database that do not exist.
func missingFiles(c config.Config) (missing []string) {
	if c.IsPostgres() {
		return nil
	}
	for _, path := range databaseFiles(c)[1:] {
		if _, err := os.Lstat(path); errors.Is(err, fs.ErrNotExist) {
			missing = append(missing, path)
		}
	}
	return missing
}
