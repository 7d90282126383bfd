package e2e

import (
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptrace"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"

	"warranty.example/svc/e2e/lab"
	"warranty.example/svc/internal/testenv"
)

// TestSlowClientsAreSentAway opens 200 connections that never finish their header:
// other clients are still served, and each connection is closed eventually.
// TestConnectionsAreBounded in internal/server checks the timeout.
func TestSlowClientsAreSentAway(t *testing.T) {
	t.Parallel()
	p := lab.Start(t, "--connections-per-address=0")
	const clients = 200
	closed := make(chan error, clients)
	for range clients {
		conn, err := net.Dial("tcp", strings.TrimPrefix(p.URL, "http://"))
		if err != nil {
			t.Fatal(err)
		}
		defer conn.Close()
		fmt.Fprint(conn, "GET /healthz HTTP/1.1\r\nHost: 127.0.0.1\r\nX-Slow: ")
		go func() {
			_, err := io.Copy(io.Discard, conn)
			closed <- err
		}()
	}
	p.Want(t, 200, lab.Call{Method: "GET", Path: "/healthz"})
	for range clients {
		testenv.Receive(t, "a connection with half a header is closed", closed)
	}
}

// TestLargeRequestsAreRefused sends a body with a Content-Length, a chunked body and a
// header that exceed their limits.
func TestLargeRequestsAreRefused(t *testing.T) {
	t.Parallel()
	p := lab.Start(t)
	session := p.Register(t, "olga")
	large := strings.Repeat(" ", 2<<20)
	c := lab.Call{Method: "POST", Path: "/api/v1/warranties", Secret: session, Body: large}
	if code := p.Want(t, 413, c).Must(t, "code"); code != "body_too_large" {
		t.Errorf("refused with %s", code)
	}
	req, err := http.NewRequest("POST", p.URL+c.Path, struct{ io.Reader }{strings.NewReader(large)}) // chunked
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Authorization", "Bearer "+session)
	req.Header.Set("Content-Type", "application/json")
	resp, err := p.Client.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	resp.Body.Close()
	if resp.StatusCode != 413 {
		t.Errorf("chunked: got %d, want 413", resp.StatusCode)
	}
	// The connection is reset after the response is written, so only the status counts.
	a, err := p.Try(lab.Call{Method: "GET", Path: "/healthz", Header: map[string]string{"X-Large": strings.Repeat("x", 100<<10)}})
	if a.Status != 431 {
		t.Errorf("header: got %d, want 431: %v", a.Status, err)
	}
	p.Want(t, 201, lab.Create(session, strings.Repeat("x", 200), ""))
}

// TestInsidesAreShownOnTheAdminPortAlone checks that metrics and profiles are on the admin port only.
func TestInsidesAreShownOnTheAdminPortAlone(t *testing.T) {
	t.Parallel()
	admin := lab.FreeAddress(t)
	p := lab.Start(t, "--admin-listen="+admin)
	p.Want(t, 404, lab.Call{Method: "GET", Path: "/nowhere"})
	for _, path := range []string{"/metrics", "/debug/pprof/", "/debug/pprof/cmdline", "/debug/pprof/heap", "/debug/pprof/symbol"} {
		p.Want(t, 404, lab.Call{Method: "GET", Path: path})
		if answering(path, admin) == "" {
			t.Errorf("the admin port does not serve %s", path)
		}
	}
	p.Want(t, 404, lab.Call{Method: "GET", Path: "/debug/vars"})
	if answering("/api/v1/warranties", admin)+answering("/healthz", admin) != "" {
		t.Error("the admin port serves a public route")
	}
	inside := (&lab.Process{URL: "http://" + admin, Client: p.Client}).Want(t, 200, lab.Call{Method: "GET", Path: "/metrics"}).Body
	if !strings.Contains(inside, `svc_http_request_duration_seconds_count{method="GET",route="-",status="404"}`) || !strings.Contains(inside, "go_goroutines") {
		t.Errorf("the metrics lack the requests or the runtime:\n%.2000s", inside)
	}
}

