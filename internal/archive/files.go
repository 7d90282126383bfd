package archive

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
)

// putFile stores a file of a known size.
type putFile func(key string, size int64, content io.Reader) error

// copyFiles copies the files of documents and fills in the manifest. exists reports whether a document
// still has a file: one that was deleted meanwhile may have lost it.
func copyFiles(
	ctx context.Context, list []document, from Source, put putFile,
	exists func(key string) (bool, error), m *Manifest, progress Progress,
) error {
	m.Missing, m.Deleted, m.Damaged = []string{}, []string{}, map[string]string{}
	for _, doc := range list {
		if err := ctx.Err(); err != nil {
			return err
		}
		sum, size, err := copyFile(ctx, doc, from, put)
		if errors.Is(err, fs.ErrNotExist) {
			still, err := exists(doc.key)
			if err != nil {
				return err
			}
			if still {
				m.Missing = append(m.Missing, doc.key)
			} else {
				m.Deleted = append(m.Deleted, doc.key)
			}
			continue
		}
		if err != nil {
			return fmt.Errorf("copy the file %s: %w", doc.key, err)
		}
		if sum != doc.sha256() || size != doc.size {
			m.Damaged[doc.key] = sum
		}
		m.Files++
		m.FileBytes += size
		progress("files", m.Files)
	}
	return nil
}

// copyFile copies one file and returns its checksum and size.
func copyFile(ctx context.Context, doc document, from Source, put putFile) (sum string, size int64, err error) {
	// Without the expected checksum: a damaged file is copied too.
	content, err := from.Get(ctx, doc.key, "")
	if err != nil {
		return "", 0, err
	}
	defer func() { err = errors.Join(err, content.Close()) }()
	if size, err = content.Seek(0, io.SeekEnd); err != nil {
		return "", 0, err
	}
	if _, err = content.Seek(0, io.SeekStart); err != nil {
		return "", 0, err
	}
	hash := sha256.New()
	err = put(doc.key, size, io.TeeReader(content, hash))
	return hex.EncodeToString(hash.Sum(nil)), size, err
}
