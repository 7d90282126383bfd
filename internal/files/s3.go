package files

import (
	"bytes"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"net/http"
	"strings"
	"sync"
	"time"

	"github.com/minio/minio-go/v7"
)

// Bucket stores files in S3, below a prefix of a bucket. Replicas share it.
type Bucket struct {
	core      minio.Core
	where     *S3
	transport *http.Transport
	limits    s3Limits

	// slots has one element per upload that may hold a buffer of a whole part.
	slots chan struct{}
	parts sync.Pool // of *[]byte

	mu sync.Mutex
	// last is the id as it was last read.
	last storedID
}

// s3Limits bounds what requests take.
type s3Limits struct {
	request  time.Duration // a request without a file, with its retries
	transfer time.Duration // sending one part, with its retries
	stall    time.Duration // waiting for the next bytes
	cleanup  time.Duration // removing what a failed upload left
	wait     time.Duration // waiting for a slot
	slots    int           // uploads larger than smallBuffer at the same time
}

var defaultLimits = s3Limits{
	request:  15 * time.Second,
	transfer: time.Minute,
	stall:    30 * time.Second,
	cleanup:  5 * time.Second,
	wait:     time.Minute,
	slots:    16,
}

const (
	dialTimeout = 5 * time.Second
	idleTime    = 90 * time.Second
	idleConns   = 64
	attempts    = 3
)

// Connect returns the bucket without sending a request; see Probe.
func (s *S3) Connect() (*Bucket, error) { return s.connect(defaultLimits) }

func (s *S3) connect(limits s3Limits) (*Bucket, error) {
	keys, err := s.credentials()
	if err != nil {
		return nil, err
	}
	b := &Bucket{where: s, limits: limits, slots: make(chan struct{}, limits.slots)}
	b.parts.New = func() any { buffer := make([]byte, partSize); return &buffer }
	b.transport = &http.Transport{
		Proxy:                 http.ProxyFromEnvironment,
		DialContext:           (&net.Dialer{Timeout: dialTimeout}).DialContext,
		TLSHandshakeTimeout:   dialTimeout,
		ResponseHeaderTimeout: limits.stall,
		IdleConnTimeout:       idleTime,
		MaxIdleConnsPerHost:   idleConns,
		DisableCompression:    true,
	}
	core, err := minio.NewCore(s.host, &minio.Options{
		Creds:        keys,
		Secure:       s.secure,
		Transport:    stallGuard{b.transport, limits.stall},
		Region:       s.regionOr(),
		BucketLookup: s.lookup,
		MaxRetries:   attempts,
	})
	if err != nil {
		return nil, RemoteError{Reason: err.Error(), Setting: true}
	}
	b.core = *core
	return b, nil
}

// Probe fails if the keys, the bucket or the rights to list and write it are wrong.
func (b *Bucket) Probe(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, b.limits.request)
	defer cancel()
	// A list, because the answer to it says what is wrong.
	for found := range b.core.ListObjectsIter(ctx, b.where.bucket,
		minio.ListObjectsOptions{Prefix: b.name(idFile), MaxKeys: 1}) {
		if found.Err != nil {
			return remoteError(found.Err)
		}
		break
	}
	name := b.name(string(Arriving), "probe-"+rand.Text())
	if err := b.putWhole(ctx, name, nil); err != nil {
		return err
	}
	return remoteError(b.core.RemoveObject(ctx, b.where.bucket, name, minio.RemoveObjectOptions{}))
}

// Close closes idle connections.
func (b *Bucket) Close() error {
	b.transport.CloseIdleConnections()
	return nil
}

// Path returns the bucket and prefix.
func (b *Bucket) Path() string { return b.where.String() }

// name returns the name of an object below the prefix.
func (b *Bucket) name(parts ...string) string {
	if b.where.prefix != "" {
		parts = append([]string{b.where.prefix}, parts...)
	}
	return strings.Join(parts, "/")
}

