package e2e

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"maps"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"warranty.example/svc/e2e/lab"
	"warranty.example/svc/internal/config"
	"warranty.example/svc/internal/files"
	"warranty.example/svc/internal/testenv"
)

// effect is the visible effect of a setting. Its two values must have different
// effects; a setting that is declared but not used has the same for both.
type effect struct {
	one, other string
	shows      [2]string // the effects of the two values; default: the values themselves
	wrong      string    // an invalid value
	with       []string  // other flags that the effect needs
	see        func(t *testing.T, p *lab.Process) string
}

// effects has a row for every setting of config.Table.
func effects(t *testing.T) map[string]effect {
	dir := t.TempDir()
	one, other := lab.FreeAddress(t), lab.FreeAddress(t)
	box, otherBox := lab.NewMailbox(t), lab.NewMailbox(t)
	redis, seen := lab.Silent(t)
	s3 := testenv.NewS3Server(t, "")
	otherRedis, otherSeen := lab.Silent(t)
	for name, contact := range map[string]string{"one": "mailto:one@file.example", "other": "mailto:other@file.example"} {
		writeFile(t, filepath.Join(dir, name+".toml"), "security-contact = \""+contact+"\"\n")
	}
	key, certs := certificates(t, 2)
	return map[string]effect{
		"tls-cert": {one: certs[0], other: certs[1], wrong: "https://w.example", shows: [2]string{"1", "2"}, with: []string{"--tls-key=" + key}, see: servedSerial},
		// The certificate belongs to one key.
		"tls-key": {one: key, other: key, wrong: "https://w.example",
			shows: [2]string{"1", "1"}, with: []string{"--tls-cert=" + certs[0]}, see: servedSerial},
		// These need a certificate authority: see acme_test.go.
		"acme":           {wrong: "perhaps"},
		"acme-email":     {wrong: "ops"},
		"acme-directory": {wrong: "http://ca.example/dir"},
		"http-listen": {one: one, other: other, wrong: "80", with: []string{"--tls-cert=" + certs[0], "--tls-key=" + key},
			see: func(*testing.T, *lab.Process) string {
				return redirecting(one, other)
			}},
		"config": {one: dir + "/one.toml", other: dir + "/other.toml", wrong: "missing.toml",
			shows: [2]string{"mailto:one@file.example", "mailto:other@file.example"}, see: securityContact},
		"listen": {one: one, other: other, wrong: "8080",
			see: func(*testing.T, *lab.Process) string { return answering("/healthz", one, other) }},
		"public-url": {one: "https://one.example", other: "http://other.example:8443", wrong: "one.example",
			see: publicURL},
		"data": {one: dir + "/one", other: dir + "/other", shows: [2]string{"true false", "true true"}, wrong: "http://folder",
			see: func(*testing.T, *lab.Process) string {
				return fmt.Sprint(exists(dir+"/one/svc.db"), exists(dir+"/other/svc.db"))
			}},
		"database": {one: dir + "/one.db", other: dir + "/other.db", shows: [2]string{"true false", "true true"}, wrong: "mysql://localhost/svc",
			see: func(*testing.T, *lab.Process) string {
				return fmt.Sprint(exists(dir+"/one.db"), exists(dir+"/other.db"))
			}},
		"redis": {one: "redis://" + redis, other: "redis://" + otherRedis, shows: [2]string{"true false", "true true"}, wrong: "localhost:6379",
			see: func(t *testing.T, p *lab.Process) string {
				p.Want(t, 401, lab.Call{Method: "GET", Path: "/api/v1/warranties"})
				return fmt.Sprint(seen.Load() > 0, otherSeen.Load() > 0)
			}},
		"files": {one: s3.URL("one", ""), other: s3.URL("other", ""), shows: [2]string{"true false", "true true"}, wrong: "/srv/files",
			see: func(*testing.T, *lab.Process) string {
				return fmt.Sprint(exists(s3.Folder+"/buckets/documents/one/id"), exists(s3.Folder+"/buckets/documents/other/id"))
			}},
		"signing-key": {one: dir + "/one.pem", other: dir + "/other.pem", shows: [2]string{"true false", "true true"}, wrong: "https://w.example/key",
			see: func(*testing.T, *lab.Process) string {
				return fmt.Sprint(exists(dir+"/one.pem"), exists(dir+"/other.pem"))
			}},
		"secrets-key": {one: dir + "/one.key", other: dir + "/other.key", shows: [2]string{"true false", "true true"}, wrong: "https://w.example/key",
			see: func(*testing.T, *lab.Process) string {
				return fmt.Sprint(exists(dir+"/one.key"), exists(dir+"/other.key"))
			}},
		"adopt-files": {one: "true", other: "false", shows: [2]string{"taken over", "refused"}, wrong: "perhaps",
			see: func(t *testing.T, p *lab.Process) string {
				dir := t.TempDir()
				folder, err := files.Open(filepath.Join(dir, "data", "files"))
				if err != nil {
					t.Fatal(err)
				}
				defer folder.Close()
				if err := folder.SetID(t.Context(), files.ID{}); err != nil { // of another database
					t.Fatal(err)
				}
				again, err := lab.Launch(dir, p.Cmd.Env, append(slices.Clone(p.Cmd.Args), "--listen="+lab.FreeAddress(t))...)
				if err != nil {
					if !strings.Contains(err.Error(), "exit status 2") || !strings.Contains(err.Error(), "belongs to another database") {
						t.Error(err)
					}
					return "refused"
				}
				again.Kill()
				return "taken over"
			}},
		"demo": {one: "true", other: "false", wrong: "perhaps",
			see: func(_ *testing.T, p *lab.Process) string {
				return fmt.Sprint(strings.Contains(p.Output(), "The demo is ready"))
			}},
		"trusted-proxies": {one: "127.0.0.0/8, ::1", other: "10.0.0.0/8", shows: [2]string{"5", "2"}, wrong: "127.0.0.1:80", with: []string{"--ip-rate-limit=2"},
			see: func(t *testing.T, p *lab.Process) string {
				return count(t, p, 5, func(i int) lab.Call {
					return lab.Call{Method: "GET", Path: "/", Header: map[string]string{"X-Forwarded-For": fmt.Sprintf("203.0.113.%d", i)}}
				})
			}},
		"smtp": {one: "smtp://" + box.Address, other: "smtp://" + otherBox.Address, shows: [2]string{"true false", "false true"}, wrong: "localhost:25",
			see: func(t *testing.T, p *lab.Process) string {
				p.Register(t, "olga")
				first, second := box.TakeMail(t, otherBox)
				return fmt.Sprint(strings.Contains(first, "MAIL FROM"), strings.Contains(second, "MAIL FROM"))
			}},
		"mail-from": {one: "Desk <desk@one.example>", other: "desk@other.example", wrong: "desk", with: []string{"--smtp=smtp://" + box.Address},
			shows: [2]string{"MAIL FROM:<desk@one.example>", "MAIL FROM:<desk@other.example>"},
			see: func(t *testing.T, p *lab.Process) string {
				p.Register(t, "olga")
				mail, _ := box.TakeMail(t, otherBox)
				return regexp.MustCompile(`(?m)^MAIL FROM:<.*?>`).FindString(mail)
			}},
		"signup": {one: "closed", other: "open", shows: [2]string{"0", "3"}, wrong: "ajar",
			see: func(t *testing.T, p *lab.Process) string { return registrations(t, p, 3) }},
		"require-two-step": {one: "operators", other: "all", shows: [2]string{"200", "403"}, wrong: "some",
			see: func(t *testing.T, p *lab.Process) string {
				a, err := p.Try(lab.Call{Method: "GET", Path: "/api/v1/warranties", Secret: p.Register(t, "olga")})
				if err != nil {
					t.Fatal(err)
				}
				return fmt.Sprint(a.Status)
			}},
		"rate-limit": {one: "7", other: "8", wrong: "0",
			see: func(t *testing.T, p *lab.Process) string {
				return p.Want(t, 200, lab.Call{Method: "GET", Path: "/api/v1/warranties", Secret: p.Register(t, "olga")}).Header.Get("X-RateLimit-Limit")
			}},
		"max-token-rate": {one: "7", other: "8", wrong: "1.5",
			see: func(t *testing.T, p *lab.Process) string {
				session := p.Register(t, "olga")
				return count(t, p, 12, func(i int) lab.Call {
					return lab.Call{Method: "POST", Path: "/api/integration-tokens", Secret: session,
						Body: map[string]any{"name": fmt.Sprint(i), "scopes": []string{"claims:read"}, "rate_limit_per_minute": i}}
				})
			}},
		"ip-rate-limit": {one: "7", other: "8", wrong: "-1",
			see: func(t *testing.T, p *lab.Process) string {
				return count(t, p, 12, func(int) lab.Call { return lab.Call{Method: "GET", Path: "/openapi.json"} })
			}},
		"verify-rate-limit": {one: "2", other: "3", wrong: "many",
			see: func(t *testing.T, p *lab.Process) string {
				return count(t, p, 6, func(int) lab.Call { return lab.Call{Method: "GET", Path: "/verify/WR-0000-0000-0000-0000"} })
			}},
		"sign-in-rate-limit": {one: "2", other: "3", wrong: "1e3",
			see: func(t *testing.T, p *lab.Process) string {
				return count(t, p, 6, func(i int) lab.Call {
					return lab.Call{Method: "POST", Path: "/api/auth/sessions",
						Body: map[string]string{"email": fmt.Sprintf("nobody%d@people.example", i), "password": lab.Password}}
				})
			}},
		"sign-up-rate-limit": {one: "2", other: "3", wrong: "1000000001",
			see: func(t *testing.T, p *lab.Process) string { return registrations(t, p, 6) }},
		"storage-limit": {one: "1", other: "2", wrong: "1G", shows: [2]string{"1", "3"},
			see: func(t *testing.T, p *lab.Process) string {
				session := p.Register(t, "olga")
				record := p.Want(t, 201, lab.Create(session, "Kettle", "")).Must(t, "data.id")
				fit := 0
				for i := range uint64(4) {
					a, err := upload(p, session, record, i, 600<<10)
					if err != nil {
						t.Fatal(err)
					}
					if a.Status == http.StatusCreated {
						fit++
					}
				}
				return fmt.Sprint(fit)
			}},
		"connections-per-address": {one: "2", other: "3", wrong: "-1",
			see: func(t *testing.T, p *lab.Process) string {
				return connectionsServed(t, p, 6)
			}},
		"drain": {one: "0s", other: "10m", wrong: "5", shows: [2]string{"stopping", "draining"},
			see: func(t *testing.T, p *lab.Process) string {
				if err := p.Cmd.Process.Signal(syscall.SIGTERM); err != nil {
					t.Fatal(err)
				}
				said := ""
				testenv.Wait(t, "stopping or draining", func() bool {
					said = regexp.MustCompile("stopping|draining").FindString(p.Log())
					return said != ""
				})
				return said
			}},
		"mail-limit": {one: "1", other: "2", wrong: "-1", shows: [2]string{"1", "2"}, with: []string{"--sign-in-rate-limit=0"},
			see: func(t *testing.T, p *lab.Process) string {
				session := p.Register(t, "olga")
				code, err := p.Mailed("olga@people.example", "Confirm your email address")
				if err != nil {
					t.Fatal(err)
				}
				p.Want(t, 200, lab.Call{Method: "POST", Path: "/api/auth/verify-email", Secret: session, Body: map[string]string{"code": code}})
				offered := 0
				for i := range 3 {
					record := p.Want(t, 201, lab.Create(session, "Kettle", "")).Must(t, "data.id")
					offer := lab.Call{Method: "POST", Path: "/api/warranties/" + record + "/transfer", Secret: session, Body: map[string]string{"email": fmt.Sprintf("kim%d@people.example", i)}}
					if p.Want(t, 201, offer).Must(t, "data.mailed") == "true" {
						offered++
					}
				}
				return fmt.Sprint(offered)
			}},
		"organization-limit": {one: "1", other: "2", wrong: "-1", shows: [2]string{"1", "2"},
			see: func(t *testing.T, p *lab.Process) string {
				session := p.Register(t, "olga")
				created := 0
				for range 3 {
					a, err := p.Try(lab.Call{Method: "POST", Path: "/api/organizations", Secret: session, Body: map[string]string{"name": "Halden"}})
					if err != nil {
						t.Fatal(err)
					}
					if a.Status == http.StatusCreated {
						created++
					}
				}
				return fmt.Sprint(created)
			}},
		"oauth-metadata-documents": {one: "on", other: "off", wrong: "maybe", shows: [2]string{"true", "false"},
			see: func(t *testing.T, p *lab.Process) string {
				return p.Want(t, 200, lab.Call{Method: "GET", Path: "/.well-known/oauth-authorization-server"}).Must(t, "client_id_metadata_document_supported")
			}},
		"security-contact": {one: "security@one.example", other: "https://other.example/report", wrong: "security team",
			shows: [2]string{"mailto:security@one.example", "https://other.example/report"},
			see:   securityContact},
		"socket-mode": {one: "0600", other: "0666", wrong: "0060", with: []string{"--listen=unix:" + dir + "/s", "--public-url=http://s.example"}, shows: [2]string{"-rw-------", "-rw-rw-rw-"},
			see: func(t *testing.T, _ *lab.Process) string {
				info, err := os.Stat(dir + "/s")
				if err != nil {
					t.Fatal(err)
				}
				return info.Mode().Perm().String()
			}},
		"log-level": {one: "info", other: "debug", wrong: "trace", shows: [2]string{"false", "true"},
			see: func(_ *testing.T, p *lab.Process) string { return fmt.Sprint(strings.Contains(p.Log(), `"settings"`)) }},
		"log-format": {one: "text", other: "json", wrong: "xml", shows: [2]string{"true", "false"},
			see: func(_ *testing.T, p *lab.Process) string {
				return fmt.Sprint(strings.Contains(p.Log(), "msg=listening"))
			}},
		"admin-listen": {one: one, other: other, wrong: "0.0.0.0:8081",
			see: func(*testing.T, *lab.Process) string { return answering("/metrics", one, other) }},
	}
}

