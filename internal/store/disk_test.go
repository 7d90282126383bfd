package store

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

// disk is a VFS over the real one that can fail as disks do. What is written
// reaches the real files at once, but the disk remembers how to take back what
// was not synced yet: a power cut takes back some of it.
type disk struct {
	vfs.VFSFilename
	name string

	mu     sync.Mutex
	files  map[string]*diskFile
	calls  int64 // that change a file, so far
	cutAt  int64 // the call before which the power goes; 0 is never
	isCut  bool
	random *rand.Rand

	full       atomic.Bool // writes find no space
	syncBroken atomic.Bool // syncs fail
}

// diskFile is one file, whoever has it open.
type diskFile struct {
	real     vfs.File
	unsynced []change
}

// change is a write or a truncation that was not synced yet, and what undoes it.
type change struct {
	at       int64
	written  []byte // nil for a truncation to at
	was      []byte // what stood there before, up to the file's end
	sizeWas  int64
	truncate bool
}

var disks atomic.Int64

// newDisk registers a disk for as long as the test runs.
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

// Delete removes a file for good. That is kinder than a real disk, which may
// bring the file back; SQLite syncs the folder where that would matter.
func (d *disk) Delete(name string, syncDir bool) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.isCut {
		return errPower
	}
	delete(d.files, name)
	return d.VFSFilename.Delete(name, syncDir)
}

// settle is what a while without any writing does: all that was written is safe.
func (d *disk) settle() {
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, f := range d.files {
		f.unsynced = nil
	}
}

// changing counts a call that changes a file, and cuts the power when its time has come.
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

// cut is the power cut: of what was not synced, a random part is kept, in no
// order, as a disk with a cache does.
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

// handle is a file that one connection has open.
type handle struct {
	vfs.File
	disk *disk
	path string
}

// SharedMemory is the WAL's index, which is no business of the disk's.
func (h *handle) SharedMemory() vfs.SharedMemory {
	return h.File.(vfs.FileSharedMemory).SharedMemory()
}

// ReadAt reads, unless the power is gone.
func (h *handle) ReadAt(p []byte, off int64) (int, error) {
	h.disk.mu.Lock()
	defer h.disk.mu.Unlock()
	if h.disk.isCut {
		return 0, errPower
	}
	return h.File.ReadAt(p, off)
}

// remember notes how a change is undone. The handle is the one to undo it with:
// whoever changed a file last has it open when the power goes, or has synced it.
func (h *handle) remember(c change) error {
	f := h.disk.files[h.path]
	if f == nil {
		return nil // deleted, and still written to
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

// WriteAt writes what a power cut may take back.
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

// Truncate shortens the file, which a power cut may take back.
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

// Sync makes what was written safe.
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
	return nil // the real files need not survive anything
}
