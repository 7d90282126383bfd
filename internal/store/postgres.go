package store

import (
	"context"
	"encoding/binary"
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
	dialect *dialect
	pool    *pgxpool.Pool
}

const (
	minPool    = 16
	writeTries = 5
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
	if config.ConnConfig.ConnectTimeout == 0 {
		config.ConnConfig.ConnectTimeout = 5 * time.Second
	}
	pool, err := pgxpool.NewWithConfig(ctx, config)
	if err != nil {
		return nil, fmt.Errorf("open PostgreSQL: %w", err)
	}
	return &postgresEngine{dialect: postgresDialect(), pool: pool}, nil
}

func (e *postgresEngine) query(ctx context.Context, sql string, each func(Row) error, args ...any) error {
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
	for try := 1; ; try++ {
		again, err := e.writeOnce(ctx, fn)
		if err == nil || !again || try == writeTries || ctx.Err() != nil {
			return explainPostgres(err)
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
	tx := &postgresTx{engine: e, conn: conn}
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
	return explainPostgres(e.pool.Ping(ctx))
}

func (e *postgresEngine) close() error {
	e.pool.Close()
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

// lostConnection tells errors of the way to the database, not of the statement.
func lostConnection(err error) bool {
	var network net.Error
	var connect *pgconn.ConnectError
	state := sqlState(err)
	return strings.HasPrefix(state, "08") || strings.HasPrefix(state, "57P0") || state == "25006" || pgconn.SafeToRetry(err) ||
		errors.As(err, &network) || errors.As(err, &connect) ||
		slices.ContainsFunc([]string{"conn closed", "closed pool", "unexpected EOF"}, func(gone string) bool {
			return strings.Contains(fmt.Sprint(err), gone)
		})
}

func explainPostgres(err error) error {
	if err == nil {
		return nil
	}
	if lostConnection(err) || serialization(err) || strings.HasPrefix(sqlState(err), "53") || strings.HasPrefix(sqlState(err), "58") {
		return unavailable(err)
	}
	return err
}

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
func (t *postgresTx) flush(ctx context.Context, last func(pgx.BatchResults) error) (err error) {
	if !t.begun {
		t.queue = slices.Insert(t.queue, 0, statement{sql: `BEGIN`})
	}
	var batch pgx.Batch
	for _, s := range t.queue {
		batch.Queue(s.sql, s.args...)
	}
	sent := t.queue
	t.begun, t.queue = true, nil
	results := t.conn.SendBatch(ctx, &batch)
	defer func() {
		if closing := results.Close(); err == nil {
			err = closing
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
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), 5*time.Second)
	defer cancel()
	if _, err := t.conn.Exec(ctx, `ROLLBACK`); err != nil {
		return t.conn.Conn().Close(ctx)
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
