package e2e

import (
	"fmt"
	"math/rand/v2"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"warranty.example/svc/e2e/lab"
	"warranty.example/svc/internal/testenv"
)

// A key pair of age, for tests only.
const (
	recipient = "age1x3tle45pd9h8p045680653yfvn9ggsreyhvw8s6met3zzf6pvgyqcya93a"
	identity  = "AGE-SECRET-KEY-1U0EV7JZQ8CSJ8DM32YY0FK2X2GHTHQPQXTX4NCK6JLJN057H59UQ42QWUS"
	otherKey  = "AGE-SECRET-KEY-1VZQA4CEQ8H48CXK2GHW5RPJKMKTQ2LC49ED8DGCVFWGA69E0AW5QSRZKWD"
)

// inBucket returns the URL of an object below the prefix of a URL.
func inBucket(url, name string) string { return strings.Replace(url, "?", "/"+name+"?", 1) }

// wrote returns the name of the backup that a command says it wrote.
func wrote(t *testing.T, out string) string {
	t.Helper()
	found := regexp.MustCompile(`wrote \S*/(svcd-\S+\.tar(?:\.age)?):`).FindStringSubmatch(out)
	if len(found) != 2 {
		t.Fatalf("no name in %s", out)
	}
	return found[1]
}

// databaseFlags returns the settings of a new database.
func databaseFlags(t *testing.T, kind, folder string) []string {
	flags := []string{"--data=" + folder}
	if kind == "postgres" {
		flags = append(flags, "--database="+testenv.Postgres(t))
	}
	return flags
}

// TestBackupsInS3AndEncrypted writes backups to a folder and to S3, plain and encrypted, verifies and restores them. A
// wrong identity, a changed bit and a missing end are told apart. No output contains a key.
func TestBackupsInS3AndEncrypted(t *testing.T) {
	t.Parallel()
	for _, kind := range []string{"sqlite", "postgres"} {
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			for name, text := range map[string]string{"id": identity, "other": otherKey, "to": "# me\n" + recipient + "\n"} {
				if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			for _, name := range []string{"b0", "b1"} {
				if err := os.Mkdir(filepath.Join(dir, name), 0o700); err != nil {
					t.Fatal(err)
				}
			}
			source := databaseFlags(t, kind, filepath.Join(dir, "data"))
			withDocuments(t, dir, 4, source...)
			bucket := testenv.S3(t)
			secret := regexp.MustCompile(`:([^:@]+)@`).FindStringSubmatch(bucket)[1]
			said := ""
			run := func(code int, args ...string) string {
				t.Helper()
				out, got := runSvcd(t, dir, args...)
				if said += out; got != code {
					t.Errorf("svcd %s: exit %d, want %d: %s", args[0], got, code, out)
				}
				return out
			}
			for i, c := range []struct{ to, recipients string }{
				{"b0", ""}, {"b1", recipient}, {bucket, ""}, {inBucket(bucket, "sub"), "to"},
			} {
				args := append([]string{"backup", "--to", c.to, "--keep=last=9"}, source...)
				var key []string
				if c.recipients != "" {
					args, key = append(args, "--encrypt-to", c.recipients), []string{"--identity=id"}
				}
				name := wrote(t, run(0, args...))
				place := c.to + "/" + name
				if i >= 2 {
					place = inBucket(c.to, name)
				}
				if out := run(0, append([]string{"backup", "verify", place}, key...)...); !strings.Contains(out, "is complete and unchanged") ||
					!strings.Contains(out, "4 files") || strings.Contains(out, "encrypted") != (key != nil) {
					t.Error(out)
				}
				target := databaseFlags(t, kind, filepath.Join(dir, fmt.Sprint("new", i)))
				if key != nil {
					for _, command := range [][]string{{"backup", "verify", place}, append([]string{"restore", place}, target...)} {
						if out := run(2, command...); !strings.Contains(out, "the backup is encrypted; give a file with its identity") {
							t.Error(out)
						}
						if out := run(2, append(command, "--identity=other")...); !strings.Contains(out, "no identity matches") {
							t.Error(out)
						}
					}
				}
				run(0, append(append([]string{"restore", place}, target...), key...)...)
				if out := run(0, append([]string{"doctor", "--deep"}, target...)...); strings.Contains(out, "failed  ") ||
					!strings.Contains(out, "4 files") || !strings.Contains(out, "warning backup    never;") {
					t.Error(out)
				}
				if i < 2 {
					damage(t, run, filepath.Join(dir, place), key)
				}
			}
			if out := run(2, "restore", bucket, "--data=none"); !strings.Contains(out, "give one backup, such as the newest: s3://") {
				t.Error(out)
			}
			if out := run(2, "backup", "verify", inBucket(bucket, "missing.tar")); !strings.Contains(out, "missing.tar does not exist") {
				t.Error(out)
			}
			if strings.Contains(said, secret) || strings.Contains(said, identity) || strings.Contains(said, otherKey) {
				t.Errorf("a key was printed: %s", said)
			}
		})
	}
}

// damage changes a backup and expects verify to find out.
func damage(t *testing.T, run func(code int, args ...string) string, path string, key []string) {
	t.Helper()
	whole, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	flipped := append([]byte{}, whole...)
	flipped[len(flipped)/2] ^= 4
	cut := "svcd: the backup is incomplete"
	if key != nil {
		cut = "svcd: the backup is damaged: it was changed or cut off"
	}
	for says, content := range map[string][]byte{
		cut:                                   whole[:len(whole)*2/3],
		"svcd: the backup is damaged: ":       flipped,
		"svcd: this is not a backup of svcd;": []byte("hello"),
	} {
		if err := os.WriteFile(path+".damaged", content, 0o600); err != nil {
			t.Fatal(err)
		}
		if out := run(3, append([]string{"backup", "verify", path + ".damaged"}, key...)...); !strings.Contains(out, says) {
			t.Errorf("%s: %s", says, out)
		}
	}
}

