package engine

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"runtime"
	"sync"
	"time"

	"github.com/ncruces/go-sqlite3"

	"warranty.example/svc/warranty"
)

// sqliteBackend is SQLite in this process: a few connections for reads and one for all writes.
type sqliteBackend struct {
	writeFailures
	writeTimes
	dialect *dialect
	encode  encoder
	readers *sqliteReaders
	opened  []*sqliteConn
	log     *checkpointer
	units   chan *writeUnit // unbuffered: once sent, the writer has the unit
	stop    chan struct{}   // closed to stop the writer
	done    chan struct{}   // closed when the writer has stopped
	closing sync.Once
	failed  chan struct{} // closed when the disk can no longer be trusted
	failure sync.Once
}

const (
	busyTimeout = 5 * time.Second
	// maxGroup bounds the units that share a commit, and so the memory of one.
	maxGroup = 128
)

// sqliteReaders is the pool of read connections. The connection returned last is used first,
// because its cache is the warmest.
type sqliteReaders struct {
	free chan struct{} // a token per idle connection; receive before take
	mu   sync.Mutex
	idle []*sqliteConn
}

func (r *sqliteReaders) take() *sqliteConn {
	r.mu.Lock()
	defer r.mu.Unlock()
	last := len(r.idle) - 1
	conn := r.idle[last]
	r.idle = r.idle[:last]
	return conn
}

func (r *sqliteReaders) put(conn *sqliteConn) {
	r.mu.Lock()
	r.idle = append(r.idle, conn)
	r.mu.Unlock()
	r.free <- struct{}{}
}

// sqliteFile is a database file and how to open it. The zero values of vfs and synchronous mean the
// real disk and FULL; tests set others.
type sqliteFile struct {
	path, vfs, synchronous string
}

// uri returns the file as a SQLite URI. The WAL files get the mode of the database file.
func (f sqliteFile) uri() string {
	uri := "file:" + (&url.URL{Path: f.path}).EscapedPath() + "?_txlock=immediate&modeof=" + url.PathEscape(f.path)
	if f.vfs != "" {
		uri += "&vfs=" + f.vfs
	}
	return uri
}

// openSQLite opens the file and makes it readable by its owner only.
func openSQLite(f sqliteFile, encode encoder) (*sqliteBackend, error) {
	if err := os.MkdirAll(filepath.Dir(f.path), 0o700); err != nil {
		return nil, err
	}
	// SQLite creates the WAL index with the mode of the umask, so it is created here first.
	for _, path := range []string{f.path, f.path + "-shm"} {
		if err := ownerOnly(path); err != nil {
			return nil, err
		}
	}
	count := max(3, runtime.GOMAXPROCS(0))
	e := &sqliteBackend{
		dialect: sqliteDialect(),
		encode:  encode,
		readers: &sqliteReaders{free: make(chan struct{}, count)},
		units:   make(chan *writeUnit),
		stop:    make(chan struct{}),
		done:    make(chan struct{}),
		failed:  make(chan struct{}),
	}
	writer, err := e.connect(f)
	if err != nil {
		return nil, err
	}
	for range count {
		reader, err := e.connect(f)
		if err == nil {
			err = reader.Conn.Exec(`PRAGMA query_only = ON`)
		}
		if err != nil {
			return nil, joinErrors(err, e.closeAll())
		}
		e.readers.put(reader)
	}
	e.log = newCheckpointer(writer)
	go e.run(writer)
	return e, nil
}

// ownerOnly creates the file if it is missing and makes it readable by its owner only.
func ownerOnly(path string) error {
	file, err := os.OpenFile(path, os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return err
	}
	return errors.Join(file.Chmod(0o600), file.Close())
}

func (e *sqliteBackend) connect(f sqliteFile) (*sqliteConn, error) {
	c, err := sqlite3.Open(f.uri())
	if err != nil {
		return nil, err
	}
	conn := &sqliteConn{Conn: c, dialect: e.dialect, encode: e.encode, statements: map[string]*sqliteStmt{}}
	e.opened = append(e.opened, conn)
	return conn, f.configure(c)
}

