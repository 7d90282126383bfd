// Package view has what every page of the web app uses: templates, texts and languages, formats, static files and
// graphics.
package view

import (
	"bytes"
	"cmp"
	"compress/gzip"
	"embed"
	"fmt"
	"html/template"
	"io/fs"
	"net/http"
	"strconv"
	"strings"
	"sync"

	"golang.org/x/text/language"

	"warranty.example/svc/warranty"
)

//go:embed templates/*.html
var templateFiles embed.FS

// Views holds what all pages are made of.
type Views struct {
	editions []*Edition // the first one is for readers of other languages
	matcher  language.Matcher
	Static   *Static
}

// Edition is the web app in one language: its texts and its parsed templates.
type Edition struct {
	*Texts
	pages map[string]func() (*template.Template, error)
}

// Embedded returns the views of this release, which every Web of a process shares.
var Embedded = sync.OnceValues(newViews)

func newViews() (*Views, error) {
	var languages []*Texts
	for _, lang := range warranty.Languages() {
		texts, err := newTexts(lang)
		if err != nil {
			return nil, err
		}
		languages = append(languages, texts)
	}
	static, err := newStatic(languages)
	if err != nil {
		return nil, err
	}
	v := &Views{Static: static}
	for _, texts := range languages {
		e, err := newEdition(texts, static)
		if err != nil {
			return nil, err
		}
		v.editions = append(v.editions, e)
	}
	v.matcher = newMatcher(v.editions)
	return v, nil
}

// newEdition returns the edition of a language. The shared templates, whose file names begin with an underscore, are parsed
// when the first page is shown, and each page is parsed together with them when it is first shown.
func newEdition(texts *Texts, static *Static) (*Edition, error) {
	shared := sync.OnceValues(func() (*template.Template, error) {
		return template.New("").Funcs(functions(static, texts)).ParseFS(templateFiles, "templates/_*.html")
	})
	e := &Edition{Texts: texts, pages: map[string]func() (*template.Template, error){}}
	names, err := fs.Glob(templateFiles, "templates/[a-z]*.html")
	if err != nil {
		return nil, err
	}
	for _, name := range names {
		page := strings.TrimSuffix(strings.TrimPrefix(name, "templates/"), ".html")
		e.pages[page] = sync.OnceValues(func() (*template.Template, error) {
			base, err := shared()
			if err != nil {
				return nil, err
			}
			with, err := base.Clone()
			if err != nil {
				return nil, err
			}
			return with.ParseFS(templateFiles, name)
		})
	}
	return e, nil
}

// Render returns a block of a page.
func (e *Edition) Render(name, block string, page Page) ([]byte, error) {
	parse, ok := e.pages[name]
	if !ok {
		return nil, fmt.Errorf("unknown page %q", name)
	}
	parsed, err := parse()
	if err != nil {
		return nil, err
	}
	var b bytes.Buffer
	if err := parsed.ExecuteTemplate(&b, block, page); err != nil {
		return nil, fmt.Errorf("render page %s: %w", name, err)
	}
	return b.Bytes(), nil
}

// Write sends a rendered page with a status; 0 means 200. compressed is the same page, or nil if it has to be
// compressed.
func (e *Edition) Write(
	w http.ResponseWriter, r *http.Request, status int, who warranty.Principal, page, compressed []byte,
) {
	h, body := w.Header(), page
	// The compressed length of a signed-in user's page could reveal secrets next to text that an attacker chose,
	// if other sites could make the browser ask for it again and again (BREACH).
	h.Add("Vary", "Accept-Encoding, Accept-Language, Cookie, Sec-Fetch-Site")
	if acceptsGzip(r) && (who.User.ID.IsZero() || askedByUser(r)) {
		h.Set("Content-Encoding", "gzip")
		if body = compressed; body == nil {
			body = Compress(page)
		}
	}
	h.Set("Content-Type", "text/html; charset=utf-8")
	h.Set("Content-Language", e.Lang)
	h.Set("Content-Length", strconv.Itoa(len(body)))
	w.WriteHeader(cmp.Or(status, http.StatusOK))
	_, _ = w.Write(body) // the client may be gone
}

// askedByUser reports whether the browser says that a page of this site or the user asked, not another site.
func askedByUser(r *http.Request) bool {
	site := r.Header.Get("Sec-Fetch-Site")
	return site == "same-origin" || site == "none"
}

// compressors is a pool, because a gzip.Writer takes most of a megabyte.
var compressors = sync.Pool{New: func() any { return gzip.NewWriter(nil) }}

// Compress returns a page in gzip format.
func Compress(page []byte) []byte {
	var b bytes.Buffer
	z := compressors.Get().(*gzip.Writer)
	defer compressors.Put(z)
	z.Reset(&b)
	_, _ = z.Write(page) // writing to a buffer does not fail
	_ = z.Close()
	return b.Bytes()
}
