package main

import (
	"fmt"
	"os"
	"path"
	"path/filepath"
	"strings"
	"time"

	"github.com/goreleaser/nfpm/v2"
	_ "github.com/goreleaser/nfpm/v2/deb" // registers the format
	"github.com/goreleaser/nfpm/v2/files"
	_ "github.com/goreleaser/nfpm/v2/rpm" // registers the format
)

const (
	maintainer  = "Warranty Records maintainers <maintainers@warranty.example.com>"
	summary     = "Self-hosted service for warranty records"
	description = summary + `
Records of warranties with their claims and documents, for owners, sellers and
issuers. One static binary with SQLite built in; PostgreSQL and Redis for
several replicas. Includes the server svcd, the command line svc and the MCP
server svc-mcp for AI agents.`
)

// packages writes a deb and an rpm.
func (r *release) packages(arch string, common []file) error {
	for _, format := range []string{"deb", "rpm"} {
		contents, err := r.packageFiles(format, arch, common)
		if err != nil {
			return err
		}
		stage := filepath.Join(r.work, format+"-"+arch)
		info := nfpm.WithDefaults(&nfpm.Info{
			Name: "svcd", Arch: arch, Platform: "linux", Version: r.version, Release: "1",
			Section: "net", Priority: "optional", Maintainer: maintainer, Vendor: "Warranty Records",
			Description: description, License: "Apache-2.0", MTime: r.epoch, DisableGlobbing: true,
			Overridables: nfpm.Overridables{
				Umask:   0o022,
				Depends: map[string][]string{"deb": {"passwd"}, "rpm": {"/usr/sbin/useradd", "/usr/sbin/groupadd"}}[format],
				Deb:     nfpm.Deb{Compression: "gzip"},
				RPM: nfpm.RPM{BuildHost: "localhost", Summary: summary, Compression: "gzip",
					Packager: maintainer, Group: "Applications/Internet"},
			},
		})
		if info.Contents, err = r.stage(stage, contents); err != nil {
			return err
		}
		script := func(name string) string { return filepath.Join(r.root, "deploy", format, name) }
		info.Scripts = map[string]nfpm.Scripts{
			"deb": {PostInstall: script("postinst"), PreRemove: script("prerm"), PostRemove: script("postrm")},
			"rpm": {PreInstall: script("pre"), PostInstall: script("post"), PreRemove: script("preun"), PostRemove: script("postun")},
		}[format]
		if err := nfpm.PrepareForPackager(info, format); err != nil {
			return err
		}
		packager, err := nfpm.Get(format)
		if err != nil {
			return err
		}
		out, err := os.Create(filepath.Join(r.out, packager.ConventionalFileName(info)))
		if err != nil {
			return err
		}
		if err := packager.Package(info, out); err != nil {
			return fmt.Errorf("%s for %s: %w", format, arch, err)
		}
		if err := out.Close(); err != nil {
			return err
		}
	}
	return nil
}

// configFile is the path of the settings in a package.
const configFile = "/etc/svcd/svcd.toml"

// packageFiles returns the files of a package, with absolute names.
func (r *release) packageFiles(format, arch string, common []file) ([]file, error) {
	list, err := r.programFiles("linux/"+arch, "/usr/bin", programs...)
	if err != nil {
		return nil, err
	}
	const doc = "/usr/share/doc/svcd/"
	folders := map[string]string{
		"completions/bash": "/usr/share/bash-completion/completions/",
		"completions/fish": "/usr/share/fish/vendor_completions.d/",
		"completions/zsh":  map[string]string{"deb": "/usr/share/zsh/vendor-completions/", "rpm": "/usr/share/zsh/site-functions/"}[format],
		"man/man1":         "/usr/share/man/man1/",
		"man/man8":         "/usr/share/man/man8/",
		"docs":             doc + "docs/",
		"deploy":           doc + "examples/",
	}
	for _, f := range common {
		folder, known := folders[path.Dir(f.name)]
		switch f.name {
		case "deploy/svcd.toml":
			list = append(list, file{configFile, 0o640, f.body})
			continue
		case "deploy/svcd.service", "deploy/svcd.socket", "deploy/svcd-backup.service", "deploy/svcd-backup.timer":
			folder = "/usr/lib/systemd/system/"
		case "README.md", "LICENSE", "THIRD_PARTY.md":
			folder, known = doc, format == "rpm" || f.name != "LICENSE" // Debian has it in copyright
		case "CHANGELOG.md":
			f.name, folder, known = "changelog", doc, true
		case "THIRD_PARTY_LICENSES.txt":
			folder, known = doc, true
		}
		if !known {
			continue // PowerShell
		}
		f.name = folder + path.Base(f.name)
		if strings.HasPrefix(folder, "/usr/share/man/") || f.name == doc+"changelog" || strings.HasSuffix(f.name, ".txt") {
			if f, err = gzipped(f); err != nil {
				return nil, err
			}
		}
		list = append(list, f)
	}
	if format != "deb" {
		return list, nil
	}
	changelog, err := gzipped(file{doc + "changelog.Debian", 0o644, r.debianChangelog()})
	if err != nil {
		return nil, err
	}
	return append(list, changelog,
		file{doc + "copyright", 0o644, []byte(debianCopyright)},
		file{"/usr/share/lintian/overrides/svcd", 0o644, []byte(lintianOverrides)}), nil
}

// debianChangelog returns a changelog with one entry, which refers to the project's own.
func (r *release) debianChangelog() []byte {
	version := strings.Replace(r.version, "-", "~", 1) + "-1"
	return fmt.Appendf(nil, "svcd (%s) unstable; urgency=medium\n\n  * Release %s. See changelog.gz.\n\n -- %s  %s\n",
		version, r.version, maintainer, r.epoch.Format(time.RFC1123Z))
}

const debianCopyright = `Format: https://www.debian.org/doc/packaging-manuals/copyright-format/1.0/
Upstream-Name: Warranty Records
Comment: The programs are linked statically. The licenses of the components in
 them are in THIRD_PARTY_LICENSES.txt.gz; THIRD_PARTY.md lists the components.

Files: *
Copyright: 2026 the Warranty Records authors
License: Apache-2.0
 On Debian systems, the full text of the Apache License 2.0 is in
 /usr/share/common-licenses/Apache-2.0.
`

const lintianOverrides = `# Go programs are linked statically.
svcd: statically-linked-binary
# The settings may contain passwords.
svcd: non-standard-file-perm 0640 != 0644 [etc/svcd/svcd.toml]
# The package is not part of Debian.
svcd: initial-upload-closes-no-bugs [usr/share/doc/svcd/changelog.Debian.gz:1]
`

// stage writes files below a folder, and returns them as contents of a package.
func (r *release) stage(folder string, list []file) (files.Contents, error) {
	var contents files.Contents
	for _, f := range list {
		source := filepath.Join(folder, filepath.FromSlash(f.name))
		if err := os.MkdirAll(filepath.Dir(source), 0o700); err != nil {
			return nil, err
		}
		if err := os.WriteFile(source, f.body, 0o600); err != nil {
			return nil, err
		}
		c := &files.Content{Source: source, Destination: f.name,
			FileInfo: &files.ContentFileInfo{Owner: "root", Group: "root", Mode: f.mode, MTime: r.epoch}}
		if f.name == configFile {
			c.Type, c.FileInfo.Group = files.TypeConfigNoReplace, "svcd"
		}
		contents = append(contents, c)
	}
	return contents, nil
}
