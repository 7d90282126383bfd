package e2e

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/jackc/pgx/v5"

	"warranty.example/svc/e2e/lab"
	"warranty.example/svc/internal/testenv"
)

// keyFile is a key that svcd keeps in a file: the one that signs certificates, or the one that seals secrets.
type keyFile struct {
	setting, name, table       string
	malformed, foreign, doctor string
	secret                     func(content string) string // a part of the key itself
}

var (
	signingKey = keyFile{
		setting: "--signing-key", name: "signing-key.pem", table: "signing_keys",
		malformed: "is not a signing key", foreign: "but the certificates of this database are signed with ", doctor: "signing",
		secret: func(content string) string { return strings.Split(content, "\n")[1][20:] },
	}
	secretsKey = keyFile{
		setting: "--secrets-key", name: "secrets.key", table: "secrets_keys",
		malformed: "is not a secrets key", foreign: "but secrets in this database are sealed with ", doctor: "secrets",
		secret: func(content string) string {
			_, secret, _ := strings.Cut(content, ":")
			return secret[:12]
		},
	}
	keyFiles = map[string]keyFile{"signing": signingKey, "secrets": secretsKey}
)

// path returns the default place of the key below the working directory of a svcd with --data=data.
func (k keyFile) path(dir string) string { return filepath.Join(dir, "data", k.name) }

// refused expects that svcd does not start, and says why in a line that names the setting.
func (k keyFile) refused(t *testing.T, text, dir string, args ...string) {
	t.Helper()
	if line := refusedStart(t, dir, args...); !strings.HasPrefix(line, "svcd: "+k.setting) || !strings.Contains(line, text) {
		t.Errorf("want %q: %s", text, line)
	}
}

// read returns the key of a svcd with --data=data, which only its user can read.
func (k keyFile) read(t *testing.T, dir string) string {
	t.Helper()
	info, err := os.Stat(k.path(dir))
	if err != nil || info.Mode() != 0o600 {
		t.Fatalf("the key: %v, %v", info, err)
	}
	content, err := os.ReadFile(k.path(dir))
	if err != nil {
		t.Fatal(err)
	}
	return string(content)
}

func (k keyFile) write(t *testing.T, dir, content string, mode os.FileMode) {
	t.Helper()
	_ = os.Remove(k.path(dir)) // it may have another mode
	if err := os.WriteFile(k.path(dir), []byte(content), mode); err != nil {
		t.Fatal(err)
	}
}

// TestKeysAreFiles follows each key from the first start over a lost file to a wrong one.
func TestKeysAreFiles(t *testing.T) {
	t.Parallel()
	for name, k := range keyFiles {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			lab.StartIn(t, dir, "--data=data").MustStop(t)
			first := k.read(t, dir)
			lab.StartIn(t, dir, "--data=data").MustStop(t)
			mustSvcd(t, dir, "backup", "b.tar")
			for _, name := range []string{"server.log", "server.out", "data/svc.db", "b.tar"} {
				if content, err := os.ReadFile(filepath.Join(dir, name)); err != nil || strings.Contains(string(content), k.secret(first)) {
					t.Errorf("%s has the key, or %v", name, err)
				}
			}
			out := mustSvcd(t, dir, "config") + mustSvcd(t, dir, "doctor")
			if strings.Contains(out, k.secret(first)) || !strings.Contains(out, "ok      "+k.doctor+" ") ||
				!strings.Contains(out, k.setting[2:]+` = "data/`+k.name+`" # default`) {
				t.Error(out)
			}
			for _, mode := range []os.FileMode{0o644, 0o640, 0o604} {
				k.write(t, dir, first, mode)
				k.refused(t, "chmod 600", dir, "--data=data")
			}
			for _, content := range []string{"", "secret", first + first, first[:len(first)-5], first[:len(first)-30]} {
				k.write(t, dir, content, 0o600)
				k.refused(t, k.malformed, dir, "--data=data")
			}
			k.failsDoctor(t, dir)
			if err := os.Remove(k.path(dir)); err != nil {
				t.Fatal(err)
			}
			k.refused(t, "no key at data/"+k.name, dir, "--data=data")
			if err := os.Mkdir(k.path(dir), 0o700); err != nil {
				t.Fatal(err)
			}
			k.refused(t, "is not a regular file", dir, "--data=data")
			other := t.TempDir()
			lab.StartIn(t, other, "--data=data").MustStop(t)
			k.write(t, dir, k.read(t, other), 0o600)
			k.refused(t, k.foreign, dir, "--data=data")
			k.failsDoctor(t, dir)
			k.write(t, dir, first, 0o600)
			lab.StartIn(t, dir, "--data=data").MustStop(t)
		})
	}
}

func (k keyFile) failsDoctor(t *testing.T, dir string) {
	t.Helper()
	if out, code := runSvcd(t, dir, "doctor"); code != 1 || !strings.Contains(out, "failed  "+k.doctor+" ") {
		t.Errorf("exit %d: %s", code, out)
	}
}

