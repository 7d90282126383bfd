package e2e

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/cookiejar"
	"net/url"
	"regexp"
	"strings"
	"testing"

	"warranty.example/svc/e2e/lab"
)

// TestDemoIsInUse checks the tokens of the demo: they were used over the last 30 days,
// through every door, and some of their requests were refused.
func TestDemoIsInUse(t *testing.T) {
	t.Parallel()
	p := lab.Start(t, "--demo")
	doors, refused := map[string]bool{}, map[string]bool{}
	for _, m := range regexp.MustCompile(`(\S+@demo\.example) +password (\S+)`).FindAllStringSubmatch(p.Output(), -1) {
		session := p.Want(t, 201, lab.Call{Method: "POST", Path: "/api/auth/sessions", Body: map[string]string{"email": m[1], "password": m[2]}}).Must(t, "data.access_token")
		var organizations struct{ Data []struct{ ID string } }
		mustRead(t, p, "/api/organizations", session, &organizations)
		accounts := []map[string]string{nil}
		for _, o := range organizations.Data {
			accounts = append(accounts, map[string]string{"X-Account": o.ID})
		}
		busiest := 0
		for _, account := range accounts {
			busiest = max(busiest, readUsage(t, p, session, account, doors, refused))
		}
		if busiest < 20 {
			t.Errorf("%s: no token was used on more than %d days", m[1], busiest)
		}
	}
	if len(doors) < 3 || len(refused) < 4 {
		t.Errorf("the doors are %v and the refusals %v", doors, refused)
	}
}

// readUsage reads the tokens of an account and their requests, and returns on how many days the busiest was
// used.
func readUsage(t testing.TB, p *lab.Process, session string, account map[string]string, doors, refused map[string]bool) int {
	t.Helper()
	var tokens struct {
		Data []struct {
			ID, Name string
			Usage    []struct{ Requests int }
		}
	}
	mustReadFor(t, p, account, "/api/integration-tokens", session, &tokens)
	busiest := 0
	for _, token := range tokens.Data {
		var requests struct {
			Data []struct {
				Door   string
				Status int
			}
			Pagination struct{ Total int }
		}
		mustReadFor(t, p, account, "/api/integration-tokens/"+token.ID+"/requests?limit=100", session, &requests)
		uses := 0
		for _, day := range token.Usage {
			uses += day.Requests
		}
		if uses != requests.Pagination.Total {
			t.Errorf("%s: %d uses counted and %d requests recorded", token.Name, uses, requests.Pagination.Total)
		}
		for _, r := range requests.Data {
			doors[r.Door] = true
			if r.Status >= 400 {
				refused[fmt.Sprint(r.Status)] = true
			}
		}
		busiest = max(busiest, len(token.Usage))
	}
	return busiest
}

// mustRead gets a path and decodes the response.
func mustRead(t testing.TB, p *lab.Process, path, secret string, into any) {
	t.Helper()
	mustReadFor(t, p, nil, path, secret, into)
}

// mustReadFor is mustRead with headers.
func mustReadFor(t testing.TB, p *lab.Process, header map[string]string, path, secret string, into any) {
	t.Helper()
	a := p.Want(t, 200, lab.Call{Method: "GET", Path: path, Secret: secret, Header: header})
	if err := json.Unmarshal([]byte(a.Body), into); err != nil {
		t.Fatal(err)
	}
}

// TestDemoLandsOnWork signs in as each person of the demo, in a browser: the first page has something to do.
func TestDemoLandsOnWork(t *testing.T) {
	t.Parallel()
	p := lab.Start(t, "--demo")
	want := map[string]string{"owner@demo.example": "Needs attention", "seller@demo.example": "2 claims wait for you",
		"issuer@demo.example": "2 claims wait for you"}
	for _, m := range regexp.MustCompile(`(\S+@demo\.example) +password (\S+)`).FindAllStringSubmatch(p.Output(), -1) {
		jar, err := cookiejar.New(nil)
		if err != nil {
			t.Fatal(err)
		}
		browser := http.Client{Jar: jar}
		send := func(method, path, form string) string {
			t.Helper()
			r, err := http.NewRequest(method, p.URL+path, strings.NewReader(form))
			if err != nil {
				t.Fatal(err)
			}
			r.Header.Set("Accept", "text/html")
			r.Header.Set("Origin", p.URL)
			r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
			resp, err := browser.Do(r)
			if err != nil {
				t.Fatal(err)
			}
			defer resp.Body.Close()
			body, err := io.ReadAll(resp.Body)
			if err != nil || resp.StatusCode != http.StatusOK {
				t.Fatalf("%s %s: %d, %v", method, path, resp.StatusCode, err)
			}
			return string(body)
		}
		first := send("POST", "/sign-in", url.Values{"email": {m[1]}, "password": {m[2]}}.Encode())
		if !strings.Contains(first, want[m[1]]) || strings.Contains(first, "Nothing is waiting for you") {
			t.Errorf("%s lands on a page without %q", m[1], want[m[1]])
		}
		delete(want, m[1])
	}
	if len(want) > 0 {
		t.Errorf("nobody signed in as %v", want)
	}
}
