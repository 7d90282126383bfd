package service

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"sync"
	"sync/atomic"

	"warranty.example/svc/internal/files"
	"warranty.example/svc/internal/store"
	"warranty.example/svc/warranty"
)

// folderState is what is known of the folder of files.
type folderState struct {
	trouble atomic.Pointer[string] // why it cannot be used; nil if it can
	bound   atomic.Bool            // BindFolder has judged it

	mu     sync.Mutex
	missed map[warranty.ID]bool // documents without a file that the log has named
}

// The reasons, in words for whoever looks at /readyz.
const (
	otherFolder = "This server does not use the folder that holds the files of its database. " +
		"Give every replica the same folder as --data. " +
		"Only if the other folder is lost for good: start once with --adopt-files; documents whose file is not in this folder then answer 410."
	otherDatabase = "The folder of files belongs to another database now. Use another --data, or start once with --adopt-files."
)

// ForeignFolderError refuses a folder that holds the files of another database.
type ForeignFolderError struct{ Reason string }

// Error is the reason, and what to do.
func (e ForeignFolderError) Error() string {
	return e.Reason + "; use the database that it belongs to, choose another folder with --data, or start once with --adopt-files to take it over"
}

// FolderTrouble is an error that says why the folder of files cannot be used, or nil.
func (s *Service) FolderTrouble() error {
	if reason := s.folder.trouble.Load(); reason != nil {
		return &warranty.Error{Code: warranty.Unavailable, Wait: folderEvery, Message: *reason}
	}
	return nil
}

// setTrouble notes why the folder cannot be used, "" if it can, and logs when that changes.
func (s *Service) setTrouble(reason string) {
	var next *string
	if reason != "" {
		next = &reason
	}
	before := s.folder.trouble.Swap(next)
	switch {
	case next == nil && before != nil:
		s.Log.Info("the folder of files can be used again", "folder", s.Files.Path())
	case next != nil && (before == nil || *before != reason):
		s.Log.Error("the folder of files cannot be used", "folder", s.Files.Path(), "reason", reason)
	}
}

// firstMiss tells whether a document's file is found missing for the first time.
func (f *folderState) firstMiss(id warranty.ID) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.missed[id] {
		return false
	}
	if len(f.missed) >= maxMissed {
		clear(f.missed)
	}
	f.missed[id] = true
	return true
}

// maxMissed bounds the memory of what the log has named.
const maxMissed = 10_000

// folderFacts is all that decides whether a folder holds the files of a database.
type folderFacts struct {
	row     store.Folder // what the database says
	carried files.ID     // what the folder says,
	missing bool         // unless it says nothing
	damaged bool         // or something that cannot be read

	files, known int  // files in the folder, and those of them that the database knows
	documents    bool // the database has documents
	lacks        bool // the files of some of the newest are not in the folder
	alone        bool // no replica can be using another folder
	adopt        bool // the operator wants this folder
}

// What to do with a folder.
const (
	useFolder    = iota // it is the right one
	noteFolder          // it is the right one, and the database does not know it yet
	bindFolder          // make it the right one
	rejectFolder        // it is not the right one, and nothing is to be written to it
	refuseFolder        // it is another database's
)

// decide is the rule. A folder without an id is judged by its files.
func (f folderFacts) decide() int {
	unknown := f.missing || f.damaged
	switch {
	case !unknown && f.carried.Database == f.row.Database && f.carried.Folder == f.row.Folder:
		return useFolder
	case !unknown && f.carried.Database == f.row.Database && f.row.Folder.IsZero():
		return noteFolder
	case f.adopt:
		return bindFolder
	case !unknown && f.carried.Database != f.row.Database:
		return refuseFolder
	case !unknown && f.alone && !f.lacks: // an older copy of the database was put back
		return bindFolder
	case !unknown:
		return rejectFolder
	case f.files > 0 && 2*f.known <= f.files:
		return refuseFolder
	case f.files == 0 && f.documents:
		return rejectFolder
	case f.row.Folder.IsZero() || f.alone || f.damaged:
		return bindFolder
	}
	return rejectFolder
}

