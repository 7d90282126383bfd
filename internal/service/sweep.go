package service

import (
	"context"
	"errors"
	"slices"
	"time"

	"warranty.example/svc/internal/files"
	"warranty.example/svc/internal/store"
)

const (
	// fileGrace is how long the file of a deleted document is kept, and how long an
	// orphaned file stays before it is moved to the trash.
	fileGrace = 24 * time.Hour
	// trashTime is how long a file stays in the trash.
	trashTime = 30 * 24 * time.Hour
	// maxListed is the number of file keys in a log line.
	maxListed = 100
)

// SweepFiles removes the files of documents deleted a day ago and moves orphaned files
// to the trash. One of the replicas runs it, once an hour. The age of a file counts from
// when it was first seen in its state, by the database's clock; the machine's clock and
// file times are ignored.
func (s *Service) SweepFiles(ctx context.Context) error {
	if err := s.CheckFolder(ctx); err != nil || s.acceptsFiles() != nil || s.FilesFail() {
		return err
	}
	now, mine := s.now(), false
	err := s.Store.Write(ctx, func(tx *store.Tx) (err error) {
		mine, err = tx.ClaimFileSweep(now, sweepEvery)
		return err
	})
	if err != nil || !mine {
		return err
	}
	sweep := fileSweep{Service: s, now: now}
	return errors.Join(sweep.deleted(ctx), sweep.trash(ctx), sweep.complete(ctx), sweep.arriving(ctx), sweep.stale(ctx))
}

// fileSweep is one sweep.
type fileSweep struct {
	*Service
	now time.Time
}

// deleted removes the files of documents that were deleted long enough ago.
func (s fileSweep) deleted(ctx context.Context) error {
	for {
		list, err := s.Store.DeletedFiles(ctx, s.now.Add(-fileGrace))
		if err != nil || len(list) == 0 {
			return err
		}
		for _, f := range list {
			if err := s.Files.Delete(ctx, f.Key); err != nil {
				return err
			}
		}
		if err := s.forget(ctx, list); err != nil {
			return err
		}
	}
}

// complete moves files to the trash that have been orphaned for a day.
func (s fileSweep) complete(ctx context.Context) error {
	count := 0
	var due []store.UnusedFile
	err := s.each(ctx, files.Complete, store.FileOrphaned, func(used, unused []store.UnusedFile) error {
		count += len(used) + len(unused)
		due = append(due, s.over(unused, store.FileOrphaned, fileGrace)...)
		// A file that was moved out of the trash may still be there too.
		return s.forget(ctx, slices.DeleteFunc(used, func(f store.UnusedFile) bool {
			return f.State == store.InUse || f.State == store.FileTrashed
		}))
	})
	if err != nil || len(due) == 0 {
		return err
	}
	if 2*len(due) > count {
		s.Log.Error(
			"most files are unknown to this database; none moved to the trash: check that it is the right database",
			"folder", s.Files.Path(), "files", count, "unknown", len(due))
		return nil
	}
	for some := range slices.Chunk(due, maxListed) {
		if err := s.toTrash(ctx, some); err != nil {
			return err
		}
	}
	return nil
}

// toTrash moves orphaned files to the trash.
func (s fileSweep) toTrash(ctx context.Context, list []store.UnusedFile) error {
	keys := make([]string, 0, len(list))
	for _, f := range list {
		keys = append(keys, f.Key)
	}
	used, _, err := s.Store.UsedFiles(ctx, keys) // again, because the scan takes a while
	if err != nil {
		return err
	}
	keys = slices.DeleteFunc(keys, func(key string) bool { return used[key] })
	for _, key := range keys {
		if err := s.Files.Move(ctx, key, files.Complete, files.Trash); err != nil {
			return err
		}
	}
	if len(keys) > 0 {
		s.Log.Warn("moved orphaned files to the trash, where they stay for 30 days", "count", len(keys), "files", keys)
	}
	return s.note(ctx, keys, store.FileTrashed)
}

// trash moves files back that a document uses again, and removes expired ones. A file that was moved back
// may stay in the trash until it expires.
func (s fileSweep) trash(ctx context.Context) error {
	var back, over []store.UnusedFile
	err := s.each(ctx, files.Trash, store.FileTrashed, func(used, unused []store.UnusedFile) error {
		back = append(back, used...)
		over = append(over, s.over(unused, store.FileTrashed, trashTime)...)
		return nil
	})
	if err != nil {
		return err
	}
	copies, err := s.moveBack(ctx, back)
	if err != nil {
		return err
	}
	over = append(over, s.over(copies, store.FileTrashed, trashTime)...)
	for _, f := range over {
		if err := s.Files.Remove(ctx, files.Trash, f.Key); err != nil {
			return err
		}
	}
	if len(over) > 0 {
		s.Log.Info("removed files from the trash after 30 days", "count", len(over))
	}
	return s.forget(ctx, over)
}

