package report

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"time"
)

// Machine describes the machine and the measured versions, one line each.
func Machine(ctx context.Context, more ...string) string {
	lines := []string{
		fmt.Sprintf("%d cores, %s, %s of memory",
			runtime.NumCPU(), fieldOf("/proc/cpuinfo", "model name"), fieldOf("/proc/meminfo", "MemTotal")),
		fmt.Sprintf("%s, %s/%s, %s", runtime.Version(), runtime.GOOS, runtime.GOARCH, time.Now().UTC().Format(time.DateOnly)),
		"svcd " + command(ctx, "git", "describe", "--always", "--dirty", "--tags"),
	}
	lines = append(lines, more...)
	modules := command(ctx, "go", "list", "-m", "-f", "{{.Path}} {{with .Replace}}{{.Version}}{{else}}{{.Version}}{{end}}",
		"github.com/ncruces/go-sqlite3", "github.com/pocketbase/pocketbase", "modernc.org/sqlite")
	return "- " + strings.Join(append(lines, strings.Split(modules, "\n")...), "\n- ") + "\n"
}

// fieldOf returns the value of a "name : value" line, or a dash.
func fieldOf(file, name string) string {
	text, err := os.ReadFile(file)
	if err != nil {
		return "-"
	}
	for line := range bytes.Lines(text) {
		if key, value, found := strings.Cut(string(line), ":"); found && strings.TrimSpace(key) == name {
			return strings.TrimSpace(value)
		}
	}
	return "-"
}

// Busy returns the load average of the last minute, which indicates noise.
func Busy() string {
	text, err := os.ReadFile("/proc/loadavg")
	if err != nil {
		return "-"
	}
	first, _, _ := strings.Cut(string(text), " ")
	return first
}

// command returns the output of a program, or a dash.
func command(ctx context.Context, name string, args ...string) string {
	out, err := exec.CommandContext(ctx, name, args...).Output()
	if err != nil {
		return "-"
	}
	return strings.TrimSpace(string(out))
}
