package files

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"warranty.example/svc/warranty"
)

// volatile is a disk that loses everything unsynced on a power failure: the content of
// files and the entries of folders. It is stricter than a real disk, which may keep
// more. It uses a real folder and tracks all changes.
type volatile struct {
	disk
	prefix string
	state  *volatileState
}

type volatileState struct {
	now, durable map[string]*inode // by path from the root
	cuts         func()            // called before every step
}

type inode struct {
	folder          bool
	written, synced string
}

func newVolatile(t *testing.T) *volatile {
	t.Helper()
	root, err := os.OpenRoot(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = root.Close() })
	return &volatile{
		disk:   rootDisk{root},
		prefix: ".",
		state:  &volatileState{now: map[string]*inode{}, durable: map[string]*inode{}, cuts: func() {}},
	}
}

func (v *volatile) at(name string) string { return filepath.Join(v.prefix, name) }

func (v *volatile) create(name string) (writer, error) {
	v.state.cuts()
	file, err := v.disk.create(name)
	if err != nil {
		return nil, err
	}
	node := &inode{}
	v.state.now[v.at(name)] = node
	return &volatileFile{file, node, v.state}, nil
}

func (v *volatile) mkdir(name string) error {
	v.state.cuts()
	if err := v.disk.mkdir(name); err != nil {
		return err
	}
	if v.state.now[v.at(name)] == nil {
		v.state.now[v.at(name)] = &inode{folder: true}
	}
	return nil
}

func (v *volatile) rename(from, to string) error {
	v.state.cuts()
	if err := v.disk.rename(from, to); err != nil {
		return err
	}
	v.state.now[v.at(to)] = v.state.now[v.at(from)]
	delete(v.state.now, v.at(from))
	return nil
}

func (v *volatile) remove(name string) error {
	v.state.cuts()
	delete(v.state.now, v.at(name))
	return v.disk.remove(name)
}

func (v *volatile) sync(folder string) error {
	v.state.cuts()
	in := func(path string) bool { return filepath.Dir(path) == v.at(folder) }
	maps.DeleteFunc(v.state.durable, func(path string, _ *inode) bool { return in(path) })
	for path, node := range v.state.now {
		if in(path) {
			v.state.durable[path] = node
		}
	}
	return v.disk.sync(folder)
}

func (v *volatile) sub(name string) (disk, error) {
	below, err := v.disk.sub(name)
	return &volatile{disk: below, prefix: v.at(name), state: v.state}, err
}

type volatileFile struct {
	writer
	node  *inode
	state *volatileState
}

func (f *volatileFile) Write(b []byte) (int, error) {
	f.state.cuts()
	n, err := f.writer.Write(b)
	f.node.written += string(b[:n])
	return n, err
}

func (f *volatileFile) Sync() error {
	f.state.cuts()
	f.node.synced = f.node.written
	return f.writer.Sync()
}

// afterCut returns the content of the disk after a power failure, in a new folder.
func (s *volatileState) afterCut(t *testing.T) string {
	t.Helper()
	top := t.TempDir()
	for _, path := range slices.Sorted(maps.Keys(s.durable)) { // folders come before their entries
		node, name := s.durable[path], filepath.Join(top, path)
		var err error
		if node.folder {
			err = os.Mkdir(name, 0o700)
		} else {
			err = os.WriteFile(name, []byte(node.synced), 0o600)
		}
		if err != nil && !errors.Is(err, fs.ErrNotExist) { // its folder is gone
			t.Fatal(err)
		}
	}
	return top
}

// TestNothingAcknowledgedIsLostFromTheFolder cuts the power at every step: acknowledged
// files are complete, and a partial file is never in its place. // D6
func TestNothingAcknowledgedIsLostFromTheFolder(t *testing.T) {
	content := strings.Repeat("a page. ", 10_000) // more than one write
	kept, moved, back := newKey(t), newKey(t), newKey(t)
	id := ID{Database: warranty.ID{1}, Folder: warranty.ID{2}}

	disk := newVolatile(t)
	acknowledged := map[string]bool{}
	cuts := 0
	check := func() {
		cuts++
		d, err := Open(filepath.Join(disk.state.afterCut(t), "data/files"))
		if err != nil {
			t.Fatal(err)
		}
		defer d.Close()
		for _, key := range []string{kept, moved, back} {
			expectWhole(t, d, key, content, acknowledged[key])
		}
		got, err := d.ID(t.Context())
		if has := err == nil && got == id; !has && (acknowledged["id"] || !errors.Is(err, fs.ErrNotExist)) {
			t.Errorf("after %d steps: the folder's id is %v, %v", cuts, got, err)
		}
	}
	disk.state.cuts = check
	d, err := openIn(disk, "data/files")
	if err != nil {
		t.Fatal(err)
	}
	defer d.Close()
	do := func(what string, err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		acknowledged[what] = true
		check()
	}
	do(kept, d.Put(t.Context(), kept, strings.NewReader(content)))
	do("id", d.SetID(t.Context(), id))
	do(moved, d.Put(t.Context(), moved, strings.NewReader(content)))
	do(back, d.Put(t.Context(), back, strings.NewReader(content)))
	// During a move, a strict disk may have neither name. After the move the file
	// exists.
	quietly := func(key string, from, to Place) {
		t.Helper()
		acknowledged[key] = false
		do(key, d.Move(t.Context(), key, from, to))
	}
	quietly(moved, Complete, Trash)
	quietly(back, Complete, Trash)
	quietly(back, Trash, Complete)
	t.Logf("the power was cut %d times", cuts)
	if cuts < 30 {
		t.Errorf("only %d cuts: nothing is shown", cuts)
	}
}

// expectWhole fails if a file is incomplete, or missing although it must exist.
func expectWhole(t *testing.T, d *Dir, key, content string, must bool) {
	t.Helper()
	file, err := d.Get(t.Context(), key, "")
	if errors.Is(err, fs.ErrNotExist) && !must {
		return
	}
	if err != nil {
		t.Errorf("an acknowledged file: %v", err)
		return
	}
	defer file.Close()
	if got, err := io.ReadAll(file); err != nil || string(got) != content {
		t.Errorf("a file has %d bytes of %d, %v", len(got), len(content), err)
	}
}

// TestMakeIsDurable creates the parent folders. // D6
func TestMakeIsDurable(t *testing.T) {
	disk := newVolatile(t)
	if err := mkdirAll(disk, "a/b/c"); err != nil {
		t.Fatal(err)
	}
	if info, err := os.Stat(filepath.Join(disk.state.afterCut(t), "a/b/c")); err != nil || !info.IsDir() {
		t.Error(err)
	}
	path := filepath.Join(t.TempDir(), "x", "y")
	for range 2 { // also if it exists
		if err := MkdirAll(path); err != nil {
			t.Fatal(err)
		}
	}
	for _, folder := range []string{path, filepath.Dir(path)} {
		if info, err := os.Stat(folder); err != nil || info.Mode().Perm() != 0o700 {
			t.Error(fmt.Sprint(info, err))
		}
	}
}