// object returns the name of a file. Only generated keys are accepted, because others
// could lead elsewhere on some servers.
func (b *Bucket) object(place Place, key string) (string, error) {
	if !IsKey(key) {
		return "", errors.New("not the key of a file")
	}
	return b.name(string(place), key), nil
}

// request bounds a request without a file.
func (b *Bucket) request(ctx context.Context) (context.Context, context.CancelFunc) {
	return context.WithTimeout(ctx, b.limits.request)
}

// Delete removes the file of a key, including from the trash. A missing file is not an
// error.
func (b *Bucket) Delete(ctx context.Context, key string) error {
	if err := b.Remove(ctx, Complete, key); err != nil {
		return err
	}
	return b.Remove(ctx, Trash, key)
}

// Remove removes a file from a place. From Arriving it removes the parts of an upload that
// was not completed. A missing file is not an error.
func (b *Bucket) Remove(ctx context.Context, place Place, key string) error {
	ctx, cancel := b.request(ctx)
	defer cancel()
	if place == Arriving {
		name, err := b.object(Complete, key)
		if err != nil {
			return err
		}
		return ignoreMissing(remoteError(b.core.RemoveIncompleteUpload(ctx, b.where.bucket, name)))
	}
	name, err := b.object(place, key)
	if err != nil {
		return err
	}
	return ignoreMissing(remoteError(b.core.RemoveObject(ctx, b.where.bucket, name, minio.RemoveObjectOptions{})))
}

// Move copies a file on the server and removes the original once the copy is complete,
// unless it is in the trash: of two moves in opposite directions, each could remove what
// the other has copied. A missing file is not an error.
func (b *Bucket) Move(ctx context.Context, key string, from, to Place) error {
	source, err := b.object(from, key)
	if err != nil {
		return err
	}
	target := b.name(string(to), key)
	ctx, cancel := context.WithTimeout(ctx, b.limits.transfer)
	defer cancel()
	original, err := b.stat(ctx, source)
	if err != nil {
		return ignoreMissing(err)
	}
	_, err = b.core.Client.CopyObject(ctx,
		minio.CopyDestOptions{Bucket: b.where.bucket, Object: target},
		minio.CopySrcOptions{Bucket: b.where.bucket, Object: source})
	if err != nil {
		return ignoreMissing(remoteError(err))
	}
	copied, err := b.stat(ctx, target)
	if err != nil {
		return err
	}
	if copied.Size != original.Size {
		return RemoteError{Reason: fmt.Sprintf("S3 copied %d of %d bytes of a file", copied.Size, original.Size)}
	}
	if from == Trash {
		return nil
	}
	return b.Remove(ctx, from, key)
}

func (b *Bucket) stat(ctx context.Context, name string) (minio.ObjectInfo, error) {
	info, err := b.core.StatObject(ctx, b.where.bucket, name, minio.StatObjectOptions{Checksum: true})
	return info, remoteError(err)
}

// Has reports whether a place has the file of a key.
func (b *Bucket) Has(ctx context.Context, place Place, key string) (bool, error) {
	ctx, cancel := b.request(ctx)
	defer cancel()
	if place == Arriving {
		name, err := b.object(Complete, key)
		if err != nil {
			return false, err
		}
		list, err := b.core.ListMultipartUploads(ctx, b.where.bucket, name, "", "", "", 1)
		return len(list.Uploads) > 0, remoteError(err)
	}
	name, err := b.object(place, key)
	if err != nil {
		return false, err
	}
	_, err = b.stat(ctx, name)
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	return err == nil, err
}

