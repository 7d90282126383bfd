package e2e

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"warranty.example/svc/e2e/lab"
	"warranty.example/svc/internal/store/engine"
	"warranty.example/svc/internal/testenv"
)

// newInstallation starts svcd once and returns its folder, with the data in "data".
func newInstallation(t *testing.T, args ...string) string {
	t.Helper()
	dir := t.TempDir()
	p, err := lab.Launch(dir, nil, append([]string{lab.Svcd(), "--drain=0s", "--listen=" + lab.FreeAddress(t)}, args...)...)
	if err != nil {
		t.Fatal(err)
	}
	p.MustStop(t)
	return dir
}

// doctorLine runs svcd doctor and returns the line of a check.
func doctorLine(t *testing.T, dir, check string, args ...string) string {
	t.Helper()
	out, _ := runSvcd(t, dir, append([]string{"doctor"}, args...)...)
	for line := range strings.SplitSeq(out, "\n") {
		if fields := strings.Fields(line); len(fields) > 1 && fields[1] == check {
			return line
		}
	}
	t.Fatalf("no line for %s in %s", check, out)
	return ""
}

// wantDoctor fails unless the line of a check contains all texts.
func wantDoctor(t *testing.T, dir, check string, texts []string, args ...string) {
	t.Helper()
	line := doctorLine(t, dir, check, args...)
	for _, text := range texts {
		if !strings.Contains(line, text) {
			t.Errorf("no %q in: %s", text, line)
		}
	}
}

// TestDoctorOfRootNamesFilesTheServiceCannotUse gives files of the service to root, who can read them all. Finding O4.
func TestDoctorOfRootNamesFilesTheServiceCannotUse(t *testing.T) {
	t.Parallel()
	if os.Geteuid() != 0 {
		t.Skip("only root can give files away")
	}
	const uid = 65534
	dir := newInstallation(t)
	reachable(t, dir)
	data := filepath.Join(dir, "data")
	give := func(uid int, paths ...string) {
		t.Helper()
		for _, path := range paths {
			if err := os.Lchown(path, uid, uid); err != nil {
				t.Fatal(err)
			}
		}
	}
	config := filepath.Join(dir, "svcd.toml")
	writeFile(t, config, "signup = \"closed\"\n")
	if err := errors.Join(os.Chmod(config, 0o644), filepath.WalkDir(data, func(path string, _ fs.DirEntry, err error) error {
		give(uid, path)
		return err
	})); err != nil {
		t.Fatal(err)
	}
	args := []string{"--data=" + data, "--config=" + config}
	wantDoctor(t, dir, "owners", []string{"ok ", "(uid 65534)"}, args...)
	for _, name := range []string{"svc.db", "svc.db-lock", "signing-key.pem", "secrets.key", "files/id", "files/complete"} {
		path := filepath.Join(data, name)
		give(0, path)
		wantDoctor(t, dir, "owners", []string{"failed ", "(uid 65534)", path, "chown ", "65534:65534"}, args...)
		give(uid, path)
	}
	if err := os.Chmod(config, 0o600); err != nil {
		t.Fatal(err)
	}
	wantDoctor(t, dir, "owners", []string{"failed ", config, "chgrp 65534 " + config}, args...)
	info, err := os.Stat(filepath.Join(data, "svc.db"))
	if err != nil || info.Sys().(*syscall.Stat_t).Uid != uid {
		t.Errorf("doctor changed the owner: %v", err)
	}
}

// TestDoctorGivesAdviceForADamagedDatabase cuts off and overwrites SQLite files. Finding O4.
func TestDoctorGivesAdviceForADamagedDatabase(t *testing.T) {
	t.Parallel()
	for name, damage := range map[string]func(path string) error{
		"cut off":     func(path string) error { return os.Truncate(path, 40960) },
		"almost gone": func(path string) error { return os.Truncate(path, 50) },
		"emptied":     func(path string) error { return os.Truncate(path, 0) },
		"overwritten": func(path string) error { return os.WriteFile(path, make([]byte, 8192), 0o600) },
	} {
		t.Run(name, func(t *testing.T) {
			dir := newInstallation(t)
			if err := damage(filepath.Join(dir, "data", "svc.db")); err != nil {
				t.Fatal(err)
			}
			wantDoctor(t, dir, "database", []string{"failed ", "svc.db is ", "svcd restore"})
			if name == "emptied" {
				return
			}
			if out, code := runSvcd(t, dir, "--listen="+lab.FreeAddress(t)); code == 0 || !strings.Contains(out, "svcd restore") {
				t.Errorf("a start: exit %d: %s", code, out)
			}
		})
	}
}

