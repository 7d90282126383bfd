package main

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"crypto/x509"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/blakesmith/ar"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	imagetar "github.com/google/go-containerregistry/pkg/v1/tarball"
	"github.com/sassoftware/go-rpmutils"
)

const (
	root       = "../.."
	version    = "1.2.3-rc.1+abc"
	debVersion = "1.2.3~rc.1+abc"
)

var epoch = time.Date(2026, 11, 1, 12, 0, 0, 0, time.UTC)

// entry is a file in an archive.
type entry struct {
	tar.Header
	body []byte
}

// TestRelease builds a release for this machine's architecture on Linux, and checks what
// is in it. "make release-test" installs and runs it.
func TestRelease(t *testing.T) {
	out := t.TempDir()
	module := runIn(t, root, "go", "list", "-m")
	absolute, err := filepath.Abs(root)
	if err != nil {
		t.Fatal(err)
	}
	r := &release{root: absolute, out: out, version: version, epoch: epoch, platforms: []string{"linux/" + runtime.GOARCH},
		ldflags: "-s -w -X " + module + "/internal/version.build=" + version}
	if err := r.run(t.Context()); err != nil {
		t.Fatal(err)
	}
	t.Run("checksums", func(t *testing.T) {
		got := strings.Count(runIn(t, out, "sha256sum", "-c", "SHA256SUMS"), ": OK")
		if files, err := os.ReadDir(out); err != nil || got != 7 || len(files) != 8 {
			t.Errorf("%d checksums and %d files, want 7 and 8: %v", got, len(files), err)
		}
	})
	archived := checkArchive(t, filepath.Join(out, "svc-"+version+"-linux-"+runtime.GOARCH+".tar.gz"))
	t.Run("deb", func(t *testing.T) {
		checkDeb(t, filepath.Join(out, "svcd_"+debVersion+"-1_"+runtime.GOARCH+".deb"), archived)
	})
	t.Run("rpm", func(t *testing.T) {
		arch := map[string]string{"amd64": "x86_64", "arm64": "aarch64"}[runtime.GOARCH]
		checkRPM(t, filepath.Join(out, "svcd-"+debVersion+"-1."+arch+".rpm"))
	})
	t.Run("image", func(t *testing.T) {
		c, list := openImage(t, filepath.Join(out, "svcd-"+version+"-image-"+runtime.GOARCH+".tar"))
		if !slices.Contains(c.Config.Healthcheck.Test, "healthcheck") {
			t.Errorf("%+v", c.Config.Healthcheck)
		}
		if !bytes.Equal(list["usr/bin/svcd"].body, archived["svcd"].body) {
			t.Error("the programs in the image and in the archive differ")
		}
		if e := list["data/"]; e.Mode != 0o700 || e.Uid != imageUser || e.Gid != imageUser {
			t.Errorf("/data is %o of %d:%d", e.Mode, e.Uid, e.Gid)
		}
	})
	t.Run("image of svc-mcp", func(t *testing.T) {
		c, list := openImage(t, filepath.Join(out, "svc-mcp-"+version+"-image-"+runtime.GOARCH+".tar"))
		if c.Config.Healthcheck != nil || c.Config.Labels["io.modelcontextprotocol.server.name"] != "example.warranty/svc-mcp" ||
			!slices.Equal(c.Config.Entrypoint, []string{"/usr/bin/svc-mcp"}) {
			t.Errorf("%+v", c.Config)
		}
		if !bytes.Equal(list["usr/bin/svc-mcp"].body, archived["svc-mcp"].body) || list["usr/bin/svcd"].body != nil {
			t.Error("the programs in the image and in the archive differ")
		}
	})
	t.Run("sbom", func(t *testing.T) {
		checkSBOM(t, filepath.Join(out, "svc-"+version+"-sbom.cdx.json"), archived["svcd"].body)
	})
	t.Run("server.json", func(t *testing.T) {
		var server struct {
			Version  string
			Packages []struct{ Identifier string }
		}
		text, _ := os.ReadFile(filepath.Join(out, "server.json"))
		if err := json.Unmarshal(text, &server); err != nil || server.Version != version || len(server.Packages) != 1 ||
			!strings.HasSuffix(server.Packages[0].Identifier, "/svc-mcp:1.2.3-rc.1-abc") {
			t.Errorf("server.json has %+v: %v", server, err)
		}
	})
}

// TestRefusals checks that wrong flags build nothing.
func TestRefusals(t *testing.T) {
	good := release{out: filepath.Join(t.TempDir(), "out"), version: "1.2.3", epoch: epoch, platforms: []string{"linux/amd64"}}
	for want, spoil := range map[string]func(*release){
		"not a semantic version": func(r *release) { r.version = "" },
		"are required":           func(r *release) { r.epoch = time.Unix(0, 0) },
		"unknown platform":       func(r *release) { r.platforms = []string{"plan9/mips"} },
	} {
		r := good
		spoil(&r)
		if err := r.run(t.Context()); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %s", err, want)
		}
		if _, err := os.Stat(r.out); err == nil {
			t.Errorf("%s: the folder was created", want)
		}
	}
}

