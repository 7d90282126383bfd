package archive

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"slices"
	"time"

	"warranty.example/svc/internal/files"
	"warranty.example/svc/internal/store"
	"warranty.example/svc/warranty"
)

// Target is a new place for a service's data.
type Target struct {
	Database string // to create
	Files    Sink
	// Folder is the id of the place of the files.
	Folder warranty.ID
	// Attempt identifies what a killed restore or copy leaves.
	Attempt string
	// ID is the id of the new database. Zero keeps the one in the backup.
	ID warranty.ID
	// KeepCredentials keeps credentials and unsent emails.
	KeepCredentials bool
	// SigningKey is the id of the signing key at the new place, if there is one.
	SigningKey string
	// SecretsKey is the id of the key at the new place that seals secrets, if there is one.
	SecretsKey string
	NewID      func() warranty.ID
	Now        time.Time
	// Begin, if set, is called before the first file is stored.
	Begin func() error
	// BeforeCommit puts the files into place. The database appears afterwards.
	BeforeCommit func() error
}

// Restore makes a database and files from a backup. Nothing is usable until it returns nil: the SQLite
// file must then be moved to its place by the caller, and a PostgreSQL database is empty until then.
func Restore(ctx context.Context, from io.Reader, to Target, progress Progress) (Summary, error) {
	r, err := newReader(from)
	if err != nil {
		return Summary{}, err
	}
	latest, err := store.LatestSchema()
	if err != nil {
		return Summary{}, err
	}
	if r.header.Schema > latest {
		return Summary{}, fmt.Errorf("the backup was made by a newer svcd (%s, schema %d); this one supports schemas up to %d",
			r.header.Svcd, r.header.Schema, latest)
	}
	var out Summary
	err = store.Create(ctx, to.Database, r.header.Schema, to.Attempt, func(l *store.Loader) (err error) {
		if err := to.begin(); err != nil {
			return err
		}
		to.configure(l)
		out, err = r.content(ctx, func(t store.Table, list rows) error {
			next, stop := pull(list)
			defer stop()
			return l.Load(ctx, t, next)
		}, to.Files, progress)
		if err != nil {
			return err
		}
		return to.finish(ctx, l, out.Deleted)
	})
	return out, err
}

// content reads everything that follows the header and compares it with the checksums. load gets the rows of
// each table and must read them all.
func (r *reader) content(
	ctx context.Context, load func(store.Table, rows) error, files Sink, progress Progress,
) (out Summary, err error) {
	out.Database = r.header.Database
	if err := r.advance(); err != nil {
		return out, err
	}
	var docs documents
	var sums []TableSum
	for _, t := range r.header.Tables {
		var sum TableSum
		if err := load(t, counted(docs.watch(t, r.table(t, &sum)), t.Name, progress)); err != nil {
			return out, err
		}
		sums = append(sums, sum)
		out.Rows += sum.Rows
	}
	seen, err := r.restoreFiles(ctx, docs.list, files, progress)
	if err != nil {
		return out, err
	}
	if out.Manifest, err = r.manifest(); err != nil {
		return out, err
	}
	return out, compareSums(out.Manifest, sums, docs.list, seen)
}

func (to Target) begin() error {
	if to.Begin == nil {
		return nil
	}
	return to.Begin()
}

func (to Target) finish(ctx context.Context, l *store.Loader, deleted []string) error {
	if err := l.Finish(ctx, to.Folder, deleted); err != nil {
		return err
	}
	return to.BeforeCommit()
}

func (to Target) configure(l *store.Loader) {
	l.KeepCredentials, l.SigningKey, l.SecretsKey = to.KeepCredentials, to.SigningKey, to.SecretsKey
	l.Database, l.NewID, l.Now = to.ID, to.NewID, to.Now
}

// counted tells progress about rows.
func counted(list rows, name string, progress Progress) rows {
	return func(yield func([]any, error) bool) {
		n := int64(0)
		for row, err := range list {
			if n++; n%10_000 == 0 {
				progress(name, n)
			}
			if !yield(row, err) {
				return
			}
		}
	}
}

// restoreFiles stores the files that follow and returns their checksums by key.
func (r *reader) restoreFiles(
	ctx context.Context, list []document, to Sink, progress Progress,
) (map[string][sha256.Size]byte, error) {
	known := make(map[string]bool, len(list))
	for _, doc := range list {
		if !files.IsKey(doc.key) { // another one could lead elsewhere
			return nil, fmt.Errorf("%w: a document has the key %.40q, which is not valid", ErrFormat, doc.key)
		}
		known[doc.key] = true
	}
	seen := make(map[string][sha256.Size]byte, len(list))
	err := r.files(func(key string, size int64, content io.Reader) error {
		if _, twice := seen[key]; twice || !known[key] {
			return fmt.Errorf("%w: it has a file %.40q that no document uses", ErrFormat, key)
		}
		hash := sha256.New()
		if err := to.Put(ctx, key, io.TeeReader(content, hash)); err != nil {
			return err
		}
		seen[key] = [sha256.Size]byte(hash.Sum(nil))
		progress("files", int64(len(seen)))
		return nil
	})
	return seen, err
}

// ErrChecksum reports a backup whose content is not what was written.
var ErrChecksum = errors.New("the backup is damaged")

// compareSums compares what was read with the manifest, and files with their documents.
func compareSums(m Manifest, sums []TableSum, list []document, seen map[string][sha256.Size]byte) error {
	if !slices.Equal(m.Tables, sums) {
		for i, sum := range sums {
			if i >= len(m.Tables) || m.Tables[i] != sum {
				return fmt.Errorf("%w: the table %s differs from its checksum", ErrChecksum, sum.Name)
			}
		}
		return fmt.Errorf("%w: tables are missing", ErrChecksum)
	}
	if m.Files != int64(len(seen)) {
		return fmt.Errorf("%w: it has %d of %d files", ErrChecksum, len(seen), m.Files)
	}
	absent := map[string]bool{}
	for _, key := range slices.Concat(m.Missing, m.Deleted) {
		absent[key] = true
	}
	for _, doc := range list {
		sum, ok := seen[doc.key]
		switch got := hex.EncodeToString(sum[:]); {
		case !ok && !absent[doc.key]:
			return fmt.Errorf("%w: the file %s is missing", ErrChecksum, doc.key)
		case ok && got != doc.sha256() && got != m.Damaged[doc.key]:
			return fmt.Errorf("%w: the file %s differs from its checksum", ErrChecksum, doc.key)
		}
	}
	return nil
}
