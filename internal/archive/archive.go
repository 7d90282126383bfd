// Package archive copies everything that a service stores: into a backup, out of it, and from one
// database to another.
//
// A backup is a tar file. Its first entry is header.json. The rows of each table follow in the order of its
// key, in pieces named tables/NAME/NUMBER.jsonl.gz, then the files of documents, named files/KEY, then
// manifest.json, which holds the number of rows and the SHA-256 of every table. The last entry is the CRC-32C
// of all bytes before it; without it a backup is incomplete. A row is a JSON array in the order of the
// header's columns; bytes are in base64. The format does not depend on the database.
//
// An encrypted backup is such a file in the format of age (age-encryption.org/v1).
package archive

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"hash"
	"io"
	"iter"
	"slices"
	"time"

	"warranty.example/svc/internal/store"
	"warranty.example/svc/warranty"
)

// Format is the name and version of the format.
const Format = "svcd-backup/2"

// Header describes a backup.
type Header struct {
	Format    string        `json:"format"`
	Svcd      string        `json:"svcd"`     // the version of the program that wrote it
	Schema    int64         `json:"schema"`   // the version of the database's schema
	Database  warranty.ID   `json:"database"` // zero in backups of older versions
	CreatedAt time.Time     `json:"created_at"`
	Tables    []store.Table `json:"tables"`
}

// TableSum is the number of rows of a table and the SHA-256 of their lines.
type TableSum struct {
	Name   string `json:"name"`
	Rows   int64  `json:"rows"`
	SHA256 string `json:"sha256"`
}

// Manifest is what a complete backup contains.
type Manifest struct {
	Tables    []TableSum `json:"tables"`
	Files     int64      `json:"files"`
	FileBytes int64      `json:"file_bytes"`
	// Missing are files that were lost before the backup, Damaged those whose content differed from the
	// document's checksum, and Deleted those whose documents were deleted during the backup.
	Missing []string          `json:"missing"`
	Damaged map[string]string `json:"damaged"` // the SHA-256 of the content by key
	Deleted []string          `json:"deleted"`
}

// Summary is the outcome of a backup, a restore or a copy.
type Summary struct {
	Manifest
	Rows     int64
	Database warranty.ID // the database that was read, in a backup
}

// Source has the files of documents by key.
type Source interface {
	Get(ctx context.Context, key, sum string) (io.ReadSeekCloser, error)
}

// Sink stores the files of documents by key.
type Sink interface {
	Put(ctx context.Context, key string, from io.Reader) error
}

// Progress is told what was done. what is a table or "files".
type Progress func(what string, done int64)

// rows is a sequence of rows. It ends after an error.
type rows = iter.Seq2[[]any, error]

// snapshotRows returns the rows of a table.
func snapshotRows(ctx context.Context, s *store.Snapshot, t store.Table) rows {
	return func(yield func([]any, error) bool) {
		err := s.Rows(ctx, t, func(values []any) error {
			if !yield(values, nil) {
				return errStopped
			}
			return nil
		})
		if err != nil && err != errStopped { //nolint:errorlint // returned unwrapped, or not at all
			yield(nil, err)
		}
	}
}

// pull returns rows one by one. The caller must call stop.
func pull(list rows) (next func() ([]any, error), stop func()) {
	pulled, stop := iter.Pull2(list)
	return func() ([]any, error) {
		row, err, ok := pulled()
		if !ok {
			return nil, nil
		}
		return row, err
	}, stop
}

// digest sums up the rows of a table.
type digest struct {
	hash hash.Hash
	rows int64
	line []byte
}

func newDigest() *digest { return &digest{hash: sha256.New()} }

// add adds a row and returns its line, which is valid until the next call.
func (d *digest) add(row []any) []byte {
	d.line = appendRow(d.line[:0], row)
	d.hash.Write(d.line)
	d.rows++
	return d.line
}

func (d *digest) sum(name string) TableSum {
	return TableSum{Name: name, Rows: d.rows, SHA256: hex.EncodeToString(d.hash.Sum(nil))}
}

// document is what identifies the file of a document.
type document struct {
	key  string
	sum  [sha256.Size]byte
	size int64
}

func (d document) sha256() string { return hex.EncodeToString(d.sum[:]) }

// documents collects the files in the rows of documents, drafts, earlier versions and logos.
type documents struct{ list []document }

// watch returns rows and remembers those that have a file.
func (d *documents) watch(t store.Table, list rows) rows {
	if !slices.Contains([]string{"documents", "drafts", "document_versions", "logos"}, t.Name) {
		return list
	}
	column := func(name string) int {
		return slices.IndexFunc(t.Columns, func(c store.Column) bool { return c.Name == name })
	}
	key, sum, size := column("storage_key"), column("sha256"), column("size_bytes")
	if min(key, sum, size) < 0 {
		return func(yield func([]any, error) bool) {
			yield(nil, fmt.Errorf("%w: the table %s lacks a column", ErrFormat, t.Name))
		}
	}
	return func(yield func([]any, error) bool) {
		for row, err := range list {
			if err == nil {
				var doc document
				doc.key, _ = row[key].(string)
				bytes, _ := row[sum].([]byte)
				copy(doc.sum[:], bytes)
				doc.size, _ = row[size].(int64)
				d.list = append(d.list, doc)
			}
			if !yield(row, err) {
				return
			}
		}
	}
}
