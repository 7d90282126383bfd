// Package proc starts servers as processes and reads their CPU time and memory from
// /proc.
package proc

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"strconv"
	"time"
)

// tick is the unit of CPU times in /proc, on every Linux.
const tick = 10 * time.Millisecond

// parseStat reads the CPU time and the parent of a process from /proc/PID/stat.
func parseStat(text []byte) (computed time.Duration, parent int, err error) {
	// The name in parentheses may contain parentheses and spaces.
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

// CPU returns the user and system time of a process.
func CPU(pid int) (time.Duration, error) {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return 0, err
	}
	computed, _, err := parseStat(text)
	return computed, err
}

// ChildrenCPU returns the CPU time of the children of a process whose command line contains a text.
func ChildrenCPU(pid int, text string) (time.Duration, error) {
	entries, err := os.ReadDir("/proc")
	if err != nil {
		return 0, err
	}
	var sum time.Duration
	for _, e := range entries {
		stat, err := os.ReadFile("/proc/" + e.Name() + "/stat")
		if err != nil {
			continue // not a process, or it has ended
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

// Peak returns the peak memory of a process in bytes.
func Peak(pid int) (int64, error) {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		return 0, err
	}
	return parseStatus(text, "VmHWM")
}

// parseStatus reads a value in kB from /proc/PID/status and returns it in bytes.
func parseStatus(text []byte, name string) (int64, error) {
	for line := range bytes.Lines(text) {
		if fields := bytes.Fields(line); len(fields) == 3 && string(fields[0]) == name+":" {
			n, err := strconv.ParseInt(string(fields[1]), 10, 64)
			return n << 10, err
		}
	}
	return 0, fmt.Errorf("no %s in the status of the process", name)
}
