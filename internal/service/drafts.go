package service

import (
	"context"
	"errors"
	"time"

	"warranty.example/svc/internal/store"
	"warranty.example/svc/warranty"
)

const (
	// draftLifetime is how long the file of a form or a message that is not sent is kept.
	draftLifetime = 24 * time.Hour
	// maxDrafts is the number of files that are kept for a person in an account.
	maxDrafts = 50
)

// Draft is a file of a form or a message that was not sent yet.
type Draft struct {
	ID       warranty.ID
	FileName string
	SHA256   string
}

// Author is whom drafts are kept for: a signed-in person, or one whose session has just expired.
type Author struct {
	p    warranty.Principal
	late bool
}

// AuthorOf returns the author of the principal's drafts.
func AuthorOf(p warranty.Principal) Author { return Author{p: p} }

// Principal returns the author. It may be someone whose session has expired, for whom nothing can be read or changed:
// KeepDraft alone accepts them.
func (a Author) Principal() warranty.Principal { return a.p }

// LateAuthor returns the person of a web session that expired less than a day ago, acting for an account. It is
// ErrNotFound if there is no such session, or if it was ended: a person who signed out, or whose sessions were revoked,
// can send nothing.
func (s *Service) LateAuthor(ctx context.Context, secret string, account warranty.ID) (Author, error) {
	kind, wellFormed := warranty.ParseSecret(secret)
	if !wellFormed || kind != warranty.SessionSecret {
		return Author{}, warranty.ErrNotFound
	}
	hash := warranty.HashSecret(secret)
	c, err := s.Store.SessionBySecret(ctx, hash)
	if err := checkCredential(c, hash, err); err != nil {
		return Author{}, warranty.ErrNotFound
	}
	if now := s.Now(); now.Before(c.ExpiresAt) || now.Sub(c.ExpiresAt) >= draftLifetime {
		return Author{}, warranty.ErrNotFound
	}
	p := warranty.Principal{
		User: c.User, Account: c.Account, Credential: warranty.BySession, CredentialID: c.ID, Door: warranty.DoorWeb,
	}
	if account.IsZero() {
		account = c.User.ID
	}
	p, err = s.ActFor(ctx, p, account)
	return Author{p, true}, err
}

// DraftFor is what a file was sent for, if that is known: a message about a claim, or another file of a document.
type DraftFor struct {
	Claim    warranty.ClaimKey
	Replaces warranty.ID
}

// KeepDraft keeps a stored file of a form for its author, for a day. Nobody else has access to it. Like UploadDocument,
// it removes the file if it is refused.
func (s *Service) KeepDraft(
	ctx context.Context, a Author, stored StoredFile, in warranty.UploadDocument, use DraftFor,
) (f Draft, err error) {
	defer func() {
		if isRefusal(err) {
			err = joinErrors(err, s.Files.Delete(context.WithoutCancel(ctx), stored.key))
		}
	}()
	if err := in.CheckName(stored.ContentType); err != nil {
		return f, err
	}
	if err := s.acceptsFiles(); err != nil {
		return f, err
	}
	folder := s.readFolder(ctx) // not in the transaction, because it may take seconds
	d := store.Draft{
		ID:          s.NewID(),
		FileName:    in.FileName,
		Type:        in.Type,
		ContentType: stored.ContentType,
		SizeBytes:   stored.Size,
		SHA256:      stored.SHA256,
		StorageKey:  stored.key,
		CreatedAt:   s.now(),
	}
	if !use.Claim.IsZero() {
		c, err := s.Store.Claim(ctx, a.p.Account.ID, use.Claim)
		if err != nil {
			return f, err
		}
		d.ClaimID, d.WarrantyID = &c.ID, &c.WarrantyID
	}
	err = s.writeDrafts(ctx, a, func(tx *store.Tx) error {
		freed := int64(0)
		if !use.Replaces.IsZero() {
			replaced, err := tx.LockFile(a.p.Account.ID, use.Replaces)
			if err == nil {
				_, err = mayReplace(a.p, replaced, d)
			}
			if err != nil {
				return err
			}
			freed = replaced.Document.SizeBytes
		}
		return s.keepDraft(tx, a.p, d, freed, folder)
	})
	return Draft{d.ID, d.FileName, d.SHA256}, err
}

