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

// folderState is the state of the files folder.
type folderState struct {
	unusable atomic.Pointer[string]  // why the folder is unusable; nil if it is usable
	failing  atomic.Pointer[string]  // why S3 fails; nil if it does not
	bound    atomic.Bool             // BindFolder has run
	later    atomic.Pointer[binding] // BindFolder could not reach S3, so CheckFolder repeats it

	mu     sync.Mutex
	missed map[warranty.ID]bool // documents whose missing file was logged
}

// binding holds the arguments of BindFolder.
type binding struct{ alone, adopt bool }

// Reasons, as shown by /readyz.
const (
	otherFolder = "This server's files folder is not the one of its database. " +
		"Set --data, or --files for S3, to the same value on every replica. " +
		"Only if the other folder is lost for good, start once with --adopt-files; " +
		"documents whose file is not in this folder then return 410."
	otherDatabase = "The files folder now belongs to another database. " +
		"Use another --data or --files, or start once with --adopt-files."
)

// ForeignFolderError rejects a folder that contains the files of another database.
type ForeignFolderError struct{ Reason string }

// Error returns the reason and what to do.
func (e ForeignFolderError) Error() string {
	return e.Reason + "; use the database that it belongs to, choose another folder with --data or --files, " +
		"or start once with --adopt-files to take it over"
}

// FolderError returns why the files folder is unusable, or nil. A failing S3 is not
// included: it fails for all replicas, and everything but files works without it.
func (s *Service) FolderError() error {
	if reason := s.folder.unusable.Load(); reason != nil {
		return &warranty.Error{Code: warranty.Unavailable, Wait: folderEvery, Message: *reason}
	}
	return nil
}

// FilesFail reports whether S3 failed when it was last checked.
func (s *Service) FilesFail() bool { return s.folder.failing.Load() != nil }

// acceptsFiles returns an error for users while files cannot be stored.
func (s *Service) acceptsFiles() error {
	if s.FolderError() != nil || s.folder.later.Load() != nil {
		return errFolder
	}
	return nil
}

// setFailing sets why S3 fails, "" if it does not, and logs changes.
func (s *Service) setFailing(reason string) {
	if reason == "" {
		if s.folder.failing.Swap(nil) != nil {
			s.Log.Info("document files are available again", "folder", s.Files.Path())
		}
		return
	}
	if s.folder.failing.Swap(&reason) == nil {
		s.Log.Error("document files are unavailable", "folder", s.Files.Path(), "reason", reason)
	}
}

// setFolderError sets why the folder is unusable, "" if it is usable, and logs changes.
func (s *Service) setFolderError(reason string) {
	var next *string
	if reason != "" {
		next = &reason
	}
	before := s.folder.unusable.Swap(next)
	switch {
	case next == nil && before != nil:
		s.Log.Info("files folder is usable again", "folder", s.Files.Path())
	case next != nil && (before == nil || *before != reason):
		s.Log.Error("cannot use the files folder", "folder", s.Files.Path(), "reason", reason)
	}
}

