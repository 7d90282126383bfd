package files

import (
	"context"
	"errors"
	"io"
	"io/fs"
	"strings"
	"time"

	"github.com/minio/minio-go/v7"
)

// Objects are the objects below a prefix of a bucket by their names, such as backups. Unlike document files,
// they can be large, and nobody waits for them.
type Objects struct{ bucket *Bucket }

const (
	// slowTransfer bounds sending one part of an object.
	slowTransfer = 15 * time.Minute
	// slowCleanup bounds removing the parts of a failed upload.
	slowCleanup = time.Minute
	// minObjectPart and maxParts bound the parts of an object: S3 takes 10,000.
	minObjectPart, maxParts = 16 << 20, 9_000
)

// Objects returns the objects below the prefix without sending a request.
func (s *S3) Objects() (*Objects, error) {
	limits := defaultLimits
	limits.transfer, limits.cleanup = slowTransfer, slowCleanup
	b, err := s.connect(limits)
	if err != nil {
		return nil, err
	}
	return &Objects{b}, nil
}

// Split returns the prefix without its last name, and the name.
func (s *S3) Split() (*S3, string) {
	parent := *s
	name := s.prefix
	parent.prefix = ""
	if i := strings.LastIndexByte(s.prefix, '/'); i >= 0 {
		parent.prefix, name = s.prefix[:i], s.prefix[i+1:]
	}
	return &parent, name
}

// Close closes idle connections.
func (o *Objects) Close() error { return o.bucket.Close() }

// Put stores an object of about the expected size. It appears when it is complete, and never replaces another
// one: then the error is fs.ErrExist. If reading from fails, nothing is left.
func (o *Objects) Put(ctx context.Context, name string, from io.Reader, expected int64) error {
	part := make([]byte, partOf(expected))
	n, last, err := readPart(from, part)
	if err != nil {
		return err
	}
	name = o.bucket.name(name)
	if last {
		err = o.bucket.putOrRemove(ctx, name, part[:n])
	} else {
		err = o.bucket.putParts(ctx, name, part, from)
	}
	if errors.Is(err, errExists) {
		return fs.ErrExist
	}
	return err
}

// partOf returns the size of the parts of an object, all of them equal. The object may become twice as large
// as expected.
func partOf(expected int64) int64 {
	const unit = 1 << 20
	return max(minObjectPart, (2*expected/maxParts/unit+1)*unit)
}

// Open opens an object. The error is fs.ErrNotExist if there is none. A read that fails is continued a few
// times.
func (o *Objects) Open(ctx context.Context, name string) (io.ReadSeekCloser, error) {
	asking, cancel := o.bucket.request(ctx)
	defer cancel()
	name = o.bucket.name(name)
	info, err := o.bucket.stat(asking, name)
	if err != nil {
		return nil, err
	}
	return &continued{object{bucket: o.bucket, ctx: ctx, name: name, tag: info.ETag, size: info.Size}}, nil
}

// continued is an object that is requested again from its position if a read fails.
type continued struct{ object }

// Read implements io.Reader.
func (c *continued) Read(p []byte) (n int, err error) {
	for wait := range settling {
		n, err = c.object.Read(p)
		var remote RemoteError
		if n > 0 && err != io.EOF { //nolint:errorlint // it is returned unwrapped
			err = nil // a failure comes back with the next read
		}
		if !errors.As(err, &remote) || remote.Setting || c.ctx.Err() != nil {
			return n, err
		}
		_ = c.Close() // it failed
		if stopped := sleep(c.ctx, wait); stopped != nil {
			return 0, stopped
		}
	}
	return n, err
}

// Names lists the names of the objects below the prefix that start with a text, without those in further
// prefixes.
func (o *Objects) Names(ctx context.Context, start string) (names []string, err error) {
	prefix := o.bucket.name("")
	for found := range o.bucket.core.ListObjectsIter(ctx, o.bucket.where.bucket,
		minio.ListObjectsOptions{Prefix: o.bucket.name(start)}) {
		if found.Err != nil {
			return nil, remoteError(found.Err)
		}
		if name := strings.TrimPrefix(found.Key, prefix); !strings.HasSuffix(name, "/") {
			names = append(names, name)
		}
	}
	return names, nil
}

// Remove removes an object. A missing one is not an error.
func (o *Objects) Remove(ctx context.Context, name string) error {
	ctx, cancel := o.bucket.request(ctx)
	defer cancel()
	err := o.bucket.core.RemoveObject(ctx, o.bucket.where.bucket, o.bucket.name(name), minio.RemoveObjectOptions{})
	return ignoreMissing(remoteError(err))
}

// RemoveStale removes what killed processes left of uploads that was accepts: those that got no part after a
// time. It returns their names.
func (o *Objects) RemoveStale(ctx context.Context, accepts func(name string) bool, before time.Time) (names []string, err error) {
	prefix := o.bucket.name("")
	uploads := o.bucket.core.ListIncompleteUploads(ctx, o.bucket.where.bucket, prefix, true)
	for found := range uploads {
		if found.Err != nil {
			return names, remoteError(found.Err)
		}
		name := strings.TrimPrefix(found.Key, prefix)
		if !accepts(name) || found.Initiated.After(before) {
			continue
		}
		stale, err := o.isStale(ctx, found, before)
		if err != nil {
			return names, err
		}
		if !stale {
			continue
		}
		removing, cancel := o.bucket.request(ctx)
		err = o.bucket.core.AbortMultipartUpload(removing, o.bucket.where.bucket, found.Key, found.UploadID)
		cancel()
		if err = ignoreMissing(remoteError(err)); err != nil {
			return names, err
		}
		names = append(names, name)
	}
	return names, nil
}

// isStale reports whether an upload got no part after a time.
func (o *Objects) isStale(ctx context.Context, upload minio.ObjectMultipartInfo, before time.Time) (bool, error) {
	for marker := 0; ; {
		asking, cancel := o.bucket.request(ctx)
		list, err := o.bucket.core.ListObjectParts(asking, o.bucket.where.bucket, upload.Key, upload.UploadID, marker, 1000)
		cancel()
		if err != nil {
			return false, ignoreMissing(remoteError(err)) // it has ended
		}
		for _, part := range list.ObjectParts {
			if part.LastModified.After(before) {
				return false, nil
			}
		}
		if !list.IsTruncated {
			return true, nil
		}
		marker = list.NextPartNumberMarker
	}
}
