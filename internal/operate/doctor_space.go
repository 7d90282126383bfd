package operate

import (
	"errors"
	"fmt"
	"path/filepath"
	"runtime"
	"strings"

	"warranty.example/svc/internal/config"
)

// Free space below which doctor warns, or fails: the service needs room for the write-ahead log of SQLite,
// which grows during backups, and for uploads of 20 MiB.
const (
	littleSpace  = 2 << 30
	noSpace      = 256 << 20
	fullSpace    = 1 << 20
	littleReason = "less than 2 GiB is free"
	noReason     = "less than 256 MiB is free; writes will soon fail"
	fullReason   = "the disk is full, and writes fail"
	spaceAdvice  = "free some space, such as old backups, or move the service to a larger disk"
)

// warning is the finding of a check that did not fail.
type warning struct{ error }

// checkSpace looks at the disks that the service and its backups write to on this machine. backups is a folder, or "".
func checkSpace(c config.Config, backups string) (string, error) {
	var folders, texts []string
	if !c.IsPostgres() {
		folders = append(folders, filepath.Dir(c.Database))
	}
	if c.S3 == nil && (len(folders) == 0 || resolveLinks(c.Data) != resolveLinks(folders[0])) {
		folders = append(folders, c.Data)
	}
	if backups != "" {
		folders = append(folders, backups)
	}
	var worst error
	for _, folder := range folders {
		if !exists(folder) {
			continue // there is nothing yet
		}
		free, total, err := spaceOf(folder)
		if errors.Is(err, errors.ErrUnsupported) {
			return "not checked on " + runtime.GOOS, nil
		}
		if err != nil {
			return "", fmt.Errorf("%s: %w", folder, err)
		}
		texts = append(texts, fmt.Sprintf("%s of %s free in %s", size(int64(free)), size(int64(total)), folder))
		worst = worse(worst, free)
	}
	if c.IsPostgres() {
		texts = append(texts, "the disk of PostgreSQL is not checked")
	}
	if c.S3 != nil {
		texts = append(texts, "S3 is not checked")
	}
	text := strings.Join(texts, "; ")
	var little warning
	switch {
	case errors.As(worst, &little):
		return "", warning{fmt.Errorf("%w: %s; %s", little.error, text, spaceAdvice)}
	case worst != nil:
		return "", fmt.Errorf("%w: %s; %s", worst, text, spaceAdvice)
	}
	return text, nil
}

// worse returns the worse of a finding and that of a disk.
func worse(than error, free uint64) error {
	var little warning
	switch {
	case free < fullSpace:
		return errors.New(fullReason)
	case free < noSpace:
		return errors.New(noReason)
	case free < littleSpace && (than == nil || errors.As(than, &little)):
		return warning{errors.New(littleReason)}
	}
	return than
}
