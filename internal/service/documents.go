package service

import (
	"context"
	"errors"
	"io"
	"io/fs"
	"log/slog"
	"os"
	"time"

	"warranty.example/svc/api"
	"warranty.example/svc/internal/store"
	"warranty.example/svc/warranty"
)

// documentOperations binds the operations on documents.
func (s *Service) documentOperations() []api.Bound {
	return []api.Bound{
		api.Bind(api.ListDocuments, s.ListDocuments),
		api.Bind(api.GetDocument, s.GetDocument),
		api.Bind(api.DeleteDocument, s.DeleteDocument),
	}
}

// ListDocuments lists the metadata of the documents that the principal can see.
func (s *Service) ListDocuments(
	ctx context.Context, p warranty.Principal, in warranty.ListDocuments,
) (warranty.Page[warranty.Document], error) {
	if err := in.Check(); err != nil {
		return warranty.Page[warranty.Document]{}, err
	}
	list, total, err := s.Store.Documents(ctx, p.Account.ID, in)
	for i := range list {
		s.showDocument(&list[i])
	}
	return warranty.PageOf(list, in.Paging, total), err
}

// GetDocument returns the metadata of a document that the principal can see.
func (s *Service) GetDocument(
	ctx context.Context, p warranty.Principal, in warranty.GetDocument,
) (warranty.Document, error) {
	d, err := s.Store.Document(ctx, p.Account.ID, in.ID)
	s.showDocument(&d)
	return d, err
}

// showDocument sets the derived fields of a stored document.
func (s *Service) showDocument(d *warranty.Document) {
	d.WebURL = s.PublicURL + "/documents/" + d.ID.String()
}

// DocumentPage is what the page of a document shows.
type DocumentPage struct {
	warranty.Document
	Uploader       string // name of the account that uploaded it
	MayDelete      bool   // the principal's account may delete it
	MayRename      bool   // the principal's account may rename it
	MayReplace     bool   // the principal's account may replace its file
	Versions       []store.Version
	Previous, Next *warranty.ID // documents of the same warranty
}

// DocumentPage returns what the page of a document shows.
func (s *Service) DocumentPage(ctx context.Context, p warranty.Principal, id warranty.ID) (DocumentPage, error) {
	f, err := s.Store.DocumentPlace(ctx, p.Account.ID, id)
	if err != nil {
		return DocumentPage{}, err
	}
	s.showDocument(&f.Document)
	page := DocumentPage{Document: f.Document, Uploader: f.UploaderName, Previous: f.Previous, Next: f.Next}
	page.MayDelete = p.Account.Role.Includes(warranty.Member) && mayDelete(p, f.File) == nil
	page.MayRename = page.MayDelete && f.Document.MayChange()
	if page.MayReplace = page.MayRename && f.Uploader == p.Account.ID; page.MayReplace {
		page.Versions, err = s.Store.Versions(ctx, p.Account.ID, id, s.now().Add(-warranty.TrashLifetime))
	}
	return page, err
}

// mayDelete returns an error unless the principal's account uploaded the document or owns its warranty.
func mayDelete(p warranty.Principal, f store.File) error {
	if f.Uploader != p.Account.ID && !f.Roles.Has(warranty.Owner) {
		return warranty.Refuse(warranty.RoleNotAllowed,
			"Only the uploader or the warranty's owner can delete this document.")
	}
	return nil
}

// UploadDocument adds a stored file to a warranty. The file is complete and durable
// before its record is written; a crash in between leaves an orphaned file for the
// sweep.
func (s *Service) UploadDocument(
	ctx context.Context, p warranty.Principal, stored StoredFile, in warranty.UploadDocument,
) (d warranty.Document, err error) {
	defer func() {
		// Only a rejected request is sure to have written nothing. If the response to the
		// commit was lost, the record may exist and needs its file.
		if isRefusal(err) {
			err = joinErrors(err, s.Files.Delete(context.WithoutCancel(ctx), stored.key))
		}
	}()
	if err := in.Check(); err != nil {
		return d, err
	}
	if err := in.NameFor(stored.ContentType); err != nil {
		return d, err
	}
	if err := s.acceptsFiles(); err != nil {
		return d, err
	}
	folder := s.readFolder(ctx) // not in the transaction, because it may take seconds
	now := s.now()
	d = warranty.Document{
		ID:          s.NewID(),
		FileName:    in.FileName,
		Type:        in.Type,
		ContentType: stored.ContentType,
		SizeBytes:   stored.Size,
		SHA256:      stored.SHA256,
		CreatedAt:   now,
	}
	key, content := in.IdempotencyKey, uploadedContent{in, stored.SHA256}
	content.IdempotencyKey = nil
	earlier, err := once(s, p, uploadOperation, key, content, d, func(replay func(*store.Tx) (bool, error)) error {
		return s.writeLocked(ctx, p, func(tx *store.Tx, _ store.Account) error {
			if done, err := replay(tx); err != nil || done {
				return err
			}
			add := s.addDocument
			if in.Draft {
				add = s.addDraft
			}
			if err := add(tx, p, in, &d, stored.key, folder); err != nil {
				return err
			}
			return complete(tx, p, uploadOperation, key, d)
		})
	})
	if earlier.Replay {
		return earlier, orElse(err, s.Files.Delete(context.WithoutCancel(ctx), stored.key))
	}
	return d, err
}

