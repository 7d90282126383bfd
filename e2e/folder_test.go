package e2e

import (
	"bytes"
	"errors"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"warranty.example/svc/e2e/lab"
	"warranty.example/svc/internal/files"
	"warranty.example/svc/internal/testenv"
)

// refusedStart runs svcd, which must exit with code 2 and one line of output, and returns the line.
func refusedStart(t *testing.T, dir string, args ...string) string {
	t.Helper()
	p, err := lab.Launch(dir, nil, append([]string{lab.Svcd(), "--listen=" + lab.FreeAddress(t)}, args...)...)
	if err == nil {
		p.Kill()
		t.Fatal("svcd started")
	}
	log, _ := os.ReadFile(filepath.Join(dir, "server.log"))
	if !strings.Contains(err.Error(), "exit status 2") || strings.Count(string(log), "\n") != 1 {
		t.Errorf("not exit code 2 and one line: %v", err)
	}
	return string(log)
}

// withDocuments starts svcd and uploads files.
func withDocuments(t *testing.T, dir string, count int, args ...string) (p *lab.Process, session string) {
	t.Helper()
	p = lab.StartIn(t, dir, append(slices.Clone(lab.Unthrottled), args...)...)
	session = p.Register(t, "olga")
	record := p.Want(t, 201, lab.Create(session, "Kettle", "")).Must(t, "data.id")
	for i := range count {
		if a, err := upload(p, session, record, uint64(i), 1000); err != nil || a.Status != 201 {
			t.Fatalf("upload: %d %s %v", a.Status, a.Body, err)
		}
	}
	return p, session
}

// TestFolderOfAnotherDatabaseIsRefused moves from SQLite to PostgreSQL with the same
// data folder: nothing is changed, and one line says why (A1).
func TestFolderOfAnotherDatabaseIsRefused(t *testing.T) {
	t.Parallel()
	const count = 10
	dir := t.TempDir()
	p, session := withDocuments(t, dir, count)
	p.MustStop(t)
	other := []string{"--database=" + testenv.Postgres(t), "--data=data"}
	if line := refusedStart(t, dir, other...); !strings.HasPrefix(line, "svcd: --data: ") || !strings.Contains(line, "belongs to another database") ||
		!strings.Contains(line, "--adopt-files") {
		t.Error(line)
	}
	// Without the id, as in older versions, only the files identify the database.
	id := filepath.Join(dir, "data", "files", "id")
	if err := os.Rename(id, id+" away"); err != nil {
		t.Fatal(err)
	}
	if line := refusedStart(t, dir, other...); !strings.Contains(line, "only 0 of its 10 files are known") {
		t.Error(line)
	}
	lab.StartIn(t, dir, append(other, "--adopt-files")...).MustStop(t)
	if n := filesIn(t, dir, "complete"); n != count {
		t.Errorf("%d of %d files are left", n, count)
	}
	refusedStart(t, dir) // it now belongs to the other database
	p = lab.StartIn(t, dir, "--adopt-files")
	for id := range documents(t, p, session) {
		p.Want(t, 200, lab.Call{Method: "GET", Path: "/api/documents/" + id + "/file", Secret: session})
	}
}

