package signin

import (
	"context"
	"crypto/rand"
	"crypto/subtle"
	"errors"
	"fmt"
	"html"
	"net"
	"net/http"
	"net/url"
	"os/exec"
	"runtime"
	"slices"
	"strings"
	"time"

	"golang.org/x/oauth2"

	"warranty.example/svc/api"
	"warranty.example/svc/internal/credentials"
)

// loginTimeout is how long the user has to decide. The page of the service works for 10 minutes.
const loginTimeout = 10 * time.Minute

// login asks the user in the browser and returns the connection.
func (s *Service) login(ctx context.Context, show func(address string)) (c credentials.Connection, err error) {
	m, err := s.discover(ctx)
	if err != nil {
		return c, err
	}
	if !slices.Contains(m.Methods, "S256") {
		return c, errors.New("the service does not support PKCE with S256")
	}
	listener, err := new(net.ListenConfig).Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return c, fmt.Errorf("cannot listen for the answer of the browser: %w", err)
	}
	state, verifier, answers := rand.Text(), oauth2.GenerateVerifier(), make(chan url.Values, 1)
	server := &http.Server{Handler: callback(state, m.Issuer, answers), ReadHeaderTimeout: requestTimeout}
	go func() { _ = server.Serve(listener) }() // ends with Shutdown
	defer func() {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), time.Second)
		defer cancel()
		_ = server.Shutdown(ctx) // so that the browser gets its page
	}()
	config := s.config(m, "http://"+listener.Addr().String()+callbackPath)
	resource := oauth2.SetAuthURLParam("resource", s.Store.BaseURL)
	show(config.AuthCodeURL(state, oauth2.S256ChallengeOption(verifier), resource))

	var answer url.Values
	select {
	case answer = <-answers:
	case <-time.After(loginTimeout):
		return c, &Error{"Nobody answered in the browser within 10 minutes.", again}
	case <-ctx.Done():
		return c, ctx.Err()
	}
	switch problem := answer.Get("error"); {
	case problem == "access_denied":
		return c, &Error{"The connection was not allowed in the browser.", again}
	case problem != "":
		return c, &Error{"The service refused the request: " + api.Printable(problem) + ".", "Update svc, or check the base URL."}
	}
	ctx = context.WithValue(ctx, oauth2.HTTPClient, httpClient())
	t, err := config.Exchange(ctx, answer.Get("code"), oauth2.VerifierOption(verifier), resource)
	if err != nil {
		return c, failed(err, &Error{"The answer of the browser was used or has expired.", again})
	}
	return s.connection(t)
}

const callbackPath = "/callback"

// callback handles the browser's way back. Whatever is not the answer to this request is refused, and the wait continues:
// any page that the user has open can send requests here, but does not know the state.
func callback(state, issuer string, answers chan<- url.Values) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		query := r.URL.Query()
		single := len(query["state"]) == 1 && len(query["iss"]) == 1 && len(query["code"])+len(query["error"]) == 1
		if r.Method != http.MethodGet || r.URL.Path != callbackPath || !single ||
			subtle.ConstantTimeCompare([]byte(query.Get("state")), []byte(state)) != 1 || query.Get("iss") != issuer {
			page(w, http.StatusBadRequest, "This is not the answer that svc waits for", "Go back to the program and start again.")
			return
		}
		select {
		case answers <- query:
		default: // answered before
		}
		if query.Get("error") != "" {
			page(w, http.StatusOK, "Not connected", "Nothing was shared. You can close this window.")
			return
		}
		page(w, http.StatusOK, "Signed in", "Go back to the program. You can close this window.")
	})
}

// page writes a small page.
func page(w http.ResponseWriter, status int, title, text string) {
	h := w.Header()
	h.Set("Content-Type", "text/html; charset=utf-8")
	h.Set("Content-Security-Policy", "default-src 'none'; style-src 'unsafe-inline'; frame-ancestors 'none'")
	h.Set("Cache-Control", "no-store")
	h.Set("Referrer-Policy", "no-referrer")
	h.Set("X-Content-Type-Options", "nosniff")
	w.WriteHeader(status)
	fmt.Fprintf(w, `<!doctype html>
<html lang="en">
<meta charset="utf-8">
<meta name="viewport" content="width=device-width">
<meta name="color-scheme" content="light dark">
<title>%s</title>
<style>body{font:1rem/1.5 system-ui,sans-serif;max-width:32rem;margin:20vh auto;padding:0 1rem}</style>
<h1>%[1]s</h1>
<p>%s</p>
`, html.EscapeString(title), html.EscapeString(text))
}

// Open opens an address in the browser, and reports whether it could start one.
func Open(address string, getenv func(string) string) bool {
	var command []string
	switch browser := getenv("BROWSER"); {
	case browser != "":
		command = strings.Fields(browser)
	case runtime.GOOS == "darwin":
		command = []string{"open"}
	case runtime.GOOS == "windows":
		command = []string{"rundll32", "url.dll,FileProtocolHandler"}
	case getenv("DISPLAY") == "" && getenv("WAYLAND_DISPLAY") == "":
		return false // a server, or a connection over SSH
	default:
		command = []string{"xdg-open"}
	}
	if len(command) == 0 {
		return false
	}
	cmd := exec.Command(command[0], append(command[1:], address)...)
	if err := cmd.Start(); err != nil {
		return false
	}
	go func() { _ = cmd.Wait() }() // the browser may run longer than this program
	return true
}
