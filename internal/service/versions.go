package service

import (
	"context"
	"errors"

	"warranty.example/svc/internal/store"
	"warranty.example/svc/warranty"
)

// RenameDocument changes the name of a document. Its uploader and the warranty's owner can.
func (s *Service) RenameDocument(
	ctx context.Context, p warranty.Principal, in warranty.RenameDocument,
) (d warranty.Document, err error) {
	renamed := s.event(p, warranty.DocumentRenamed, in.ID, s.now())
	err = s.writeAs(ctx, p, func(tx *store.Tx) error {
		f, err := tx.LockFile(p.Account.ID, in.ID)
		if err != nil {
			return err
		}
		if err := mayDelete(p, f); err != nil {
			return err
		}
		d = f.Document
		before := d.FileName
		if d.FileName, err = in.Apply(d); err != nil || d.FileName == before {
			return err
		}
		renamed.Changes = []warranty.Change{{Field: "file_name", From: &before, To: &d.FileName}}
		if err := tx.RenameDocument(d); err != nil {
			return err
		}
		return tx.InsertEvent(d.WarrantyID, renamed)
	})
	s.showDocument(&d)
	return d, err
}

// ReplaceDocument gives a document the file of a draft. The account that uploaded the document can, and keeps the
// earlier file for 30 days.
func (s *Service) ReplaceDocument(
	ctx context.Context, p warranty.Principal, id, draft warranty.ID,
) (d warranty.Document, err error) {
	since := s.now().Add(-draftLifetime)
	err = s.replace(ctx, p, id, func(tx *store.Tx, f store.File) (next store.File, err error) {
		file, err := tx.LockDraft(p.Account.ID, p.User.ID, draft, since)
		if errors.Is(err, warranty.ErrNotFound) {
			var c warranty.Checks
			c.Add("file", "required", "The file is no longer kept. Choose it again.")
			return next, c.Err()
		}
		if err != nil {
			return next, err
		}
		if file.FileName, err = mayReplace(p, f, file); err != nil {
			return next, err
		}
		if err := tx.TakeDraft(file); err != nil {
			return next, err
		}
		next = store.File{Document: file.Document(f.Document.Type, file.CreatedAt), StorageKey: file.StorageKey}
		return next, s.checkStorage(tx, p, file.SizeBytes, f.Document.SizeBytes)
	}, &d)
	return d, err
}

// mayReplace returns the name that a document gets with the file of a draft, or why the principal cannot replace it.
func mayReplace(p warranty.Principal, f store.File, draft store.Draft) (name string, err error) {
	if f.Uploader != p.Account.ID {
		return "", warranty.Refuse(warranty.RoleNotAllowed, "Only the uploader can replace this document.")
	}
	if name, err = f.Document.ReplacedBy(draft.FileName, draft.ContentType); err != nil {
		return "", err
	}
	var c warranty.Checks
	if draft.SHA256 == f.Document.SHA256 {
		c.Add("file", "duplicate", "This is the same file. Choose another one.")
	}
	return name, c.Err()
}

// RestoreVersion gives a document the file back that the account replaced in the last 30 days. The present one is kept
// in its place.
func (s *Service) RestoreVersion(
	ctx context.Context, p warranty.Principal, id, version warranty.ID,
) (d warranty.Document, err error) {
	since := s.now().Add(-warranty.TrashLifetime)
	err = s.replace(ctx, p, id, func(tx *store.Tx, f store.File) (store.File, error) {
		file, err := tx.TakeVersion(p.Account.ID, f.Document.ID, version, since)
		if err != nil || file.Document.SizeBytes <= f.Document.SizeBytes {
			return file, err
		}
		return file, s.checkStorage(tx, p, file.Document.SizeBytes, f.Document.SizeBytes)
	}, &d)
	return d, err
}

// maxVersions bounds the list of earlier versions.
const maxVersions = 100

// EarlierVersions is what the page of earlier versions shows, the largest first.
type EarlierVersions struct {
	Versions []store.Version
	Storage  Storage
}

// EarlierVersions lists the files that the account replaced in the last 30 days.
func (s *Service) EarlierVersions(ctx context.Context, p warranty.Principal) (list EarlierVersions, err error) {
	since := s.now().Add(-warranty.TrashLifetime)
	if list.Versions, err = s.Store.AccountVersions(ctx, p.Account.ID, since, maxVersions); err != nil {
		return list, err
	}
	list.Storage, err = s.Storage(ctx, p)
	return list, err
}

// EraseVersion deletes a file that the account replaced in the last 30 days. It can no longer be restored.
func (s *Service) EraseVersion(ctx context.Context, p warranty.Principal, id warranty.ID) error {
	now := s.now()
	return s.writeLocked(ctx, p, func(tx *store.Tx, _ store.Account) error {
		v, visible, err := tx.EraseVersion(p.Account.ID, id, now.Add(-warranty.TrashLifetime), now)
		if err != nil || !visible { // a former owner writes nothing into the history of others
			return err
		}
		erased := s.event(p, warranty.DocumentVersionErased, v.DocumentID, now, warranty.Change{Field: "file_name", From: &v.FileName})
		return tx.InsertEvent(v.WarrantyID, erased)
	})
}

// replace gives a document the file that next returns in the transaction.
func (s *Service) replace(
	ctx context.Context, p warranty.Principal, id warranty.ID,
	next func(*store.Tx, store.File) (store.File, error), d *warranty.Document,
) error {
	now, version := s.now(), s.NewID()
	replaced := s.event(p, warranty.DocumentReplaced, id, now)
	return s.writeLocked(ctx, p, func(tx *store.Tx, _ store.Account) error {
		f, err := tx.LockFile(p.Account.ID, id)
		if err != nil {
			return err
		}
		file, err := next(tx, f)
		if err != nil {
			return err
		}
		*d = f.Document
		got := file.Document
		replaced.Changes = []warranty.Change{{Field: "file_name", From: &f.Document.FileName, To: &got.FileName}}
		d.FileName, d.ContentType, d.SizeBytes, d.SHA256, d.CreatedAt =
			got.FileName, got.ContentType, got.SizeBytes, got.SHA256, now
		s.showDocument(d)
		if err := tx.ReplaceFile(*d, file.StorageKey, version, p.Account.ID, now); err != nil {
			return err
		}
		return tx.InsertEvent(d.WarrantyID, replaced)
	})
}

// SameDocument returns the document of a warranty that has the content of a stored file and that the principal can
// see, or ErrNotFound.
func (s *Service) SameDocument(
	ctx context.Context, p warranty.Principal, key warranty.WarrantyKey, sha256 string,
) (warranty.Document, error) {
	w, err := s.Store.Warranty(ctx, p.Account.ID, key)
	if err != nil {
		return warranty.Document{}, err
	}
	d, err := s.Store.SameDocument(ctx, p.Account.ID, w.ID, sha256)
	s.showDocument(&d)
	return d, err
}

// ExpireVersions deletes the files that were replaced 30 days ago. Every replica may do it at the same time.
func (s *Service) ExpireVersions(ctx context.Context) error {
	now, n := s.now(), 0
	err := s.Store.Write(ctx, func(tx *store.Tx) (err error) {
		n, err = tx.ExpireVersions(now.Add(-warranty.TrashLifetime), now)
		return err
	})
	if n > 0 && !errors.Is(err, context.Canceled) {
		s.Log.Info("deleted files that were replaced 30 days ago", "count", n)
	}
	return err
}