// TestSecondServerOnSQLiteIsRefused starts a second process on the same folder. The
// first keeps running, and kill -9 releases the folder (D1).
func TestSecondServerOnSQLiteIsRefused(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	p, session := withDocuments(t, dir, 1, "--data="+filepath.Join(dir, "data"))
	data := "--data=" + filepath.Join(dir, "data")
	link := filepath.Join(t.TempDir(), "link.db")
	if err := os.Symlink(filepath.Join(dir, "data", "svc.db"), link); err != nil {
		t.Fatal(err)
	}
	for name, args := range map[string][]string{
		"the same folder":                       {data},
		"a link to the database":                {"--database=" + link, "--adopt-files"},
		"the same folder, adopted":              {data, "--adopt-files"},
		"the same database":                     {"--database=" + filepath.Join(dir, "data", "svc.db")},
		"the same folder, another database":     {data, "--database=" + filepath.Join(t.TempDir(), "svc.db")},
		"the same folder, another, to adopt it": {data, "--database=" + filepath.Join(t.TempDir(), "svc.db"), "--adopt-files"},
	} {
		want := "another svcd (process "
		if name == "the same folder, another database" {
			want = "belongs to another database" // which is found first
		}
		if line := refusedStart(t, t.TempDir(), args...); !strings.Contains(line, want) {
			t.Errorf("%s: %s", name, line)
		}
	}
	cmd := exec.Command(lab.Svcd(), "user", "add", "ada@shop.example", "--name=Ada", data)
	cmd.Stdin = strings.NewReader(lab.Password + "\n")
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Errorf("a command while the server runs: %v: %s", err, out)
	}
	p.Want(t, 200, lab.Call{Method: "GET", Path: "/api/v1/documents", Secret: session})
	p.Kill()
	lab.StartIn(t, t.TempDir(), data).Want(t, 200, lab.Call{Method: "GET", Path: "/api/v1/documents", Secret: session})
}

// startWithoutReady starts svcd and waits until it listens, ready or not.
func startWithoutReady(t *testing.T, dir string, args ...string) *lab.Process {
	t.Helper()
	p := &lab.Process{Dir: dir, Exited: make(chan struct{}), Client: &http.Client{Timeout: testenv.Patience},
		Cmd: exec.Command(lab.Svcd(), append([]string{"--listen=" + lab.FreeAddress(t)}, args...)...)}
	log, err := os.Create(filepath.Join(dir, "server.log"))
	if err != nil {
		t.Fatal(err)
	}
	defer log.Close()
	p.Cmd.Dir, p.Cmd.Stderr = dir, log
	if err := p.Cmd.Start(); err != nil {
		t.Fatal(err)
	}
	go func() { p.Err = p.Cmd.Wait(); close(p.Exited) }()
	t.Cleanup(p.Kill)
	testenv.Wait(t, "the server listens", func() bool {
		select {
		case <-p.Exited:
			t.Fatalf("svcd ended instead of listening: %v\n%s", p.Err, p.Log())
		default:
		}
		for _, line := range p.Logged("listening") {
			p.URL = "http://" + line["address"].(string)
		}
		return p.URL != ""
	})
	return p
}

// TestReplicaWithAnotherFolderIsNotReady starts replicas that do not share their
// folder: the second one reports it in the log and at /readyz, and returns no wrong
// responses (D4).
func TestReplicaWithAnotherFolderIsNotReady(t *testing.T) {
	t.Parallel()
	database := "--database=" + testenv.Postgres(t)
	keys := t.TempDir()
	shared := []string{database, "--data=data", "--signing-key=" + filepath.Join(keys, "signing-key.pem"), "--secrets-key=" + filepath.Join(keys, "secrets.key")}
	first, session := withDocuments(t, t.TempDir(), 1, shared...)
	second := startWithoutReady(t, t.TempDir(), shared...)
	a := second.Want(t, 503, lab.Call{Method: "GET", Path: "/readyz"})
	if detail := a.Must(t, "detail"); !strings.Contains(detail, "is not the one of its database") {
		t.Error(detail)
	}
	if lines := second.Logged("cannot use the files folder"); len(lines) != 1 {
		t.Errorf("%d lines in the log: %s", len(lines), second.Log())
	}
	for id := range documents(t, first, session) {
		path := lab.Call{Method: "GET", Path: "/api/documents/" + id + "/file", Secret: session}
		first.Want(t, 200, path)
		second.Want(t, 503, path)
	}
	second.Want(t, 200, lab.Call{Method: "GET", Path: "/healthz"})
	first.Want(t, 200, lab.Call{Method: "GET", Path: "/readyz"})

	// Another replica adopts a folder: the first one notices at the next upload.
	record := first.Want(t, 201, lab.Create(session, "Lamp", "")).Must(t, "data.id")
	lab.StartIn(t, t.TempDir(), append(shared, "--adopt-files")...).MustStop(t)
	if a, err := upload(first, session, record, 7, 1000); err != nil || a.Status != 503 {
		t.Errorf("an upload into a folder that is no longer in use: %d %s %v", a.Status, a.Body, err)
	}
	first.Want(t, 503, lab.Call{Method: "GET", Path: "/readyz"})
}

