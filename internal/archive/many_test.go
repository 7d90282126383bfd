package archive_test

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"warranty.example/svc/internal/archive"
	"warranty.example/svc/internal/servertest"
	"warranty.example/svc/internal/store"
	"warranty.example/svc/warranty"
)

// TestManyRecordsAreCopied copies many records of one account, with the index of its list, from SQLite to
// PostgreSQL and back, and compares every table. `make copies` copies a million.
func TestManyRecordsAreCopied(t *testing.T) {
	t.Parallel()
	count := 3000
	_, _ = fmt.Sscan(os.Getenv("SVC_TEST_COPIES"), &count) // stays as it is
	w := servertest.New(t, servertest.SQLite(t))
	olga, _ := populate(t, w)
	fill(t, w, olga, count)
	for range 3 { // makes the index
		if err := w.Store.MaintainSegments(ctx); err != nil {
			t.Fatal(err)
		}
	}
	want := sums(t, w.Store)
	if want["warranties"].Rows != int64(count)+30 || want["index_parts"].Rows == 0 {
		t.Fatalf("%d warranties, %d parts of an index", want["warranties"].Rows, want["index_parts"].Rows)
	}
	counted := &countingWriter{}
	start := time.Now()
	if _, err := archive.Backup(ctx, w.Store, w.Service.Files, counted, "test", start, quiet); err != nil {
		t.Fatal(err)
	}
	t.Logf("a backup of %d records: %v, %d bytes", count, time.Since(start).Round(time.Millisecond), counted.n)
	from := w.Store
	for _, kind := range []string{"postgres", "sqlite"} {
		to, _ := newTarget(t, kind)
		to.ID, to.KeepCredentials = warranty.ID{}, true
		start := time.Now()
		if _, err := archive.Copy(ctx, from, nil, to, quiet); err != nil {
			t.Fatal(err)
		}
		t.Logf("%d records to %s: %v", count, kind, time.Since(start).Round(time.Millisecond))
		st, err := store.Open(ctx, to.Database)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = st.Close() })
		if diff := cmp.Diff(want, sums(t, st)); diff != "" {
			t.Fatalf("to %s (-source +copy):\n%s", kind, diff)
		}
		from = st
	}
	faults, err := from.CheckRecords(ctx, warranty.DateOf(time.Now()), func(string) {})
	if err != nil || len(faults) > 0 {
		t.Errorf("faults: %v, %v", faults, err)
	}
}

// countingWriter counts what it discards.
type countingWriter struct{ n int64 }

func (c *countingWriter) Write(b []byte) (int, error) { c.n += int64(len(b)); return len(b), nil }

// fill inserts records of an account with SQL, which is faster than the service.
func fill(t *testing.T, w *servertest.World, p person, count int) {
	t.Helper()
	const numbers = `WITH RECURSIVE n (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM n WHERE n < ?1) `
	const id = `unhex(printf('0199000000007000%016x', n))`
	user := p.User.ID
	for _, step := range []struct {
		statement string
		args      []any
	}{
		{numbers + `INSERT INTO warranties (id, reference, issuer_id, product_name, description, serial_number, category,
				folded_category, start_date, end_date, standing, version, created_at, updated_at)
			SELECT ` + id + `, printf('WR-%016X', n), ?2, 'Kettle ' || n, 'A "quoted" text' || char(10) || n, 'SN-' || n,
				'Kitchen', 'kitchen', 19000 + n % 900, 21000 + n % 900, 1, 1, 1790000000000000 + n,
				1790000000000000 + n FROM n`, []any{count, user[:]}},
		{`INSERT INTO access (user_id, kind, item_id, parent_id, roles, status, start_date, end_date, category,
				changed_at, item_row)
			SELECT ?1, 1, id, id, 5, 1, start_date, end_date, 'kitchen', updated_at, row FROM warranties
			WHERE substr(id, 1, 8) = unhex('0199000000007000')`, []any{user[:]}},
		{numbers + `INSERT INTO history (thread_id, id, at, actor_id, actor, account_id, door, action, subject_id, changes)
			SELECT ` + id + `, ` + id + `, 1790000000000000 + n, ?2, 'Olga', ?2, 2, 1, ` + id + `, '[]' FROM n`,
			[]any{count, user[:]}},
	} {
		if _, err := w.DB.Exec(step.statement, step.args...); err != nil {
			t.Fatalf("%s: %v", step.statement, err)
		}
	}
}

// TestBackupsAreStreams reads a backup while it is written.
func TestBackupsAreStreams(t *testing.T) {
	t.Parallel()
	w := servertest.New(t, servertest.SQLite(t))
	populate(t, w)
	in, out := io.Pipe()
	go func() {
		_, err := archive.Backup(ctx, w.Store, w.Service.Files, out, "test", time.Now(), quiet)
		_ = out.CloseWithError(err) // returns nil
	}()
	to, _ := newTarget(t, "sqlite")
	if _, err := archive.Restore(ctx, in, to, quiet); err != nil {
		t.Error(err)
	}
	_, err := archive.Backup(ctx, w.Store, w.Service.Files, failing{}, "test", time.Now(), quiet)
	if err == nil || !bytes.Contains([]byte(err.Error()), []byte("full")) {
		t.Errorf("a full disk: %v", err)
	}
}

// failing is a full disk.
type failing struct{}

func (failing) Write([]byte) (int, error) { return 0, fmt.Errorf("the disk is full") }