// firstMissing reports whether a document's file was not reported as missing before.
func (f *folderState) firstMissing(id warranty.ID) bool {
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

// maxMissed bounds the memory used by missed.
const maxMissed = 10_000

// folderFacts is the input of decide.
type folderFacts struct {
	row     store.Folder // the ids in the database
	carried files.ID     // the ids in the folder
	missing bool         // the folder has no ids
	damaged bool         // the folder's ids are unreadable

	files, known int  // files in the folder, and how many of them the database knows
	documents    bool // the database has documents
	lacks        bool // files of some of the newest documents are not in the folder
	alone        bool // no replica can be using another folder
	adopt        bool // the operator passed --adopt-files
}

// Decisions about a folder.
const (
	useFolder    = iota // use it
	noteFolder          // use it, and record its id in the database
	bindFolder          // write a new id to the folder and the database
	rejectFolder        // a different folder of this database: write nothing to it
	refuseFolder        // another database's folder
)

// decide decides what to do with a folder. A folder without an id is judged by its
// files.
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
	case !unknown && f.alone && !f.lacks: // an older copy of the database was restored
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

// BindFolder checks that the files folder belongs to this database. It returns a
// ForeignFolderError for another database's folder. A folder that the replicas do not
// share is reported by FolderError. alone means that no other process uses the database.
// If S3 does not answer and the database was bound before, the check is repeated later.
func (s *Service) BindFolder(ctx context.Context, alone, adopt bool) error {
	err := s.bindFolder(ctx, alone, adopt)
	var remote files.RemoteError
	if !errors.As(err, &remote) || remote.Setting {
		return err
	}
	row, reading := s.Store.Folder(ctx)
	if reading != nil || row.Folder.IsZero() {
		return errors.Join(err, reading)
	}
	s.folder.later.Store(&binding{alone: alone, adopt: adopt})
	s.setFailing(remote.Reason)
	return nil
}

// bindLater repeats BindFolder. It is too late to refuse to start, so a foreign folder
// is reported like a replaced one.
func (s *Service) bindLater(ctx context.Context, again *binding) error {
	err := s.bindFolder(ctx, again.alone, again.adopt)
	var remote files.RemoteError
	var foreign ForeignFolderError
	switch {
	case errors.As(err, &remote):
		s.setFailing(remote.Reason)
		return nil
	case errors.As(err, &foreign):
		s.setFolderError(otherDatabase)
	case err != nil:
		return err
	}
	s.setFailing("")
	s.folder.later.Store(nil)
	return nil
}

func (s *Service) bindFolder(ctx context.Context, alone, adopt bool) error {
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
		// From here on, replicas that start at the same time take turns.
		if facts.row, err = tx.LockFolder(); err != nil {
			return err
		}
		facts.carried, err = s.Files.ID(ctx)
		facts.missing, facts.damaged = errors.Is(err, fs.ErrNotExist), errors.Is(err, files.ErrDamaged)
		if err != nil && !facts.missing && !facts.damaged {
			return err
		}
		switch decision = facts.decide(); decision {
		case noteFolder:
			return tx.SetFolder(facts.carried.Folder)
		case bindFolder:
			id := files.ID{Database: facts.row.Database, Folder: s.NewID()}
			if err := s.Files.SetID(ctx, id); err != nil {
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
			reason = fmt.Sprintf(
				"the folder %s contains files of another database: only %d of its %d files are known to this one",
				s.Files.Path(), facts.known, facts.files)
		}
		return ForeignFolderError{reason}
	case rejectFolder:
		s.setFolderError(otherFolder)
	case bindFolder:
		if facts.adopt {
			s.Log.Warn("adopted the files folder; documents whose file is not in it return 410",
				"folder", s.Files.Path(), "files", facts.files, "known", facts.known)
		}
	}
	return nil
}

// newestFiles is enough files to detect an outdated folder.
const newestFiles = 20

// lookForNewest looks for the files of the newest documents.
func (s *Service) lookForNewest(ctx context.Context, facts *folderFacts) error {
	keys, err := s.Store.NewestFiles(ctx, newestFiles)
	if err != nil {
		return err
	}
	facts.documents = len(keys) > 0
	for _, key := range keys {
		complete, err := s.Files.Has(ctx, files.Complete, key)
		trashed := false
		if err == nil && !complete {
			trashed, err = s.Files.Has(ctx, files.Trash, key)
		}
		if err != nil {
			return err
		}
		facts.lacks = facts.lacks || !complete && !trashed
	}
	return nil
}

// sample counts some of the files in the folder, and how many of them the database
// knows.
func (s *Service) sample(ctx context.Context) (count, known int, err error) {
	enough := errors.New("enough")
	err = s.Files.Keys(ctx, files.Complete, store.FileBatch, func(keys []string) error {
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

// CheckFolder checks that the files folder still belongs to this database. Another
// folder may have been mounted in its place, or another database may have adopted it.
func (s *Service) CheckFolder(ctx context.Context) error {
	if again := s.folder.later.Load(); again != nil {
		return s.bindLater(ctx, again)
	}
	row, err := s.Store.Folder(ctx)
	if err != nil {
		return err
	}
	s.compareFolder(row, s.readFolder(ctx))
	return nil
}

// readID is the result of reading the folder's id.
type readID struct {
	id  files.ID
	err error
}

func (s *Service) readFolder(ctx context.Context) (r readID) {
	r.id, r.err = s.Files.ID(ctx)
	return r
}

// holdFolder locks the database's claim on the folder until the transaction ends. It
// fails if the folder, as just read, belongs to another database: the last check may be a
// minute old.
func (s *Service) holdFolder(tx *store.Tx, folder readID) error {
	if !s.folder.bound.Load() {
		return nil
	}
	row, err := tx.ShareFolder()
	if err != nil {
		return err
	}
	s.compareFolder(row, folder)
	if s.FilesFail() {
		return errFolder
	}
	return s.acceptsFiles()
}

// compareFolder compares the folder's id with the database.
func (s *Service) compareFolder(row store.Folder, folder readID) {
	id, err := folder.id, folder.err
	var remote files.RemoteError
	if errors.As(err, &remote) {
		s.setFailing(remote.Reason)
		return
	}
	s.setFailing("")
	switch {
	case errors.Is(err, fs.ErrNotExist) || errors.Is(err, files.ErrDamaged):
		s.setFolderError(otherFolder)
	case err != nil:
		s.setFolderError("Cannot read the files folder: " + reasonOf(err) + ".")
	case id.Database != row.Database:
		s.setFolderError(otherDatabase)
	case id.Folder != row.Folder:
		s.setFolderError(otherFolder)
	default:
		s.setFolderError("")
	}
}

// reasonOf removes the path from an error, because /readyz is public.
func reasonOf(err error) string {
	var path *fs.PathError
	if errors.As(err, &path) {
		err = path.Err
	}
	return err.Error()
}
