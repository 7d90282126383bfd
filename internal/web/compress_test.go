package web_test

import (
	"io"
	"net/http"
	"strings"
	"testing"
)

// TestWebCompressesForStrangersAlone requests the same page anonymously and signed in. Only the
// anonymous response is compressed: the length of a compressed page could reveal its content.
func TestWebCompressesForStrangersAlone(t *testing.T) {
	w := webWorld(t)
	b := w.SignedIn(t, w.Verified("Olga"))
	ask := func(cookie, accept string) (encoding, vary string, length int) {
		req, err := http.NewRequest("GET", w.HTTP.URL+"/docs", http.NoBody)
		if err != nil {
			t.Fatal(err)
		}
		req.Header.Set("Accept", "text/html")
		req.Header.Set("Accept-Encoding", accept)
		if cookie != "" {
			req.Header.Set("Cookie", cookie)
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
	encoding, vary, small := ask("", "gzip, br")
	_, _, plain := ask("", "identity")
	if encoding != "gzip" || !strings.Contains(vary, "Accept-Encoding") || small > plain/4 {
		t.Errorf("anonymous: got %d of %d bytes, encoded as %q, with Vary %q", small, plain, encoding, vary)
	}
	if encoding, _, _ := ask(b.Cookie, "gzip, br"); encoding != "" {
		t.Errorf("signed in: got the encoding %q", encoding)
	}
	b.Cookie = ""
	b.Get("/docs").Says(t, "decompressed", 200, "API reference")
}
