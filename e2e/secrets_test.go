package e2e

import (
	"encoding/base64"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"warranty.example/svc/e2e/lab"
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
	box := lab.NewMailbox(t)
	p := lab.Start(t, "--smtp=smtp://svc:"+smtp+"@"+box.Address, "--redis=redis://svc:"+redisKey+"@127.0.0.1:1", "--sign-in-rate-limit=0")
	email := "olga@people.example"

	session := p.Registered(t, lab.Call{Method: "POST", Path: "/api/auth/register", Body: map[string]string{"name": "Olga", "email": email, "password": first}})
	code := box.Code(t, "Confirm your email address")
	p.Want(t, 422, lab.Call{Method: "POST", Path: "/api/auth/verify-email", Secret: session, Body: map[string]string{"code": code, "canary-field": code}})
	p.Want(t, 200, lab.Call{Method: "POST", Path: "/api/auth/verify-email", Secret: session, Body: map[string]string{"code": code}})
	p.Want(t, 401, lab.Call{Method: "POST", Path: "/api/auth/sessions", Body: map[string]string{"email": email, "password": wrong}})
	p.Want(t, 400, lab.Call{Method: "POST", Path: "/api/auth/sessions", Body: `{"email": "` + email + `", "password": "` + wrong + `"`})
	p.Want(t, 202, lab.Call{Method: "POST", Path: "/api/auth/password-reset", Body: map[string]string{"email": email}})
	reset := box.Code(t, "Reset your password")
	p.Want(t, 204, lab.Call{Method: "POST", Path: "/api/auth/password-reset/confirm", Body: map[string]string{"code": reset, "password": second}})
	again := p.Want(t, 201, lab.Call{Method: "POST", Path: "/api/auth/sessions", Body: map[string]string{"email": email, "password": second}}).Must(t, "data.access_token")
	token, id := p.Token(t, again, "ERP", 100)
	rotated := p.Want(t, 200, lab.Call{Method: "POST", Path: "/api/integration-tokens/" + id + "/rotate", Secret: again}).Must(t, "data.secret")

	list := lab.Call{Method: "GET", Path: "/api/v1/warranties"}
	p.Want(t, 200, by(list, rotated))
	p.Want(t, 401, by(list, token))
	p.Want(t, 401, by(list, session))
	p.Want(t, 401, by(list, rotated[:len(rotated)-1]+"!"))
	p.Want(t, 400, lab.Call{Method: "GET", Path: "/api/v1/warranties?api_key=" + rotated, Secret: rotated})
	p.Want(t, 404, lab.Call{Method: "GET", Path: "/api/v1/warranties/" + rotated, Secret: rotated})
	p.Want(t, 404, lab.Call{Method: "GET", Path: "/" + rotated})
	p.Want(t, 404, lab.Call{Method: "GET", Path: "/verify/" + rotated})
	p.Want(t, 401, lab.Call{Method: "GET", Path: "/api/v1/warranties", Header: map[string]string{"Authorization": "Basic " + base64.StdEncoding.EncodeToString([]byte(email+":"+second))}})
	p.Want(t, 200, lab.Call{Method: "GET", Path: "/api/v1/warranties", Secret: rotated, Header: map[string]string{"X-Request-Id": "canary request id!", "Referer": "http://canary.example/?" + rotated, "User-Agent": rotated}})
	p.Want(t, 422, lab.Call{Method: "POST", Path: "/api/v1/warranties", Secret: rotated, Body: map[string]string{"product_name": rotated, "password": second}})
	p.MustStop(t)

	secrets := map[string]string{"first password": first, "second password": second, "wrong password": wrong, "SMTP password": smtp, "Redis password": redisKey,
		"session": session, "second session": again, "token": token, "rotated token": rotated}
	stored := everyFile(t, filepath.Join(p.Dir, "data"))
	for name, secret := range secrets {
		if strings.Contains(stored, secret[len(secret)-12:]) {
			t.Errorf("the %s, or its last part, is in the database", name)
		}
	}
	secrets["mailed code"], secrets["second mailed code"] = code, reset
	said := p.Output() + p.Log()
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
	box := lab.NewMailbox(t)
	p := lab.Start(t, "--smtp=smtp://"+box.Address, "--public-url=https://warranty.example")
	p.Registered(t, lab.Call{Method: "POST", Path: "/api/auth/register", Header: map[string]string{"Host": "evil.example", "X-Forwarded-Host": "evil.example"},
		Body: map[string]string{"name": "Olga", "email": "olga@people.example", "password": lab.Password}})
	box.Code(t, "Confirm your email address")
	if mail := box.String(); strings.Contains(mail, "evil") || !strings.Contains(mail, "https://warranty.example") {
		t.Errorf("the email contains a wrong address:\n%s", mail)
	}
}

// by returns the call with another credential.
func by(c lab.Call, secret string) lab.Call { c.Secret = secret; return c }

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
