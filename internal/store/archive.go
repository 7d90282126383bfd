package store

import (
	"context"
	"io/fs"
	"slices"
	"strconv"
	"time"

	"warranty.example/svc/internal/store/engine"
	"warranty.example/svc/warranty"
)

// Table describes a table in a backup.
type Table = engine.Table

// Column is a column in a backup.
type Column = engine.Column

// Snapshot is the content of a database at one time.
type Snapshot struct {
	engine *engine.Snapshot
	// Version is the version of the schema.
	Version int64
	// Tables are in the order in which they must be loaded.
	Tables []Table
}

// rowNumbers are the columns that only SQLite has. They are made again when rows are loaded.
var rowNumbers = map[string]string{"warranties": "row", "access": "item_row"}

// lastTables are loaded after the others: rows of access refer to the number of a warranty, and events
// about ended credentials are added to history.
var lastTables = []string{"history", "access"}

// derivedTable is left out: it is made again from the files.
const derivedTable = "thumbnails"

func configuration() (engine.Config, error) {
	migrations, err := fs.Sub(migrationFiles, "migrations")
	return engine.Config{Migrations: migrations, Encode: encode}, err
}

// LatestSchema returns the version of the schema that this binary makes.
func LatestSchema() (int64, error) {
	c, err := configuration()
	if err != nil {
		return 0, err
	}
	return c.LatestVersion()
}

// OpenAsIs opens an existing database without migrating it, for Snapshot and for checks.
func OpenAsIs(ctx context.Context, database string) (*Store, error) {
	db, err := engine.OpenAsIs(ctx, database, engine.Config{Encode: encode})
	if err != nil {
		return nil, err
	}
	return newStore(db), nil
}

// SchemaVersion returns the version of the database's schema.
func (s *Store) SchemaVersion(ctx context.Context) (int64, error) { return s.db.SchemaVersion(ctx) }

// Snapshot runs fn on the database as it is now, without blocking writers.
func (s *Store) Snapshot(ctx context.Context, fn func(*Snapshot) error) error {
	return s.db.Snapshot(ctx, func(e *engine.Snapshot) error { return fn(newSnapshot(e)) })
}

// newSnapshot leaves out the columns that only SQLite has, and orders the tables.
func newSnapshot(e *engine.Snapshot) *Snapshot {
	s := &Snapshot{engine: e, Version: e.Version, Tables: e.Tables}
	for i := range s.Tables {
		t := &s.Tables[i]
		t.Columns = slices.DeleteFunc(t.Columns, func(c Column) bool { return c.Name == rowNumbers[t.Name] })
		if slices.Contains(t.Key, rowNumbers[t.Name]) {
			t.Key = []string{"id"}
		}
	}
	s.Tables = slices.DeleteFunc(s.Tables, func(t Table) bool { return t.Name == derivedTable })
	slices.SortStableFunc(s.Tables, func(a, b Table) int {
		return slices.Index(lastTables, a.Name) - slices.Index(lastTables, b.Name)
	})
	return s
}

// Rows calls each with the rows of a table in the order of its key. Values are nil, int64, string or
// []byte, and valid only during the call.
func (s *Snapshot) Rows(ctx context.Context, t Table, each func(values []any) error) error {
	return s.engine.Rows(ctx, t, each)
}

// Loader fills a new database.
type Loader struct {
	engine *engine.Loader
	// KeepCredentials keeps credentials and unsent emails. Otherwise all of them end.
	KeepCredentials bool
	// SigningKey is the id of the signing key that the new place has. Without KeepCredentials, another one is
	// replaced: private keys are not in backups.
	SigningKey string
	// SecretsKey is the same for the key that seals secrets.
	SecretsKey string
	// Database replaces the id of the database, unless it is zero.
	Database warranty.ID
	// NewID makes the ids of events.
	NewID func() warranty.ID
	// Now is the time of these events.
	Now time.Time

	revoked   []warranty.ID        // tokens
	cancelled map[warranty.ID]bool // warranties with open transfers
}

// Create makes a database with the schema of a version, lets fill load its rows, and migrates it to the
// latest schema. A PostgreSQL database must be empty and stays so until Create returns nil. A SQLite file
// must not exist; if Create fails, the caller removes it. attempt identifies what a killed process leaves: see
// Unfinished.
func Create(ctx context.Context, database string, version int64, attempt string, fill func(*Loader) error) error {
	c, err := configuration()
	if err != nil {
		return err
	}
	return engine.Create(ctx, database, c, version, attempt, func(l *engine.Loader) error { return fill(&Loader{engine: l}) })
}