// BindFolder makes sure that the folder of files is this database's. Another
// database's is refused with a ForeignFolderError. One that replicas do not share
// is noted: see FolderTrouble. alone says that no other process uses the database.
func (s *Service) BindFolder(ctx context.Context, alone, adopt bool) error {
	facts := folderFacts{alone: alone, adopt: adopt}
	var err error
	if err = s.lookForNewest(ctx, &facts); err != nil {
		return err
	}
	if facts.files, facts.known, err = s.sample(ctx); err != nil {
		return err
	}
	decision := useFolder
	err = s.Store.Write(ctx, func(tx *store.Tx) (err error) {
		// Replicas that start together come one after the other from here.
		if facts.row, err = tx.LockFolder(); err != nil {
			return err
		}
		facts.carried, err = s.Files.ID()
		facts.missing, facts.damaged = errors.Is(err, fs.ErrNotExist), errors.Is(err, files.ErrDamaged)
		if err != nil && !facts.missing && !facts.damaged {
			return err
		}
		switch decision = facts.decide(); decision {
		case noteFolder:
			return tx.SetFolder(facts.carried.Folder)
		case bindFolder:
			id := files.ID{Database: facts.row.Database, Folder: s.NewID()}
			if err := s.Files.SetID(id); err != nil {
				return err
			}
			return tx.SetFolder(id.Folder)
		}
		return nil
	})
	if err != nil {
		return err
	}
	s.folder.bound.Store(true)
	switch decision {
	case refuseFolder:
		reason := fmt.Sprintf("the folder %s belongs to another database", s.Files.Path())
		if facts.missing || facts.damaged {
			reason = fmt.Sprintf("the folder %s holds files of another database: of %d files, this one knows %d", s.Files.Path(), facts.files, facts.known)
		}
		return ForeignFolderError{reason}
	case rejectFolder:
		s.setTrouble(otherFolder)
	case bindFolder:
		if facts.adopt {
			s.Log.Warn("adopted the folder of files; documents whose file is not in it answer 410", "folder", s.Files.Path(),
				"files", facts.files, "known", facts.known)
		}
	}
	return nil
}

// newestFiles are enough to tell a folder that was in use before from the one that is.
const newestFiles = 20

// lookForNewest looks for the files of the newest documents in the folder.
func (s *Service) lookForNewest(ctx context.Context, facts *folderFacts) error {
	keys, err := s.Store.NewestFiles(ctx, newestFiles)
	if err != nil {
		return err
	}
	facts.documents = len(keys) > 0
	for _, key := range keys {
		complete, err := s.Files.Has(files.Complete, key)
		trashed := false
		if err == nil && !complete {
			trashed, err = s.Files.Has(files.Trash, key)
		}
		if err != nil {
			return err
		}
		facts.lacks = facts.lacks || !complete && !trashed
	}
	return nil
}

// sample looks at some of the files in the folder, and counts those that the
// database knows.
func (s *Service) sample(ctx context.Context) (count, known int, err error) {
	enough := errors.New("enough")
	err = s.Files.Keys(files.Complete, store.FileBatch, func(keys []string) error {
		used, unused, err := s.Store.UsedFiles(ctx, keys)
		if err != nil {
			return err
		}
		count += len(keys)
		for _, key := range keys {
			if used[key] || unused[key].State != store.InUse {
				known++
			}
		}
		if count >= 2*store.FileBatch {
			return enough
		}
		return nil
	})
	if errors.Is(err, enough) {
		err = nil
	}
	return count, known, err
}

// CheckFolder notices when the folder of files is no longer the one of this
// database: another was mounted in its place, or taken over elsewhere.
func (s *Service) CheckFolder(ctx context.Context) error {
	row, err := s.Store.Folder(ctx)
	if err != nil {
		return err
	}
	s.compareFolder(row)
	return nil
}

// holdFolder keeps the folder of files this database's until the transaction ends,
// and refuses to go on if it is not: the last look at it may be a minute old.
func (s *Service) holdFolder(tx *store.Tx) error {
	if !s.folder.bound.Load() {
		return nil
	}
	row, err := tx.ShareFolder()
	if err != nil {
		return err
	}
	s.compareFolder(row)
	if s.FolderTrouble() != nil {
		return errFolder
	}
	return nil
}

// compareFolder holds what the folder says against what the database says.
func (s *Service) compareFolder(row store.Folder) {
	id, err := s.Files.ID()
	switch {
	case errors.Is(err, fs.ErrNotExist) || errors.Is(err, files.ErrDamaged):
		s.setTrouble(otherFolder)
	case err != nil:
		s.setTrouble("The folder of files cannot be read: " + reasonOf(err) + ".")
	case id.Database != row.Database:
		s.setTrouble(otherDatabase)
	case id.Folder != row.Folder:
		s.setTrouble(otherFolder)
	default:
		s.setTrouble("")
	}
}

// reasonOf is an error without the path that it speaks of: /readyz is public.
func reasonOf(err error) string {
	var path *fs.PathError
	if errors.As(err, &path) {
		err = path.Err
	}
	return err.Error()
}
