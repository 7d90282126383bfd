package proc

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"

	"github.com/jackc/pgx/v5"
)

// Postgres is a PostgreSQL server for the benchmark on a loopback port.
type Postgres struct {
	*Process
	addr string
}

// postgresSettings are the defaults, which are durable, except for more memory and
// enough WAL space to load a million records.
const postgresSettings = `
listen_addresses = '127.0.0.1'
unix_socket_directories = ''
shared_buffers = 1GB
max_wal_size = 8GB
`

// StartPostgres starts a server with its data in a folder, which it creates if missing.
func StartPostgres(ctx context.Context, dir string) (*Postgres, error) {
	bin, err := findPostgres()
	if err != nil {
		return nil, err
	}
	as, err := notRoot()
	if err != nil {
		return nil, err
	}
	command := func(name string, args ...string) *exec.Cmd {
		cmd := exec.CommandContext(context.WithoutCancel(ctx), filepath.Join(bin, name), args...)
		cmd.Dir, cmd.Env, cmd.SysProcAttr = "/", append(os.Environ(), "LC_ALL=C"), &syscall.SysProcAttr{Credential: as}
		return cmd
	}
	if dir, err = filepath.Abs(dir); err != nil {
		return nil, err
	}
	if err := initPostgres(dir, as, command); err != nil {
		return nil, err
	}
	addr, err := FreeAddress()
	if err != nil {
		return nil, err
	}
	_, port, err := net.SplitHostPort(addr)
	if err != nil {
		return nil, err
	}
	process, err := Start(command("postgres", "-D", dir, "-p", port), dir+".log")
	if err != nil {
		return nil, err
	}
	p := &Postgres{Process: process, addr: addr}
	if err := p.Await(ctx, func(ctx context.Context) error { return p.Execute(ctx) }); err != nil {
		p.Stop()
		return nil, err
	}
	return p, nil
}

// findPostgres returns the folder of the newest installed server.
func findPostgres() (string, error) {
	dirs, err := filepath.Glob("/usr/lib/postgresql/*/bin")
	if err != nil {
		return "", err
	}
	slices.Sort(dirs)
	slices.Reverse(dirs)
	if path, err := exec.LookPath("initdb"); err == nil {
		dirs = append(dirs, filepath.Dir(path))
	}
	for _, dir := range dirs {
		if _, err := os.Stat(filepath.Join(dir, "initdb")); err == nil {
			return dir, nil
		}
	}
	return "", errors.New("PostgreSQL is not installed: install it, or remove svcd-postgres from --servers")
}

// notRoot returns the user for PostgreSQL, which refuses to run as root; nil means the current user.
func notRoot() (*syscall.Credential, error) {
	if os.Getuid() != 0 {
		return nil, nil
	}
	u, err := user.Lookup("postgres")
	if err != nil {
		return nil, err
	}
	uid, err1 := strconv.ParseUint(u.Uid, 10, 32)
	gid, err2 := strconv.ParseUint(u.Gid, 10, 32)
	return &syscall.Credential{Uid: uint32(uid), Gid: uint32(gid)}, errors.Join(err1, err2)
}

func initPostgres(dir string, as *syscall.Credential, command func(string, ...string) *exec.Cmd) error {
	if _, err := os.Stat(filepath.Join(dir, "PG_VERSION")); err == nil {
		return nil
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return err
	}
	if as != nil {
		if err := os.Chown(dir, int(as.Uid), int(as.Gid)); err != nil {
			return err
		}
	}
	initdb := command("initdb", "-D", dir, "-U", "postgres", "-A", "trust", "-E", "UTF8", "--locale=C")
	if out, err := initdb.CombinedOutput(); err != nil {
		return fmt.Errorf("initdb: %w\n%s", err, out)
	}
	file, err := os.OpenFile(filepath.Join(dir, "postgresql.conf"), os.O_APPEND|os.O_WRONLY, 0)
	if err != nil {
		return err
	}
	_, err = file.WriteString(postgresSettings)
	return errors.Join(err, file.Close())
}

// URL returns the URL of a database of the server.
func (p *Postgres) URL(database string) string {
	return fmt.Sprintf("postgres://postgres@%s/%s?sslmode=disable", p.addr, database)
}

// Execute runs statements in order.
func (p *Postgres) Execute(ctx context.Context, statements ...string) error {
	conn, err := pgx.Connect(ctx, p.URL("postgres"))
	if err != nil {
		return err
	}
	defer conn.Close(context.WithoutCancel(ctx))
	for _, sql := range statements {
		if _, err := conn.Exec(ctx, sql); err != nil {
			return fmt.Errorf("%s: %w", sql, err)
		}
	}
	return nil
}

// Ask runs a query that returns one text.
func (p *Postgres) Ask(ctx context.Context, sql string, args ...any) (text string, err error) {
	conn, err := pgx.Connect(ctx, p.URL("postgres"))
	if err != nil {
		return "", err
	}
	defer conn.Close(context.WithoutCancel(ctx))
	err = conn.QueryRow(ctx, sql, args...).Scan(&text)
	return strings.TrimSpace(text), err
}
