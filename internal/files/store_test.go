package files

import (
	"bytes"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"slices"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/minio/minio-go/v7"

	"warranty.example/svc/internal/testenv"
	"warranty.example/svc/warranty"
)

// each runs a test on a folder and on a bucket in parallel. names lists the files, with their places.
func each(t *testing.T, test func(t *testing.T, s Store, names func() []string)) {
	t.Helper()
	t.Parallel()
	t.Run("folder", func(t *testing.T) {
		t.Parallel()
		d, path := open(t)
		test(t, d, func() []string { return names(t, path) })
	})
	t.Run("S3", func(t *testing.T) {
		t.Parallel()
		b := bucket(t, testenv.S3(t), defaultLimits)
		test(t, b, func() []string { return objects(t, b) })
	})
}

// bucket opens a bucket.
func bucket(t *testing.T, raw string, limits s3Limits) *Bucket {
	t.Helper()
	where, err := ParseS3(raw)
	if err != nil {
		t.Fatal(err)
	}
	b, err := where.connect(limits)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = b.Close() })
	if err := b.Probe(t.Context()); err != nil {
		t.Fatal(err)
	}
	return b
}

// objects lists the objects below the prefix, and unfinished uploads as arriving.
func objects(t *testing.T, b *Bucket) []string {
	t.Helper()
	list := []string{}
	if err := b.Keys(t.Context(), Arriving, 100, func(keys []string) error {
		for _, key := range keys {
			list = append(list, "arriving/"+key)
		}
		return nil
	}); err != nil {
		t.Fatal(err)
	}
	prefix := b.name("")
	for found := range b.core.ListObjectsIter(t.Context(), b.where.bucket,
		minio.ListObjectsOptions{Prefix: prefix, Recursive: true}) {
		if found.Err != nil {
			t.Fatal(found.Err)
		}
		list = append(list, strings.TrimPrefix(found.Key, prefix))
	}
	return list
}

func expect(t *testing.T, names func() []string, want ...string) {
	t.Helper()
	got := names()
	slices.Sort(got)
	slices.Sort(want)
	if !slices.Equal(got, want) {
		t.Errorf("the store has %q, want %q", got, want)
	}
}

// sizes are the sizes of files around the boundaries of buffers and parts.
var sizes = []int{0, 1, smallBuffer - 1, smallBuffer, smallBuffer + 1, partSize - 1, partSize, partSize + 1, 2 * partSize,
	warranty.MaxFileSize}

func content(size int) []byte {
	b := make([]byte, size)
	_, _ = rand.Read(b) // it never fails
	return b
}

func TestFilesAreKeptAndRemoved(t *testing.T) {
	each(t, func(t *testing.T, s Store, names func() []string) {
		for _, size := range sizes {
			key, want := newKey(t), content(size)
			if err := s.Put(t.Context(), key, bytes.NewReader(want)); err != nil {
				t.Fatalf("%d bytes: %v", size, err)
			}
			expect(t, names, "complete/"+key)
			file, err := s.Get(t.Context(), key, hexSum(want))
			if err != nil {
				t.Fatal(err)
			}
			if got, err := io.ReadAll(file); err != nil || !bytes.Equal(got, want) {
				t.Errorf("read %d bytes of %d, %v", len(got), size, err)
			}
			for _, from := range []int64{0, int64(size) / 2, int64(size) - 1} { // as for ranges
				if _, err := file.Seek(max(from, 0), io.SeekStart); err != nil {
					t.Fatal(err)
				}
				if got, err := io.ReadAll(file); err != nil || !bytes.Equal(got, want[max(from, 0):]) {
					t.Errorf("from %d: read %d bytes of %d, %v", from, len(got), size, err)
				}
			}
			if end, err := file.Seek(0, io.SeekEnd); err != nil || end != int64(size) {
				t.Errorf("the end is at %d of %d, %v", end, size, err)
			}
			if err := file.Close(); err != nil {
				t.Error(err)
			}
			for range 2 { // deleting a missing file is not an error
				if err := s.Delete(t.Context(), key); err != nil {
					t.Error(err)
				}
			}
			if _, err := s.Get(t.Context(), key, ""); !errors.Is(err, fs.ErrNotExist) {
				t.Errorf("a removed file: %v", err)
			}
			expect(t, names)
		}
	})
}

