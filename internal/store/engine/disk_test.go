package engine

import (
	"fmt"
	"io"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"

	"github.com/ncruces/go-sqlite3"
	"github.com/ncruces/go-sqlite3/vfs"
)

// disk is a VFS on top of the real one that can fail like a disk. Writes reach the real files
// immediately, but the disk records how to undo those that were not synced: a power cut undoes some
// of them.
type disk struct {
	vfs.VFSFilename
	name string

	mu     sync.Mutex
	files  map[string]*diskFile
	calls  int64 // calls that change a file
	cutAt  int64 // the call that cuts the power; 0 for never
	isCut  bool
	random *rand.Rand

	full       atomic.Bool // writes fail with FULL
	syncBroken atomic.Bool // syncs fail
}

// diskFile is one file, shared by its handles.
type diskFile struct {
	real     vfs.File
	unsynced []change
}

// change is an unsynced write or truncation and how to undo it.
type change struct {
	at       int64
	written  []byte // nil for a truncation to at
	was      []byte // previous content, up to the end of the file
	sizeWas  int64
	truncate bool
}

var disks atomic.Int64

// newDisk registers a disk for the duration of the test.
func newDisk(t testing.TB) *disk {
	d := &disk{VFSFilename: vfs.Find("os").(vfs.VFSFilename), name: fmt.Sprintf("disk%d", disks.Add(1)),
		files: map[string]*diskFile{}, random: rand.New(rand.NewPCG(rand.Uint64(), rand.Uint64()))}
	vfs.Register(d.name, d)
	t.Cleanup(func() { vfs.Unregister(d.name) })
	return d
}

var errPower = syscall.EIO

// OpenFilename opens a file on the disk.
func (d *disk) OpenFilename(name *vfs.Filename, flags vfs.OpenFlag) (vfs.File, vfs.OpenFlag, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.isCut {
		return nil, 0, errPower
	}
	real, flags, err := d.VFSFilename.OpenFilename(name, flags)
	if err != nil {
		return nil, flags, err
	}
	h := &handle{File: real, disk: d, path: name.String()}
	if d.files[h.path] == nil {
		d.files[h.path] = &diskFile{}
	}
	return h, flags, nil
}

// Delete deletes a file for good. A real disk may restore it after a power cut; SQLite syncs the
// directory where that matters.
func (d *disk) Delete(name string, syncDir bool) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.isCut {
		return errPower
	}
	delete(d.files, name)
	return d.VFSFilename.Delete(name, syncDir)
}

// settle makes everything written so far durable.
func (d *disk) settle() {
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, f := range d.files {
		f.unsynced = nil
	}
}

// changing counts a call that changes a file and cuts the power at cutAt.
func (d *disk) changing() error {
	d.calls++
	if d.cutAt != 0 && d.calls >= d.cutAt && !d.isCut {
		d.cut()
	}
	if d.isCut {
		return errPower
	}
	return nil
}

// cut cuts the power: a random subset of the unsynced changes survives, like on a disk with a
// cache.
func (d *disk) cut() {
	d.isCut = true
	for _, f := range d.files {
		for i := len(f.unsynced) - 1; i >= 0; i-- {
			c := f.unsynced[i]
			must(f.real.WriteAt(c.was, c.at))
			must(0, f.real.Truncate(c.sizeWas))
		}
		for _, c := range f.unsynced {
			switch {
			case d.random.IntN(3) > 0:
			case c.truncate:
				must(0, f.real.Truncate(c.at))
			default:
				must(f.real.WriteAt(c.written, c.at))
			}
		}
	}
}

func must(_ int, err error) {
	if err != nil && err != io.EOF {
		panic(err)
	}
}

// handle is a file opened by one connection.
type handle struct {
	vfs.File
	disk *disk
	path string
}

// SharedMemory returns the WAL index, which is not on the disk.
func (h *handle) SharedMemory() vfs.SharedMemory {
	return h.File.(vfs.FileSharedMemory).SharedMemory()
}

// ReadAt fails after a power cut.
func (h *handle) ReadAt(p []byte, off int64) (int, error) {
	h.disk.mu.Lock()
	defer h.disk.mu.Unlock()
	if h.disk.isCut {
		return 0, errPower
	}
	return h.File.ReadAt(p, off)
}

// remember records how to undo a change with this handle. The last handle that changed a file is
// still open at the power cut, or has synced.
func (h *handle) remember(c change) error {
	f := h.disk.files[h.path]
	if f == nil {
		return nil // deleted but still open
	}
	size, err := h.File.Size()
	if err != nil {
		return err
	}
	c.sizeWas = size
	if length := min(max(0, size-c.at), int64(len(c.written))); c.truncate || length > 0 {
		if c.truncate {
			length = max(0, size-c.at)
		}
		c.was = make([]byte, length)
		if _, err := h.File.ReadAt(c.was, c.at); err != nil && err != io.EOF {
			return err
		}
	}
	f.real, f.unsynced = h.File, append(f.unsynced, c)
	return nil
}

// WriteAt writes; a power cut may undo it.
func (h *handle) WriteAt(p []byte, off int64) (int, error) {
	h.disk.mu.Lock()
	defer h.disk.mu.Unlock()
	if err := h.disk.changing(); err != nil {
		return 0, err
	}
	if h.disk.full.Load() {
		return 0, sqlite3.FULL
	}
	if err := h.remember(change{at: off, written: append([]byte{}, p...)}); err != nil {
		return 0, err
	}
	return h.File.WriteAt(p, off)
}

// Truncate truncates; a power cut may undo it.
func (h *handle) Truncate(size int64) error {
	h.disk.mu.Lock()
	defer h.disk.mu.Unlock()
	if err := h.disk.changing(); err != nil {
		return err
	}
	if err := h.remember(change{at: size, truncate: true}); err != nil {
		return err
	}
	return h.File.Truncate(size)
}

// Sync makes the writes durable.
func (h *handle) Sync(vfs.SyncFlag) error {
	h.disk.mu.Lock()
	defer h.disk.mu.Unlock()
	if err := h.disk.changing(); err != nil {
		return err
	}
	if h.disk.syncBroken.Load() {
		return syscall.EIO
	}
	if f := h.disk.files[h.path]; f != nil {
		f.unsynced = nil
	}
	return nil // the real files need no sync
}
