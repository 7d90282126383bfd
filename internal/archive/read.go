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
	tar    *tar.Reader
	next   *tar.Header // the entry that is read next
	header Header
}

// ReadHeader reads the header of a backup, and nothing more.
func ReadHeader(from io.Reader) (Header, error) {
	r := &reader{tar: tar.NewReader(from)}
	err := r.start()
	return r.header, err
}

func newReader(from io.Reader) (*reader, error) {
	r := &reader{tar: tar.NewReader(from)}
	if err := r.start(); err != nil {
		return nil, err
	}
	return r, r.advance()
}

// start reads the header.
func (r *reader) start() error {
	if err := r.advance(); err != nil || r.next.Name != "header.json" {
		return ErrFormat
	}
	if err := r.json(&r.header); err != nil {
		return err
	}
	if r.header.Format != Format {
		return fmt.Errorf("the backup has the format %.40q, but this svcd reads %q", r.header.Format, Format)
	}
	return nil
}

// advance moves to the next entry.
func (r *reader) advance() (err error) {
	r.next, err = r.tar.Next()
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		return ErrIncomplete
	}
	return err
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
		return cutOff(err)
	}
	if err := json.Unmarshal(text, v); err != nil {
		return fmt.Errorf("%w: %s: %w", ErrFormat, r.next.Name, err)
	}
	return nil
}

func cutOff(err error) error {
	if errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, io.EOF) {
		return ErrIncomplete
	}
	return err
}

// table returns the rows of the table that follows, and their sum once they are read.
func (r *reader) table(t store.Table, sum *TableSum) rows {
	return func(yield func([]any, error) bool) {
		d := newDigest()
		row := make([]any, len(t.Columns))
		for strings.HasPrefix(r.next.Name, "tables/"+t.Name+"/") {
			err := r.piece(func(line []byte) error {
				if err := parseRow(line, t.Columns, row); err != nil {
					return fmt.Errorf("%w in the table %s", err, t.Name)
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
		return cutOff(err)
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
			return cutOff(err)
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
			return cutOff(err)
		}
		if err := r.advance(); err != nil {
			return err
		}
	}
}

// manifest reads the manifest, which must be the last entry.
func (r *reader) manifest() (m Manifest, err error) {
	if r.next.Name != "manifest.json" {
		return m, fmt.Errorf("%w: it has an unknown entry %.80q", ErrFormat, r.next.Name)
	}
	if err := r.json(&m); err != nil {
		return m, err
	}
	if _, err := r.tar.Next(); !errors.Is(err, io.EOF) {
		return m, fmt.Errorf("%w: something follows the manifest", ErrFormat)
	}
	return m, nil
}
