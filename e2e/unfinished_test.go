package e2e

import (
	"bytes"
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"

	"warranty.example/svc/e2e/lab"
	"warranty.example/svc/internal/testenv"
)

// unfinishedRestore is a backup and a place for it on one of the databases.
type unfinishedRestore struct {
	dir      string
	backup   []byte
	database string // of PostgreSQL; empty for SQLite
	args     []string
}

// eachUnfinished runs a test on both databases.
func eachUnfinished(t *testing.T, test func(t *testing.T, u unfinishedRestore)) {
	t.Parallel()
	for _, kind := range []string{"sqlite", "postgres"} {
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			u := unfinishedRestore{dir: t.TempDir()}
			p, _ := withDocuments(t, u.dir, 8, "--data=data")
			mustSvcd(t, u.dir, "backup", "whole.tar")
			p.MustStop(t)
			var err error
			if u.backup, err = os.ReadFile(filepath.Join(u.dir, "whole.tar")); err != nil {
				t.Fatal(err)
			}
			u.args = []string{"--data=new"}
			if kind == "postgres" {
				u.database = testenv.Postgres(t)
				u.args = append(u.args, "--database="+u.database)
			}
			test(t, u)
		})
	}
}

// svcd runs a command at the place.
func (u unfinishedRestore) svcd(args ...string) []string { return append(args, u.args...) }

// killAfter feeds the first bytes of the backup to a restore, waits until it has made something, and kills it.
func (u unfinishedRestore) killAfter(t *testing.T, bytes int) {
	t.Helper()
	cmd := exec.Command(lab.Svcd(), u.svcd("restore", "-")...)
	cmd.Dir, cmd.Env = u.dir, []string{"PATH=" + os.Getenv("PATH")}
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	if _, err := in.Write(u.backup[:bytes]); err != nil {
		t.Fatal(err)
	}
	testenv.Wait(t, "the restore to begin", func() bool {
		if u.database != "" {
			return u.marked(t)
		}
		return exists(filepath.Join(u.dir, "new", "svc.db.unfinished")) && exists(filepath.Join(u.dir, "new", "svc.db.unfinished-attempt"))
	})
	_ = cmd.Process.Kill() // it waits for more
	_ = cmd.Wait()
}

// query runs a statement on PostgreSQL and returns the first value.
func (u unfinishedRestore) query(t *testing.T, sql string) (value any) {
	t.Helper()
	conn, err := pgx.Connect(context.Background(), u.database)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close(context.Background())
	rows, err := conn.Query(context.Background(), sql)
	if err != nil {
		t.Fatal(err)
	}
	defer rows.Close()
	if rows.Next() {
		values, err := rows.Values()
		if err != nil {
			t.Fatal(err)
		}
		value = values[0]
	}
	rows.Close()
	if err := rows.Err(); err != nil {
		t.Fatal(err)
	}
	return value
}

func (u unfinishedRestore) marked(t *testing.T) bool {
	return u.query(t, `SELECT to_regclass('svcd_unfinished_restore') IS NOT NULL`) == true
}

// refusesEverything checks that a start and every command on the place are refused in one line that says what to do.
func (u unfinishedRestore) refusesEverything(t *testing.T) {
	t.Helper()
	const reason = "was not finished"
	if line := refusedStart(t, u.dir, u.args...); !strings.Contains(line, reason) {
		t.Errorf("a start says %s", line)
	}
	refuseSvcd(t, 2, "repeat the command", u.dir, u.svcd("user", "list")...)
	refuseSvcd(t, 2, reason, u.dir, u.svcd("setup-link")...)
	refuseSvcd(t, 2, reason, u.dir, u.svcd("backup", "none.tar")...)
	out, code := runSvcd(t, u.dir, u.svcd("doctor")...)
	if code != 1 || !strings.Contains(out, "failed  database") || !strings.Contains(out, reason) {
		t.Errorf("doctor: exit %d: %s", code, out)
	}
	if _, err := os.Stat(filepath.Join(u.dir, "new", "svc.db")); err == nil {
		t.Error("there is a database")
	}
}

// finishes repeats the restore and starts a server on the result.
func (u unfinishedRestore) finishes(t *testing.T) {
	t.Helper()
	mustSvcd(t, u.dir, u.svcd("restore", "whole.tar")...)
	if left, _ := filepath.Glob(filepath.Join(u.dir, "new", "*.unfinished*")); len(left) > 0 {
		t.Errorf("left behind: %v", left)
	}
	p := lab.StartIn(t, u.dir, u.args...)
	p.Want(t, 201, lab.Call{Method: "POST", Path: "/api/auth/sessions", Body: map[string]string{"email": "olga@people.example", "password": lab.Password}})
	p.MustStop(t)
	if out := mustSvcd(t, u.dir, u.svcd("doctor", "--deep")...); strings.Contains(out, "failed") || !strings.Contains(out, "8 files") {
		t.Error(out)
	}
}