// ErrUnfinished refuses a PostgreSQL database into which a restore was started and not finished.
var ErrUnfinished = engine.ErrUnfinished

// Unfinished returns the attempt of an earlier Create on a PostgreSQL database that was killed, or "".
func Unfinished(ctx context.Context, database string) (string, error) {
	return engine.Unfinished(ctx, database)
}

// itemRow is the number of the warranty of an access row, whose columns have these positions.
func itemRow(columns []Column) string {
	position := func(name string) string {
		return "$" + strconv.Itoa(1+slices.IndexFunc(columns, func(c Column) bool { return c.Name == name }))
	}
	return `CASE WHEN ` + position("kind") + ` = 1 THEN
		coalesce((SELECT row FROM warranties WHERE id = ` + position("item_id") + `), 0) ELSE 0 END`
}

// Load adds the rows of a table.
func (l *Loader) Load(ctx context.Context, t Table, next engine.NextRow) error {
	var computed []engine.Computed
	if t.Name == "access" && l.engine.SQLite {
		computed = []engine.Computed{{Name: "item_row", SQL: itemRow(t.Columns)}}
	}
	if err := l.engine.Insert(ctx, t.Name, t.Columns, computed, l.ended(t, next)); err != nil {
		return err
	}
	if t.Name == "history" {
		return l.addEvents(ctx)
	}
	return nil
}

// Snapshot runs fn on what was loaded.
func (l *Loader) Snapshot(ctx context.Context, fn func(*Snapshot) error) error {
	e, err := l.engine.Snapshot(ctx)
	if err != nil {
		return err
	}
	return fn(newSnapshot(e))
}

// Finish records the folder that holds the files, and removes documents whose files no longer exist
// because they were deleted during the backup.
func (l *Loader) Finish(ctx context.Context, folder warranty.ID, deleted []string) error {
	deletes := []string{
		`DELETE FROM access WHERE kind = ` + kindDocument + ` AND item_id IN (SELECT id FROM documents
				WHERE storage_key = $1)`,
		`DELETE FROM claim_documents WHERE document_id IN (SELECT id FROM documents WHERE storage_key = $1)`,
		`DELETE FROM documents WHERE storage_key = $1`,
		`DELETE FROM drafts WHERE storage_key = $1`,
		`DELETE FROM document_versions WHERE storage_key = $1`,
		`DELETE FROM logos WHERE storage_key = $1`,
	}
	for _, key := range deleted {
		for _, sql := range deletes {
			if err := l.engine.Exec(ctx, sql, key); err != nil {
				return err
			}
		}
	}
	if len(deleted) > 0 {
		// Their index is made again.
		if err := l.engine.Exec(ctx, `DELETE FROM index_lists WHERE kind = `+kindDocument); err != nil {
			return err
		}
	}
	if folder.IsZero() {
		return nil
	}
	return l.engine.Exec(ctx, `UPDATE installation SET folder_id = $1`, folder)
}

// endedTables are the tables whose rows are credentials, or emails that contain them.
var endedTables = []string{"sessions", "token_secrets", "one_time_codes", "calendars", "mails",
	"invitations", "address_codes", "oauth_requests", "oauth_codes", "refresh_tokens", "setup_codes",
	"asked_codes", "session_proofs", "sign_in_flows", "not_me_codes"}

