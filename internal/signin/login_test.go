package signin

import (
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
)

// TestOnlyTheAnswerCounts sends what any page in the browser could send to the redirect address. None of it ends the
// wait.
func TestOnlyTheAnswerCounts(t *testing.T) {
	const good = "/callback?code=c&state=s&iss=https%3A%2F%2Fw.example"
	answers := make(chan url.Values, 1)
	handler := callback("s", "https://w.example", answers)
	send := func(method, target string) (int, string) {
		w := httptest.NewRecorder()
		handler.ServeHTTP(w, httptest.NewRequest(method, target, nil))
		for name, want := range map[string]string{"Cache-Control": "no-store", "Referrer-Policy": "no-referrer"} {
			if w.Header().Get(name) != want {
				t.Errorf("%s: %s is %q", target, name, w.Header().Get(name))
			}
		}
		return w.Code, w.Body.String()
	}
	for name, target := range map[string]string{
		"another state":    strings.Replace(good, "state=s", "state=x", 1),
		"no state":         strings.Replace(good, "&state=s", "", 1),
		"two states":       good + "&state=s",
		"another issuer":   strings.Replace(good, "w.example", "evil.example", 1),
		"no issuer":        "/callback?code=c&state=s",
		"another path":     strings.Replace(good, "/callback", "/", 1),
		"code and error":   good + "&error=access_denied",
		"neither":          strings.Replace(good, "code=c&", "", 1),
		"an empty request": "/callback",
	} {
		if status, _ := send("GET", target); status != 400 || len(answers) != 0 {
			t.Errorf("%s: %d", name, status)
		}
	}
	if status, _ := send("POST", good); status != 400 || len(answers) != 0 {
		t.Errorf("a form: %d", status)
	}
	if status, text := send("GET", good); status != 200 || !strings.Contains(text, "You can close this window.") {
		t.Errorf("%d %s", status, text)
	}
	if got := <-answers; got.Get("code") != "c" {
		t.Errorf("%v", got)
	}
	if status, text := send("GET", strings.Replace(good, "code=c", "error=access_denied", 1)); status != 200 ||
		!strings.Contains(text, "Nothing was shared.") {
		t.Errorf("%d %s", status, text)
	}
}

// TestBrowserIsChosen: without a display nothing is started, and BROWSER comes first.
func TestBrowserIsChosen(t *testing.T) {
	env := map[string]string{"BROWSER": "/nonexistent/browser --new-window"}
	getenv := func(name string) string { return env[name] }
	if Open("http://127.0.0.1:1/", getenv) {
		t.Error("a browser that does not exist was started")
	}
	if env["BROWSER"] = "true"; !Open("http://127.0.0.1:1/", getenv) {
		t.Error("the browser in BROWSER was not started")
	}
}
