package server_test

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"warranty.example/svc/internal/server"
	"warranty.example/svc/internal/servertest"
)

const otherAddress = "people use another address than --public-url; set it to the address in their browsers, " +
	"or let the proxy redirect"

// TestAnotherAddressIsNotedOnce: people who are signed in use another address than the public URL. The log has one line
// for each, and doctor and the admin page know it. Finding O6.
func TestAnotherAddressIsNotedOnce(t *testing.T) {
	for name, c := range map[string]struct {
		headers []string
		want    string
	}{
		"another scheme": {[]string{"X-Forwarded-Proto", "http", "X-Forwarded-Host", "warranty.example.com"}, "http://warranty.example.com"},
		"another host":   {[]string{"X-Forwarded-Proto", "https", "X-Forwarded-Host", "w.shop.example"}, "https://w.shop.example"},
		"another port":   {[]string{"X-Forwarded-Proto", "https", "X-Forwarded-Host", "warranty.example.com:8443"}, "https://warranty.example.com:8443"},
		"no scheme":      {[]string{"X-Forwarded-Host", "W.shop.example:443"}, "w.shop.example"},
		"by origin": {[]string{"X-Forwarded-Host", "warranty.example.com", "Origin", "http://warranty.example.com"},
			"http://warranty.example.com"},

		"the right one":              {[]string{"X-Forwarded-Proto", "https", "X-Forwarded-Host", "warranty.example.com"}, ""},
		"the right one, with a port": {[]string{"X-Forwarded-Proto", "https", "X-Forwarded-Host", "warranty.example.com:443"}, ""},
		"the right host":             {[]string{"X-Forwarded-Host", "warranty.example.com"}, ""},
		"an address":                 {[]string{"X-Forwarded-Host", "192.0.2.7:8080"}, ""},
		"this machine":               {[]string{"X-Forwarded-Host", "localhost:8080"}, ""},
		"nonsense":                   {[]string{"X-Forwarded-Host", "<b>call +1 555</b>"}, ""},
		"two values":                 {[]string{"X-Forwarded-Host", "a.example, b.example"}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			w := servertest.NewSQLite(t, servertest.BehindProxy(t))
			b := w.SignedIn(t, w.Person("Olga"))
			for range 6 {
				b.Get("/settings", c.headers...)
			}
			stranger := &servertest.Browser{T: t, W: w}
			for i := range 50 { // anyone can send any host
				stranger.Get("/", "X-Forwarded-Host", fmt.Sprintf("h%d.example", i))
			}
			requestLine(w, t, "GET /settings")
			lines := logged(w, otherAddress)
			if c.want == "" {
				if len(lines) > 0 {
					t.Error(lines)
				}
				return
			}
			if len(lines) != 1 || lines[0]["seen"] != c.want {
				t.Fatalf("%d lines: %v", len(lines), lines)
			}
			ctx := context.Background()
			if err := w.Service.FlushUsage(ctx); err != nil {
				t.Fatal(err)
			}
			if found, err := w.Store.OtherAddress(ctx, servertest.PublicURL, w.Clock.Now()); err != nil || found != c.want {
				t.Errorf("the note in the database: %q, %v", found, err)
			}
			for _, public := range []string{c.want, "https://warranty.example.co"} {
				if found, err := w.Store.OtherAddress(ctx, public, w.Clock.Now()); err != nil || found != "" {
					t.Errorf("after the public URL was changed to %s: %q, %v", public, found, err)
				}
			}
			if found, err := w.Store.OtherAddress(ctx, servertest.PublicURL, w.Clock.Now().Add(49*time.Hour)); err != nil || found != "" {
				t.Errorf("two days later: %q, %v", found, err)
			}
		})
	}
}

// TestOnePersonCannotMakeUpAddresses: others use the public URL, so that what one person sends is not noted.
func TestOnePersonCannotMakeUpAddresses(t *testing.T) {
	w := servertest.NewSQLite(t, servertest.BehindProxy(t), func(s *server.Server) { s.IPRate = 0 })
	olga := w.SignedIn(t, w.Person("Olga"))
	olga.Get("/settings", "X-Forwarded-Host", "warranty.example.com")
	eve := w.SignedIn(t, w.Person("Eve"))
	for i := range 90 {
		eve.Get("/settings", "X-Forwarded-Host", fmt.Sprintf("h%d.example", i/3))
	}
	// Those who are alone make at most a handful of lines.
	w.Clock.Advance(2 * time.Hour)
	eve = w.SignedIn(t, w.Person("Kim"))
	if lines := logged(w, otherAddress); len(lines) > 0 {
		t.Error(lines)
	}
	for i := range 90 {
		eve.Get("/settings", "X-Forwarded-Host", fmt.Sprintf("h%d.example", i/3))
	}
	if lines := logged(w, otherAddress); len(lines) != 8 {
		t.Errorf("%d lines", len(lines))
	}
}

// TestUntrustedPeersDoNotSetTheAddress: without trusted proxies, only Host counts.
func TestUntrustedPeersDoNotSetTheAddress(t *testing.T) {
	w := webWorld(t)
	b := w.SignedIn(t, w.Person("Olga"))
	for range 6 {
		b.Get("/settings", "X-Forwarded-Host", "evil.example", "X-Forwarded-Proto", "http")
	}
	for range 6 {
		req, err := http.NewRequest("GET", w.HTTP.URL+"/settings", nil)
		if err != nil {
			t.Fatal(err)
		}
		req.Host = "w.shop.example"
		req.Header.Set("Accept", "text/html")
		req.Header.Set("Cookie", b.Cookie)
		resp, err := w.HTTP.Client().Do(req)
		if err != nil {
			t.Fatal(err)
		}
		resp.Body.Close()
	}
	eventually(t, "the log line", func() bool { return len(logged(w, otherAddress)) > 0 })
	for _, line := range logged(w, otherAddress) {
		if line["seen"] != "w.shop.example" || strings.Contains(fmt.Sprint(line), "evil") {
			t.Error(line)
		}
	}
}