// writeDrafts is writeLocked for an author, whose session may have expired.
func (s *Service) writeDrafts(ctx context.Context, a Author, fn func(*store.Tx) error) error {
	if !a.late {
		return s.writeLocked(ctx, a.p, func(tx *store.Tx, _ store.Account) error { return fn(tx) })
	}
	if err := a.p.Account.Require(warranty.Member); err != nil {
		return err
	}
	if err := s.countForm(ctx, a.p); err != nil {
		return err
	}
	return s.Store.Write(ctx, func(tx *store.Tx) error {
		if _, err := tx.LockUser(a.p.Account.ID); err != nil {
			return err
		}
		return fn(tx)
	})
}

// keepDraft writes the row of a draft in a locked account. The file will take the place of one with freed bytes.
func (s *Service) keepDraft(tx *store.Tx, p warranty.Principal, f store.Draft, freed int64, folder readID) error {
	// No page lists the drafts, so the person could not remove some to make room, and could send no form with a
	// file for a day. Their oldest ones go instead. This loses no record: they were never sent, the person has the
	// originals, they would expire within a day, and a form or message whose file is gone says so.
	if err := tx.DropOldestDrafts(p.Account.ID, p.User.ID, maxDrafts-1, f.CreatedAt); err != nil {
		return err
	}
	if err := s.checkStorage(tx, p, f.SizeBytes, freed); err != nil {
		return err
	}
	if err := s.holdFolder(tx, folder); err != nil {
		return err
	}
	return tx.InsertDraft(p.Account.ID, p.User.ID, f)
}

// Drafts returns the person's drafts with these ids in the account.
func (s *Service) Drafts(ctx context.Context, p warranty.Principal, ids []string) (list []Draft, err error) {
	for _, id := range warranty.DocumentIDs(ids) {
		f, err := s.Store.Draft(ctx, p.Account.ID, p.User.ID, id, s.now().Add(-draftLifetime))
		if errors.Is(err, warranty.ErrNotFound) {
			continue
		}
		if err != nil {
			return nil, err
		}
		list = append(list, Draft{f.ID, f.FileName, f.SHA256})
	}
	return list, nil
}

// DropDrafts removes the person's drafts with these ids. There may be none.
func (s *Service) DropDrafts(ctx context.Context, p warranty.Principal, ids []string) error {
	return s.dropDrafts(ctx, p, warranty.DocumentIDs(ids))
}

func (s *Service) dropDrafts(ctx context.Context, p warranty.Principal, ids []warranty.ID) error {
	for _, id := range ids {
		err := s.writeAs(ctx, p, func(tx *store.Tx) error {
			return tx.DropDraft(p.Account.ID, p.User.ID, id, s.now())
		})
		if err != nil && !errors.Is(err, warranty.ErrNotFound) {
			return err
		}
	}
	return nil
}

// AttachDraft makes a draft a document. If it became one before, because the form was sent twice, it returns that; if
// that belongs to another claim, ErrNotFound. If the account gave the warranty or claim the same file under the same
// name before, the draft is dropped: each time that a form is sent, its files are new drafts.
func (s *Service) AttachDraft(
	ctx context.Context, p warranty.Principal, id warranty.ID, in warranty.UploadDocument,
) (d warranty.Document, err error) {
	now, claim := s.now(), in.ClaimID.ID
	err = s.writeLocked(ctx, p, func(tx *store.Tx, _ store.Account) error {
		f, err := tx.LockDraft(p.Account.ID, p.User.ID, id, now.Add(-draftLifetime))
		if err != nil {
			return err
		}
		d = f.Document(in.Type, now)
		w, err := s.placeDocument(tx, p, in, &d)
		if err != nil {
			return err
		}
		same, err := tx.SameUpload(p.Account.ID, d)
		switch {
		case err == nil:
			d.ID = same
			return tx.DropDraft(p.Account.ID, p.User.ID, id, now)
		case !errors.Is(err, warranty.ErrNotFound):
			return err
		}
		return s.writeDraft(tx, p, w, f, d)
	})
	if errors.Is(err, warranty.ErrNotFound) {
		d, err = s.GetDocument(ctx, p, warranty.GetDocument{ID: id})
		if err == nil && !claim.IsZero() && (d.ClaimID == nil || *d.ClaimID != claim) {
			return warranty.Document{}, warranty.ErrNotFound
		}
	}
	return d, err
}

