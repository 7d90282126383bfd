package store

import (
	"context"
	"strconv"
	"strings"
	"time"

	"warranty.example/svc/internal/store/engine"
	"warranty.example/svc/warranty"
)

// Folder identifies the database and the folder that holds its files.
type Folder struct {
	Database warranty.ID
	Folder   warranty.ID // zero if not set yet
}

const folderQuery = `SELECT id, folder_id FROM installation`

func readFolder(r *engine.Row) Folder {
	return Folder{Database: r.ID(), Folder: r.ID()}
}

// Folder returns the folder that holds the files.
func (s *Store) Folder(ctx context.Context) (f Folder, err error) {
	err = queryRow(ctx, s.db, folderQuery, func(r *engine.Row) { f = readFolder(r) })
	return f, err
}

// LockFolder is like Folder and locks it for a change until the transaction ends.
func (t *Tx) LockFolder() (f Folder, err error) {
	err = queryRow(t.ctx, t.tx, folderQuery+` /*pg: FOR UPDATE */`, func(r *engine.Row) { f = readFolder(r) })
	return f, err
}

// ShareFolder is like Folder and prevents changes until the transaction ends.
func (t *Tx) ShareFolder() (f Folder, err error) {
	err = queryRow(t.ctx, t.tx, folderQuery+` /*pg: FOR SHARE */`, func(r *engine.Row) { f = readFolder(r) })
	return f, err
}

// SetFolder sets the folder that holds the files.
func (t *Tx) SetFolder(folder warranty.ID) error {
	return t.exactlyOne(`UPDATE installation SET folder_id = $1`, folder)
}

// ClaimFileSweep reports whether to sweep the files now. Only one replica sweeps within the
// interval.
func (t *Tx) ClaimFileSweep(now time.Time, every time.Duration) (bool, error) {
	n, err := t.exec(`UPDATE installation SET files_swept_at = $1 WHERE files_swept_at <= $2 OR files_swept_at > $3`,
		now, now.Add(-every), now.Add(every))
	return n == 1, err
}

// NewestFiles returns the storage keys of the newest documents.
func (s *Store) NewestFiles(ctx context.Context, count int) (keys []string, err error) {
	err = s.db.Query(ctx, `SELECT storage_key FROM documents ORDER BY id DESC LIMIT $1`,
		func(r *engine.Row) error { keys = append(keys, r.Text()); return nil }, count)
	return keys, err
}

// FileState is why a file that no document uses still exists.
type FileState int

// The states of files. InUse has no row: a document uses the file. FileDeleted is kept for a day: the file of a deleted
// document, or of an export.
const (
	InUse FileState = iota
	FileDeleted
	FileOrphaned
	FileTrashed
	FileArriving
)

// UnusedFile is a file that no document uses.
type UnusedFile struct {
	Key   string
	State FileState
	Since time.Time
}

// FileBatch is the maximum number of files per query.
const FileBatch = 500

// batchPlaceholders lists FileBatch placeholders, so that every query is the same statement.
var batchPlaceholders = func() string {
	list := make([]string, FileBatch)
	for i := range list {
		list[i] = "$" + strconv.Itoa(i+1)
	}
	return strings.Join(list, ", ")
}()

// UsedFiles returns which of at most FileBatch files belong to a document, and the recorded state
// of the others.
func (s *Store) UsedFiles(ctx context.Context, keys []string) (
	used map[string]bool, unused map[string]UnusedFile, err error,
) {
	used, unused = map[string]bool{}, map[string]UnusedFile{}
	if len(keys) == 0 {
		return used, unused, nil
	}
	args := make([]any, FileBatch)
	for i := range args {
		args[i] = keys[min(i, len(keys)-1)]
	}
	// Read the files in use last, so that a document created in between is seen, and with one statement, because a
	// draft may become a document.
	err = s.db.Query(ctx, `SELECT storage_key, state, since FROM unused_files
		WHERE storage_key IN (`+batchPlaceholders+`)`, func(r *engine.Row) error {
		f := readUnused(r)
		unused[f.Key] = f
		return nil
	}, args...)
	if err != nil {
		return nil, nil, err
	}
	err = s.db.Query(ctx, `SELECT storage_key FROM used_files WHERE storage_key IN (`+batchPlaceholders+`)`,
		func(r *engine.Row) error { used[r.Text()] = true; return nil }, args...)
	return used, unused, err
}

func readUnused(r *engine.Row) UnusedFile {
	return UnusedFile{Key: r.Text(), State: FileState(r.Int()), Since: r.Time()}
}

