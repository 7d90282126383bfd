package e2e

import (
	"bytes"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"warranty.example/svc/e2e/lab"
	"warranty.example/svc/internal/servertest"
	"warranty.example/svc/internal/testenv"
)

// runSvcd runs a command of svcd and returns its output, standard error included, and exit code.
func runSvcd(t *testing.T, dir string, args ...string) (out string, code int) {
	t.Helper()
	cmd := exec.Command(lab.Svcd(), args...)
	cmd.Dir, cmd.Env = dir, []string{"PATH=" + os.Getenv("PATH")}
	text, err := cmd.CombinedOutput()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		t.Fatal(err)
	}
	return string(text), cmd.ProcessState.ExitCode()
}

// mustSvcd is runSvcd for commands that must succeed.
func mustSvcd(t *testing.T, dir string, args ...string) string {
	t.Helper()
	out, code := runSvcd(t, dir, args...)
	if code != 0 {
		t.Fatalf("svcd %s: exit %d: %s", strings.Join(args, " "), code, out)
	}
	return out
}

// refuseSvcd is runSvcd for commands that must fail with a code and one line that contains a text.
func refuseSvcd(t *testing.T, code int, text, dir string, args ...string) {
	t.Helper()
	out, got := runSvcd(t, dir, args...)
	if got != code || !strings.Contains(out, text) || strings.Count(out, "\n") != 1 || !strings.HasPrefix(out, "svcd: ") {
		t.Errorf("svcd %s: exit %d, want %d and one line with %q: %s", strings.Join(args, " "), got, code, text, out)
	}
}

// killSvcd starts a command and kills it after a while.
func killSvcd(t *testing.T, dir string, after time.Duration, args ...string) {
	t.Helper()
	cmd := exec.Command(lab.Svcd(), args...)
	cmd.Dir = dir
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	time.Sleep(after)
	_ = cmd.Process.Kill() // it may have ended
	_ = cmd.Wait()
}

// TestBackupAndRestoreProcesses backs up a running server, restores into both databases, and starts
// servers on the results. All files are readable, and no credential works any more.
func TestBackupAndRestoreProcesses(t *testing.T) {
	t.Parallel()
	for _, kind := range []string{"sqlite", "postgres"} {
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			const count = 5
			dir := t.TempDir()
			source := []string{"--data=" + filepath.Join(dir, "data")}
			if kind == "postgres" {
				source = append(source, "--database="+servertest.Postgres(t))
			}
			p, session := withDocuments(t, dir, count, source...)
			out := mustSvcd(t, dir, append([]string{"backup", "b.tar"}, source...)...)
			if !strings.Contains(out, fmt.Sprintf("%d files", count)) {
				t.Error(out)
			}
			if info, err := os.Stat(filepath.Join(dir, "b.tar")); err != nil || info.Mode().Perm() != 0o600 {
				t.Errorf("the backup has the mode %v, %v", info.Mode(), err)
			}
			refuseSvcd(t, 2, "b.tar already exists", dir, append([]string{"backup", "b.tar"}, source...)...)
			for _, to := range []string{"sqlite", "postgres"} {
				target := []string{"--data=" + filepath.Join(t.TempDir(), "new")}
				if to == "postgres" {
					target = append(target, "--database="+testenv.Postgres(t))
				}
				mustSvcd(t, dir, append([]string{"restore", "b.tar"}, target...)...)
				report := mustSvcd(t, dir, append([]string{"doctor", "--deep"}, target...)...)
				if strings.Contains(report, "failed") || !strings.Contains(report, "5 files (4.9 KiB), all checksums right") {
					t.Error(report)
				}
				if out, code := runSvcd(t, dir, append([]string{"restore", "b.tar"}, target...)...); code == 0 {
					t.Errorf("restored twice: %s", out)
				}
				n := lab.StartIn(t, t.TempDir(), append(target, lab.Unthrottled...)...)
				n.Want(t, 401, lab.Call{Method: "GET", Path: "/api/v1/documents", Secret: session})
				again := n.Want(t, 201, lab.Call{Method: "POST", Path: "/api/auth/sessions",
					Body: map[string]string{"email": "olga@people.example", "password": lab.Password}}).Must(t, "data.access_token")
				if got := len(documents(t, n, again)); got != count {
					t.Errorf("%d documents", got)
				}
				for id := range documents(t, n, again) {
					n.Want(t, 200, lab.Call{Method: "GET", Path: "/api/documents/" + id + "/file", Secret: again})
				}
				n.MustStop(t)
			}
			p.Want(t, 200, lab.Call{Method: "GET", Path: "/api/v1/documents", Secret: session})
		})
	}
}

