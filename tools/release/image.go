package main

import (
	"archive/tar"
	"bytes"
	"encoding/pem"
	"fmt"
	"io"
	"path/filepath"
	"strings"
	"time"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	imagetar "github.com/google/go-containerregistry/pkg/v1/tarball"
	"golang.org/x/crypto/x509roots/fallback/bundle"

	"github.com/google/go-containerregistry/pkg/name"
)

// imageUser is the numeric user and group of the image, as in other images without a
// root user. It is a number so that Kubernetes can check runAsNonRoot.
const imageUser = 65532

// image writes a container image with svcd or svc-mcp as a tarball for docker load and
// podman load. The manifest has Docker's media types, because Podman ignores the health
// check of OCI manifests.
func (r *release) image(program, arch string, common []file) error {
	layer, err := r.imageLayer(program, arch, common)
	if err != nil {
		return err
	}
	l, err := imagetar.LayerFromOpener(func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(layer)), nil },
		imagetar.WithCompressedCaching)
	if err != nil {
		return err
	}
	img, err := mutate.Append(empty.Image, mutate.Addendum{
		Layer:   l,
		History: v1.History{Author: "svc", Created: v1.Time{Time: r.epoch}, CreatedBy: "make release"},
	})
	if err != nil {
		return err
	}
	configFile, err := img.ConfigFile()
	if err != nil {
		return err
	}
	configFile = configFile.DeepCopy()
	configFile.OS, configFile.Architecture, configFile.Created = "linux", arch, v1.Time{Time: r.epoch}
	if arch == "arm64" {
		configFile.Variant = "v8"
	}
	configFile.Config = v1.Config{
		User:       fmt.Sprintf("%d:%[1]d", imageUser),
		Env:        []string{"PATH=/usr/bin"},
		Entrypoint: []string{"/usr/bin/" + program},
		Labels: map[string]string{
			"org.opencontainers.image.title":       program,
			"org.opencontainers.image.description": "Warranty Records",
			"org.opencontainers.image.version":     r.version,
			"org.opencontainers.image.licenses":    "Apache-2.0",
			"org.opencontainers.image.created":     r.epoch.Format(time.RFC3339),
		},
	}
	switch c := &configFile.Config; program {
	case "svcd":
		c.Env = append(c.Env, "SVC_DATA=/data", "SVC_LISTEN=:8080")
		c.WorkingDir, c.StopSignal = "/data", "SIGTERM"
		c.Volumes = map[string]struct{}{"/data": {}}
		c.ExposedPorts = map[string]struct{}{"8080/tcp": {}}
		c.Healthcheck = &v1.HealthConfig{Test: []string{"CMD", "/usr/bin/svcd", "healthcheck"},
			Interval: 30 * time.Second, Timeout: 6 * time.Second, StartPeriod: 10 * time.Second, Retries: 3}
	case "svc-mcp":
		// The MCP registry compares this label with server.json.
		if c.Labels["io.modelcontextprotocol.server.name"], err = r.registryName(); err != nil {
			return err
		}
	}
	if img, err = mutate.ConfigFile(img, configFile); err != nil {
		return err
	}
	tag, err := name.NewTag(program + ":" + imageTag(r.version))
	if err != nil {
		return err
	}
	return imagetar.WriteToFile(filepath.Join(r.out, fmt.Sprintf("%s-%s-image-%s.tar", program, r.version, arch)), tag, img)
}

// imageTag returns a version as a tag, which cannot contain a plus sign.
func imageTag(version string) string { return strings.ReplaceAll(version, "+", "-") }

// imageLayer returns the file system of the image: the program, its licenses, a user,
// root certificates for outgoing TLS, and the folders /data and /tmp.
func (r *release) imageLayer(program, arch string, common []file) ([]byte, error) {
	list, err := r.programFiles("linux/"+arch, "usr/bin", program)
	if err != nil {
		return nil, err
	}
	for _, name := range []string{"LICENSE", "THIRD_PARTY.md", "THIRD_PARTY_LICENSES.txt"} {
		f, err := find(common, name)
		if err != nil {
			return nil, err
		}
		f.name = "usr/share/doc/" + program + "/" + name
		list = append(list, f)
	}
	list = append(list,
		file{"etc/passwd", 0o644, fmt.Appendf(nil, "root:x:0:0:root:/:/sbin/nologin\nsvcd:x:%d:%[1]d:svcd:/data:/sbin/nologin\n", imageUser)},
		file{"etc/group", 0o644, fmt.Appendf(nil, "root:x:0:\nsvcd:x:%d:\n", imageUser)},
		file{"etc/ssl/certs/ca-certificates.crt", 0o644, rootCertificates()})
	var b bytes.Buffer
	w := tar.NewWriter(&b)
	header := func(h tar.Header) error {
		h.ModTime, h.Format = r.epoch, tar.FormatPAX
		return w.WriteHeader(&h)
	}
	for _, d := range []struct {
		name  string
		mode  int64
		owner int
	}{
		{"data/", 0o700, imageUser},
		{"etc/", 0o755, 0},
		{"etc/ssl/", 0o755, 0},
		{"etc/ssl/certs/", 0o755, 0},
		{"tmp/", 0o1777, 0},
		{"usr/", 0o755, 0},
		{"usr/bin/", 0o755, 0},
		{"usr/share/", 0o755, 0},
		{"usr/share/doc/", 0o755, 0},
		{"usr/share/doc/" + program + "/", 0o755, 0},
	} {
		if err := header(tar.Header{Typeflag: tar.TypeDir, Name: d.name, Mode: d.mode, Uid: d.owner, Gid: d.owner}); err != nil {
			return nil, err
		}
	}
	for _, f := range list {
		if err := header(tar.Header{Typeflag: tar.TypeReg, Name: f.name, Mode: int64(f.mode.Perm()), Size: int64(len(f.body))}); err != nil {
			return nil, err
		}
		if _, err := w.Write(f.body); err != nil {
			return nil, err
		}
	}
	err = w.Close()
	return b.Bytes(), err
}

// rootCertificates returns Mozilla's root certificates. It omits those that are trusted
// under conditions only, which a file cannot express.
func rootCertificates() []byte {
	var b bytes.Buffer
	for root := range bundle.Roots() {
		if root.Constraint == nil {
			b.Write(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: root.Certificate}))
		}
	}
	return b.Bytes()
}
