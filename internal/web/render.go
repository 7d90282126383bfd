package web

import (
	"bytes"
	"cmp"
	"compress/gzip"
	"embed"
	"fmt"
	"html/template"
	"io/fs"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"sync"
	"time"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/language"

	"warranty.example/svc/internal/service"
	"warranty.example/svc/warranty"
)

//go:embed templates/*.html
var templateFiles embed.FS

// views holds what all pages are made of.
type views struct {
	editions []*edition // the first one is for readers of other languages
	matcher  language.Matcher
	static   *static
}

// edition is the web app in one language: its texts and its parsed templates.
type edition struct {
	*texts
	pages map[string]func() (*template.Template, error)
}

// view is the data of a page's template.
type view struct {
	Title string
	Nav   string // the current item of the navigation
	Who   warranty.Principal
	Flash string // the key of the message about what was just done
	Undo  string // the id of the warranty that was just deleted
	Body  any    // the data of the page itself
	Next  string // where to go after the email address was verified, if not to the overview
	// In is the language of the page, and Zone the time zone of its times.
	In   *texts
	Zone *time.Location
	// Here is the address of the page, and Languages are those to choose from. Pages of signed-in users have none.
	Here      string
	Languages []languageChoice
	// Holds means that the page holds a form that would be lost with it, so that other links open in a new tab.
	Holds bool
	// NoIndex keeps the page out of search engines.
	NoIndex bool
	// Refresh loads the page again every few seconds in browsers without scripts.
	Refresh bool
	// Acting is the account that the browser acts for, also on the person's own pages. Accounts are
	// those that the person can act for.
	Acting   warranty.Acting
	Accounts []warranty.AccountChoice
	// MustVerify means that the user must verify the email address before creating a token
	// or a calendar feed.
	MustVerify bool
}

// SignedIn reports whether the user is signed in.
func (v view) SignedIn() bool { return v.Who.Credential == warranty.BySession }

// MayWrite reports whether the person may change records of the account.
func (v view) MayWrite() bool { return v.Who.Account.Role.Includes(warranty.Member) }

// MayManage reports whether the person may manage the account.
func (v view) MayManage() bool { return v.Who.Account.Role.Includes(warranty.Admin) }

// Others returns a few accounts besides the current one.
func (v view) Others() (list []warranty.Acting) {
	for _, a := range v.Accounts {
		if a.ID != v.Acting.ID && len(list) < 5 {
			list = append(list, a.Acting)
		}
	}
	return list
}

// Current returns the account that the browser acts for, to show it.
func (v view) Current() warranty.AccountChoice { return warranty.AccountChoice{Acting: v.Acting} }

// Waiting returns the number of claims that wait for the account that the browser acts for.
func (v view) Waiting() int64 {
	for _, a := range v.Accounts {
		if a.ID == v.Acting.ID {
			return a.Waiting
		}
	}
	return 0
}

// Personal reports whether the page is the person's own while the browser acts for an organization.
func (v view) Personal() bool { return v.Acting.ID != v.Who.Account.ID }

// embedded returns the views of this release, which every Web of a process shares.
var embedded = sync.OnceValues(newViews)

func newViews() (*views, error) {
	static, err := newStatic()
	if err != nil {
		return nil, err
	}
	v := &views{static: static}
	for _, lang := range warranty.Languages() {
		e, err := newEdition(lang, static)
		if err != nil {
			return nil, err
		}
		v.editions = append(v.editions, e)
	}
	v.matcher = newMatcher(v.editions)
	return v, nil
}

