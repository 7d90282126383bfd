package e2e

import (
	"context"
	"crypto/sha256"
	"database/sql"
	"encoding/hex"
	"encoding/json"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/jackc/pgx/v5"
	_ "github.com/jackc/pgx/v5/stdlib" // the driver pgx
	_ "github.com/ncruces/go-sqlite3/driver"

	"warranty.example/svc/e2e/lab"
	"warranty.example/svc/internal/testenv"
)

// TestUpgradeFromEveryRelease starts this version on what every release left behind (scripts/store-release), on both
// databases: tokens and passwords work, nothing is missing or different, and it can be changed.
func TestUpgradeFromEveryRelease(t *testing.T) {
	t.Parallel()
	releases, err := filepath.Glob("testdata/releases/*")
	if err != nil || len(releases) == 0 {
		t.Fatal("no release is stored:", err)
	}
	for _, release := range releases {
		t.Run(filepath.Base(release)+"/sqlite", func(t *testing.T) {
			t.Parallel()
			data, fresh := unpack(t, release, "sqlite"), t.TempDir()
			checkUpgraded(t, lab.Start(t, "--data="+data), data)
			lab.Start(t, "--data="+fresh)
			checkSchema(t, "sqlite3", "file:"+data+"/svc.db", "file:"+fresh+"/svc.db",
				`SELECT type || ' ' || name || ' ' || COALESCE(sql, '') FROM sqlite_master`)
		})
		t.Run(filepath.Base(release)+"/postgres", func(t *testing.T) {
			t.Parallel()
			data, database := unpack(t, release, "postgres"), testenv.PostgresDatabase(t)
			loadDump(t, database, filepath.Join(data, "dump.sql"))
			checkUpgraded(t, lab.Start(t, "--data="+data, "--database="+database), data)
			fresh := testenv.PostgresDatabase(t)
			lab.Start(t, "--database="+fresh)
			checkSchema(t, "pgx", database, fresh, `SELECT table_name || '.' || column_name || ' ' || data_type || ' ' || is_nullable
					FROM information_schema.columns WHERE table_schema = 'public'
				UNION ALL SELECT indexdef FROM pg_indexes WHERE schemaname = 'public'`)
		})
	}
}

// unpack returns the data folder of a release.
func unpack(t *testing.T, release, kind string) string {
	t.Helper()
	folder := t.TempDir()
	out, err := exec.Command("tar", "-xzf", filepath.Join(release, kind+".tgz"), "-C", folder).CombinedOutput()
	if err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	return folder
}

// loadDump fills an empty database from a dump.
func loadDump(t *testing.T, database, dump string) {
	t.Helper()
	script, err := os.ReadFile(dump)
	if err != nil {
		t.Fatal(err)
	}
	db, err := pgx.Connect(t.Context(), database)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close(context.WithoutCancel(t.Context()))
	if _, err := db.PgConn().Exec(t.Context(), string(script)).ReadAll(); err != nil {
		t.Fatal(err)
	}
}

// checkSchema compares the schema of an upgraded database with that of a new one: a migration that was released must not
// be changed.
func checkSchema(t *testing.T, driver, upgraded, fresh, query string) {
	t.Helper()
	schema := func(database string) (list []string) {
		db, err := sql.Open(driver, database)
		if err != nil {
			t.Fatal(err)
		}
		defer db.Close()
		rows, err := db.Query(query)
		if err != nil {
			t.Fatal(err)
		}
		defer rows.Close()
		for rows.Next() {
			var line string
			if err := rows.Scan(&line); err != nil {
				t.Fatal(err)
			}
			list = append(list, line)
		}
		slices.Sort(list)
		return list
	}
	if diff := cmp.Diff(schema(fresh), schema(upgraded)); diff != "" {
		t.Errorf("the schema of an upgraded database differs from that of a new one (-new +upgraded):\n%s", diff)
	}
}

// records are those of a list, by their ids.
func records(t *testing.T, list string) map[string]map[string]any {
	t.Helper()
	var page struct{ Data []map[string]any }
	if err := json.Unmarshal([]byte(list), &page); err != nil {
		t.Fatal(err)
	}
	byID := map[string]map[string]any{}
	for _, r := range page.Data {
		byID[r["id"].(string)] = r
	}
	return byID
}

// checkUpgraded compares what the demo's token and owner see with what the release showed.
func checkUpgraded(t *testing.T, p *lab.Process, data string) {
	t.Helper()
	printed, err := os.ReadFile(filepath.Join(data, "demo.txt"))
	if err != nil {
		t.Fatal(err)
	}
	key := string(regexp.MustCompile(`SVC_API_KEY=(\S+)`).FindSubmatch(printed)[1])
	session := signInAs(t, p, printed, "owner@demo.example")
	get := func(path, secret string) string {
		return p.Want(t, 200, lab.Call{Method: "GET", Path: path, Secret: secret}).Body
	}
	for _, list := range []string{"warranties", "claims", "documents"} {
		stored, err := os.ReadFile(filepath.Join(data, list+".json"))
		if err != nil {
			t.Fatal(err)
		}
		before, after := records(t, string(stored)), records(t, get("/api/v1/"+list+"?limit=100", key))
		if len(before) == 0 || len(after) != len(before) {
			t.Errorf("%d %s of %d", len(after), list, len(before))
		}
		for id, want := range before {
			isNew := func(name string, _ any) bool { _, known := want[name]; return !known }
			maps.DeleteFunc(after[id], isNew)
			for _, changing := range []string{"status", "days_remaining", "web_url", "verify_url"} { // by date and address
				delete(want, changing)
				delete(after[id], changing)
			}
			if !reflect.DeepEqual(after[id], want) {
				t.Errorf("%s %s is %v, was %v", list, id, after[id], want)
			}
		}
	}
	for id, d := range records(t, get("/api/v1/documents?limit=100", key)) {
		if sum := sha256.Sum256([]byte(get("/api/documents/"+id+"/file", session))); hex.EncodeToString(sum[:]) != d["sha256"] {
			t.Errorf("the content of %v differs", d["file_name"])
		}
	}
	for id := range records(t, get("/api/v1/warranties?q=miele", key)) {
		p.Want(t, 200, lab.Call{Method: "PUT", Path: "/api/v1/warranties/" + id, Secret: session,
			Body: map[string]string{"category": "Upgraded"}})
		if history := get("/api/warranties/"+id+"/history", session); !strings.Contains(history, "Upgraded") {
			t.Errorf("the history is %s", history)
		}
	}
}

// signInAs signs in with a password that the demo printed.
func signInAs(t *testing.T, p *lab.Process, printed []byte, email string) string {
	t.Helper()
	password := regexp.MustCompile(regexp.QuoteMeta(email) + ` +password (\S+)`).FindSubmatch(printed)
	return p.Want(t, 201, lab.Call{Method: "POST", Path: "/api/auth/sessions",
		Body: map[string]string{"email": email, "password": string(password[1])}}).Must(t, "data.access_token")
}
