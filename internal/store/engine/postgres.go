package engine

import (
	"context"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"slices"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"

	"warranty.example/svc/warranty"
)

// postgresBackend is PostgreSQL, shared by replicas.
type postgresBackend struct {
	writeFailures
	writeTimes
	dialect *dialect
	encode  encoder
	pool    *pgxpool.Pool
	pulse   *pulse
	// local sets the timeouts in each transaction, because a pooler such as PgBouncer shares its
	// connections with other programs.
	local bool
}

const (
	minPool    = 16
	writeTries = 5
	// connectTimeout applies to each host of the address.
	connectTimeout = 3 * time.Second
	// closeTimeout is longer than a request may take.
	closeTimeout = 25 * time.Second
)

// Server timeouts for transactions whose client is gone or frozen: otherwise their locks would
// block others until TCP notices. They are longer than any request may take. Migrations run without
// them. Values set by the address, the role or the database take precedence. setTimeouts skips
// settings unknown to the server: transaction_timeout was added in PostgreSQL 17.
const (
	setTimeouts = `SELECT set_config(s.name, t.value, false) FROM pg_settings s JOIN (VALUES
			('idle_in_transaction_session_timeout', '10s'), ('lock_timeout', '10s'),
			('statement_timeout', '60s'), ('transaction_timeout', '90s')
		) t (name, value) ON s.name = t.name WHERE s.source IN ('default', 'configuration file')`
	setLocalTimeouts = `SELECT set_config('idle_in_transaction_session_timeout', '10s', true),
		set_config('lock_timeout', '10s', true), set_config('statement_timeout', '60s', true)`
)

func openPostgres(ctx context.Context, url string, encode encoder) (*postgresBackend, error) {
	config, err := ParsePostgres(url)
	if err != nil {
		return nil, fmt.Errorf("the PostgreSQL URL %w", err)
	}
	if !strings.Contains(url, "pool_max_conns") {
		config.MaxConns = max(config.MaxConns, minPool)
	}
	if config.ConnConfig.ConnectTimeout == 0 || !strings.Contains(url, "connect_timeout") {
		config.ConnConfig.ConnectTimeout = connectTimeout
	}
	if config.ConnConfig.ValidateConnect == nil { // with several hosts, use the primary
		config.ConnConfig.ValidateConnect = pgconn.ValidateConnectTargetSessionAttrsReadWrite
	}
	e := &postgresBackend{
		dialect: postgresDialect(),
		encode:  encode,
		local:   config.ConnConfig.DefaultQueryExecMode == pgx.QueryExecModeCacheDescribe,
	}
	e.pulse = newPulse(func() { e.pool.Reset() })
	config.ConnConfig.DialFunc = e.pulse.dial
	watched := config.ConnConfig.Copy()
	if !e.local {
		config.AfterConnect = func(ctx context.Context, conn *pgx.Conn) error {
			_, err := conn.Exec(ctx, setTimeouts)
			return err
		}
	}
	if e.pool, err = pgxpool.NewWithConfig(ctx, config); err != nil {
		return nil, fmt.Errorf("open PostgreSQL: %w", err)
	}
	e.pulse.start(watched)
	return e, nil
}

func (e *postgresBackend) Query(ctx context.Context, sql string, each func(*Row) error, args ...any) error {
	ctx, done := e.pulse.guard(ctx)
	defer done()
	var err error
	for range 2 {
		// A connection that died while idle fails only when used. Try another one, unless a row was
		// already passed to each, which would get it twice.
		delivered := false
		var rows pgx.Rows
		rows, err = e.pool.Query(ctx, e.dialect.sql(sql), e.args(args)...)
		if err == nil {
			err = eachRow(rows, func(r *Row) error { delivered = true; return each(r) })
		}
		if err == nil || delivered || ctx.Err() != nil || !lostConnection(err) {
			break
		}
	}
	return e.outcome(ctx, err)
}

// outcome records that the server answered, or classifies why it did not.
func (e *postgresBackend) outcome(guarded context.Context, err error) error {
	if err == nil || sqlState(err) != "" {
		e.pulse.noteResponse()
	} else if errors.Is(context.Cause(guarded), errNotResponding) {
		return unavailable(errNotResponding)
	} else if guarded.Err() == nil && errors.Is(err, context.Canceled) {
		return unavailable(err) // the pool was closed while connecting
	}
	return classifyPostgres(err)
}

