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

// volume is a file system in an image behind a loop device. The image has the state
// that a power cut would leave: only synced data.
type volume struct {
	image, folder string
}

// volumeSize is enough for a few cycles.
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

// mount mounts the image. The file system itself syncs only every ten minutes.
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

// cut simulates a power cut: it copies the image while the processes are frozen, kills
// them, and mounts the copy.
func (v *volume) cut(freeze, kill func()) error {
	snapshot := v.image + ".snapshot"
	freeze()
	err := run("cp", "--sparse=always", v.image, snapshot)
	kill()
	if err := errors.Join(err, v.unmount()); err != nil {
		return err
	}
	if err := os.Rename(snapshot, v.image); err != nil {
		return err
	}
	return v.mount()
}

// fill uses up the free space, and returns a function that frees it.
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

// abort makes the file system read-only, like ext4 does after a disk error.
func (v *volume) abort() error { return run("mount", "-o", "remount,abort", v.folder) }

func (v *volume) remove() error {
	return errors.Join(v.unmount(), os.Remove(v.image))
}

// failSyncs makes every nth fsync of a process fail until restore is called.
func failSyncs(pid, every int, log string) (restore func() error, err error) {
	tracer := exec.Command("strace", "-f", "-qq", "-o", log, "-e", "trace=fsync,fdatasync",
		"-e", fmt.Sprintf("inject=fsync,fdatasync:error=EIO:when=%d+%d", every, every), "-p", fmt.Sprint(pid))
	if err := tracer.Start(); err != nil {
		return nil, err
	}
	return func() error {
		_ = tracer.Process.Signal(syscall.SIGINT) // it may have ended with the process
		_ = tracer.Wait()                         // an error, because of the signal
		text, err := os.ReadFile(log)
		if err == nil && !bytes.Contains(text, []byte("(INJECTED)")) {
			err = fmt.Errorf("no fsync failed: %s", text[:min(len(text), 300)])
		}
		return err
	}, nil
}

// proxy forwards connections and can delay the data.
type proxy struct {
	listener net.Listener
	target   string
	delay    atomic.Int64 // per read, in nanoseconds
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
			go p.forward(near)
		}
	}()
	return p, nil
}

func (p *proxy) address() string { return p.listener.Addr().String() }

func (p *proxy) forward(near net.Conn) {
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
		buffer := make([]byte, 32<<10)
		for {
			n, err := from.Read(buffer)
			if n > 0 {
				time.Sleep(time.Duration(p.delay.Load()))
				if _, err := to.Write(buffer[:n]); err != nil {
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
	_ = p.listener.Close() // no more connections are expected
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, c := range p.conns {
		_ = c.Close()
	}
}

// newBouncer returns PgBouncer in transaction mode and its URL.
func newBouncer(dir string, primary *postgres) (*process, string, error) {
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
	url := fmt.Sprintf("postgres://postgres@127.0.0.1:%d/postgres?sslmode=disable&default_query_exec_mode=cache_describe", port)
	return &process{name: "pgbouncer", dir: "/", as: as, log: log, command: []string{binary, config}}, url, nil
}

// missing returns the programs that are not installed.
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
