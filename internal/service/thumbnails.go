package service

import (
	"context"
	"errors"
	"io"

	"warranty.example/svc/internal/picture"
	"warranty.example/svc/internal/store"
	"warranty.example/svc/warranty"
)

// Thumbnail returns the small picture of a document that the principal can see, or nil if it has none. It is made
// when it is first shown, one at a time in each process, because decoding an image takes up to 100 MiB.
func (s *Service) Thumbnail(ctx context.Context, p warranty.Principal, in warranty.GetDocument) ([]byte, error) {
	t, err := s.Store.Thumbnail(ctx, p.Account.ID, in.ID)
	if err != nil || t.Made || !HasThumbnail(t.Document.ContentType) {
		return t.Picture, err
	}
	select {
	case s.pictures <- struct{}{}:
		defer func() { <-s.pictures }()
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	// Others who asked for it have waited for the one that made it.
	if t, err = s.Store.Thumbnail(ctx, p.Account.ID, in.ID); err != nil || t.Made {
		return t.Picture, err
	}
	content, err := s.readFile(ctx, t.File)
	if err != nil {
		return nil, err
	}
	small, err := picture.Small(content, t.Document.ContentType)
	if errors.Is(err, picture.ErrNone) {
		small, err = []byte{}, nil
	}
	if err != nil {
		return nil, err
	}
	return small, s.Store.Write(ctx, func(tx *store.Tx) error {
		return tx.InsertThumbnail(t.StorageKey, small, s.now())
	})
}

// HasThumbnail reports whether files of a media type may have a small picture.
func HasThumbnail(mediaType string) bool {
	return mediaType == "image/jpeg" || mediaType == "image/png" || mediaType == "image/webp"
}

// readFile reads the file of a document.
func (s *Service) readFile(ctx context.Context, f store.File) ([]byte, error) {
	content, err := s.Files.Get(ctx, f.StorageKey, f.Document.SHA256)
	if err != nil {
		return nil, errors.Join(errFolder, err)
	}
	defer content.Close()
	read, err := io.ReadAll(io.LimitReader(content, warranty.MaxFileSize))
	if err != nil {
		return nil, errors.Join(errFolder, err)
	}
	return read, nil
}
