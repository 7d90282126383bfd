package engine

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"
)

// ErrUnfinished refuses a PostgreSQL database into which a restore was started and not finished.
var ErrUnfinished = errors.New("a restore or copy into this database was not finished; repeat the command, " +
	"or drop the table " + unfinishedTable + " to use the database empty")

// unfinishedTable marks a PostgreSQL database into which Create loads rows. Create drops it in its transaction, so that
// what a killed process leaves is not taken for an empty database. Its row is the attempt that Create was given.
const unfinishedTable = "svcd_unfinished_restore"

// hasUnfinished counts the markers in the schema.
const hasUnfinished = `SELECT count(*) FROM pg_class WHERE relname = '` + unfinishedTable + `'
	AND relnamespace = to_regnamespace(current_schema())`

// checkFinished returns ErrUnfinished if the database has a marker.
func (e *postgresBackend) checkFinished(ctx context.Context) error {
	var count int64
	err := e.Query(ctx, hasUnfinished, func(r *Row) error { count = r.Int(); return nil })
	if err == nil && count > 0 {
		err = ErrUnfinished
	}
	return err
}

// unfinishedPatience is how long a restore waits for an earlier one, which may have been killed while PostgreSQL commits.
const unfinishedPatience = time.Minute

// Unfinished returns the attempt of an earlier Create on a PostgreSQL database that was killed, or "". If PostgreSQL still
// runs the transaction of that attempt, it waits for its end.
func Unfinished(ctx context.Context, url string) (attempt string, err error) {
	config, err := ParsePostgres(url)
	if err != nil {
		return "", fmt.Errorf("the PostgreSQL URL %w", err)
	}
	conn, err := pgx.ConnectConfig(ctx, config.ConnConfig)
	if err != nil {
		return "", err
	}
	defer func() { err = errors.Join(err, conn.Close(context.WithoutCancel(ctx))) }() // the transaction has only read
	p := &postgresLoad{conn: conn, dialect: postgresDialect()}
	if err := p.script(ctx, `BEGIN`); err != nil {
		return "", err
	}
	var count int64
	err = p.Query(ctx, hasUnfinished, func(r *Row) error { count = r.Int(); return nil })
	if err != nil || count == 0 {
		return "", err
	}
	if err := p.lockUnfinished(ctx); err != nil {
		if sqlState(err) == "42P01" { // it has just been finished
			err = nil
		}
		return "", err
	}
	err = p.Query(ctx, `SELECT attempt FROM `+unfinishedTable, func(r *Row) error { attempt = r.Text(); return nil })
	return attempt, err
}

// lockUnfinished locks the marker in a transaction. It can still be read.
func (p *postgresLoad) lockUnfinished(ctx context.Context) error {
	err := p.script(ctx, fmt.Sprintf(`SET LOCAL lock_timeout = %d; LOCK TABLE %s IN SHARE ROW EXCLUSIVE MODE`,
		unfinishedPatience.Milliseconds(), unfinishedTable))
	if sqlState(err) == "55P03" {
		return errors.New("another restore or copy into this database is running")
	}
	return err
}

// begin marks the database before anything is loaded.
func (p *postgresLoad) begin(ctx context.Context, attempt string) error {
	err := p.script(ctx, `BEGIN; CREATE TABLE IF NOT EXISTS `+unfinishedTable+` (attempt TEXT NOT NULL)`)
	if err == nil {
		err = p.lockUnfinished(ctx)
	}
	if err == nil {
		err = p.script(ctx, `DELETE FROM `+unfinishedTable)
	}
	if err == nil {
		err = p.exec(ctx, `INSERT INTO `+unfinishedTable+` (attempt) VALUES ($1)`, attempt)
	}
	if err == nil {
		err = p.script(ctx, `COMMIT`)
	}
	return err
}

// abandon removes the marker after an error: nothing was loaded.
func (p *postgresLoad) abandon(ctx context.Context) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), 5*time.Second)
	defer cancel()
	if p.script(ctx, `ROLLBACK`) == nil {
		_ = p.script(ctx, `DROP TABLE IF EXISTS `+unfinishedTable) // or the next attempt drops it
	}
}