// uploadOperation is the name under which idempotency keys of uploads are stored.
const uploadOperation = "documents.upload"

// uploadedContent is what makes two uploads the same.
type uploadedContent struct {
	warranty.UploadDocument
	SHA256 string
}

// addDocument writes the record of a stored file.
func (s *Service) addDocument(
	tx *store.Tx, p warranty.Principal, in warranty.UploadDocument, d *warranty.Document, file string, folder readID,
) error {
	w, err := s.placeDocument(tx, p, in, d)
	if err != nil {
		return err
	}
	if err := s.checkStorage(tx, p, d.SizeBytes, 0); err != nil {
		return err
	}
	if err := s.holdFolder(tx, folder); err != nil {
		return err
	}
	return s.writeDocument(tx, p, w, *d, file)
}

// addDraft keeps a stored file for a message.
func (s *Service) addDraft(
	tx *store.Tx, p warranty.Principal, in warranty.UploadDocument, d *warranty.Document, file string, folder readID,
) error {
	if _, err := s.placeDocument(tx, p, in, d); err != nil {
		return err
	}
	// Unlike a form, a program knows the ids of its drafts and can delete them, so none is dropped for another.
	n, err := tx.CountDrafts(p.Account.ID, p.User.ID)
	if err != nil {
		return err
	}
	if n >= maxDrafts {
		var c warranty.Checks
		c.Add("file", "too_many", "%d files wait to be sent. Send or delete some of them first.", maxDrafts)
		return c.Err()
	}
	return s.keepDraft(tx, p, store.Draft{
		ID: d.ID, FileName: d.FileName, Type: d.Type, ContentType: d.ContentType, SizeBytes: d.SizeBytes,
		SHA256: d.SHA256, StorageKey: file, WarrantyID: &d.WarrantyID, ClaimID: d.ClaimID, CreatedAt: d.CreatedAt,
	}, 0, folder)
}

// placeDocument locks the warranty of a new document and sets the fields that depend on it.
func (s *Service) placeDocument(
	tx *store.Tx, p warranty.Principal, in warranty.UploadDocument, d *warranty.Document,
) (warranty.Warranty, error) {
	w, err := tx.LockWarranty(p.Account.ID, in.WarrantyID)
	if err != nil {
		return w, err
	}
	if err := w.Roles.May(warranty.Upload); err != nil {
		return w, err
	}
	d.WarrantyID = w.ID
	if !in.ClaimID.IsZero() {
		claim, err := tx.ClaimOn(w.ID, in.ClaimID)
		if err != nil {
			return w, err
		}
		d.ClaimID = &claim
	}
	d.Warranty = warranty.WarrantyName{ID: w.ID, ReferenceNumber: w.ReferenceNumber, ProductName: w.ProductName}
	s.showDocument(d)
	return w, nil
}

func (s *Service) writeDocument(
	tx *store.Tx, p warranty.Principal, w warranty.Warranty, d warranty.Document, file string,
) error {
	if err := tx.InsertDocument(d, p.Account.ID, w.Roles, file); err != nil {
		return err
	}
	uploaded := s.event(p, warranty.DocumentUploaded, d.ID, d.CreatedAt, warranty.Change{Field: "file_name", To: &d.FileName})
	return tx.InsertEvent(w.ID, uploaded)
}

// checkStorage rejects a file that would exceed the principal's storage limit. It takes the place of one with freed bytes.
// The principal's account must be locked.
func (s *Service) checkStorage(tx *store.Tx, p warranty.Principal, size, freed int64) error {
	if s.StorageLimit == 0 {
		return nil
	}
	uploaded, err := tx.Uploaded(p.Account.ID)
	if err != nil {
		return err
	}
	kept, err := tx.DeletedBytes(p.Account.ID)
	if err != nil {
		return err
	}
	replaced, _, err := tx.Replaced(p.Account.ID)
	if err != nil {
		return err
	}
	var c warranty.Checks
	const full = "storage_full"
	switch {
	case uploaded-freed+size > s.StorageLimit:
		c.Add("file", full,
			"Your storage limit is %d MiB, and this file would exceed it. Delete documents that you no longer need.",
			s.StorageLimit>>20)
	case uploaded+kept+size > 2*s.StorageLimit:
		// Files of deleted documents are kept for a day and replaced ones for 30. Without this limit, uploading and
		// deleting in turn would fill the disk.
		if replaced > 0 && uploaded+kept-replaced+size <= 2*s.StorageLimit { // erasing them helps
			c.Add("file", full, "Deleted documents use storage for a day and earlier versions of replaced ones for 30 days. "+
				"You have %d MiB of earlier versions. Erase some under Documents, Earlier versions, and try again a day later.",
				(replaced+1<<20-1)>>20)
		} else {
			c.Add("file", full, "Deleted documents use storage for a day, and you have many. Try again later.")
		}
	}
	return c.Err()
}

