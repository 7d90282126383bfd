package service

import (
	"context"
	"errors"
	"time"

	"warranty.example/svc/internal/store"
	"warranty.example/svc/warranty"
)

const (
	// keptTime is how long a file is kept for a form or a message that is not sent.
	keptTime = 24 * time.Hour
	// maxKept is the number of files that are kept for a person in an account.
	maxKept = 50
)

// KeptFile is a file that the principal keeps for a form that was refused, or for a message that was not sent.
type KeptFile struct {
	ID       warranty.ID
	FileName string
	SHA256   string
}

// KeepFile keeps a stored file for the person, for a day, because the form that it came with was refused. Nobody else
// has access to it. claim is nil unless the file is for a message. Like UploadDocument, it removes the file if it is
// refused.
func (s *Service) KeepFile(
	ctx context.Context, p warranty.Principal, stored StoredFile, in warranty.UploadDocument, claim *warranty.Claim,
) (f KeptFile, err error) {
	return s.keepStored(ctx, p, stored, in, claim, s.writeLocked)
}

// LateSession returns the person of a web session that expired less than a day ago, acting for an account. Nothing can
// be read or changed for them: KeepLateFile alone accepts it. It is ErrNotFound if there is no such session, or if it was
// ended: a person who signed out, or whose sessions were revoked, sends nothing any more.
func (s *Service) LateSession(ctx context.Context, secret string, account warranty.ID) (LateSession, error) {
	kind, wellFormed := warranty.ParseSecret(secret)
	if !wellFormed || kind != warranty.SessionSecret {
		return LateSession{}, warranty.ErrNotFound
	}
	hash := warranty.HashSecret(secret)
	c, err := s.Store.SessionBySecret(ctx, hash)
	if err := checkCredential(c, hash, err); err != nil {
		return LateSession{}, warranty.ErrNotFound
	}
	if now := s.Now(); now.Before(c.ExpiresAt) || now.Sub(c.ExpiresAt) >= keptTime {
		return LateSession{}, warranty.ErrNotFound
	}
	p := warranty.Principal{User: c.User, Account: c.Account, Credential: warranty.BySession, CredentialID: c.ID, Door: warranty.DoorWeb}
	if account.IsZero() {
		account = c.User.ID
	}
	p, err = s.ActFor(ctx, p, account)
	return LateSession{p}, err
}

// LateSession is the person of a session that has expired.
type LateSession struct{ p warranty.Principal }

// Principal returns whose session it was.
func (l LateSession) Principal() warranty.Principal { return l.p }

// KeepLateFile is KeepFile for a form that was sent after the session had expired, so that the person finds the file in
// it when they have signed in again. claim is that of a message, or zero.
func (s *Service) KeepLateFile(
	ctx context.Context, late LateSession, stored StoredFile, in warranty.UploadDocument, claim warranty.ClaimKey,
) (f KeptFile, err error) {
	var about *warranty.Claim
	if !claim.IsZero() {
		c, err := s.Store.Claim(ctx, late.p.Account.ID, claim)
		if err != nil {
			return f, joinErrors(err, s.ForgetFile(ctx, stored))
		}
		about = &c
	}
	return s.keepStored(ctx, late.p, stored, in, about, s.writeLate)
}

// writeLate is writeLocked for someone whose session has expired.
func (s *Service) writeLate(
	ctx context.Context, p warranty.Principal, fn func(*store.Tx, store.Account) error,
) error {
	if err := p.Account.Require(warranty.Member); err != nil {
		return err
	}
	if err := s.countForm(ctx, p); err != nil {
		return err
	}
	return s.Store.Write(ctx, func(tx *store.Tx) error {
		account, err := tx.LockUser(p.Account.ID)
		if err != nil {
			return err
		}
		return fn(tx, account)
	})
}

// keepStored keeps a stored file with a write that locks the account.
func (s *Service) keepStored(
	ctx context.Context, p warranty.Principal, stored StoredFile, in warranty.UploadDocument, claim *warranty.Claim,
	write func(context.Context, warranty.Principal, func(*store.Tx, store.Account) error) error,
) (f KeptFile, err error) {
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
	kept := store.KeptFile{
		ID:          s.NewID(),
		FileName:    in.FileName,
		Type:        in.Type,
		ContentType: stored.ContentType,
		SizeBytes:   stored.Size,
		SHA256:      stored.SHA256,
		StorageKey:  stored.key,
		KeptAt:      s.now(),
	}
	if claim != nil {
		kept.ClaimID, kept.WarrantyID = &claim.ID, &claim.WarrantyID
	}
	err = write(ctx, p, func(tx *store.Tx, _ store.Account) error {
		return s.keepFile(tx, p, kept, folder)
	})
	return KeptFile{kept.ID, kept.FileName, kept.SHA256}, err
}

