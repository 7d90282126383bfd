package fill

import (
	"errors"
	"fmt"
	"strings"

	"github.com/ncruces/go-sqlite3"
)

// SQLite loads tables into a database file with a schema that is not in use. It drops
// the indexes and rebuilds them at the end.
func SQLite(path string, tables []Table) error {
	db, err := sqlite3.Open("file:" + path)
	if err != nil {
		return err
	}
	defer db.Close()
	// A file that was not loaded completely is discarded, so nothing must survive a crash.
	for _, pragma := range []string{
		`journal_mode = OFF`,
		`synchronous = OFF`,
		`cache_size = -65536`,
		`locking_mode = EXCLUSIVE`,
	} {
		if err := db.Exec(`PRAGMA ` + pragma); err != nil {
			return err
		}
	}
	indexes, err := dropIndexes(db)
	if err != nil {
		return err
	}
	if err := db.Exec(`BEGIN`); err != nil {
		return err
	}
	for _, t := range tables {
		if err := insert(db, t); err != nil {
			return fmt.Errorf("fill %s: %w", t.Name, err)
		}
	}
	for _, sql := range append(indexes, `COMMIT`, `PRAGMA journal_mode = WAL`) {
		if err := db.Exec(sql); err != nil {
			return fmt.Errorf("%s: %w", sql, err)
		}
	}
	return db.Close()
}

// Schema creates a database file with a schema.
func Schema(path, sql string) error {
	db, err := sqlite3.Open("file:" + path)
	if err != nil {
		return err
	}
	return errors.Join(db.Exec(sql), db.Close())
}

// dropIndexes drops the named indexes and returns the statements that create them.
func dropIndexes(db *sqlite3.Conn) (create []string, err error) {
	var drop []string
	stmt, _, err := db.Prepare(`SELECT name, sql FROM sqlite_master WHERE type = 'index' AND sql IS NOT NULL ORDER BY name`)
	if err != nil {
		return nil, err
	}
	defer stmt.Close()
	for stmt.Step() {
		drop = append(drop, fmt.Sprintf(`DROP INDEX "%s"`, stmt.ColumnText(0)))
		create = append(create, stmt.ColumnText(1))
	}
	if err := stmt.Reset(); err != nil {
		return nil, err
	}
	for _, sql := range drop {
		if err := db.Exec(sql); err != nil {
			return nil, err
		}
	}
	return create, nil
}

func insert(db *sqlite3.Conn, t Table) error {
	stmt, _, err := db.Prepare(fmt.Sprintf(`INSERT INTO "%s" ("%s") VALUES (?%s)`,
		t.Name, strings.Join(t.Columns, `", "`), strings.Repeat(", ?", len(t.Columns)-1)))
	if err != nil {
		return err
	}
	defer stmt.Close()
	for row := range t.Rows {
		for i, value := range row {
			if err := bind(stmt, i+1, value); err != nil {
				return err
			}
		}
		stmt.Step()
		if err := stmt.Reset(); err != nil {
			return err
		}
	}
	return nil
}

func bind(stmt *sqlite3.Stmt, i int, value any) error {
	switch v := value.(type) {
	case nil:
		return stmt.BindNull(i)
	case int64:
		return stmt.BindInt64(i, v)
	case bool:
		return stmt.BindBool(i, v)
	case string:
		return stmt.BindText(i, v)
	case []byte:
		return stmt.BindBlob(i, v)
	}
	return fmt.Errorf("unsupported type %T", value)
}
