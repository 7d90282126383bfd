package servertest

import (
	"encoding/json"
	"io"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"

	"golang.org/x/net/html"

	"warranty.example/svc/warranty"
)

// Browser is a client with cookies. It follows no redirects and checks every page.
type Browser struct {
	T      testing.TB
	W      *World
	Cookie string // name=value
	Device string // the device cookie, which outlives sessions
	Flow   string // the cookie to which a sign-in that is not complete is bound
	// Account is the cookie with the organization that the person acts for, if any.
	Account string
	Product string // the cookie with the product that was issued last
	Columns string // the cookie with the columns of the list
	Slip    string // the cookie with the size of slips
	Next    string // the cookie with the page that a person who resets a password came for
	// Language is the cookie with the language that was chosen on a public page, and Accept the languages that
	// the browser accepts.
	Language, Accept string
}

// Page is a response.
type Page struct {
	Status   int
	Header   http.Header
	Body     string
	Location string
	Node     *html.Node
}

// Browser returns a browser without a session.
func (w *World) Browser(t testing.TB) *Browser { return &Browser{T: t, W: w} }

// SignedIn returns a browser with a session.
func (w *World) SignedIn(t testing.TB, p Person) *Browser {
	t.Helper()
	b := w.Browser(t)
	if got := b.Post("/sign-in", "email", p.Email, "password", p.Password); got.Status != http.StatusSeeOther || b.Cookie == "" {
		t.Fatalf("signing in returns %d: %s", got.Status, got.Body)
	}
	return b
}

// Get requests a page.
func (b *Browser) Get(path string, headers ...string) Page {
	b.T.Helper()
	return b.Send("GET", path, nil, headers...)
}

// Post sends a form. pairs are names and values.
func (b *Browser) Post(path string, pairs ...string) Page {
	b.T.Helper()
	values := url.Values{}
	for pair := range slices.Chunk(pairs, 2) {
		values.Add(pair[0], pair[1])
	}
	return b.Send("POST", path, values, "Sec-Fetch-Site", "same-origin")
}

// Send sends a request with an optional form.
func (b *Browser) Send(method, path string, form url.Values, headers ...string) Page {
	b.T.Helper()
	if form == nil {
		return b.SendBody(method, path, "", nil, headers...)
	}
	return b.SendBody(method, path, "application/x-www-form-urlencoded", strings.NewReader(form.Encode()), headers...)
}