// entries reads a tar archive.
func entries(t *testing.T, r io.Reader) map[string]entry {
	t.Helper()
	list := map[string]entry{}
	for archive := tar.NewReader(r); ; {
		h, err := archive.Next()
		if err == io.EOF {
			return list
		}
		if err != nil {
			t.Fatal(err)
		}
		body, err := io.ReadAll(archive)
		if err != nil {
			t.Fatal(err)
		}
		if !h.ModTime.Equal(epoch) {
			t.Errorf("%s has the time %v", h.Name, h.ModTime)
		}
		list[strings.TrimPrefix(h.Name, "./")] = entry{*h, body}
	}
}

func unzip(t *testing.T, r io.Reader) io.Reader {
	t.Helper()
	z, err := gzip.NewReader(r)
	if err != nil {
		t.Fatal(err)
	}
	return z
}

// want checks the mode and the owner of files, given as "mode owner:group name".
func want(t *testing.T, list map[string]entry, lines ...string) {
	t.Helper()
	for _, line := range lines {
		name := line[strings.LastIndex(line, " ")+1:]
		e, ok := list[name]
		if got := fmt.Sprintf("%04o %s:%s %s", e.Mode&0o7777, e.Uname, e.Gname, name); !ok || got != line {
			t.Errorf("got %q, want %q", got, line)
		}
	}
}

// checkArchive returns the files by their names in the archive's folder.
func checkArchive(t *testing.T, name string) map[string]entry {
	t.Helper()
	text, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	list := map[string]entry{}
	for path, e := range entries(t, unzip(t, bytes.NewReader(text))) {
		folder, path, _ := strings.Cut(path, "/")
		if folder+".tar.gz" != filepath.Base(name) {
			t.Errorf("%s is outside of the folder", path)
		}
		list[path] = e
	}
	want(t, list, "0755 root:root svcd", "0755 root:root svc", "0755 root:root svc-mcp", "0644 root:root LICENSE",
		"0644 root:root README.md", "0644 root:root THIRD_PARTY.md", "0644 root:root THIRD_PARTY_LICENSES.txt",
		"0644 root:root docs/operations.md", "0644 root:root completions/bash/svc", "0644 root:root completions/zsh/_svcd", "0644 root:root completions/fish/svc.fish",
		"0644 root:root completions/powershell/svcd.ps1", "0644 root:root man/man1/svc.1", "0644 root:root man/man1/svc-mcp.1",
		"0644 root:root man/man8/svcd.8", "0644 root:root deploy/svcd.service", "0644 root:root deploy/svcd.toml")
	for _, component := range []string{"Go standard library, LICENSE", "github.com/jackc/pgx/v5", "htmx", "prometheus/client_golang"} {
		if !strings.Contains(string(list["THIRD_PARTY_LICENSES.txt"].body), component) {
			t.Errorf("no license of %s", component)
		}
	}
	for _, c := range embedded {
		if c.Name == "sqlite" {
			if !bytes.Contains(list["svcd"].body, []byte(c.Version)) {
				t.Errorf("svcd has another version of SQLite than %s in the bill of materials", c.Version)
			}
		} else if !strings.Contains(string(list["THIRD_PARTY.md"].body), strings.TrimSuffix(c.Name, ".org")+" "+c.Version) && c.Version != "" {
			t.Errorf("THIRD_PARTY.md has another version of %s than the bill of materials", c.Name)
		}
	}
	bin := t.TempDir()
	for _, program := range programs {
		file := filepath.Join(bin, program)
		if err := os.WriteFile(file, list[program].body, 0o700); err != nil {
			t.Fatal(err)
		}
		if got := runIn(t, bin, file, "--version"); !strings.HasSuffix(got, " "+version) {
			t.Errorf("%s --version prints %q", program, got)
		}
	}
	return list
}

