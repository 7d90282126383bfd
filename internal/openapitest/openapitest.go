// Package openapitest holds HTTP answers to the OpenAPI document in tests: what a
// server says and what its document promises can not drift apart unseen.
//
// It is stricter than the document. A client must ignore fields that it does not
// know; here a field that no schema names is a fault. A refusal must carry one of
// the codes that its operation lists. Of a body that is not JSON, such as a file,
// only the type is checked.
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

// Checker knows a document. It is safe for concurrent use.
type Checker struct {
	t   testing.TB
	doc *contract
}

// contracts keeps what was read: thousands of tests ask for the same document,
// and compiling its schemas takes tens of milliseconds.
var contracts sync.Map // of *contract by the SHA-256 of the document

// New reads an OpenAPI 3.1 document. It fails t when the document can not be
// used. The second time, the same document costs nothing; since only the path of
// a request is looked at, a document of another host does as well.
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

// Check fails t, and lets it go on, when the answer to the request does not fit
// the document. The body is the answer's, already read.
func (c *Checker) Check(t testing.TB, req *http.Request, resp *http.Response, body []byte) {
	t.Helper()
	if faults := c.doc.faults(req, resp, body); len(faults) > 0 {
		t.Errorf("openapitest: the answer %d to %s %s does not fit the document:\n\t%s\nbody: %s",
			resp.StatusCode, req.Method, req.URL.Path, strings.Join(faults, "\n\t"), shortened(body))
	}
}

// CheckExamples fails t for each example in the document that does not fit its schema.
func (c *Checker) CheckExamples(t testing.TB) {
	t.Helper()
	if len(c.doc.examples) == 0 {
		t.Error("openapitest: the document has no examples")
	}
	for _, e := range c.doc.examples {
		if err := e.schema.Validate(e.value); err != nil {
			t.Errorf("openapitest: the example at %s does not fit its schema: %v", e.at, err)
		}
	}
}

// RoundTripper checks every answer that passes through it, for the test that New
// was given. A nil base is http.DefaultTransport.
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

// RoundTrip makes the request by the base and checks the answer.
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
		return nil, fmt.Errorf("openapitest: reading the answer: %w", err)
	}
	resp.Body = io.NopCloser(bytes.NewReader(body))
	r.checker.Check(r.checker.t, req, resp, body)
	return resp, nil
}

func shortened(body []byte) string {
	const most = 2000
	if !utf8.Valid(body) {
		return fmt.Sprintf("%d bytes that are no text", len(body))
	}
	if len(body) > most {
		return string(body[:most]) + "…"
	}
	return string(body)
}
