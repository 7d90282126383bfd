package server_test

import (
	"encoding/json"
	"io"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"

	"golang.org/x/net/html"

	"warranty.example/svc/internal/servertest"
)

// browser is a client with cookies. It follows no redirects and checks every page.
type browser struct {
	t      testing.TB
	w      *world
	cookie string // name=value
	device string // the device cookie, which outlives sessions
}

// page is a response.
type page struct {
	Status   int
	Header   http.Header
	Body     string
	Location string
	node     *html.Node
}

func (w *world) browser(t testing.TB) *browser { return &browser{t: t, w: w} }

// signedIn returns a browser with a session.
func (w *world) signedIn(t testing.TB, p servertest.Person) *browser {
	t.Helper()
	b := w.browser(t)
	if got := b.post("/sign-in", "email", p.Email, "password", p.Password); got.Status != http.StatusSeeOther || b.cookie == "" {
		t.Fatalf("signing in returns %d: %s", got.Status, got.Body)
	}
	return b
}

func (b *browser) get(path string, headers ...string) page {
	b.t.Helper()
	return b.send("GET", path, nil, headers...)
}

// post sends a form. pairs are names and values.
func (b *browser) post(path string, pairs ...string) page {
	b.t.Helper()
	values := url.Values{}
	for i := 0; i < len(pairs); i += 2 {
		values.Add(pairs[i], pairs[i+1])
	}
	return b.send("POST", path, values, "Sec-Fetch-Site", "same-origin")
}

func (b *browser) send(method, path string, form url.Values, headers ...string) page {
	b.t.Helper()
	if form == nil {
		return b.sendBody(method, path, "", nil, headers...)
	}
	return b.sendBody(method, path, "application/x-www-form-urlencoded", strings.NewReader(form.Encode()), headers...)
}

