package main

import (
	"database/sql"
	"errors"
	"net/url"
	"runtime"

	_ "modernc.org/sqlite" // the driver
)

// database is a SQLite file with prepared statements. Readers share a few connections;
// writers queue for a single connection instead of in SQLite.
type database struct {
	readers, writer *sql.DB

	userOfToken, get, verify          *sql.Stmt
	page, count                       *sql.Stmt
	pageOfCategory, countOfCategory   *sql.Stmt
	pageOfActive, countOfActive       *sql.Stmt
	locked, keyed, userOfEmail        *sql.Stmt
	insert, member, keep, updateDates *sql.Stmt
}

const columns = `w.id, w.reference_number, w.owner_id, w.issuer_id, w.seller_id, w.product_name, w.description,
	w.serial_number, w.category, w.supplier, w.seller_name, w.seller_email, w.start_date, w.end_date, w.status,
	w.created_at, w.updated_at`

const (
	mine       = ` FROM members m JOIN warranties w ON w.id = m.warranty_id WHERE m.user_id = ?`
	ofCategory = ` AND w.category = ? COLLATE NOCASE`
	ofActive   = ` AND w.status = 'active' AND w.start_date <= ? AND w.end_date >= ?`
	newest     = ` ORDER BY m.warranty_id DESC LIMIT ? OFFSET ?`
)

func open(file string) (*database, error) {
	pragmas := url.Values{
		"_pragma": {"busy_timeout(5000)", "journal_mode(WAL)", "synchronous(FULL)", "cache_size(-32000)"},
		"_txlock": {"immediate"},
	}
	dsn := "file:" + file + "?" + pragmas.Encode()
	d := &database{}
	var err error
	if d.readers, err = sql.Open("sqlite", dsn); err != nil {
		return nil, err
	}
	if d.writer, err = sql.Open("sqlite", dsn); err != nil {
		return nil, err
	}
	conns := max(4, runtime.GOMAXPROCS(0))
	d.readers.SetMaxOpenConns(conns)
	d.readers.SetMaxIdleConns(conns)
	d.writer.SetMaxOpenConns(1)
	return d, errors.Join(d.prepareReads(), d.prepareWrites())
}

func (d *database) prepareReads() error {
	return prepare(d.readers, map[**sql.Stmt]string{
		&d.userOfToken: `SELECT user_id FROM tokens WHERE hash = ?`,
		&d.get:         `SELECT ` + columns + mine + ` AND m.warranty_id = ?`,
		&d.verify: `SELECT ` + columns + `, u.name FROM warranties w JOIN users u ON u.id = w.issuer_id
			WHERE w.reference_number = ?`,
		// The page is selected before the join, so that skipped rows are not looked up.
		&d.page: `SELECT ` + columns + ` FROM (SELECT m.warranty_id FROM members m WHERE m.user_id = ?` + newest + `) m
			JOIN warranties w ON w.id = m.warranty_id ORDER BY m.warranty_id DESC`,
		&d.count:           `SELECT count(*) FROM members WHERE user_id = ?`,
		&d.pageOfCategory:  `SELECT ` + columns + mine + ofCategory + newest,
		&d.countOfCategory: `SELECT count(*)` + mine + ofCategory,
		&d.pageOfActive:    `SELECT ` + columns + mine + ofActive + newest,
		&d.countOfActive:   `SELECT count(*)` + mine + ofActive,
	})
}

func (d *database) prepareWrites() error {
	return prepare(d.writer, map[**sql.Stmt]string{
		&d.locked:      `SELECT ` + columns + mine + ` AND m.warranty_id = ?`,
		&d.keyed:       `SELECT response FROM idempotency WHERE user_id = ? AND key = ?`,
		&d.userOfEmail: `SELECT id FROM users WHERE email = ?`,
		&d.insert: `INSERT INTO warranties (id, reference_number, owner_id, issuer_id, seller_id, product_name, description,
			serial_number, category, supplier, seller_name, seller_email, start_date, end_date, status, created_at, updated_at)
			VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`,
		&d.member:      `INSERT INTO members (user_id, warranty_id) VALUES (?, ?) ON CONFLICT DO NOTHING`,
		&d.keep:        `INSERT INTO idempotency (user_id, key, response) VALUES (?, ?, ?)`,
		&d.updateDates: `UPDATE warranties SET end_date = ?, supplier = ?, updated_at = ? WHERE id = ?`,
	})
}

func prepare(db *sql.DB, statements map[**sql.Stmt]string) (err error) {
	for stmt, text := range statements {
		if *stmt, err = db.Prepare(text); err != nil {
			return err
		}
	}
	return nil
}

func (d *database) close() error { return errors.Join(d.readers.Close(), d.writer.Close()) }

// write runs fn in a transaction.
func (d *database) write(fn func(*sql.Tx) error) error {
	tx, err := d.writer.Begin()
	if err != nil {
		return err
	}
	defer tx.Rollback() //nolint:errcheck // fails after a commit
	if err := fn(tx); err != nil {
		return err
	}
	return tx.Commit()
}
