package engine

import (
	"context"
	"slices"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgtype"
	"github.com/jackc/pgx/v5/pgxpool"

	"warranty.example/svc/warranty"
)

// statement is a statement waiting to be sent.
type statement struct {
	sql     string
	args    []any
	refusal error // error unless it finds or changes one row; nil for no check
}

// postgresTx batches statements, including BEGIN and COMMIT, until a result is needed: a create
// takes two round trips instead of nine.
type postgresTx struct {
	backend *postgresBackend
	conn    *pgxpool.Conn
	ctx     context.Context // canceled when the server stops responding
	begin   string
	queue   []statement
	began   bool
}

func (t *postgresTx) Later(_ context.Context, sql string, args ...any) error {
	t.queue = append(t.queue, statement{sql: t.backend.dialect.sql(sql), args: t.backend.args(args)})
	return nil
}

func (t *postgresTx) Expect(_ context.Context, refusal error, sql string, args ...any) error {
	t.queue = append(t.queue, statement{sql: t.backend.dialect.sql(sql), args: t.backend.args(args), refusal: refusal})
	return nil
}

func (t *postgresTx) hasExpectations() bool {
	return slices.ContainsFunc(t.queue, func(s statement) bool { return s.refusal != nil })
}

func (t *postgresTx) Exec(ctx context.Context, sql string, args ...any) (int64, error) {
	var count int64
	t.queue = append(t.queue, statement{sql: t.backend.dialect.sql(sql), args: t.backend.args(args)})
	err := t.flush(ctx, func(results pgx.BatchResults) error {
		tag, err := results.Exec()
		count = tag.RowsAffected()
		return err
	})
	return count, err
}

func (t *postgresTx) Query(ctx context.Context, sql string, each func(*Row) error, args ...any) error {
	t.queue = append(t.queue, statement{sql: t.backend.dialect.sql(sql), args: t.backend.args(args)})
	return t.flush(ctx, func(results pgx.BatchResults) error {
		rows, err := results.Query()
		if err != nil {
			return err
		}
		return eachRow(rows, each)
	})
}

// flush sends the queue in one batch. last reads the result of the last statement; it may be nil.
func (t *postgresTx) flush(_ context.Context, last func(pgx.BatchResults) error) (err error) {
	if !t.began {
		first := []statement{{sql: t.begin}}
		if t.backend.local {
			first = append(first, statement{sql: setLocalTimeouts})
		}
		t.queue = slices.Insert(t.queue, 0, first...)
	}
	var batch pgx.Batch
	for _, s := range t.queue {
		batch.Queue(s.sql, s.args...)
	}
	sent := t.queue
	t.began, t.queue = true, nil
	results := t.conn.SendBatch(t.ctx, &batch)
	defer func() {
		if closing := results.Close(); err == nil {
			err = closing
		}
		if err == nil {
			t.backend.pulse.noteResponse()
		}
		if slices.Contains(connectionUnusable, sqlState(err)) {
			closeNow(t.conn.Conn())
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

// rollback rolls the transaction back. If that fails, the connection is closed.
func (t *postgresTx) rollback(ctx context.Context) error {
	if !t.began || t.conn.Conn().IsClosed() {
		return nil
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), 2*time.Second)
	defer cancel()
	if _, err := t.conn.Exec(ctx, `ROLLBACK`); err != nil {
		closeNow(t.conn.Conn())
	}
	return nil
}

func (e *postgresBackend) args(args []any) []any {
	out := make([]any, len(args))
	for i, arg := range args {
		out[i] = e.encode.value(arg)
		if id, ok := out[i].(warranty.ID); ok {
			out[i] = pgtype.UUID{Bytes: id, Valid: true}
		}
	}
	return out
}
