package archive

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"encoding/json"
	"fmt"
	"hash"
	"hash/crc32"
	"io"
	"time"

	"warranty.example/svc/internal/store"
)

// pieceSize is the size of an uncompressed piece of a table. A piece is in memory, because its size comes
// before it in a tar file.
const pieceSize = 4 << 20

// writer writes a backup.
type writer struct {
	to   io.Writer
	sum  hash.Hash32 // of everything written
	tar  *tar.Writer
	at   time.Time
	zip  *gzip.Writer
	body bytes.Buffer
}

func newWriter(to io.Writer, h Header) (*writer, error) {
	w := &writer{to: to, sum: crc32.New(castagnoli), at: h.CreatedAt}
	w.tar = tar.NewWriter(io.MultiWriter(w.sum, to))
	var err error
	if w.zip, err = gzip.NewWriterLevel(io.Discard, gzip.BestSpeed); err != nil {
		return nil, err
	}
	return w, w.json("header.json", h)
}

func (w *writer) entry(name string, size int64) error {
	return w.tar.WriteHeader(&tar.Header{Name: name, Size: size, Mode: 0o600, ModTime: w.at, Format: tar.FormatPAX})
}

func (w *writer) json(name string, v any) error {
	text, err := json.MarshalIndent(v, "", "  ")
	if err != nil {
		return err
	}
	if err := w.entry(name, int64(len(text))); err != nil {
		return err
	}
	_, err = w.tar.Write(text)
	return err
}

// table writes the rows of a table.
func (w *writer) table(t store.Table, list rows, progress Progress) (TableSum, error) {
	d, piece := newDigest(), 0
	w.body.Reset()
	w.zip.Reset(&w.body)
	size := 0
	flush := func() error {
		if size == 0 {
			return nil
		}
		if err := w.zip.Close(); err != nil {
			return err
		}
		piece++
		if err := w.entry(fmt.Sprintf("tables/%s/%06d.jsonl.gz", t.Name, piece), int64(w.body.Len())); err != nil {
			return err
		}
		_, err := w.tar.Write(w.body.Bytes())
		w.body.Reset()
		w.zip.Reset(&w.body)
		size = 0
		progress(t.Name, d.rows)
		return err
	}
	for row, err := range list {
		if err != nil {
			return TableSum{}, err
		}
		line := d.add(row)
		if _, err := w.zip.Write(line); err != nil {
			return TableSum{}, err
		}
		if size += len(line); size >= pieceSize {
			if err := flush(); err != nil {
				return TableSum{}, err
			}
		}
	}
	return d.sum(t.Name), flush()
}

// file writes the file of a document.
func (w *writer) file(key string, size int64, content io.Reader) error {
	if err := w.entry("files/"+key, size); err != nil {
		return err
	}
	_, err := io.CopyN(w.tar, content, size)
	return err
}

// close writes the manifest and the seal.
func (w *writer) close(m Manifest) error {
	if err := w.json("manifest.json", m); err != nil {
		return err
	}
	if err := w.tar.Flush(); err != nil {
		return err
	}
	seal, err := newSeal(w.sum.Sum(nil))
	if err != nil {
		return err
	}
	_, err = w.to.Write(seal)
	return err
}
