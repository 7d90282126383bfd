package main

import (
	"archive/tar"
	"archive/zip"
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"
)

// archive writes a tar.gz with the programs, or a zip for Windows. All files are in
// one folder with the name of the archive.
func (r *release) archive(platform string, common []file) error {
	list, err := r.programFiles(platform, "", programs...)
	if err != nil {
		return err
	}
	system, arch, _ := strings.Cut(platform, "/")
	for _, f := range common {
		if system != "linux" && strings.HasPrefix(f.name, "deploy/") || system == "windows" && strings.HasPrefix(f.name, "man/") {
			continue
		}
		list = append(list, f)
	}
	name := fmt.Sprintf("svc-%s-%s-%s", r.version, system, arch)
	for i := range list {
		list[i].name = name + "/" + list[i].name
	}
	var b bytes.Buffer
	if system == "windows" {
		if err := writeZip(&b, list, r.epoch); err != nil {
			return err
		}
		return r.write(name+".zip", b.Bytes())
	}
	w := gzip.NewWriter(&b)
	body, err := tarball(list, r.epoch)
	if err != nil {
		return err
	}
	if _, err := w.Write(body); err != nil {
		return err
	}
	if err := w.Close(); err != nil {
		return err
	}
	return r.write(name+".tar.gz", b.Bytes())
}

// tarball returns an uncompressed tar archive; all files belong to root.
func tarball(list []file, mtime time.Time) ([]byte, error) {
	var b bytes.Buffer
	w := tar.NewWriter(&b)
	for _, f := range list {
		h := &tar.Header{Typeflag: tar.TypeReg, Name: f.name, Mode: int64(f.mode.Perm()), Size: int64(len(f.body)),
			ModTime: mtime, Uname: "root", Gname: "root", Format: tar.FormatPAX}
		if err := w.WriteHeader(h); err != nil {
			return nil, err
		}
		if _, err := w.Write(f.body); err != nil {
			return nil, err
		}
	}
	err := w.Close()
	return b.Bytes(), err
}

func writeZip(b *bytes.Buffer, list []file, mtime time.Time) error {
	z := zip.NewWriter(b)
	for _, f := range list {
		h := &zip.FileHeader{Name: f.name, Method: zip.Deflate, Modified: mtime}
		h.SetMode(f.mode)
		w, err := z.CreateHeader(h)
		if err != nil {
			return err
		}
		if _, err := w.Write(f.body); err != nil {
			return err
		}
	}
	return z.Close()
}

// checksums writes SHA256SUMS, in the format of sha256sum.
func (r *release) checksums() error {
	entries, err := os.ReadDir(r.out) // sorted
	if err != nil {
		return err
	}
	var b strings.Builder
	for _, e := range entries {
		body, err := os.ReadFile(filepath.Join(r.out, e.Name()))
		if err != nil {
			return err
		}
		fmt.Fprintf(&b, "%x  %s\n", sha256.Sum256(body), e.Name())
	}
	return r.write("SHA256SUMS", []byte(b.String()))
}
