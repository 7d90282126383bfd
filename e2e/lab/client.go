package lab

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"regexp"
	"strings"
	"testing"
)

// Call is a request. The secret is sent in the header of its kind; a string body is
// sent unchanged, any other value as JSON.
type Call struct {
	Method, Path string
	Secret       string
	Body         any
	Header       map[string]string
}

// Answer is a response.
type Answer struct {
	Status int
	Header http.Header
	Body   string
}

// At returns the value at a path of a JSON body, such as data.0.id; length is the number of elements.
func (a Answer) At(path string) (string, error) {
	var v any
	decoder := json.NewDecoder(strings.NewReader(a.Body))
	decoder.UseNumber()
	if err := decoder.Decode(&v); err != nil {
		return "", fmt.Errorf("not JSON: %q", a.Body)
	}
	for step := range strings.SplitSeq(path, ".") {
		switch have := v.(type) {
		case map[string]any:
			inner, ok := have[step]
			if !ok {
				return "", fmt.Errorf("%s has no %s in %s", path, step, a.Body)
			}
			v = inner
		case []any:
			var i int
			if step == "length" {
				v = json.Number(fmt.Sprint(len(have)))
			} else if _, err := fmt.Sscan(step, &i); err != nil || i < 0 || i >= len(have) {
				return "", fmt.Errorf("%s has no %s in %s", path, step, a.Body)
			} else {
				v = have[i]
			}
		default:
			return "", fmt.Errorf("%s has no %s in %s", path, step, a.Body)
		}
	}
	if text, ok := v.(string); ok {
		return text, nil
	}
	encoded, err := json.Marshal(v)
	return string(encoded), err
}

// Must is at for a path that must exist.
func (a Answer) Must(t testing.TB, path string) string {
	t.Helper()
	v, err := a.At(path)
	if err != nil {
		t.Fatal(err)
	}
	return v
}

// Try sends a request. It never calls Fatal, so goroutines may use it.
func (p *Process) Try(c Call) (Answer, error) {
	var body io.Reader
	switch b := c.Body.(type) {
	case nil:
	case string:
		body = strings.NewReader(b)
	default:
		encoded, err := json.Marshal(b)
		if err != nil {
			return Answer{}, err
		}
		body = bytes.NewReader(encoded)
	}
	req, err := http.NewRequest(c.Method, p.URL+c.Path, body)
	if err != nil {
		return Answer{}, err
	}
	if body != nil {
		req.Header.Set("Content-Type", "application/json")
	}
	switch {
	case strings.HasPrefix(c.Secret, "svc_"):
		req.Header.Set("x-api-key", c.Secret)
	case c.Secret != "":
		req.Header.Set("Authorization", "Bearer "+c.Secret)
	}
	for name, value := range c.Header {
		if name == "Host" {
			req.Host = value
		}
		req.Header.Set(name, value)
	}
	resp, err := p.Client.Do(req)
	if err != nil {
		return Answer{}, err
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	return Answer{Status: resp.StatusCode, Header: resp.Header, Body: string(text)}, err
}

// Want sends a request and fails the test unless the response has this status.
func (p *Process) Want(t testing.TB, status int, c Call) Answer {
	t.Helper()
	a, err := p.Try(c)
	if err != nil {
		t.Fatalf("%s %s: %v", c.Method, c.Path, err)
	}
	if a.Status != status {
		t.Fatalf("%s %s: got %d, want %d: %s", c.Method, c.Path, a.Status, status, a.Body)
	}
	return a
}

// Password is the password of all accounts.
const Password = "correct horse battery staple"

// SetUp makes the first administrator with the link that svcd printed.
func (p *Process) SetUp() error {
	code := regexp.MustCompile(`/setup#(\S+)`).FindStringSubmatch(p.Output())
	if code == nil {
		return fmt.Errorf("svcd printed no set-up link: %s", p.Output())
	}
	form := url.Values{"code": {code[1]}, "name": {"Operator"}, "email": {"operator@people.example"}, "password": {Password}, "signup": {"open"}}
	a, err := p.Try(Call{Method: "POST", Path: "/setup", Body: form.Encode(),
		Header: map[string]string{"Content-Type": "application/x-www-form-urlencoded"}})
	if err == nil && a.Status != http.StatusOK { // after a redirect
		err = fmt.Errorf("set up: %d %s", a.Status, a.Body)
	}
	return err
}

// Registered sends a registration and returns the session. Before the first one it sets the service up.
func (p *Process) Registered(t testing.TB, c Call) string {
	t.Helper()
	if a, err := p.Try(c); err == nil && a.Status == http.StatusCreated {
		return a.Must(t, "data.access_token")
	} else if err == nil && strings.Contains(a.Body, "being set up") {
		if err := p.SetUp(); err != nil {
			t.Fatal(err)
		}
	}
	return p.Want(t, 201, c).Must(t, "data.access_token")
}

// Register creates an account and returns its session.
func (p *Process) Register(t testing.TB, name string) string {
	t.Helper()
	body := map[string]string{"name": name, "email": name + "@people.example", "password": Password}
	return p.Registered(t, Call{Method: "POST", Path: "/api/auth/register", Body: body})
}

// Token creates an integration token with all scopes.
func (p *Process) Token(t testing.TB, session, name string, rate int) (secret, id string) {
	t.Helper()
	a := p.Want(t, 201, Call{Method: "POST", Path: "/api/integration-tokens", Secret: session, Body: map[string]any{"name": name,
		"scopes": []string{"warranties:read", "warranties:write", "claims:read", "documents:read"}, "rate_limit_per_minute": rate}})
	return a.Must(t, "data.secret"), a.Must(t, "data.id")
}

// Create returns a call that creates a warranty; with a key it can be repeated.
func Create(secret, product, key string) Call {
	c := Call{Method: "POST", Path: "/api/v1/warranties", Secret: secret,
		Body: map[string]string{"product_name": product, "start_date": "2020-01-01", "end_date": "2099-12-31"}}
	if key != "" {
		c.Header = map[string]string{"Idempotency-Key": key}
	}
	return c
}

// Products counts the caller's warranties by their product name.
func (p *Process) Products(t testing.TB, secret string) map[string]int {
	t.Helper()
	counts := map[string]int{}
	for page := 1; page <= 1000; page++ {
		a := p.Want(t, 200, Call{Method: "GET", Path: fmt.Sprintf("/api/v1/warranties?limit=100&page=%d", page), Secret: secret})
		var list struct {
			Data []struct {
				ProductName string `json:"product_name"`
			}
		}
		if err := json.Unmarshal([]byte(a.Body), &list); err != nil {
			t.Fatal(err)
		}
		for _, w := range list.Data {
			counts[w.ProductName]++
		}
		if len(list.Data) < 100 {
			return counts
		}
	}
	t.Fatal("the list does not end")
	return nil
}
