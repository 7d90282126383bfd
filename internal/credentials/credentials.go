// Package credentials finds and stores the API keys and connections of svc and svc-mcp.
package credentials

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"warranty.example/svc/api"
	"warranty.example/svc/warranty"
)

// MaxKey bounds the bytes read for a key; keys are shorter.
const MaxKey = 4096

// The environment variables.
const (
	KeyEnv     = "SVC_API_KEY"
	KeyFileEnv = "SVC_API_KEY_FILE"
	BaseURLEnv = "SVC_BASE_URL"
	AccountEnv = "SVC_ACCOUNT"
)

// Store finds the key of one service: in a file, in the environment, or among the
// keys stored by "svc auth login".
type Store struct {
	BaseURL   string // of the service
	File      string // from --api-key-file; optional
	Getenv    func(string) string
	ConfigDir func() (string, error) // as os.UserConfigDir
}

// Key is an API key and its source. Secret is empty if no key was found.
type Key struct {
	Secret, From string
	// Connected reports whether the key is the access token of a connection, which has to be refreshed.
	Connected bool
	// Exposed reports whether other users can read the file of the key.
	Exposed bool
}

// BaseURL returns the first URL that is not empty, without trailing slashes.
func BaseURL(urls ...string) string {
	for _, url := range urls {
		if url != "" {
			return strings.TrimRight(url, "/")
		}
	}
	return ""
}

// Find returns the key from the first source that has one. A value that is not a
// key of this service is returned with an error and must not be sent: it may be a
// secret of another service.
func (p Store) Find() (Key, error) {
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
		var stored StoredKeys
		stored, err = p.Load()
		key = Key{Secret: stored.Keys[p.BaseURL], From: "svc auth login", Exposed: stored.Exposed}
		if c, ok := stored.Connections[p.BaseURL]; ok {
			key.Secret, key.Connected = c.Access, true
		}
	}
	if err != nil || key.Secret == "" {
		return key, err
	}
	if _, ok := warranty.ParseSecret(key.Secret); !ok {
		return key, warranty.Refuse(warranty.InvalidCredential,
			"The value from %s is not a key of this service. It was not sent.", key.From)
	}
	return key, nil
}

func readKey(path string) (string, error) {
	f, err := os.Open(path)
	if err != nil {
		return "", fileError(path, err)
	}
	defer f.Close() // read-only
	text, err := io.ReadAll(io.LimitReader(f, MaxKey))
	if err != nil {
		return "", fileError(path, err)
	}
	if key := strings.TrimSpace(string(text)); key != "" {
		return key, nil
	}
	return "", warranty.Refuse(warranty.MissingCredential, "The key file %s is empty.", strconv.Quote(path))
}

func fileError(path string, err error) error {
	var at *fs.PathError
	if errors.As(err, &at) {
		err = at.Err
	}
	return warranty.Refuse(warranty.MissingCredential,
		"Cannot read the key file %s: %s.", strconv.Quote(path), err)
}

// StoredKeys is the content of the credentials file: one key or connection per base
// URL, so that it is only sent to its own service.
type StoredKeys struct {
	Keys map[string]string `json:"keys"`
	// Connections are those that "svc auth login --web" made.
	Connections map[string]Connection `json:"connections,omitempty"`
	// Exposed reports whether other users can read the file.
	Exposed bool `json:"-"`
}

// Connection is access to a service that the user allowed in the browser.
type Connection struct {
	Access  string    `json:"access_token"`
	Refresh string    `json:"refresh_token"`
	Expires time.Time `json:"expires_at"` // of the access token
}

// Set replaces the key or connection of a base URL. It removes both if both are empty.
func (s *StoredKeys) Set(baseURL, key string, c Connection) {
	delete(s.Keys, baseURL)
	delete(s.Connections, baseURL)
	switch {
	case key != "":
		s.Keys[baseURL] = key
	case c.Refresh != "":
		if s.Connections == nil {
			s.Connections = map[string]Connection{}
		}
		s.Connections[baseURL] = c
	}
}

// Path returns the path of the credentials file.
func (p Store) Path() (string, error) {
	dir, err := p.ConfigDir()
	if err != nil {
		return "", fmt.Errorf("no configuration directory: %w", err)
	}
	return filepath.Join(dir, "svc", "credentials"), nil
}

// Load reads the credentials file. If it does not exist, there are no keys.
func (p Store) Load() (StoredKeys, error) {
	s := StoredKeys{Keys: map[string]string{}}
	file, err := p.Path()
	if err != nil {
		return s, nil //nolint:nilerr // without a directory, nothing is stored
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
		return s, warranty.Refuse(warranty.MissingCredential,
			"The file %s is damaged. Delete it and run svc auth login.", strconv.Quote(file))
	}
	return s, nil
}

// Save atomically replaces the credentials file, readable by its owner only, and
// returns its path.
func (p Store) Save(s StoredKeys) (string, error) {
	file, err := p.Path()
	if err != nil {
		return "", err
	}
	dir := filepath.Dir(file)
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return "", err
	}
	if err := os.Chmod(dir, 0o700); err != nil { //nolint:gosec // directories need the x bit
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

// lockTimeout is longer than another process takes to refresh a connection.
const lockTimeout = 30 * time.Second

// Update changes the stored keys while no other process does, and returns the path of the
// file. If the file is damaged, change gets the error and no keys. An error of change
// stores nothing.
func (p Store) Update(ctx context.Context, change func(s *StoredKeys, damaged error) error) (string, error) {
	file, err := p.Path()
	if err != nil {
		return "", err
	}
	if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
		return "", err
	}
	// The lock is on a file of its own, because the credentials file is replaced.
	held, err := os.OpenFile(file+".lock", os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return "", err
	}
	defer held.Close() // releases the lock
	if err := wait(ctx, held); err != nil {
		return "", err
	}
	stored, damaged := p.Load()
	if damaged != nil {
		stored = StoredKeys{Keys: map[string]string{}}
	}
	if err := change(&stored, damaged); err != nil {
		return "", err
	}
	return p.Save(stored)
}

// errHeld means that another process has the lock.
var errHeld = errors.New("locked")

// wait waits for the lock of a file.
func wait(ctx context.Context, file *os.File) error {
	expired := time.After(lockTimeout)
	for {
		err := lock(file)
		if !errors.Is(err, errHeld) {
			return err
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-expired:
			return fmt.Errorf("another program has locked %s", file.Name())
		case <-time.After(20 * time.Millisecond):
		}
	}
}