// TestKilledBackupsLeaveNothingThatLooksGood kills backups to a folder and to S3 at random moments. Whatever has the name
// of a backup is whole, and the next backup succeeds and removes what is left in the folder.
func TestKilledBackupsLeaveNothingThatLooksGood(t *testing.T) {
	t.Parallel()
	for _, kind := range []string{"sqlite", "postgres"} {
		for _, place := range []string{"folder", "bucket"} {
			t.Run(kind+" to a "+place, func(t *testing.T) {
				t.Parallel()
				dir := t.TempDir()
				source := databaseFlags(t, kind, filepath.Join(dir, "data"))
				p := lab.StartIn(t, dir, append(source, lab.Unthrottled...)...)
				session := p.Register(t, "olga")
				record := p.Want(t, 201, lab.Create(session, "Kettle", "")).Must(t, "data.id")
				for i := range 3 { // more than one part of S3
					if a, err := upload(p, session, record, uint64(i), 9<<20); err != nil || a.Status != 201 {
						t.Fatalf("upload: %d %s %v", a.Status, a.Body, err)
					}
				}
				to, at := "b", func(name string) string { return "b/" + name }
				if place == "bucket" {
					to = testenv.S3(t)
					at = func(name string) string { return inBucket(to, name) }
				} else if err := os.Mkdir(filepath.Join(dir, to), 0o700); err != nil {
					t.Fatal(err)
				}
				whole, kills := 0, testenv.Times(2, 8)
				for i := range kills {
					name := fmt.Sprintf("killed%d.tar", i)
					killSvcd(t, dir, time.Duration(20+rand.IntN(400))*time.Millisecond, append([]string{"backup", at(name)}, source...)...)
					out, code := runSvcd(t, dir, "backup", "verify", at(name))
					switch {
					case code == 0:
						whole++
					case code != 2 || !strings.Contains(out, "no such file") && !strings.Contains(out, "does not exist"):
						t.Errorf("exit %d: %s", code, out)
					}
				}
				t.Logf("%d of %d were faster than the kill", whole, kills)
				for i := range kills { // the same names again: what a killed one left is removed
					if out, code := runSvcd(t, dir, append([]string{"backup", at(fmt.Sprintf("killed%d.tar", i))}, source...)...); code != 0 &&
						!strings.Contains(out, "already exists") {
						t.Errorf("exit %d: %s", code, out)
					}
				}
				if left, _ := filepath.Glob(filepath.Join(dir, "b", "*.partial")); len(left) > 0 {
					t.Errorf("left behind: %v", left)
				}
				mustSvcd(t, dir, "backup", "verify", at("killed0.tar"))
			})
		}
	}
}

// TestTheAgeOfBackupsIsKnown: any process that makes a backup records it, and every server, doctor and metric knows it.
func TestTheAgeOfBackupsIsKnown(t *testing.T) {
	t.Parallel()
	for _, kind := range []string{"sqlite", "postgres"} {
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			dir, admin := t.TempDir(), lab.FreeAddress(t)
			source := databaseFlags(t, kind, filepath.Join(dir, "data"))
			lab.StartIn(t, dir, append(source, "--admin-listen="+admin)...)
			metric := func(name string) string {
				t.Helper()
				text := (&lab.Process{URL: "http://" + admin, Client: http.DefaultClient}).Want(t, 200, lab.Call{Method: "GET", Path: "/metrics"}).Body
				found := regexp.MustCompile(`(?m)^` + name + ` (\S+)$`).FindStringSubmatch(text)
				if len(found) != 2 {
					t.Fatalf("no %s", name)
				}
				return found[1]
			}
			doctor := func(code int, says string) {
				t.Helper()
				if out, got := runSvcd(t, dir, append([]string{"doctor"}, source...)...); got != code || !strings.Contains(out, says) {
					t.Errorf("exit %d, no %q in\n%s", got, says, out)
				}
			}
			const success, failures = "svc_backup_last_success_timestamp_seconds", "svc_backup_failures_total"
			if got := metric(success); got != "0" {
				t.Errorf("%s before the first backup", got)
			}
			doctor(0, "warning backup    never; make one with svcd backup and schedule it")
			mustSvcd(t, dir, append([]string{"backup", "b.tar"}, source...)...)
			doctor(0, "ok      backup    less than a minute old: ")
			first := metric(success)
			if first == "0" || metric(failures) != "0" || metric("svc_backup_last_size_bytes") == "0" {
				t.Errorf("after a backup: %s, %s failures", first, metric(failures))
			}
			if out, code := runSvcd(t, dir, append([]string{"backup", "b.tar"}, source...)...); code != 2 {
				t.Errorf("exit %d: %s", code, out)
			}
			doctor(1, "failed  backup    the last attempt failed less than a minute ago: b.tar already exists and is not overwritten; the last good backup: ")
			if metric(success) != first || metric(failures) != "1" {
				t.Errorf("after a failure: %s, %s failures", metric(success), metric(failures))
			}
			mustSvcd(t, dir, append([]string{"backup", "b2.tar"}, source...)...)
			doctor(0, "ok      backup    less than a minute old: ")
		})
	}
}
