package cli

import (
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"warranty.example/svc/warranty"
)

// secret returns a well-formed key made from seed.
func secret(t *testing.T, seed byte) string {
	t.Helper()
	s, err := warranty.NewSecret(warranty.TokenSecret, strings.NewReader(strings.Repeat(string(rune(seed)), 32)))
	if err != nil {
		t.Fatal(err)
	}
	return s
}

const statusAnswer = `{"data":{"user":{"id":"` + id +
	`","name":"Ada","email":"ada@shop.example","email_verified":true,"created_at":"2026-01-01T00:00:00Z"},` +
	`"credential":"token","token":{"id":"` + id +
	`","name":"CLI"},"scopes":["warranties:read"],"rate_limit_per_minute":100,"expires_at":"2027-01-01T00:00:00Z"}}`

func TestKeyComesFromTheFirstPlaceThatHasOne(t *testing.T) {
	var sent string
	d := newHarness(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		sent = r.Header.Get("X-Api-Key")
		answers(200, statusAnswer).ServeHTTP(w, r)
	}))
	dir := t.TempDir()
	write := func(name, text string) string {
		file := filepath.Join(dir, name)
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return file
	}
	flag, env, envFile := secret(t, 'a'), secret(t, 'b'), secret(t, 'c')
	flagPath, envPath := write("flag", "\n "+flag+" \r\n"), write("env", envFile)
	status := func(want string, args ...string) {
		t.Helper()
		sent = ""
		d.want(0, append(args, "auth", "status")...)
		if sent != want {
			t.Errorf("sent %q, want %q", sent, want)
		}
	}
	d.env["SVC_API_KEY"], d.env["SVC_API_KEY_FILE"] = env, envPath
	status(flag, "--api-key-file", flagPath)
	status(env)
	delete(d.env, "SVC_API_KEY")
	status(envFile)

	// A value that is not a key is not sent.
	for _, wrong := range []string{"ghp_keyofanotherservice", env[:52], env + "x", "x\nX-Evil: 1",
		strings.Replace(env, "b", "c", 1)} {
		sent = "nothing"
		d.want(4, "--api-key-file", write("wrong", wrong), "auth", "status")
		if sent != "nothing" || strings.Contains(d.stderr, wrong) {
			t.Errorf("%q: %s", wrong, d.stderr)
		}
	}
	d.want(4, "--api-key-file", write("empty", "\n"), "auth", "status")
	delete(d.env, "SVC_API_KEY_FILE")
	sent = "nothing"
	d.want(4, "auth", "status")
	if sent != "nothing" || !strings.Contains(d.stderr, `"code":"missing_credential"`) {
		t.Errorf("without any: %s", d.stderr)
	}
}

func TestLoginKeepsTheKeyForItsOwner(t *testing.T) {
	var sent string
	d := newHarness(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		sent = r.Header.Get("X-Api-Key")
		answers(200, statusAnswer).ServeHTTP(w, r)
	}))
	delete(d.env, "SVC_API_KEY")
	mine := secret(t, 'm')
	d.stdin = mine + "\n"
	d.want(0, "auth", "login")
	if sent != mine || d.stdout != statusAnswer+"\n" || strings.Contains(d.stderr, mine) {
		t.Fatalf("%q %q", d.stdout, d.stderr)
	}
	file := filepath.Join(d.env["HOME"], ".config", "svc", "credentials")
	for path, mode := range map[string]os.FileMode{file: 0o600, filepath.Dir(file): 0o700} {
		if info, err := os.Stat(path); err != nil || info.Mode().Perm() != mode {
			t.Errorf("%s: %v %v", path, info.Mode(), err)
		}
	}
	// Every harness.svc has a new address, so the key belongs to another service.
	sent = "nothing"
	d.want(4, "auth", "status")
	if sent != "nothing" {
		t.Error("the key was sent to another service")
	}
	for name, wrong := range map[string]string{"nothing": "", "typo": mine[:52] + "!",
		"a session": "svs_0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefg4c11DI"} {
		sent, d.stdin = "nothing", wrong
		d.want(4, "auth", "login")
		if sent != "nothing" || wrong != "" && strings.Contains(d.stderr, wrong) {
			t.Errorf("%s: %s", name, d.stderr)
		}
	}
	d.terminal, d.secret = true, mine
	d.want(0, "auth", "login")
	if sent != mine || !strings.Contains(d.stdout, "Ada") || strings.Contains(d.stdout+d.stderr, mine) {
		t.Errorf("%q %q", d.stdout, d.stderr)
	}
	d.terminal = false
	if err := os.Chmod(file, 0o644); err != nil {
		t.Fatal(err)
	}
	d.want(4, "auth", "status")
	if !strings.Contains(d.stderr, "chmod 600") {
		t.Errorf("%q", d.stderr)
	}
	d.handler = answers(401, problemText(warranty.InvalidCredential))
	if err := os.Remove(file); err != nil {
		t.Fatal(err)
	}
	d.stdin = mine
	d.want(4, "auth", "login")
	if _, err := os.Stat(file); err == nil {
		t.Error("a rejected key was stored")
	}
}
