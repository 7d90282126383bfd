package store

import (
	"context"
	"errors"
	"time"

	"warranty.example/svc/internal/store/engine"
	"warranty.example/svc/warranty"
)

// BackupStatus is the last good backup of the database and the last one that failed, whichever process made
// them. A restored database has neither.
type BackupStatus struct {
	LastSuccess time.Time // zero if there was none
	Duration    time.Duration
	Bytes       int64
	LostFiles   int64  // files of documents that were lost before the backup
	Place       string // without secrets
	Failures    int64
	LastFailure time.Time // zero if there was none
	Error       string    // of the last failure
}

// Failing reports whether a backup failed after the last good one.
func (b BackupStatus) Failing() bool { return b.LastFailure.After(b.LastSuccess) }

// backupMaxAge is the age from which a backup is overdue: a nightly one may fail once.
const backupMaxAge = 48 * time.Hour

// Overdue reports whether there is no good backup, or an old one.
func (b BackupStatus) Overdue(now time.Time) bool { return now.Sub(b.LastSuccess) > backupMaxAge }

// BackupTable is the table of BackupStatus. A database with an older schema does not have it.
const BackupTable = "backup_status"

// BackupStatus returns the state of the backups.
func (s *Store) BackupStatus(ctx context.Context) (b BackupStatus, err error) {
	optional := func(t *time.Time) time.Time {
		if t == nil {
			return time.Time{}
		}
		return *t
	}
	err = queryRow(ctx, s.db, `SELECT succeeded_at, duration, size_bytes, lost_files, place, failures, failed_at, error
		FROM backup_status`, func(r *engine.Row) {
		b = BackupStatus{
			LastSuccess: optional(r.OptionalTime()),
			Duration:    time.Duration(r.Int()) * time.Microsecond,
			Bytes:       r.Int(),
			LostFiles:   r.Int(),
			Place:       r.Text(),
			Failures:    r.Int(),
			LastFailure: optional(r.OptionalTime()),
			Error:       r.Text(),
		}
	})
	if errors.Is(err, warranty.ErrNotFound) {
		return BackupStatus{}, nil
	}
	return b, err
}

// RecordBackup records a good backup: its LastSuccess, Duration, Bytes, LostFiles and Place. A later one stays.
func (s *Store) RecordBackup(ctx context.Context, b BackupStatus) error {
	return s.Write(ctx, func(t *Tx) error {
		_, err := t.exec(`INSERT INTO backup_status (one, succeeded_at, duration, size_bytes, lost_files, place)
				VALUES (1, $1, $2, $3, $4, $5)
			ON CONFLICT (one) DO UPDATE SET succeeded_at = excluded.succeeded_at, duration = excluded.duration,
				size_bytes = excluded.size_bytes, lost_files = excluded.lost_files, place = excluded.place
			WHERE backup_status.succeeded_at IS NULL OR backup_status.succeeded_at < excluded.succeeded_at`,
			b.LastSuccess, b.Duration.Microseconds(), b.Bytes, b.LostFiles, b.Place)
		return err
	})
}

// RecordBackupFailure records that a backup failed, and why.
func (s *Store) RecordBackupFailure(ctx context.Context, reason string, at time.Time) error {
	return s.Write(ctx, func(t *Tx) error {
		return t.exactlyOne(`INSERT INTO backup_status (one, failures, failed_at, error) VALUES (1, 1, $1, $2)
			ON CONFLICT (one) DO UPDATE SET failures = backup_status.failures + 1, failed_at = excluded.failed_at,
				error = excluded.error`, at, reason)
	})
}

// DataSize estimates what a backup has to store: the size of the database, with its indexes, and of the files
// of documents.
func (s *Store) DataSize(ctx context.Context) (database, files int64, err error) {
	err = queryRow(ctx, s.db, `SELECT
			/*pg: (SELECT COALESCE(sum(pg_table_size(c.oid)), 0)::BIGINT FROM pg_class c
				WHERE c.relkind = 'r' AND c.relnamespace = current_schema()::regnamespace) */
			/*sqlite: (SELECT (p.page_count - f.freelist_count) * z.page_size
				FROM pragma_page_count() p, pragma_freelist_count() f, pragma_page_size() z) */,
			(SELECT CAST(COALESCE(sum(size_bytes), 0) AS BIGINT) FROM used_files)`,
		func(r *engine.Row) { database, files = r.Int(), r.Int() })
	return database, files, err
}