// TestFolderOfThePastIsNotTakenForTheOneInUse starts with a folder that was in use
// before another one was adopted. It lacks later uploads.
func TestFolderOfThePastIsNotTakenForTheOneInUse(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	shared := []string{"--database=svc.db", "--signing-key=signing-key.pem", "--secrets-key=secrets.key"}
	p, session := withDocuments(t, dir, 2, append(shared, "--data=first")...)
	record := p.Want(t, 201, lab.Create(session, "Lamp", "")).Must(t, "data.id")
	p.MustStop(t)
	p = lab.StartIn(t, dir, append(shared, "--data=second", "--adopt-files")...)
	if a, err := upload(p, session, record, 9, 1000); err != nil || a.Status != 201 {
		t.Fatalf("upload: %d %s %v", a.Status, a.Body, err)
	}
	p.MustStop(t)
	p = startWithoutReady(t, dir, append(shared, "--data=first")...)
	a := p.Want(t, 503, lab.Call{Method: "GET", Path: "/readyz"})
	if detail := a.Must(t, "detail"); !strings.Contains(detail, "is not the one of its database") {
		t.Error(detail)
	}
	p.Kill()
	lab.StartIn(t, dir, append(shared, "--data=second")...)
}

// TestPathsThatCannotBeAreRefused starts svcd with paths of the wrong kind: they stay
// unchanged, and one line says what is wrong.
func TestPathsThatCannotBeAreRefused(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	text := filepath.Join(dir, "text")
	if err := os.WriteFile(text, []byte("a text that is longer than the head of a database\n"), 0o640); err != nil {
		t.Fatal(err)
	}
	socket, err := net.Listen("unix", filepath.Join(dir, "socket"))
	if err != nil {
		t.Fatal(err)
	}
	defer socket.Close()
	for _, c := range []struct{ arg, want string }{
		{"--data=" + text, "is not a folder"},
		{"--data=" + text + "/below", "not a directory"},
		{"--data=/proc/svc", "cannot create the folder"},
		{"--database=" + dir, "is a folder; give the path of a file"},
		{"--database=" + text, "is not a SQLite database"},
		{"--database=" + filepath.Join(dir, "socket"), "is not a regular file"},
		{"--database=/proc/svc/svc.db", "cannot create the folder"},
	} {
		if line := refusedStart(t, t.TempDir(), c.arg); !strings.Contains(line, c.want) {
			t.Errorf("%s: %s", c.arg, line)
		}
	}
	entries, err := os.ReadDir(dir)
	if err != nil || len(entries) != 2 {
		t.Errorf("%v, %v", entries, err)
	}
	if info, err := os.Stat(text); err != nil || info.Mode() != 0o640 {
		t.Errorf("%v, %v", info.Mode(), err)
	}
}

// TestUnfinishedDatabase starts svcd on a file that has no database header. While another process
// holds its lock, that process is creating the database and the start is refused because of it.
// Without the process, the file is of another kind and stays unchanged.
func TestUnfinishedDatabase(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "svc.db")
	content := make([]byte, 4096)
	if err := os.WriteFile(file, content, 0o600); err != nil {
		t.Fatal(err)
	}
	lock, err := files.AcquireLock(file + "-lock")
	if err != nil {
		t.Fatal(err)
	}
	if line := refusedStart(t, t.TempDir(), "--database="+file); !strings.Contains(line, "another svcd") {
		t.Errorf("locked: %s", line)
	}
	if err := lock.Release(); err != nil {
		t.Fatal(err)
	}
	// A process that another test forks at this moment has the lock too, until it runs its program.
	line := ""
	testenv.Wait(t, "nobody has the lock", func() bool {
		line = refusedStart(t, t.TempDir(), "--database="+file)
		return !strings.Contains(line, "another svcd")
	})
	if !strings.Contains(line, "is not a SQLite database") {
		t.Errorf("not locked: %s", line)
	}
	if got, err := os.ReadFile(file); err != nil || !bytes.Equal(got, content) {
		t.Errorf("the file changed: %v", err)
	}
}

