package server_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"warranty.example/svc/internal/server"
)

// logged returns the log lines with this message.
func logged(w *world, message string) []map[string]any {
	var found []map[string]any
	for line := range strings.Lines(w.Log.String()) {
		var fields map[string]any
		if json.Unmarshal([]byte(line), &fields) == nil && fields["msg"] == message {
			found = append(found, fields)
		}
	}
	return found
}

// requestLine waits for the log line of a route, which is written after the response.
func requestLine(w *world, t *testing.T, route string) (line map[string]any) {
	t.Helper()
	eventually(t, "the log line of "+route, func() bool {
		for _, l := range logged(w, "request") {
			if l["route"] == route {
				line = l
			}
		}
		return line != nil
	})
	return line
}

// TestBrowserRequestsAreLogged checks the door and the user of page requests (B8).
func TestBrowserRequestsAreLogged(t *testing.T) {
	w := webWorld(t)
	olga := w.Person("Olga")
	b := w.SignedIn(t, olga)
	b.Get("/settings")
	b.Get("/nowhere/at/all")
	line := requestLine(w, t, "GET /settings")
	equal(t, "door", line["door"], any("web"))
	equal(t, "user", line["user"], any(olga.ID))
	line = requestLine(w, t, "-")
	equal(t, "door of an unknown address", line["door"], any("web"))
	equal(t, "user of an unknown address", line["user"], any(olga.ID))
	b.Get("/verify", "Accept", "*/*")
	equal(t, "door of a page without Accept", requestLine(w, t, "GET /verify")["door"], any("web"))
	want(t, "a call of a program", w.Do(made("GET", list, olga.Session, nil)), 200, "")
	equal(t, "door of a program", requestLine(w, t, "GET "+list)["door"], any("api"))
}

// TestTraceIDIsLogged sends well-formed, malformed and repeated traceparent headers.
func TestTraceIDIsLogged(t *testing.T) {
	w := webWorld(t)
	const good = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"
	for path, sent := range map[string][]string{
		"/docs":         {good},
		"/openapi.json": {good, good},
		"/llms.txt":     {"00-4bf92f3577b34da6a3ce929d0e0e4736\x1b[31m67aa0ba902b7-01"},
		"/docs/errors":  nil,
	} {
		r := httptest.NewRequest(http.MethodGet, path, nil)
		r.Header["Traceparent"] = sent
		w.HTTP.Config.Handler.ServeHTTP(httptest.NewRecorder(), r)
		want := any(nil)
		if path == "/docs" {
			want = "4bf92f3577b34da6a3ce929d0e0e4736"
		}
		equal(t, "trace of "+path, requestLine(w, t, "GET "+path)["trace_id"], want)
	}
}

// TestFailedSignInsNameTheAccount checks that failed sign-ins are logged with the account's
// id and the caller's address, but not the input (B8).
func TestFailedSignInsNameTheAccount(t *testing.T) {
	w := webWorld(t)
	olga := w.Person("Olga")
	w.Browser(t).Post("/sign-in", "email", olga.Email, "password", passwordCanary)
	refused(t, "unknown", w.Do(made("POST", "/api/auth/sessions", "", fields{"email": "typed@people.example", "password": passwordCanary})), "invalid_credential")
	lines := logged(w, "sign-in failed")
	if len(lines) != 2 {
		t.Fatalf("got %d log lines for two failed sign-ins", len(lines))
	}
	equal(t, "user", lines[0]["user"], any(olga.ID))
	equal(t, "reason", lines[0]["reason"], any("wrong password"))
	equal(t, "door", lines[0]["door"], any("web"))
	equal(t, "ip", lines[0]["ip"], any("127.0.0.1"))
	equal(t, "reason", lines[1]["reason"], any("unknown account"))
	if _, ok := lines[1]["user"]; ok || strings.Contains(w.Log.String(), "typed@") {
		t.Errorf("the line of an unknown account is %v", lines[1])
	}
}

