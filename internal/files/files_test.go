package files

import (
	"crypto/rand"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"testing/iotest"
)

// open opens a temporary folder.
func open(t *testing.T) (*Dir, string) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "files")
	d, err := Open(path)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = d.Close() }) // the folder is removed with the test
	return d, path
}

// names lists the files in a folder, with their subfolders.
func names(t *testing.T, path string) []string {
	t.Helper()
	list := []string{}
	err := filepath.WalkDir(path, func(name string, entry fs.DirEntry, err error) error {
		if err == nil && !entry.IsDir() {
			name, err = filepath.Rel(path, name)
			list = append(list, name)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return list
}

func expectNames(t *testing.T, path string, want ...string) {
	t.Helper()
	if got := names(t, path); !slices.Equal(got, want) {
		t.Errorf("the folder holds %q, want %q", got, want)
	}
}

func put(t *testing.T, d *Dir, key, content string) {
	t.Helper()
	if err := d.Put(t.Context(), key, strings.NewReader(content)); err != nil {
		t.Fatal(err)
	}
}

// TestKeysStayInTheFolder tries keys that lead elsewhere. The service only uses
// generated keys; this guards against mistakes.
func TestKeysStayInTheFolder(t *testing.T) {
	d, path := open(t)
	outside := filepath.Join(filepath.Dir(path), "outside")
	if err := os.WriteFile(outside, []byte("secret"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(outside, filepath.Join(path, string(Complete), "link")); err != nil {
		t.Fatal(err)
	}
	for _, key := range []string{"../../outside", "../../../etc/passwd", "/etc/passwd", outside, "link", "a/b", ""} {
		if file, err := d.Get(t.Context(), key, ""); err == nil {
			if content, _ := io.ReadAll(file); len(content) > 0 {
				t.Errorf("%q gives out %q", key, content)
			}
			_ = file.Close()
		}
		if err := d.Put(t.Context(), key, strings.NewReader("x")); err == nil && key != "link" {
			t.Errorf("%q was written", key)
		}
		_ = d.Delete(t.Context(), key) // removes the link, not its target
	}
	if got, err := os.ReadFile(outside); err != nil || string(got) != "secret" {
		t.Errorf("the file outside is %q, %v", got, err)
	}
}

// TestOnlyTheOwnerReads checks the modes, regardless of the umask.
func TestOnlyTheOwnerReads(t *testing.T) {
	old := syscall.Umask(0)
	defer syscall.Umask(old)
	d, path := open(t)
	put(t, d, "key", "x")
	for name, want := range map[string]fs.FileMode{
		".":            0o700,
		"complete":     0o700,
		"arriving":     0o700,
		"trash":        0o700,
		"complete/key": 0o600,
	} {
		info, err := os.Stat(filepath.Join(path, name))
		if err != nil || info.Mode().Perm() != want {
			t.Errorf("%s has the mode %v, want %v (%v)", name, info.Mode().Perm(), want, err)
		}
	}
}

// TestKeysGivesOutWhatIsOurs lists keys in batches and skips other entries.
func TestKeysGivesOutWhatIsOurs(t *testing.T) {
	d, path := open(t)
	want := []string{}
	for range 25 {
		key := newKey(t)
		put(t, d, key, "x")
		want = append(want, key)
	}
	strange := newKey(t)
	for _, name := range []string{
		".nfs000000000000", "README", strange[1:], strange + "x", strings.ToUpper(strange), "l" + strange[1:],
	} {
		if err := os.WriteFile(filepath.Join(path, string(Complete), name), nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Mkdir(filepath.Join(path, string(Complete), strange), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(path, filepath.Join(path, string(Complete), newKey(t))); err != nil {
		t.Fatal(err)
	}
	var got []string
	err := d.Keys(t.Context(), Complete, 10, func(keys []string) error {
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
	broken := errors.New("enough")
	if err := d.Keys(t.Context(), Complete, 10, func([]string) error { return broken }); !errors.Is(err, broken) {
		t.Error(err)
	}
}

func newKey(t *testing.T) string {
	t.Helper()
	key, err := NewKey(rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	return key
}

// TestNewKeySaysNothing checks that keys are unique and plain names on any file system.
func TestNewKeySaysNothing(t *testing.T) {
	seen := map[string]bool{}
	for range 1000 {
		key, err := NewKey(rand.Reader)
		if err != nil || len(key) != 20 || strings.Trim(key, "0123456789abcdefghjkmnpqrstvwxyz") != "" || seen[key] {
			t.Fatalf("%q, %v", key, err)
		}
		seen[key] = true
	}
	if _, err := NewKey(iotest.ErrReader(io.ErrUnexpectedEOF)); err == nil {
		t.Error("a key without randomness")
	}
}