// TestCommandsOfRootLeaveNothingToRoot runs "svcd user add" as root before the first
// start of the service, which runs as another user (A9).
func TestCommandsOfRootLeaveNothingToRoot(t *testing.T) {
	t.Parallel()
	const uid = 65534
	if os.Geteuid() != 0 {
		t.Skip("only root can start programs as another user")
	}
	dir := t.TempDir()
	data := filepath.Join(dir, "data")
	reachable(t, dir)
	if err := errors.Join(os.Mkdir(data, 0o700), os.Chown(data, uid, uid)); err != nil {
		t.Fatal(err)
	}
	add := func(email string) {
		t.Helper()
		cmd := exec.Command(lab.Svcd(), "user", "add", email, "--name=Ada", "--data="+data)
		cmd.Stdin = strings.NewReader(lab.Password + "\n")
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("%v: %s", err, out)
		}
	}
	serve := func() (*lab.Process, error) {
		return lab.Launch(dir, nil, "setpriv", "--reuid=65534", "--regid=65534", "--clear-groups", lab.Svcd(), "--listen="+lab.FreeAddress(t), "--data="+data)
	}
	if _, err := exec.LookPath("setpriv"); err != nil {
		t.Skip("setpriv is not installed")
	}
	p, err := serve()
	if err != nil {
		t.Fatal(err)
	}
	add("ben@shop.example") // while the server runs
	p.Want(t, 201, lab.Call{Method: "POST", Path: "/api/auth/sessions", Body: map[string]string{"email": "ben@shop.example", "password": lab.Password}})
	p.MustStop(t)
	entries, err := os.ReadDir(data)
	if err != nil || len(entries) < 2 {
		t.Fatalf("%d files, %v", len(entries), err)
	}
	for _, entry := range entries {
		info, err := entry.Info()
		if err != nil || info.Sys().(*syscall.Stat_t).Uid != uid {
			t.Errorf("%s belongs to root, %v", entry.Name(), err)
		}
	}
	// The error for a file that belongs to root names it and says what to do.
	if err := os.Chown(filepath.Join(data, "svc.db"), 0, 0); err != nil {
		t.Fatal(err)
	}
	_, err = serve()
	if err == nil {
		t.Fatal("svcd started")
	}
	for _, want := range []string{"exit status 1", "permission denied", "svc.db belongs to root (uid 0) and svcd runs as ", "(uid 65534)", "chown -R 65534:65534 " + data} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("%q is not in: %v", want, err)
		}
	}
	// A symbolic link in the folder is not followed.
	target := filepath.Join(dir, "target")
	if err := errors.Join(os.WriteFile(target, nil, 0o600), os.Remove(filepath.Join(data, "svc.db")), os.Symlink(target, filepath.Join(data, "svc.db"))); err != nil {
		t.Fatal(err)
	}
	add("eve@shop.example")
	if info, err := os.Stat(target); err != nil || info.Sys().(*syscall.Stat_t).Uid != 0 {
		t.Errorf("the owner of root's file was changed: %v", err)
	}
}

// reachable lets other users traverse the parents of a folder.
func reachable(t *testing.T, dir string) {
	t.Helper()
	for ; dir != filepath.Dir(dir); dir = filepath.Dir(dir) {
		info, err := os.Stat(dir)
		if err != nil {
			t.Fatal(err)
		}
		if info.Mode().Perm()&0o001 == 0 {
			if err := os.Chmod(dir, info.Mode().Perm()|0o011); err != nil {
				t.Fatal(err)
			}
		}
	}
	if err := os.Chmod(lab.Binaries, 0o755); err != nil {
		t.Fatal(err)
	}
}
