package e2e

import (
	"encoding/json"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"warranty.example/svc/e2e/lab"
	"warranty.example/svc/internal/version"
)

// TestOneVersionEverywhere compares the version in every place that reports it (C20).
func TestOneVersionEverywhere(t *testing.T) {
	t.Parallel()
	want := ""
	admin := lab.FreeAddress(t)
	p := lab.Start(t, "--admin-listen="+admin)
	check := func(where, got string) {
		t.Helper()
		if got != want {
			t.Errorf("%s reports %q, want %q", where, got, want)
		}
	}
	output := func(cmd *exec.Cmd) string {
		t.Helper()
		out, err := cmd.Output()
		if err != nil {
			t.Fatalf("%s: %v", cmd, err)
		}
		return strings.TrimSpace(string(out))
	}
	want = strings.TrimPrefix(output(exec.Command(lab.Svcd(), "version")), "svcd version ")
	if want == version.Release || !strings.HasPrefix(want, "dev") {
		t.Errorf("a plain go build says %q", want)
	}
	check("svcd --version", strings.TrimPrefix(output(exec.Command(lab.Svcd(), "--version")), "svcd version "))
	check("svc --version", strings.TrimPrefix(output(exec.Command(filepath.Join(lab.Binaries, "svc"), "--version")), "svc "))
	check("svc-mcp --version", strings.TrimPrefix(output(mcpCommand(t, nil, "--version")), "svc-mcp "))

	field := func(text []byte, name string) string {
		t.Helper()
		var object map[string]any
		if err := json.Unmarshal(text, &object); err != nil {
			t.Fatalf("%v: %s", err, text)
		}
		value, _ := object[name].(string)
		return value
	}
	for _, path := range []string{"/.well-known/mcp.json", "/.well-known/agent-card.json"} {
		check(path, field([]byte(p.Want(t, 200, lab.Call{Method: "GET", Path: path}).Body), "version"))
	}
	server, err := os.ReadFile("../server.json")
	if err != nil {
		t.Fatal(err)
	}
	if got := field(server, "version"); got != version.Release {
		t.Errorf("server.json reports %q, want %q", got, version.Release)
	}

	secret, _ := p.Token(t, p.Register(t, "ada"), "agent", 1000)
	m := mcpStart(t, mcpEnv(p, secret))
	var hello struct{ ServerInfo struct{ Version string } }
	a := m.ask("initialize", `{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"t","version":"1"}}`)
	if err := json.Unmarshal(a.Result, &hello); err != nil {
		t.Fatal(err)
	}
	check("svc-mcp's initialize", hello.ServerInfo.Version)
	m.end()

	answer, err := http.Get("http://" + admin + "/metrics")
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close()
	text, err := io.ReadAll(answer.Body)
	if err != nil {
		t.Fatal(err)
	}
	found := regexp.MustCompile(`(?m)^svc_build_info\{.*\bversion="([^"]*)".*\} 1$`).FindStringSubmatch(string(text))
	if found == nil {
		t.Fatal("the metrics have no svc_build_info")
	}
	check("the metrics", found[1])
}

// TestVersionOfABuildIsSemantic checks the version that make build links: a clone
// without a tag is a pre-release, never a bare commit hash (C20).
func TestVersionOfABuildIsSemantic(t *testing.T) {
	t.Parallel()
	out, err := exec.Command("../scripts/version").Output()
	if err != nil {
		t.Fatal(err)
	}
	// From semver.org, but without the check for leading zeros.
	if text := strings.TrimSpace(string(out)); !regexp.MustCompile(`^\d+\.\d+\.\d+(-[0-9A-Za-z.-]+)?(\+[0-9A-Za-z.-]+)?$`).MatchString(text) {
		t.Errorf("%q is not a semantic version", text)
	}
	linked := exec.Command("go", "build", "-ldflags", "-X warranty.example/svc/internal/version.build=1.2.3-dev+abc", "-o", filepath.Join(t.TempDir(), "svc-mcp"), "warranty.example/svc/cmd/svc-mcp")
	linked.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := linked.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	told, err := exec.Command(linked.Args[5], "--version").Output()
	if err != nil || string(told) != "svc-mcp 1.2.3-dev+abc\n" {
		t.Errorf("%q %v", told, err)
	}
}
