package proc

import (
	"os"
	"os/exec"
	"testing"
	"time"
)

func TestStatIsReadPastAnyName(t *testing.T) {
	text := []byte("42 (a) R (b)) S 7 42 42 0 -1 4194560 100 0 0 0 150 50 20 10 20 0 8 0 1000 1000 10 0 0\n")
	if parent, err := parentOf(text); err != nil || parent != 7 {
		t.Errorf("parent %d, %v", parent, err)
	}
	for _, bad := range []string{"", "42 (a", "42 (a) S", "42 (a) S x 42 42 0 -1 4194560"} {
		if _, err := parentOf([]byte(bad)); err == nil {
			t.Errorf("%q is accepted", bad)
		}
	}
}

func TestStatusHasThePeak(t *testing.T) {
	if n, err := parseStatus([]byte("Name:\tsvcd\nVmPeak:\t  900 kB\nVmHWM:\t  100 kB\n"), "VmHWM"); n != 102400 || err != nil {
		t.Errorf("%d, %v", n, err)
	}
	if _, err := parseStatus([]byte("Name:\tsvcd\n"), "VmHWM"); err == nil {
		t.Error("a missing value is accepted")
	}
}

func TestThisProcessComputes(t *testing.T) {
	before, err := CPU(os.Getpid())
	after := before
	for start := time.Now(); err == nil && after < before+30*time.Millisecond; after, err = CPU(os.Getpid()) {
		if time.Since(start) > 10*time.Second {
			t.Fatalf("computed for %v, but the CPU time is %v", time.Since(start), after-before)
		}
	}
	if err != nil {
		t.Error(err)
	}
}

func TestOnlyTheNamedChildrenCount(t *testing.T) {
	cmd := exec.Command("sh", "-c", "while :; do :; done", "bench-child")
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	defer cmd.Wait()
	defer cmd.Process.Kill()
	for start := time.Now(); ; {
		named, err := ChildrenCPU(os.Getpid(), "bench-child")
		others, err2 := ChildrenCPU(os.Getpid(), "bench-other")
		if err != nil || err2 != nil || others != 0 || time.Since(start) > 10*time.Second {
			t.Fatalf("the child %v, others %v, %v, %v", named, others, err, err2)
		}
		if named >= 20*time.Millisecond {
			return
		}
	}
}
