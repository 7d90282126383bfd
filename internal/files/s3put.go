package files

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"io"
	"io/fs"
	"net/http"
	"strconv"
	"time"

	"github.com/minio/minio-go/v7"
)

const (
	// partSize is the smallest size of a part that S3 allows.
	partSize = 5 << 20
	// smallBuffer is what an upload may hold without a slot.
	smallBuffer = 256 << 10

	checksumHeader    = "X-Amz-Checksum-Sha256"
	checksumAlgorithm = "X-Amz-Checksum-Algorithm"
)

// errBusy rejects an upload if too many others hold their buffers.
var errBusy = RemoteError{Reason: "too many uploads to S3 at the same time"}

// Put stores a file under a key. Files up to the size of a part are one request, larger
// ones a multipart upload, one part at a time. S3 verifies the SHA-256 of every request.
func (b *Bucket) Put(ctx context.Context, key string, from io.Reader) error {
	name, err := b.object(Complete, key)
	if err != nil {
		return err
	}
	small := make([]byte, smallBuffer)
	n, last, err := readPart(from, small)
	if err != nil {
		return err
	}
	if last {
		return b.putOrRemove(ctx, name, small[:n])
	}
	if err := b.acquire(ctx); err != nil {
		return err
	}
	defer func() { <-b.slots }()
	buffer := b.parts.Get().(*[]byte)
	defer b.parts.Put(buffer)
	part := *buffer
	copy(part, small)
	more, last, err := readPart(from, part[n:])
	switch {
	case err != nil:
		return err
	case last:
		return b.putOrRemove(ctx, name, part[:n+more])
	}
	return b.putParts(ctx, name, part, from)
}

// readPart fills the buffer, unless the file ends before. It is not io.ReadFull, which
// cannot tell the end of the file from a reader's own io.ErrUnexpectedEOF.
func readPart(from io.Reader, buffer []byte) (n int, last bool, err error) {
	for n < len(buffer) {
		more, err := from.Read(buffer[n:])
		n += more
		if err == io.EOF {
			return n, true, nil
		}
		if err != nil {
			return n, false, err
		}
	}
	return n, false, nil
}

// acquire waits for a slot.
func (b *Bucket) acquire(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, b.limits.wait)
	defer cancel()
	select {
	case b.slots <- struct{}{}:
		return nil
	case <-ctx.Done():
		return errBusy
	}
}

// putOptions carries the checksum that S3 verifies and keeps.
func putOptions(content []byte) minio.PutObjectOptions {
	return minio.PutObjectOptions{
		UserMetadata: map[string]string{checksumHeader: base64Sum(content)},
		// The hash of the whole content is signed instead of hashes of chunks.
		DisableContentSha256: true,
	}
}

func hexSum(content []byte) string {
	sum := sha256.Sum256(content)
	return hex.EncodeToString(sum[:])
}

func base64Sum(content []byte) string {
	sum := sha256.Sum256(content)
	return base64.StdEncoding.EncodeToString(sum[:])
}

// putOrRemove is putWhole that removes the file if it may exist in spite of an error.
func (b *Bucket) putOrRemove(ctx context.Context, name string, content []byte) error {
	sending, cancel := context.WithTimeout(ctx, b.limits.transfer)
	defer cancel()
	err := b.putWhole(sending, name, content)
	if err != nil {
		b.cleanUp(ctx, name, "", err)
	}
	return err
}

// putWhole stores a file with one request. It never replaces a file.
func (b *Bucket) putWhole(ctx context.Context, name string, content []byte) error {
	opts := putOptions(content)
	opts.SetMatchETagExcept("*")
	_, err := b.core.PutObject(ctx, b.where.bucket, name, bytes.NewReader(content), int64(len(content)), "",
		hexSum(content), opts)
	if err = remoteError(err); errors.Is(err, errExists) && b.isStored(ctx, name, base64Sum(content), int64(len(content))) {
		return nil
	}
	return err
}

