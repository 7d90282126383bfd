package archive

import (
	"context"
	"errors"
	"fmt"
	"io"

	"warranty.example/svc/internal/store"
)

// Copy copies a database and its files to a new place, reads the new database again and compares the
// checksums of all tables. files is nil if the files stay where they are.
func Copy(ctx context.Context, from *store.Store, files Source, to Target, progress Progress) (Summary, error) {
	var out Summary
	latest, err := store.LatestSchema()
	if err != nil {
		return out, err
	}
	err = from.Snapshot(ctx, func(s *store.Snapshot) error {
		if s.Version != latest {
			return fmt.Errorf("the database has schema %d, and this svcd uses schema %d; "+
				"start a server of this version on it once, then copy", s.Version, latest)
		}
		return store.Create(ctx, to.Database, s.Version, to.Attempt, func(l *store.Loader) error {
			if err := to.begin(); err != nil {
				return err
			}
			to.configure(l)
			var docs documents
			for _, t := range s.Tables {
				d := newDigest()
				next, stop := pull(counted(summed(docs.watch(t, snapshotRows(ctx, s, t)), d), t.Name, progress))
				err := l.Load(ctx, t, next)
				stop()
				if err != nil {
					return err
				}
				out.Tables = append(out.Tables, d.sum(t.Name))
				out.Rows += d.rows
			}
			if err := compare(ctx, l, out.Tables, progress); err != nil {
				return err
			}
			if files == nil {
				return nil
			}
			put := func(key string, _ int64, content io.Reader) error { return to.Files.Put(ctx, key, content) }
			if err := copyFiles(ctx, docs.list, files, put, existing(ctx, from), &out.Manifest, progress); err != nil {
				return err
			}
			return to.finish(ctx, l, out.Deleted)
		})
	})
	return out, err
}

// summed adds rows to a digest.
func summed(list rows, d *digest) rows {
	return func(yield func([]any, error) bool) {
		for row, err := range list {
			if err == nil {
				d.add(row)
			}
			if !yield(row, err) {
				return
			}
		}
	}
}

// errDiffers reports that a copy is not equal to its source.
var errDiffers = errors.New("the copy differs from the source")

// compare reads the loaded tables again and compares their checksums.
func compare(ctx context.Context, l *store.Loader, want []TableSum, progress Progress) error {
	sums, err := snapshotSums(ctx, func(fn func(*store.Snapshot) error) error { return l.Snapshot(ctx, fn) }, progress)
	if err != nil {
		return err
	}
	if len(sums) != len(want) {
		return fmt.Errorf("%w: it has %d tables instead of %d", errDiffers, len(sums), len(want))
	}
	for i, sum := range sums {
		if sum != want[i] {
			return fmt.Errorf("%w in the table %s: %d rows, checksum %.16s; the source has %d rows, checksum %.16s",
				errDiffers, sum.Name, sum.Rows, sum.SHA256, want[i].Rows, want[i].SHA256)
		}
	}
	return nil
}

// Sums returns the checksums of all tables of a database.
func Sums(ctx context.Context, s *store.Store) ([]TableSum, error) {
	return snapshotSums(ctx, func(fn func(*store.Snapshot) error) error { return s.Snapshot(ctx, fn) },
		func(string, int64) {})
}

func snapshotSums(
	ctx context.Context, snapshot func(func(*store.Snapshot) error) error, progress Progress,
) (sums []TableSum, err error) {
	err = snapshot(func(s *store.Snapshot) error {
		for _, t := range s.Tables {
			d := newDigest()
			for row, err := range counted(snapshotRows(ctx, s, t), "checking "+t.Name, progress) {
				if err != nil {
					return err
				}
				d.add(row)
			}
			sums = append(sums, d.sum(t.Name))
		}
		return nil
	})
	return sums, err
}
