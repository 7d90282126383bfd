package web_test

import (
	"io"
	"net/http"
	"strings"
	"testing"
)

// TestWebCompressesNothingForOtherSites requests the same page anonymously and signed in. Signed in, the response
// is compressed only if no other site can have made the browser ask: the length of a compressed page could
// reveal its content.
func TestWebCompressesNothingForOtherSites(t *testing.T) {
	w := webWorld(t)
	b := w.SignedIn(t, w.Verified("Olga"))
	ask := func(cookie, site, accept string) (encoding, vary string, length int) {
		req, err := http.NewRequest("GET", w.HTTP.URL+"/docs", http.NoBody)
		if err != nil {
			t.Fatal(err)
		}
		req.Header.Set("Accept", "text/html")
		req.Header.Set("Accept-Encoding", accept)
		for name, value := range map[string]string{"Cookie": cookie, "Sec-Fetch-Site": site} {
			if value != "" {
				req.Header.Set(name, value)
			}
		}
		resp, err := http.DefaultTransport.RoundTrip(req)
		if err != nil {
			t.Fatal(err)
		}
		defer resp.Body.Close()
		body, err := io.ReadAll(resp.Body)
		if err != nil || int64(len(body)) != resp.ContentLength {
			t.Errorf("got %d of %d bytes: %v", len(body), resp.ContentLength, err)
		}
		return resp.Header.Get("Content-Encoding"), strings.Join(resp.Header.Values("Vary"), ","), len(body)
	}
	encoding, vary, small := ask("", "", "gzip, br")
	_, _, plain := ask("", "", "identity")
	if encoding != "gzip" || !strings.Contains(vary, "Accept-Encoding") || small > plain/4 {
		t.Errorf("anonymous: got %d of %d bytes, encoded as %q, with Vary %q", small, plain, encoding, vary)
	}
	for site, want := range map[string]string{
		"": "", "cross-site": "", "same-site": "", "anything": "", "same-origin": "gzip", "none": "gzip",
	} {
		if encoding, _, _ := ask(b.Cookie, site, "gzip, br"); encoding != want {
			t.Errorf("signed in, asked by %q: got the encoding %q, want %q", site, encoding, want)
		}
	}
	b.Cookie = ""
	b.Get("/docs").Says(t, "decompressed", 200, "API reference")
}
