// Package openapitest checks HTTP responses against the OpenAPI document in tests.
//
// It is stricter than the document: undocumented fields are errors, and a problem must
// have one of the codes that its operation lists. For bodies that are not JSON, only
// the media type is checked.
package openapitest

import (
	"bytes"
	"crypto/sha256"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"testing"
	"unicode/utf8"
)

// Checker checks responses against a document. It is safe for concurrent use.
type Checker struct {
	t   testing.TB
	doc *contract
}

// contracts caches *contract by the SHA-256 of the document. Thousands of tests use the
// same document, and compiling its schemas takes tens of milliseconds.
var contracts sync.Map

// New returns a Checker for an OpenAPI 3.1 document. It fails t if the document is
// invalid. Parsed documents are cached. Only the path of a request matters, so the
// document may be that of another host.
func New(t testing.TB, doc []byte) *Checker {
	t.Helper()
	key := sha256.Sum256(doc)
	if known, ok := contracts.Load(key); ok {
		return &Checker{t: t, doc: known.(*contract)}
	}
	c, err := read(doc)
	if err != nil {
		t.Fatalf("openapitest: %v", err)
	}
	contracts.Store(key, c)
	return &Checker{t: t, doc: c}
}

// Check reports an error to t if the response does not match the document. body is the
// body of the response, which the caller has already read.
func (c *Checker) Check(t testing.TB, req *http.Request, resp *http.Response, body []byte) {
	t.Helper()
	if faults := c.doc.faults(req, resp, body); len(faults) > 0 {
		t.Errorf("openapitest: response %d to %s %s does not match the document:\n\t%s\nbody: %s",
			resp.StatusCode, req.Method, req.URL.Path, strings.Join(faults, "\n\t"), shortened(body))
	}
}

// CheckExamples reports an error to t for each example in the document that does not
// match its schema.
func (c *Checker) CheckExamples(t testing.TB) {
	t.Helper()
	if len(c.doc.examples) == 0 {
		t.Error("openapitest: the document has no examples")
	}
	for _, e := range c.doc.examples {
		if err := e.schema.Validate(e.value); err != nil {
			t.Errorf("openapitest: the example at %s does not match its schema: %v", e.at, err)
		}
	}
}

// RoundTripper returns a RoundTripper that checks every response and reports errors to
// the test passed to New. A nil base means http.DefaultTransport.
func (c *Checker) RoundTripper(base http.RoundTripper) http.RoundTripper {
	if base == nil {
		base = http.DefaultTransport
	}
	return roundTripper{c, base}
}

type roundTripper struct {
	checker *Checker
	base    http.RoundTripper
}

// RoundTrip sends the request and checks the response.
func (r roundTripper) RoundTrip(req *http.Request) (*http.Response, error) {
	resp, err := r.base.RoundTrip(req)
	if err != nil {
		return nil, err
	}
	body, err := io.ReadAll(resp.Body)
	if closing := resp.Body.Close(); err == nil {
		err = closing
	}
	if err != nil {
		return nil, fmt.Errorf("openapitest: reading the response: %w", err)
	}
	resp.Body = io.NopCloser(bytes.NewReader(body))
	if req.URL.Path != "/api/mcp" { // JSON-RPC, which the document does not describe
		r.checker.Check(r.checker.t, req, resp, body)
	}
	return resp, nil
}

func shortened(body []byte) string {
	const most = 2000
	if !utf8.Valid(body) {
		return fmt.Sprintf("%d bytes of binary data", len(body))
	}
	if len(body) > most {
		return string(body[:most]) + "…"
	}
	return string(body)
}
