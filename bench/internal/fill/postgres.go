package fill

import (
	"context"
	"fmt"
	"iter"

	"github.com/jackc/pgx/v5"
)

// Postgres loads tables into a database with a schema. It drops indexes that do not
// belong to a constraint, and rebuilds them at the end.
func Postgres(ctx context.Context, url string, tables []Table) error {
	conn, err := pgx.Connect(ctx, url)
	if err != nil {
		return err
	}
	defer conn.Close(context.WithoutCancel(ctx))
	drop, create, err := indexes(ctx, conn)
	if err != nil {
		return err
	}
	if err := execute(ctx, conn, drop...); err != nil {
		return err
	}
	for _, t := range tables {
		next, stop := iter.Pull(t.Rows)
		_, err := conn.CopyFrom(ctx, pgx.Identifier{t.Name}, t.Columns, pgx.CopyFromFunc(func() ([]any, error) {
			row, _ := next() // nil at the end
			return row, nil
		}))
		stop()
		if err != nil {
			return fmt.Errorf("fill %s: %w", t.Name, err)
		}
	}
	return execute(ctx, conn, append(create, `VACUUM (ANALYZE)`, `CHECKPOINT`)...)
}

func indexes(ctx context.Context, conn *pgx.Conn) (drop, create []string, err error) {
	rows, err := conn.Query(ctx, `SELECT format('DROP INDEX %I', c.relname), pg_get_indexdef(c.oid)
		FROM pg_index i JOIN pg_class c ON c.oid = i.indexrelid JOIN pg_namespace n ON n.oid = c.relnamespace
		WHERE n.nspname = 'public' AND NOT EXISTS (SELECT 1 FROM pg_constraint k WHERE k.conindid = c.oid) ORDER BY 1`)
	if err != nil {
		return nil, nil, err
	}
	var d, c string
	_, err = pgx.ForEachRow(rows, []any{&d, &c}, func() error {
		drop, create = append(drop, d), append(create, c)
		return nil
	})
	return drop, create, err
}

func execute(ctx context.Context, conn *pgx.Conn, statements ...string) error {
	for _, sql := range statements {
		if _, err := conn.Exec(ctx, sql); err != nil {
			return fmt.Errorf("%s: %w", sql, err)
		}
	}
	return nil
}
