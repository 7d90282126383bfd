package view

import (
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"embed"
	"encoding/hex"
	"io/fs"
	"maps"
	"net/http"
	"path"
	"slices"
	"strconv"
	"strings"
	"sync"

	"warranty.example/svc/api"
	"warranty.example/svc/internal/paper"
	"warranty.example/svc/warranty"
)

//go:embed static
var staticFiles embed.FS

// Static serves the static files. Their URLs contain a hash of all files, so they can be
// cached forever and a new release changes them.
type Static struct {
	hash  string
	files map[string]asset
}

type asset struct {
	mediaType string
	plain     []byte
	gzip      func() []byte // nil if its format is compressed
}

// mediaTypes maps file extensions to media types. package mime depends on the system's
// tables.
var mediaTypes = map[string]string{
	".css":   "text/css; charset=utf-8",
	".js":    "text/javascript; charset=utf-8",
	".woff2": "font/woff2",
	".svg":   "image/svg+xml",
	".png":   "image/png",
	".ttf":   "font/ttf",

	".webmanifest": "application/manifest+json",
	".txt":         "text/plain; charset=utf-8",
}

// background is that of the sign-in pages.
var background = `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 1000 1000" ` +
	`fill="none" stroke="#000" stroke-width="1.5">` +
	rosette("Warranty Records") + `</svg>`

// newStatic reads the static files and adds those that are made: fonts of papers, a background, and a manifest for each
// language.
func newStatic(languages []*Texts) (*Static, error) {
	s := &Static{files: map[string]asset{}}
	sum := sha256.New()
	add := func(name string, body []byte) {
		sum.Write(body)
		s.files[name] = newAsset(name, body)
	}
	err := fs.WalkDir(staticFiles, "static", func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || path.Dir(name) != "static" {
			return err
		}
		body, err := staticFiles.ReadFile(name)
		if err != nil {
			return err
		}
		add(path.Base(name), body)
		return nil
	})
	printed := paper.Fonts()
	for _, name := range slices.Sorted(maps.Keys(printed)) {
		add(name, printed[name])
	}
	add("paper.svg", []byte(background))
	for _, texts := range languages {
		add(manifestName(texts), manifest(texts))
	}
	s.hash = hex.EncodeToString(sum.Sum(nil))[:12]
	return s, err
}

// newAsset returns a file that is compressed when it is first sent, unless its format is compressed.
func newAsset(name string, body []byte) asset {
	a := asset{plain: body, mediaType: mediaTypes[path.Ext(name)]}
	if path.Ext(name) != ".woff2" && path.Ext(name) != ".png" {
		a.gzip = sync.OnceValue(func() []byte { return compressed(body) })
	}
	return a
}

// compressed takes a quarter of the time of a start for all files.
func compressed(body []byte) []byte {
	var b bytes.Buffer
	z, _ := gzip.NewWriterLevel(&b, gzip.BestCompression) // the level is known
	_, _ = z.Write(body)                                  // memory takes everything
	_ = z.Close()
	return b.Bytes()
}

// Path returns the URL of a file.
func (s *Static) Path(name string) string { return "/static/" + s.hash + "/" + name }

// Hash identifies the content of all files.
func (s *Static) Hash() string { return s.hash }

// File returns the content of a file.
func (s *Static) File(name string) string { return string(s.files[name].plain) }

// ServeHTTP serves a file.
func (s *Static) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	api.CallerOf(r.Context()).Door = warranty.DoorWeb
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
	if a.gzip != nil && acceptsGzip(r) {
		h.Set("Content-Encoding", "gzip")
		body = a.gzip()
	}
	h.Set("Content-Length", strconv.Itoa(len(body)))
	_, _ = w.Write(body) // the client may be gone
}

func acceptsGzip(r *http.Request) bool {
	return strings.Contains(r.Header.Get("Accept-Encoding"), "gzip")
}
