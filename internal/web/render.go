package web

import (
	"bytes"
	"compress/gzip"
	"embed"
	"fmt"
	"html/template"
	"io/fs"
	"math"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"sync"
	"time"

	"warranty.example/svc/warranty"
)

//go:embed templates/*.html
var templateFiles embed.FS

// views are the templates, parsed once.
type views struct {
	pages map[string]*template.Template
	texts *texts
}

// view is what every page is made of.
type view struct {
	Title string
	Nav   string // which part of the navigation is current
	Who   warranty.Principal
	Flash string // key of a text that tells what was just done
	Body  any    // the page's own
	// NoIndex keeps search engines away.
	NoIndex bool
	// MustVerify says that the person gets no token and no calendar feed before their
	// address is verified.
	MustVerify bool
}

// SignedIn tells the layout whether to show the navigation.
func (v view) SignedIn() bool { return v.Who.Credential == warranty.BySession }

// newViews parses every page together with what all share. A file is a page
// unless its name begins with an underscore.
func newViews(static *static) (*views, error) {
	texts, err := newTexts()
	if err != nil {
		return nil, err
	}
	shared, err := template.New("").Funcs(functions(static, texts)).ParseFS(templateFiles, "templates/_*.html")
	if err != nil {
		return nil, err
	}
	v := &views{pages: map[string]*template.Template{}, texts: texts}
	names, err := fs.Glob(templateFiles, "templates/[a-z]*.html")
	if err != nil {
		return nil, err
	}
	for _, name := range names {
		page, err := template.Must(shared.Clone()).ParseFS(templateFiles, name)
		if err != nil {
			return nil, err
		}
		v.pages[strings.TrimSuffix(strings.TrimPrefix(name, "templates/"), ".html")] = page
	}
	return v, nil
}

// show renders a page. It is written whole or not at all: a template that fails
// half-way becomes an error and not half a page.
func (web *Web) show(w http.ResponseWriter, r *http.Request, status int, name string, v view) {
	web.render(w, r, status, name, "layout", v)
}

// showBare renders a page of the public, without the navigation.
func (web *Web) showBare(w http.ResponseWriter, r *http.Request, status int, name string, v view) {
	web.render(w, r, status, name, "bare", v)
}

// part renders one block of a page, for a request of htmx that replaces just that.
func (web *Web) part(w http.ResponseWriter, r *http.Request, name, block string, v view) {
	web.render(w, r, http.StatusOK, name, block, v)
}

func (web *Web) render(w http.ResponseWriter, r *http.Request, status int, name, block string, v view) {
	v.MustVerify = v.SignedIn() && web.Service.RequireVerified && !v.Who.User.EmailVerified
	page, ok := web.views.pages[name]
	var b bytes.Buffer
	err := fmt.Errorf("there is no page %q", name)
	if ok {
		err = page.ExecuteTemplate(&b, block, v)
	}
	switch {
	case err != nil && name != "error":
		web.refuse(w, r, v.Who, fmt.Errorf("render the page %s: %w", name, err))
		return
	case err != nil: // there is no page left that could say so
		web.Log.ErrorContext(r.Context(), "a page could not be rendered", "page", name, "error", err.Error())
		http.Error(w, web.views.texts.get("error.render"), http.StatusInternalServerError)
		return
	}
	h, body := w.Header(), b.Bytes()
	// Only strangers' pages are compressed: beside something that an attacker has put
	// there, the length of another one could tell what it holds.
	if v.Who.User.ID.IsZero() {
		h.Add("Vary", "Accept-Encoding")
		if acceptsGzip(r) {
			h.Set("Content-Encoding", "gzip")
			body = compress(body)
		}
	}
	h.Set("Content-Type", "text/html; charset=utf-8")
	h.Set("Content-Length", strconv.Itoa(len(body)))
	w.WriteHeader(status)
	_, _ = w.Write(body) // a visitor who has gone away has nothing to be shown
}

// compressors are used again, because each takes most of a megabyte.
var compressors = sync.Pool{New: func() any { return gzip.NewWriter(nil) }}

func compress(page []byte) []byte {
	var b bytes.Buffer
	z := compressors.Get().(*gzip.Writer)
	defer compressors.Put(z)
	z.Reset(&b)
	_, _ = z.Write(page) // a buffer takes everything
	_ = z.Close()
	return b.Bytes()
}

