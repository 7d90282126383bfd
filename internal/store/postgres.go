package store

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
	"github.com/jackc/pgx/v5/pgtype"
	"github.com/jackc/pgx/v5/pgxpool"

	"warranty.example/svc/warranty"
)

// postgresEngine is PostgreSQL, shared by replicas.
type postgresEngine struct {
	refusals
	dialect *dialect
	pool    *pgxpool.Pool
	pulse   *pulse
	// local sets the timeouts in each transaction, because connections are another
	// program's, such as PgBouncer's, and shared with others.
	local bool
}

const (
	minPool    = 16
	writeTries = 5
	// connectTimeout is for each host of the address.
	connectTimeout = 3 * time.Second
	// closeTime is above what a request may take, of which some may be under way.
	closeTime = 25 * time.Second
)

// Timeouts of the server, for transactions whose owner has gone or is frozen: their
// locks would hold up others for as long as it takes TCP to notice. They are above
// what any request may take, and migrations run without. Values that the address,
// the role or the database sets win. setTimeouts passes over what the server does
// not know: transaction_timeout came with PostgreSQL 17.
const (
	setTimeouts = `SELECT set_config(s.name, t.value, false) FROM pg_settings s JOIN (VALUES
			('idle_in_transaction_session_timeout', '10s'), ('lock_timeout', '10s'), ('statement_timeout', '60s'), ('transaction_timeout', '90s')
		) t (name, value) ON s.name = t.name WHERE s.source IN ('default', 'configuration file')`
	setLocalTimeouts = `SELECT set_config('idle_in_transaction_session_timeout', '10s', true), set_config('lock_timeout', '10s', true),
		set_config('statement_timeout', '60s', true)`
)

