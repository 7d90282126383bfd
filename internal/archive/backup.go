package archive

import (
	"context"
	"io"
	"time"

	"warranty.example/svc/internal/store"
)

// Backup writes a backup of the database and its files. Writers are not blocked. The database is read
// first: files are kept for a day after their document was deleted, so every document in the backup has
// its file.
func Backup(
	ctx context.Context, from *store.Store, files Source, to io.Writer, version string, now time.Time, progress Progress,
) (Summary, error) {
	var out Summary
	var w *writer
	var docs documents
	source, err := from.Folder(ctx)
	if err != nil {
		return out, err
	}
	out.Database = source.Database
	err = from.Snapshot(ctx, func(s *store.Snapshot) (err error) {
		h := Header{
			Format: Format, Svcd: version, Schema: s.Version, Database: source.Database,
			CreatedAt: now.UTC().Truncate(time.Second), Tables: s.Tables,
		}
		if w, err = newWriter(to, h); err != nil {
			return err
		}
		for _, t := range s.Tables {
			rows := docs.watch(t, snapshotRows(ctx, s, t))
			if t.Name == store.KeyTable {
				rows = noRows
			}
			sum, err := w.table(t, rows, progress)
			if err != nil {
				return err
			}
			out.Tables = append(out.Tables, sum)
			out.Rows += sum.Rows
		}
		return nil
	})
	if err != nil {
		return out, err
	}
	if err := copyFiles(ctx, docs.list, files, w.file, existing(ctx, from), &out.Manifest, progress); err != nil {
		return out, err
	}
	return out, w.close(out.Manifest)
}

// noRows is the content of a table whose rows are not in backups.
func noRows(func([]any, error) bool) {}

// existing reports whether a document has a file.
func existing(ctx context.Context, s *store.Store) func(key string) (bool, error) {
	return func(key string) (bool, error) {
		used, _, err := s.UsedFiles(ctx, []string{key})
		return used[key], err
	}
}
