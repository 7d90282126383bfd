package service_test

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

func (w *world) exportOf(t *testing.T, p person, id warranty.ID) (f service.ExportFile) {
	t.Helper()
	j, err := w.Jobs.Job(ctx, p.Principal, id)
	if err != nil {
		t.Fatal(err)
	}
	equal(t, "state", j.State, warranty.JobDone)
	if err := json.Unmarshal([]byte(j.Result), &f); err != nil {
		t.Fatal(err)
	}
	return f
}

// TestExportsSurviveAndEnd: an export that is killed begins again and its file is whole. Only the person who started it
// sees it. After a day the files of both attempts are gone, without ever being orphans.
func TestExportsSurviveAndEnd(t *testing.T) {
	eachStore(t, func(t *testing.T, w *world) {
		shop := w.issuer("Ann")
		killed := errors.New("killed")
		start := func() warranty.Job {
			t.Helper()
			j, err := w.Jobs.StartExport(ctx, shop.acting.Principal, jobs.Export{}, 500)
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
		if err := w.Jobs.RunOpen(ctx); !errors.Is(err, killed) {
			t.Fatal(err)
		}
		w.Clock.Advance(2 * time.Minute)
		if err := w.Jobs.RunOpen(ctx); err != nil {
			t.Fatal(err)
		}
		f := w.exportOf(t, shop.acting, j.ID)
		content, err := w.Service.OpenExport(ctx, f)
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
		bob := w.person("Bob", true)
		w.join(shop.admin, shop.Organization, bob, warranty.Admin)
		for what, p := range map[string]warranty.Principal{
			"another admin": w.acting(bob, shop.Organization), "the person's own account": shop.admin.Principal,
		} {
			if _, err := w.Jobs.Job(ctx, p, j.ID); !errors.Is(err, warranty.ErrNotFound) {
				t.Errorf("%s: %v", what, err)
			}
			if list, err := w.Jobs.List(ctx, p); err != nil || len(list) != 0 {
				t.Errorf("%s: %v, %v", what, list, err)
			}
		}
		if list, err := w.Jobs.List(ctx, shop.acting.Principal); err != nil || len(list) != 1 {
			t.Errorf("the list: %v, %v", list, err)
		}

		sweep := func(after time.Duration) {
			t.Helper()
			w.Clock.Advance(after)
			if err := w.Service.SweepFiles(ctx); err != nil {
				t.Fatal(err)
			}
		}
		sweep(23 * time.Hour)
		equal(t, "files after 23 hours", w.in(files.Complete), 1)
		equal(t, "orphans", w.number(`SELECT count(*) FROM unused_files WHERE state <> 1`), int64(0))
		sweep(2 * time.Hour)
		equal(t, "files after 25 hours", w.in(files.Complete)+w.in(files.Trash), 0)
		if _, err := w.Service.OpenExport(ctx, f); warranty.AsError(err).Code != warranty.NotFound {
			t.Errorf("after a day: %v", err)
		}
	})
}

// TestExportsEndWithTheSession: an export does not go on after its person has signed out, and an account can start a
// limited number of them.
func TestExportsEndWithTheSession(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		ann := w.person("Ann", true)
		w.Jobs.Kinds[jobs.ExportKind] = exportLines(w, func(int) error { return nil })
		j, err := w.Jobs.StartExport(ctx, ann.Principal, jobs.Export{}, 1)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := w.Service.SignOut(ctx, ann.Principal, warranty.SignOut{}); err != nil {
			t.Fatal(err)
		}
		if err := w.Jobs.RunOpen(ctx); err != nil {
			t.Fatal(err)
		}
		again := w.session(ann.User, time.Hour)
		j, err = w.Jobs.Job(ctx, again.Principal, j.ID)
		if err != nil || j.State != warranty.JobFailed {
			t.Fatalf("%v, %v", j, err)
		}
		equal(t, "files", w.in(files.Complete), 0)
		for n := 1; n < warranty.MaxExports; n++ {
			if _, err = w.Jobs.StartExport(ctx, again.Principal, jobs.Export{}, 1); err != nil {
				t.Fatal(err)
			}
		}
		if _, err := w.Jobs.StartExport(ctx, again.Principal, jobs.Export{}, 1); warranty.AsError(err).Code != warranty.InUse {
			t.Fatalf("one too many: %v", err)
		}
		w.Clock.Advance(25 * time.Hour)
		later := w.session(ann.User, time.Hour)
		w.execute(`UPDATE jobs SET state = 2`)
		if _, err := w.Jobs.StartExport(ctx, later.Principal, jobs.Export{}, 1); err != nil {
			t.Fatal(err)
		}
	})
}
