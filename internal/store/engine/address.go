package engine

import (
	"errors"
	"net/url"
	"strings"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"warranty.example/svc/internal/netaddr"
)

// IsPostgres reports whether a database is given as a PostgreSQL URL. Otherwise it is the path
// of a SQLite file.
func IsPostgres(database string) bool {
	return strings.HasPrefix(database, "postgres://") || strings.HasPrefix(database, "postgresql://")
}

// ParsePostgres parses a PostgreSQL URL. Errors never contain the URL.
func ParsePostgres(rawURL string) (*pgxpool.Config, error) {
	u, err := url.Parse(rawURL)
	if err != nil {
		return nil, netaddr.ErrURL
	}
	if u.Host == "" && u.Query().Get("host") == "" {
		return nil, errors.New("has no host")
	}
	config, err := pgxpool.ParseConfig(rawURL)
	if err != nil {
		return nil, errors.New("is not a valid PostgreSQL URL; check the port and the parameters after the ?")
	}
	switch config.ConnConfig.DefaultQueryExecMode {
	case pgx.QueryExecModeExec, pgx.QueryExecModeSimpleProtocol:
		return nil, errors.New("must set default_query_exec_mode to cache_statement, or to cache_describe behind PgBouncer")
	}
	if config.ConnConfig.RuntimeParams["application_name"] == "" { // shown in pg_stat_activity
		config.ConnConfig.RuntimeParams["application_name"] = "svcd"
	}
	return config, nil
}
