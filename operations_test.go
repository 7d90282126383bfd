package svc_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"warranty.example/svc/internal/testenv"
)

// TestShownConfigurationFileIsValid runs svcd config with the file in docs/operations.md.
func TestShownConfigurationFileIsValid(t *testing.T) {
	blocks := regexp.MustCompile("(?ms)^```toml\n(.*?)^```$").FindAllStringSubmatch(read(t, "docs/operations.md"), -1)
	if len(blocks) == 0 {
		t.Fatal("docs/operations.md shows no configuration file")
	}
	bin := t.TempDir()
	if err := testenv.Programs(bin, "svcd"); err != nil {
		t.Fatal(err)
	}
	for _, block := range blocks {
		folder := t.TempDir()
		for name, content := range map[string]string{
			"svcd.toml": strings.ReplaceAll(block[1], "/etc/svcd/", folder+"/"),
			"database":  "postgres://svc:secret@localhost/svc\n",
		} {
			if err := os.WriteFile(filepath.Join(folder, name), []byte(content), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		cmd := exec.Command(filepath.Join(bin, "svcd"), "config", "--config=svcd.toml")
		cmd.Dir, cmd.Env = folder, clean(os.Environ())
		out, err := cmd.CombinedOutput()
		if err != nil || strings.Contains(string(out), "secret@") || !strings.Contains(string(out), "svcd.toml:1: public-url") {
			t.Errorf("%v: %s", err, out)
		}
	}
}
