package operate

import (
	"errors"
	"fmt"
	"io"
)

// spaceCheck keeps a backup from filling a disk.
type spaceCheck struct {
	of func(path string) (free, total uint64, err error)
}

// checkEvery is the number of bytes between two checks while a backup is written.
const checkEvery = 64 << 20

// guard returns a writer to a file in a folder. It fails now if the folder has no room for the expected size,
// and later if the disk gets full. A part of the disk stays free for the service: 5 %, or 256 MiB.
func (s spaceCheck) guard(folder string, to io.Writer, expected int64) (io.Writer, error) {
	free, total, err := s.of(folder)
	if errors.Is(err, errors.ErrUnsupported) {
		return to, nil
	}
	if err != nil {
		return nil, err
	}
	reserve := min(total/20, noSpace)
	if free < uint64(expected)+reserve {
		return nil, fmt.Errorf("the backup needs about %s, and %s of the disk must stay free, but %s has only %s; "+
			"free some space, choose another place, or keep fewer backups with --keep",
			size(expected), size(int64(reserve)), folder, size(int64(free)))
	}
	return &guardedWriter{to: to, check: func() error {
		free, _, err := s.of(folder)
		if err == nil && free < reserve {
			err = fmt.Errorf("the disk of %s has only %s left, so the backup was stopped; "+
				"free some space, or choose another place", folder, size(int64(free)))
		}
		return err
	}}, nil
}

// guardedWriter runs a check now and then.
type guardedWriter struct {
	to    io.Writer
	check func() error
	since int64 // bytes since the last check
}

// Write implements io.Writer.
func (g *guardedWriter) Write(p []byte) (int, error) {
	if g.since += int64(len(p)); g.since >= checkEvery {
		g.since = 0
		if err := g.check(); err != nil {
			return 0, err
		}
	}
	return g.to.Write(p)
}
