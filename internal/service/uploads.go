package service

import (
	"context"
	"io"
	"sync"
	"time"

	"warranty.example/svc/internal/files"
	"warranty.example/svc/warranty"
)

// StoredFile is a stored file without a document.
type StoredFile struct {
	key         string
	ContentType string
	Size        int64
	SHA256      string
}

// StoreFile stores a file from a stream. The caller must pass it to UploadDocument or
// to ForgetFile.
func (s *Service) StoreFile(ctx context.Context, from io.Reader) (StoredFile, error) {
	if err := s.acceptsFiles(); err != nil {
		return StoredFile{}, err
	}
	key, err := files.NewKey(s.Random)
	if err != nil {
		return StoredFile{}, err
	}
	scanner := files.NewScanner(from)
	if err := s.Files.Put(ctx, key, scanner); err != nil {
		if scanner.Err() != nil {
			return StoredFile{}, scanner.Err()
		}
		s.Log.Error("cannot store a file", "error", err.Error())
		return StoredFile{}, &warranty.Error{
			Code:    warranty.Unavailable,
			Wait:    time.Minute,
			Message: "The file could not be stored. Try again later.",
		}
	}
	return StoredFile{key: key, ContentType: scanner.Kind(), Size: scanner.Size(), SHA256: scanner.SHA256()}, nil
}

// maxUploads is the number of uploads of a user that may run at the same time in a process.
const maxUploads = 16

// uploadGate counts the running uploads of users.
type uploadGate struct {
	mu      sync.Mutex
	running map[warranty.ID]int
}

// BeginUpload counts an upload of the principal's user, or refuses it if too many run. The caller must call done.
func (s *Service) BeginUpload(p warranty.Principal) (done func(), err error) {
	g, user := s.uploads, p.User.ID
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.running[user] == maxUploads {
		return nil, warranty.Refuse(warranty.RateLimited,
			"You are already sending %d files. Wait until one of them is sent.", maxUploads).After(time.Second)
	}
	if g.running == nil {
		g.running = map[warranty.ID]int{}
	}
	g.running[user]++
	return func() {
		g.mu.Lock()
		defer g.mu.Unlock()
		if g.running[user]--; g.running[user] == 0 {
			delete(g.running, user)
		}
	}, nil
}

// MayUpload returns an error if the principal may not add documents to a warranty, so that a file is not read in vain.
// UploadDocument checks it again.
func (s *Service) MayUpload(ctx context.Context, p warranty.Principal, in warranty.UploadDocument) error {
	if err := p.Account.Require(warranty.Member); err != nil {
		return err
	}
	w, err := s.Store.Warranty(ctx, p.Account.ID, in.WarrantyID)
	if err != nil {
		return err
	}
	return w.Roles.May(warranty.Upload)
}

// ForgetFile removes a stored file that has no document.
func (s *Service) ForgetFile(ctx context.Context, stored StoredFile) error {
	return s.Files.Delete(ctx, stored.key)
}
