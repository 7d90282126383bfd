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
	p := startIn(t, dir, unthrottled...)
	session := p.register(t, "olga")
	record := p.want(t, 201, create(session, "Kettle", "")).must(t, "data.id")
	a, err := p.upload(session, record, 1, 20<<20)
	if err != nil || a.status != http.StatusServiceUnavailable || a.header.Get("Retry-After") == "" || strings.Contains(a.body, "no space") {
		t.Errorf("an upload that does not fit: %d %s %v", a.status, a.body, err)
	}
	var running sync.WaitGroup
	var fitted atomic.Int64
	for i := range 6 { // at most two fit
		running.Go(func() {
			a, err := p.upload(session, record, uint64(i), 3<<20)
			switch {
			case err == nil && a.status == http.StatusCreated:
				fitted.Add(1)
			case err != nil || a.status != http.StatusServiceUnavailable:
				t.Errorf("an upload that may not fit: %d %s %v", a.status, a.body, err)
			}
		})
	}
	running.Wait()
	if a, err := p.upload(session, record, 7, 1<<20); err != nil || a.status != http.StatusCreated {
		t.Errorf("an upload that fits: %d %s %v", a.status, a.body, err)
	}
	have := p.documents(t, session)
	if n := filesIn(t, dir, "complete"); n != len(have) || n != int(fitted.Load())+1 {
		t.Errorf("%d files for %d records, %d were acknowledged", n, len(have), fitted.Load()+1)
	}
	if n := filesIn(t, dir, "arriving"); n != 0 {
		t.Errorf("%d files are still arriving", n)
	}
	p.want(t, 200, call{method: "GET", path: "/readyz"})
}

// TestPeopleUploadInLittleMemory lets 16 people upload and download 20 MiB each
// concurrently. The server never holds a whole file in memory.
func TestPeopleUploadInLittleMemory(t *testing.T) {
	t.Parallel()
	const people, size, most = 16, 20 << 20, 150 << 10 // KiB
	p := start(t, unthrottled...)
	var sessions, records [people]string
	for i := range people {
		sessions[i] = p.register(t, fmt.Sprintf("person%d", i))
		records[i] = p.want(t, 201, create(sessions[i], "Kettle", "")).must(t, "data.id")
	}
	signUps := p.peak(t)
	p.forgetPeak(t)
	idle := p.peak(t)
	began := time.Now()
	var ids [people]string
	var running sync.WaitGroup
	for i := range people {
		running.Go(func() {
			a, err := p.upload(sessions[i], records[i], uint64(i), size)
			if err != nil || a.status != http.StatusCreated {
				t.Errorf("upload %d: %d %s %v", i, a.status, a.body, err)
				return
			}
			ids[i], _ = a.at("data.id")
		})
	}
	running.Wait()
	took, uploads := time.Since(began), p.peak(t)
	if t.Failed() {
		return
	}
	for i := range people {
		running.Go(func() {
			req, err := http.NewRequest("GET", p.url+"/api/documents/"+ids[i]+"/file", nil)
			if err != nil {
				t.Error(err)
				return
			}
			req.Header.Set("Authorization", "Bearer "+sessions[i])
			resp, err := p.client.Do(req)
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
	downloads := p.peak(t)
	t.Logf("memory: %d MiB at the sign-ups, %d MiB after them, at most %d MiB with %d uploads of 20 MiB at once (%v), %d MiB with the downloads",
		signUps>>10, idle>>10, uploads>>10, people, took.Round(time.Millisecond), downloads>>10)
	if uploads > most || downloads > most {
		t.Errorf("the server used %d KiB for uploads and %d KiB for downloads, want at most %d",
			uploads, downloads, most)
	}
}

// forgetPeak resets the peak memory of the process to its current memory.
func (p *process) forgetPeak(t *testing.T) {
	t.Helper()
	if err := os.WriteFile(fmt.Sprintf("/proc/%d/clear_refs", p.cmd.Process.Pid), []byte("5"), 0); err != nil {
		t.Logf("the peak holds the sign-ups too: %v", err)
	}
}

// peak returns the peak memory of the process in KiB.
func (p *process) peak(t *testing.T) int {
	t.Helper()
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", p.cmd.Process.Pid))
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
