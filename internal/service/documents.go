package service

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"time"

	"warranty.example/svc/internal/files"
	"warranty.example/svc/internal/store"
	"warranty.example/svc/warranty"
)

// ListDocuments lists the metadata of documents that the principal may see.
func (s *Service) ListDocuments(ctx context.Context, p warranty.Principal, in warranty.ListDocuments) (warranty.Page[warranty.Document], error) {
	if err := in.Check(); err != nil {
		return warranty.Page[warranty.Document]{}, err
	}
	list, total, err := s.Store.Documents(ctx, p.User.ID, in)
	return warranty.PageOf(list, in.Paging, total), err
}

// GetDocument gets the metadata of one document that the principal may see.
func (s *Service) GetDocument(ctx context.Context, p warranty.Principal, in warranty.GetDocument) (warranty.Document, error) {
	return s.Store.Document(ctx, p.User.ID, in.ID)
}

// UploadDocument adds a stored file to a warranty. The file is complete and durable
// before there is a record of it; what a crash leaves in between is swept later.
func (s *Service) UploadDocument(ctx context.Context, p warranty.Principal, stored StoredFile, in warranty.UploadDocument) (d warranty.Document, err error) {
	defer func() {
		// Only a refusal is sure to have written nothing. When the database's answer to
		// the commit was lost, the record may be there, and then so must its file.
		if isRefusal(err) {
			err = also(err, s.Files.Delete(stored.key))
		}
	}()
	if err := in.Check(); err != nil {
		return d, err
	}
	if err := in.NameFor(stored.ContentType); err != nil {
		return d, err
	}
	if s.FolderTrouble() != nil {
		return d, errFolder
	}
	now := s.now()
	d = warranty.Document{ID: s.NewID(), WarrantyID: in.WarrantyID, FileName: in.FileName, Type: in.Type, ContentType: stored.ContentType,
		SizeBytes: stored.Size, SHA256: stored.SHA256, CreatedAt: now}
	if !in.ClaimID.IsZero() {
		d.ClaimID = &in.ClaimID
	}
	uploaded := s.event(p, warranty.DocumentUploaded, d.ID, now, warranty.Change{Field: "file_name", To: &in.FileName})
	err = s.writeAlone(ctx, p, func(tx *store.Tx, _ store.Account) error {
		w, err := tx.LockWarranty(p.User.ID, in.WarrantyID)
		if err != nil {
			return err
		}
		if err := w.Roles.May(warranty.Upload); err != nil {
			return err
		}
		if d.ClaimID != nil {
			if err := tx.RequireClaim(*d.ClaimID, w.ID); err != nil {
				return err
			}
		}
		if err := s.roomFor(tx, p, stored.Size); err != nil {
			return err
		}
		d.Warranty = warranty.WarrantyName{ID: w.ID, ReferenceNumber: w.ReferenceNumber, ProductName: w.ProductName}
		if err := s.holdFolder(tx); err != nil {
			return err
		}
		if err := tx.InsertDocument(d, p.User.ID, stored.key); err != nil {
			return err
		}
		return tx.InsertEvent(w.ID, uploaded, p.User.ID)
	})
	return d, err
}

// roomFor refuses a file that is too much beside what the principal, who is locked,
// has uploaded before.
func (s *Service) roomFor(tx *store.Tx, p warranty.Principal, size int64) error {
	if s.StorageLimit == 0 {
		return nil
	}
	uploaded, err := tx.Uploaded(p.User.ID)
	if err != nil {
		return err
	}
	kept, err := tx.DeletedBytes(p.User.ID)
	if err != nil {
		return err
	}
	var message string
	switch {
	case uploaded+size > s.StorageLimit:
		message = fmt.Sprintf("You may have uploaded %d MiB of documents, and with this file it would be more; remove some that are no longer needed.", s.StorageLimit>>20)
	case uploaded+kept+size > 2*s.StorageLimit:
		// Files of deleted documents are kept for a day. Without a bound, whoever uploads
		// and deletes in turn would fill the disk.
		message = "You have deleted many documents today, and their files are kept for a day. Try again tomorrow."
	default:
		return nil
	}
	var c warranty.Checks
	c.Add("file", "storage_full", message)
	return c.Err()
}

// Uploaded tells how many bytes of documents the principal has uploaded, and how
// many it may be; 0 is no limit.
func (s *Service) Uploaded(ctx context.Context, p warranty.Principal) (bytes, most int64, err error) {
	bytes, err = s.Store.Uploaded(ctx, p.User.ID)
	return bytes, s.StorageLimit, err
}

