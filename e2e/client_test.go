package e2e

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

// call is a request. The secret is sent in the header of its kind; a string body is
// sent unchanged, any other value as JSON.
type call struct {
	method, path string
	secret       string
	body         any
	header       map[string]string
}

// answer is a response.
type answer struct {
	status int
	header http.Header
	body   string
}

// at returns the value at a path of a JSON body, such as data.0.id; length is the number of elements.
func (a answer) at(path string) (string, error) {
	var v any
	decoder := json.NewDecoder(strings.NewReader(a.body))
	decoder.UseNumber()
	if err := decoder.Decode(&v); err != nil {
		return "", fmt.Errorf("not JSON: %q", a.body)
	}
	for step := range strings.SplitSeq(path, ".") {
		switch have := v.(type) {
		case map[string]any:
			inner, ok := have[step]
			if !ok {
				return "", fmt.Errorf("%s has no %s in %s", path, step, a.body)
			}
			v = inner
		case []any:
			var i int
			if step == "length" {
				v = json.Number(fmt.Sprint(len(have)))
			} else if _, err := fmt.Sscan(step, &i); err != nil || i < 0 || i >= len(have) {
				return "", fmt.Errorf("%s has no %s in %s", path, step, a.body)
			} else {
				v = have[i]
			}
		default:
			return "", fmt.Errorf("%s has no %s in %s", path, step, a.body)
		}
	}
	if text, ok := v.(string); ok {
		return text, nil
	}
	encoded, err := json.Marshal(v)
	return string(encoded), err
}

// must is at for a path that must exist.
func (a answer) must(t testing.TB, path string) string {
	t.Helper()
	v, err := a.at(path)
	if err != nil {
		t.Fatal(err)
	}
	return v
}

// try sends a request. It never calls Fatal, so goroutines may use it.
func (p *process) try(c call) (answer, error) {
	var body io.Reader
	switch b := c.body.(type) {
	case nil:
	case string:
		body = strings.NewReader(b)
	default:
		encoded, err := json.Marshal(b)
		if err != nil {
			return answer{}, err
		}
		body = bytes.NewReader(encoded)
	}
	req, err := http.NewRequest(c.method, p.url+c.path, body)
	if err != nil {
		return answer{}, err
	}
	if body != nil {
		req.Header.Set("Content-Type", "application/json")
	}
	switch {
	case strings.HasPrefix(c.secret, "svc_"):
		req.Header.Set("x-api-key", c.secret)
	case c.secret != "":
		req.Header.Set("Authorization", "Bearer "+c.secret)
	}
	for name, value := range c.header {
		if name == "Host" {
			req.Host = value
		}
		req.Header.Set(name, value)
	}
	resp, err := p.client.Do(req)
	if err != nil {
		return answer{}, err
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	return answer{status: resp.StatusCode, header: resp.Header, body: string(text)}, err
}

// want sends a request and fails the test unless the response has this status.
func (p *process) want(t testing.TB, status int, c call) answer {
	t.Helper()
	a, err := p.try(c)
	if err != nil {
		t.Fatalf("%s %s: %v", c.method, c.path, err)
	}
	if a.status != status {
		t.Fatalf("%s %s: got %d, want %d: %s", c.method, c.path, a.status, status, a.body)
	}
	return a
}

// password is the password of all accounts.
const password = "correct horse battery staple"

// setUp makes the first administrator with the link that svcd printed.
func (p *process) setUp() error {
	code := regexp.MustCompile(`/setup#(\S+)`).FindStringSubmatch(p.output())
	if code == nil {
		return fmt.Errorf("svcd printed no set-up link: %s", p.output())
	}
	form := url.Values{"code": {code[1]}, "name": {"Operator"}, "email": {"operator@people.example"}, "password": {password}}
	a, err := p.try(call{method: "POST", path: "/setup", body: form.Encode(),
		header: map[string]string{"Content-Type": "application/x-www-form-urlencoded"}})
	if err == nil && a.status != http.StatusOK { // after a redirect
		err = fmt.Errorf("set up: %d %s", a.status, a.body)
	}
	return err
}

// registered sends a registration and returns the session. Before the first one it sets the service up.
func (p *process) registered(t testing.TB, c call) string {
	t.Helper()
	if a, err := p.try(c); err == nil && a.status == http.StatusCreated {
		return a.must(t, "data.access_token")
	} else if err == nil && strings.Contains(a.body, "being set up") {
		if err := p.setUp(); err != nil {
			t.Fatal(err)
		}
	}
	return p.want(t, 201, c).must(t, "data.access_token")
}

// register creates an account and returns its session.
func (p *process) register(t testing.TB, name string) string {
	t.Helper()
	body := map[string]string{"name": name, "email": name + "@people.example", "password": password}
	return p.registered(t, call{method: "POST", path: "/api/auth/register", body: body})
}

// token creates an integration token with all scopes.
func (p *process) token(t testing.TB, session, name string, rate int) (secret, id string) {
	t.Helper()
	a := p.want(t, 201, call{method: "POST", path: "/api/integration-tokens", secret: session, body: map[string]any{"name": name,
		"scopes": []string{"warranties:read", "warranties:write", "claims:read", "documents:read"}, "rate_limit_per_minute": rate}})
	return a.must(t, "data.secret"), a.must(t, "data.id")
}

// create returns a call that creates a warranty; with a key it can be repeated.
func create(secret, product, key string) call {
	c := call{method: "POST", path: "/api/v1/warranties", secret: secret,
		body: map[string]string{"product_name": product, "start_date": "2020-01-01", "end_date": "2099-12-31"}}
	if key != "" {
		c.header = map[string]string{"Idempotency-Key": key}
	}
	return c
}

// products counts the caller's warranties by their product name.
func (p *process) products(t testing.TB, secret string) map[string]int {
	t.Helper()
	counts := map[string]int{}
	for page := 1; page <= 1000; page++ {
		a := p.want(t, 200, call{method: "GET", path: fmt.Sprintf("/api/v1/warranties?limit=100&page=%d", page), secret: secret})
		var list struct {
			Data []struct {
				ProductName string `json:"product_name"`
			}
		}
		if err := json.Unmarshal([]byte(a.body), &list); err != nil {
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
