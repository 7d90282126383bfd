package main

import (
	"bytes"
	"compress/gzip"
	"context"
	"encoding/json"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strings"
)

// file is a file of an archive, a package or an image.
type file struct {
	name string // slash-separated
	mode fs.FileMode
	body []byte
}

// commonFiles returns the files that are the same on every platform:
//
//	README.md, CHANGELOG.md, LICENSE, THIRD_PARTY.md, THIRD_PARTY_LICENSES.txt
//	docs/*.md, docs/haproxy.cfg
//	completions/{bash,zsh,fish,powershell}/…
//	man/man1/…, man/man8/…
//	deploy/…
func (r *release) commonFiles(ctx context.Context, modules []module) ([]file, error) {
	list := []file{}
	for _, name := range []string{"README.md", "CHANGELOG.md", "LICENSE", "THIRD_PARTY.md"} {
		body, err := os.ReadFile(filepath.Join(r.root, name))
		if err != nil {
			return nil, err
		}
		list = append(list, file{name, 0o644, body})
	}
	docs, err := tree(filepath.Join(r.root, "docs"))
	if err != nil {
		return nil, err
	}
	for _, d := range docs {
		if !strings.Contains(d.name, "/") && (strings.HasSuffix(d.name, ".md") || d.name == "haproxy.cfg") {
			list = append(list, file{"docs/" + d.name, 0o644, d.body})
		}
	}
	licenses, err := r.licenses(ctx, modules)
	if err != nil {
		return nil, err
	}
	list = append(list, file{"THIRD_PARTY_LICENSES.txt", 0o644, licenses})
	host, err := r.hostPrograms(ctx)
	if err != nil {
		return nil, err
	}
	for _, shell := range shells {
		for _, program := range []string{"svc", "svcd"} {
			body, err := r.output(ctx, filepath.Join(host, program), "completion", shell.name)
			if err != nil {
				return nil, err
			}
			list = append(list, file{"completions/" + shell.name + "/" + fmt.Sprintf(shell.file, program), 0o644, body})
		}
	}
	pages := filepath.Join(r.work, "man")
	for _, program := range []string{"svc", "svcd"} {
		if _, err := r.output(ctx, filepath.Join(host, program), "man", pages); err != nil {
			return nil, err
		}
	}
	manuals, err := tree(pages)
	if err != nil {
		return nil, err
	}
	for _, m := range manuals {
		list = append(list, file{"man/man" + m.name[len(m.name)-1:] + "/" + m.name, 0o644, m.body})
	}
	deploy, err := tree(filepath.Join(r.root, "deploy"))
	if err != nil {
		return nil, err
	}
	for _, d := range deploy {
		if strings.HasPrefix(d.name, "deb/") || strings.HasPrefix(d.name, "rpm/") {
			continue // the scripts of the packages
		}
		list = append(list, file{"deploy/" + d.name, 0o644, d.body})
	}
	return list, nil
}

// shells lists the shells that cobra has completions for, with their file names.
var shells = []struct{ name, file string }{
	{"bash", "%s"},
	{"zsh", "_%s"},
	{"fish", "%s.fish"},
	{"powershell", "%s.ps1"},
}

// hostPrograms returns a folder with programs that run on this machine.
func (r *release) hostPrograms(ctx context.Context) (string, error) {
	host := runtime.GOOS + "/" + runtime.GOARCH
	if !slices.Contains(r.platforms, host) {
		if err := r.compile(ctx, host); err != nil {
			return "", err
		}
	}
	return filepath.Dir(r.binary(host, "svc")), nil
}

// tree returns the files below a folder, with names relative to it, in order.
func tree(folder string) ([]file, error) {
	var list []file
	system := os.DirFS(folder)
	err := fs.WalkDir(system, ".", func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		body, err := fs.ReadFile(system, name)
		list = append(list, file{name, 0o644, body})
		return err
	})
	return list, err
}

// find returns the file with this name.
func find(list []file, name string) (file, error) {
	i := slices.IndexFunc(list, func(f file) bool { return f.name == name })
	if i < 0 {
		return file{}, fmt.Errorf("the release has no file %s", name)
	}
	return list[i], nil
}

// gzipped compresses a file without its name and time, and adds .gz to its name.
func gzipped(f file) (file, error) {
	var b bytes.Buffer
	w, err := gzip.NewWriterLevel(&b, gzip.BestCompression)
	if err != nil {
		return f, err
	}
	if _, err := w.Write(f.body); err != nil {
		return f, err
	}
	if err := w.Close(); err != nil {
		return f, err
	}
	return file{f.name + ".gz", f.mode, b.Bytes()}, nil
}

// programFiles returns the programs of a platform as files in a folder.
func (r *release) programFiles(platform, folder string, names ...string) ([]file, error) {
	var list []file
	for _, name := range names {
		body, err := os.ReadFile(r.binary(platform, name))
		if err != nil {
			return nil, err
		}
		list = append(list, file{path.Join(folder, filepath.Base(r.binary(platform, name))), 0o755, body})
	}
	return list, nil
}

var (
	versionMember = regexp.MustCompile(`(?m)^  "version": "[^"]*"`)
	imageMember   = regexp.MustCompile(`("identifier": "[^":]+:)[^"]*"`)
)

// serverJSON writes the entry for MCP registries, with the version of the release and the
// tag of its image.
func (r *release) serverJSON() error {
	text, err := os.ReadFile(filepath.Join(r.root, "server.json"))
	if err != nil {
		return err
	}
	if len(versionMember.FindAll(text, -1)) != 1 || len(imageMember.FindAll(text, -1)) != 1 {
		return fmt.Errorf("server.json has no version or image, or several")
	}
	text = versionMember.ReplaceAll(text, []byte(`  "version": "`+r.version+`"`))
	return r.write("server.json", imageMember.ReplaceAll(text, []byte(`${1}`+imageTag(r.version)+`"`)))
}

// registryName returns the name of svc-mcp in MCP registries.
func (r *release) registryName() (string, error) {
	text, err := os.ReadFile(filepath.Join(r.root, "server.json"))
	if err != nil {
		return "", err
	}
	var server struct{ Name string }
	if err := json.Unmarshal(text, &server); err != nil {
		return "", fmt.Errorf("server.json: %w", err)
	}
	return server.Name, nil
}

// write writes a file of the release.
func (r *release) write(name string, body []byte) error {
	return os.WriteFile(filepath.Join(r.out, name), body, 0o644) //nolint:gosec // releases are public
}
