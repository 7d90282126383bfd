package e2e

import (
	"bytes"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"warranty.example/svc/e2e/lab"
)

// TestPeopleHearThatTheDiskIsFull stores the files on a disk of 8 MiB. Uploads that do
// not fit are refused and leave nothing behind; everything else keeps working.
func TestPeopleHearThatTheDiskIsFull(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	folder := filepath.Join(dir, "data", "files")
	if err := os.MkdirAll(folder, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := syscall.Mount("tmpfs", folder, "tmpfs", 0, "size=8m"); err != nil {
		t.Skipf("cannot mount a small disk: %v", err)
	}
	t.Cleanup(func() {
		if err := syscall.Unmount(folder, syscall.MNT_DETACH); err != nil {
			t.Error(err)
		}
	})
	p := lab.StartIn(t, dir, lab.Unthrottled...)
	session := p.Register(t, "olga")
	record := p.Want(t, 201, lab.Create(session, "Kettle", "")).Must(t, "data.id")
	a, err := upload(p, session, record, 1, 20<<20)
	if err != nil || a.Status != http.StatusServiceUnavailable || a.Header.Get("Retry-After") == "" || strings.Contains(a.Body, "no space") {
		t.Errorf("an upload that does not fit: %d %s %v", a.Status, a.Body, err)
	}
	var running sync.WaitGroup
	var fitted atomic.Int64
	for i := range 6 { // at most two fit
		running.Go(func() {
			a, err := upload(p, session, record, uint64(i), 3<<20)
			switch {
			case err == nil && a.Status == http.StatusCreated:
				fitted.Add(1)
			case err != nil || a.Status != http.StatusServiceUnavailable:
				t.Errorf("an upload that may not fit: %d %s %v", a.Status, a.Body, err)
			}
		})
	}
	running.Wait()
	if a, err := upload(p, session, record, 7, 1<<20); err != nil || a.Status != http.StatusCreated {
		t.Errorf("an upload that fits: %d %s %v", a.Status, a.Body, err)
	}
	have := documents(t, p, session)
	if n := filesIn(t, dir, "complete"); n != len(have) || n != int(fitted.Load())+1 {
		t.Errorf("%d files for %d records, %d were acknowledged", n, len(have), fitted.Load()+1)
	}
	if n := filesIn(t, dir, "arriving"); n != 0 {
		t.Errorf("%d files are still arriving", n)
	}
	p.Want(t, 200, lab.Call{Method: "GET", Path: "/readyz"})
}

// TestPeopleUploadInLittleMemory lets 16 people upload and download 20 MiB each
// concurrently. The server never holds a whole file in memory.
func TestPeopleUploadInLittleMemory(t *testing.T) {
	t.Parallel()
	const people, size, most = 16, 20 << 20, 150 << 10 // KiB
	p := lab.Start(t, lab.Unthrottled...)
	var sessions, records [people]string
	for i := range people {
		sessions[i] = p.Register(t, fmt.Sprintf("person%d", i))
		records[i] = p.Want(t, 201, lab.Create(sessions[i], "Kettle", "")).Must(t, "data.id")
	}
	signUps := peak(t, p)
	forgetPeak(t, p)
	idle := peak(t, p)
	began := time.Now()
	var ids [people]string
	var running sync.WaitGroup
	for i := range people {
		running.Go(func() {
			a, err := upload(p, sessions[i], records[i], uint64(i), size)
			if err != nil || a.Status != http.StatusCreated {
				t.Errorf("upload %d: %d %s %v", i, a.Status, a.Body, err)
				return
			}
			ids[i], _ = a.At("data.id")
		})
	}
	running.Wait()
	took, uploads := time.Since(began), peak(t, p)
	if t.Failed() {
		return
	}
	for i := range people {
		running.Go(func() {
			req, err := http.NewRequest("GET", p.URL+"/api/documents/"+ids[i]+"/file", nil)
			if err != nil {
				t.Error(err)
				return
			}
			req.Header.Set("Authorization", "Bearer "+sessions[i])
			resp, err := p.Client.Do(req)
			if err != nil {
				t.Error(err)
				return
			}
			defer resp.Body.Close()
			got, err := sumOf(resp.Body)
			if want, _ := sumOf(content(uint64(i), size)); err != nil || got != want {
				t.Errorf("download %d: %s, want %s, %v", i, got, want, err)
			}
		})
	}
	running.Wait()
	downloads := peak(t, p)
	t.Logf("memory: %d MiB at the sign-ups, %d MiB after them, at most %d MiB with %d uploads of 20 MiB at once (%v), %d MiB with the downloads",
		signUps>>10, idle>>10, uploads>>10, people, took.Round(time.Millisecond), downloads>>10)
	if uploads > most || downloads > most {
		t.Errorf("the server used %d KiB for uploads and %d KiB for downloads, want at most %d",
			uploads, downloads, most)
	}
}

// forgetPeak resets the peak memory of the process to its current memory.
func forgetPeak(t *testing.T, p *lab.Process) {
	t.Helper()
	if err := os.WriteFile(fmt.Sprintf("/proc/%d/clear_refs", p.Cmd.Process.Pid), []byte("5"), 0); err != nil {
		t.Logf("the peak holds the sign-ups too: %v", err)
	}
}

// peak returns the peak memory of the process in KiB.
func peak(t *testing.T, p *lab.Process) int {
	t.Helper()
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", p.Cmd.Process.Pid))
	if err != nil {
		t.Fatal(err)
	}
	for line := range bytes.Lines(status) {
		if rest, found := bytes.CutPrefix(line, []byte("VmHWM:")); found {
			kib, err := strconv.Atoi(strings.TrimSuffix(strings.TrimSpace(string(rest)), " kB"))
			if err != nil {
				t.Fatal(err)
			}
			return kib
		}
	}
	t.Fatal("/proc has no VmHWM")
	return 0
}