// configure sets up a connection. With synchronous=FULL, acknowledged writes survive a power cut.
func (f sqliteFile) configure(c *sqlite3.Conn) error {
	// Plans must not depend on bound values: otherwise SQLite prepares a statement again for each
	// set of values, which costs more than running most of them.
	if _, err := c.Config(sqlite3.DBCONFIG_ENABLE_QPSG, true); err != nil {
		return err
	}
	for _, pragma := range []string{
		fmt.Sprintf(`PRAGMA busy_timeout = %d`, busyTimeout.Milliseconds()),
		`PRAGMA journal_mode = WAL`,
		`PRAGMA synchronous = ` + cmp.Or(f.synchronous, "FULL"),
		`PRAGMA cache_size = -12000`,
	} {
		err := c.Exec(pragma)
		// SQLite does not wait for another process that is switching the same new file to WAL.
		for start := time.Now(); errors.Is(err, sqlite3.BUSY) && time.Since(start) < busyTimeout; err = c.Exec(pragma) {
			time.Sleep(5 * time.Millisecond)
		}
		if err != nil {
			return fmt.Errorf("%s: %w", pragma, err)
		}
	}
	return nil
}

func (e *sqliteBackend) Query(ctx context.Context, sql string, each func(*Row) error, args ...any) error {
	return e.withReader(ctx, func(conn *sqliteConn) error { return conn.Query(ctx, sql, each, args...) })
}

func (e *sqliteBackend) read(ctx context.Context, fn func(Querier) error) error {
	return e.withReader(ctx, func(conn *sqliteConn) error {
		if err := conn.Later(ctx, `BEGIN`); err != nil {
			return err
		}
		defer func() {
			conn.SetInterrupt(context.Background()) // the transaction must end even if ctx is done
			if !conn.GetAutocommit() {
				_ = conn.Later(context.Background(), `ROLLBACK`) // nothing was written
			}
		}()
		return fn(conn)
	})
}

// withReader runs fn with a read connection.
func (e *sqliteBackend) withReader(ctx context.Context, fn func(*sqliteConn) error) error {
	started := timeWait(ctx)
	select {
	case <-e.readers.free:
		started()
	case <-e.stop:
		return unavailable(errClosed)
	case <-ctx.Done():
		return ctx.Err()
	}
	conn := e.readers.take()
	defer e.readers.put(conn)
	conn.SetInterrupt(ctx)
	return e.classify(fn(conn))
}

func (e *sqliteBackend) ping(ctx context.Context) error {
	select {
	case <-e.failed:
		return unavailable(errFailed)
	default:
	}
	return e.Query(ctx, `SELECT 1`, func(*Row) error { return nil })
}

// fence always passes: there is one writer, so transactions never overlap.
func (e *sqliteBackend) fence(context.Context, string) (func(context.Context) (bool, error), error) {
	return func(context.Context) (bool, error) { return true, nil }, nil
}

func (e *sqliteBackend) isDuplicate(err error) bool {
	return errors.Is(err, sqlite3.CONSTRAINT_PRIMARYKEY) || errors.Is(err, sqlite3.CONSTRAINT_UNIQUE)
}

// classify turns errors that a retry may fix into Unavailable.
func (e *sqliteBackend) classify(err error) error {
	for _, code := range []sqlite3.ErrorCode{
		sqlite3.BUSY, sqlite3.LOCKED, sqlite3.FULL, sqlite3.IOERR, sqlite3.CANTOPEN, sqlite3.READONLY, sqlite3.INTERRUPT,
	} {
		if errors.Is(err, code) {
			return unavailable(err)
		}
	}
	return err
}

func (e *sqliteBackend) close() (err error) {
	e.closing.Do(func() {
		close(e.stop)
		<-e.done
		for range cap(e.readers.free) {
			<-e.readers.free // returned when its query ends
		}
		err = e.closeAll()
	})
	return err
}

