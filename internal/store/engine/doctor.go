package engine

import (
	"context"
	"errors"
	"fmt"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/ncruces/go-sqlite3"
)

// IsDamaged reports whether err says that a SQLite file is cut off, overwritten or not a database.
func IsDamaged(err error) bool {
	return errors.Is(err, sqlite3.CORRUPT) || errors.Is(err, sqlite3.NOTADB)
}

// IsDiskError reports whether err says that SQLite could not read or write its files.
func IsDiskError(err error) bool {
	return errors.Is(err, sqlite3.FULL) || errors.Is(err, sqlite3.IOERR) || errors.Is(err, sqlite3.CANTOPEN)
}

// OldestBinary returns the lowest schema that a binary must know to run on this one.
func (db *DB) OldestBinary(ctx context.Context) (oldest int64, err error) {
	err = db.Query(ctx, `SELECT oldest FROM schema_compatibility`, func(r *Row) error { oldest = r.Int(); return nil })
	return oldest, err
}

// SharesConnections reports whether a pooler in transaction mode stands between this process and PostgreSQL, and the
// address lacks the setting that it needs. A pooler in session mode needs none.
func SharesConnections(ctx context.Context, url string) (bool, error) {
	config, err := ParsePostgres(url)
	if err != nil {
		return false, fmt.Errorf("the PostgreSQL URL %w", err)
	}
	if config.ConnConfig.DefaultQueryExecMode == pgx.QueryExecModeCacheDescribe {
		return false, nil
	}
	const conns, rounds = 2, 3
	owners := map[string]int{} // the connection that used a server process
	served := [conns]string{}  // the server process of a connection
	var open [conns]*pgconn.PgConn
	for i := range conns {
		conn, err := pgconn.ConnectConfig(ctx, &config.ConnConfig.Config)
		if err != nil {
			return false, err
		}
		defer func() { _ = conn.Close(context.WithoutCancel(ctx)) }() // it has only read
		open[i] = conn
	}
	// Idle connections through such a pooler share server processes, or change between them.
	for range rounds {
		for i, conn := range open {
			results, err := conn.Exec(ctx, `SELECT pg_backend_pid()`).ReadAll()
			if err != nil {
				return false, err
			}
			if len(results) != 1 || len(results[0].Rows) != 1 {
				return false, errors.New("no answer to pg_backend_pid")
			}
			pid := string(results[0].Rows[0][0])
			if owner, used := owners[pid]; used && owner != i || served[i] != "" && served[i] != pid {
				return true, nil
			}
			owners[pid], served[i] = i, pid
		}
	}
	return false, nil
}
