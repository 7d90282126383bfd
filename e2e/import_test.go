package e2e

import (
	"bytes"
	"fmt"
	"html"
	"io"
	"math/rand/v2"
	"mime/multipart"
	"net/http"
	"net/http/cookiejar"
	"net/url"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"warranty.example/svc/e2e/lab"
	"warranty.example/svc/internal/servertest"
	"warranty.example/svc/internal/testenv"
)

// visitor is a browser without a screen: it keeps cookies.
type visitor struct {
	t      *testing.T
	p      *lab.Process
	client *http.Client
}

func (v visitor) do(req *http.Request) (int, string, string) {
	v.t.Helper()
	resp, err := v.client.Do(req)
	if err != nil {
		v.t.Fatal(err)
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	if err != nil {
		v.t.Fatal(err)
	}
	return resp.StatusCode, resp.Header.Get("Location"), string(body)
}

func (v visitor) get(path string) string {
	v.t.Helper()
	req, err := http.NewRequestWithContext(v.t.Context(), http.MethodGet, v.p.URL+path, nil)
	if err != nil {
		v.t.Fatal(err)
	}
	status, _, body := v.do(req)
	if status != http.StatusOK {
		v.t.Fatalf("%s: %d", path, status)
	}
	return body
}

// post sends a form and returns the address that it leads to.
func (v visitor) post(path string, values url.Values) string {
	v.t.Helper()
	status, location, body := v.send(path, values)
	if status != http.StatusSeeOther {
		v.t.Fatalf("%s: %d %s", path, status, body)
	}
	return location
}

// page sends a form and returns the page that answers it.
func (v visitor) page(path string, values url.Values) string {
	v.t.Helper()
	status, _, body := v.send(path, values)
	if status != http.StatusOK {
		v.t.Fatalf("%s: %d %s", path, status, body)
	}
	return body
}

func (v visitor) send(path string, values url.Values) (status int, location, body string) {
	v.t.Helper()
	req, err := http.NewRequestWithContext(v.t.Context(), http.MethodPost, v.p.URL+path, strings.NewReader(values.Encode()))
	if err != nil {
		v.t.Fatal(err)
	}
	req.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	return v.do(req)
}

// upload sends a form with several parts.
func (v visitor) upload(path string, pairs ...string) (status int, location, body string) {
	v.t.Helper()
	var form bytes.Buffer
	parts := multipart.NewWriter(&form)
	for i := 0; i < len(pairs); i += 2 {
		if err := parts.WriteField(pairs[i], pairs[i+1]); err != nil {
			v.t.Fatal(err)
		}
	}
	if err := parts.Close(); err != nil {
		v.t.Fatal(err)
	}
	req, err := http.NewRequestWithContext(v.t.Context(), http.MethodPost, v.p.URL+path, &form)
	if err != nil {
		v.t.Fatal(err)
	}
	req.Header.Set("Content-Type", parts.FormDataContentType())
	return v.do(req)
}

var (
	hiddenField = regexp.MustCompile(`name="(kept|shown)" value="([^"]*)"`)
	jobProgress = regexp.MustCompile(`([\d,]+) of [\d,]+ (rows|warranties)`)
)

// TestKilledImport kills svcd while it imports a sheet for an organization and starts it again: the job goes on, and
// every row is there once. Then it exports them (if they are many), undoes the import, and deletes and restores many at
// once, with kills.
// SVC_TEST_IMPORT is the number of rows; "make imports" imports 10,000, and waits until the lease of the killed process
// has ended.
func TestKilledImport(t *testing.T) {
	t.Parallel()
	rows, err := strconv.Atoi(os.Getenv("SVC_TEST_IMPORT"))
	long, kills := err == nil, 3
	if !long {
		rows, kills = 400, 1
	}
	eachDatabase(t, func(t *testing.T, database string) {
		t.Parallel()
		args := append(slices.Clone(lab.Unthrottled), database)
		dir := t.TempDir()
		p := lab.StartIn(t, dir, args...)
		session := p.Register(t, "olga")
		shop := p.Want(t, 201, lab.Call{Method: "POST", Path: "/api/organizations", Secret: session, Body: map[string]string{"name": "Halden"}}).Must(t, "data.id")
		token := p.Want(t, 201, lab.Call{Method: "POST", Path: "/api/integration-tokens", Secret: session, Header: map[string]string{"X-Account": shop},
			Body: map[string]any{"name": "count", "scopes": []string{"warranties:read", "warranties:write"}, "rate_limit_per_minute": 1_000_000}}).Must(t, "data.secret")
		jar, err := cookiejar.New(nil)
		if err != nil {
			t.Fatal(err)
		}
		stay := func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
		v := visitor{t, p, &http.Client{Jar: jar, CheckRedirect: stay, Timeout: testenv.Patience}}
		v.post("/sign-in", url.Values{"email": {"olga@people.example"}, "password": {lab.Password}})
		v.post("/switch", url.Values{"account": {shop}, "next": {"/"}})

		var sheet strings.Builder
		sheet.WriteString("product_name,serial_number,start_date,end_date\n")
		for n := range rows {
			fmt.Fprintf(&sheet, "Pan %d,SN-%d,2026-01-01,2028-01-01\n", n, n)
		}
		status, _, body := v.upload("/warranties/import", "account", shop, "do", "check", "sheet", sheet.String())
		if status != http.StatusOK {
			t.Fatalf("the preview: %d %s", status, body)
		}
		form := []string{"account", shop, "do", "import"}
		for _, m := range hiddenField.FindAllStringSubmatch(body, -1) {
			form = append(form, m[1], html.UnescapeString(m[2]))
		}
		began := time.Now()
		_, job, body := v.upload("/warranties/import", form...)
		if !strings.HasPrefix(job, "/jobs/") {
			t.Fatalf("the import leads to %q: %s", job, body)
		}
		// again kills the process once the job has made some progress, and starts it again. The address of the
		// cookies stays the same, because cookies do not depend on the port.
		again := func(job string) {
			from := v.progress(job)
			until(func() bool { n := v.progress(job); return n != from || n == "" })
			time.Sleep(time.Duration(rand.Int64N(int64(20 * time.Millisecond)))) // kill at any moment
			p.Kill()
			if !long {
				endLeases(t, database)
			}
			p = lab.StartIn(t, dir, args...)
			v.p = p
		}
		for range kills {
			again(job)
		}
		until(func() bool { return v.progress(job) == "" })
		t.Logf("%d rows with %d kills: %v", rows, kills, time.Since(began))
		names := p.Products(t, token)
		for name, times := range names {
			if times != 1 {
				t.Errorf("%s is there %d times", name, times)
			}
		}
		if len(names) != rows {
			t.Errorf("%d records, want %d", len(names), rows)
		}
		if rows > 1000 { // fewer are exported at once
			export := v.post("/warranties/export", url.Values{"account": {shop}})
			again(export)
			until(func() bool { return v.progress(export) == "" })
			if lines := strings.Count(v.get(export+"/file"), "\n"); lines != rows+1 {
				t.Errorf("the export has %d lines, want %d and a head", lines, rows)
			}
		}
		v.post(job+"/undo", url.Values{"account": {shop}})
		again(job)
		until(func() bool { return v.progress(job) == "" })
		if page := v.get(job); !strings.Contains(page, "Import undone") {
			t.Errorf("the page of the job: %s", page)
		}
		if left := p.Products(t, token); len(left) != 0 {
			t.Errorf("%d records are left", len(left))
		}

		// Delete and restore many at once.
		const many = 250
		for n := 0; n < many; n += 50 {
			items := make([]map[string]any, 50)
			for i := range items {
				items[i] = map[string]any{"product_name": fmt.Sprintf("Pot %d", n+i), "start_date": "2026-01-01", "end_date": "2028-01-01"}
			}
			p.Want(t, 200, lab.Call{Method: "POST", Path: "/api/v1/warranties/batch", Secret: token, Body: map[string]any{"items": items}})
		}
		sent := url.Values{"account": {shop}, "action": {"delete"}, "all": {"1"}}
		page := v.page("/warranties/bulk", sent)
		for _, found := range regexp.MustCompile(`name="(seen|once)" value="([^"]+)"`).FindAllStringSubmatch(page, 2) {
			sent.Set(found[1], found[2])
		}
		sent.Set("value", "")
		deletion := v.post("/warranties/bulk", sent)
		again(deletion)
		until(func() bool { return v.progress(deletion) == "" })
		if left := p.Products(t, token); len(left) != 0 {
			t.Errorf("%d records are not deleted: %s", len(left), v.get(deletion))
		}
		restoration := v.post(deletion+"/undo", url.Values{"account": {shop}})
		if long {
			again(restoration)
		}
		until(func() bool { return v.progress(restoration) == "" })
		if back := p.Products(t, token); len(back) != many {
			t.Errorf("%d records are back, want %d: %s", len(back), many, v.get(restoration))
		}
	})
}

// endLeases ends the leases of jobs, as if the time had passed that a killed process had reserved.
func endLeases(t *testing.T, database string) {
	t.Helper()
	db := servertest.Direct(t, strings.TrimPrefix(database, "--database="))
	defer db.Close()
	if _, err := db.Exec(`UPDATE jobs SET leased_until = 0`); err != nil {
		t.Fatal(err)
	}
}

// until waits for as long as the test may run: an import of many rows takes minutes on a slow machine.
func until(holds func() bool) {
	for !holds() {
		time.Sleep(20 * time.Millisecond)
	}
}

// progress returns how many rows or warranties of a job are done, as its page shows it, or nothing if the job has ended.
func (v visitor) progress(job string) string {
	v.t.Helper()
	page := v.get(job)
	m := jobProgress.FindStringSubmatch(page)
	if m == nil || !strings.Contains(page, `http-equiv="refresh"`) {
		return "" // it has ended
	}
	return m[1]
}
