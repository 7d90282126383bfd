package files

import (
	"bytes"
	"context"
	"errors"
	"io"
	"io/fs"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"testing/iotest"
	"time"

	"warranty.example/svc/internal/testenv"
)

// newObjects returns an empty prefix of the S3 server.
func newObjects(t *testing.T) *Objects {
	t.Helper()
	where, err := ParseS3(testenv.S3(t))
	if err != nil {
		t.Fatal(err)
	}
	o, err := where.Objects()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = o.Close() })
	return o
}

// uploads lists the uploads that were not completed.
func (o *Objects) uploads(t *testing.T) (names []string) {
	t.Helper()
	for found := range o.bucket.core.ListIncompleteUploads(t.Context(), o.bucket.where.bucket, o.bucket.name(""), true) {
		if found.Err != nil {
			t.Fatal(found.Err)
		}
		names = append(names, strings.TrimPrefix(found.Key, o.bucket.name("")))
	}
	return names
}

// TestObjectsAppearWhole stores objects of one and of several parts, and none if their source fails.
func TestObjectsAppearWhole(t *testing.T) {
	t.Parallel()
	o, ctx := newObjects(t), t.Context()
	random := rand.NewChaCha8([32]byte{1})
	for name, size := range map[string]int{"empty": 0, "small": 1000, "one part": minObjectPart, "parts": 2*minObjectPart + 5} {
		name = strings.ReplaceAll(name, " ", "-")
		content := make([]byte, size)
		_, _ = random.Read(content) // never fails
		if err := o.Put(ctx, name, bytes.NewReader(content), int64(size)); err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		file, err := o.Open(ctx, name)
		if err != nil {
			t.Fatal(err)
		}
		if got, err := io.ReadAll(file); err != nil || !bytes.Equal(got, content) {
			t.Errorf("%s: %d bytes, %v", name, len(got), err)
		}
		if end, err := file.Seek(-min(5, int64(size)), io.SeekEnd); err != nil || end != max(0, int64(size)-5) {
			t.Errorf("%s: seeks to %d, %v", name, end, err)
		}
		if got, err := io.ReadAll(file); err != nil || !bytes.Equal(got, content[max(0, size-5):]) {
			t.Errorf("%s: the end is %q, %v", name, got, err)
		}
		if err := file.Close(); err != nil {
			t.Error(err)
		}
		if err := o.Put(ctx, name, strings.NewReader("other"), 0); !errors.Is(err, fs.ErrExist) {
			t.Errorf("%s was replaced: %v", name, err)
		}
		broken := errors.New("broken")
		from := io.MultiReader(bytes.NewReader(content), iotest.ErrReader(broken))
		if err := o.Put(ctx, "broken-"+name, from, 0); !errors.Is(err, broken) {
			t.Errorf("%s: %v", name, err)
		}
	}
	names, err := o.Names(ctx, "")
	slices.Sort(names)
	if want := []string{"empty", "one-part", "parts", "small"}; err != nil || !slices.Equal(names, want) {
		t.Errorf("%v, %v", names, err)
	}
	if left := o.uploads(t); len(left) > 0 {
		t.Errorf("failed uploads left %v", left)
	}
	if _, err := o.Open(ctx, "missing"); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("a missing object: %v", err)
	}
	for range 2 {
		if err := o.Remove(ctx, "small"); err != nil {
			t.Error(err)
		}
	}
}

// TestOnlyStaleUploadsAreRemoved: one that got a part lately stays, and so do others.
func TestOnlyStaleUploadsAreRemoved(t *testing.T) {
	t.Parallel()
	o, ctx := newObjects(t), t.Context()
	for _, name := range []string{"ours-1", "ours-2", "other"} {
		id, err := o.bucket.startUpload(ctx, o.bucket.name(name))
		if err != nil {
			t.Fatal(err)
		}
		if name == "ours-1" {
			continue // no part yet
		}
		if _, err := o.bucket.putPart(ctx, o.bucket.name(name), id, 1, make([]byte, partSize)); err != nil {
			t.Fatal(err)
		}
	}
	ours := func(name string) bool { return strings.HasPrefix(name, "ours") }
	if removed, err := o.RemoveStale(ctx, ours, time.Now().Add(-time.Hour)); err != nil || len(removed) > 0 {
		t.Errorf("removed %v, %v", removed, err)
	}
	removed, err := o.RemoveStale(ctx, ours, time.Now().Add(time.Hour))
	if slices.Sort(removed); err != nil || !slices.Equal(removed, []string{"ours-1", "ours-2"}) {
		t.Errorf("removed %v, %v", removed, err)
	}
	if left := o.uploads(t); !slices.Equal(left, []string{"other"}) {
		t.Errorf("left %v", left)
	}
}

// TestReadsOfObjectsAreContinued: an answer that is cut off is requested again from where it ended.
func TestReadsOfObjectsAreContinued(t *testing.T) {
	t.Parallel()
	o, ctx := newObjects(t), t.Context()
	content := bytes.Repeat([]byte("0123456789"), 100_000)
	if err := o.Put(ctx, "x", bytes.NewReader(content), 0); err != nil {
		t.Fatal(err)
	}
	opened, err := o.Open(ctx, "x")
	if err != nil {
		t.Fatal(err)
	}
	file := opened.(*continued)
	var got bytes.Buffer
	for i := 0; ; i++ {
		part := make([]byte, 70_000)
		n, err := file.Read(part)
		got.Write(part[:n])
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		if i%3 == 0 && file.body != nil {
			file.body = io.NopCloser(iotest.ErrReader(errors.New("connection reset")))
		}
	}
	if !bytes.Equal(got.Bytes(), content) {
		t.Errorf("read %d of %d bytes, or others", got.Len(), len(content))
	}
	stopped, cancel := context.WithCancel(ctx)
	cancel()
	file = &continued{object{bucket: o.bucket, ctx: stopped, name: file.name, size: file.size}}
	if _, err := file.Read(make([]byte, 10)); err == nil {
		t.Error("read after the end of the context")
	}
}

// TestPartsOfLargeObjects: S3 takes 10,000 equal parts.
func TestPartsOfLargeObjects(t *testing.T) {
	t.Parallel()
	for _, size := range []int64{0, 1, 100 << 30, 5 << 40} {
		part := partOf(size)
		if 2*size/part > 10_000 || part < minObjectPart || part > 5<<30 || part%(1<<20) != 0 {
			t.Errorf("parts of %d bytes for %d", part, size)
		}
	}
}