// TestReplicasNeedOneKey starts replicas that keep their keys in different places, and all make one before the first
// is registered: one runs, and the others leave no file and say to copy its key.
func TestReplicasNeedOneKey(t *testing.T) {
	t.Parallel()
	for name, k := range keyFiles {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			database, shared := testenv.Postgres(t)+"&lock_timeout=600000&statement_timeout=600000", t.TempDir()
			args := []string{"--database=" + database, "--data=" + shared}
			lab.Start(t, args...).MustStop(t) // it makes the schema and the other key
			args = append(args, k.setting+"=own/key")
			release := k.lock(t, database)
			const count = 3
			var wait sync.WaitGroup
			var dirs, lines [count]string
			var running [count]*lab.Process
			for i := range count {
				dirs[i] = t.TempDir()
				if err := os.Mkdir(filepath.Join(dirs[i], "own"), 0o700); err != nil {
					t.Fatal(err)
				}
				command := append([]string{lab.Svcd(), "--listen=" + lab.FreeAddress(t)}, args...)
				wait.Go(func() {
					p, err := lab.Launch(dirs[i], nil, command...)
					if err == nil {
						running[i] = p
						return
					}
					log, _ := os.ReadFile(filepath.Join(dirs[i], "server.log"))
					lines[i] = string(log)
				})
			}
			release(count)
			wait.Wait()
			winner := -1
			for i, p := range running {
				if p == nil {
					continue
				}
				t.Cleanup(p.Kill)
				if winner >= 0 {
					t.Error("two replicas with different keys run")
				}
				winner = i
			}
			if winner < 0 {
				t.Fatal(lines)
			}
			key, err := os.ReadFile(filepath.Join(dirs[winner], "own", "key"))
			if err != nil {
				t.Fatal(err)
			}
			for i := range count {
				if running[i] != nil {
					continue
				}
				if !strings.HasPrefix(lines[i], "svcd: "+k.setting+": no key at own/key") || !strings.Contains(lines[i], "copy its file there") ||
					strings.Count(lines[i], "\n") != 1 {
					t.Errorf("a replica without the key: %s", lines[i])
				}
				path := filepath.Join(dirs[i], "own", "key")
				if exists(path) {
					t.Error("it leaves a key")
				}
				if err := os.WriteFile(path, key, 0o600); err != nil {
					t.Fatal(err)
				}
				lab.StartIn(t, dirs[i], args...)
			}
		})
	}
}

// lock removes the registered key and keeps others from being registered. The returned function waits until some replicas
// try, and lets them.
func (k keyFile) lock(t *testing.T, database string) (release func(count int)) {
	t.Helper()
	ctx := context.Background()
	conn, err := pgx.Connect(ctx, database)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close(ctx) })
	for _, sql := range []string{`DELETE FROM ` + k.table, `BEGIN`, `LOCK TABLE ` + k.table + ` IN SHARE MODE`} {
		if _, err := conn.Exec(ctx, sql); err != nil {
			t.Fatal(err)
		}
	}
	return func(count int) {
		t.Helper()
		defer conn.Exec(ctx, `COMMIT`)
		testenv.Wait(t, "all replicas register a key", func() bool {
			var n int
			err := conn.QueryRow(ctx, `SELECT count(*) FROM pg_locks WHERE NOT granted AND relation = '`+k.table+`'::regclass`).Scan(&n)
			return err == nil && n == count
		})
	}
}

// TestRefusedStartAdoptsNoFiles: a replica without one of the keys is refused before it takes the place of the files that
// another one uses.
func TestRefusedStartAdoptsNoFiles(t *testing.T) {
	t.Parallel()
	keys := t.TempDir()
	args := []string{"--database=" + testenv.Postgres(t), "--data=data"}
	for _, k := range keyFiles {
		args = append(args, k.setting+"="+filepath.Join(keys, k.name))
	}
	p, session := withDocuments(t, t.TempDir(), 1, args...)
	record := p.Want(t, 201, lab.Create(session, "Lamp", "")).Must(t, "data.id")
	for name, k := range keyFiles {
		dir := t.TempDir()
		if err := os.Mkdir(filepath.Join(dir, "own"), 0o700); err != nil {
			t.Fatal(err)
		}
		k.refused(t, "no key at own/key", dir, append(args, "--adopt-files", k.setting+"=own/key")...)
		if exists(filepath.Join(dir, "data", "files", "id")) || exists(filepath.Join(dir, "own", "key")) {
			t.Errorf("%s: the refused start leaves files", name)
		}
		if a, err := upload(p, session, record, 7, 1000); err != nil || a.Status != 201 {
			t.Errorf("%s: an upload after the refused start: %d %s %v", name, a.Status, a.Body, err)
		}
	}
	p.Want(t, 200, lab.Call{Method: "GET", Path: "/readyz"})
}

// TestReplicasShareTheirKeys: the default place of the keys is in the folder that replicas share.
func TestReplicasShareTheirKeys(t *testing.T) {
	t.Parallel()
	args := []string{"--database=" + testenv.Postgres(t), "--data=" + t.TempDir()}
	lab.Start(t, args...)
	lab.Start(t, args...)
}