// TestDoctorAcceptsTheSchemaOfTheNextRelease: after a rollback by one release, the older svcd runs on the newer schema, and
// doctor must not call it wrong. Finding O4.
func TestDoctorAcceptsTheSchemaOfTheNextRelease(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	for _, database := range []string{"", testenv.PostgresDatabase(t)} {
		args := []string{}
		if database != "" {
			args = []string{"--database=" + database}
		}
		dir := newInstallation(t, args...)
		migrate := func(oldest string) {
			t.Helper()
			path := database
			if path == "" {
				path = filepath.Join(dir, "data", "svc.db")
			}
			db, err := engine.OpenAsIs(ctx, path, engine.Config{})
			if err != nil {
				t.Fatal(err)
			}
			if err := errors.Join(db.Write(ctx, func(tx engine.Tx) error {
				if err := tx.Later(ctx, `UPDATE schema_compatibility SET oldest = `+oldest); err != nil {
					return err
				}
				return tx.Later(ctx, `INSERT INTO schema_versions (version) VALUES (9000) ON CONFLICT DO NOTHING`)
			}), db.Close()); err != nil {
				t.Fatal(err)
			}
		}
		migrate("oldest")
		if out, code := runSvcd(t, dir, append([]string{"doctor"}, args...)...); code != 0 {
			t.Errorf("exit %d: %s", code, out)
		}
		wantDoctor(t, dir, "database", []string{"ok ", "schema 9000"}, args...)
		migrate("8999")
		wantDoctor(t, dir, "database", []string{"failed ", "use the newer svcd"}, args...)
	}
}

// pgBouncer starts PgBouncer before a PostgreSQL database and returns the URL through it.
func pgBouncer(t *testing.T, database, mode string) string {
	t.Helper()
	binary, err := exec.LookPath("pgbouncer")
	if err != nil {
		if binary, err = exec.LookPath("/usr/sbin/pgbouncer"); err != nil {
			t.Skip("PgBouncer is not installed")
		}
	}
	u, err := url.Parse(database)
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	reachable(t, dir)
	_, port, _ := net.SplitHostPort(lab.FreeAddress(t))
	config := filepath.Join(dir, "pgbouncer.ini")
	if err := os.WriteFile(config, fmt.Appendf(nil, `[databases]
* = host=%s port=%s user=%s
[pgbouncer]
listen_addr = 127.0.0.1
listen_port = %s
unix_socket_dir =
auth_type = any
pool_mode = %s
ignore_startup_parameters = extra_float_digits,options,search_path
`, u.Hostname(), u.Port(), u.User.Username(), port, mode), 0o644); err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(binary, config)
	cmd.Dir = "/"
	if os.Geteuid() == 0 { // which PgBouncer refuses
		nobody, err := user.Lookup("nobody")
		if err != nil {
			t.Skip("there is no user nobody")
		}
		uid, _ := strconv.Atoi(nobody.Uid)
		cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: uint32(uid), Gid: uint32(uid)}}
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	})
	testenv.Wait(t, "PgBouncer", func() bool {
		conn, err := net.Dial("tcp", "127.0.0.1:"+port)
		if err == nil {
			conn.Close()
		}
		return err == nil
	})
	u.Host = "127.0.0.1:" + port
	return u.String()
}

// TestDoctorFindsAPoolerWithoutItsSetting runs doctor through PgBouncer. Finding O4.
func TestDoctorFindsAPoolerWithoutItsSetting(t *testing.T) {
	t.Parallel()
	database := testenv.PostgresDatabase(t)
	dir := newInstallation(t, "--database="+database)
	shared := pgBouncer(t, database, "transaction")
	const setting = "default_query_exec_mode=cache_describe"
	wantDoctor(t, dir, "database", []string{"failed ", setting}, "--database="+shared)
	wantDoctor(t, dir, "database", []string{"ok "}, "--database="+shared+"&"+setting)
	wantDoctor(t, dir, "database", []string{"ok "}, "--database="+pgBouncer(t, database, "session"))
	wantDoctor(t, dir, "database", []string{"ok "}, "--database="+database)
}

// TestDoctorSaysThatPeopleUseAnotherAddress signs in at another address than the public URL. Finding O6.
func TestDoctorSaysThatPeopleUseAnotherAddress(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	p, err := lab.Launch(dir, nil, lab.Svcd(), "--drain=0s", "--listen="+lab.FreeAddress(t), "--public-url=http://right.example")
	if err != nil {
		t.Fatal(err)
	}
	defer p.Kill()
	session := p.Register(t, "olga")
	for range 5 {
		req, err := http.NewRequest(http.MethodGet, p.URL+"/settings", nil)
		if err != nil {
			t.Fatal(err)
		}
		req.Host = "other.example:8443"
		req.Header.Set("Accept", "text/html")
		req.Header.Set("Cookie", "svc_session="+session)
		resp, err := http.DefaultClient.Do(req)
		if err != nil || resp.StatusCode != http.StatusOK {
			t.Fatal(resp, err)
		}
		resp.Body.Close()
	}
	wantDoctor(t, dir, "address", []string{"ok "}, "--public-url=http://other.example:8443")
	testenv.Wait(t, "the note", func() bool {
		return strings.Contains(doctorLine(t, dir, "address", "--public-url=http://right.example"), "warning")
	})
	wantDoctor(t, dir, "address", []string{"--public-url is http://right.example, but people use other.example:8443"},
		"--public-url=http://right.example")
	if n := strings.Count(p.Log(), "people use another address"); n != 1 {
		t.Errorf("%d log lines", n)
	}
}
