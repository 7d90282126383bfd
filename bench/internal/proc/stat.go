// Package proc starts servers as processes of their own, and reads from the
// kernel what they cost.
package proc

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"strconv"
	"time"
)

// tick is what the kernel counts CPU time in for user space, on every Linux.
const tick = 10 * time.Millisecond

// parseStat reads the CPU time and the parent of a process from /proc/PID/stat.
func parseStat(text []byte) (computed time.Duration, parent int, err error) {
	// The name in brackets may hold anything, brackets and spaces too.
	_, rest, found := bytes.Cut(text[max(bytes.LastIndexByte(text, ')'), 0):], []byte(") "))
	fields := bytes.Fields(rest)
	if !found || len(fields) < 13 {
		return 0, 0, fmt.Errorf("not the stat of a process: %q", text)
	}
	user, err1 := strconv.Atoi(string(fields[11]))
	system, err2 := strconv.Atoi(string(fields[12]))
	parent, err3 := strconv.Atoi(string(fields[1]))
	return time.Duration(user+system) * tick, parent, errors.Join(err1, err2, err3)
}

// CPU is the time that a process has computed, in user space and in the kernel for it.
func CPU(pid int) (time.Duration, error) {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return 0, err
	}
	computed, _, err := parseStat(text)
	return computed, err
}

// ChildrenCPU is the time of those children of a process whose command line has a text in it.
func ChildrenCPU(pid int, text string) (time.Duration, error) {
	entries, err := os.ReadDir("/proc")
	if err != nil {
		return 0, err
	}
	var sum time.Duration
	for _, e := range entries {
		stat, err := os.ReadFile("/proc/" + e.Name() + "/stat")
		if err != nil {
			continue // no process, or one that has ended since
		}
		computed, parent, err := parseStat(stat)
		if err != nil || parent != pid {
			continue
		}
		if line, err := os.ReadFile("/proc/" + e.Name() + "/cmdline"); err == nil && bytes.Contains(line, []byte(text)) {
			sum += computed
		}
	}
	return sum, nil
}

// Peak is the most memory that a process ever had, in bytes.
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
