package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// runIn runs a command in a folder and returns its output.
func runIn(t *testing.T, folder, name string, args ...string) string {
	t.Helper()
	cmd := exec.Command(name, args...)
	cmd.Dir = folder
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%s %s: %v\n%s", name, strings.Join(args, " "), err, out)
	}
	return strings.TrimSpace(string(out))
}

// copyOf makes a new repository with the tracked files of this one that match the
// patterns, as they are in the working folder.
func copyOf(t *testing.T, patterns ...string) string {
	t.Helper()
	folder := t.TempDir()
	for name := range strings.SplitSeq(runIn(t, root, "git", append([]string{"ls-files", "--"}, patterns...)...), "\n") {
		info, err := os.Stat(filepath.Join(root, name))
		if err != nil {
			continue // deleted, but not committed yet
		}
		text, err := os.ReadFile(filepath.Join(root, name))
		if err != nil {
			t.Fatal(err)
		}
		target := filepath.Join(folder, name)
		if err := os.MkdirAll(filepath.Dir(target), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(target, text, info.Mode()); err != nil {
			t.Fatal(err)
		}
	}
	runIn(t, folder, "git", "init", "-q")
	runIn(t, folder, "git", "add", "-A")
	commit(t, folder)
	return folder
}

func commit(t *testing.T, folder string) {
	t.Helper()
	runIn(t, folder, "git", "-c", "user.name=t", "-c", "user.email=t@t.example", "commit", "-qam", "change")
}

// TestVersionFollowsTheTag checks that a tag is the only way to a release version.
func TestVersionFollowsTheTag(t *testing.T) {
	folder := copyOf(t, "scripts/version", "internal/version")
	short := func() string { return runIn(t, folder, "git", "rev-parse", "--short=7", "HEAD") }
	check := func(want string) {
		t.Helper()
		if got := runIn(t, folder, "scripts/version"); got != want {
			t.Errorf("the version is %s, want %s", got, want)
		}
	}
	release := strings.Split(runIn(t, folder, "scripts/version"), "-dev+")[0]
	check(release + "-dev+" + short())
	runIn(t, folder, "git", "tag", "v"+release)
	check(release)
	source := filepath.Join(folder, "internal/version/version.go")
	text, err := os.ReadFile(source)
	if err != nil {
		t.Fatal(err)
	}
	next := strings.Replace(string(text), `Release = "`+release+`"`, `Release = "98.7.6"`, 1)
	if err := os.WriteFile(source, []byte(next), 0o600); err != nil {
		t.Fatal(err)
	}
	check("98.7.6-dev+" + short() + ".dirty")
	commit(t, folder)
	check("98.7.6-dev+" + short())
	runIn(t, folder, "git", "tag", "v98.7.7")
	cmd := exec.Command(filepath.Join(folder, "scripts/version"))
	if out, err := cmd.CombinedOutput(); err == nil || !strings.Contains(string(out), "98.7.6") {
		t.Errorf("a tag that does not match the source is accepted: %s", out)
	}
	runIn(t, folder, "git", "tag", "v98.7.6")
	check("98.7.6")
}

// TestRenameModule renames the module in a copy, which must build and pass its checks of
// imports, and must not contain the old path any more.
func TestRenameModule(t *testing.T) {
	folder := copyOf(t)
	old := strings.TrimPrefix(strings.SplitN(runIn(t, folder, "cat", "go.mod"), "\n", 2)[0], "module ")
	const path = "forge.example.com/Acme/warranty-2"
	for _, args := range [][]string{{}, {"noslash"}, {"a.example/x y"}, {old}, {path, path}} {
		cmd := exec.Command(filepath.Join(folder, "scripts/rename-module"), args...)
		if out, err := cmd.CombinedOutput(); err == nil || cmd.ProcessState.ExitCode() != 2 {
			t.Errorf("%q is accepted: %s", args, out)
		}
	}
	names := func() string {
		return runIn(t, folder, "grep", "-rhoE", `"[^" ]+/svc-mcp(:[^"]*)?"`, "server.json", "internal/describe/discovery.go")
	}
	before := names()
	if !testing.Short() {
		runIn(t, folder, "scripts/rename-module", "github.com/Acme/warranty")
		if got := names(); strings.Count(got, `"io.github.Acme/svc-mcp"`) != 2 || strings.Count(got, `"ghcr.io/acme/warranty/svc-mcp:`) != 1 {
			t.Errorf("the names on GitHub:\n%s\nbefore:\n%s", got, before)
		}
	}
	runIn(t, folder, "scripts/rename-module", path)
	if got := names(); strings.Count(got, `"com.example.forge/svc-mcp"`) != 2 ||
		strings.Count(got, `"forge.example.com/acme/warranty-2/svc-mcp:`) != 1 || strings.Count(got, "\n") != strings.Count(before, "\n") {
		t.Errorf("the names:\n%s\nbefore:\n%s", got, before)
	}
	if left := exec.Command("git", "grep", "-I", old); true {
		left.Dir = folder
		if out, err := left.Output(); err == nil {
			t.Errorf("the old path is still in:\n%s", out)
		}
	}
	if got := runIn(t, folder, "gofmt", "-l", "."); got != "" {
		t.Errorf("not formatted: %s", got)
	}
	if !testing.Short() { // compiles everything again
		runIn(t, folder, "go", "test", "-run", "^(TestImportsGoDown|TestThirdPartyIsComplete)$", ".")
	}
	for _, module := range []string{"e2e", "bench", "tools/release"} {
		runIn(t, filepath.Join(folder, module), "go", "list", "-deps", "-test", "-tags=browser", "./...")
	}
	built := filepath.Join(t.TempDir(), "svc-mcp")
	runIn(t, folder, "go", "build", "-ldflags=-X "+path+"/internal/version.build=1.2.3", "-o", built, "./cmd/svc-mcp")
	if got := runIn(t, folder, built, "--version"); got != "svc-mcp 1.2.3" {
		t.Errorf("the renamed svc-mcp prints %q", got)
	}
	if flags := runIn(t, folder, "grep", "^LDFLAGS", "Makefile"); !strings.Contains(flags, path+"/internal/version.build") {
		t.Errorf("the Makefile has %s", flags)
	}
}

// TestWorkflows checks that the workflows run targets that exist, that actions are pinned
// by commit, and that only the job that publishes may write.
func TestWorkflows(t *testing.T) {
	makefile, err := os.ReadFile(filepath.Join(root, "Makefile"))
	if err != nil {
		t.Fatal(err)
	}
	workflows, err := tree(filepath.Join(root, ".github/workflows"))
	if err != nil || len(workflows) == 0 {
		t.Fatalf("%d workflows: %v", len(workflows), err)
	}
	target, action := regexp.MustCompile(`run: make ([\w-]+)`), regexp.MustCompile(`uses: ([^.\s]\S*)`)
	pinned := regexp.MustCompile(`^[\w/-]+@[0-9a-f]{40}$`)
	for _, w := range workflows {
		text := string(w.body)
		for _, m := range target.FindAllStringSubmatch(text, -1) {
			if !strings.Contains(string(makefile), "\n"+m[1]+": ##") {
				t.Errorf("%s runs make %s, which does not exist", w.name, m[1])
			}
		}
		for _, m := range action.FindAllStringSubmatch(text, -1) {
			if !pinned.MatchString(m[1]) {
				t.Errorf("%s uses %s, which is not pinned by commit", w.name, m[1])
			}
		}
		if !strings.Contains(text, "\npermissions:\n  contents: read\n") {
			t.Errorf("%s does not start with read permissions", w.name)
		}
		if n := strings.Count(text, ": write"); n > 1 || n == 1 && w.name != "release.yml" {
			t.Errorf("%s has %d write permissions", w.name, n)
		}
	}
}
