package store

import (
	"context"
	"strconv"
	"strings"
	"time"

	"warranty.example/svc/warranty"
)

// Folder is the database's own id, and the id of the folder that holds its files.
type Folder struct {
	Database warranty.ID
	Folder   warranty.ID // zero until the database has one
}

const folderOf = `SELECT id, folder_id FROM installation`

func readFolder(r Row) Folder {
	f := Folder{Database: r.ID(0)}
	if !r.Null(1) {
		f.Folder = r.ID(1)
	}
	return f
}

// Folder reads which folder holds the files.
func (s *Store) Folder(ctx context.Context) (f Folder, err error) {
	err = one(ctx, s.engine, folderOf, func(r Row) { f = readFolder(r) })
	return f, err
}

// LockFolder is Folder, and keeps others from setting it until the transaction ends.
func (t *Tx) LockFolder() (f Folder, err error) {
	err = one(t.ctx, t.tx, folderOf+` /*pg: FOR UPDATE */`, func(r Row) { f = readFolder(r) })
	return f, err
}

// ShareFolder is Folder, and keeps it from being set until the transaction ends.
func (t *Tx) ShareFolder() (f Folder, err error) {
	err = one(t.ctx, t.tx, folderOf+` /*pg: FOR SHARE */`, func(r Row) { f = readFolder(r) })
	return f, err
}

// SetFolder notes which folder holds the files.
func (t *Tx) SetFolder(folder warranty.ID) error {
	return t.exactlyOne(`UPDATE installation SET folder_id = $1`, folder)
}

// ClaimFileSweep tells whether the files are to be swept now: of several replicas
// one does it, and not again before the time is over.
func (t *Tx) ClaimFileSweep(now time.Time, every time.Duration) (bool, error) {
	n, err := t.exec(`UPDATE installation SET files_swept_at = $1 WHERE files_swept_at <= $2 OR files_swept_at > $3`,
		now, now.Add(-every), now.Add(every))
	return n == 1, err
}

// NewestFiles lists the files of the newest documents.
func (s *Store) NewestFiles(ctx context.Context, count int) (keys []string, err error) {
	err = s.engine.query(ctx, `SELECT storage_key FROM documents ORDER BY id DESC LIMIT $1`, func(r Row) error { keys = append(keys, r.Text(0)); return nil }, count)
	return keys, err
}

// FileState says why a file that no document uses is still there.
type FileState int

// The states of files. InUse is the one of a document's file, and has no row.
const (
	InUse FileState = iota
	FileDeleted
	FileOrphaned
	FileTrashed
	FileArriving
)

// UnusedFile is a file that no document uses, and since when.
type UnusedFile struct {
	Key   string
	State FileState
	Since time.Time
}

// FileBatch is the most files that are asked about at once.
const FileBatch = 500

// batchOf is a list of placeholders for FileBatch values, so that every question
// is the same statement.
var batchOf = func() string {
	list := make([]string, FileBatch)
	for i := range list {
		list[i] = "$" + strconv.Itoa(i+1)
	}
	return strings.Join(list, ", ")
}()

// UsedFiles tells which of at most FileBatch files belong to a document, and what
// is noted of the others.
func (s *Store) UsedFiles(ctx context.Context, keys []string) (used map[string]bool, unused map[string]UnusedFile, err error) {
	used, unused = map[string]bool{}, map[string]UnusedFile{}
	if len(keys) == 0 {
		return used, unused, nil
	}
	args := make([]any, FileBatch)
	for i := range args {
		args[i] = keys[min(i, len(keys)-1)]
	}
	// What is noted comes first: what becomes of a file in between is then in one of the two.
	err = s.engine.query(ctx, `SELECT storage_key, state, since FROM unused_files WHERE storage_key IN (`+batchOf+`)`, func(r Row) error {
		unused[r.Text(0)] = readUnused(r)
		return nil
	}, args...)
	if err != nil {
		return nil, nil, err
	}
	err = s.engine.query(ctx, `SELECT storage_key FROM documents WHERE storage_key IN (`+batchOf+`)`, func(r Row) error {
		used[r.Text(0)] = true
		return nil
	}, args...)
	return used, unused, err
}

func readUnused(r Row) UnusedFile {
	return UnusedFile{Key: r.Text(0), State: FileState(r.Int(1)), Since: instant(r, 2)}
}

// UnusedFiles lists files that no document uses, by their keys; after is the last
// one of the page before.
func (s *Store) UnusedFiles(ctx context.Context, after string) (list []UnusedFile, err error) {
	err = s.engine.query(ctx, `SELECT storage_key, state, since FROM unused_files WHERE storage_key > $1 ORDER BY storage_key LIMIT $2`,
		func(r Row) error { list = append(list, readUnused(r)); return nil }, after, FileBatch)
	return list, err
}

// DeletedFiles lists files whose documents were deleted by a time.
func (s *Store) DeletedFiles(ctx context.Context, by time.Time) (list []UnusedFile, err error) {
	err = s.engine.query(ctx, `SELECT storage_key, state, since FROM unused_files u WHERE state = 1 AND since <= $1
		AND NOT EXISTS (SELECT 1 FROM documents d WHERE d.storage_key = u.storage_key) ORDER BY since LIMIT $2`,
		func(r Row) error { list = append(list, readUnused(r)); return nil }, by, FileBatch)
	return list, err
}

// NoteUnused notes that no document uses these files. One whose document was
// deleted keeps that state.
func (t *Tx) NoteUnused(keys []string, state FileState, now time.Time) error {
	for _, key := range keys {
		if err := t.later(`INSERT INTO unused_files (storage_key, state, since, size_bytes) VALUES ($1, $2, $3, 0)
			ON CONFLICT (storage_key) DO UPDATE SET state = excluded.state, since = excluded.since WHERE unused_files.state <> 1`,
			key, int(state), now); err != nil {
			return err
		}
	}
	return nil
}

// ForgetUnused forgets files that are gone, or that a document uses, if they are
// still noted under the state that the caller saw.
func (t *Tx) ForgetUnused(list []UnusedFile) error {
	for _, f := range list {
		if err := t.later(`DELETE FROM unused_files WHERE storage_key = $1 AND state = $2`, f.Key, int(f.State)); err != nil {
			return err
		}
	}
	return nil
}

// noteDeleted notes the files of documents that are about to be deleted: which
// ones a condition says, with the time as $1.
func (t *Tx) noteDeleted(now time.Time, where string, args ...any) error {
	return t.later(`INSERT INTO unused_files (storage_key, state, since, uploader_id, size_bytes)
		SELECT storage_key, 1, CAST($1 AS BIGINT), uploader_id, size_bytes FROM documents WHERE `+where+`
		ON CONFLICT (storage_key) DO UPDATE SET state = 1, since = excluded.since, uploader_id = excluded.uploader_id, size_bytes = excluded.size_bytes`,
		append([]any{now}, args...)...)
}

// Kept adds up the bytes of the files of documents that a person uploaded and
// that were deleted, but whose files are still there.
func (t *Tx) Kept(user warranty.ID) (sum int64, err error) {
	err = one(t.ctx, t.tx, `SELECT CAST(COALESCE(sum(size_bytes), 0) AS BIGINT) FROM unused_files WHERE uploader_id = $1`, func(r Row) { sum = r.Int(0) }, user)
	return sum, err
}
