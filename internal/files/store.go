package files

import (
	"context"
	"io"
)

// Store keeps document files: a folder ([Dir]) or a bucket ([Bucket]).
type Store interface {
	// Put stores a file under a key. If it returns nil, the file is complete and durable;
	// otherwise it does not exist, or is an orphan that the sweep finds.
	Put(ctx context.Context, key string, from io.Reader) error
	// Get opens the file of a key, also from the trash. sum is the expected SHA-256 in
	// hexadecimal, or empty. The error is fs.ErrNotExist if there is no such file. ctx
	// bounds the opening, not the reading.
	Get(ctx context.Context, key, sum string) (io.ReadSeekCloser, error)
	// Delete removes the file of a key, including from the trash. A missing file is not
	// an error.
	Delete(ctx context.Context, key string) error
	// Remove removes a file from a place. A missing file is not an error.
	Remove(ctx context.Context, place Place, key string) error
	// Move durably moves a file between places. A missing file is not an error. A file
	// that is moved out of the trash may stay there too. Whatever moves run at the same
	// time, the file is in at least one of the places.
	Move(ctx context.Context, key string, from, to Place) error
	// Has reports whether a place has the file of a key.
	Has(ctx context.Context, place Place, key string) (bool, error)
	// Keys calls each with the keys of the files in a place, in batches of at most count,
	// in no particular order.
	Keys(ctx context.Context, place Place, count int, each func(keys []string) error) error
	// ID reads the store's id. Without one the error is fs.ErrNotExist.
	ID(ctx context.Context) (ID, error)
	// SetID durably writes the store's id.
	SetID(ctx context.Context, id ID) error
	// Path returns where the files are, for the log.
	Path() string
	// Close releases the store.
	Close() error
}

// Place is a part of a Store.
type Place string

// Uploads are Arriving until they are Complete. Orphaned files stay in Trash before they
// are removed.
const (
	Arriving Place = "arriving"
	Complete Place = "complete"
	Trash    Place = "trash"
)
