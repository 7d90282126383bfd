package cli

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"warranty.example/svc/api"
	"warranty.example/svc/warranty"
)

// maxKeyFile is more than a key takes; a file that has more is something else.
const maxKeyFile = 4096

// address is the base address of the service.
func (r *run) address() string {
	for _, address := range []string{r.baseURL, r.Getenv("SVC_BASE_URL"), r.BaseURL} {
		if address != "" {
			return strings.TrimRight(address, "/")
		}
	}
	return ""
}

// findKey reads the key from the first place that has one, and says which.
func (r *run) findKey() (key, from string, err error) {
	switch {
	case r.keyFile != "":
		key, err = readKey(r.keyFile)
		from = "--api-key-file"
	case r.Getenv("SVC_API_KEY") != "":
		key, from = strings.TrimSpace(r.Getenv("SVC_API_KEY")), "SVC_API_KEY"
	case r.Getenv("SVC_API_KEY_FILE") != "":
		key, err = readKey(r.Getenv("SVC_API_KEY_FILE"))
		from = "SVC_API_KEY_FILE"
	default:
		key, err = r.storedKey()
		from = "svc auth login"
	}
	r.key = key
	if err != nil {
		return "", from, err
	}
	if key == "" {
		return "", "", nil
	}
	// What is no key is not sent: it may be the key of something else.
	if _, ok := warranty.ParseSecret(key); !ok {
		return "", from, warranty.Refuse(warranty.InvalidCredential, "What "+from+" holds is not a key of this service; it was not sent.")
	}
	return key, from, nil
}

func readKey(path string) (string, error) {
	f, err := os.Open(path)
	if err != nil {
		return "", keyFileError(path, err)
	}
	defer f.Close() // it was only read
	text, err := io.ReadAll(io.LimitReader(f, maxKeyFile))
	if err != nil {
		return "", keyFileError(path, err)
	}
	if key := strings.TrimSpace(string(text)); key != "" {
		return key, nil
	}
	return "", warranty.Refuse(warranty.MissingCredential, "The key file "+quote(path)+" is empty.")
}

func keyFileError(path string, err error) error {
	var at *fs.PathError
	if errors.As(err, &at) {
		err = at.Err
	}
	return warranty.Refuse(warranty.MissingCredential, "The key file "+quote(path)+" can not be read: "+err.Error()+".")
}

// credentials is the file of stored keys, one for each base address, so that a
// key never goes to another service than its own.
type credentials struct {
	Keys map[string]string `json:"keys"`
}

func (r *run) credentialsFile() (string, error) {
	dir, err := r.ConfigDir()
	if err != nil {
		return "", fmt.Errorf("there is no folder for settings: %w", err)
	}
	return filepath.Join(dir, "svc", "credentials"), nil
}

func (r *run) loadCredentials() (credentials, error) {
	c := credentials{Keys: map[string]string{}}
	file, err := r.credentialsFile()
	if err != nil {
		return c, nil //nolint:nilerr // without a folder nothing can have been stored
	}
	info, err := os.Stat(file)
	if errors.Is(err, fs.ErrNotExist) {
		return c, nil
	}
	if err != nil {
		return c, keyFileError(file, err)
	}
	if info.Mode().Perm()&0o077 != 0 {
		r.note("Others on this machine can read your key: run chmod 600 %s", file)
	}
	text, err := os.ReadFile(file)
	if err != nil {
		return c, keyFileError(file, err)
	}
	if err := api.ReadJSON(text, &c); err != nil || c.Keys == nil {
		return c, warranty.Refuse(warranty.MissingCredential, "The file "+quote(file)+" is damaged: delete it and run svc auth login.")
	}
	return c, nil
}

func (r *run) storedKey() (string, error) {
	c, err := r.loadCredentials()
	return c.Keys[r.address()], err
}

// saveCredentials replaces the file at once, and never lets others read it.
func (r *run) saveCredentials(c credentials) (string, error) {
	file, err := r.credentialsFile()
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
	text, err := api.AppendJSON(nil, c)
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