// TestKilledBackupsAndRestores kills both at random moments. A killed backup never looks complete, and a
// killed restore can be repeated.
func TestKilledBackupsAndRestores(t *testing.T) {
	t.Parallel()
	for _, kind := range []string{"sqlite", "postgres"} {
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			withDocuments(t, dir, 20, "--data=data")
			mustSvcd(t, dir, "backup", "whole.tar")
			target := []string{"--data=" + filepath.Join(dir, "new")}
			if kind == "postgres" {
				target = append(target, "--database="+testenv.Postgres(t))
			}
			for i := range 4 {
				name := fmt.Sprintf("killed%d.tar", i)
				killSvcd(t, dir, time.Duration(rand.IntN(60))*time.Millisecond, "backup", name)
				if _, err := os.Stat(filepath.Join(dir, name)); err == nil { // it was faster
					mustSvcd(t, dir, "restore", name, "--data=from-"+name)
				}
				killSvcd(t, dir, time.Duration(rand.IntN(250))*time.Millisecond, append([]string{"restore", "whole.tar"}, target...)...)
			}
			out, code := runSvcd(t, dir, append([]string{"restore", "whole.tar"}, target...)...)
			placed, moved := filepath.Join(dir, "new", "files"), ""
			for i := range 2 { // it finished before it was killed, or was killed in its last moment and says what to do
				if code == 0 || strings.Contains(out, "svc.db already exists") || strings.Contains(out, "the database is not empty") {
					break
				}
				if !strings.Contains(out, "is not empty and is not overwritten; choose another place, or move it away") {
					t.Fatalf("exit %d: %s", code, out)
				}
				moved = filepath.Join(dir, fmt.Sprint("moved", i))
				if err := os.Rename(placed, moved); err != nil {
					t.Fatal(err)
				}
				out, code = runSvcd(t, dir, append([]string{"restore", "whole.tar"}, target...)...)
			}
			if code != 0 && moved != "" { // PostgreSQL committed after its client was killed: the files belong to it
				if err := os.Rename(moved, placed); err != nil {
					t.Fatal(err)
				}
			}
			if out := mustSvcd(t, dir, append([]string{"doctor", "--deep"}, target...)...); strings.Contains(out, "failed") {
				t.Error(out)
			}
			if left, _ := filepath.Glob(filepath.Join(dir, "new", "*.unfinished*")); len(left) > 0 {
				t.Errorf("left behind: %v", left)
			}
		})
	}
}

// TestOperatorCommandsUsedWrongly expects one clear line.
func TestOperatorCommandsUsedWrongly(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	p, _ := withDocuments(t, dir, 3, "--data=data")
	mustSvcd(t, dir, "backup", "b.tar")
	if err := os.WriteFile(filepath.Join(dir, "text"), []byte("hello"), 0o600); err != nil {
		t.Fatal(err)
	}
	refuseSvcd(t, 2, "give one place for the backup", dir, "backup")
	refuseSvcd(t, 2, "no database at", dir, "backup", "x.tar", "--data=nowhere")
	refuseSvcd(t, 2, "no such file or directory", dir, "backup", "missing/x.tar")
	refuseSvcd(t, 2, "give one backup", dir, "restore")
	refuseSvcd(t, 2, "no such file or directory", dir, "restore", "missing.tar", "--data=r")
	refuseSvcd(t, 1, "not a backup", dir, "restore", "text", "--data=r")
	refuseSvcd(t, 2, "another svcd", dir, "restore", "b.tar")
	refuseSvcd(t, 2, "give both databases", dir, "copy", "--from=data/svc.db")
	refuseSvcd(t, 2, "--to: must be a file path", dir, "copy", "--from=data/svc.db", "--to=mysql://x")
	refuseSvcd(t, 2, "another svcd", dir, "copy", "--from=data/svc.db", "--to=c/svc.db")
	refuseSvcd(t, 2, "--from: no database at", dir, "copy", "--from=nowhere/svc.db", "--to=c/svc.db")
	if _, err := os.Stat(filepath.Join(dir, "r", "svc.db")); err == nil {
		t.Error("a failed restore left a database")
	}
	p.MustStop(t)
	refuseSvcd(t, 2, "already exists and is not overwritten", dir, "restore", "b.tar")
	refuseSvcd(t, 2, "are the same database", dir, "copy", "--from=data/svc.db", "--to=data/svc.db")
	refuseSvcd(t, 2, "are the same database", dir, "copy", "--from=data/svc.db", "--to=./data/../data/svc.db")
	// A folder of files that is not empty is not overwritten either.
	if err := os.MkdirAll(filepath.Join(dir, "r2", "files", "complete", "x"), 0o700); err != nil {
		t.Fatal(err)
	}
	refuseSvcd(t, 2, "is not empty and is not overwritten", dir, "restore", "b.tar", "--data=r2")
	if out := mustSvcd(t, dir, "copy", "--from=data/svc.db", "--to=c/svc.db"); !strings.Contains(out, "all checksums equal; 3 files") {
		t.Error(out)
	}
	lab.StartIn(t, dir, "--data=c", "--signing-key=data/signing-key.pem", "--secrets-key=data/secrets.key").MustStop(t)
}

