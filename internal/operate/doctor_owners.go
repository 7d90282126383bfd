package operate

import (
	"fmt"
	"io/fs"
	"os"
	"os/user"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"warranty.example/svc/internal/config"
)

// Permission bits, as in a mode.
const (
	mayEnter  fs.FileMode = 1 // a folder
	mayRead   fs.FileMode = 4
	mayChange fs.FileMode = 6
	mayUse    fs.FileMode = 7 // a folder
)

// serviceUser is the user that the service runs as: the owner of its data folder.
type serviceUser struct {
	owner
	groups []int
}

// serviceUserOf returns the owner of the folder with the service's data. It reports false if there is none, or if the
// service runs as root, who may use everything.
func serviceUserOf(c config.Config) (serviceUser, string, bool) {
	folder := c.Data
	if !c.IsPostgres() && !exists(folder) {
		folder = filepath.Dir(c.Database)
	}
	info, err := os.Stat(folder)
	if err != nil {
		return serviceUser{}, "", false
	}
	who, _ := ownerOf(info)
	u := serviceUser{owner: who, groups: []int{who.gid}}
	if found, err := user.LookupId(strconv.Itoa(who.uid)); err == nil {
		ids, _ := found.GroupIds() // without them, the group of the folder counts
		for _, id := range ids {
			if gid, err := strconv.Atoi(id); err == nil {
				u.groups = append(u.groups, gid)
			}
		}
	}
	return u, folder, who.uid != 0
}

// may reports whether the user has permissions by the mode of a file.
func (u serviceUser) may(of owner, mode, want fs.FileMode) bool {
	switch {
	case u.uid == of.uid:
		return mode>>6&want == want
	case slices.Contains(u.groups, of.gid):
		return mode>>3&want == want
	}
	return mode&want == want
}

// denied is a file or folder that the service cannot use, and the command that changes that.
type denied struct{ path, fix string }

// findDenied returns the files that the service's user cannot use. It is for root, who can use them all.
func findDenied(c config.Config, values []config.Value, u serviceUser) []denied {
	var found []denied
	seen := map[string]bool{}
	inspect := func(path string, want fs.FileMode, own bool, fix string) {
		if seen[path] {
			return
		}
		seen[path] = true
		info, err := os.Stat(path)
		if err != nil || hasACL(path) {
			return // missing files are other checks' concern, and lists of permissions are not read
		}
		of, _ := ownerOf(info)
		if own && u.uid != of.uid || !u.may(of, info.Mode().Perm(), want) {
			found = append(found, denied{path, fix})
		}
	}
	reach := func(path string) { // of the folders above it
		for folder := filepath.Dir(absolute(path)); folder != filepath.Dir(folder); folder = filepath.Dir(folder) {
			inspect(folder, mayEnter, false, fmt.Sprintf("chgrp %d %[2]s && chmod g+x %[2]s", u.gid, quoteArg(folder)))
		}
	}
	chown := func(folder string) string { return fmt.Sprintf("chown -R %d:%d %s", u.uid, u.gid, quoteArg(folder)) }
	if !c.IsPostgres() {
		list := databaseFiles(c)
		reach(list[0])
		inspect(list[0], mayUse, false, chown(list[0]))
		for _, path := range list[1:] {
			inspect(path, mayChange, true, chown(list[0])) // svcd sets their modes, which only the owner may
		}
	}
	if c.S3 == nil {
		reach(c.Data)
		inspect(c.Data, mayUse, false, chown(c.Data))
		_ = filepath.WalkDir(filesFolder(c), func(path string, entry fs.DirEntry, err error) error {
			want := mayChange
			if err == nil && entry.IsDir() {
				want = mayUse
			}
			inspect(path, want, false, chown(c.Data))
			return nil
		}) // what cannot be read is no file of the service
	}
	inspect(c.SigningKey, mayRead, false, fmt.Sprintf("chown %d:%d %s", u.uid, u.gid, quoteArg(c.SigningKey)))
	inspect(c.SecretsKey, mayRead, false, fmt.Sprintf("chown %d:%d %s", u.uid, u.gid, quoteArg(c.SecretsKey)))
	for _, path := range settingFiles(c, values) {
		reach(path)
		// The owner stays: the service must not change its own settings.
		inspect(path, mayRead, false, fmt.Sprintf("chgrp %d %[2]s && chmod g+r %[2]s", u.gid, quoteArg(path)))
	}
	return found
}

// settingFiles lists the files that settings are read from or name.
func settingFiles(c config.Config, values []config.Value) []string {
	list := []string{c.ConfigFile, c.TLSCert, c.TLSKey}
	for _, v := range values {
		list = append(list, v.File)
	}
	slices.Sort(list)
	return slices.DeleteFunc(slices.Compact(list), func(path string) bool { return path == "" })
}

// checkOwners tells root about files that the service cannot use.
func checkOwners(c config.Config, values []config.Value) (string, error) {
	if os.Geteuid() != 0 {
		return "checked for " + account(os.Geteuid()) + ", who runs this command", nil
	}
	u, folder, ok := serviceUserOf(c)
	if !ok {
		return "the service runs as root, or has no data folder", nil
	}
	found := findDenied(c, values, u)
	if len(found) == 0 {
		return fmt.Sprintf("%s, the owner of %s, can use all files", account(u.uid), folder), nil
	}
	paths, fixes := make([]string, len(found)), []string{}
	for i, d := range found {
		paths[i] = d.path
		if !slices.Contains(fixes, d.fix) {
			fixes = append(fixes, d.fix)
		}
	}
	return "", fmt.Errorf("the service runs as %s, the owner of %s, and cannot use: %s; run: %s",
		account(u.uid), folder, some(paths), strings.Join(fixes[:min(len(fixes), 5)], " && "))
}
