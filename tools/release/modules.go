package main

import (
	"bytes"
	"cmp"
	"context"
	"debug/buildinfo"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	cdx "github.com/CycloneDX/cyclonedx-go"
)

// module is a module that is linked into one of the programs.
type module struct {
	path, version string
	folder        string // in the module cache
}

// linkedModules returns the modules that the programs contain, on any platform.
func (r *release) linkedModules(ctx context.Context, binaries []string) ([]module, error) {
	linked := map[string]string{}
	for _, binary := range binaries {
		info, err := buildinfo.ReadFile(binary)
		if err != nil {
			return nil, err
		}
		for _, d := range info.Deps {
			if d.Replace != nil {
				return nil, fmt.Errorf("%s is replaced by %s; releases use published modules only", d.Path, d.Replace.Path)
			}
			linked[d.Path] = d.Version
		}
	}
	args := append([]string{"list", "-m", "-f", "{{.Path}} {{.Version}} {{.Dir}}"}, slices.Sorted(maps.Keys(linked))...)
	out, err := r.output(ctx, "go", args...)
	if err != nil {
		return nil, err
	}
	var list []module
	for line := range strings.Lines(string(out)) {
		m := module{}
		if n, _ := fmt.Sscan(line, &m.path, &m.version, &m.folder); n == 3 && linked[m.path] == m.version {
			list = append(list, m)
			delete(linked, m.path)
		}
	}
	if len(linked) > 0 {
		return nil, fmt.Errorf("not in the module cache: %v", slices.Sorted(maps.Keys(linked)))
	}
	slices.SortFunc(list, func(a, b module) int { return cmp.Compare(a.path, b.path) })
	return list, nil
}

var licenseFile = regexp.MustCompile(`(?i)^(licen[sc]e|copying|notice|patents)\b`)

// licenses returns the license texts of everything that is linked: the modules, the Go
// standard library and the files embedded in the web pages.
func (r *release) licenses(ctx context.Context, modules []module) ([]byte, error) {
	var b bytes.Buffer
	b.WriteString("Licenses of the components in svcd, svc and svc-mcp. THIRD_PARTY.md says what each is used for.\n")
	add := func(title, folder string, pattern *regexp.Regexp) error {
		entries, err := os.ReadDir(folder)
		if err != nil {
			return err
		}
		found := false
		for _, e := range entries {
			if e.IsDir() || !pattern.MatchString(e.Name()) {
				continue
			}
			text, err := os.ReadFile(filepath.Join(folder, e.Name()))
			if err != nil {
				return err
			}
			found = true
			fmt.Fprintf(&b, "\n%s\n%s, %s\n%[1]s\n\n%s\n", strings.Repeat("=", 80), title, e.Name(), bytes.TrimSpace(text))
		}
		if !found {
			return fmt.Errorf("%s has no license file in %s", title, folder)
		}
		return nil
	}
	goroot, err := r.output(ctx, "go", "env", "GOROOT")
	if err != nil {
		return nil, err
	}
	if err := add("Go standard library", strings.TrimSpace(string(goroot)), licenseFile); err != nil {
		return nil, err
	}
	if err := add("Web pages", filepath.Join(r.root, "internal/web/view/static/licences"), regexp.MustCompile(".")); err != nil {
		return nil, err
	}
	for _, m := range modules {
		if err := add(m.path+" "+m.version, m.folder, licenseFile); err != nil {
			return nil, err
		}
	}
	return b.Bytes(), nil
}

// embedded are components in the programs that are not Go modules. THIRD_PARTY.md
// names them too.
var embedded = []cdx.Component{
	{Name: "sqlite", Version: "3.53.4", PackageURL: "pkg:generic/sqlite@3.53.4", CPE: "cpe:2.3:a:sqlite:sqlite:3.53.4:*:*:*:*:*:*:*"},
	{Name: "htmx.org", Version: "4.0.0", PackageURL: "pkg:npm/htmx.org@4.0.0"},
	{Name: "@fontsource-variable/geist", PackageURL: "pkg:npm/%40fontsource-variable/geist"},
	{Name: "@fontsource-variable/geist-mono", PackageURL: "pkg:npm/%40fontsource-variable/geist-mono"},
}

// sbom writes a bill of materials in the CycloneDX format.
func (r *release) sbom(modules []module) error {
	goVersion, err := r.output(context.Background(), "go", "env", "GOVERSION")
	if err != nil {
		return err
	}
	std := strings.TrimPrefix(strings.TrimSpace(string(goVersion)), "go")
	root := cdx.Component{BOMRef: "svc", Type: cdx.ComponentTypeApplication, Name: "svc", Version: r.version,
		Description: "Warranty Records: svcd, svc and svc-mcp",
		Licenses:    &cdx.Licenses{{License: &cdx.License{ID: "Apache-2.0"}}}}
	components := []cdx.Component{{Name: "std", Version: std, PackageURL: "pkg:golang/std@" + std}}
	components = append(components, embedded...)
	for _, m := range modules {
		components = append(components, cdx.Component{Name: m.path, Version: m.version,
			PackageURL: "pkg:golang/" + m.path + "@" + strings.ReplaceAll(m.version, "+", "%2B")})
	}
	refs := []string{}
	for i := range components {
		components[i].Type, components[i].BOMRef = cdx.ComponentTypeLibrary, components[i].PackageURL
		refs = append(refs, components[i].BOMRef)
	}
	bom := cdx.NewBOM()
	bom.Metadata = &cdx.Metadata{Timestamp: r.epoch.Format("2006-01-02T15:04:05Z"), Component: &root}
	bom.Components = &components
	bom.Dependencies = &[]cdx.Dependency{{Ref: root.BOMRef, Dependencies: &refs}}
	var b bytes.Buffer
	// Not the latest version of the format, which few programs read yet.
	if err := cdx.NewBOMEncoder(&b, cdx.BOMFileFormatJSON).SetPretty(true).EncodeVersion(bom, cdx.SpecVersion1_6); err != nil {
		return err
	}
	return r.write("svc-"+r.version+"-sbom.cdx.json", b.Bytes())
}