// TestDoctorFindsFaults damages an installation and expects a line for each fault.
func TestDoctorFindsFaults(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	p, _ := withDocuments(t, dir, 3, "--data=data")
	report := mustSvcd(t, dir, "doctor")
	for _, name := range []string{"settings", "tls", "database", "clock", "accounts", "signing", "secrets", "passkeys", "files", "mails", "jobs", "disk", "smtp", "redis", "dns"} {
		// The machine of the test may be short of disk space.
		if !strings.Contains(report, "ok      "+name) && name != "disk" || !strings.Contains(report, " "+name+" ") {
			t.Errorf("no line for %s:\n%s", name, report)
		}
	}
	p.MustStop(t)
	list, err := filepath.Glob(filepath.Join(dir, "data", "files", "complete", "*"))
	if err != nil || len(list) != 3 {
		t.Fatal(list, err)
	}
	content, err := os.ReadFile(list[1])
	if err != nil {
		t.Fatal(err)
	}
	flipped := bytes.Clone(content)
	flipped[len(flipped)-1] ^= 1
	orphan := filepath.Join(filepath.Dir(list[0]), strings.Repeat("0", 20))
	if err := errors.Join(os.Remove(list[0]), os.WriteFile(list[1], flipped, 0o600), os.WriteFile(orphan, nil, 0o600)); err != nil {
		t.Fatal(err)
	}
	says := []string{"svcd: the file " + filepath.Base(list[0]) + " is missing", "svcd: the file " + filepath.Base(list[1]) +
		" differs from the checksum", "svcd: everything else is complete, but files of documents are missing (1) or damaged (1)"}
	for _, args := range [][]string{
		{"backup", "b.tar"}, {"restore", "b.tar", "--data=restored"}, {"copy", "--from=data/svc.db", "--to=copied/svc.db"},
	} {
		out, code := runSvcd(t, dir, args...)
		if code != 1 || !strings.Contains(out, says[0]) || !strings.Contains(out, says[1]) || !strings.Contains(out, says[2]) {
			t.Errorf("%v: exit %d: %s", args, code, out)
		}
	}
	lab.StartIn(t, dir, "--data=restored").MustStop(t)
	lab.StartIn(t, dir, "--data=copied", "--signing-key=data/signing-key.pem", "--secrets-key=data/secrets.key").MustStop(t)
	for _, c := range []struct {
		args []string
		want string
	}{
		{nil, "failed  files     1 of 3 documents have no file (" + filepath.Base(list[0]) + "), and the files of 0 differ"},
		{[]string{"--deep"}, "and the files of 1 differ from their checksum (" + filepath.Base(list[1]) + ")"},
		{[]string{"--smtp=smtp://127.0.0.1:1"}, "failed  smtp "},
		{[]string{"--redis=redis://127.0.0.1:1"}, "failed  redis "},
		{[]string{"--public-url=https://nowhere.invalid"}, "failed  dns       nowhere.invalid cannot be resolved"},
		{[]string{"--data=nowhere"}, "failed  database  no database at"},
		{[]string{"--rate-limit=fast"}, "failed  settings  --rate-limit"},
	} {
		out, code := runSvcd(t, dir, append([]string{"doctor"}, c.args...)...)
		if code != 1 || !strings.Contains(out, c.want) {
			t.Errorf("%v: exit %d: %s", c.args, code, out)
		}
	}
	if err := os.WriteFile(list[0], content, 0o600); err != nil { // any content: without --deep only the size counts
		t.Fatal(err)
	}
	if out := mustSvcd(t, dir, "doctor"); !strings.Contains(out, "1 belong to no document") {
		t.Error(out)
	}
}