// TestHangUpsAreNotErrors disconnects a client before the response (C6).
func TestHangUpsAreNotErrors(t *testing.T) {
	w := webWorld(t)
	olga := w.Person("Olga")
	b := w.SignedIn(t, olga)
	lock(t, w)
	const body = `{"product_name":"Kettle","start_date":"2026-01-01","end_date":"2027-01-01"}`
	const call = `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"create_warranty","arguments":` + body + `}}`
	const other = `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"_meta":{"io.modelcontextprotocol/a":1},` +
		`"name":"create_warranty","arguments":` + body + `}}` // handled by the SDK
	const form = "product_name=Kettle&start_date=2026-01-01&end_date=2027-01-01"
	for _, request := range []string{
		"POST " + list + " HTTP/1.1\r\nHost: svc\r\nAuthorization: Bearer " + olga.Session + "\r\nContent-Type: application/json\r\nContent-Length: " + fmt.Sprint(len(body)) + "\r\n\r\n" + body,
		"POST /warranties HTTP/1.1\r\nHost: svc\r\nAccept: text/html\r\nSec-Fetch-Site: same-origin\r\nCookie: " + b.Cookie +
			"\r\nContent-Type: application/x-www-form-urlencoded\r\nContent-Length: " + fmt.Sprint(len(form)) + "\r\n\r\n" + form,
		"POST /api/mcp HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer " + olga.Session + "\r\nContent-Type: application/json\r\nContent-Length: " + fmt.Sprint(len(call)) + "\r\n\r\n" + call,
		"POST /api/mcp HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer " + olga.Session + "\r\nContent-Type: application/json\r\nContent-Length: " + fmt.Sprint(len(other)) + "\r\n\r\n" + other,
	} {
		conn, err := net.Dial("tcp", w.HTTP.Listener.Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		if _, err := io.WriteString(conn, request); err != nil {
			t.Fatal(err)
		}
		if err := conn.Close(); err != nil {
			t.Fatal(err)
		}
	}
	for _, route := range []string{"POST " + list, "POST /warranties"} {
		line := requestLine(w, t, route)
		equal(t, route+": status", line["status"], any(499.0))
		equal(t, route+": level", line["level"], any("INFO"))
	}
	calls := func() (lines []map[string]any) {
		for _, l := range logged(w, "request") {
			if l["route"] == "POST /api/mcp" {
				lines = append(lines, l)
			}
		}
		return lines
	}
	eventually(t, "the log lines of MCP", func() bool { return len(calls()) == 2 })
	for _, line := range calls() {
		equal(t, "MCP: status", line["status"], any(499.0))
		equal(t, "MCP: level", line["level"], any("INFO"))
	}
	if strings.Contains(w.Log.String(), `"level":"ERROR"`) {
		t.Errorf("a disconnect is logged as an error:\n%s", w.Log.String())
	}
}

// goneReader is a ResponseWriter whose client has disconnected.
type goneReader struct{ *httptest.ResponseRecorder }

func (goneReader) Write([]byte) (int, error)        { return 0, errors.New("broken pipe") }
func (goneReader) SetReadDeadline(time.Time) error  { return nil }
func (goneReader) SetWriteDeadline(time.Time) error { return nil }

// TestAbortedExportIsLogged expects one request line for an aborted response (C6).
func TestAbortedExportIsLogged(t *testing.T) {
	w := webWorld(t)
	olga := w.Person("Olga")
	w.Warranty(olga.Session, nil)
	b := w.SignedIn(t, olga)
	r := httptest.NewRequest("GET", "/warranties/export.csv", nil)
	r.Header.Set("Accept", "text/html")
	r.Header.Set("Cookie", b.Cookie)
	func() {
		defer func() {
			if p := recover(); p != http.ErrAbortHandler {
				t.Errorf("the export ended with %v", p)
			}
		}()
		w.HTTP.Config.Handler.ServeHTTP(goneReader{httptest.NewRecorder()}, r)
	}()
	line := requestLine(w, t, "GET /warranties/export.csv")
	equal(t, "status", line["status"], any(499.0))
	equal(t, "aborted", line["aborted"], any(true))
	equal(t, "level", line["level"], any("INFO"))
	equal(t, "user", line["user"], any(olga.ID))
}

// expiring is a context whose deadline passes when the test closes done.
type expiring struct {
	context.Context
	done chan struct{}
}

func (e *expiring) Done() <-chan struct{} { return e.done }
func (e *expiring) Err() error {
	select {
	case <-e.done:
		return context.DeadlineExceeded
	default:
		return nil
	}
}

// TestSlowUploadThatIsRefused expects the form again, although the deadline of the
// request has passed when the file has arrived (C2).
func TestSlowUploadThatIsRefused(t *testing.T) {
	var mu sync.Mutex
	var latest *expiring
	w := webWorld(t, func(s *server.Server) {
		s.Deadline = func(ctx context.Context) (context.Context, context.CancelFunc) {
			mu.Lock()
			defer mu.Unlock()
			latest = &expiring{ctx, make(chan struct{})}
			return latest, func() {}
		}
	})
	olga := w.Verified("Olga")
	chosen := w.Warranty(olga.Session, nil).ID
	b := w.SignedIn(t, olga)
	content := strings.NewReader(form(field("warranty_id", chosen), field("type", "invoice"), file("invoice.exe", "MZ")))
	// The client waits for "100 Continue", so the first read happens when the server waits for the body.
	body := readFunc(sync.OnceValues(func() (io.Reader, error) {
		mu.Lock()
		defer mu.Unlock()
		close(latest.done)
		return content, nil
	}))
	req, err := http.NewRequest("POST", w.HTTP.URL+"/documents", body)
	if err != nil {
		t.Fatal(err)
	}
	for name, value := range map[string]string{"Accept": "text/html", "Cookie": b.Cookie, "Sec-Fetch-Site": "same-origin", "Expect": "100-continue",
		"Content-Type": `multipart/form-data; boundary="` + boundary + `"`} {
		req.Header.Set(name, value)
	}
	transport := &http.Transport{ExpectContinueTimeout: patience}
	defer transport.CloseIdleConnections()
	resp, err := transport.RoundTrip(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	shown, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	if resp.StatusCode != 422 || !strings.Contains(string(shown), `<option value="`+chosen+`" selected`) {
		t.Errorf("a slow upload returned %d: %.300s", resp.StatusCode, shown)
	}
}

// readFunc is a reader that is created on the first read.
type readFunc func() (io.Reader, error)

func (f readFunc) Read(p []byte) (int, error) {
	r, err := f()
	if err != nil {
		return 0, err
	}
	return r.Read(p)
}
