package web

import (
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"embed"
	"encoding/hex"
	"io/fs"
	"mime"
	"net/http"
	"path"
	"strconv"
	"strings"
)

//go:embed static
var staticFiles embed.FS

// static serves what pages load. An address holds the hash of all of it, so it
// may be kept for ever and a new release is seen at once.
type static struct {
	hash  string
	files map[string]asset
}

type asset struct {
	mediaType   string
	plain, gzip []byte
}

// mediaTypes are fixed: a machine's own table may know them differently.
var mediaTypes = map[string]string{".css": "text/css; charset=utf-8", ".js": "text/javascript; charset=utf-8", ".woff2": "font/woff2", ".svg": "image/svg+xml", ".txt": "text/plain; charset=utf-8"}

func newStatic() (*static, error) {
	s := &static{files: map[string]asset{}}
	sum := sha256.New()
	err := fs.WalkDir(staticFiles, "static", func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || path.Dir(name) != "static" {
			return err
		}
		body, err := staticFiles.ReadFile(name)
		if err != nil {
			return err
		}
		sum.Write(body)
		a := asset{plain: body, mediaType: mediaTypes[path.Ext(name)]}
		if a.mediaType == "" {
			a.mediaType = mime.TypeByExtension(path.Ext(name))
		}
		if path.Ext(name) != ".woff2" {
			var b bytes.Buffer
			z, err := gzip.NewWriterLevel(&b, gzip.BestCompression)
			if err != nil {
				return err
			}
			if _, err := z.Write(body); err != nil {
				return err
			}
			if err := z.Close(); err != nil {
				return err
			}
			a.gzip = b.Bytes()
		}
		s.files[path.Base(name)] = a
		return nil
	})
	s.hash = hex.EncodeToString(sum.Sum(nil))[:12]
	return s, err
}

// path is the address of a file.
func (s *static) path(name string) string { return "/static/" + s.hash + "/" + name }

// ServeHTTP serves one file.
func (s *static) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	a, ok := s.files[r.PathValue("name")]
	if !ok {
		http.NotFound(w, r)
		return
	}
	h := w.Header()
	h.Set("Content-Type", a.mediaType)
	h.Set("Vary", "Accept-Encoding")
	h.Set("Cache-Control", "public, max-age=31536000, immutable")
	body := a.plain
	if a.gzip != nil && strings.Contains(r.Header.Get("Accept-Encoding"), "gzip") {
		h.Set("Content-Encoding", "gzip")
		body = a.gzip
	}
	h.Set("Content-Length", strconv.Itoa(len(body)))
	_, _ = w.Write(body) // a visitor who has gone away has nothing to be shown
}
