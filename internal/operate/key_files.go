package operate

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"

	"warranty.example/svc/internal/config"
)

// readKeyFile reads a file that nobody else can read. what names its contents in errors.
func readKeyFile(path, what string) ([]byte, error) {
	info, err := os.Stat(path)
	if err != nil {
		return nil, err
	}
	const largest = 10 << 10
	switch {
	case !info.Mode().IsRegular():
		return nil, fmt.Errorf("%s is not a regular file", path)
	case info.Mode()&0o077 != 0 && runtime.GOOS != "windows": // which has no such modes
		return nil, fmt.Errorf("%s has the mode %04o; other users must not read or change it: chmod 600 %s",
			path, info.Mode().Perm(), path)
	case info.Size() > largest:
		return nil, fmt.Errorf("%s is not a %s", path, what)
	}
	return os.ReadFile(path)
}

// writeKeyFile writes a file that appears when it is complete.
func writeKeyFile(text []byte, path string, move func(from, to string) error) error {
	file, err := os.CreateTemp(filepath.Dir(path), filepath.Base(path)+".*.partial") // mode 0600
	if err != nil {
		return err
	}
	defer os.Remove(file.Name()) // it has its final name then, or is not needed
	_, err = file.Write(text)
	if err == nil {
		err = file.Sync()
	}
	if err = errors.Join(err, file.Close()); err != nil {
		return err
	}
	if err := move(file.Name(), path); err != nil {
		return err
	}
	return syncFolder(filepath.Dir(path))
}

// checkKeyFile rejects a key file that a start could not use, before anything is created. The start makes one that is
// missing.
func checkKeyFile(c config.Config, flag, path string, read func() error) error {
	if path == "" {
		return nil
	}
	if folder := filepath.Dir(path); folder != filepath.Clean(c.Data) && !exists(folder) {
		return fmt.Errorf("--%s: the folder %s does not exist; create it, or check the path", flag, folder)
	}
	if err := read(); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("--%s: %w", flag, err)
	}
	return nil
}
