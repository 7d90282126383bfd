package servertest

import (
	"bytes"
	"cmp"
	"encoding/json"
	"io"
	"net/http"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"

	"warranty.example/svc/internal/limit"
	"warranty.example/svc/internal/server"
	"warranty.example/svc/internal/testenv"
	"warranty.example/svc/warranty"
)

// APIHeaders checks the headers that every response under /api/ must have.
func APIHeaders(t testing.TB, what string, a Answer) {
	t.Helper()
	for name, pattern := range map[string]string{
		"X-Request-Id":              `^[0-9A-Za-z._-]{8,64}$`,
		"Cache-Control":             `^no-store$`,
		"Vary":                      `^Authorization, x-api-key$`,
		"X-Ratelimit-Limit":         `^[1-9]\d*$`,
		"X-Ratelimit-Remaining":     `^\d+$`,
		"X-Ratelimit-Reset":         `^\d{10}$`,
		"Ratelimit":                 `^"(ip|credential)";r=\d+;t=\d+$`,
		"Ratelimit-Policy":          `^"(ip|credential)";q=\d+;w=60$`,
		"X-Content-Type-Options":    `^nosniff$`,
		"Referrer-Policy":           `^no-referrer$`,
		"Content-Security-Policy":   `^default-src 'none'; frame-ancestors 'none'$`,
		"Strict-Transport-Security": `^max-age=\d{8}`,
	} {
		if values := a.Header.Values(name); len(values) != 1 || !regexp.MustCompile(pattern).MatchString(values[0]) {
			t.Errorf("%s: header %s is %q, want %s", what, name, values, pattern)
		}
	}
	for _, name := range []string{"Set-Cookie", "Server", "X-Powered-By", "Access-Control-Allow-Origin"} {
		if value := a.Header.Get(name); value != "" {
			t.Errorf("%s: header %s is %q", what, name, value)
		}
	}
}

// Anonymised returns a response without the parts that differ between all responses.
func Anonymised(t testing.TB, a Answer) Answer {
	t.Helper()
	a.Header = a.Header.Clone()
	id := a.Header.Get("X-Request-Id")
	for _, name := range []string{"X-Request-Id", "Date", "X-Ratelimit-Remaining", "X-Ratelimit-Reset", "Ratelimit"} {
		a.Header.Del(name)
	}
	if link := a.Header.Get("Link"); link != "" {
		a.Header.Set("Link", regexp.MustCompile(`warranty_id=[^&>]*`).ReplaceAllString(link, "warranty_id=…"))
	}
	a.Body = strings.ReplaceAll(a.Body, id, "…")
	if !json.Valid([]byte(a.Body)) {
		t.Errorf("not JSON: %s", a.Body)
	}
	return a
}

// Send sends a request; headers alternates names and values.
func (w *World) Send(method, path, secret string, body any, headers ...string) Answer {
	w.T.Helper()
	return w.Do(NewRequest(method, path, secret, body, headers...))
}

// Get sends a GET request.
func (w *World) Get(path, secret string, headers ...string) Answer {
	w.T.Helper()
	return w.Send("GET", path, secret, nil, headers...)
}

// NewRequest returns a request; headers alternates names and values.
func NewRequest(method, path, secret string, body any, headers ...string) Request {
	r := Request{Method: method, Path: path, Secret: secret, Body: body, Header: map[string]string{}}
	if !strings.HasPrefix(path, "/api/") {
		r.Header["Accept"] = "application/json" // browsers would get a page
	}
	for pair := range slices.Chunk(headers, 2) {
		r.Header[pair[0]] = pair[1]
	}
	return r
}

// Want fails the test unless the response has the status and the error code.
func Want(t testing.TB, what string, a Answer, status int, code warranty.Code) {
	t.Helper()
	if a.Status != status || a.Code() != string(code) {
		t.Errorf("%s: got %d %s, want %d %s: %s", what, a.Status, a.Code(), status, code, a.Body)
	}
}

// Refused is want with the status of the code.
func Refused(t testing.TB, what string, a Answer, code warranty.Code) {
	t.Helper()
	Want(t, what, a, code.Info().Status, code)
}

// ProblemOf decodes an error response.
func ProblemOf(t testing.TB, a Answer) warranty.Problem {
	t.Helper()
	var p warranty.Problem
	if err := json.Unmarshal([]byte(a.Body), &p); err != nil {
		t.Fatalf("response %d %s: %v", a.Status, a.Body, err)
	}
	return p
}

// WrongFields lists the fields of a validation error with their codes: "end_date before_start".
func WrongFields(t testing.TB, a Answer) []string {
	t.Helper()
	var list []string
	for _, f := range ProblemOf(t, a).Errors {
		list = append(list, f.Field+" "+f.Code)
	}
	return list
}

