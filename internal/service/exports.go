package service

import (
	"bufio"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"io"
	"io/fs"
	"time"

	"warranty.example/svc/internal/files"
	"warranty.example/svc/internal/store"
	"warranty.example/svc/warranty"
)

// ExportLifetime is how long the file of an export is kept.
const ExportLifetime = fileGrace

// ExportFile is a file that a job wrote. It is in the result of the job.
type ExportFile struct {
	Key     string    `json:"key"`
	SHA256  string    `json:"sha256"`
	Size    int64     `json:"size"`
	Expires time.Time `json:"expires"`
}

// WriteExport stores what write writes as a file for the principal. The file is noted as deleted before it exists, so
// that the sweep removes it a day later, whatever happens to the job, and nothing takes it for an orphan.
func (s *Service) WriteExport(
	ctx context.Context, p warranty.Principal, write func(io.Writer) error,
) (f ExportFile, err error) {
	if err := s.acceptsFiles(); err != nil {
		return f, err
	}
	if f.Key, err = files.NewKey(s.Random); err != nil {
		return f, err
	}
	now := s.now()
	f.Expires = now.Add(ExportLifetime)
	// This also checks the session of the job.
	err = s.WriteToAccount(ctx, p, warranty.Viewer, func(tx *store.Tx, _ store.Account) error {
		return tx.NoteUnused([]string{f.Key}, store.FileDeleted, now)
	})
	if err != nil {
		return f, err
	}
	reader, writer := io.Pipe()
	defer func() { _ = writer.CloseWithError(errNotStored) }() // if write panics
	sum, stored := sha256.New(), make(chan error, 1)
	go func() {
		err := s.Files.Put(ctx, f.Key, io.TeeReader(reader, io.MultiWriter(sum, (*counter)(&f.Size))))
		_ = reader.CloseWithError(errNotStored) // a pipe closes without an error
		stored <- err
	}()
	out := bufio.NewWriterSize(writer, 64<<10)
	failed := write(out)
	if failed == nil {
		failed = out.Flush()
	}
	_ = writer.CloseWithError(failed)
	err = <-stored
	switch {
	case failed != nil && !errors.Is(failed, errNotStored):
		return f, failed
	case err != nil:
		s.Log.Error("cannot store an export", "error", err.Error())
		return f, errors.Join(errFolder, err)
	}
	f.SHA256 = hex.EncodeToString(sum.Sum(nil))
	return f, nil
}

// errNotStored ends the writing of a file that cannot be stored.
var errNotStored = errors.New("the file could not be stored")

// counter counts bytes.
type counter int64

// Write implements io.Writer.
func (c *counter) Write(p []byte) (int, error) {
	*c += counter(len(p))
	return len(p), nil
}

// OpenExport opens the file of an export. The caller has checked that the job is the person's.
func (s *Service) OpenExport(ctx context.Context, f ExportFile) (io.ReadSeekCloser, error) {
	gone := warranty.Refuse(warranty.NotFound, "The file was deleted. Start the export again.")
	if !s.now().Before(f.Expires) {
		return nil, gone
	}
	content, err := s.Files.Get(ctx, f.Key, f.SHA256)
	switch {
	case errors.Is(err, fs.ErrNotExist) && s.acceptsFiles() == nil:
		return nil, gone // backups have no exports
	case err != nil:
		return nil, errors.Join(errFolder, err)
	}
	return content, nil
}
