package main

import (
	"context"
	"database/sql"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	_ "github.com/jackc/pgx/v5/stdlib"
	_ "github.com/ncruces/go-sqlite3/driver"
)

// database is a direct connection to the database of the service.
type database struct{ *sql.DB }

func openDatabase(address string) (database, error) {
	driver := "sqlite3"
	if strings.HasPrefix(address, "postgres://") {
		driver = "pgx"
	} else {
		// Writes must survive a power cut too.
		address = "file:" + address + "?mode=rw&_pragma=busy_timeout(10000)&_pragma=synchronous(full)"
	}
	db, err := sql.Open(driver, address)
	if err != nil {
		return database{}, err
	}
	db.SetMaxOpenConns(1)
	return database{db}, nil
}

// uuid is an id from either database.
type uuid string

// Scan implements sql.Scanner.
func (u *uuid) Scan(value any) error {
	switch v := value.(type) {
	case nil:
		*u = ""
	case string:
		*u = uuid(v)
	case []byte:
		if len(v) != 16 {
			*u = uuid(v)
			break
		}
		*u = uuid(fmt.Sprintf("%x-%x-%x-%x-%x", v[:4], v[4:6], v[6:8], v[8:10], v[10:]))
	default:
		return fmt.Errorf("an id of type %T", value)
	}
	return nil
}

// each calls read for every row of a query.
func (d database) each(ctx context.Context, query string, read func(*sql.Rows) error) error {
	rows, err := d.QueryContext(ctx, query)
	if err != nil {
		return err
	}
	defer rows.Close()
	for rows.Next() {
		if err := read(rows); err != nil {
			return err
		}
	}
	return rows.Err()
}

// accessRow is a row of the table access.
type accessRow struct {
	user, item, parent uuid
	kind, roles        int
}

// facts is the content of the database that check compares.
type facts struct {
	access    map[uuid]map[uuid]int // roles by item and user
	kinds     map[uuid]int
	parents   map[uuid]uuid
	live      map[uuid]string // product names of warranties that are not deleted
	documents map[uuid]storedDocument
	queued    []email      // emails that are not sent yet
	reminded  map[uuid]int // number of reminders put into an email, by warranty
	children  map[uuid]int // number of claims and documents by warranty
}

type storedDocument struct {
	warranty uuid
	key      string
	size     int64
}

// read reads everything. Only emails may change meanwhile.
func (d database) read(ctx context.Context) (f facts, err error) {
	f = facts{
		access:    map[uuid]map[uuid]int{},
		kinds:     map[uuid]int{},
		parents:   map[uuid]uuid{},
		live:      map[uuid]string{},
		documents: map[uuid]storedDocument{},
		reminded:  map[uuid]int{},
		children:  map[uuid]int{},
	}
	for _, q := range []struct {
		query string
		read  func(*sql.Rows) error
	}{
		{`SELECT user_id, kind, item_id, parent_id, roles FROM access`, func(r *sql.Rows) error {
			var a accessRow
			if err := r.Scan(&a.user, &a.kind, &a.item, &a.parent, &a.roles); err != nil {
				return err
			}
			if f.access[a.item] == nil {
				f.access[a.item] = map[uuid]int{}
			}
			f.access[a.item][a.user], f.kinds[a.item], f.parents[a.item] = a.roles, a.kind, a.parent
			return nil
		}},
		{`SELECT id, product_name FROM warranties WHERE deleted_at IS NULL`, func(r *sql.Rows) error {
			var id uuid
			var product string
			err := r.Scan(&id, &product)
			f.live[id] = product
			return err
		}},
		{`SELECT id, warranty_id, storage_key, size_bytes FROM documents`, func(r *sql.Rows) error {
			var id uuid
			var d storedDocument
			err := r.Scan(&id, &d.warranty, &d.key, &d.size)
			f.documents[id] = d
			return err
		}},
		// Before the emails: those of these reminders are queued or have arrived.
		{`SELECT warranty_id, count(*) FROM reminded WHERE mailed_at IS NOT NULL GROUP BY warranty_id`, func(r *sql.Rows) error {
			var id uuid
			var n int
			err := r.Scan(&id, &n)
			f.reminded[id] = n
			return err
		}},
		{`SELECT address, subject, body FROM mails`, func(r *sql.Rows) error {
			var e email
			err := r.Scan(&e.to, &e.subject, &e.text)
			f.queued = append(f.queued, e)
			return err
		}},
		{`SELECT warranty_id, count(*) FROM (
			SELECT warranty_id FROM claims UNION ALL SELECT warranty_id FROM documents
		) c GROUP BY warranty_id`, func(r *sql.Rows) error {
			var id uuid
			var n int
			err := r.Scan(&id, &n)
			f.children[id] = n
			return err
		}},
	} {
		if err := d.each(ctx, q.query, q.read); err != nil {
			return f, fmt.Errorf("%s: %w", q.query, err)
		}
	}
	return f, nil
}

// checkIntegrity runs SQLite's integrity check.
func (d database) checkIntegrity(ctx context.Context) error {
	var result string
	if err := d.QueryRowContext(ctx, `PRAGMA integrity_check`).Scan(&result); err != nil || result != "ok" {
		return fmt.Errorf("integrity_check: %s %w", result, err)
	}
	return nil
}

// filesIn returns the sizes of the files in a folder of documents, by name.
func filesIn(folder string) (map[string]int64, error) {
	found := map[string]int64{}
	err := filepath.WalkDir(filepath.Join(folder, "complete"), func(path string, entry os.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		info, err := entry.Info()
		if err != nil {
			return err
		}
		found[entry.Name()] = info.Size()
		return nil
	})
	return found, err
}