// Number parses an integer header.
func Number(t testing.TB, h http.Header, name string) int64 {
	t.Helper()
	n, err := strconv.ParseInt(h.Get(name), 10, 64)
	if err != nil {
		t.Errorf("header %s is %q, not a number", name, h.Get(name))
	}
	return n
}

// Equal fails the test unless both values are equal.
func Equal(t testing.TB, what string, got, want any) {
	t.Helper()
	if diff := gocmp.Diff(want, got); diff != "" {
		t.Errorf("%s (-want +got):\n%s", what, diff)
	}
}

// Outcome summarizes a response: "201", or "409 already_exists".
func Outcome(a Answer) string {
	return strings.TrimSpace(strconv.Itoa(a.Status) + " " + a.Code())
}

// Flood sends n concurrent requests, spread over the worlds, and counts the outcomes.
func Flood[W interface {
	Try(r Request) (Answer, error)
}](t testing.TB, worlds []W, n int, make func(i int) Request) (map[string]int, []Answer) {
	t.Helper()
	answers := slices.Repeat([]Answer{{}}, n)
	testenv.Together(n, func(i int) {
		a, err := worlds[i%len(worlds)].Try(make(i))
		if err != nil {
			t.Errorf("request %d: %v", i, err)
		}
		answers[i] = a
	})
	count := map[string]int{}
	for _, a := range answers {
		count[Outcome(a)]++
	}
	return count, answers
}

// RoundTrip sends an *http.Request, for requests that the request type cannot describe.
func (w *World) RoundTrip(req *http.Request) Answer {
	w.T.Helper()
	resp, err := w.Client.Do(req)
	if err != nil {
		w.T.Errorf("%s %s: %v", req.Method, req.URL.Path, err)
		return Answer{}
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	if err != nil {
		w.T.Errorf("%s %s: %v", req.Method, req.URL.Path, err)
	}
	return Answer{Status: resp.StatusCode, Header: resp.Header, Body: string(text)}
}

// Hold sends a request without its body, and returns once the server has
// authenticated the caller and waits for the body. release sends the body.
func (w *World) Hold(r Request) (release func() Answer) {
	w.T.Helper()
	body := &heldBody{asked: make(chan struct{}), send: make(chan struct{})}
	encoded, err := json.Marshal(r.Body)
	if err != nil {
		w.T.Fatal(err)
	}
	if text, ok := r.Body.(string); ok {
		encoded = []byte(text)
	}
	body.text.Write(encoded)
	req, err := http.NewRequest(r.Method, w.HTTP.URL+r.Path, body)
	if err != nil {
		w.T.Fatal(err)
	}
	req.ContentLength = int64(len(encoded))
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("Expect", "100-continue") // the server sends 100 Continue when its handler reads the body
	req.Header.Set("Authorization", "Bearer "+r.Secret)
	for name, value := range r.Header {
		req.Header.Set(name, value)
	}
	got := make(chan Answer, 1)
	go func() { got <- w.RoundTrip(req) }()
	select {
	case <-body.asked:
	case a := <-got:
		w.T.Fatalf("%s %s got a response before its body was sent: %d %s", r.Method, r.Path, a.Status, a.Body)
	}
	return func() Answer { close(body.send); return <-got }
}

// heldBody is a body that blocks until send is closed.
type heldBody struct {
	asked, send chan struct{}
	once        sync.Once
	text        bytes.Buffer
}

func (b *heldBody) Read(p []byte) (int, error) {
	b.once.Do(func() { close(b.asked) })
	<-b.send
	return b.text.Read(p)
}

// IDs lists the ids of the records in a response, in order.
func IDs(t testing.TB, a Answer) []string {
	t.Helper()
	var list []Record
	a.Into(t, &list)
	out := []string{}
	for _, r := range list {
		out = append(out, r.ID)
	}
	return out
}

// Newest sorts ids like lists do: newest first. Later ids are greater.
func Newest(list ...string) []string {
	out := append([]string{}, list...)
	slices.SortFunc(out, func(a, b string) int { return cmp.Compare(b, a) })
	return out
}

// UnknownID is an id that no record has.
const UnknownID = "01935b2e-7c4a-7def-8123-456789abcdef"

// BehindProxy trusts the test's own address as a proxy.
func BehindProxy(t testing.TB) Option {
	t.Helper()
	proxies, err := limit.ParseProxies("127.0.0.0/8, ::1, 10.0.0.0/8")
	if err != nil {
		t.Fatal(err)
	}
	return func(s *server.Server) { s.Proxies = proxies }
}

// From sends a request with an X-Forwarded-For address.
func (w *World) From(address string, r Request) Answer {
	w.T.Helper()
	r.Header["X-Forwarded-For"] = address
	return w.Do(r)
}