func (e *sqliteBackend) closeAll() error {
	var err error
	for _, c := range e.opened {
		err = errors.Join(err, c.close())
	}
	return err
}

// sqliteConn is a connection with its prepared statements.
type sqliteConn struct {
	*sqlite3.Conn
	dialect    *dialect
	encode     encoder
	statements map[string]*sqliteStmt
}

func (c *sqliteConn) statement(sql string) (*sqliteStmt, error) {
	if stmt, ok := c.statements[sql]; ok {
		return stmt, nil
	}
	prepared, _, err := c.PrepareFlags(c.dialect.sql(sql), sqlite3.PREPARE_PERSISTENT)
	if err != nil {
		return nil, fmt.Errorf("prepare %q: %w", sql, err)
	}
	stmt := &sqliteStmt{Stmt: prepared}
	stmt.row.columns = stmt
	c.statements[sql] = stmt
	return stmt, nil
}

func (c *sqliteConn) Query(_ context.Context, sql string, each func(*Row) error, args ...any) error {
	stmt, err := c.statement(sql)
	if err != nil {
		return err
	}
	defer stmt.Reset() //nolint:errcheck // repeats the error of the last step, which is returned below
	if err := c.bind(stmt, args); err != nil {
		return err
	}
	for stmt.Step() {
		stmt.row.next = 0
		if err := each(&stmt.row); err != nil {
			return err
		}
	}
	return stmt.Err()
}

func (c *sqliteConn) Exec(ctx context.Context, sql string, args ...any) (int64, error) {
	before := c.TotalChanges()
	err := c.Query(ctx, sql, func(*Row) error { return nil }, args...)
	return c.TotalChanges() - before, err
}

func (c *sqliteConn) Later(ctx context.Context, sql string, args ...any) error {
	_, err := c.Exec(ctx, sql, args...)
	return err
}

func (c *sqliteConn) Expect(ctx context.Context, refusal error, sql string, args ...any) error {
	rows, before := int64(0), c.TotalChanges()
	err := c.Query(ctx, sql, func(*Row) error { rows++; return nil }, args...)
	if err == nil && rows+c.TotalChanges()-before != 1 {
		err = refusal
	}
	return err
}

func (c *sqliteConn) close() error {
	var err error
	for _, stmt := range c.statements {
		err = errors.Join(err, stmt.Close())
	}
	return errors.Join(err, c.Conn.Close())
}

func (c *sqliteConn) bind(stmt *sqliteStmt, args []any) error {
	for i, arg := range args {
		var err error
		switch v := c.encode.value(arg).(type) {
		case nil:
			err = stmt.BindNull(i + 1)
		case int64:
			err = stmt.BindInt64(i+1, v)
		case string:
			err = stmt.BindText(i+1, v)
		case []byte:
			err = stmt.BindBlob(i+1, v)
		case warranty.ID:
			err = stmt.BindBlob(i+1, v[:])
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// sqliteStmt is a prepared statement and its current row.
type sqliteStmt struct {
	*sqlite3.Stmt
	row Row
}

func (s *sqliteStmt) null(i int) bool    { return s.ColumnType(i) == sqlite3.NULL }
func (s *sqliteStmt) int(i int) int64    { return s.ColumnInt64(i) }
func (s *sqliteStmt) text(i int) string  { return s.ColumnText(i) }
func (s *sqliteStmt) bytes(i int) []byte { return s.ColumnBlob(i, nil) }
func (s *sqliteStmt) id(i int) warranty.ID {
	var id warranty.ID
	copy(id[:], s.ColumnRawBlob(i))
	return id
}

// connections counts the connections for reads. There is one more for writes.
func (e *sqliteBackend) connections() (inUse, most int) {
	return cap(e.readers.free) - len(e.readers.free), cap(e.readers.free)
}