func (b *browser) sendBody(method, path, mediaType string, body io.Reader, headers ...string) page {
	b.t.Helper()
	req, err := http.NewRequest(method, b.w.HTTP.URL+path, body)
	if err != nil {
		b.t.Fatal(err)
	}
	req.Header.Set("Accept", "text/html,application/xhtml+xml")
	if mediaType != "" {
		req.Header.Set("Content-Type", mediaType)
	}
	for _, cookie := range []string{b.cookie, b.device} {
		if cookie != "" {
			req.Header.Add("Cookie", cookie)
		}
	}
	for i := 0; i < len(headers); i += 2 {
		req.Header.Set(headers[i], headers[i+1])
	}
	resp, err := http.DefaultTransport.RoundTrip(req)
	if err != nil {
		b.t.Fatal(err)
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	if err != nil {
		b.t.Fatal(err)
	}
	for _, c := range resp.Cookies() {
		b.checkCookie(c, c.String())
		if c.Name == "__Host-svc_device" {
			b.device = c.Name + "=" + c.Value
			continue
		}
		b.cookie = c.Name + "=" + c.Value
		if c.Value == "" {
			b.cookie = ""
		}
	}
	p := page{Status: resp.StatusCode, Header: resp.Header, Body: string(text), Location: resp.Header.Get("Location")}
	what := method + " " + path
	if wholeSecret.MatchString(p.Location) || wholeSecret.MatchString(path) {
		b.t.Errorf("%s: a secret is in a URL", what)
	}
	if strings.HasPrefix(resp.Header.Get("Content-Type"), "text/html") && method != "HEAD" && p.Location == "" {
		b.checkPage(what, &p)
	}
	return p
}

// checkCookie checks the attributes that protect a cookie from scripts and other sites.
func (b *browser) checkCookie(c *http.Cookie, text string) {
	b.t.Helper()
	if c.Name != "__Host-svc_session" && c.Name != "__Host-svc_device" || !c.HttpOnly || !c.Secure ||
		c.SameSite != http.SameSiteLaxMode || c.Path != "/" || c.Domain != "" {
		b.t.Errorf("the cookie is %s", wholeSecret.ReplaceAllString(text, "…"))
	}
}

const pagePolicy = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; font-src 'self'; connect-src 'self'; " +
	"form-action 'self'; frame-ancestors 'none'; base-uri 'none'; manifest-src 'self'"

// checkPage checks what all pages must have: security headers, no inline scripts or styles, unique ids,
// labels, and texts instead of keys.
func (b *browser) checkPage(what string, p *page) {
	b.t.Helper()
	for name, value := range map[string]string{
		"Cache-Control":              "no-store",
		"Content-Security-Policy":    pagePolicy,
		"Cross-Origin-Opener-Policy": "same-origin",
		"Referrer-Policy":            "no-referrer",
		"X-Content-Type-Options":     "nosniff",
	} {
		if p.Header.Get(name) != value {
			b.t.Errorf("%s: the header %s is %q", what, name, p.Header.Get(name))
		}
	}
	var err error
	if p.node, err = html.Parse(strings.NewReader(p.Body)); err != nil {
		b.t.Fatal(err)
	}
	ids := map[string]bool{}
	labelled := map[string]bool{}
	for n := range p.node.Descendants() {
		if n.Type == html.TextNode {
			if key := textKey(b.t).FindString(strings.TrimSpace(n.Data)); key != "" {
				b.t.Errorf("%s: the page shows the key %q", what, key)
			}
			continue
		}
		for _, a := range n.Attr {
			switch {
			case a.Key == "style", strings.HasPrefix(a.Key, "on"), strings.HasPrefix(a.Key, "hx-on"),
				strings.HasPrefix(strings.ToLower(a.Val), "javascript:"):
				b.t.Errorf("%s: <%s %s=%q>", what, n.Data, a.Key, a.Val)
			case a.Key == "id" && ids[a.Val]:
				b.t.Errorf("%s: duplicate id %q", what, a.Val)
			case a.Key == "id":
				ids[a.Val] = true
			case a.Key == "for":
				labelled[a.Val] = true
			case (a.Key == "src" || a.Key == "action" || n.Data == "link" && a.Key == "href") &&
				!strings.HasPrefix(a.Val, "/"):
				b.t.Errorf("%s: <%s> loads %q", what, n.Data, a.Val)
			}
			if (a.Key == "aria-label" || a.Key == "placeholder" || a.Key == "content") && textKey(b.t).MatchString(a.Val) {
				b.t.Errorf("%s: %s shows a key: %q", what, a.Key, a.Val)
			}
		}
		if (n.Data == "script" || n.Data == "style") && n.FirstChild != nil {
			b.t.Errorf("%s: a <%s> in the page", what, n.Data)
		}
	}
	for n := range p.node.Descendants() {
		for _, name := range []string{"aria-describedby", "aria-labelledby", "aria-controls"} {
			for _, id := range strings.Fields(attr(n, name)) {
				if !ids[id] {
					b.t.Errorf("%s: %s names the unknown id %q", what, name, id)
				}
			}
		}
		field := n.Data == "select" || n.Data == "textarea" ||
			n.Data == "input" && attr(n, "type") != "hidden" && attr(n, "aria-hidden") == ""
		if field && !labelled[attr(n, "id")] && !within(n, "label") {
			b.t.Errorf("%s: the field %q has no label", what, attr(n, "name"))
		}
	}
}

func attr(n *html.Node, name string) string {
	for _, a := range n.Attr {
		if a.Key == name {
			return a.Val
		}
	}
	return ""
}

func within(n *html.Node, tag string) bool {
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
	files, err := filepath.Glob("../web/text/en/*.json")
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

// main returns the main element of a page.
func (p page) main() string {
	_, after, found := strings.Cut(p.Body, "<main")
	if main, _, closed := strings.Cut(after, "</main>"); found && closed {
		return main
	}
	return p.Body
}

// error returns the error of a field.
func (p page) error(name string) string {
	for n := range p.node.Descendants() {
		if attr(n, "name") == name && attr(n, "aria-invalid") == "true" {
			return p.text(attr(n, "aria-describedby"))
		}
	}
	return ""
}

// text returns the text of the element with an id.
func (p page) text(id string) string {
	for n := range p.node.Descendants() {
		if attr(n, "id") == id {
			return textOf(n)
		}
	}
	return ""
}

func textOf(n *html.Node) string {
	var b strings.Builder
	for d := range n.Descendants() {
		if d.Type == html.TextNode {
			b.WriteString(d.Data)
		}
	}
	return strings.TrimSpace(b.String())
}

// value returns the value of an input.
func (p page) value(name string) string {
	for n := range p.node.Descendants() {
		if n.Data == "input" && attr(n, "name") == name {
			return attr(n, "value")
		}
	}
	return ""
}

// checked returns the values of the checked checkboxes or radio buttons of a name.
func (p page) checked(name string) (values []string) {
	for n := range p.node.Descendants() {
		if n.Data != "input" || attr(n, "name") != name {
			continue
		}
		for _, a := range n.Attr {
			if a.Key == "checked" {
				values = append(values, attr(n, "value"))
			}
		}
	}
	return values
}
