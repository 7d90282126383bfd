// Package credentials finds the key that a program on a person's machine calls
// the service with, for svc and svc-mcp alike.
package credentials

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"warranty.example/svc/api"
	"warranty.example/svc/warranty"
)

// MaxKey is more bytes than a key takes; a file that has more is something else.
const MaxKey = 4096

// The environment variables.
const (
	KeyEnv     = "SVC_API_KEY"
	KeyFileEnv = "SVC_API_KEY_FILE"
	BaseURLEnv = "SVC_BASE_URL"
)

// Places are where a key may be: the first one that has a key wins.
type Places struct {
	BaseURL   string // of the service that the key is for
	File      string // what --api-key-file names, if anything
	Getenv    func(string) string
	ConfigDir func() (string, error) // of the user, for all programs
}

// Key is a key and the place that it comes from. Without a secret none was found.
type Key struct {
	Secret, From string
	// Exposed tells that others on this machine can read the file that it is stored in.
	Exposed bool
}

// BaseURL is the first address that is given, without a slash at its end.
func BaseURL(addresses ...string) string {
	for _, address := range addresses {
		if address != "" {
			return strings.TrimRight(address, "/")
		}
	}
	return ""
}

// Find reads the key from the first place that has one. What cannot be a key of
// this service is returned with an error, and must not be sent: it may be the key
// of something else.
func (p Places) Find() (Key, error) {
	var key Key
	var err error
	switch {
	case p.File != "":
		key.From = "--api-key-file"
		key.Secret, err = readKey(p.File)
	case p.Getenv(KeyEnv) != "":
		key = Key{Secret: strings.TrimSpace(p.Getenv(KeyEnv)), From: KeyEnv}
	case p.Getenv(KeyFileEnv) != "":
		key.From = KeyFileEnv
		key.Secret, err = readKey(p.Getenv(KeyFileEnv))
	default:
		var stored Stored
		stored, err = p.Load()
		key = Key{Secret: stored.Keys[p.BaseURL], From: "svc auth login", Exposed: stored.Exposed}
	}
	if err != nil || key.Secret == "" {
		return key, err
	}
	if _, ok := warranty.ParseSecret(key.Secret); !ok {
		return key, warranty.Refuse(warranty.InvalidCredential, "The value from "+key.From+" is not a key of this service. It was not sent.")
	}
	return key, nil
}

func readKey(path string) (string, error) {
	f, err := os.Open(path)
	if err != nil {
		return "", fileError(path, err)
	}
	defer f.Close() // it was only read
	text, err := io.ReadAll(io.LimitReader(f, MaxKey))
	if err != nil {
		return "", fileError(path, err)
	}
	if key := strings.TrimSpace(string(text)); key != "" {
		return key, nil
	}
	return "", warranty.Refuse(warranty.MissingCredential, "The key file "+strconv.Quote(path)+" is empty.")
}

func fileError(path string, err error) error {
	var at *fs.PathError
	if errors.As(err, &at) {
		err = at.Err
	}
	return warranty.Refuse(warranty.MissingCredential, "Cannot read the key file "+strconv.Quote(path)+": "+err.Error()+".")
}

// Stored is the file of stored keys, one for each base address, so that a key
// never goes to another service than its own.
type Stored struct {
	Keys map[string]string `json:"keys"`
	// Exposed tells that others on this machine can read the file.
	Exposed bool `json:"-"`
}

// StoredIn is the file that "svc auth login" writes.
func (p Places) StoredIn() (string, error) {
	dir, err := p.ConfigDir()
	if err != nil {
		return "", fmt.Errorf("no folder for settings: %w", err)
	}
	return filepath.Join(dir, "svc", "credentials"), nil
}

// Load reads the stored keys; a file that does not exist has none.
func (p Places) Load() (Stored, error) {
	s := Stored{Keys: map[string]string{}}
	file, err := p.StoredIn()
	if err != nil {
		return s, nil //nolint:nilerr // without a folder nothing can have been stored
	}
	info, err := os.Stat(file)
	if errors.Is(err, fs.ErrNotExist) {
		return s, nil
	}
	if err != nil {
		return s, fileError(file, err)
	}
	s.Exposed = info.Mode().Perm()&0o077 != 0
	text, err := os.ReadFile(file)
	if err != nil {
		return s, fileError(file, err)
	}
	if err := api.ReadJSON(text, &s); err != nil || s.Keys == nil {
		return s, warranty.Refuse(warranty.MissingCredential, "The file "+strconv.Quote(file)+" is damaged. Delete it and run svc auth login.")
	}
	return s, nil
}

// Save replaces the file at once, and never lets others read it.
func (p Places) Save(s Stored) (string, error) {
	file, err := p.StoredIn()
	if err != nil {
		return "", err
	}
	dir := filepath.Dir(file)
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return "", err
	}
	if err := os.Chmod(dir, 0o700); err != nil { //nolint:gosec // a folder needs its x
		return "", err
	}
	text, err := api.AppendJSON(nil, s)
	if err != nil {
		return "", err
	}
	f, err := os.CreateTemp(dir, "credentials-*") // 0600
	if err != nil {
		return "", err
	}
	_, err = f.Write(append(text, '\n'))
	err = errors.Join(err, f.Close())
	if err == nil {
		err = os.Rename(f.Name(), file)
	}
	if err != nil {
		return "", errors.Join(err, os.Remove(f.Name()))
	}
	return file, nil
}