func openPostgres(ctx context.Context, url string) (*postgresEngine, error) {
	config, err := pgxpool.ParseConfig(url)
	if err != nil {
		return nil, errors.New("the PostgreSQL address is not well formed: write postgres://user:password@host:port/database")
	}
	switch config.ConnConfig.DefaultQueryExecMode {
	case pgx.QueryExecModeExec, pgx.QueryExecModeSimpleProtocol:
		return nil, errors.New("default_query_exec_mode must be cache_statement, or cache_describe behind PgBouncer")
	}
	if !strings.Contains(url, "pool_max_conns") {
		config.MaxConns = max(config.MaxConns, minPool)
	}
	if config.ConnConfig.ConnectTimeout == 0 || !strings.Contains(url, "connect_timeout") {
		config.ConnConfig.ConnectTimeout = connectTimeout
	}
	if config.ConnConfig.ValidateConnect == nil { // of several hosts, the one that can be written to
		config.ConnConfig.ValidateConnect = pgconn.ValidateConnectTargetSessionAttrsReadWrite
	}
	e := &postgresEngine{dialect: postgresDialect(), local: config.ConnConfig.DefaultQueryExecMode == pgx.QueryExecModeCacheDescribe}
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

func (e *postgresEngine) query(ctx context.Context, sql string, each func(Row) error, args ...any) error {
	ctx, done := e.pulse.guard(ctx)
	defer done()
	var err error
	for range 2 {
		// A connection that died while it was idle shows only when it is used: try
		// another, unless a row was handed out already, which would come a second time.
		handedOut := false
		var rows pgx.Rows
		rows, err = e.pool.Query(ctx, e.dialect.sql(sql), pgArgs(args)...)
		if err == nil {
			err = eachRow(rows, func(r Row) error { handedOut = true; return each(r) })
		}
		if err == nil || handedOut || ctx.Err() != nil || !lostConnection(err) {
			break
		}
	}
	return e.outcome(ctx, err)
}

// outcome notes that the server has answered, or explains why it did not.
func (e *postgresEngine) outcome(guarded context.Context, err error) error {
	if err == nil || sqlState(err) != "" {
		e.pulse.heard()
	} else if errors.Is(context.Cause(guarded), errSilent) {
		return unavailable(errSilent)
	} else if guarded.Err() == nil && errors.Is(err, context.Canceled) {
		return unavailable(err) // the pool was closed while it made a connection
	}
	return explainPostgres(err)
}

func eachRow(rows pgx.Rows, each func(Row) error) error {
	defer rows.Close()
	row := &postgresRow{}
	for rows.Next() {
		row.values = rows.RawValues()
		if err := each(row); err != nil {
			return err
		}
	}
	return rows.Err()
}

func (e *postgresEngine) write(ctx context.Context, fn func(engineTx) error) error {
	ctx, done := e.pulse.guard(ctx)
	defer done()
	for try := 1; ; try++ {
		again, err := e.writeOnce(ctx, fn)
		if slices.Contains(diskFails, sqlState(err)) {
			e.note()
		}
		if err == nil || !again || try == writeTries || ctx.Err() != nil {
			return e.outcome(ctx, err)
		}
		time.Sleep(time.Duration(try) * 5 * time.Millisecond)
	}
}

// writeOnce tries the unit and tells whether it may be tried again: not once the
// commit was sent and the answer was lost, because then nobody knows.
func (e *postgresEngine) writeOnce(ctx context.Context, fn func(engineTx) error) (again bool, err error) {
	conn, err := e.pool.Acquire(ctx)
	if err != nil {
		return lostConnection(err), err
	}
	defer conn.Release()
	tx := &postgresTx{engine: e, conn: conn, ctx: ctx}
	defer func() {
		if p := recover(); p != nil {
			again, err = false, also(fmt.Errorf("panic in a transaction: %v", p), tx.rollback(ctx))
		}
	}()
	if err = fn(tx); err != nil {
		again = serialization(err) || lostConnection(err)
		return again, also(err, tx.rollback(ctx))
	}
	if !tx.begun && len(tx.queue) == 0 {
		return false, nil // it wrote nothing
	}
	// What is expected must be seen before the commit is on its way.
	if tx.expects() {
		if err = tx.flush(ctx, nil); err != nil {
			again = serialization(err) || lostConnection(err)
			return again, also(err, tx.rollback(ctx))
		}
	}
	tx.queue = append(tx.queue, statement{sql: `COMMIT`})
	if err = tx.flush(ctx, nil); err != nil {
		again = serialization(err)
		return again, also(err, tx.rollback(ctx))
	}
	return false, nil
}

func (e *postgresEngine) ping(ctx context.Context) error {
	ctx, done := e.pulse.guard(ctx)
	defer done()
	return e.outcome(ctx, e.pool.Ping(ctx))
}

// writersOfAccess are the transactions that have written an access row, or are about
// to: each holds this lock until it has ended and what it wrote can be seen.
const writersOfAccess = `FROM pg_locks WHERE locktype = 'relation' AND relation = 'access'::regclass AND mode = 'RowExclusiveLock' AND granted
	AND database = (SELECT oid FROM pg_database WHERE datname = current_database())`

// fence notes who writes now. It waits as CREATE INDEX CONCURRENTLY does, by locks
// and not by the age of transactions, so that a long one that is not ours, or only
// reads, holds nothing up.
func (e *postgresEngine) fence(ctx context.Context) (func(context.Context) (bool, error), error) {
	var writers []string
	err := e.query(ctx, `SELECT DISTINCT virtualtransaction `+writersOfAccess, func(r Row) error {
		writers = append(writers, r.Text(0))
		return nil
	})
	if err != nil {
		return nil, err
	}
	names, err := json.Marshal(writers)
	return func(ctx context.Context) (passed bool, err error) {
		if len(writers) == 0 {
			return true, nil
		}
		err = one(ctx, e, `SELECT count(*) `+writersOfAccess+` AND virtualtransaction IN (SELECT json_array_elements_text($1))`,
			func(r Row) { passed = r.Int(0) == 0 }, string(names))
		return passed, err
	}, err
}

func (e *postgresEngine) close() error {
	e.pulse.close()
	closed := make(chan struct{})
	go func() {
		e.pool.Close()
		close(closed)
	}()
	select {
	case <-closed:
	case <-time.After(closeTime): // connections to a frozen server close in their own time
	}
	return nil
}

func (e *postgresEngine) isDuplicate(err error) bool { return sqlState(err) == "23505" }

func sqlState(err error) string {
	var pg *pgconn.PgError
	if errors.As(err, &pg) {
		return pg.Code
	}
	return ""
}

func serialization(err error) bool { return slices.Contains([]string{"40001", "40P01"}, sqlState(err)) }

// endsConnection are the states after which a connection is of no use: it is to a
// server that is not written to, or was idle or busy for too long.
var endsConnection = []string{"25006", "25P03", "25P04"}

// diskFails are the states of a write that the server's disk refused: full, or failing.
var diskFails = []string{"53100", "58030"}

// gaveUp are the states of a statement that the server has ended in time: it waited
// for a lock, or took too long.
var gaveUp = []string{"55P03", "57014"}

// lostConnection tells errors of the way to the database, not of the statement.
func lostConnection(err error) bool {
	var network net.Error
	var connect *pgconn.ConnectError
	state := sqlState(err)
	return strings.HasPrefix(state, "08") || strings.HasPrefix(state, "57P0") || slices.Contains(endsConnection, state) || pgconn.SafeToRetry(err) ||
		errors.As(err, &network) || errors.As(err, &connect) ||
		slices.ContainsFunc([]string{"conn closed", "closed pool", "unexpected EOF"}, func(gone string) bool {
			return strings.Contains(fmt.Sprint(err), gone)
		})
}

func explainPostgres(err error) error {
	if err == nil {
		return nil
	}
	if lostConnection(err) || serialization(err) || slices.Contains(gaveUp, sqlState(err)) || strings.HasPrefix(sqlState(err), "53") || strings.HasPrefix(sqlState(err), "58") {
		return unavailable(err)
	}
	if slices.Contains(otherConnection, sqlState(err)) {
		return unavailable(fmt.Errorf("%w; behind a pooler in transaction mode, add default_query_exec_mode=cache_describe to the address", err))
	}
	return err
}

// otherConnection is what a server says about a prepared statement that another
// connection of a pooler has, or this one already.
var otherConnection = []string{"26000", "42P05"}

// statement is one that waits to be sent.
type statement struct {
	sql     string
	args    []any
	refusal error // when it does not find or change one row; nil when that does not matter
}

// postgresTx sends what waits together with what is asked, BEGIN and COMMIT
// included: a create is two round trips and not nine.
type postgresTx struct {
	engine *postgresEngine
	conn   *pgxpool.Conn
	ctx    context.Context // of the whole transaction; ends when the server falls silent
	queue  []statement
	begun  bool
}

func (t *postgresTx) later(_ context.Context, sql string, args ...any) error {
	t.queue = append(t.queue, statement{sql: t.engine.dialect.sql(sql), args: pgArgs(args)})
	return nil
}

func (t *postgresTx) expect(_ context.Context, refusal error, sql string, args ...any) error {
	t.queue = append(t.queue, statement{sql: t.engine.dialect.sql(sql), args: pgArgs(args), refusal: refusal})
	return nil
}

func (t *postgresTx) expects() bool {
	return slices.ContainsFunc(t.queue, func(s statement) bool { return s.refusal != nil })
}

func (t *postgresTx) exec(ctx context.Context, sql string, args ...any) (int64, error) {
	var count int64
	t.queue = append(t.queue, statement{sql: t.engine.dialect.sql(sql), args: pgArgs(args)})
	err := t.flush(ctx, func(results pgx.BatchResults) error {
		tag, err := results.Exec()
		count = tag.RowsAffected()
		return err
	})
	return count, err
}

func (t *postgresTx) query(ctx context.Context, sql string, each func(Row) error, args ...any) error {
	t.queue = append(t.queue, statement{sql: t.engine.dialect.sql(sql), args: pgArgs(args)})
	return t.flush(ctx, func(results pgx.BatchResults) error {
		rows, err := results.Query()
		if err != nil {
			return err
		}
		return eachRow(rows, each)
	})
}

// flush sends all that waits in one go. last reads the result of the last
// statement; nil when nobody asks for it.
func (t *postgresTx) flush(_ context.Context, last func(pgx.BatchResults) error) (err error) {
	if !t.begun {
		// Each statement has to see what was committed before it, whatever the
		// database's default is: a write looks at its credential, and at a list's horizon,
		// after it has locked.
		first := []statement{{sql: `BEGIN ISOLATION LEVEL READ COMMITTED`}}
		if t.engine.local {
			first = append(first, statement{sql: setLocalTimeouts})
		}
		t.queue = slices.Insert(t.queue, 0, first...)
	}
	var batch pgx.Batch
	for _, s := range t.queue {
		batch.Queue(s.sql, s.args...)
	}
	sent := t.queue
	t.begun, t.queue = true, nil
	results := t.conn.SendBatch(t.ctx, &batch)
	defer func() {
		if closing := results.Close(); err == nil {
			err = closing
		}
		if err == nil {
			t.engine.pulse.heard()
		}
		if slices.Contains(endsConnection, sqlState(err)) {
			hangUp(t.conn.Conn())
		}
	}()
	if last != nil {
		sent = sent[:len(sent)-1]
	}
	for _, s := range sent {
		tag, err := results.Exec()
		if err != nil {
			return err
		}
		if s.refusal != nil && tag.RowsAffected() != 1 {
			return s.refusal
		}
	}
	if last == nil {
		return nil
	}
	return last(results)
}

// rollback undoes the transaction. A connection on which that fails is not used again.
func (t *postgresTx) rollback(ctx context.Context) error {
	if !t.begun || t.conn.Conn().IsClosed() {
		return nil
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), 2*time.Second)
	defer cancel()
	if _, err := t.conn.Exec(ctx, `ROLLBACK`); err != nil {
		hangUp(t.conn.Conn())
	}
	return nil
}

func pgArgs(args []any) []any {
	out := make([]any, len(args))
	for i, arg := range args {
		out[i] = plain(arg)
		if id, ok := out[i].(warranty.ID); ok {
			out[i] = pgtype.UUID{Bytes: id, Valid: true}
		}
	}
	return out
}

// postgresRow reads the binary values as they came: that is all that scanning does, without its cost.
type postgresRow struct{ values [][]byte }

func (r *postgresRow) Null(i int) bool { return r.values[i] == nil }

func (r *postgresRow) Int(i int) int64 {
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

func (r *postgresRow) Text(i int) string  { return string(r.values[i]) }
func (r *postgresRow) Bytes(i int) []byte { return slices.Clone(r.values[i]) }
func (r *postgresRow) ID(i int) warranty.ID {
	var id warranty.ID
	copy(id[:], r.values[i])
	return id
}
