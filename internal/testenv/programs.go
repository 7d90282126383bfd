package testenv

import (
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// Programs puts programs of this module into a folder. It copies them from SVC_TEST_BIN, which "make test"
// sets, and builds them when that is unset.
func Programs(folder string, names ...string) error {
	if built := os.Getenv("SVC_TEST_BIN"); built != "" {
		for _, name := range names {
			if err := copyProgram(filepath.Join(built, name), filepath.Join(folder, name)); err != nil {
				return err
			}
		}
		return nil
	}
	args := []string{"build", "-o", folder + string(filepath.Separator)}
	for _, name := range names {
		args = append(args, "warranty.example/svc/cmd/"+name)
	}
	root, err := exec.Command("go", "list", "-m", "-f", "{{.Dir}}", "warranty.example/svc").Output()
	if err != nil {
		return fmt.Errorf("go list: %w", err)
	}
	build := exec.Command("go", args...)
	build.Dir = strings.TrimSpace(string(root)) // e2e is another module
	build.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := build.CombinedOutput(); err != nil {
		return fmt.Errorf("go build: %w\n%s", err, out)
	}
	return nil
}

// copyProgram copies instead of linking, because a test may run the program as a user without access to
// the first folder.
func copyProgram(from, to string) error {
	source, err := os.Open(from)
	if err != nil {
		return err
	}
	defer source.Close()
	target, err := os.OpenFile(to, os.O_CREATE|os.O_WRONLY|os.O_EXCL, 0o755) //nolint:gosec // a program is executable
	if err != nil {
		return err
	}
	if _, err := io.Copy(target, source); err != nil {
		_ = target.Close() // the first error matters
		return err
	}
	return target.Close()
}