// Storage is what the files of an account take.
type Storage struct {
	Used, Most int64 // bytes of documents, and the limit; 0 means no limit
	// Earlier is the size of earlier versions of replaced files, and Erased when the last of them is erased.
	Earlier int64
	Erased  time.Time
}

// Storage returns what the files of the principal's account take.
func (s *Service) Storage(ctx context.Context, p warranty.Principal) (Storage, error) {
	used, err := s.Store.Uploaded(ctx, p.Account.ID)
	if err != nil {
		return Storage{}, err
	}
	size, last, err := s.Store.Replaced(ctx, p.Account.ID)
	all := Storage{Used: used, Most: s.StorageLimit, Earlier: size}
	if last != nil {
		all.Erased = last.Add(warranty.TrashLifetime)
	}
	return all, err
}

func isRefusal(err error) bool {
	var refusal *warranty.Error
	return errors.As(err, &refusal) && refusal.Code != warranty.Unavailable
}

// joinErrors is errors.Join that does not wrap a single error.
func joinErrors(err, second error) error {
	if second == nil {
		return err
	}
	return errors.Join(err, second)
}

// OpenDocument opens the file of a document that the principal can see.
func (s *Service) OpenDocument(
	ctx context.Context, p warranty.Principal, in warranty.GetDocument,
) (warranty.Document, io.ReadSeekCloser, error) {
	f, err := s.Store.File(ctx, p.Account.ID, in.ID)
	if err != nil {
		return warranty.Document{}, nil, err
	}
	content, err := s.Files.Get(ctx, f.StorageKey, f.Document.SHA256)
	if err == nil {
		return f.Document, s.logErrors(content, in.ID), nil
	}
	if errors.Is(err, fs.ErrNotExist) {
		return f.Document, nil, s.missing(ctx, p, in.ID)
	}
	return f.Document, nil, errors.Join(errFolder, err)
}

// logErrors logs why a file from S3 could not be read to its end; the client only sees the
// connection close. A local file is returned as it is, so that the system can send it.
func (s *Service) logErrors(content io.ReadSeekCloser, id warranty.ID) io.ReadSeekCloser {
	if _, local := content.(*os.File); local {
		return content
	}
	return &loggedFile{ReadSeekCloser: content, log: s.Log.With("document", id.String())}
}

type loggedFile struct {
	io.ReadSeekCloser
	log *slog.Logger
}

// Read implements io.Reader.
func (f *loggedFile) Read(p []byte) (int, error) {
	n, err := f.ReadSeekCloser.Read(p)
	if err != nil && !errors.Is(err, io.EOF) {
		f.log.Error("cannot read a document's file", "error", err.Error())
	}
	return n, err
}

// errFolder is the error for users while the files folder is unusable. /readyz shows the
// reason.
var errFolder = &warranty.Error{
	Code:    warranty.Unavailable,
	Wait:    folderEvery,
	Message: "Files are unavailable right now. Try again later.",
}

// missing returns the error for a missing file: the document may have been deleted
// meanwhile, this replica may use the wrong folder, or the file may be lost.
func (s *Service) missing(ctx context.Context, p warranty.Principal, id warranty.ID) error {
	if _, err := s.Store.Document(ctx, p.Account.ID, id); err != nil {
		return err
	}
	if err := s.acceptsFiles(); err != nil {
		return err
	}
	if s.folder.firstMissing(id) {
		s.Log.Error("document file missing; restore it from a backup", "document", id.String())
	}
	return warranty.Refuse(warranty.FileMissing,
		"The file of this document is missing. Ask the administrator to restore it from a backup, or upload it again.")
}

// DeleteDocument deletes a document. Its uploader and the warranty's owner can. The file
// is kept for a day, so that a backup that copies the database first and the files
// later contains the file of every document.
func (s *Service) DeleteDocument(
	ctx context.Context, p warranty.Principal, in warranty.DeleteDocument,
) (warranty.None, error) {
	now := s.now()
	deleted := s.event(p, warranty.DocumentDeleted, in.ID, now)
	err := s.writeAs(ctx, p, func(tx *store.Tx) error {
		f, err := tx.LockFile(p.Account.ID, in.ID)
		if errors.Is(err, warranty.ErrNotFound) {
			return tx.DropDraft(p.Account.ID, p.User.ID, in.ID, now)
		}
		if err != nil {
			return err
		}
		if err := mayDelete(p, f); err != nil {
			return err
		}
		deleted.Changes = []warranty.Change{{Field: "file_name", From: &f.Document.FileName}}
		if err := tx.DeleteDocument(f.Document, now); err != nil || f.Document.Kept {
			return err // a former owner writes nothing into the history of others
		}
		return tx.InsertEvent(f.Document.WarrantyID, deleted)
	})
	return warranty.None{}, err
}
