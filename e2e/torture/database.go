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

// database is what is really there, read past the service.
type database struct{ *sql.DB }

func openDatabase(address string) (database, error) {
	driver := "sqlite3"
	if strings.HasPrefix(address, "postgres://") {
		driver = "pgx"
	} else {
		address = "file:" + address + "?mode=rw&_pragma=busy_timeout(10000)&_pragma=synchronous(full)" // the power may fail after what it writes
	}
	db, err := sql.Open(driver, address)
	if err != nil {
		return database{}, err
	}
	db.SetMaxOpenConns(1)
	return database{db}, nil
}

// uuid is an id in the form of either database.
type uuid string

// Scan reads an id.
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

// each calls a function for every row of a question.
func (d database) each(ctx context.Context, question string, read func(*sql.Rows) error) error {
	rows, err := d.QueryContext(ctx, question)
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

// accessRow is who may see what, and how.
type accessRow struct {
	user, item, parent uuid
	kind, roles        int
}

// facts are all that check compares.
type facts struct {
	access    map[uuid]map[uuid]int // by item, then by user: the roles
	kinds     map[uuid]int
	parents   map[uuid]uuid
	live      map[uuid]string // warranties that are not deleted, and their product
	documents map[uuid]storedDocument
	waiting   []letter // mails that were not sent yet
	reminded  map[uuid]int
	children  map[uuid]int // claims and documents of a warranty
}

type storedDocument struct {
	warranty uuid
	key      string
	size     int64
}

// read reads everything. Nothing but mails changes meanwhile.
func (d database) read(ctx context.Context) (f facts, err error) {
	f = facts{access: map[uuid]map[uuid]int{}, kinds: map[uuid]int{}, parents: map[uuid]uuid{}, live: map[uuid]string{}, documents: map[uuid]storedDocument{},
		reminded: map[uuid]int{}, children: map[uuid]int{}}
	for _, q := range []struct {
		question string
		read     func(*sql.Rows) error
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
		{`SELECT address, subject, body FROM mails`, func(r *sql.Rows) error {
			var l letter
			err := r.Scan(&l.to, &l.subject, &l.text)
			f.waiting = append(f.waiting, l)
			return err
		}},
		{`SELECT subject_id, count(*) FROM reminders GROUP BY subject_id`, func(r *sql.Rows) error {
			var id uuid
			var n int
			err := r.Scan(&id, &n)
			f.reminded[id] = n
			return err
		}},
		{`SELECT warranty_id, count(*) FROM (SELECT warranty_id FROM claims UNION ALL SELECT warranty_id FROM documents) c GROUP BY warranty_id`, func(r *sql.Rows) error {
			var id uuid
			var n int
			err := r.Scan(&id, &n)
			f.children[id] = n
			return err
		}},
	} {
		if err := d.each(ctx, q.question, q.read); err != nil {
			return f, fmt.Errorf("%s: %w", q.question, err)
		}
	}
	return f, nil
}

// sound asks SQLite whether its file is in order.
func (d database) sound(ctx context.Context) error {
	var said string
	if err := d.QueryRowContext(ctx, `PRAGMA integrity_check`).Scan(&said); err != nil || said != "ok" {
		return fmt.Errorf("integrity_check: %s %w", said, err)
	}
	return nil
}

// filesIn lists the files of documents in a folder of files, with their sizes.
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