// TestMetricsOfDashboardAndAlertsExist compares the metrics with those that the files in deploy use
// and that the document lists.
func TestMetricsOfDashboardAndAlertsExist(t *testing.T) {
	t.Parallel()
	admin := lab.FreeAddress(t)
	key, certs := certificates(t, 1)
	p := lab.Start(t, "--admin-listen="+admin, "--redis=redis://127.0.0.1:1", "--tls-cert="+certs[0], "--tls-key="+key)
	p.Want(t, 404, lab.Call{Method: "BREW", Path: "/nowhere"})
	var metrics string
	testenv.Wait(t, "the request in the metrics", func() bool {
		metrics = (&lab.Process{URL: "http://" + admin, Client: http.DefaultClient}).Want(t, 200, lab.Call{Method: "GET", Path: "/metrics"}).Body
		return strings.Contains(metrics, `{method="other",route="-",status="404"}`)
	})
	if strings.Contains(metrics, "BREW") {
		t.Error("any method is a label")
	}
	exists := map[string]bool{}
	for _, line := range regexp.MustCompile(`(?m)^(\w+)`).FindAllString(metrics, -1) {
		exists[line] = true
	}
	names := regexp.MustCompile(`\b(?:svc|process|go)_\w+`)
	for _, file := range []string{"deploy/dashboard.json", "deploy/alerts.yml", "docs/operations.md"} {
		text, err := os.ReadFile(filepath.Join("..", file))
		if err != nil {
			t.Fatal(err)
		}
		found := 0
		for _, name := range names.FindAllString(string(text), -1) {
			if found++; !exists[name] && !exists[name+"_count"] {
				t.Errorf("%s uses %s, which does not exist", file, name)
			}
		}
		if found == 0 {
			t.Errorf("%s uses no metric", file)
		}
	}
	document, err := os.ReadFile("../docs/operations.md")
	if err != nil {
		t.Fatal(err)
	}
	for name := range exists {
		name = regexp.MustCompile(`_(bucket|count|sum)$`).ReplaceAllString(name, "")
		if strings.HasPrefix(name, "svc_") && !strings.Contains(string(document), "`"+name+"`") {
			t.Errorf("docs/operations.md does not list %s", name)
		}
	}
	if promtool, err := exec.LookPath("promtool"); err == nil {
		check := exec.Command(promtool, "check", "metrics")
		check.Stdin = strings.NewReader(metrics)
		if out, err := check.CombinedOutput(); err != nil {
			t.Errorf("%v: %s", err, out)
		}
	}
}

// TestRequestUnderWayIsAnswered stops the server during a request whose body is incomplete.
func TestRequestUnderWayIsAnswered(t *testing.T) {
	t.Parallel()
	p := lab.Start(t)
	session := p.Register(t, "olga")
	reader, writer := io.Pipe()
	req, err := http.NewRequest("POST", p.URL+"/api/v1/warranties", reader)
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Authorization", "Bearer "+session)
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("Expect", "100-continue") // the server asks for the body once it has authenticated the request
	asked := make(chan struct{})
	req = req.WithContext(httptrace.WithClientTrace(t.Context(), &httptrace.ClientTrace{Got100Continue: func() { close(asked) }}))
	var wg sync.WaitGroup
	status := 0
	wg.Go(func() {
		resp, err := p.Client.Do(req)
		if err != nil {
			t.Error(err)
			return
		}
		resp.Body.Close()
		status = resp.StatusCode
	})
	io.WriteString(writer, `{"product_name": "Kettle", "start_date": "2020-01-01", `)
	testenv.Receive(t, "the server asks for the body", asked)
	var stopped error
	wg.Go(func() { stopped = p.Stop() })
	testenv.Wait(t, "the server refuses new connections", func() bool {
		conn, err := net.Dial("tcp", strings.TrimPrefix(p.URL, "http://"))
		if err == nil {
			conn.Close()
		}
		return err != nil
	})
	io.WriteString(writer, `"end_date": "2099-12-31"}`)
	writer.Close()
	wg.Wait()
	if status != 201 || stopped != nil {
		t.Errorf("the request in progress got %d; %v", status, stopped)
	}
}
