package service

import (
	"context"
	"errors"
	"io"
	"time"

	"warranty.example/svc/internal/picture"
	"warranty.example/svc/internal/store"
	"warranty.example/svc/warranty"
)

const (
	// decodeTime is the longest that making one small picture may take. Most take a tenth of a second.
	decodeTime = 5 * time.Second
	// pictureTries is the number of attempts that may be interrupted before there is only one a day.
	pictureTries = 3
	pictureAgain = 24 * time.Hour
)

// Thumbnail returns the small picture of a document that the principal can see, or nil if it has none. It is made
// when it is first shown, one at a time in each process, because decoding an image takes up to 100 MiB.
func (s *Service) Thumbnail(ctx context.Context, p warranty.Principal, in warranty.GetDocument) ([]byte, error) {
	t, err := s.Store.Thumbnail(ctx, p.Account.ID, in.ID)
	if err != nil || t.Made || !HasThumbnail(t.Document.ContentType) {
		return t.Picture, err
	}
	done, err := s.pictures.wait(ctx, t.Uploader)
	if err != nil {
		return nil, err
	}
	defer done()
	// Others who asked for it have waited for the one that made it.
	if t, err = s.Store.Thumbnail(ctx, p.Account.ID, in.ID); err != nil || t.Made {
		return t.Picture, err
	}
	return s.makeThumbnail(ctx, t)
}

// makeThumbnail makes the small picture of a document. The attempt is counted before the file is decoded: if the
// process dies of it, it is tried again a few times and not forever. A request that ends does not interrupt it, and a
// file that takes too long has no picture.
func (s *Service) makeThumbnail(ctx context.Context, t store.Thumbnail) ([]byte, error) {
	content, err := s.readFile(ctx, t.File)
	if err != nil {
		return nil, err
	}
	may, now := false, s.now()
	err = s.Store.Write(ctx, func(tx *store.Tx) (err error) {
		may, err = tx.TryThumbnail(t.StorageKey, pictureTries, now, now.Add(-pictureAgain))
		return err
	})
	if err != nil || !may {
		return nil, err
	}
	ctx = context.WithoutCancel(ctx)
	decoding, cancel := context.WithTimeout(ctx, decodeTime)
	defer cancel()
	small, err := s.pictures.small(decoding, content, t.Document.ContentType)
	if errors.Is(err, picture.ErrNone) || errors.Is(err, context.DeadlineExceeded) {
		small, err = []byte{}, nil
	}
	if err != nil {
		return nil, err
	}
	keeping, cancel := context.WithTimeout(ctx, decodeTime)
	defer cancel()
	return small, s.Store.Write(keeping, func(tx *store.Tx) error {
		return tx.KeepThumbnail(t.StorageKey, small, s.now())
	})
}

// pictureSlots are the turns to make small pictures, one at a time in each process.
type pictureSlots struct {
	small func(ctx context.Context, content []byte, mediaType string) ([]byte, error)
	*turns
}

func newPictureSlots() *pictureSlots { return &pictureSlots{picture.Small, newTurns(1)} }

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