// TestAKilledRestoreIsNotAnEmptyService kills restores at several points. A start beside what they left is refused
// instead of making an empty database, and so is every command; repeating the restore works and finishes it.
func TestAKilledRestoreIsNotAnEmptyService(t *testing.T) {
	eachUnfinished(t, func(t *testing.T, u unfinishedRestore) {
		tables := bytes.Index(u.backup, []byte("tables/")) + 1024 // the first table has begun
		files := bytes.Index(u.backup, []byte("files/"))
		for _, point := range []int{tables, tables + (files-tables)/2, files, files + (len(u.backup)-files)/2, bytes.LastIndex(u.backup, []byte("manifest.json"))} {
			u.killAfter(t, point)
			u.refusesEverything(t)
		}
		u.finishes(t)
	})
}

// TestAKilledRestoreWithItsFilesInPlace kills a restore after its files were moved into place and before its database
// was: repeating it replaces its own files, and never those of another database.
func TestAKilledRestoreWithItsFilesInPlace(t *testing.T) {
	eachUnfinished(t, func(t *testing.T, u unfinishedRestore) {
		mustSvcd(t, u.dir, u.svcd("restore", "whole.tar")...)
		folder := filepath.Join(u.dir, "new", "files")
		id, err := os.ReadFile(filepath.Join(folder, "id"))
		if err != nil {
			t.Fatal(err)
		}
		_, attempt, _ := strings.Cut(string(id), "\nfolder ")
		attempt = strings.TrimSpace(attempt)
		mark := func(attempt string) {
			t.Helper()
			if u.database == "" {
				name := filepath.Join(u.dir, "new", "svc.db.unfinished-attempt")
				if err := os.WriteFile(name, []byte(attempt+"\n"), 0o600); err != nil {
					t.Fatal(err)
				}
				return
			}
			u.query(t, `CREATE TABLE IF NOT EXISTS svcd_unfinished_restore (attempt TEXT NOT NULL)`)
			u.query(t, `DELETE FROM svcd_unfinished_restore`)
			u.query(t, `INSERT INTO svcd_unfinished_restore VALUES ('`+attempt+`')`)
		}
		if u.database == "" {
			if err := os.Rename(filepath.Join(u.dir, "new", "svc.db"), filepath.Join(u.dir, "new", "svc.db.unfinished")); err != nil {
				t.Fatal(err)
			}
		} else {
			u.database = testenv.Postgres(t) // PostgreSQL rolled back
			u.args = []string{"--data=new", "--database=" + u.database}
		}
		mark("019e829c-0000-7000-8000-000000000000")
		u.refusesEverything(t)
		refuseSvcd(t, 2, "is not empty and is not overwritten", u.dir, u.svcd("restore", "whole.tar")...)
		if list, err := filepath.Glob(filepath.Join(folder, "complete", "*")); err != nil || len(list) != 8 {
			t.Fatalf("the files of another restore: %v %v", list, err)
		}
		if u.database == "" { // the refused command removed it
			if err := os.WriteFile(filepath.Join(u.dir, "new", "svc.db.unfinished"), nil, 0o600); err != nil {
				t.Fatal(err)
			}
		}
		mark(attempt)
		u.refusesEverything(t)
		u.finishes(t)
	})
}

// TestAKilledCopyIsNotAnEmptyService is the same for a copy to another database, killed while its source waits.
func TestAKilledCopyIsNotAnEmptyService(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	p, _ := withDocuments(t, dir, 3, "--data=data")
	p.MustStop(t)
	target := testenv.Postgres(t)
	u := unfinishedRestore{dir: dir, database: target, args: []string{"--data=new", "--database=" + target}}
	u.query(t, `CREATE TABLE svcd_unfinished_restore (attempt TEXT NOT NULL)`)
	u.refusesEverything(t)
	copying := []string{"copy", "--from=data/svc.db", "--to=" + target, "--to-files=new/files"}
	if out := mustSvcd(t, dir, copying...); !strings.Contains(out, "all checksums equal") {
		t.Error(out)
	}
	if u.marked(t) {
		t.Error("a finished copy left its marker")
	}
	lab.StartIn(t, dir, slices.Concat(u.args, []string{"--signing-key=data/signing-key.pem", "--secrets-key=data/secrets.key"})...).MustStop(t)
}