// UnusedFiles lists files that no document uses, by key. after is the last key of the previous
// page.
func (s *Store) UnusedFiles(ctx context.Context, after string) (list []UnusedFile, err error) {
	err = s.db.Query(ctx, `SELECT storage_key, state, since FROM unused_files
		WHERE storage_key > $1 ORDER BY storage_key LIMIT $2`,
		func(r *engine.Row) error { list = append(list, readUnused(r)); return nil }, after, FileBatch)
	return list, err
}

// DeletedFiles lists files whose documents were deleted by a time, oldest first.
func (s *Store) DeletedFiles(ctx context.Context, by time.Time) (list []UnusedFile, err error) {
	err = s.db.Query(ctx, `SELECT storage_key, state, since FROM unused_files u
		WHERE state = `+fileDeleted+` AND since <= $1
		AND NOT EXISTS (SELECT 1 FROM used_files f WHERE f.storage_key = u.storage_key) ORDER BY since LIMIT $2`,
		func(r *engine.Row) error { list = append(list, readUnused(r)); return nil }, by, FileBatch)
	return list, err
}

// NoteUnused records that no document uses these files. Files of deleted documents keep that state.
func (t *Tx) NoteUnused(keys []string, state FileState, now time.Time) error {
	for _, key := range keys {
		if err := t.later(`INSERT INTO unused_files (storage_key, state, since, size_bytes) VALUES ($1, $2, $3, 0)
			ON CONFLICT (storage_key) DO UPDATE SET state = excluded.state, since = excluded.since
			WHERE unused_files.state <> `+fileDeleted,
			key, int(state), now); err != nil {
			return err
		}
	}
	return nil
}

// ForgetUnused removes the records of files that are gone or used by a document, unless their state
// has changed.
func (t *Tx) ForgetUnused(list []UnusedFile) error {
	for _, f := range list {
		if err := t.later(`DELETE FROM unused_files WHERE storage_key = $1 AND state = $2`, f.Key, int(f.State)); err != nil {
			return err
		}
	}
	return nil
}

// noteDeleted records the files of documents that are about to be deleted. where selects the
// documents; $1 is the time.
func (t *Tx) noteDeleted(now time.Time, where string, args ...any) error {
	return t.noteDeletedIn(`documents`, `uploader_id`, now, where, args...)
}

// noteDeletedIn is noteDeleted for a table with files, which count for the account of a column.
func (t *Tx) noteDeletedIn(table, account string, now time.Time, where string, args ...any) error {
	return t.later(`INSERT INTO unused_files (storage_key, state, since, uploader_id, size_bytes)
		SELECT storage_key, `+fileDeleted+`, CAST($1 AS BIGINT), `+account+`, size_bytes FROM `+table+` WHERE `+where+`
		ON CONFLICT (storage_key) DO UPDATE
			SET state = `+fileDeleted+`, since = excluded.since, uploader_id = excluded.uploader_id,
				size_bytes = excluded.size_bytes`,
		append([]any{now}, args...)...)
}

// dropFiles deletes the rows of drafts or document_versions that where selects, and returns their number. The sweep
// deletes the files later, like those of documents.
func (t *Tx) dropFiles(table string, now time.Time, where string, args ...any) (int, error) {
	var ids []warranty.ID
	// The rows are locked first, because one of them may become a document at the same time.
	if err := t.tx.Query(t.ctx, `SELECT id FROM `+table+` WHERE `+where+` ORDER BY id /*pg: FOR UPDATE */`,
		func(r *engine.Row) error { ids = append(ids, r.ID()); return nil }, args...); err != nil {
		return 0, err
	}
	for _, id := range ids {
		if err := t.noteDeletedIn(table, `account_id`, now, `id = $2`, id); err != nil {
			return 0, err
		}
		if err := t.exactlyOne(`DELETE FROM `+table+` WHERE id = $1`, id); err != nil {
			return 0, err
		}
	}
	return len(ids), nil
}

// DeletedBytes returns the total size of a user's deleted and replaced files that still exist.
func (t *Tx) DeletedBytes(user warranty.ID) (sum int64, err error) {
	err = queryRow(t.ctx, t.tx, `SELECT CAST((SELECT COALESCE(sum(size_bytes), 0) FROM unused_files WHERE uploader_id = $1)
		+ (SELECT COALESCE(sum(size_bytes), 0) FROM document_versions WHERE account_id = $1) AS BIGINT)`,
		func(r *engine.Row) { sum = r.Int() }, user)
	return sum, err
}
