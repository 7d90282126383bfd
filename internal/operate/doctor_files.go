package operate

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"

	"warranty.example/svc/internal/archive"
	"warranty.example/svc/internal/files"
	"warranty.example/svc/internal/store"
)

// checkFiles compares the files with the documents, both ways. Deep checks read them.
func (d *doctor) checkFiles(ctx context.Context, st *store.Store, where filesPlace) (string, error) {
	dir, err := openSourceFiles(ctx, st, where)
	if err != nil {
		return "", err
	}
	if dir == nil {
		return "none yet", nil
	}
	defer dir.Close()
	var count, bytes int64
	var missing, damaged []string
	err = st.EachFile(ctx, func(f store.StoredFile) error {
		count++
		bytes += f.Size
		d.bar.show("files", count)
		ok, err := d.checkFile(ctx, dir, f)
		if errors.Is(err, fs.ErrNotExist) {
			missing = append(missing, f.Key)
			return nil
		}
		if !ok && err == nil {
			damaged = append(damaged, f.Key)
		}
		return err
	})
	if err != nil {
		return "", err
	}
	orphans, err := countOrphans(ctx, st, dir)
	if err != nil {
		return "", err
	}
	if len(missing)+len(damaged) > 0 {
		return "", fmt.Errorf("%d of %d documents have no file (%s), and the files of %d differ from their checksum (%s); "+
			"restore them from a backup", len(missing), count, some(missing), len(damaged), some(damaged))
	}
	text := fmt.Sprintf("%d files (%s)", count, size(bytes))
	if d.deep {
		text += ", all checksums right"
	}
	if orphans > 0 {
		text += fmt.Sprintf("; %d belong to no document and are moved to the trash after a day", orphans)
	}
	return text, nil
}

// checkFile reports whether a file is as its document says. Without deep, it compares the size.
func (d *doctor) checkFile(ctx context.Context, from archive.Source, f store.StoredFile) (ok bool, err error) {
	content, err := from.Get(ctx, f.Key, "")
	if err != nil {
		return false, err
	}
	defer func() { err = errors.Join(err, content.Close()) }()
	if !d.deep {
		length, err := content.Seek(0, io.SeekEnd)
		return length == f.Size, err
	}
	hash := sha256.New()
	length, err := io.Copy(hash, content)
	return length == f.Size && hex.EncodeToString(hash.Sum(nil)) == f.SHA256, err
}

// countOrphans counts the files that no document uses and that were not deleted on purpose.
func countOrphans(ctx context.Context, st *store.Store, dir files.Store) (n int64, err error) {
	err = dir.Keys(ctx, files.Complete, store.FileBatch, func(keys []string) error {
		used, unused, err := st.UsedFiles(ctx, keys)
		for _, key := range keys {
			if !used[key] && unused[key].State != store.FileDeleted {
				n++
			}
		}
		return err
	})
	return n, err
}
