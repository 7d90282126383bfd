package testenv

import (
	"bufio"
	"fmt"
	"net"
	"net/url"
	"os/exec"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"
)

func TestPostgresSchemaIsTheTestsOwn(t *testing.T) {
	count := func(server, table string) (n int) {
		t.Helper()
		conn, err := pgx.Connect(t.Context(), server)
		if err != nil {
			t.Fatal(err)
		}
		defer conn.Close(t.Context())
		row := conn.QueryRow(t.Context(), "SELECT count(*) FROM pg_tables WHERE tablename = $1", table)
		if err := row.Scan(&n); err != nil {
			t.Fatal(err)
		}
		return n
	}
	var table string
	t.Run("two schemas", func(t *testing.T) {
		a, b := Postgres(t), Postgres(t)
		if a == b {
			t.Fatalf("both are %s", a)
		}
		u, err := url.Parse(a)
		if err != nil {
			t.Fatal(err)
		}
		table = u.Query().Get("search_path") + "_table"
		for _, schema := range []string{a, b} { // the same name in both: the schemas are separate
			execute(t, schema, "CREATE TABLE "+table+" (n int)")
		}
		for _, schema := range []string{a, b} {
			if n := count(schema, table); n != 1 {
				t.Errorf("%d tables, want one in each schema", n)
			}
		}
	})
	if table == "" {
		t.SkipNow()
	}
	if n := count(require(t, "SVC_TEST_POSTGRES", "PostgreSQL"), table); n != 0 {
		t.Errorf("%d tables left after the test", n)
	}
}

func TestRedisAnswers(t *testing.T) {
	u, err := url.Parse(Redis(t))
	if err != nil {
		t.Fatal(err)
	}
	conn, err := net.Dial("tcp", u.Host)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	if _, err := fmt.Fprint(conn, "PING\r\n"); err != nil {
		t.Fatal(err)
	}
	if line, err := bufio.NewReader(conn).ReadString('\n'); line != "+PONG\r\n" {
		t.Errorf("PING answered %q, %v", line, err)
	}
}

func TestChromiumRuns(t *testing.T) {
	out, err := exec.Command(Chromium(t), "--version").CombinedOutput()
	if err != nil {
		t.Fatalf("%v: %s", err, out)
	}
}

// ended is a TB that records Skipf and Fatalf instead of ending the test.
type ended struct {
	testing.TB
	how string
}

func (e *ended) Helper()                       {}
func (e *ended) Skipf(format string, a ...any) { e.how = "skipped: " + fmt.Sprintf(format, a...) }
func (e *ended) Fatalf(format string, a ...any) {
	e.how = "failed: " + fmt.Sprintf(format, a...)
}

func TestWithoutServiceSkipsButFailsInCI(t *testing.T) {
	t.Setenv("SVC_TEST_REDIS", "")
	for ci, want := range map[string]string{
		"":     "skipped: no Redis: run make test",
		"true": "failed: SVC_TEST_REDIS is not set",
	} {
		t.Setenv("CI", ci)
		e := &ended{TB: t}
		Redis(e)
		if !strings.HasPrefix(e.how, want) {
			t.Errorf("CI=%q: %q, want %q", ci, e.how, want)
		}
	}
}