// keepFile writes the row of a kept file in a locked account.
func (s *Service) keepFile(tx *store.Tx, p warranty.Principal, f store.KeptFile, folder readID) error {
	// No page lists the kept files, so the person could not remove some to make room, and could file no claim with a
	// file for a day. Their oldest ones go instead. This loses no record: they were never sent, the person has the
	// originals, they would expire within a day, and a form or message whose file is gone says so.
	if err := tx.DropOldestKept(p.Account.ID, p.User.ID, maxKept-1, f.KeptAt); err != nil {
		return err
	}
	if err := s.checkStorage(tx, p, f.SizeBytes, 0); err != nil {
		return err
	}
	if err := s.holdFolder(tx, folder); err != nil {
		return err
	}
	return tx.KeepFile(p.Account.ID, p.User.ID, f)
}

// KeptFiles returns the files with these ids that the person still keeps in the account.
func (s *Service) KeptFiles(ctx context.Context, p warranty.Principal, ids []string) (list []KeptFile, err error) {
	for _, id := range warranty.DocumentIDs(ids) {
		f, err := s.Store.KeptFile(ctx, p.Account.ID, p.User.ID, id, s.now().Add(-keptTime))
		if errors.Is(err, warranty.ErrNotFound) {
			continue
		}
		if err != nil {
			return nil, err
		}
		list = append(list, KeptFile{f.ID, f.FileName, f.SHA256})
	}
	return list, nil
}

// DropKept removes a file that the person keeps. There may be none.
func (s *Service) DropKept(ctx context.Context, p warranty.Principal, id warranty.ID) error {
	err := s.writeAs(ctx, p, func(tx *store.Tx) error {
		return tx.DropKept(p.Account.ID, p.User.ID, id, s.now())
	})
	if errors.Is(err, warranty.ErrNotFound) {
		return nil
	}
	return err
}

// AttachKept makes a file that the person keeps a document. If it became one before, because the form was sent
// twice, it returns that; if that belongs to another claim, ErrNotFound. If the account gave the claim the same file
// under the same name before, the kept one is dropped: each time that a form is sent, it keeps its files again.
func (s *Service) AttachKept(
	ctx context.Context, p warranty.Principal, id warranty.ID, in warranty.UploadDocument,
) (d warranty.Document, err error) {
	now, claim := s.now(), in.ClaimID.ID
	err = s.writeLocked(ctx, p, func(tx *store.Tx, _ store.Account) error {
		if !claim.IsZero() {
			same, err := tx.SameAsKept(p.Account.ID, claim, id)
			if err == nil {
				err = tx.DropKept(p.Account.ID, p.User.ID, id, now)
				d.ID = same
				return err
			}
			if !errors.Is(err, warranty.ErrNotFound) {
				return err
			}
		}
		f, err := tx.TakeKept(p.Account.ID, p.User.ID, id, now.Add(-keptTime))
		if err != nil {
			return err
		}
		in.FileName = f.FileName
		d = f.Document(in.Type, now)
		return s.insertDocument(tx, p, in, &d, f.StorageKey)
	})
	if errors.Is(err, warranty.ErrNotFound) {
		d, err = s.GetDocument(ctx, p, warranty.GetDocument{ID: id})
		if err == nil && !claim.IsZero() && (d.ClaimID == nil || *d.ClaimID != claim) {
			return warranty.Document{}, warranty.ErrNotFound
		}
	}
	return d, err
}

// attachKept makes those of the documents of a message that are still kept documents of its claim.
func (s *Service) attachKept(
	tx *store.Tx, p warranty.Principal, c warranty.Claim, ids []warranty.ID, now time.Time,
) error {
	for _, id := range ids {
		f, err := tx.TakeKept(p.Account.ID, p.User.ID, id, now.Add(-keptTime))
		if errors.Is(err, warranty.ErrNotFound) {
			continue // a document, or an id that InsertMessage refuses
		}
		if err != nil {
			return err
		}
		if f.ClaimID == nil || *f.ClaimID != c.ID {
			return warranty.ErrNotFound
		}
		in := warranty.UploadDocument{
			WarrantyID: warranty.WarrantyKey{ID: c.WarrantyID}, ClaimID: warranty.ClaimKey{ID: c.ID}, Type: f.Type}
		d := f.Document(f.Type, now)
		if err := s.insertDocument(tx, p, in, &d, f.StorageKey); err != nil {
			return err
		}
	}
	return nil
}

// ExpireKept deletes the files that were kept for a day. Every replica may do it at the same time.
func (s *Service) ExpireKept(ctx context.Context) error {
	now := s.now()
	n := 0
	err := s.Store.Write(ctx, func(tx *store.Tx) (err error) {
		n, err = tx.ExpireKept(now.Add(-keptTime), now)
		return err
	})
	if n > 0 && err == nil {
		s.Log.Info("deleted files of forms and messages that were not sent for a day", "count", n)
	}
	return err
}
