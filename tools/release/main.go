// Command release builds everything that a release consists of: archives, deb and rpm
// packages, container images, checksums and a bill of materials. "make release" runs
// it. Its output depends on nothing but its flags, the source and the Go version.
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"
)

func main() {
	r := &release{}
	flag.StringVar(&r.root, "root", ".", "folder of the main module")
	flag.StringVar(&r.out, "out", "", "folder for the files; it is replaced")
	flag.StringVar(&r.version, "version", "", "semantic version, from scripts/version")
	flag.StringVar(&r.ldflags, "ldflags", "", "linker flags, which set the version")
	epoch := flag.Int64("epoch", 0, "time of all files in Unix seconds, from the commit")
	list := flag.String("platforms", strings.Join(everyPlatform, " "), "platforms to build for")
	flag.Parse()
	r.epoch = time.Unix(*epoch, 0).UTC()
	r.platforms = strings.Fields(*list)
	if err := r.run(context.Background()); err != nil {
		fmt.Fprintln(os.Stderr, "release: "+err.Error())
		os.Exit(1)
	}
}

var (
	everyPlatform = []string{"linux/amd64", "linux/arm64", "darwin/amd64", "darwin/arm64", "windows/amd64", "windows/arm64"}
	programs      = []string{"svcd", "svc", "svc-mcp"}
	semantic      = regexp.MustCompile(`^\d+\.\d+\.\d+(-[0-9A-Za-z.-]+)?(\+[0-9A-Za-z.-]+)?$`)
)

// release is one run of the program.
type release struct {
	root, out        string
	version, ldflags string
	epoch            time.Time
	platforms        []string

	work string // temporary folder
}

func (r *release) run(ctx context.Context) (err error) {
	if !semantic.MatchString(r.version) {
		return fmt.Errorf("--version %q is not a semantic version", r.version)
	}
	if r.out == "" || r.epoch.Unix() <= 0 || len(r.platforms) == 0 {
		return fmt.Errorf("--out, --epoch and --platforms are required")
	}
	for _, p := range r.platforms {
		if !slices.Contains(everyPlatform, p) {
			return fmt.Errorf("unknown platform %q; choose from %s", p, strings.Join(everyPlatform, " "))
		}
	}
	if r.work, err = os.MkdirTemp("", "svc-release-"); err != nil {
		return err
	}
	defer os.RemoveAll(r.work)
	if err := os.RemoveAll(r.out); err != nil {
		return err
	}
	if err := os.MkdirAll(r.out, 0o755); err != nil { //nolint:gosec // releases are public
		return err
	}
	return r.build(ctx)
}

// build writes all files of the release.
func (r *release) build(ctx context.Context) error {
	var binaries []string
	for _, p := range r.platforms {
		fmt.Println("building for " + p)
		if err := r.compile(ctx, p); err != nil {
			return err
		}
		for _, name := range programs {
			binaries = append(binaries, r.binary(p, name))
		}
	}
	modules, err := r.linkedModules(ctx, binaries)
	if err != nil {
		return err
	}
	common, err := r.commonFiles(ctx, modules)
	if err != nil {
		return err
	}
	for _, p := range r.platforms {
		if err := r.archive(p, common); err != nil {
			return err
		}
		system, arch, _ := strings.Cut(p, "/")
		if system != "linux" {
			continue
		}
		if err := r.packages(arch, common); err != nil {
			return err
		}
		for _, program := range []string{"svcd", "svc-mcp"} {
			if err := r.image(program, arch, common); err != nil {
				return err
			}
		}
	}
	if err := r.sbom(modules); err != nil {
		return err
	}
	if err := r.serverJSON(); err != nil {
		return err
	}
	return r.checksums()
}

// compile builds the programs for a platform.
func (r *release) compile(ctx context.Context, platform string) error {
	system, arch, _ := strings.Cut(platform, "/")
	cmd := exec.CommandContext(ctx, "go", "build", "-trimpath", "-buildvcs=false", "-ldflags="+r.ldflags,
		"-o", filepath.Dir(r.binary(platform, "svc"))+string(filepath.Separator), "./cmd/...")
	cmd.Dir, cmd.Stdout, cmd.Stderr = r.root, os.Stdout, os.Stderr
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0", "GOFLAGS=", "GOOS="+system, "GOARCH="+arch,
		"GOAMD64=v1", "GOARM64=v8.0", "GOEXPERIMENT=")
	if err := cmd.Run(); err != nil {
		return fmt.Errorf("build for %s: %w", platform, err)
	}
	return nil
}

// binary returns the path of a built program.
func (r *release) binary(platform, name string) string {
	if strings.HasPrefix(platform, "windows/") {
		name += ".exe"
	}
	return filepath.Join(r.work, strings.ReplaceAll(platform, "/", "_"), name)
}

// output runs a command in the main module and returns its output.
func (r *release) output(ctx context.Context, name string, args ...string) ([]byte, error) {
	cmd := exec.CommandContext(ctx, name, args...)
	cmd.Dir, cmd.Stderr = r.root, os.Stderr
	out, err := cmd.Output()
	if err != nil {
		return nil, fmt.Errorf("%s %s: %w", filepath.Base(name), strings.Join(args, " "), err)
	}
	return out, nil
}
