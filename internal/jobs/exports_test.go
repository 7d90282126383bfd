package jobs_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"
	"time"

	"warranty.example/svc/internal/files"
	"warranty.example/svc/internal/jobs"
	"warranty.example/svc/internal/servertest"
	"warranty.example/svc/internal/service"
	"warranty.example/svc/warranty"
)

// exportLines is a kind of job that writes lines to a file. before is called before each line.
func exportLines(w *world, before func(line int) error) jobs.Work {
	return func(ctx context.Context, p warranty.Principal, j *warranty.Job, save func() error) error {
		f, err := w.Service.WriteExport(ctx, p, func(to io.Writer) error {
			for line := range 500 {
				if err := errors.Join(before(line), save()); err != nil {
					return err
				}
				if _, err := io.WriteString(to, strings.Repeat(fmt.Sprintf("line %d ", line), 200)+"\n"); err != nil {
					return err
				}
			}
			return nil
		})
		if err != nil {
			return err
		}
		text, err := json.Marshal(f)
		j.Result = string(text)
		return err
	}
}

func exportOf(w *world, p warranty.Principal, id warranty.ID) (f service.ExportFile) {
	w.T.Helper()
	j, err := w.Jobs.Job(w.T.Context(), p, id)
	if err != nil {
		w.T.Fatal(err)
	}
	equal(w.T, "state", j.State, warranty.JobDone)
	if err := json.Unmarshal([]byte(j.Result), &f); err != nil {
		w.T.Fatal(err)
	}
	return f
}

// TestExportsSurviveAndEnd: an export that is killed begins again and its file is whole. Only the person who started it
// sees it. After a day the files of both attempts are gone, without ever being orphans.
func TestExportsSurviveAndEnd(t *testing.T) {
	eachStore(t, func(t *testing.T, w *world) {
		shop := newShop(w, "Ann")
		killed := errors.New("killed")
		start := func() warranty.Job {
			t.Helper()
			j, err := w.Jobs.StartExport(t.Context(), shop.Principal, jobs.Export{}, 500)
			if err != nil {
				t.Fatal(err)
			}
			return j
		}
		attempts := 0
		w.Jobs.Kinds[jobs.ExportKind] = exportLines(w, func(line int) error {
			if line == 0 {
				attempts++
			}
			if attempts == 1 && line == 300 {
				return killed
			}
			return nil
		})
		j := start()
		if err := w.Jobs.RunOpen(t.Context()); !errors.Is(err, killed) {
			t.Fatal(err)
		}
		w.Clock.Advance(2 * time.Minute)
		if err := w.Jobs.RunOpen(t.Context()); err != nil {
			t.Fatal(err)
		}
		f := exportOf(w, shop.Principal, j.ID)
		content, err := w.Service.OpenExport(t.Context(), f)
		if err != nil {
			t.Fatal(err)
		}
		text, err := io.ReadAll(content)
		if err := errors.Join(err, content.Close()); err != nil {
			t.Fatal(err)
		}
		lines := strings.Split(strings.TrimSuffix(string(text), "\n"), "\n")
		equal(t, "size", int64(len(text)), f.Size)
		equal(t, "lines", len(lines), 500)
		for i, line := range lines {
			if line != strings.Repeat(fmt.Sprintf("line %d ", i), 200) {
				t.Fatalf("line %d is %.30s", i, line)
			}
		}

		// Others of the account, and the person for another account, do not see it.
		bob := w.Verified("Bob")
		if _, err := w.Service.CreateInvitation(t.Context(), signedIn(w, shop.admin), warranty.CreateInvitation{
			ID: shop.Organization.ID, Email: bob.Email, Role: warranty.Admin,
		}); err != nil {
			t.Fatal(err)
		}
		invited := warranty.AcceptInvitation{Code: w.MailedCode(bob.Email)}
		if _, err := w.Service.AcceptInvitation(t.Context(), signedIn(w, bob), invited); err != nil {
			t.Fatal(err)
		}
		for what, p := range map[string]warranty.Principal{
			"another admin": actingFor(w, bob, shop.Organization.ID), "the person's own account": signedIn(w, shop.admin),
		} {
			if _, err := w.Jobs.Job(t.Context(), p, j.ID); !errors.Is(err, warranty.ErrNotFound) {
				t.Errorf("%s: %v", what, err)
			}
			if list, err := w.Jobs.List(t.Context(), p); err != nil || len(list) != 0 {
				t.Errorf("%s: %v, %v", what, list, err)
			}
		}
		if list, err := w.Jobs.List(t.Context(), shop.Principal); err != nil || len(list) != 1 {
			t.Errorf("the list: %v, %v", list, err)
		}

		sweep := func(after time.Duration) {
			t.Helper()
			w.Clock.Advance(after)
			if err := w.Service.SweepFiles(t.Context()); err != nil {
				t.Fatal(err)
			}
		}
		sweep(23 * time.Hour)
		equal(t, "files after 23 hours", stored(w, files.Complete), 1)
		equal(t, "orphans", w.Count(`SELECT count(*) FROM unused_files WHERE state <> 1`), 0)
		sweep(2 * time.Hour)
		equal(t, "files after 25 hours", stored(w, files.Complete, files.Trash), 0)
		if _, err := w.Service.OpenExport(t.Context(), f); warranty.AsError(err).Code != warranty.NotFound {
			t.Errorf("after a day: %v", err)
		}
	})
}

// TestExportsEndWithTheSession: an export does not go on after its person has signed out, and an account can start a
// limited number of them.
func TestExportsEndWithTheSession(t *testing.T) {
	servertest.Each(t, func(t *testing.T, w *world) {
		person := w.Verified("Ann")
		ann := signedIn(w, person)
		w.Jobs.Kinds[jobs.ExportKind] = exportLines(w, func(int) error { return nil })
		j, err := w.Jobs.StartExport(t.Context(), ann, jobs.Export{}, 1)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := w.Service.SignOut(t.Context(), ann, warranty.SignOut{}); err != nil {
			t.Fatal(err)
		}
		if err := w.Jobs.RunOpen(t.Context()); err != nil {
			t.Fatal(err)
		}
		person.Session = w.SignIn(person.Email, person.Password)
		again := signedIn(w, person)
		j, err = w.Jobs.Job(t.Context(), again, j.ID)
		if err != nil || j.State != warranty.JobFailed {
			t.Fatalf("%v, %v", j, err)
		}
		equal(t, "files", stored(w, files.Complete), 0)
		for n := 1; n < warranty.MaxExports; n++ {
			if _, err = w.Jobs.StartExport(t.Context(), again, jobs.Export{}, 1); err != nil {
				t.Fatal(err)
			}
		}
		if _, err := w.Jobs.StartExport(t.Context(), again, jobs.Export{}, 1); warranty.AsError(err).Code != warranty.InUse {
			t.Fatalf("one too many: %v", err)
		}
		w.Clock.Advance(25 * time.Hour)
		person.Session = w.SignIn(person.Email, person.Password)
		later := signedIn(w, person)
		w.Exec(`UPDATE jobs SET state = 2`)
		if _, err := w.Jobs.StartExport(t.Context(), later, jobs.Export{}, 1); err != nil {
			t.Fatal(err)
		}
	})
}
