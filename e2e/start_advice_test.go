package e2e

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"warranty.example/svc/e2e/lab"
	"warranty.example/svc/internal/store/engine"
	"warranty.example/svc/internal/testenv"
)

// listFolder returns the paths of all files below a folder.
func listFolder(t *testing.T, dir string) (list []string) {
	t.Helper()
	if err := filepath.WalkDir(dir, func(path string, _ os.DirEntry, err error) error {
		list = append(list, strings.TrimPrefix(path, dir))
		return err
	}); err != nil {
		t.Fatal(err)
	}
	return list
}

// TestAForeignSchemaIsRefusedBeforeTablesAreMade: another program also counts its versions, or the tables of svcd are gone.
// Finding O10.
func TestAForeignSchemaIsRefusedBeforeTablesAreMade(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	const versions = `CREATE TABLE schema_versions (version BIGINT NOT NULL PRIMARY KEY)`
	const applied = `INSERT INTO schema_versions (version) VALUES ($1)`
	for name, last := range map[string]int{"not begun": 0, "some": 3, "as many as ours": 5, "newer": 2024_01_01} {
		for _, kind := range []string{"SQLite", "PostgreSQL"} {
			t.Run(name+" "+kind, func(t *testing.T) {
				dir := t.TempDir()
				database := filepath.Join(dir, "svc.db")
				if kind == "PostgreSQL" {
					database = testenv.Postgres(t)
				}
				db, err := engine.OpenAsIs(ctx, database, engine.Config{})
				if err != nil {
					t.Fatal(err)
				}
				defer db.Close()
				if err := db.Write(ctx, func(tx engine.Tx) error {
					_, err := tx.Exec(ctx, versions)
					err = errors.Join(err, tx.Later(ctx, `CREATE TABLE things (k BIGINT)`), tx.Later(ctx, applied, 0))
					for v := 1; v <= min(last, 5); v++ {
						err = errors.Join(err, tx.Later(ctx, applied, v))
					}
					if last > 5 {
						err = errors.Join(err, tx.Later(ctx, applied, last))
					}
					return err
				}); err != nil {
					t.Fatal(err)
				}
				count := func() (n int64) {
					if err := db.Query(ctx, `/*sqlite: SELECT count(*) FROM sqlite_master WHERE type = 'table' *//*pg: SELECT count(*) FROM pg_class
						WHERE relkind = 'r' AND relnamespace = to_regnamespace(current_schema()) */`,
						func(r *engine.Row) error { n = r.Int(); return nil }); err != nil {
						t.Fatal(err)
					}
					return n
				}
				before := count()
				out, code := runSvcd(t, dir, "--database="+database, "--listen="+lab.FreeAddress(t))
				if code == 0 || !strings.Contains(out, "tables of another program") {
					t.Errorf("exit %d: %s", code, out)
				}
				if after := count(); after != before {
					t.Errorf("%d tables, then %d", before, after)
				}
			})
		}
	}
}

// TestANewDatabaseBesideOldFilesIsNotMade: the files belong to a database that is not there. Finding O10.
func TestANewDatabaseBesideOldFilesIsNotMade(t *testing.T) {
	t.Parallel()
	dir := newInstallation(t)
	if err := errors.Join(os.Rename(filepath.Join(dir, "data", "svc.db"), filepath.Join(dir, "away.db")),
		os.Remove(filepath.Join(dir, "data", "svc.db-lock"))); err != nil {
		t.Fatal(err)
	}
	before := listFolder(t, dir)
	refuseSvcd(t, 2, "belongs to another database", dir, "--listen="+lab.FreeAddress(t))
	if after := listFolder(t, dir); !slices.Equal(before, after) {
		t.Errorf("%v, then %v", before, after)
	}
	empty := testenv.Postgres(t)
	refuseSvcd(t, 2, "belongs to another database", dir, "--listen="+lab.FreeAddress(t), "--database="+empty)
	refuseSvcd(t, 2, "has not been started with this database yet", dir, "user", "list", "--database="+empty)
}

// TestAFolderThatCannotBeWrittenGivesAdvice // Finding O10.
func TestAFolderThatCannotBeWrittenGivesAdvice(t *testing.T) {
	t.Parallel()
	if _, err := exec.LookPath("setpriv"); err != nil || os.Geteuid() != 0 {
		t.Skip("only root can start programs as another user")
	}
	dir := t.TempDir()
	reachable(t, dir)
	for data, want := range map[string]string{
		dir:           "belongs to root (uid 0) and svcd runs as ",
		dir + "/data": "install -d -m 0700 -o 65534 -g 65534 " + dir + "/data",
	} {
		cmd := exec.Command("setpriv", "--reuid=65534", "--regid=65534", "--clear-groups", lab.Svcd(), "--data="+data, "--listen="+lab.FreeAddress(t))
		cmd.Env = []string{}
		out, err := cmd.CombinedOutput()
		if err == nil || !strings.Contains(string(out), want) || strings.Count(string(out), "\n") != 1 {
			t.Errorf("%v: %s", err, out)
		}
	}
}

// TestRedisDownPrintsNoLinesOfTheLibrary // Finding O10.
func TestRedisDownPrintsNoLinesOfTheLibrary(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	redis := "--redis=redis://127.0.0.1:1"
	p, err := lab.Launch(dir, nil, lab.Svcd(), "--drain=0s", "--listen="+lab.FreeAddress(t), redis)
	if err != nil {
		t.Fatal(err)
	}
	p.Want(t, 401, lab.Call{Method: "GET", Path: "/api/v1/warranties"})
	p.MustStop(t)
	for line := range strings.Lines(p.Log()) {
		if !strings.HasPrefix(line, "{") {
			t.Errorf("a line of the library: %s", line)
		}
	}
	out, _ := runSvcd(t, dir, "doctor", redis)
	if strings.Contains(out, "pool.go") || !strings.Contains(out, "failed  redis ") {
		t.Error(out)
	}
}

// TestHelpOfCommandsIsShort: it has the settings that the command uses, and says where the others are. Finding O10.
func TestHelpOfCommandsIsShort(t *testing.T) {
	t.Parallel()
	for command, settings := range map[string][]string{
		"user":                {"config", "data", "database", "database-file"},
		"user add":            {"config", "data", "database", "database-file"},
		"organization":        {"config", "data", "database", "database-file"},
		"backup":              {"config", "data", "database", "database-file", "files", "files-file"},
		"backup verify":       {},
		"restore":             {"config", "data", "database", "database-file", "files", "files-file", "secrets-key", "signing-key"},
		"copy":                {"config", "data", "files", "files-file"},
		"secrets-key replace": {"config", "data", "database", "database-file", "secrets-key"},
		"signing-key list":    {"config", "data", "database", "database-file", "signing-key"},
		"setup-link":          {"config", "data", "database", "database-file", "public-url"},
		"healthcheck":         {"acme", "config", "listen", "public-url", "tls-cert"},
		"doctor":              {},
		"config":              {},
		"version":             {},
	} {
		out := mustSvcd(t, t.TempDir(), append(strings.Fields(command), "--help")...)
		_, used, _ := strings.Cut(out, "\nSettings:\n")
		found := []string{}
		for line := range strings.Lines(used) {
			if flag, ok := strings.CutPrefix(strings.TrimSpace(line), "--"); ok {
				name, _, _ := strings.Cut(flag, " ")
				found = append(found, name)
			}
		}
		if !slices.Equal(found, settings) || strings.Count(out, "\n") > 40 || !strings.Contains(out, "svcd --help lists them") {
			t.Errorf("svcd %s --help: %v\n%s", command, found, out)
		}
	}
}