// isStored reports whether an object is the one that was sent: if the answer to a request
// is lost, its repetition finds the object of the first, which may still be in progress.
func (b *Bucket) isStored(ctx context.Context, name, checksum string, size int64) bool {
	for wait := range settling {
		info, err := b.stat(ctx, name)
		if err == nil {
			return info.Size == size && info.ChecksumSHA256 == checksum
		}
		if !errors.Is(err, fs.ErrNotExist) || sleep(ctx, wait) != nil {
			return false
		}
	}
	return false
}

// settling yields the pauses in which a server may end a request that it was sent before, about 5 s in all.
func settling(yield func(time.Duration) bool) {
	for wait := 10 * time.Millisecond; wait < 3*time.Second && yield(wait); wait *= 2 {
	}
}

func sleep(ctx context.Context, d time.Duration) error {
	select {
	case <-time.After(d):
		return nil
	case <-ctx.Done():
		return remoteError(ctx.Err())
	}
}

// putParts stores a file part by part. part is full and used as the buffer of all parts.
func (b *Bucket) putParts(ctx context.Context, name string, part []byte, from io.Reader) (err error) {
	id, err := b.startUpload(ctx, name)
	if err != nil {
		return err
	}
	defer func() {
		if err != nil {
			b.cleanUp(ctx, name, id, err)
		}
	}()
	var parts []minio.CompletePart
	sums, size, last := sha256.New(), int64(0), false
	for {
		sent, err := b.putPart(ctx, name, id, len(parts)+1, part)
		if err != nil {
			return err
		}
		parts = append(parts, sent)
		sum := sha256.Sum256(part)
		sums.Write(sum[:])
		size += int64(len(part))
		if last {
			break
		}
		var n int
		if n, last, err = readPart(from, part); err != nil {
			return err
		}
		if part = part[:n]; n == 0 {
			break
		}
	}
	// S3 gives a file in parts the hash of the hashes of its parts.
	whole := base64.StdEncoding.EncodeToString(sums.Sum(nil)) + "-" + strconv.Itoa(len(parts))
	return b.completeUpload(ctx, name, id, parts, whole, size)
}

func (b *Bucket) startUpload(ctx context.Context, name string) (id string, err error) {
	ctx, cancel := b.request(ctx)
	defer cancel()
	id, err = b.core.NewMultipartUpload(ctx, b.where.bucket, name,
		minio.PutObjectOptions{UserMetadata: map[string]string{checksumAlgorithm: "SHA256"}})
	return id, remoteError(err)
}

func (b *Bucket) putPart(ctx context.Context, name, id string, number int, part []byte) (minio.CompletePart, error) {
	ctx, cancel := context.WithTimeout(ctx, b.limits.transfer)
	defer cancel()
	sum := base64Sum(part)
	sent, err := b.core.PutObjectPart(ctx, b.where.bucket, name, id, number, bytes.NewReader(part), int64(len(part)),
		minio.PutObjectPartOptions{
			Sha256Hex:            hexSum(part),
			CustomHeader:         http.Header{checksumHeader: {sum}},
			DisableContentSha256: true,
		})
	return minio.CompletePart{PartNumber: number, ETag: sent.ETag, ChecksumSHA256: sum}, remoteError(err)
}

func (b *Bucket) completeUpload(
	ctx context.Context, name, id string, parts []minio.CompletePart, whole string, size int64,
) error {
	ctx, cancel := context.WithTimeout(ctx, b.limits.transfer)
	defer cancel()
	var opts minio.PutObjectOptions
	opts.SetMatchETagExcept("*")
	_, err := b.core.CompleteMultipartUpload(ctx, b.where.bucket, name, id, parts, opts)
	if err != nil && b.isStored(ctx, name, whole, size) {
		return nil
	}
	return remoteError(err)
}

// cleanUp removes what a failed upload may have left: its parts and, if the answer was
// lost, the file, but not one that was there before. What it cannot remove, the sweep finds
// later.
func (b *Bucket) cleanUp(ctx context.Context, name, upload string, failure error) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), b.limits.cleanup)
	defer cancel()
	if upload != "" {
		_ = b.core.AbortMultipartUpload(ctx, b.where.bucket, name, upload) // see above
	}
	if !errors.Is(failure, errExists) {
		_ = b.core.RemoveObject(ctx, b.where.bucket, name, minio.RemoveObjectOptions{}) // see above
	}
}
