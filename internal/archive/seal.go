package archive

import (
	"archive/tar"
	"bytes"
	"compress/flate"
	"compress/gzip"
	"encoding/hex"
	"errors"
	"fmt"
	"hash"
	"hash/crc32"
	"io"
)

// The seal is the end of a backup: a tar entry with the CRC-32C of all bytes before it, and the end of the
// tar file. It has one size and, for a checksum, one content, so that a reader can check every byte of a
// backup. It also covers what other checksums do not: the header, the manifest and the bytes between entries.
const (
	sealName = "crc32c"
	sealSize = 4 * 512 // header, content, and two empty blocks
)

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// newSeal returns the seal for a checksum.
func newSeal(sum []byte) ([]byte, error) {
	var out bytes.Buffer
	w := tar.NewWriter(&out)
	text := hex.EncodeToString(sum) + "\n"
	err := w.WriteHeader(&tar.Header{Name: sealName, Size: int64(len(text)), Mode: 0o600, Format: tar.FormatPAX})
	if err != nil {
		return nil, err
	}
	if _, err := io.WriteString(w, text); err != nil {
		return nil, err
	}
	if err := w.Close(); err != nil {
		return nil, err
	}
	return out.Bytes(), nil
}

// isSeal reports whether the end of a file is a seal, for any checksum.
func isSeal(end []byte) bool {
	sum := make([]byte, crc32.Size)
	if len(end) != sealSize {
		return false
	}
	if _, err := hex.Decode(sum, end[512:512+2*crc32.Size]); err != nil {
		return false
	}
	want, err := newSeal(sum)
	return err == nil && bytes.Equal(end, want)
}

// sealedReader reads a file that ends with a seal and sums up what is before it.
type sealedReader struct {
	from io.Reader
	sum  hash.Hash32
	tail []byte // the last bytes that were read, which may be the seal
	err  error  // of the source, which says nothing about the content
}

func newSealedReader(from io.Reader) *sealedReader {
	return &sealedReader{from: from, sum: crc32.New(castagnoli)}
}

// Read implements io.Reader.
func (r *sealedReader) Read(p []byte) (int, error) {
	n, err := r.from.Read(p)
	r.note(p[:n])
	if err != nil && err != io.EOF {
		r.err = err
	}
	return n, err
}

// explain returns what an error of reading means: the source failed, or its content is wrong.
func (r *sealedReader) explain(err error) error {
	switch {
	case err == nil:
		return nil
	case r.err != nil:
		return r.err
	case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF):
		return ErrIncomplete
	case errors.Is(err, tar.ErrHeader), errors.Is(err, gzip.ErrHeader), errors.Is(err, gzip.ErrChecksum),
		errors.As(err, new(flate.CorruptInputError)):
		return fmt.Errorf("%w: %w", ErrChecksum, err)
	}
	return err
}

// note sums up what can no longer be part of the seal.
func (r *sealedReader) note(p []byte) {
	if len(p) >= sealSize {
		r.sum.Write(r.tail)
		r.sum.Write(p[:len(p)-sealSize])
		r.tail = append(r.tail[:0], p[len(p)-sealSize:]...)
		return
	}
	r.tail = append(r.tail, p...)
	if before := len(r.tail) - sealSize; before > 0 {
		r.sum.Write(r.tail[:before])
		r.tail = append(r.tail[:0], r.tail[before:]...)
	}
}

// check reads the rest of the file and compares the seal.
func (r *sealedReader) check() error {
	if _, err := io.Copy(io.Discard, r); err != nil {
		return err
	}
	want, err := newSeal(r.sum.Sum(nil))
	if err != nil || bytes.Equal(r.tail, want) {
		return err
	}
	if !isSeal(r.tail) {
		return fmt.Errorf("%w: its end is missing or changed", ErrIncomplete)
	}
	return fmt.Errorf("%w: its content differs from its checksum", ErrChecksum)
}
