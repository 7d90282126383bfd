// Package proc starts servers as processes of their own, and reads from the
// kernel what they cost.
package proc

import (
	"bytes"
	"fmt"
	"os"
	"strconv"
	"time"
)

// tick is what the kernel counts CPU time in for user space, on every Linux.
const tick = 10 * time.Millisecond

// times is the CPU time of a process, and of those of its children that have ended.
type times struct{ own, children time.Duration }

// parseStat reads the times and the parent of a process from /proc/PID/stat.
func parseStat(text []byte) (t times, parent int, err error) {
	// The name in brackets may hold anything, brackets and spaces too.
	_, rest, found := bytes.Cut(text[max(bytes.LastIndexByte(text, ')'), 0):], []byte(") "))
	fields := bytes.Fields(rest)
	if !found || len(fields) < 15 {
		return t, 0, fmt.Errorf("not the stat of a process: %q", text)
	}
	var n [4]int
	for i := range n { // utime, stime, cutime, cstime
		if n[i], err = strconv.Atoi(string(fields[11+i])); err != nil {
			return t, 0, err
		}
	}
	parent, err = strconv.Atoi(string(fields[1]))
	return times{own: time.Duration(n[0]+n[1]) * tick, children: time.Duration(n[2]+n[3]) * tick}, parent, err
}

// CPU is the time that a process has computed, in user space and in the kernel for it.
func CPU(pid int) (time.Duration, error) {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return 0, err
	}
	t, _, err := parseStat(text)
	return t.own, err
}

// FamilyCPU is the time of a process and of all its children, those too that have ended.
func FamilyCPU(pid int) (time.Duration, error) {
	entries, err := os.ReadDir("/proc")
	if err != nil {
		return 0, err
	}
	var sum time.Duration
	for _, e := range entries {
		text, err := os.ReadFile("/proc/" + e.Name() + "/stat")
		if err != nil {
			continue // no process, or one that has ended since
		}
		t, parent, err := parseStat(text)
		switch {
		case err != nil:
		case e.Name() == strconv.Itoa(pid):
			sum += t.own + t.children
		case parent == pid:
			sum += t.own
		}
	}
	return sum, nil
}

// ResetPeak makes the kernel measure the peak of a process's memory anew.
func ResetPeak(pid int) error {
	return os.WriteFile(fmt.Sprintf("/proc/%d/clear_refs", pid), []byte("5"), 0)
}

// Peak is the most memory that a process had since its peak was reset, in bytes.
func Peak(pid int) (int64, error) {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		return 0, err
	}
	return parseStatus(text, "VmHWM")
}

// parseStatus reads a figure in kB from /proc/PID/status, in bytes.
func parseStatus(text []byte, name string) (int64, error) {
	for line := range bytes.Lines(text) {
		if fields := bytes.Fields(line); len(fields) == 3 && string(fields[0]) == name+":" {
			n, err := strconv.ParseInt(string(fields[1]), 10, 64)
			return n << 10, err
		}
	}
	return 0, fmt.Errorf("no %s in the status of the process", name)
}