// TestPutLeavesNothingBehind interrupts files at the start, in the middle, and after a
// part was sent. io.ErrUnexpectedEOF is what a broken upload gives: it is not the end.
func TestPutLeavesNothingBehind(t *testing.T) {
	each(t, func(t *testing.T, s Store, names func() []string) {
		for _, broken := range []error{errors.New("the line broke"), io.ErrUnexpectedEOF} {
			for _, before := range []int{0, 1, smallBuffer, 1 << 20, partSize + 1, 2*partSize + 1} {
				err := s.Put(t.Context(), newKey(t), io.MultiReader(bytes.NewReader(content(before)), iotest.ErrReader(broken)))
				if !errors.Is(err, broken) {
					t.Errorf("after %d bytes: %v", before, err)
				}
				expect(t, names)
			}
		}
		key := newKey(t)
		if err := s.Put(t.Context(), key, strings.NewReader("whole")); err != nil {
			t.Fatal(err)
		}
		expect(t, names, "complete/"+key)
	})
}

// TestPutTakesAKeyOnce: of many concurrent writes to a key, one succeeds.
func TestPutTakesAKeyOnce(t *testing.T) {
	each(t, func(t *testing.T, s Store, names func() []string) {
		for _, size := range []int{1, smallBuffer, partSize} {
			var key string
			var taken chan string
			// A write that fails for another reason, such as a busy server, removes what it may have left.
			for unclear := true; unclear; {
				key, taken, unclear = newKey(t), make(chan string, 8), false
				failed := make(chan error, 8)
				release := make(chan struct{})
				close(release)
				testenv.Together(8, func(i int) {
					half := strings.Repeat(fmt.Sprint(i), size)
					err := s.Put(t.Context(), key, io.MultiReader(strings.NewReader(half), gate(release), strings.NewReader(half)))
					if err == nil {
						taken <- half + half
					} else {
						failed <- err
					}
				})
				close(taken)
				close(failed)
				for err := range failed {
					var remote RemoteError
					unclear = unclear || errors.As(err, &remote) && !errors.Is(err, errExists)
				}
				if unclear {
					_ = s.Delete(t.Context(), key) // which may not exist
				}
			}
			file, err := s.Get(t.Context(), key, "")
			if err != nil {
				t.Fatal(err)
			}
			got, err := io.ReadAll(file)
			_ = file.Close()
			if _, local := s.(*Dir); !local && (len(taken) != 1 || string(got) != <-taken) {
				t.Errorf("%d writes succeeded", len(taken)+1)
			}
			if err != nil || len(got) != 2*size || strings.Trim(string(got), string(got[:1])) != "" {
				t.Errorf("the file has %d bytes of %d, %v", len(got), 2*size, err)
			}
			expect(t, names, "complete/"+key)
			if err := s.Delete(t.Context(), key); err != nil {
				t.Fatal(err)
			}
		}
	})
}

// gate is an empty reader that ends when it is released.
type gate chan struct{}

func (g gate) Read([]byte) (int, error) { <-g; return 0, io.EOF }

