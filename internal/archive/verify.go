package archive

import (
	"context"
	"errors"
	"fmt"
	"io"

	"warranty.example/svc/internal/store"
)

// Verify reads a backup as a restore does, and stores nothing: the checksums of the file, of every table and
// of every document, every row, and that documents have their files. The error is ErrFormat, ErrIncomplete or
// ErrChecksum if the backup is bad, and another one if it could not be read.
func Verify(ctx context.Context, from io.Reader, progress Progress) (Header, Summary, error) {
	r, err := newReader(stopping{ctx, from})
	if err != nil {
		return r.header, Summary{}, err
	}
	out, err := r.content(ctx, func(_ store.Table, list rows) error {
		for _, err := range list {
			if err != nil {
				return err
			}
		}
		return nil
	}, discard{}, progress)
	return r.header, out, err
}

// IsBad reports whether an error says that a backup is not complete and unchanged.
func IsBad(err error) bool {
	return errors.Is(err, ErrFormat) || errors.Is(err, ErrIncomplete) || errors.Is(err, ErrChecksum)
}

// stopping is a reader that fails when its context is done.
type stopping struct {
	ctx  context.Context //nolint:containedctx // io.Reader has no context
	from io.Reader
}

// Read implements io.Reader.
func (s stopping) Read(p []byte) (int, error) {
	if err := s.ctx.Err(); err != nil {
		return 0, err
	}
	return s.from.Read(p)
}

// discard is a Sink that keeps nothing.
type discard struct{}

// Put reads a file.
func (discard) Put(_ context.Context, _ string, from io.Reader) error {
	_, err := io.Copy(io.Discard, from)
	return err
}

// Inspect looks at the beginning and the end of a backup without reading all of it. It returns the header, or
// that the backup is encrypted: then its content is unknown.
func Inspect(file io.ReadSeeker) (h Header, encrypted bool, err error) {
	start := make([]byte, len(ageIntro))
	if _, err := io.ReadFull(file, start); err != nil && !errors.Is(err, io.EOF) && !errors.Is(err, io.ErrUnexpectedEOF) {
		return h, false, err
	}
	if string(start) == ageIntro {
		return h, true, nil
	}
	if _, err := file.Seek(0, io.SeekStart); err != nil {
		return h, false, err
	}
	r, err := newReader(file)
	if err != nil {
		return h, false, err
	}
	size, err := file.Seek(0, io.SeekEnd)
	if err != nil {
		return h, false, err
	}
	if size < sealSize {
		return h, false, ErrIncomplete
	}
	if _, err := file.Seek(size-sealSize, io.SeekStart); err != nil {
		return h, false, err
	}
	end := make([]byte, sealSize)
	if _, err := io.ReadFull(file, end); err != nil {
		return h, false, err
	}
	if !isSeal(end) {
		return h, false, fmt.Errorf("%w: its end is missing", ErrIncomplete)
	}
	return r.header, false, nil
}