// attachDrafts makes those of the documents of a message that are still drafts documents of its claim, and returns all of
// them. Of drafts with the same content it keeps the first.
func (s *Service) attachDrafts(
	tx *store.Tx, p warranty.Principal, c warranty.Claim, ids []warranty.ID, now time.Time,
) (kept []warranty.ID, err error) {
	seen := map[string]bool{}
	for _, id := range ids {
		f, err := tx.LockDraft(p.Account.ID, p.User.ID, id, now.Add(-draftLifetime))
		if errors.Is(err, warranty.ErrNotFound) {
			kept = append(kept, id) // a document, or an id that InsertMessage refuses
			continue
		}
		if err != nil {
			return nil, err
		}
		if f.ClaimID == nil || *f.ClaimID != c.ID {
			return nil, warranty.ErrNotFound
		}
		if seen[f.SHA256] {
			if err := tx.DropDraft(p.Account.ID, p.User.ID, id, now); err != nil {
				return nil, err
			}
			continue
		}
		seen[f.SHA256], kept = true, append(kept, id)
		if err := s.sendDraft(tx, p, c, f, false, now); err != nil {
			return nil, err
		}
	}
	return kept, nil
}

// fileDrafts makes drafts documents that were filed with a new claim. Of those with the same content it keeps the first.
func (s *Service) fileDrafts(
	tx *store.Tx, p warranty.Principal, c warranty.Claim, ids []warranty.ID, now time.Time,
) error {
	seen := map[string]bool{}
	for _, id := range ids {
		f, err := tx.LockDraft(p.Account.ID, p.User.ID, id, now.Add(-draftLifetime))
		switch {
		case errors.Is(err, warranty.ErrNotFound):
			var check warranty.Checks
			check.Add("documents", "gone", "A file that you chose is no longer here. Choose it again.")
			return check.Err()
		case err != nil:
			return err
		case seen[f.SHA256]:
			err = tx.DropDraft(p.Account.ID, p.User.ID, id, now)
		default:
			seen[f.SHA256] = true
			err = s.sendDraft(tx, p, c, f, true, now)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// sendDraft makes a locked draft a document of a claim.
func (s *Service) sendDraft(
	tx *store.Tx, p warranty.Principal, c warranty.Claim, f store.Draft, filed bool, now time.Time,
) error {
	in := warranty.UploadDocument{
		WarrantyID: warranty.WarrantyKey{ID: c.WarrantyID}, ClaimID: warranty.ClaimKey{ID: c.ID},
	}
	d := f.Document(f.Type, now)
	d.Filed = filed
	w, err := s.placeDocument(tx, p, in, &d)
	if err != nil {
		return err
	}
	return s.writeDraft(tx, p, w, f, d)
}

// writeDraft makes a locked draft a document that has its place.
func (s *Service) writeDraft(
	tx *store.Tx, p warranty.Principal, w warranty.Warranty, f store.Draft, d warranty.Document,
) error {
	if err := tx.TakeDraft(f); err != nil {
		return err
	}
	return s.writeDocument(tx, p, w, d, f.StorageKey)
}

// ExpireDrafts deletes the drafts that are a day old. Every replica may do it at the same time.
func (s *Service) ExpireDrafts(ctx context.Context) error {
	now := s.now()
	n := 0
	err := s.Store.Write(ctx, func(tx *store.Tx) (err error) {
		n, err = tx.ExpireDrafts(now.Add(-draftLifetime), now)
		return err
	})
	if n > 0 && err == nil {
		s.Log.Info("deleted files of forms and messages that were not sent for a day", "count", n)
	}
	return err
}