// moveBack moves files out of the trash that a document uses. It returns those that were moved earlier.
func (s fileSweep) moveBack(ctx context.Context, list []store.UnusedFile) (copies []store.UnusedFile, err error) {
	var fresh []string
	moved := 0
	for _, f := range list {
		if f.State != store.FileTrashed {
			fresh = append(fresh, f.Key)
		}
		here, err := s.Files.Has(ctx, files.Complete, f.Key)
		if err != nil {
			return nil, err
		}
		if here {
			copies = append(copies, f)
			continue
		}
		if err := s.Files.Move(ctx, f.Key, files.Trash, files.Complete); err != nil {
			return nil, err
		}
		moved++
	}
	if moved > 0 {
		s.Log.Info("restored files from the trash: documents use them again", "count", moved)
	}
	return copies, s.note(ctx, fresh, store.FileTrashed)
}

// arriving removes the remains of interrupted uploads, which were never acknowledged.
func (s fileSweep) arriving(ctx context.Context) error {
	var over []store.UnusedFile
	err := s.each(ctx, files.Arriving, store.FileArriving, func(_, unused []store.UnusedFile) error {
		over = append(over, s.over(unused, store.FileArriving, fileGrace)...)
		return nil
	})
	for _, f := range over {
		if err == nil {
			err = s.Files.Remove(ctx, files.Arriving, f.Key)
		}
	}
	if err != nil {
		return err
	}
	return s.forget(ctx, over)
}

// stale removes the rows of files that no longer exist.
func (s fileSweep) stale(ctx context.Context) error {
	places := map[store.FileState]files.Place{
		store.FileOrphaned: files.Complete,
		store.FileTrashed:  files.Trash,
		store.FileArriving: files.Arriving,
	}
	for after := ""; ; {
		list, err := s.Store.UnusedFiles(ctx, after)
		if err != nil || len(list) == 0 {
			return err
		}
		after = list[len(list)-1].Key
		var gone []store.UnusedFile
		for _, f := range list {
			place, ok := places[f.State]
			if !ok {
				continue // the document was deleted: see deleted
			}
			here, err := s.Files.Has(ctx, place, f.Key)
			if err != nil {
				return err
			}
			if !here {
				gone = append(gone, f)
			}
		}
		if err := s.forget(ctx, gone); err != nil {
			return err
		}
	}
}

// over returns the files that have been in a state for at least age.
func (s fileSweep) over(list []store.UnusedFile, state store.FileState, age time.Duration) (over []store.UnusedFile) {
	for _, f := range list {
		if f.State == state && s.now.Sub(f.Since) >= age {
			over = append(over, f)
		}
	}
	return over
}

// each calls do with the files of a place in batches, split by whether a document uses
// them. It records unused files under state, unless their document was deleted. Files
// that are already recorded keep their time.
func (s fileSweep) each(
	ctx context.Context, place files.Place, state store.FileState, do func(used, unused []store.UnusedFile) error,
) error {
	return s.Files.Keys(ctx, place, store.FileBatch, func(keys []string) error {
		uses, noted, err := s.Store.UsedFiles(ctx, keys)
		if err != nil {
			return err
		}
		var used, unused []store.UnusedFile
		var fresh []string
		for _, key := range keys {
			f := noted[key]
			f.Key = key
			switch {
			case uses[key]:
				used = append(used, f)
				continue
			case f.State != state && f.State != store.FileDeleted:
				f.State, f.Since = state, s.now
				fresh = append(fresh, key)
			}
			unused = append(unused, f)
		}
		if err := s.note(ctx, fresh, state); err != nil {
			return err
		}
		return do(used, unused)
	})
}

func (s fileSweep) note(ctx context.Context, keys []string, state store.FileState) error {
	if len(keys) == 0 {
		return nil
	}
	return s.Store.Write(ctx, func(tx *store.Tx) error { return tx.NoteUnused(keys, state, s.now) })
}

func (s fileSweep) forget(ctx context.Context, list []store.UnusedFile) error {
	if len(list) == 0 {
		return nil
	}
	return s.Store.Write(ctx, func(tx *store.Tx) error { return tx.ForgetUnused(list) })
}