func isRefusal(err error) bool {
	var refusal *warranty.Error
	return errors.As(err, &refusal) && refusal.Code != warranty.Unavailable
}

// also adds a second error to a first without wrapping where there is but one.
func also(err, second error) error {
	if second == nil {
		return err
	}
	return errors.Join(err, second)
}

// StoredFile is a file that has arrived and belongs to no document yet.
type StoredFile struct {
	key         string
	ContentType string
	Size        int64
	SHA256      string
}

// StoreFile takes a file from a stream. Whoever gets it either makes a document
// of it or forgets it.
func (s *Service) StoreFile(from io.Reader) (StoredFile, error) {
	if s.FolderTrouble() != nil {
		return StoredFile{}, errFolder
	}
	key, err := files.NewKey(s.Random)
	if err != nil {
		return StoredFile{}, err
	}
	scanner := files.NewScanner(from)
	if err := s.Files.Put(key, scanner); err != nil {
		if scanner.Err() != nil {
			return StoredFile{}, scanner.Err()
		}
		s.Log.Error("a file could not be stored", "error", err.Error())
		return StoredFile{}, &warranty.Error{Code: warranty.Unavailable, Wait: time.Minute, Message: "The file could not be stored right now; try again later."}
	}
	return StoredFile{key: key, ContentType: scanner.Kind(), Size: scanner.Size(), SHA256: scanner.SHA256()}, nil
}

// ForgetFile removes a file of which no document was made.
func (s *Service) ForgetFile(stored StoredFile) error { return s.Files.Delete(stored.key) }

// OpenDocument opens the file of a document that the principal may see.
func (s *Service) OpenDocument(ctx context.Context, p warranty.Principal, in warranty.GetDocument) (warranty.Document, io.ReadSeekCloser, error) {
	f, err := s.Store.File(ctx, p.User.ID, in.ID)
	if err != nil {
		return warranty.Document{}, nil, err
	}
	content, err := s.Files.Get(f.StorageKey)
	if err == nil {
		return f.Document, content, nil
	}
	if errors.Is(err, fs.ErrNotExist) {
		return f.Document, nil, s.missing(ctx, p, in.ID)
	}
	return f.Document, nil, errors.Join(errFolder, err)
}

// errFolder is what people hear while this server cannot use its folder; /readyz says why.
var errFolder = &warranty.Error{Code: warranty.Unavailable, Wait: folderEvery, Message: "Files are not available right now. Try again later."}

// missing says why there is no file: the document may have been deleted since, this
// replica may use the wrong folder, or the file was lost.
func (s *Service) missing(ctx context.Context, p warranty.Principal, id warranty.ID) error {
	if _, err := s.Store.Document(ctx, p.User.ID, id); err != nil {
		return err
	}
	if s.FolderTrouble() != nil {
		return errFolder
	}
	if s.folder.firstMiss(id) {
		s.Log.Error("the file of a document is missing; restore it from a backup", "document", id.String())
	}
	return warranty.Refuse(warranty.FileMissing, "The file of this document is missing on the server. Ask the operator to restore it from a backup, or upload it again.")
}

// DeleteDocument removes a document: its uploader and the warranty's owner may. The
// file stays for a day, so that a backup that copies the database first and the
// files after it has the file of every document.
func (s *Service) DeleteDocument(ctx context.Context, p warranty.Principal, in warranty.DeleteDocument) (warranty.None, error) {
	now := s.now()
	deleted := s.event(p, warranty.DocumentDeleted, in.ID, now)
	err := s.writeAs(ctx, p, func(tx *store.Tx) error {
		f, err := tx.LockFile(p.User.ID, in.ID)
		if err != nil {
			return err
		}
		if f.Uploader != p.User.ID && !f.Roles.Has(warranty.Owner) {
			return warranty.Refuse(warranty.RoleNotAllowed, "Only who uploaded a document, or the owner of the warranty, may remove it.")
		}
		deleted.Changes = []warranty.Change{{Field: "file_name", From: &f.Document.FileName}}
		if err := tx.DeleteDocument(f.Document, now); err != nil {
			return err
		}
		return tx.InsertEvent(f.Document.WarrantyID, deleted, p.User.ID)
	})
	return warranty.None{}, err
}
