package engine

import (
	"errors"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5/pgconn"

	"warranty.example/svc/warranty"
)

// TestPoolerIsNamed: errors caused by PgBouncer without the required setting are Unavailable and
// name the setting.
func TestPoolerIsNamed(t *testing.T) {
	for _, state := range []string{"26000", "42P05"} {
		err := classifyPostgres(&pgconn.PgError{Code: state, Message: "prepared statement"})
		var refusal *warranty.Error
		if !errors.As(err, &refusal) || refusal.Code != warranty.Unavailable ||
			!strings.Contains(err.Error(), "default_query_exec_mode=cache_describe") {
			t.Errorf("%s: %v", state, err)
		}
	}
}