// newEdition reads the texts of a language. The shared templates, whose file names begin with an underscore, are parsed
// when the first page is shown, and each page is parsed together with them when it is first shown.
func newEdition(lang string, static *static) (*edition, error) {
	texts, err := newTexts(lang)
	if err != nil {
		return nil, err
	}
	shared := sync.OnceValues(func() (*template.Template, error) {
		return template.New("").Funcs(functions(static, texts)).ParseFS(templateFiles, "templates/_*.html")
	})
	e := &edition{texts: texts, pages: map[string]func() (*template.Template, error){}}
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

// show renders a page. A status of 0 means 200.
func (web *Web) show(w http.ResponseWriter, r *http.Request, status int, name string, v view) error {
	return web.render(w, r, status, name, "layout", v)
}

// showBare renders a public page, without the navigation.
func (web *Web) showBare(w http.ResponseWriter, r *http.Request, status int, name string, v view) error {
	return web.render(w, r, status, name, "bare", v)
}

// part renders one block of a page, for htmx to swap in.
func (web *Web) part(w http.ResponseWriter, r *http.Request, name, block string, v view) error {
	return web.render(w, r, http.StatusOK, name, block, v)
}

// render renders a block of a page. If the template fails, it writes nothing.
func (web *Web) render(w http.ResponseWriter, r *http.Request, status int, name, block string, v view) error {
	body, err := web.rendered(r, name, block, v)
	if err != nil {
		return err
	}
	web.write(w, r, status, v.Who, body, nil)
	return nil
}

// rendered returns a block of a page.
func (web *Web) rendered(r *http.Request, name, block string, v view) ([]byte, error) {
	v.MustVerify = v.SignedIn() && web.Service.RequireVerified && !v.Who.User.EmailVerified
	if v.SignedIn() {
		v.Acting = actingOf(r, v.Who)
		if block == "layout" {
			// Without the list, as when the database is down, the page shows the current account.
			v.Accounts, _ = web.Service.Accounts(r.Context(), v.Who)
		}
	}
	reader := web.reader(r)
	v.In, v.Zone = reader.texts, reader.zone
	if v.Who.User.ID.IsZero() || block == "bare" {
		v.Languages, v.Here = web.languageChoices(), "/"
		if r.Method == http.MethodGet {
			v.Here = r.URL.RequestURI()
		}
	}
	parse, ok := reader.pages[name]
	if !ok {
		return nil, fmt.Errorf("unknown page %q", name)
	}
	page, err := parse()
	if err != nil {
		return nil, err
	}
	var b bytes.Buffer
	if err := page.ExecuteTemplate(&b, block, v); err != nil {
		return nil, fmt.Errorf("render page %s: %w", name, err)
	}
	return b.Bytes(), nil
}

// write sends a rendered page. compressed is the same page, or nil if it has to be compressed.
func (web *Web) write(w http.ResponseWriter, r *http.Request, status int, who warranty.Principal, page, compressed []byte) {
	h, body := w.Header(), page
	// The compressed length of a signed-in user's page could reveal secrets next to text that an attacker chose,
	// if other sites could make the browser ask for it again and again (BREACH).
	h.Add("Vary", "Accept-Encoding, Accept-Language, Cookie, Sec-Fetch-Site")
	if acceptsGzip(r) && (who.User.ID.IsZero() || askedByUser(r)) {
		h.Set("Content-Encoding", "gzip")
		if body = compressed; body == nil {
			body = compress(page)
		}
	}
	h.Set("Content-Type", "text/html; charset=utf-8")
	h.Set("Content-Language", web.reader(r).Lang)
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

func compress(page []byte) []byte {
	var b bytes.Buffer
	z := compressors.Get().(*gzip.Writer)
	defer compressors.Put(z)
	z.Reset(&b)
	_, _ = z.Write(page) // writing to a buffer does not fail
	_ = z.Close()
	return b.Bytes()
}

// isPart reports whether htmx made the request, which expects a block instead of a page.
func isPart(r *http.Request) bool { return r.Header.Get("HX-Request") == "true" }

// functions returns the functions of the templates.
func functions(static *static, texts *texts) template.FuncMap {
	return template.FuncMap{
		"t":        texts.get,
		"asset":    static.path,
		"initials": initials,
		"proofOf":  func(p any, r warranty.Reference) proof { return proof{issuerOf(p), r} },
		"lead":     func(b warranty.Backing) string { return b.Lead(texts.Lang) },
		"who":      func(b warranty.Backing) string { return b.Who(texts.Lang) },
		"note":     func(b warranty.Backing) string { return b.Note(texts.Lang) },
		"product":  func(v warranty.Verification) string { return v.Product(texts.Lang) },
		"quoted":   func(written string) string { return warranty.Quoted(written, texts.Lang) },
		"inForce":  func(v warranty.Verification) string { return texts.get(inForce(v)) },
		"statement": func(b any) string {
			if pointer, ok := b.(*warranty.Backing); ok {
				return pointer.Statement(texts.Lang)
			}
			return b.(warranty.Backing).Statement(texts.Lang)
		},
		"formerly":   texts.formerly,
		"fieldName":  texts.fieldName,
		"filterOf":   func(name, label string, choices []filter) filterField { return filterField{name, label, choices} },
		"columns":    func() []string { return listColumns },
		"bulkOf":     func(v view, p jobPage) bulkView { return bulkView{v, p} },
		"settingsAt": func(v view, page string) settingsNav { return settingsNav{v, page} },
		"date":       texts.date,
		"when":       texts.when,
		"rfc3339":    func(t any) string { return instantOf(t).Format(time.RFC3339) },
		"banner":     func(kind, text string) banner { return banner{bannerKind(kind), text} },
		"deref":      derefText,
		"coverage":   coverage,
		"seal":       seal,
		"qr":         qrCode,
		"icon":       icon,
		"size":       texts.size,
		"money":      texts.money,
		"field":      field,
		"statusTone": tone,
		"claimTone":  claimTone,
		"hasMove":    hasMove,
		"pictured":   service.HasThumbnail,
		"spark":      spark,
		"httpTone":   httpTone,
		"day":        texts.day,
		"moment":     texts.moment,
		"zoned":      func(zone *time.Location, of any) zoned { return zoned{zone, of} },
		"changed":    texts.changed,
		"message":    texts.message,
		"roles":      texts.roles,
		"moveKey":    moveKey,
		"months":     func(n *int) string { return texts.length(*n) },
		"days":       texts.days,
		"left":       texts.left,
		"number":     texts.number,
		"figure":     texts.figure,
		"waiting":    texts.waiting,
		"lifetime":   func(d warranty.Date) bool { return d == warranty.Lifetime },
		"isTrue":     func(b *bool) bool { return b != nil && *b },
		"facts": func(values ...*string) (list []string) {
			for _, v := range values {
				if v != nil {
					list = append(list, *v)
				}
			}
			return list
		},
		"has": func(list []string, s string) bool {
			return strings.Contains(" "+strings.Join(list, " ")+" ", " "+s+" ")
		},
	}
}

// proof is the data of the template "fromcell".
type proof struct {
	By        warranty.Backing
	Reference warranty.Reference
}

// zoned is the data of a template that shows times.
type zoned struct {
	Zone *time.Location
	Of   any
}

// issuerOf returns a warranty.Party or *warranty.Party as the issuer of a record.
func issuerOf(p any) warranty.Backing {
	if party, ok := p.(warranty.Party); ok {
		return warranty.Backing{Role: warranty.Issuer, Party: &party}
	}
	party, _ := p.(*warranty.Party)
	return warranty.Backing{Role: warranty.Issuer, Party: party}
}

// formerly says what an organization called itself before.
func (t *texts) formerly(f warranty.FormerName) string {
	return t.get("verify.renamed", t.date(warranty.DateOf(f.Until)), f.Name)
}

// settingsNav is the data of the template "settingsnav".
type settingsNav struct {
	view
	Page string // the current page
}

// initials returns the first letters of the first two words of a name.
func initials(name string) string {
	letters := ""
	for _, word := range strings.Fields(name) {
		for _, r := range word {
			if unicode.IsLetter(r) || unicode.IsDigit(r) {
				letters += string(unicode.ToUpper(r))
				break
			}
		}
		if utf8.RuneCountInString(letters) == 2 {
			break
		}
	}
	return letters
}

// moveKey returns the end of the text keys of a status change. A claim returns to review by the
// owner's reply or appeal.
func moveKey(from, to warranty.ClaimStatus) string {
	switch {
	case to == warranty.UnderReview && from == warranty.InfoRequested:
		return "reply"
	case to == warranty.UnderReview && from == warranty.Rejected:
		return "appeal"
	}
	return to.String()
}

func derefText(s *string) string {
	if s == nil {
		return ""
	}
	return *s
}

func seconds(d time.Duration) string {
	return strconv.FormatInt(int64((d+time.Second-1)/time.Second), 10)
}

// maxNext is the length of the longest address to lead to, which becomes a part of other addresses.
const maxNext = 8 << 10

// nextOf returns next if it is a path of this site, and "/" otherwise.
func nextOf(next string) string {
	u, err := url.Parse(next)
	if err != nil || len(next) > maxNext || u.IsAbs() || u.Host != "" || !strings.HasPrefix(next, "/") || strings.HasPrefix(next, "//") ||
		strings.ContainsAny(next, "\\\r\n\t") {
		return "/"
	}
	return u.RequestURI()
}

// fieldData is the data of the template "field".
type fieldData struct {
	Name, Label, Type, Value, Error, Hint, Autocomplete string
	Max, List                                           string
	Required, Autofocus                                 bool
}

// field returns the data of the template "field". pairs are names and values of type, hint,
// autocomplete, max, list, required and autofocus.
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
		case "list":
			d.List = pairs[i+1]
		case "required":
			d.Required = pairs[i+1] == "true"
		case "autofocus":
			d.Autofocus = pairs[i+1] == "true"
		}
	}
	return d
}

// hasMove reports whether a status is among the moves.
func hasMove(moves []warranty.ClaimStatus, name string) bool {
	for _, m := range moves {
		if m.String() == name {
			return true
		}
	}
	return false
}
