// Package proc starts servers as processes and reads their CPU time and memory.
package proc

import (
	"bytes"
	"fmt"
	"os"
	"strconv"
	"time"

	"golang.org/x/sys/unix"
)

// parentOf reads the parent of a process from the text of /proc/PID/stat.
func parentOf(stat []byte) (int, error) {
	// The name in parentheses may contain parentheses and spaces.
	_, rest, found := bytes.Cut(stat[max(bytes.LastIndexByte(stat, ')'), 0):], []byte(") "))
	fields := bytes.Fields(rest)
	if !found || len(fields) < 2 {
		return 0, fmt.Errorf("not the stat of a process: %q", stat)
	}
	return strconv.Atoi(string(fields[1]))
}

// CPU returns the user and system time of a process. The times in /proc have a resolution of 10 ms,
// its CPU clock one of nanoseconds.
func CPU(pid int) (time.Duration, error) {
	const schedulerClock = 2 // see clock_getcpuclockid
	var now unix.Timespec
	if err := unix.ClockGettime(int32(^pid<<3|schedulerClock), &now); err != nil {
		return 0, fmt.Errorf("CPU clock of process %d: %w", pid, err)
	}
	return time.Duration(now.Nano()), nil
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
		if parent, err := parentOf(stat); err != nil || parent != pid {
			continue
		}
		child, err := strconv.Atoi(e.Name())
		if err != nil {
			continue // /proc/self
		}
		if line, err := os.ReadFile("/proc/" + e.Name() + "/cmdline"); err != nil || !bytes.Contains(line, []byte(text)) {
			continue
		}
		if computed, err := CPU(child); err == nil {
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
