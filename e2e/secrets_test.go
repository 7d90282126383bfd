package e2e

import (
	"encoding/base64"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestSecretsAreInNoLog uses every kind of secret in valid and invalid ways, and then
// searches for them in the output, the log and the files of the process.
func TestSecretsAreInNoLog(t *testing.T) {
	t.Parallel()
	const (
		first    = "canary password one"
		second   = "canary password two"
		wrong    = "canary password wrong"
		smtp     = "canary-smtp-password"
		redisKey = "canary-redis-password"
	)
	box := newMailbox(t)
	p := start(t, "--smtp=smtp://svc:"+smtp+"@"+box.address, "--redis=redis://svc:"+redisKey+"@127.0.0.1:1", "--sign-in-rate-limit=0")
	email := "olga@people.example"

	session := p.registered(t, call{method: "POST", path: "/api/auth/register", body: map[string]string{"name": "Olga", "email": email, "password": first}})
	code := box.code(t, "Confirm your email address")
	p.want(t, 422, call{method: "POST", path: "/api/auth/verify-email", secret: session, body: map[string]string{"code": code, "canary-field": code}})
	p.want(t, 200, call{method: "POST", path: "/api/auth/verify-email", secret: session, body: map[string]string{"code": code}})
	p.want(t, 401, call{method: "POST", path: "/api/auth/sessions", body: map[string]string{"email": email, "password": wrong}})
	p.want(t, 400, call{method: "POST", path: "/api/auth/sessions", body: `{"email": "` + email + `", "password": "` + wrong + `"`})
	p.want(t, 202, call{method: "POST", path: "/api/auth/password-reset", body: map[string]string{"email": email}})
	reset := box.code(t, "Reset your password")
	p.want(t, 204, call{method: "POST", path: "/api/auth/password-reset/confirm", body: map[string]string{"code": reset, "password": second}})
	again := p.want(t, 201, call{method: "POST", path: "/api/auth/sessions", body: map[string]string{"email": email, "password": second}}).must(t, "data.access_token")
	token, id := p.token(t, again, "ERP", 100)
	rotated := p.want(t, 200, call{method: "POST", path: "/api/integration-tokens/" + id + "/rotate", secret: again}).must(t, "data.secret")

	list := call{method: "GET", path: "/api/v1/warranties"}
	p.want(t, 200, list.by(rotated))
	p.want(t, 401, list.by(token))
	p.want(t, 401, list.by(session))
	p.want(t, 401, list.by(rotated[:len(rotated)-1]+"!"))
	p.want(t, 400, call{method: "GET", path: "/api/v1/warranties?api_key=" + rotated, secret: rotated})
	p.want(t, 404, call{method: "GET", path: "/api/v1/warranties/" + rotated, secret: rotated})
	p.want(t, 404, call{method: "GET", path: "/" + rotated})
	p.want(t, 404, call{method: "GET", path: "/verify/" + rotated})
	p.want(t, 401, call{method: "GET", path: "/api/v1/warranties", header: map[string]string{"Authorization": "Basic " + base64.StdEncoding.EncodeToString([]byte(email+":"+second))}})
	p.want(t, 200, call{method: "GET", path: "/api/v1/warranties", secret: rotated, header: map[string]string{"X-Request-Id": "canary request id!", "Referer": "http://canary.example/?" + rotated, "User-Agent": rotated}})
	p.want(t, 422, call{method: "POST", path: "/api/v1/warranties", secret: rotated, body: map[string]string{"product_name": rotated, "password": second}})
	p.mustStop(t)

	secrets := map[string]string{"first password": first, "second password": second, "wrong password": wrong, "SMTP password": smtp, "Redis password": redisKey,
		"session": session, "second session": again, "token": token, "rotated token": rotated}
	stored := everyFile(t, filepath.Join(p.dir, "data"))
	for name, secret := range secrets {
		if strings.Contains(stored, secret[len(secret)-12:]) {
			t.Errorf("the %s, or its last part, is in the database", name)
		}
	}
	secrets["mailed code"], secrets["second mailed code"] = code, reset
	said := p.output() + p.log()
	for name, secret := range secrets {
		if strings.Contains(said, secret) {
			t.Errorf("the %s was printed or logged", name)
		}
	}
	if strings.Contains(strings.ToLower(said), "canary") {
		t.Error("a canary was printed or logged")
	}
	if !strings.Contains(said, id) {
		t.Error("the log does not contain the id of the token")
	}
}

// TestMailNamesThePublicAddress registers with a forged Host header.
func TestMailNamesThePublicAddress(t *testing.T) {
	t.Parallel()
	box := newMailbox(t)
	p := start(t, "--smtp=smtp://"+box.address, "--public-url=https://warranty.example")
	p.registered(t, call{method: "POST", path: "/api/auth/register", header: map[string]string{"Host": "evil.example", "X-Forwarded-Host": "evil.example"},
		body: map[string]string{"name": "Olga", "email": "olga@people.example", "password": password}})
	box.code(t, "Confirm your email address")
	if mail := box.String(); strings.Contains(mail, "evil") || !strings.Contains(mail, "https://warranty.example") {
		t.Errorf("the email contains a wrong address:\n%s", mail)
	}
}

// by returns the call with another credential.
func (c call) by(secret string) call { c.secret = secret; return c }

// everyFile returns the contents of all files in a folder.
func everyFile(t *testing.T, dir string) string {
	t.Helper()
	var all strings.Builder
	err := filepath.WalkDir(dir, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		text, err := os.ReadFile(path)
		all.Write(text)
		return err
	})
	if err != nil || all.Len() == 0 {
		t.Fatalf("no content in %s: %v", dir, err)
	}
	return all.String()
}