// SendBody sends a request with any body.
func (b *Browser) SendBody(method, path, mediaType string, body io.Reader, headers ...string) Page {
	b.T.Helper()
	req, err := http.NewRequest(method, b.W.HTTP.URL+path, body)
	if err != nil {
		b.T.Fatal(err)
	}
	req.Header.Set("Accept", "text/html,application/xhtml+xml")
	if mediaType != "" {
		req.Header.Set("Content-Type", mediaType)
	}
	for _, cookie := range []string{b.Cookie, b.Device, b.Flow, b.Account, b.Product, b.Columns, b.Slip, b.Language, b.Next} {
		if cookie != "" {
			req.Header.Add("Cookie", cookie)
		}
	}
	if b.Accept != "" {
		req.Header.Set("Accept-Language", b.Accept)
	}
	for i := 0; i < len(headers); i += 2 {
		req.Header.Set(headers[i], headers[i+1])
	}
	resp, err := http.DefaultTransport.RoundTrip(req)
	if err != nil {
		b.T.Fatal(err)
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	if err != nil {
		b.T.Fatal(err)
	}
	if strings.Contains(string(text), "%!s(") || strings.Contains(string(text), "%!d(") {
		b.T.Errorf("%s %s: a text with an argument of another kind", method, path)
	}
	for _, c := range resp.Cookies() {
		b.checkCookie(c, c.String())
		kept := &b.Cookie
		switch c.Name {
		case "__Host-svc_device":
			kept = &b.Device
		case "__Host-svc_flow":
			kept = &b.Flow
		case "__Host-svc_account":
			kept = &b.Account
		case "__Host-svc_product":
			kept = &b.Product
		case "__Host-svc_columns":
			kept = &b.Columns
		case "__Host-svc_slip":
			kept = &b.Slip
		case "__Host-svc_language":
			kept = &b.Language
		case "__Host-svc_next":
			kept = &b.Next
		}
		*kept = c.Name + "=" + c.Value
		if c.Value == "" {
			*kept = ""
		}
	}
	p := Page{Status: resp.StatusCode, Header: resp.Header, Body: string(text), Location: resp.Header.Get("Location")}
	what := method + " " + path
	answer := strings.Contains(p.Location, "code="+string(warranty.AuthCode)) // apps get their code in the address
	if !answer && wholeSecret.MatchString(p.Location) || wholeSecret.MatchString(path) {
		b.T.Errorf("%s: a secret is in a URL", what)
	}
	if strings.HasPrefix(resp.Header.Get("Content-Type"), "text/html") && method != "HEAD" && p.Location == "" {
		b.checkPage(what, &p)
	}
	return p
}

// checkCookie checks the attributes that protect a cookie from scripts and other sites.
func (b *Browser) checkCookie(c *http.Cookie, text string) {
	b.T.Helper()
	names := []string{"__Host-svc_session", "__Host-svc_device", "__Host-svc_flow", "__Host-svc_account", "__Host-svc_product",
		"__Host-svc_columns", "__Host-svc_language", "__Host-svc_next", "__Host-svc_slip"}
	if !slices.Contains(names, c.Name) || !c.HttpOnly || !c.Secure ||
		c.SameSite != http.SameSiteLaxMode || c.Path != "/" || c.Domain != "" {
		b.T.Errorf("the cookie is %s", wholeSecret.ReplaceAllString(text, "…"))
	}
}

// popups are the pages that a person sees while an app waits for them.
var popups = regexp.MustCompile(`^/(oauth/|sign-in|register|verify-email|reset-password)`)

// pagePolicy is the Content-Security-Policy of all pages.
const pagePolicy = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; " +
	"font-src 'self'; connect-src 'self'; form-action 'self'; frame-ancestors 'none'; base-uri 'none'; manifest-src 'self'"

// checkPage checks what all pages must have: security headers, no inline scripts or styles, unique ids,
// labels, and texts instead of keys.
func (b *Browser) checkPage(what string, p *Page) {
	b.T.Helper()
	policy, opener := pagePolicy, "same-origin"
	if _, path, _ := strings.Cut(what, " "); popups.MatchString(path) {
		opener = "" // an app may have opened the window
		if strings.HasPrefix(path, "/oauth/") {
			policy = strings.Replace(policy, "form-action 'self'; ", "", 1)
		}
	}
	for name, value := range map[string]string{
		"Cache-Control":              "no-store",
		"Content-Security-Policy":    policy,
		"Cross-Origin-Opener-Policy": opener,
		"Referrer-Policy":            "no-referrer",
		"X-Content-Type-Options":     "nosniff",
	} {
		if p.Header.Get(name) != value && (opener != "" || p.Status < http.StatusBadRequest) {
			b.T.Errorf("%s: the header %s is %q", what, name, p.Header.Get(name))
		}
	}
	var err error
	if p.Node, err = html.Parse(strings.NewReader(p.Body)); err != nil {
		b.T.Fatal(err)
	}
	ids := map[string]bool{}
	labelled := map[string]bool{}
	for n := range p.Node.Descendants() {
		if n.Type == html.TextNode {
			if key := textKey(b.T).FindString(strings.TrimSpace(n.Data)); key != "" {
				b.T.Errorf("%s: the page shows the key %q", what, key)
			}
			continue
		}
		for _, a := range n.Attr {
			switch {
			case a.Key == "style", strings.HasPrefix(a.Key, "on"), strings.HasPrefix(a.Key, "hx-on"),
				strings.HasPrefix(strings.ToLower(a.Val), "javascript:"):
				b.T.Errorf("%s: <%s %s=%q>", what, n.Data, a.Key, a.Val)
			case a.Key == "id" && ids[a.Val]:
				b.T.Errorf("%s: duplicate id %q", what, a.Val)
			case a.Key == "id":
				ids[a.Val] = true
			case a.Key == "for":
				labelled[a.Val] = true
			case (a.Key == "src" || a.Key == "action" || n.Data == "link" && a.Key == "href") &&
				!strings.HasPrefix(a.Val, "/"):
				b.T.Errorf("%s: <%s> loads %q", what, n.Data, a.Val)
			}
			if (a.Key == "aria-label" || a.Key == "placeholder" || a.Key == "content") && textKey(b.T).MatchString(a.Val) {
				b.T.Errorf("%s: %s shows a key: %q", what, a.Key, a.Val)
			}
		}
		data := Attr(n, "type") == "application/ld+json" // not run
		if (n.Data == "script" || n.Data == "style") && n.FirstChild != nil && !data {
			b.T.Errorf("%s: a <%s> in the page", what, n.Data)
		}
	}
	for n := range p.Node.Descendants() {
		for _, name := range []string{"aria-describedby", "aria-labelledby", "aria-controls"} {
			for _, id := range strings.Fields(Attr(n, name)) {
				if !ids[id] {
					b.T.Errorf("%s: %s names the unknown id %q", what, name, id)
				}
			}
		}
		field := n.Type == html.ElementNode && (n.Data == "select" || n.Data == "textarea" ||
			n.Data == "input" && Attr(n, "type") != "hidden" && Attr(n, "aria-hidden") == "")
		if field && !labelled[Attr(n, "id")] && !Within(n, "label") && Attr(n, "aria-label") == "" {
			b.T.Errorf("%s: the field %q has no label", what, Attr(n, "name"))
		}
	}
}

// Attr returns an attribute of a node.
func Attr(n *html.Node, name string) string {
	for _, a := range n.Attr {
		if a.Key == name {
			return a.Val
		}
	}
	return ""
}

// Within reports whether a node is inside an element with the tag.
func Within(n *html.Node, tag string) bool {
	for n = n.Parent; n != nil; n = n.Parent {
		if n.Data == tag {
			return true
		}
	}
	return false
}

// textKey matches the key of a text.
func textKey(t testing.TB) *regexp.Regexp {
	t.Helper()
	pattern, err := keyPattern()
	if err != nil {
		t.Fatal(err)
	}
	return pattern
}

var keyPattern = sync.OnceValues(func() (*regexp.Regexp, error) {
	files, err := filepath.Glob("../locales/en/pages/*.json")
	if err != nil {
		return nil, err
	}
	spaces := map[string]bool{}
	for _, file := range files {
		raw, err := os.ReadFile(file)
		if err != nil {
			return nil, err
		}
		var words map[string]string
		if err := json.Unmarshal(raw, &words); err != nil {
			return nil, err
		}
		for key := range words {
			space, _, _ := strings.Cut(key, ".")
			spaces[space] = true
		}
	}
	var names []string
	for space := range spaces {
		names = append(names, space)
	}
	return regexp.MustCompile(`^(` + strings.Join(names, "|") + `)\.[a-z_:.]+$`), nil
})

// Main returns the main element of a page.
func (p Page) Main() string {
	_, after, found := strings.Cut(p.Body, "<main")
	if main, _, closed := strings.Cut(after, "</main>"); found && closed {
		return main
	}
	return p.Body
}

// Error returns the error of a field.
func (p Page) Error(name string) string {
	for n := range p.Node.Descendants() {
		if Attr(n, "name") == name && Attr(n, "aria-invalid") == "true" {
			return p.Text(Attr(n, "aria-describedby"))
		}
	}
	return ""
}

// Text returns the text of the element with an id.
func (p Page) Text(id string) string {
	for n := range p.Node.Descendants() {
		if Attr(n, "id") == id {
			return TextOf(n)
		}
	}
	return ""
}

// TextOf returns the text of a node.
func TextOf(n *html.Node) string {
	var b strings.Builder
	for d := range n.Descendants() {
		if d.Type == html.TextNode {
			b.WriteString(d.Data)
		}
	}
	return strings.TrimSpace(b.String())
}

// Value returns the value of an input.
func (p Page) Value(name string) string {
	for n := range p.Node.Descendants() {
		if n.Data == "input" && Attr(n, "name") == name {
			return Attr(n, "value")
		}
	}
	return ""
}

// Checked returns the values of the checked checkboxes or radio buttons of a name.
func (p Page) Checked(name string) (values []string) {
	for n := range p.Node.Descendants() {
		if n.Data != "input" || Attr(n, "name") != name {
			continue
		}
		for _, a := range n.Attr {
			if a.Key == "checked" {
				values = append(values, Attr(n, "value"))
			}
		}
	}
	return values
}

// Leads fails unless the response redirects to an address.
func (p Page) Leads(t testing.TB, what, to string) {
	t.Helper()
	if p.Status != http.StatusSeeOther || p.Location != to {
		t.Errorf("%s: got %d to %q, want a redirect to %q: %s", what, p.Status, p.Location, to, p.Main())
	}
}

// Says fails unless the page has the status and contains all texts.
func (p Page) Says(t testing.TB, what string, status int, texts ...string) {
	t.Helper()
	if p.Status != status {
		t.Errorf("%s: got %d, want %d: %s", what, p.Status, status, p.Main())
		return
	}
	line := strings.Join(strings.Fields(p.Body), " ")
	for _, text := range texts {
		if !strings.Contains(p.Body, text) && !strings.Contains(line, text) {
			t.Errorf("%s: the page does not contain %q: %s", what, text, p.Main())
		}
	}
}

// Hides fails if the page contains any of the texts.
func (p Page) Hides(t testing.TB, what string, texts ...string) {
	t.Helper()
	for _, text := range texts {
		if strings.Contains(p.Body, text) {
			t.Errorf("%s: the page contains %q", what, text)
		}
	}
}