// ended returns the rows without credentials that must no longer work. Tokens are revoked.
func (l *Loader) ended(t Table, next engine.NextRow) engine.NextRow {
	column := func(name string) int {
		return slices.IndexFunc(t.Columns, func(c Column) bool { return c.Name == name })
	}
	switch {
	case t.Name == "installation" && !l.Database.IsZero():
		id, folder := column("id"), column("folder_id")
		return filterRows(next, func(row []any) bool {
			row[id], row[folder] = l.Database[:], nil
			return true
		})
	case t.Name == BackupTable && !l.Database.IsZero():
		// They are backups of another database: this one has none yet.
		return filterRows(next, func([]any) bool { return false })
	case l.KeepCredentials:
		return next
	case slices.Contains(endedTables, t.Name):
		return filterRows(next, func([]any) bool { return false })
	case t.Name == "offer_codes":
		return filterRows(next, l.endedOffer(column))
	case t.Name == "ended_codes":
		held := column("held_by")
		return filterRows(next, func(row []any) bool {
			row[held] = nil // undoing what ended them does not give them back
			return true
		})
	case t.Name == "tokens":
		id, revoked := column("id"), column("revoked_at")
		return filterRows(next, func(row []any) bool {
			if row[revoked] == nil {
				row[revoked] = l.Now.UnixMicro()
				l.revoked = append(l.revoked, warranty.ID(row[id].([]byte)))
			}
			return true
		})
	case t.Name == "erasures":
		// The backup may be older than the delay, and the accounts the reason for the restore.
		due := column("due_at")
		return filterRows(next, func(row []any) bool {
			if at, ok := row[due].(int64); ok {
				row[due] = max(at, l.Now.Add(ErasureDelay).UnixMicro())
			}
			return true
		})
	case t.Name == "signing_keys" || t.Name == "secrets_keys":
		placed := l.SigningKey
		if t.Name == "secrets_keys" {
			placed = l.SecretsKey
		}
		id, active, retired := column("id"), column("active"), column("retired_at")
		return filterRows(next, func(row []any) bool {
			if row[active] != nil && row[id] != placed {
				row[active], row[retired] = nil, l.Now.UnixMicro()
			}
			return true
		})
	case t.Name == "users":
		epoch := column("credential_epoch")
		return filterRows(next, func(row []any) bool {
			if n, ok := row[epoch].(int64); ok {
				row[epoch] = n + 1
			}
			return true
		})
	}
	return next
}

// endedOffer ends transfers, and the codes that someone asked for, which sign in as long as they work. Customers have the
// other codes of hand-overs, on paper or by email, and get no others: these stay, and no longer sign in.
func (l *Loader) endedOffer(column func(string) int) func(row []any) bool {
	id, transfer, used := column("warranty_id"), column("transfer"), column("used_at")
	signsIn, expires := column("signs_in_until"), column("expires_at")
	l.cancelled = map[warranty.ID]bool{}
	return func(row []any) bool {
		if row[signsIn] == row[expires] {
			return false
		}
		row[signsIn] = nil
		if row[transfer] == int64(0) || row[used] != nil {
			return true
		}
		l.cancelled[warranty.ID(row[id].([]byte))] = true
		return false
	}
}

// filterRows returns the rows that keep accepts.
func filterRows(next engine.NextRow, keep func(row []any) bool) engine.NextRow {
	return func() ([]any, error) {
		for {
			row, err := next()
			if err != nil || row == nil || keep(row) {
				return row, err
			}
		}
	}
}

// addEvents adds the ends of tokens and transfers to their histories.
func (l *Loader) addEvents(ctx context.Context) error {
	add := func(thread warranty.ID, action warranty.Action) error {
		return l.engine.Exec(ctx, insertEvent, thread, l.NewID(), l.Now, warranty.ID{}, OperatorName,
			warranty.ID{}, nil, warranty.DoorOperator, nil, action, thread, "[]")
	}
	for _, id := range l.revoked {
		if err := add(id, warranty.TokenWasRevoked); err != nil {
			return err
		}
	}
	for id := range l.cancelled {
		if err := add(id, warranty.TransferCancelled); err != nil {
			return err
		}
	}
	return nil
}

// ErrNoSchema reports a database without tables of the service.
var ErrNoSchema = engine.ErrNoSchema

// OldestBinary returns the lowest schema that a binary must know to run on this database.
func (s *Store) OldestBinary(ctx context.Context) (int64, error) { return s.db.OldestBinary(ctx) }

// IsDamaged reports whether err says that a SQLite file is cut off, overwritten or not a database.
func IsDamaged(err error) bool { return engine.IsDamaged(err) }

// IsDiskError reports whether err says that SQLite could not read or write its files.
func IsDiskError(err error) bool { return engine.IsDiskError(err) }

// SharesConnections reports whether a pooler in transaction mode stands before PostgreSQL, and the address lacks the
// setting that it needs.
func SharesConnections(ctx context.Context, url string) (bool, error) {
	return engine.SharesConnections(ctx, url)
}
