package service

import (
	"cmp"
	"context"

	"warranty.example/svc/api"
	"warranty.example/svc/internal/store"
	"warranty.example/svc/warranty"
)

// ListNotes lists the notes of the principal's account about a claim that it decides, newest first.
func (s *Service) ListNotes(
	ctx context.Context, p warranty.Principal, in warranty.ListNotes,
) (warranty.Page[warranty.Note], error) {
	if err := in.Check(); err != nil {
		return warranty.Page[warranty.Note]{}, err
	}
	c, roles, err := s.Store.ClaimWithRoles(ctx, p.Account.ID, in.ID)
	if err == nil {
		err = mayHandle(c, roles)
	}
	if err != nil {
		return warranty.Page[warranty.Note]{}, err
	}
	list, total, err := s.Store.Notes(ctx, p.Account.ID, c.ID, in.Paging)
	return warranty.PageOf(list, in.Paging, total), err
}

// WriteNote writes a note about a claim that the principal's account decides. Nobody is emailed.
func (s *Service) WriteNote(ctx context.Context, p warranty.Principal, in warranty.WriteNote) (warranty.Note, error) {
	if err := in.Check(); err != nil {
		return warranty.Note{}, err
	}
	note := warranty.Note{ID: s.NewID(), Author: p.User.Name, Body: in.Body, CreatedAt: s.now()}
	key := in.IdempotencyKey
	in.IdempotencyKey = nil
	earlier, err := once(s, p, api.WriteNote.Name, key, in, note, func(replay func(*store.Tx) (bool, error)) error {
		return s.writeLocked(ctx, p, func(tx *store.Tx, account store.Account) error {
			if done, err := replay(tx); err != nil || done {
				return err
			}
			if err := writeNote(tx, p, account, in, &note); err != nil {
				return err
			}
			return complete(tx, p, api.WriteNote.Name, key, note)
		})
	})
	if earlier.Replay {
		return earlier, err
	}
	return note, err
}

func writeNote(tx *store.Tx, p warranty.Principal, account store.Account, in warranty.WriteNote, note *warranty.Note) error {
	c, roles, err := tx.LockClaim(account.ID, in.ID)
	if err != nil {
		return err
	}
	if err := mayHandle(c, roles); err != nil {
		return err
	}
	n, err := tx.CountNotes(account.ID, c.ID)
	if err != nil {
		return err
	}
	if n >= warranty.MaxNotes {
		return warranty.Refuse(warranty.InUse, "The claim has %d notes, which is the limit.", n)
	}
	note.ClaimID = c.ID
	return tx.InsertNote(account.ID, p.User.ID, *note)
}

// ClaimPhotos returns the pictures of claims that the principal can see, for the web pages.
func (s *Service) ClaimPhotos(
	ctx context.Context, p warranty.Principal, list []warranty.Claim,
) (map[warranty.ID]warranty.ClaimPhotos, error) {
	files, err := s.Store.ClaimFiles(ctx, p.Account.ID, list)
	photos := map[warranty.ID]warranty.ClaimPhotos{}
	for id, of := range files {
		for _, d := range of {
			if HasThumbnail(d.ContentType) {
				n := photos[id].Count + 1
				photos[id] = warranty.ClaimPhotos{First: cmp.Or(photos[id].First, d), Count: n}
			}
		}
	}
	return photos, err
}