func securityContact(t *testing.T, p *lab.Process) string {
	text := p.Want(t, 200, lab.Call{Method: "GET", Path: "/.well-known/security.txt"}).Body
	return regexp.MustCompile(`(?m)^Contact: (.*)$`).FindStringSubmatch(text)[1]
}

func writeFile(t *testing.T, path, content string) {
	t.Helper()
	if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
}

func publicURL(t *testing.T, p *lab.Process) string {
	a := p.Want(t, 201, lab.Create(p.Register(t, "olga"), "Kettle", ""))
	found := map[string]bool{}
	for _, absolute := range []string{a.Header.Get("Location"), a.Must(t, "data.verify_url")} {
		found[regexp.MustCompile(`^https?://[^/]*`).FindString(absolute)] = true
	}
	return strings.Join(slices.Sorted(maps.Keys(found)), " and ")
}

// connectionsServed opens connections from a separate address and returns how many are served.
func connectionsServed(t *testing.T, p *lab.Process, connections int) string {
	t.Helper()
	served := 0
	for range connections {
		conn, err := (&net.Dialer{LocalAddr: &net.TCPAddr{IP: net.IPv4(127, 0, 0, 2)}}).Dial("tcp", strings.TrimPrefix(p.URL, "http://"))
		if errors.Is(err, syscall.ECONNRESET) {
			continue // reset during connect
		}
		if err != nil {
			t.Fatal(err)
		}
		defer conn.Close()
		conn.SetDeadline(time.Now().Add(time.Minute))
		fmt.Fprint(conn, "GET /healthz HTTP/1.1\r\nHost: svc\r\n\r\n")
		if resp, err := http.ReadResponse(bufio.NewReader(conn), nil); err == nil && resp.StatusCode == http.StatusOK {
			served++
		}
	}
	return fmt.Sprint(served)
}

