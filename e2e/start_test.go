package e2e

import (
	"debug/elf"
	"fmt"
	"io/fs"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/ncruces/go-sqlite3/driver"

	"warranty.example/svc/e2e/lab"
	"warranty.example/svc/internal/testenv"
)

func TestBinaryIsStatic(t *testing.T) {
	t.Parallel()
	if runtime.GOOS != "linux" {
		t.Skip("the test reads ELF files")
	}
	file, err := elf.Open(lab.Svcd())
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	for _, part := range file.Progs {
		if part.Type == elf.PT_INTERP || part.Type == elf.PT_DYNAMIC {
			t.Errorf("the binary has a %v segment: it is not static", part.Type)
		}
	}
}

// TestStartIsQuick measures the CPU time of a start on a database with records.
func TestStartIsQuick(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	lab.StartIn(t, dir, "--demo").MustStop(t)
	least := time.Hour
	for range 3 {
		p := lab.StartIn(t, dir)
		p.MustStop(t)
		least = min(least, p.Cmd.ProcessState.UserTime()+p.Cmd.ProcessState.SystemTime())
	}
	t.Logf("starting and stopping takes %v of processor time", least)
	if least > 3*time.Second {
		t.Errorf("starting and stopping takes %v of CPU time, want at most 3 s", least)
	}
}

// TestFilesAreTheOwnersAlone starts with umask 0 and checks the file modes.
func TestFilesAreTheOwnersAlone(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	p, err := lab.Launch(dir, nil, "sh", "-c", `umask 000; exec "$0" "$@"`, lab.Svcd(), "--listen="+lab.FreeAddress(t))
	if err != nil {
		t.Fatal(err)
	}
	defer p.Kill()
	p.Register(t, "olga") // creates the write-ahead log
	seen := 0
	err = filepath.WalkDir(filepath.Join(dir, "data"), func(path string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		info, err := entry.Info()
		if err != nil {
			return err
		}
		seen++
		if info.Mode().Perm()&0o077 != 0 {
			t.Errorf("%s is %v: other users can read it", path, info.Mode())
		}
		return nil
	})
	if err != nil || seen < 2 {
		t.Errorf("found %d files: %v", seen, err)
	}
}

// TestOldBinaryRefusesANewerDatabase inserts an unknown, newer schema version.
func TestOldBinaryRefusesANewerDatabase(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	lab.StartIn(t, dir).MustStop(t)
	file := filepath.Join(dir, "data", "svc.db")
	db, err := driver.Open("file:" + file)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := db.Exec(`UPDATE schema_compatibility SET oldest = 99999; INSERT INTO schema_versions (version) VALUES (99999)`); err != nil {
		t.Fatal(err)
	}
	db.Close()
	if p, err := lab.Launch(dir, nil, lab.Svcd(), "--listen="+lab.FreeAddress(t)); err == nil {
		p.Kill()
		t.Error("svcd started")
	} else if !strings.Contains(err.Error(), "exit status 1") || !strings.Contains(err.Error(), "newer version of svcd") {
		t.Error(err)
	}
}

// TestReplicasStartTogether starts three processes concurrently on one empty database.
// On PostgreSQL all of them serve it; on SQLite one does, and the others exit with an
// error (D1).
func TestReplicasStartTogether(t *testing.T) {
	t.Parallel()
	t.Run("sqlite", func(t *testing.T) { startTogether(t, filepath.Join(t.TempDir(), "svc.db"), 1) })
	t.Run("postgres", func(t *testing.T) { startTogether(t, testenv.Postgres(t), 3) })
}

func startTogether(t *testing.T, database string, want int) {
	started := make([]*lab.Process, 3)
	errs := make([]error, len(started))
	var wg sync.WaitGroup
	for i := range started {
		dir, args := t.TempDir(), []string{lab.Svcd(), "--listen=" + lab.FreeAddress(t), "--database=" + database}
		wg.Go(func() { started[i], errs[i] = lab.Launch(dir, nil, append(args, lab.DataOf(args)...)...) })
	}
	wg.Wait()
	var replicas []*lab.Process
	for i, p := range started {
		if errs[i] != nil {
			if text := errs[i].Error(); !strings.Contains(text, "exit status 2") || !strings.Contains(text, "svcd: another svcd") {
				t.Error(text)
			}
			continue
		}
		defer p.Kill()
		if log := p.Log(); strings.Contains(log, `"level":"ERROR"`) {
			t.Errorf("replica %d: %s", i, log)
		}
		replicas = append(replicas, p)
	}
	if len(replicas) != want {
		t.Fatalf("%d processes serve the database, want %d", len(replicas), want)
	}
	session := replicas[0].Register(t, "olga")
	for i, p := range replicas {
		p.Want(t, 201, lab.Create(session, fmt.Sprint("Kettle ", i), ""))
	}
	if got := len(replicas[len(replicas)-1].Products(t, session)); got != len(replicas) {
		t.Errorf("%d records, want %d", got, len(replicas))
	}
	for _, p := range replicas {
		p.MustStop(t)
	}
}