// TestFilesMove moves a file to the trash, where it can still be read, and back. Two
// sweeps that move it at the same time do no harm.
func TestFilesMove(t *testing.T) {
	each(t, func(t *testing.T, s Store, names func() []string) {
		for _, size := range []int{1, partSize + 1} {
			key, want := newKey(t), content(size)
			if err := s.Put(t.Context(), key, bytes.NewReader(want)); err != nil {
				t.Fatal(err)
			}
			for _, step := range []struct{ from, to Place }{
				{Complete, Trash}, {Complete, Trash}, {Trash, Complete}, {Trash, Complete},
			} {
				testenv.Together(2, func(int) {
					if err := s.Move(t.Context(), key, step.from, step.to); err != nil { // a missing file is not an error
						t.Error(err)
					}
				})
				if step.from == Trash { // where it may stay too
					if err := s.Remove(t.Context(), Trash, key); err != nil {
						t.Fatal(err)
					}
				}
				expect(t, names, string(step.to)+"/"+key)
				file, err := s.Get(t.Context(), key, hexSum(want))
				if err != nil {
					t.Fatalf("in %s: %v", step.to, err)
				}
				if got, err := io.ReadAll(file); err != nil || !bytes.Equal(got, want) {
					t.Errorf("in %s: %d bytes, %v", step.to, len(got), err)
				}
				_ = file.Close()
				for _, place := range []Place{Complete, Trash, Arriving} {
					if has, err := s.Has(t.Context(), place, key); has != (place == step.to) || err != nil {
						t.Errorf("in %s: %s has it: %t, %v", step.to, place, has, err)
					}
				}
			}
			if err := s.Delete(t.Context(), key); err != nil {
				t.Fatal(err)
			}
		}
	})
}

// TestFilesMoveInOppositeDirections lets two sweeps with different views of a file move it at the same time.
// It is never lost.
func TestFilesMoveInOppositeDirections(t *testing.T) {
	each(t, func(t *testing.T, s Store, _ func() []string) {
		for round := range 40 {
			key := newKey(t)
			if err := s.Put(t.Context(), key, strings.NewReader("text")); err != nil {
				t.Fatal(err)
			}
			if err := s.Move(t.Context(), key, Complete, Trash); err != nil {
				t.Fatal(err)
			}
			testenv.Together(4, func(i int) {
				from, to := Complete, Trash
				if i%2 == 0 {
					from, to = to, from
				}
				for range 3 {
					if err := s.Move(t.Context(), key, from, to); err != nil && !errors.Is(err, fs.ErrNotExist) {
						t.Error(err)
					}
				}
			})
			file, err := s.Get(t.Context(), key, "")
			if err != nil {
				t.Fatalf("round %d: %v", round, err)
			}
			_ = file.Close()
		}
	})
}

// TestKeysComeInBatches lists all keys of a place, and stops at an error.
func TestKeysComeInBatches(t *testing.T) {
	each(t, func(t *testing.T, s Store, _ func() []string) {
		var want, got []string
		for range 25 {
			key := newKey(t)
			if err := s.Put(t.Context(), key, strings.NewReader("x")); err != nil {
				t.Fatal(err)
			}
			want = append(want, key)
		}
		err := s.Keys(t.Context(), Complete, 10, func(keys []string) error {
			if len(keys) > 10 {
				t.Errorf("%d keys at once", len(keys))
			}
			got = append(got, keys...)
			return nil
		})
		slices.Sort(got)
		slices.Sort(want)
		if err != nil || !slices.Equal(got, want) {
			t.Errorf("got %q, want %q, %v", got, want, err)
		}
		for _, place := range []Place{Trash, Arriving} {
			if err := s.Keys(t.Context(), place, 10, func(keys []string) error { return fmt.Errorf("%q", keys) }); err != nil {
				t.Errorf("%s: %v", place, err)
			}
		}
		enough := errors.New("enough")
		if err := s.Keys(t.Context(), Complete, 10, func([]string) error { return enough }); !errors.Is(err, enough) {
			t.Error(err)
		}
	})
}

// TestStoreHasAnID writes and reads the id.
func TestStoreHasAnID(t *testing.T) {
	each(t, func(t *testing.T, s Store, names func() []string) {
		if _, err := s.ID(t.Context()); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("a new store: %v", err)
		}
		for i := range byte(3) { // including over another one
			id := ID{Database: warranty.ID{1, i}, Folder: warranty.ID{2, i}}
			if err := s.SetID(t.Context(), id); err != nil {
				t.Fatal(err)
			}
			if got, err := s.ID(t.Context()); err != nil || got != id {
				t.Errorf("got %v, %v", got, err)
			}
		}
		expect(t, names, "id")
	})
}
