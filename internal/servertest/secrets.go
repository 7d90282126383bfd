package servertest

import (
	"bytes"
	"crypto/rand"
	"fmt"
	"io"
	"net/http"
	"regexp"
	"strings"
	"testing"

	"warranty.example/svc/warranty"
)

// NewSecret returns a well-formed secret that no service knows.
func NewSecret(t testing.TB, kind warranty.SecretKind) string {
	t.Helper()
	secret, err := warranty.NewSecret(kind, rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	return secret
}

// PasswordCanary is part of every password in tests.
const PasswordCanary = "canary in the coal mine"

// wholeSecret matches more of a secret than the prefix that identifies tokens.
var wholeSecret = regexp.MustCompile(`sv[acgqrs]_[0-9A-Za-z]{12,}`)

// checkLog fails a test if its log contains a secret or a password.
func checkLog(t testing.TB, log string) {
	t.Helper()
	if found := wholeSecret.FindString(log); found != "" {
		t.Errorf("the log contains the secret %s", found)
	}
	if strings.Contains(log, Password) || strings.Contains(log, PasswordCanary) {
		t.Error("the log contains a password")
	}
}

// secretsWatch fails a test when a response contains a secret, unless it creates one.
type secretsWatch struct {
	t    testing.TB
	base http.RoundTripper
}

// makesSecret matches the requests whose response contains a new secret.
var makesSecret = regexp.MustCompile(
	`^POST /api/(integration-tokens|integration-tokens/[^/]+/rotate|auth/(register|sessions|password|confirm|restore)|account/email/confirm|handovers/register)$`)

// RoundTrip implements http.RoundTripper.
func (s secretsWatch) RoundTrip(r *http.Request) (*http.Response, error) {
	resp, err := s.base.RoundTrip(r)
	if err != nil {
		return nil, err
	}
	body, err := io.ReadAll(resp.Body)
	if err != nil {
		return nil, err
	}
	resp.Body = io.NopCloser(bytes.NewReader(body))
	what := r.Method + " " + r.URL.Path
	if makesSecret.MatchString(what) && resp.StatusCode < 300 || r.URL.Path == "/openapi.json" { // which has examples
		return resp, nil
	}
	if wholeSecret.Match(body) || wholeSecret.MatchString(fmt.Sprint(resp.Header)) {
		s.t.Errorf("%s: the response %d contains a secret", what, resp.StatusCode)
	}
	return resp, nil
}