// TestStartIsCutShort ends svcd at different moments of its first start, by SIGTERM,
// which is not a failure, and by kill -9: the next start must succeed.
func TestStartIsCutShort(t *testing.T) {
	t.Parallel()
	each := func(t *testing.T, database string) {
		for i, signal := range []syscall.Signal{syscall.SIGTERM, syscall.SIGKILL, syscall.SIGTERM, syscall.SIGKILL} {
			args := []string{"--listen=" + lab.FreeAddress(t), database}
			cmd := exec.Command(lab.Svcd(), append(args, lab.DataOf(args)...)...)
			var log strings.Builder
			cmd.Dir, cmd.Stderr = t.TempDir(), &log
			if err := cmd.Start(); err != nil {
				t.Fatal(err)
			}
			time.Sleep(time.Duration(10+15*i) * time.Millisecond)
			cmd.Process.Signal(signal)
			ended := cmd.Wait()
			// Until svcd handles signals, SIGTERM terminates it.
			if signal == syscall.SIGTERM && ended != nil && ended.Error() != "signal: terminated" {
				t.Errorf("after SIGTERM: %v: %s", ended, log.String())
			}
		}
		p := lab.Start(t, database)
		p.Want(t, 201, lab.Create(p.Register(t, "olga"), "Kettle", ""))
	}
	t.Run("sqlite", func(t *testing.T) { each(t, "--database="+filepath.Join(t.TempDir(), "svc.db")) })
	t.Run("postgres", func(t *testing.T) { each(t, "--database="+testenv.Postgres(t)) })
}

// TestDiskFull limits the size of the database: acknowledged writes are kept, and
// other writes are refused with an error.
func TestDiskFull(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	lab.StartIn(t, dir, lab.Unthrottled...).MustStop(t)
	args := append([]string{"sh", "-c", `ulimit -f 4000; exec "$0" "$@"`, lab.Svcd(), "--listen=" + lab.FreeAddress(t)}, lab.Unthrottled...)
	p, err := lab.Launch(dir, nil, args...)
	if err != nil {
		t.Fatal(err)
	}
	defer p.Kill()
	session := p.Register(t, "olga")
	acknowledged := map[string]bool{}
	refusals := 0
	for i := 0; i < 3000 && refusals < 20; i++ {
		product := fmt.Sprint("Kettle ", i)
		a, err := p.Try(lab.Create(session, product, ""))
		switch {
		case err != nil:
			refusals = 20 // the process may have stopped
		case a.Status == 201:
			acknowledged[product] = true
		case a.Status == 503 && a.Header.Get("Retry-After") != "":
			refusals++
		default:
			t.Fatalf("%d: %s", a.Status, a.Body)
		}
	}
	if refusals == 0 {
		t.Fatal("the disk was never full")
	}
	t.Logf("%d records until the disk was full", len(acknowledged))
	p.Want(t, 200, lab.Call{Method: "GET", Path: "/api/v1/warranties", Secret: session}) // reads still work
	testenv.Wait(t, "/readyz reports failing writes", func() bool {                      // C7
		if a, err := p.Try(lab.Create(session, "Kettle", "")); err != nil || a.Status != 503 {
			t.Fatalf("a write on a full disk: %d, %v", a.Status, err)
		}
		return strings.Contains(p.Want(t, 200, lab.Call{Method: "GET", Path: "/readyz"}).Body, `"writes":"failing"`)
	})
	p.Kill()
	again := lab.StartIn(t, dir, lab.Unthrottled...)
	have := again.Products(t, session)
	for product := range acknowledged {
		if have[product] != 1 {
			t.Errorf("%s was acknowledged and exists %d times", product, have[product])
		}
	}
	again.Want(t, 201, lab.Create(session, "after", ""))
}
