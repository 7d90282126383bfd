package operate

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

// owner is the user and group of a file.
type owner struct{ uid, gid int }

// explainDenied extends err if this process may not write one of the paths. The text
// names the owner and the user of this process, and says what to do.
func explainDenied(err error, paths ...string) error {
	for _, path := range paths {
		if reason := whyDenied(path); reason != "" {
			return fmt.Errorf("%w; %s", err, reason)
		}
	}
	return err
}

// whyDenied explains why this process may not write path. It returns "" if it may.
func whyDenied(path string) string {
	info, err := os.Stat(path)
	if errors.Is(err, fs.ErrPermission) {
		return fmt.Sprintf(
			"svcd runs as %s and cannot access %s; grant access to the parent folders, or run svcd as their owner",
			account(os.Geteuid()), path)
	}
	if err != nil || !errors.Is(access(path, info.IsDir()), fs.ErrPermission) {
		return ""
	}
	owner, _ := ownerOf(info)
	folder := path
	if !info.IsDir() {
		folder = filepath.Dir(path)
	}
	return fmt.Sprintf(
		"%s belongs to %s and svcd runs as %s; run svcd as its owner, or change the owner with: chown -R %d:%d %s",
		path, account(owner.uid), account(os.Geteuid()), os.Geteuid(), os.Getegid(), folder)
}

// explainMissing extends err if this process may not create a folder, with the command that does.
func explainMissing(err error, folder string) error {
	if !errors.Is(err, fs.ErrPermission) || exists(folder) {
		return err
	}
	return fmt.Errorf("%w; svcd runs as %s; create the folder for it with: install -d -m 0700 -o %d -g %d %s",
		err, account(os.Geteuid()), os.Geteuid(), os.Getegid(), quoteArg(folder))
}

// access fails if a file or folder is not writable.
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

// account formats a uid with the user's name, if it is known.
func account(uid int) string {
	if u, err := user.LookupId(strconv.Itoa(uid)); err == nil {
		return fmt.Sprintf("%s (uid %d)", u.Username, uid)
	}
	return fmt.Sprintf("uid %d", uid)
}

// chownToFolderOwner makes the owner of the folder the owner of the files that a
// command run by root has created, so that the service, which runs as that owner, can
// open them. It skips symbolic and hard links, which the folder's owner could use to
// gain other files.
func chownToFolderOwner(made []string) error {
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

// chownTree is chownToFolderOwner for everything in a folder and the folder itself.
func chownTree(folder string) error {
	info, err := os.Stat(filepath.Dir(folder))
	if err != nil || os.Geteuid() != 0 {
		return err
	}
	to, _ := ownerOf(info)
	if to.uid == 0 {
		return nil
	}
	root, err := os.OpenRoot(folder)
	if err != nil {
		return err
	}
	defer root.Close()
	return fs.WalkDir(root.FS(), ".", func(path string, _ fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		return root.Lchown(path, to.uid, to.gid)
	})
}

// missingFiles lists the files of a SQLite database that do not exist.
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