func eachRow(rows pgx.Rows, each func(*Row) error) error {
	defer rows.Close()
	row := &postgresRow{}
	row.columns = row
	for rows.Next() {
		row.values, row.next = rows.RawValues(), 0
		if err := each(&row.Row); err != nil {
			return err
		}
	}
	return rows.Err()
}

// read retries once if a connection that died while idle fails.
func (e *postgresBackend) read(ctx context.Context, fn func(Querier) error) error {
	ctx, done := e.pulse.guard(ctx)
	defer done()
	err := e.readOnce(ctx, fn)
	if err != nil && ctx.Err() == nil && (lostConnection(err) || isSerializationFailure(err)) {
		err = e.readOnce(ctx, fn)
	}
	return e.outcome(ctx, err)
}

func (e *postgresBackend) readOnce(ctx context.Context, fn func(Querier) error) (err error) {
	conn, err := e.pool.Acquire(ctx)
	if err != nil {
		return err
	}
	defer conn.Release()
	tx := &postgresTx{backend: e, conn: conn, ctx: ctx, begin: `BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY`}
	defer func() { err = joinErrors(err, tx.rollback(ctx)) }() // nothing was written
	return fn(tx)
}

func (e *postgresBackend) write(ctx context.Context, fn func(Tx) error) error {
	ctx, done := e.pulse.guard(ctx)
	defer done()
	for try := 1; ; try++ {
		retry, err := e.writeOnce(ctx, fn)
		if slices.Contains(diskErrors, sqlState(err)) {
			e.note()
		}
		if err == nil || !retry || try == writeTries || ctx.Err() != nil {
			return e.outcome(ctx, err)
		}
		time.Sleep(time.Duration(try) * 5 * time.Millisecond)
	}
}

// writeOnce runs the transaction once and reports whether it may be retried. It may not once the
// commit was sent and the response was lost, because its outcome is unknown.
func (e *postgresBackend) writeOnce(ctx context.Context, fn func(Tx) error) (retry bool, err error) {
	started := timeWait(ctx)
	conn, err := e.pool.Acquire(ctx)
	started()
	if err != nil {
		return lostConnection(err), err
	}
	defer conn.Release()
	defer e.began()()
	// Each statement must see everything committed before it, regardless of the database's default: a
	// write checks its credential, and a list's horizon, after locking.
	tx := &postgresTx{backend: e, conn: conn, ctx: ctx, begin: `BEGIN ISOLATION LEVEL READ COMMITTED`}
	defer func() {
		if p := recover(); p != nil {
			retry, err = false, joinErrors(fmt.Errorf("panic in a transaction: %v", p), tx.rollback(ctx))
		}
	}()
	if err = fn(tx); err != nil {
		retry = isSerializationFailure(err) || lostConnection(err)
		return retry, joinErrors(err, tx.rollback(ctx))
	}
	if !tx.began && len(tx.queue) == 0 {
		return false, nil // nothing was written
	}
	// Check the expectations before sending the commit.
	if tx.hasExpectations() {
		if err = tx.flush(ctx, nil); err != nil {
			retry = isSerializationFailure(err) || lostConnection(err)
			return retry, joinErrors(err, tx.rollback(ctx))
		}
	}
	tx.queue = append(tx.queue, statement{sql: `COMMIT`})
	if err = tx.flush(ctx, nil); err != nil {
		retry = isSerializationFailure(err)
		return retry, joinErrors(err, tx.rollback(ctx))
	}
	return false, nil
}

func (e *postgresBackend) ping(ctx context.Context) error {
	ctx, done := e.pulse.guard(ctx)
	defer done()
	return e.outcome(ctx, e.pool.Ping(ctx))
}

// tableWriters selects the transactions that have written to table $1 or are about to. Each holds
// this lock until it has ended and its rows are visible.
const tableWriters = `FROM pg_locks WHERE locktype = 'relation' AND relation = $1::text::regclass
	AND mode = 'RowExclusiveLock' AND granted
	AND database = (SELECT oid FROM pg_database WHERE datname = current_database())`