// redirecting returns the addresses that redirect to https.
func redirecting(addresses ...string) string {
	client := &http.Client{CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	var found []string
	for _, address := range addresses {
		if resp, err := client.Get("http://" + address + "/"); err == nil {
			resp.Body.Close()
			if strings.HasPrefix(resp.Header.Get("Location"), "https://") {
				found = append(found, address)
			}
		}
	}
	return strings.Join(found, " and ")
}

// answering reports for each address whether GET returns 200.
func answering(path string, addresses ...string) string {
	var found []string
	for _, address := range addresses {
		resp, err := http.Get("http://" + address + path)
		if err != nil {
			continue
		}
		resp.Body.Close()
		if resp.StatusCode == http.StatusOK {
			found = append(found, address)
		}
	}
	return strings.Join(found, " and ")
}

// count makes calls, numbered from 1, and returns how many are neither throttled nor refused.
func count(t *testing.T, p *lab.Process, calls int, next func(i int) lab.Call) string {
	t.Helper()
	n := 0
	for i := 1; i <= calls; i++ {
		a, err := p.Try(next(i))
		if err != nil {
			t.Fatal(err)
		}
		if a.Status != http.StatusTooManyRequests && a.Status != http.StatusUnprocessableEntity && a.Status != http.StatusForbidden {
			n++
		}
	}
	return fmt.Sprint(n)
}

func registrations(t *testing.T, p *lab.Process, calls int) string {
	t.Helper()
	if err := p.SetUp(); err != nil {
		t.Fatal(err)
	}
	return count(t, p, calls, func(i int) lab.Call {
		name := fmt.Sprintf("person%d", i)
		return lab.Call{Method: "POST", Path: "/api/auth/register", Body: map[string]string{"name": name, "email": name + "@people.example", "password": lab.Password}}
	})
}

func exists(path string) bool { _, err := os.Stat(path); return err == nil }

// TestEverySettingHasAnEffect sets each setting by flag, with another value in the environment that must be ignored, or by
// the environment only. A long run does both for each.
func TestEverySettingHasAnEffect(t *testing.T) {
	t.Parallel()
	rows := effects(t)
	for i, setting := range config.Table() {
		row, ok := rows[setting.Flag]
		if !ok {
			t.Errorf("--%s has no row in effects: add one that checks its effect", setting.Flag)
			continue
		}
		delete(rows, setting.Flag)
		if row.see == nil {
			continue // tested elsewhere
		}
		t.Run(setting.Flag, func(t *testing.T) {
			both := testenv.Long()
			if row.shows == [2]string{} {
				row.shows = [2]string{row.one, row.other}
			} else if row.shows[1] == "true true" {
				both = true // what the first one left is seen, too
			}
			env := []string{setting.Env + "=" + row.other}
			if i%2 == 0 || both {
				row.look(t, row.shows[0], env, "--"+setting.Flag+"="+row.one)
			}
			if i%2 == 1 || both {
				row.look(t, row.shows[1], env)
			}
		})
	}
	for flag := range rows {
		t.Errorf("effects has a row for --%s, which is not a setting", flag)
	}
}

// look starts svcd with a setting and compares its effect.
func (row effect) look(t *testing.T, want string, env []string, args ...string) {
	t.Helper()
	if !strings.Contains(fmt.Sprint(env, row.with), "SVC_LISTEN") {
		args = append(args, "--listen="+lab.FreeAddress(t))
	}
	p, err := lab.Launch(t.TempDir(), env, append(append([]string{lab.Svcd()}, args...), row.with...)...)
	if err != nil {
		t.Fatal(err)
	}
	defer p.Kill()
	if got := row.see(t, p); got != want {
		t.Errorf("%s %s: got %q, want %q", env, args, got, want)
	}
}

// TestWrongSettingIsOneLine sets an invalid value of each setting, by flag and by
// environment, and expects exit status 2 and one line that names the source.
func TestWrongSettingIsOneLine(t *testing.T) {
	t.Parallel()
	for flag, row := range effects(t) {
		env := "SVC_" + strings.ToUpper(strings.ReplaceAll(flag, "-", "_"))
		refused(t, "--"+flag, nil, "--"+flag+"="+row.wrong)
		refused(t, env, []string{env + "=" + row.wrong})
	}
	refused(t, "--colour", nil, "--colour=red")
	refused(t, "--database", nil, "--database=mysql://svc:canary@localhost/svc")
	refused(t, "SVC_REDIS", []string{"SVC_REDIS=http://svc:canary@localhost"})
	refused(t, "--smtp", nil, "--smtp=smtp://svc:can%ary@localhost")
}

// refused runs svcd, which must not start.
func refused(t *testing.T, source string, env []string, args ...string) {
	t.Helper()
	cmd := exec.Command(lab.Svcd(), args...)
	var stdout, stderr bytes.Buffer
	cmd.Dir, cmd.Env, cmd.Stdout, cmd.Stderr, cmd.WaitDelay = t.TempDir(), env, &stdout, &stderr, testenv.Patience
	err := cmd.Start()
	if err == nil {
		timer := time.AfterFunc(testenv.Patience, func() { cmd.Process.Kill() })
		err = cmd.Wait()
		timer.Stop()
	}
	var exit *exec.ExitError
	if !errors.As(err, &exit) || exit.ExitCode() != 2 {
		t.Errorf("%s %s: %v, want exit status 2", env, args, err)
	}
	line := stderr.String()
	if strings.Count(line, "\n") != 1 || !strings.HasPrefix(line, "svcd: ") || !strings.Contains(line, source) {
		t.Errorf("%s %s: want one line that names %s: %q", env, args, source, line)
	}
	if stdout.Len() > 0 || strings.Contains(line, "can") && strings.Contains(fmt.Sprint(env, args), "svc:can") {
		t.Errorf("%s %s: the output reveals the value: %q %q", env, args, stdout.String(), line)
	}
	if files, _ := filepath.Glob(filepath.Join(cmd.Dir, "*")); len(files) > 0 {
		t.Errorf("%s %s: left %s behind", env, args, files)
	}
}

// TestMistypedVariableIsNamed starts with unknown SVC_ variables: one that looks like a setting is refused, and the log
// names others, without their values.
func TestMistypedVariableIsNamed(t *testing.T) {
	t.Parallel()
	_, err := lab.Launch(t.TempDir(), []string{"SVC_RATELIMIT=canary"}, lab.Svcd(), "--listen="+lab.FreeAddress(t))
	if err == nil || !strings.Contains(err.Error(), "SVC_RATELIMIT: is not a setting; write SVC_RATE_LIMIT") || strings.Contains(err.Error(), "canary") {
		t.Error(err)
	}
	p, err := lab.Launch(t.TempDir(), []string{"SVC_BANNER=canary", "SVC_RATE_LIMIT=5", "SVC_API_KEY=canary"}, lab.Svcd(), "--listen="+lab.FreeAddress(t))
	if err != nil {
		t.Fatal(err)
	}
	defer p.Kill()
	if log := p.Log(); !strings.Contains(log, `"names":["SVC_BANNER"]`) || strings.Contains(log, "canary") {
		t.Error(log)
	}
}

// TestHelpListsEverySetting compares the flags in the help with config.Table.
func TestHelpListsEverySetting(t *testing.T) {
	t.Parallel()
	out, err := exec.Command(lab.Svcd(), "--help").Output()
	if err != nil {
		t.Fatal(err)
	}
	var want []string
	for _, s := range config.Table() {
		want = append(want, s.Flag)
		if line := regexp.MustCompile(`(?m)^ +--` + s.Flag + ` .*$`).FindString(string(out)); !strings.Contains(line, s.Help) ||
			!strings.Contains(line, "["+s.Env+"]") || !strings.Contains(line, "(default ") {
			t.Errorf("the help of --%s lacks its description, default or variable: %q", s.Flag, line)
		}
	}
	var got []string
	for _, found := range regexp.MustCompile(`(?m)^ .*?--([a-z-]+)`).FindAllStringSubmatch(string(out), -1) {
		if flag := found[1]; flag != "help" && flag != "version" && !strings.HasSuffix(flag, "-file") {
			got = append(got, found[1])
		}
	}
	if !slices.Equal(got, want) {
		t.Errorf("the help lists %q, the table %q", got, want)
	}
}
