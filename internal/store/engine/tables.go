package engine

import (
	"context"
	"errors"
	"fmt"
	"strings"
)

// Kind is the kind of values in a column, the same on both databases. Ids are bytes.
type Kind string

// The kinds.
const (
	Int   Kind = "int"
	Text  Kind = "text"
	Bytes Kind = "bytes"
)

// Column is a column of a table.
type Column struct {
	Name string `json:"name"`
	Kind Kind   `json:"kind"`
}

// Table describes a table. Key is its primary key.
type Table struct {
	Name    string   `json:"name"`
	Columns []Column `json:"columns"`
	Key     []string `json:"-"`
}

// kinds maps column types to kinds.
var kinds = map[string]Kind{
	"INTEGER": Int, "BIGINT": Int, "SMALLINT": Int,
	"TEXT": Text,
	"BLOB": Bytes, "BYTEA": Bytes, "UUID": Bytes,
}

// tablesQuery lists the columns of all tables, each with its position in the primary key or 0.
const tablesQuery = `
	/*sqlite: SELECT m.name, c.name, c.type, c.pk FROM sqlite_master m JOIN pragma_table_info(m.name) c
		WHERE m.type = 'table' AND m.name NOT LIKE 'sqlite~_%' ESCAPE '~' ORDER BY m.name, c.cid */
	/*pg: SELECT c.relname::text, a.attname::text, format_type(a.atttypid, NULL),
			COALESCE((SELECT k.n FROM pg_index i CROSS JOIN unnest(i.indkey::int2[]) WITH ORDINALITY k (attnum, n)
				WHERE i.indrelid = c.oid AND i.indisprimary AND k.attnum = a.attnum AND k.n <= i.indnkeyatts), 0)::bigint
		FROM pg_class c JOIN pg_attribute a ON a.attrelid = c.oid AND a.attnum > 0 AND NOT a.attisdropped
		WHERE c.relkind = 'r' AND c.relnamespace = to_regnamespace(current_schema())
		ORDER BY c.relname COLLATE "C", a.attnum */`

// isBookkeeping reports whether a table has no data of the service.
func isBookkeeping(table string) bool { return table == versionsTable || table == unfinishedTable }

// tables lists the tables with data of the service, by name.
func tables(ctx context.Context, q Querier) ([]Table, error) {
	var list []Table
	var unknown error
	err := q.Query(ctx, tablesQuery, func(r *Row) error {
		name, column, kind, key := r.Text(), r.Text(), r.Text(), int(r.Int())
		if isBookkeeping(name) {
			return nil
		}
		if len(list) == 0 || list[len(list)-1].Name != name {
			list = append(list, Table{Name: name})
		}
		t := &list[len(list)-1]
		known, ok := kinds[strings.ToUpper(kind)]
		if !ok {
			unknown = fmt.Errorf("the table %s has a column %s of the unknown type %s", name, column, kind)
		}
		t.Columns = append(t.Columns, Column{column, known})
		for key > len(t.Key) {
			t.Key = append(t.Key, "")
		}
		if key > 0 {
			t.Key[key-1] = column
		}
		return nil
	})
	return list, errors.Join(err, unknown)
}

// Snapshot is a database at one time.
type Snapshot struct {
	Querier
	Version int64   // of the schema
	Tables  []Table // by name
}

// ErrNoSchema reports a database without tables of the service.
var ErrNoSchema = errors.New("the database is empty")

// Snapshot runs fn on the database as it is now. Writers are not blocked. fn runs once.
func (db *DB) Snapshot(ctx context.Context, fn func(*Snapshot) error) error {
	started := false
	err := db.Read(ctx, func(q Querier) error {
		if started {
			return errors.New("the connection to the database was lost")
		}
		s := &Snapshot{Querier: q}
		// The rows are read at the speed of whatever they are written to.
		if err := q.Query(ctx, `/*sqlite: SELECT 1 *//*pg: SELECT set_config(s.name, '0', true) FROM pg_settings s
			WHERE s.name IN ('statement_timeout', 'idle_in_transaction_session_timeout', 'transaction_timeout') */`,
			func(*Row) error { return nil }); err != nil {
			return err
		}
		var err error
		if s.Tables, err = tables(ctx, q); err != nil {
			return err
		}
		if len(s.Tables) == 0 {
			return ErrNoSchema
		}
		if s.Version, err = schemaVersion(ctx, q); err != nil {
			return err
		}
		started = true
		return fn(s)
	})
	return err
}

// SchemaVersion returns the version of the schema.
func (db *DB) SchemaVersion(ctx context.Context) (int64, error) { return schemaVersion(ctx, db) }

func schemaVersion(ctx context.Context, q Querier) (version int64, err error) {
	err = q.Query(ctx, `SELECT COALESCE(max(version), 0) FROM `+versionsTable,
		func(r *Row) error { version = r.Int(); return nil })
	return version, err
}

// Rows calls each with the rows of a table, ordered by key. Values are nil, int64, string or []byte, and
// valid only during the call.
func (s *Snapshot) Rows(ctx context.Context, t Table, each func(values []any) error) error {
	columns, order := make([]string, len(t.Columns)), []string{}
	kind := map[string]Kind{}
	for i, c := range t.Columns {
		columns[i] = c.Name
		kind[c.Name] = c.Kind
	}
	key := t.Key
	if len(key) == 0 {
		key = columns
	}
	for _, name := range key {
		if kind[name] == Text {
			name += ` /*pg: COLLATE "C" */`
		}
		order = append(order, name)
	}
	values := make([]any, len(t.Columns))
	return s.Query(ctx, `SELECT `+strings.Join(columns, ", ")+` FROM `+t.Name+` ORDER BY `+strings.Join(order, ", "),
		func(r *Row) error {
			for i, c := range t.Columns {
				values[i] = r.value(c.Kind)
			}
			return each(values)
		})
}

// value reads a column of a kind.
func (r *Row) value(kind Kind) any {
	i := r.advance()
	switch {
	case r.columns.null(i):
		return nil
	case kind == Int:
		return r.columns.int(i)
	case kind == Text:
		return r.columns.text(i)
	}
	return r.columns.bytes(i)
}

// OpenAsIs opens a database without migrating its schema.
func OpenAsIs(ctx context.Context, database string, c Config) (*DB, error) {
	c.Migrations = nil
	return Open(ctx, database, c)
}

// LatestVersion returns the version of the schema that the migrations make.
func (c Config) LatestVersion() (int64, error) {
	versions, err := versionsOf(c.Migrations)
	if err != nil {
		return 0, err
	}
	return versions[len(versions)-1].version, nil
}