// fence records the current writers. Like CREATE INDEX CONCURRENTLY, it waits by lock and not by
// transaction age, so a long transaction that only reads, or is not ours, does not block it.
func (e *postgresBackend) fence(ctx context.Context, table string) (func(context.Context) (bool, error), error) {
	var writers []string
	err := e.Query(ctx, `SELECT DISTINCT virtualtransaction `+tableWriters, func(r *Row) error {
		writers = append(writers, r.Text())
		return nil
	}, table)
	if err != nil {
		return nil, err
	}
	names, err := json.Marshal(writers)
	return func(ctx context.Context) (passed bool, err error) {
		if len(writers) == 0 {
			return true, nil
		}
		err = e.Query(ctx, `SELECT count(*) `+tableWriters+`
			AND virtualtransaction IN (SELECT json_array_elements_text($2))`,
			func(r *Row) error { passed = r.Int() == 0; return nil }, table, string(names))
		return passed, err
	}, err
}

func (e *postgresBackend) close() error {
	e.pulse.close()
	closed := make(chan struct{})
	go func() {
		e.pool.Close()
		close(closed)
	}()
	select {
	case <-closed:
	case <-time.After(closeTimeout): // connections to a frozen server are left to TCP
	}
	return nil
}

func (e *postgresBackend) isDuplicate(err error) bool { return sqlState(err) == "23505" }

func sqlState(err error) string {
	var pg *pgconn.PgError
	if errors.As(err, &pg) {
		return pg.Code
	}
	return ""
}

func isSerializationFailure(err error) bool {
	return slices.Contains([]string{"40001", "40P01"}, sqlState(err))
}

// connectionUnusable lists the SQLSTATEs after which a connection is closed: its server is
// read-only, or it was idle or busy for too long.
var connectionUnusable = []string{"25006", "25P03", "25P04"}

// diskErrors lists the SQLSTATEs of writes rejected because the disk is full or failing.
var diskErrors = []string{"53100", "58030"}

// timedOut lists the SQLSTATEs of statements canceled by a lock or statement timeout.
var timedOut = []string{"55P03", "57014"}

// lostConnection reports whether err is about the connection, not the statement.
func lostConnection(err error) bool {
	var network net.Error
	var connect *pgconn.ConnectError
	state := sqlState(err)
	return strings.HasPrefix(state, "08") || strings.HasPrefix(state, "57P0") ||
		slices.Contains(connectionUnusable, state) || pgconn.SafeToRetry(err) ||
		errors.As(err, &network) || errors.As(err, &connect) ||
		slices.ContainsFunc([]string{"conn closed", "closed pool", "unexpected EOF"}, func(gone string) bool {
			return strings.Contains(fmt.Sprint(err), gone)
		})
}

// classifyPostgres turns errors that a retry may fix into Unavailable.
func classifyPostgres(err error) error {
	if err == nil {
		return nil
	}
	state := sqlState(err)
	if lostConnection(err) || isSerializationFailure(err) || slices.Contains(timedOut, state) ||
		strings.HasPrefix(state, "53") || strings.HasPrefix(state, "58") {
		return unavailable(err)
	}
	if slices.Contains(poolerErrors, state) {
		return unavailable(fmt.Errorf("%w; behind a pooler in transaction mode, "+
			"add default_query_exec_mode=cache_describe to the address", err))
	}
	return err
}

// poolerErrors lists the SQLSTATEs for a prepared statement that belongs to another connection of a
// pooler, or already exists.
var poolerErrors = []string{"26000", "42P05"}

// postgresRow reads the binary values directly, without the cost of scanning.
type postgresRow struct {
	Row
	values [][]byte
}

func (r *postgresRow) null(i int) bool { return r.values[i] == nil }

func (r *postgresRow) int(i int) int64 {
	switch v := r.values[i]; len(v) {
	case 8:
		return int64(binary.BigEndian.Uint64(v))
	case 4:
		return int64(int32(binary.BigEndian.Uint32(v)))
	case 2:
		return int64(int16(binary.BigEndian.Uint16(v)))
	}
	return 0
}

func (r *postgresRow) text(i int) string  { return string(r.values[i]) }
func (r *postgresRow) bytes(i int) []byte { return slices.Clone(r.values[i]) }
func (r *postgresRow) id(i int) warranty.ID {
	var id warranty.ID
	copy(id[:], r.values[i])
	return id
}

func (e *postgresBackend) connections() (inUse, most int) {
	stat := e.pool.Stat()
	return int(stat.AcquiredConns()), int(stat.MaxConns())
}