func checkDeb(t *testing.T, name string, archived map[string]entry) {
	f, err := os.Open(name)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	parts := map[string]map[string]entry{}
	for archive := ar.NewReader(f); ; {
		h, err := archive.Next()
		if err == io.EOF {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		if strings.HasSuffix(h.Name, ".tar.gz") {
			parts[strings.TrimSuffix(h.Name, ".tar.gz")] = entries(t, unzip(t, archive))
		}
	}
	data, control := parts["data"], parts["control"]
	want(t, data, "0755 root:root usr/bin/svcd", "0755 root:root usr/bin/svc-mcp", "0640 root:svcd etc/svcd/svcd.toml",
		"0644 root:root usr/lib/systemd/system/svcd.service", "0644 root:root usr/share/man/man8/svcd.8.gz",
		"0644 root:root usr/share/bash-completion/completions/svc", "0644 root:root usr/share/doc/svcd/docs/operations.md",
		"0644 root:root usr/lib/systemd/system/svcd-backup.timer", "0644 root:root usr/share/doc/svcd/copyright")
	if !bytes.Equal(data["usr/bin/svcd"].body, archived["svcd"].body) {
		t.Error("the programs in the package and in the archive differ")
	}
	if got := string(control["conffiles"].body); got != configFile+"\n" {
		t.Errorf("the configuration files are %q", got)
	}
	for _, line := range []string{"Package: svcd\n", "Version: " + debVersion + "-1\n", "Architecture: " + runtime.GOARCH + "\n"} {
		if !strings.Contains(string(control["control"].body), line) {
			t.Errorf("no %q in\n%s", line, control["control"].body)
		}
	}
	for _, script := range []string{"postinst", "prerm", "postrm"} {
		checkScript(t, script, string(control[script].body))
	}
}

// checkScript fails if a script of a package could delete records or the user.
func checkScript(t *testing.T, name, text string) {
	t.Helper()
	if text == "" {
		t.Errorf("there is no %s", name)
	}
	for _, deletes := range []string{"rm -", "userdel", "deluser", "rmdir", "find "} {
		if strings.Contains(text, deletes) {
			t.Errorf("%s contains %q", name, deletes)
		}
	}
}

func checkRPM(t *testing.T, name string) {
	f, err := os.Open(name)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	p, err := rpmutils.ReadRpm(f)
	if err != nil {
		t.Fatal(err)
	}
	if nevra, err := p.Header.GetNEVRA(); err != nil || nevra.Version != debVersion || nevra.Name != "svcd" {
		t.Errorf("%v %v", nevra, err)
	}
	for tag, script := range map[int]string{rpmutils.PREIN: "pre", rpmutils.POSTIN: "post", rpmutils.PREUN: "preun", rpmutils.POSTUN: "postun"} {
		text, _ := p.Header.GetString(tag)
		checkScript(t, script, text)
	}
	if host, err := p.Header.GetString(rpmutils.BUILDHOST); err != nil || host != "localhost" {
		t.Errorf("the build host is %q: %v", host, err)
	}
	list, err := p.Header.GetFiles()
	if err != nil {
		t.Fatal(err)
	}
	found := map[string]string{}
	for _, file := range list {
		found[file.Name()] = fmt.Sprintf("%o %s:%s %d", file.Mode()&0o7777, file.UserName(), file.GroupName(), file.Flags()&rpmutils.RPMFILE_NOREPLACE)
	}
	for file, want := range map[string]string{
		configFile:                             fmt.Sprint("640 root:svcd ", rpmutils.RPMFILE_NOREPLACE),
		"/usr/bin/svcd":                        "755 root:root 0",
		"/usr/lib/systemd/system/svcd.service": "644 root:root 0",
		"/usr/share/man/man8/svcd.8.gz":        "644 root:root 0",
	} {
		if found[file] != want {
			t.Errorf("%s is %q, want %q", file, found[file], want)
		}
	}
}

func openImage(t *testing.T, name string) (*v1.ConfigFile, map[string]entry) {
	t.Helper()
	info, err := os.Stat(name)
	if err != nil || info.Size() > 50<<20 {
		t.Fatalf("the image has %d bytes: %v", info.Size(), err)
	}
	img, err := imagetar.ImageFromPath(name, nil)
	if err != nil {
		t.Fatal(err)
	}
	c, err := img.ConfigFile()
	if err != nil {
		t.Fatal(err)
	}
	if c.Config.User != "65532:65532" || c.OS != "linux" || c.Architecture != runtime.GOARCH || !c.Created.Equal(epoch) ||
		c.Config.Labels["org.opencontainers.image.version"] != version {
		t.Errorf("%+v", c)
	}
	layers, err := img.Layers()
	if err != nil || len(layers) != 1 {
		t.Fatalf("%d layers: %v", len(layers), err)
	}
	layer, err := layers[0].Uncompressed()
	if err != nil {
		t.Fatal(err)
	}
	defer layer.Close()
	list := entries(t, layer)
	certificates := list["etc/ssl/certs/ca-certificates.crt"].body
	pool := x509.NewCertPool()
	if n := bytes.Count(certificates, []byte("BEGIN CERTIFICATE")); !pool.AppendCertsFromPEM(certificates) || n < 80 {
		t.Errorf("%d root certificates", n)
	}
	return c, list
}

// checkSBOM expects every module in svcd in the bill of materials.
func checkSBOM(t *testing.T, name string, svcd []byte) {
	var bom struct {
		BOMFormat  string
		Metadata   struct{ Component struct{ Version string } }
		Components []struct{ Name, Version string }
	}
	text, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(text, &bom); err != nil || bom.BOMFormat != "CycloneDX" || bom.Metadata.Component.Version != version {
		t.Errorf("%v %v", bom.Metadata, err)
	}
	file := filepath.Join(t.TempDir(), "svcd")
	if err := os.WriteFile(file, svcd, 0o600); err != nil {
		t.Fatal(err)
	}
	out, err := exec.Command("go", "version", "-m", file).Output()
	if err != nil {
		t.Fatal(err)
	}
	modules := 0
	for line := range strings.Lines(string(out)) {
		field := strings.Fields(line)
		if field[0] != "dep" {
			continue
		}
		modules++
		found := false
		for _, c := range bom.Components {
			found = found || c.Name == field[1] && c.Version == field[2]
		}
		if !found {
			t.Errorf("%s %s is missing", field[1], field[2])
		}
	}
	if modules == 0 {
		t.Error("svcd has no modules")
	}
}