// isPart tells requests of htmx, which want a block and not the page.
func isPart(r *http.Request) bool { return r.Header.Get("HX-Request") == "true" }

// functions are what templates may call.
func functions(static *static, texts *texts) template.FuncMap {
	return template.FuncMap{
		"t":          texts.get,
		"asset":      static.path,
		"date":       func(d warranty.Date) string { return d.Time().Format("2 Jan 2006") },
		"when":       func(t any) string { return instantOf(t).Format("2 Jan 2006, 15:04 UTC") },
		"rfc3339":    func(t any) string { return instantOf(t).Format(time.RFC3339) },
		"deref":      derefText,
		"coverage":   coverage,
		"seal":       seal,
		"qr":         qrCode,
		"icon":       icon,
		"size":       fileSize,
		"query":      func(key, value string) string { return url.Values{key: {value}}.Encode() },
		"field":      field,
		"statusTone": tone,
		"claimTone":  claimTone,
		"hasMove":    hasMove,
		"spark":      spark,
		"httpTone":   httpTone,
		"day":        func(t any) string { return instantOf(t).Format("2 Jan 2006") },
		"moment":     func(t any) string { return instantOf(t).Format("2 Jan, 15:04:05") },
		"words":      func(s *string) string { return strings.ReplaceAll(derefText(s), "_", " ") },
		"days":       texts.days,
		"left":       texts.left,
		"number":     texts.number,
		"figure":     texts.figure,
		"lifetime":   func(d warranty.Date) bool { return d == warranty.Lifetime },
		"isTrue":     func(b *bool) bool { return b != nil && *b },
		"has": func(list []string, s string) bool {
			return strings.Contains(" "+strings.Join(list, " ")+" ", " "+s+" ")
		},
	}
}

func derefText(s *string) string {
	if s == nil {
		return ""
	}
	return *s
}

// fileSize is a number of bytes as people say it.
func fileSize(n int64) string {
	switch {
	case n >= 1<<30:
		return tenths(n, 1<<30) + " GiB"
	case n >= 1<<20:
		return tenths(n, 1<<20) + " MiB"
	case n >= 1<<10:
		return fmt.Sprintf("%d KiB", n>>10)
	}
	return fmt.Sprintf("%d B", n)
}

// tenths is how many units there are, to one place, and to none when it is a zero.
func tenths(n int64, unit float64) string {
	return strconv.FormatFloat(math.Round(float64(n)*10/unit)/10, 'f', -1, 64)
}

func seconds(d time.Duration) string {
	return strconv.FormatInt(int64((d+time.Second-1)/time.Second), 10)
}

// nextOf is where to go after signing in: a path of this site, and nothing else.
func nextOf(next string) string {
	u, err := url.Parse(next)
	if err != nil || u.IsAbs() || u.Host != "" || !strings.HasPrefix(next, "/") || strings.HasPrefix(next, "//") || strings.ContainsAny(next, "\\\r\n\t") {
		return "/"
	}
	return u.RequestURI()
}

// fieldData is what the template of one form field needs.
type fieldData struct {
	Name, Label, Type, Value, Error, Hint, Autocomplete string
	Max                                                 string
	Required                                            bool
}

// field describes a field of a form to its template: its name and label, and
// pairs of type, hint, autocomplete, max and required.
func field(f interface {
	Value(string) string
	Error(string) string
}, name, label string, pairs ...string) fieldData {
	d := fieldData{Name: name, Label: label, Type: "text", Value: f.Value(name), Error: f.Error(name)}
	for i := 0; i+1 < len(pairs); i += 2 {
		switch pairs[i] {
		case "type":
			d.Type = pairs[i+1]
		case "hint":
			d.Hint = pairs[i+1]
		case "autocomplete":
			d.Autocomplete = pairs[i+1]
		case "max":
			d.Max = pairs[i+1]
		case "required":
			d.Required = pairs[i+1] == "true"
		}
	}
	return d
}

// hasMove tells whether a move is among those that may be made.
func hasMove(moves []warranty.ClaimStatus, name string) bool {
	for _, m := range moves {
		if m.String() == name {
			return true
		}
	}
	return false
}

// instantOf takes a time, or what may be one.
func instantOf(t any) time.Time {
	if p, ok := t.(*time.Time); ok && p != nil {
		return p.UTC()
	}
	at, _ := t.(time.Time)
	return at.UTC()
}
