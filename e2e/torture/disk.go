package main

import (
	"bytes"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"sync/atomic"
	"syscall"
	"time"
)

// volume is a file system of its own, in an image behind a loop device. What the
// image holds is what a power cut would leave: nothing that was not synced.
type volume struct {
	image, folder string
}

// volumeSize is enough for a short life.
const volumeSize = 400 << 20

func newVolume(dir, folder string) (*volume, error) {
	file, err := os.CreateTemp(dir, "torture*.img")
	if err != nil {
		return nil, err
	}
	v := &volume{image: file.Name(), folder: folder}
	if err := errors.Join(file.Truncate(volumeSize), file.Close()); err != nil {
		return nil, errors.Join(err, os.Remove(v.image))
	}
	if err := run("mkfs.ext4", "-q", "-E", "lazy_itable_init=0", v.image); err != nil {
		return nil, errors.Join(err, os.Remove(v.image))
	}
	if err := v.mount(); err != nil {
		return nil, errors.Join(err, os.Remove(v.image))
	}
	return v, nil
}

// mount puts it where it belongs. Without a sync of its own, nothing reaches the
// image for ten minutes.
func (v *volume) mount() error {
	if err := run("mount", "-o", "loop,commit=600", v.image, v.folder); err != nil {
		return err
	}
	return os.Chmod(v.folder, 0o755)
}

func (v *volume) unmount() error {
	for range 50 {
		if err := run("umount", v.folder); err == nil {
			return nil
		}
		time.Sleep(20 * time.Millisecond)
	}
	return run("umount", "-l", v.folder)
}

// cut replaces the volume by what a power cut would have left of it. Whatever uses
// it is frozen before, and must be dead after freeze returns.
func (v *volume) cut(freeze, kill func()) error {
	left := v.image + ".left"
	freeze()
	err := run("cp", "--sparse=always", v.image, left)
	kill()
	if err := errors.Join(err, v.unmount()); err != nil {
		return err
	}
	if err := os.Rename(left, v.image); err != nil {
		return err
	}
	return v.mount()
}

// fill takes all the room that is left, and returns what gives it back.
func (v *volume) fill() (empty func() error, err error) {
	name := filepath.Join(v.folder, "filler")
	file, err := os.Create(name)
	if err != nil {
		return nil, err
	}
	for _, size := range []int{1 << 20, 4 << 10, 1} {
		for block := make([]byte, size); ; {
			if _, err = file.Write(block); err != nil {
				break
			}
		}
	}
	if !errors.Is(err, syscall.ENOSPC) {
		return nil, errors.Join(err, file.Close(), os.Remove(name))
	}
	if err := errors.Join(file.Sync(), file.Close()); err != nil && !errors.Is(err, syscall.ENOSPC) {
		return nil, err
	}
	return func() error { return os.Remove(name) }, nil
}

// abort makes the file system read-only, as ext4 does after an error of the disk.
func (v *volume) abort() error { return run("mount", "-o", "remount,abort", v.folder) }

func (v *volume) remove() error {
	return errors.Join(v.unmount(), os.Remove(v.image))
}

// failSyncs makes every so many'th fsync of a process fail until it is called off.
func failSyncs(pid, every int, log string) (heal func() error, err error) {
	tracer := exec.Command("strace", "-f", "-qq", "-o", log, "-e", "trace=fsync,fdatasync",
		"-e", fmt.Sprintf("inject=fsync,fdatasync:error=EIO:when=%d+%d", every, every), "-p", fmt.Sprint(pid))
	if err := tracer.Start(); err != nil {
		return nil, err
	}
	return func() error {
		_ = tracer.Process.Signal(syscall.SIGINT) // it ends with the process that it watches
		_ = tracer.Wait()                         // it tells how it was ended
		text, err := os.ReadFile(log)
		if err == nil && !bytes.Contains(text, []byte("(INJECTED)")) {
			err = fmt.Errorf("no fsync failed: %s", text[:min(len(text), 300)])
		}
		return err
	}, nil
}

// proxy passes connections on, and can delay or hold what passes.
type proxy struct {
	listener net.Listener
	target   string
	delay    atomic.Int64 // for each piece, in nanoseconds
	mu       sync.Mutex
	conns    []net.Conn
}

func newProxy(target string) (*proxy, error) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	p := &proxy{listener: listener, target: target}
	go func() {
		for {
			near, err := listener.Accept()
			if err != nil {
				return
			}
			go p.pass(near)
		}
	}()
	return p, nil
}

func (p *proxy) address() string { return p.listener.Addr().String() }

func (p *proxy) pass(near net.Conn) {
	far, err := net.Dial("tcp", p.target)
	if err != nil {
		near.Close()
		return
	}
	p.mu.Lock()
	p.conns = append(p.conns, near, far)
	p.mu.Unlock()
	copyTo := func(to, from net.Conn) {
		defer to.Close()
		defer from.Close()
		piece := make([]byte, 32<<10)
		for {
			n, err := from.Read(piece)
			if n > 0 {
				time.Sleep(time.Duration(p.delay.Load()))
				if _, err := to.Write(piece[:n]); err != nil {
					return
				}
			}
			if err != nil {
				return
			}
		}
	}
	go copyTo(far, near)
	copyTo(near, far)
}

func (p *proxy) close() {
	_ = p.listener.Close() // nothing is lost
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, c := range p.conns {
		_ = c.Close()
	}
}

// newBouncer is PgBouncer in transaction mode before a database.
func newBouncer(dir string, primary *postgres) (*part, string, error) {
	binary, err := exec.LookPath("pgbouncer")
	if err != nil {
		if binary, err = exec.LookPath("/usr/sbin/pgbouncer"); err != nil {
			return nil, "", err
		}
	}
	port, err := freePort()
	if err != nil {
		return nil, "", err
	}
	config := filepath.Join(dir, "pgbouncer.ini")
	text := fmt.Sprintf(`[databases]
postgres = host=127.0.0.1 port=%d dbname=postgres user=postgres
[pgbouncer]
listen_addr = 127.0.0.1
listen_port = %d
unix_socket_dir =
auth_type = any
pool_mode = transaction
default_pool_size = 20
max_client_conn = 500
ignore_startup_parameters = extra_float_digits,options,search_path
`, primary.port, port)
	if err := os.WriteFile(config, []byte(text), 0o644); err != nil {
		return nil, "", err
	}
	as, err := postgresUser()
	if err != nil {
		return nil, "", err
	}
	log := filepath.Join(dir, "pgbouncer.log")
	return &part{name: "pgbouncer", dir: "/", as: as, log: log, command: []string{binary, config}},
		fmt.Sprintf("postgres://postgres@127.0.0.1:%d/postgres?sslmode=disable&default_query_exec_mode=cache_describe", port), nil
}

// missing tells which of some programs are missing.
func missing(programs ...string) (names []string) {
	for _, name := range programs {
		if _, err := exec.LookPath(name); err != nil {
			if _, err := exec.LookPath("/usr/sbin/" + name); err != nil {
				names = append(names, name)
			}
		}
	}
	return names
}
