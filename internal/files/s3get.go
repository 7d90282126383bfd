package files

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"hash"
	"io"
	"io/fs"
	"net/http"
	"time"

	"github.com/minio/minio-go/v7"
)

// Get opens the file of a key. It also looks in the trash, because a restored database
// can reference trashed files.
func (b *Bucket) Get(ctx context.Context, key, sum string) (io.ReadSeekCloser, error) {
	asking, cancel := b.request(ctx)
	defer cancel()
	err := fs.ErrNotExist
	// Complete again at the end: it may just have been moved back from the trash.
	for _, place := range []Place{Complete, Trash, Complete} {
		name, wrong := b.object(place, key)
		if wrong != nil {
			return nil, wrong
		}
		var info minio.ObjectInfo
		if info, err = b.stat(asking, name); err == nil {
			return &object{
				bucket: b, ctx: context.WithoutCancel(ctx), name: name, tag: info.ETag, size: info.Size, sum: sum,
			}, nil
		}
		if !errors.Is(err, fs.ErrNotExist) {
			break
		}
	}
	return nil, err
}

// object is an open file. It requests the content when it is read, from the position at
// that time.
type object struct {
	bucket    *Bucket
	ctx       context.Context //nolint:containedctx // io.Reader has no context
	name, tag string
	size      int64

	position int64
	body     io.ReadCloser // nil before the first read and after a seek
	// sum is the expected hash, and hashed the hash of what was read if that is everything
	// from the start to the position.
	sum    string
	hashed hash.Hash
}

// Seek implements io.Seeker.
func (o *object) Seek(offset int64, whence int) (int64, error) {
	switch whence {
	case io.SeekCurrent:
		offset += o.position
	case io.SeekEnd:
		offset += o.size
	}
	if offset < 0 {
		return o.position, errors.New("seek before the start of a file")
	}
	if offset == o.position {
		return offset, nil
	}
	o.position = offset
	return offset, o.Close()
}

// Read implements io.Reader. If the whole file was read and its hash is not the expected
// one, it fails instead of returning the last bytes.
func (o *object) Read(p []byte) (int, error) {
	if o.position >= o.size {
		return 0, io.EOF
	}
	if o.body == nil {
		if err := o.open(); err != nil {
			return 0, err
		}
	}
	n, err := o.body.Read(p)
	o.position += int64(n)
	if o.hashed != nil {
		o.hashed.Write(p[:n])
	}
	switch {
	case o.position < o.size && errors.Is(err, io.EOF):
		return n, RemoteError{Reason: fmt.Sprintf("S3 sent %d of %d bytes of a file", o.position, o.size)}
	case o.position == o.size && o.hashed != nil && hex.EncodeToString(o.hashed.Sum(nil)) != o.sum:
		return 0, errors.New("the file in S3 is damaged: its SHA-256 is not that of the upload")
	case err != nil && !errors.Is(err, io.EOF):
		return n, remoteError(err)
	}
	return n, nil
}

// open requests the content from the position to the end.
func (o *object) open() error {
	var opts minio.GetObjectOptions
	o.hashed = nil
	if o.position > 0 {
		if err := opts.SetRange(o.position, 0); err != nil {
			return err
		}
	} else if o.sum != "" {
		o.hashed = sha256.New()
	}
	if o.tag != "" {
		if err := opts.SetMatchETag(o.tag); err != nil {
			return err
		}
	}
	body, _, _, err := o.bucket.core.GetObject(o.ctx, o.bucket.where.bucket, o.name, opts)
	if err != nil {
		return remoteError(err)
	}
	o.body = body
	return nil
}

// Close ends the request.
func (o *object) Close() error {
	if o.body == nil {
		return nil
	}
	body := o.body
	o.body = nil
	return body.Close()
}

// stallGuard ends requests whose response makes no progress for a while. It does not
// count the time in which nobody reads, as when a slow client downloads.
type stallGuard struct {
	next  http.RoundTripper
	stall time.Duration
}

// RoundTrip implements http.RoundTripper.
func (g stallGuard) RoundTrip(r *http.Request) (*http.Response, error) {
	ctx, cancel := context.WithCancelCause(r.Context())
	answer, err := g.next.RoundTrip(r.WithContext(ctx))
	if err != nil {
		cancel(nil)
		return nil, err
	}
	answer.Body = &guardedBody{body: answer.Body, ctx: ctx, cancel: cancel, stall: g.stall}
	return answer, nil
}

type guardedBody struct {
	body   io.ReadCloser
	ctx    context.Context //nolint:containedctx // of the request, for its cause
	cancel context.CancelCauseFunc
	stall  time.Duration
}

func (b *guardedBody) Read(p []byte) (int, error) {
	timer := time.AfterFunc(b.stall, func() { b.cancel(errStalled) })
	n, err := b.body.Read(p)
	timer.Stop()
	if err != nil && errors.Is(context.Cause(b.ctx), errStalled) {
		err = errStalled
	}
	return n, err
}

func (b *guardedBody) Close() error {
	b.cancel(nil)
	return b.body.Close()
}
