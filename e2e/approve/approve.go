// Package approve answers the requests of OAuth clients as a person does in a browser: it signs in on the pages of the
// service, decides on the consent page, and follows the redirect back to the client.
package approve

import (
	"context"
	"errors"
	"fmt"
	"html"
	"io"
	"net/http"
	"net/http/cookiejar"
	"net/url"
	"regexp"
	"strings"
	"syscall"
	"time"
)

// Person is who answers.
type Person struct {
	Email, Password string
	Deny            bool
	ReadOnly        bool // allows what is preselected, otherwise everything that the client asks for
}

// Answer opens the address that a client sends the browser to, decides, and returns the address that the service then
// sends the browser to.
func (p Person) Answer(ctx context.Context, address string) (*url.URL, error) {
	jar, err := cookiejar.New(nil)
	if err != nil {
		return nil, err
	}
	b := browser{ctx: ctx, client: &http.Client{Jar: jar, Timeout: 30 * time.Second, CheckRedirect: sameHost}}
	page, err := b.get(address)
	if err != nil {
		return nil, err
	}
	if page.url.Path == "/sign-in" {
		form := page.form("/sign-in")
		form.Set("email", p.Email)
		form.Set("password", p.Password)
		if page, err = b.post(page.url, "/sign-in", form); err != nil {
			return nil, err
		}
	}
	if page.url.Path != "/oauth/authorize" {
		return page.url, nil // the service has sent an error to the client
	}
	form := page.form("/oauth/authorize")
	if form.Get("request") == "" {
		return nil, errors.New("no consent page: " + page.text)
	}
	form.Set("decision", "allow")
	if p.Deny {
		form.Set("decision", "deny")
	}
	for _, box := range checkbox.FindAllStringSubmatch(page.text, -1) {
		if !p.ReadOnly || strings.Contains(box[0], " checked") {
			form.Add("scope", box[1])
		}
	}
	page, err = b.post(page.url, "/oauth/authorize", form)
	return page.url, err
}

// Open is Answer that also opens the address. It waits for clients that open the browser before they listen.
func (p Person) Open(ctx context.Context, address string) error {
	to, err := p.Answer(ctx, address)
	if err != nil {
		return err
	}
	b := browser{ctx: ctx, client: &http.Client{Timeout: 30 * time.Second}}
	for {
		_, err := b.get(to.String())
		if !errors.Is(err, syscall.ECONNREFUSED) || ctx.Err() != nil {
			return err
		}
		time.Sleep(50 * time.Millisecond)
	}
}

// sameHost follows redirects of the service, but not those to the client.
func sameHost(next *http.Request, before []*http.Request) error {
	if next.URL.Host != before[0].URL.Host {
		return http.ErrUseLastResponse
	}
	return nil
}

var (
	hidden   = regexp.MustCompile(`<input type="hidden" name="([^"]+)" value="([^"]*)">`)
	checkbox = regexp.MustCompile(`<input type="checkbox" name="scope" value="([^"]+)"[^>]*>`)
	chosen   = regexp.MustCompile(`(?s)<select id="account" name="account".*?<option value="([^"]+)" selected`)
)

type browser struct {
	ctx    context.Context //nolint:containedctx // a browser is for one answer
	client *http.Client
}

// page is the last page after redirects.
type page struct {
	url  *url.URL
	text string
}

func (b browser) get(address string) (page, error) {
	request, err := http.NewRequestWithContext(b.ctx, http.MethodGet, address, nil)
	if err != nil {
		return page{}, err
	}
	return b.send(request)
}

func (b browser) post(from *url.URL, path string, form url.Values) (page, error) {
	origin := from.Scheme + "://" + from.Host
	request, err := http.NewRequestWithContext(b.ctx, http.MethodPost, origin+path, strings.NewReader(form.Encode()))
	if err != nil {
		return page{}, err
	}
	request.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	request.Header.Set("Origin", origin)
	request.Header.Set("Sec-Fetch-Site", "same-origin")
	return b.send(request)
}

func (b browser) send(request *http.Request) (page, error) {
	request.Header.Set("Accept", "text/html,application/xhtml+xml")
	response, err := b.client.Do(request)
	if err != nil {
		return page{}, err
	}
	defer response.Body.Close()
	text, err := io.ReadAll(io.LimitReader(response.Body, 1<<20))
	if err != nil {
		return page{}, err
	}
	if response.StatusCode >= http.StatusBadRequest {
		return page{}, fmt.Errorf("%s: %s %s", response.Request.URL, response.Status, text)
	}
	if to, err := response.Location(); err == nil { // to the client
		return page{to, ""}, nil
	}
	return page{response.Request.URL, string(text)}, nil
}

// form returns the hidden fields and the chosen account of the form whose action starts with an address.
func (p page) form(action string) url.Values {
	_, part, _ := strings.Cut(p.text, `action="`+action)
	part, _, _ = strings.Cut(part, "</form>")
	values := url.Values{}
	for _, m := range hidden.FindAllStringSubmatch(part, -1) {
		values.Set(html.UnescapeString(m[1]), html.UnescapeString(m[2]))
	}
	if m := chosen.FindStringSubmatch(part); m != nil {
		values.Set("account", m[1])
	}
	return values
}
