package archive

import (
	"archive/tar"
	"bufio"
	"compress/gzip"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"

	"warranty.example/svc/internal/store"
)

// ErrIncomplete reports a backup that was cut off.
var ErrIncomplete = errors.New("the backup is incomplete")

// ErrFormat reports a file that is not a backup.
var ErrFormat = errors.New("this is not a backup of svcd")

// reader reads a backup from its beginning to its end.
type reader struct {
	sealed *sealedReader
	tar    *tar.Reader
	next   *tar.Header // the entry that is read next
	header Header
}

// newReader reads the header.
func newReader(from io.Reader) (*reader, error) {
	r := &reader{sealed: newSealedReader(from)}
	r.tar = tar.NewReader(r.sealed)
	return r, r.start()
}

func (r *reader) start() error {
	err := r.advance()
	switch {
	case r.sealed.err != nil:
		return r.sealed.err
	case err != nil || r.next.Name != "header.json":
		return ErrFormat
	}
	if err := r.json(&r.header); err != nil {
		return err
	}
	if name, _, _ := strings.Cut(Format, "/"); !strings.HasPrefix(r.header.Format, name+"/") {
		return ErrFormat
	}
	if r.header.Format != Format {
		return fmt.Errorf("the backup has the format %.40q, but this svcd reads %q", r.header.Format, Format)
	}
	return nil
}

// advance moves to the next entry.
func (r *reader) advance() (err error) {
	r.next, err = r.tar.Next()
	return r.sealed.explain(err)
}

// maxJSON bounds the header, the manifest, which lists damaged files, and a row, so that a made-up backup
// does not take all memory.
const maxJSON = 64 << 20

func (r *reader) json(v any) error {
	if r.next.Size > maxJSON {
		return ErrFormat
	}
	text, err := io.ReadAll(r.tar)
	if err != nil {
		return r.sealed.explain(err)
	}
	if err := json.Unmarshal(text, v); err != nil {
		return fmt.Errorf("%w: %s: %w", ErrChecksum, r.next.Name, err)
	}
	return nil
}

// table returns the rows of the table that follows, and their sum once they are read.
func (r *reader) table(t store.Table, sum *TableSum) rows {
	return func(yield func([]any, error) bool) {
		d := newDigest()
		row := make([]any, len(t.Columns))
		for strings.HasPrefix(r.next.Name, "tables/"+t.Name+"/") {
			err := r.piece(func(line []byte) error {
				if err := parseRow(line, t.Columns, row); err != nil {
					return fmt.Errorf("%w in the table %.80q", err, t.Name)
				}
				d.hash.Write(line)
				d.hash.Write([]byte{'\n'})
				d.rows++
				if !yield(row, nil) {
					return errStopped
				}
				return nil
			})
			if err == nil {
				err = r.advance()
			}
			if errors.Is(err, errStopped) {
				return
			}
			if err != nil {
				yield(nil, err)
				return
			}
		}
		*sum = d.sum(t.Name)
	}
}

// piece calls each with the lines of a piece.
func (r *reader) piece(each func(line []byte) error) error {
	zip, err := gzip.NewReader(r.tar)
	if err != nil {
		return r.sealed.explain(err)
	}
	lines := bufio.NewReaderSize(zip, 1<<16)
	var long []byte
	for {
		line, err := lines.ReadSlice('\n')
		switch {
		case errors.Is(err, bufio.ErrBufferFull):
			if long = append(long, line...); len(long) > maxJSON {
				return fmt.Errorf("%w: a row is longer than %d MB", ErrFormat, maxJSON>>20)
			}
			continue
		case errors.Is(err, io.EOF) && len(line)+len(long) == 0:
			return nil
		case err != nil:
			return r.sealed.explain(err)
		}
		if len(long) > 0 {
			long = append(long, line...)
			line = long
		}
		if err := each(line[:len(line)-1]); err != nil {
			return err
		}
		long = long[:0]
	}
}

// files calls each with the files that follow.
func (r *reader) files(each func(key string, size int64, content io.Reader) error) error {
	for {
		key, ok := strings.CutPrefix(r.next.Name, "files/")
		if !ok {
			return nil
		}
		if err := each(key, r.next.Size, r.tar); err != nil {
			return r.sealed.explain(err)
		}
		if err := r.advance(); err != nil {
			return err
		}
	}
}

// manifest reads the manifest, which only the seal follows.
func (r *reader) manifest() (m Manifest, err error) {
	if r.next.Name != "manifest.json" {
		return m, fmt.Errorf("%w: it has an unknown entry %.80q", ErrFormat, r.next.Name)
	}
	if err := r.json(&m); err != nil {
		return m, err
	}
	return m, r.sealed.check()
}
