package e2e

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"warranty.example/svc/e2e/lab"
)

// TestMCPStdioFindsTheKeyAsSvcDoes checks that svc-mcp reads the key that "svc auth
// login" stored, and the file in SVC_API_KEY_FILE, like svc (C20).
func TestMCPStdioFindsTheKeyAsSvcDoes(t *testing.T) {
	t.Parallel()
	p := lab.Start(t)
	secret, _ := p.Token(t, p.Register(t, "ada"), "agent", 1000)
	dir := t.TempDir()
	file := filepath.Join(dir, "key")
	if err := os.WriteFile(file, []byte(secret+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	base := "SVC_BASE_URL=" + p.URL + "/api/v1"
	home := []string{base, "HOME=" + dir, "XDG_CONFIG_HOME=" + dir}
	login := exec.Command(filepath.Join(lab.Binaries, "svc"), "auth", "login")
	login.Env, login.Stdin = home, strings.NewReader(secret+"\n")
	if out, err := login.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	for name, env := range map[string][]string{
		"stored":  home,
		"slashed": append([]string{base + "/"}, home[1:]...),
		"mounted": {base, "SVC_API_KEY_FILE=" + file},
	} {
		m := mcpStart(t, env)
		m.begin()
		if a := m.ask("tools/list", `{}`); a.Error != nil || !strings.Contains(string(a.Result), "create_warranty") {
			t.Errorf("%s: %s %v", name, a.Result, a.Error)
		}
		m.end()
	}
	for name, test := range map[string]struct {
		env  []string
		want []string
	}{
		"none":            {[]string{base, "HOME=" + t.TempDir()}, []string{"SVC_API_KEY", "svc auth login", p.URL}},
		"another service": {[]string{"SVC_BASE_URL=http://127.0.0.1:1/api/v1", home[1], home[2]}, []string{"SVC_API_KEY", "svc auth login"}},
		"not a key":       {[]string{base, "SVC_API_KEY=ghp_0123456789"}, []string{"SVC_API_KEY", "not a key"}},
		"refused":         {[]string{base, "SVC_API_KEY_FILE=" + wrongKey(t, dir)}, []string{"SVC_API_KEY_FILE", "rejected"}},
	} {
		out, err := mcpCommand(t, test.env).CombinedOutput()
		for _, want := range test.want {
			if err == nil || !strings.Contains(string(out), want) || strings.Count(string(out), "\n") != 1 || strings.Contains(string(out), "ghp_") {
				t.Errorf("%s: %v %q does not contain %q", name, err, out, want)
			}
		}
	}
}

// wrongKey writes a file with a well-formed but unknown key.
func wrongKey(t *testing.T, dir string) string {
	t.Helper()
	file := filepath.Join(dir, "wrong")
	if err := os.WriteFile(file, []byte("svc_0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefg3YSfms"), 0o600); err != nil {
		t.Fatal(err)
	}
	return file
}