// Keys calls each with the keys of the files in a place, in batches of at most count.
// Arriving are the uploads that were not completed. It skips objects that are not named
// like a key.
func (b *Bucket) Keys(ctx context.Context, place Place, count int, each func(keys []string) error) error {
	if place == Arriving {
		return b.arriving(ctx, count, each)
	}
	prefix := b.name(string(place)) + "/"
	keys := make([]string, 0, count)
	for found := range b.core.ListObjectsIter(ctx, b.where.bucket, minio.ListObjectsOptions{Prefix: prefix, MaxKeys: count}) {
		if found.Err != nil {
			return remoteError(found.Err)
		}
		if key := strings.TrimPrefix(found.Key, prefix); IsKey(key) {
			keys = append(keys, key)
		}
		if len(keys) == count {
			if err := each(keys); err != nil {
				return err
			}
			keys = keys[:0:0]
		}
	}
	if len(keys) == 0 {
		return nil
	}
	return each(keys)
}

// arriving is Keys for uploads that were not completed.
func (b *Bucket) arriving(ctx context.Context, count int, each func(keys []string) error) error {
	prefix := b.name(string(Complete)) + "/"
	var marker, id string
	for {
		page, cancel := b.request(ctx)
		list, err := b.core.ListMultipartUploads(page, b.where.bucket, prefix, marker, id, "", count)
		cancel()
		if err != nil {
			return remoteError(err)
		}
		var keys []string
		for _, upload := range list.Uploads {
			if key := strings.TrimPrefix(upload.Key, prefix); IsKey(key) {
				keys = append(keys, key)
			}
		}
		if len(keys) > 0 {
			if err := each(keys); err != nil {
				return err
			}
		}
		if !list.IsTruncated {
			return nil
		}
		marker, id = list.NextKeyMarker, list.NextUploadIDMarker
	}
}

// ID reads the bucket's id. Without one the error is fs.ErrNotExist.
func (b *Bucket) ID(ctx context.Context) (ID, error) {
	ctx, cancel := b.request(ctx)
	defer cancel()
	body, info, _, err := b.core.GetObject(ctx, b.where.bucket, b.name(idFile), minio.GetObjectOptions{})
	if err = remoteError(err); err != nil {
		if errors.Is(err, fs.ErrNotExist) {
			b.setLast(storedID{})
		}
		return ID{}, err
	}
	defer body.Close()
	text, err := io.ReadAll(io.LimitReader(body, maxID))
	if err != nil {
		return ID{}, remoteError(err)
	}
	b.setLast(storedID{string(text), info.ETag})
	return parseID(string(text))
}

// storedID is the object that holds the bucket's id, empty if there is none.
type storedID struct{ text, etag string }

func (b *Bucket) setLast(id storedID) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.last = id
}

func (b *Bucket) lastID() storedID {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.last
}

// SetID writes the bucket's id, unless it changed since it was last read: of databases
// that start on one bucket at the same time, one gets it.
func (b *Bucket) SetID(ctx context.Context, id ID) error {
	before := b.lastID()
	for wait := range settling {
		err := b.putID(ctx, []byte(id.format()), before)
		// The id is read again in any case: the answer to an earlier attempt may have been lost.
		got, reading := b.ID(ctx)
		if reading == nil && got == id {
			return nil
		}
		if err != nil && !errors.Is(err, errExists) {
			return err
		}
		if reading == nil && b.lastID().text != before.text {
			return errors.New("another svcd is taking over the bucket at the same time; start again")
		}
		// It cannot be read, or it is as before: the server is busy with an earlier attempt.
		if err := sleep(ctx, wait); err != nil {
			return err
		}
	}
	return RemoteError{Reason: "S3 does not keep the id of the bucket"}
}

// putID writes the id if the object is still the one from before.
func (b *Bucket) putID(ctx context.Context, text []byte, before storedID) error {
	ctx, cancel := b.request(ctx)
	defer cancel()
	opts := putOptions(text)
	if before.etag == "" {
		opts.SetMatchETagExcept("*")
	} else {
		opts.SetMatchETag(before.etag)
	}
	_, err := b.core.PutObject(ctx, b.where.bucket, b.name(idFile), bytes.NewReader(text), int64(len(text)), "",
		hexSum(text), opts)
	return remoteError(err)
}
