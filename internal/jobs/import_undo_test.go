package jobs_test

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"warranty.example/svc/internal/jobs"
	"warranty.example/svc/internal/servertest"
	"warranty.example/svc/internal/testenv"
	"warranty.example/svc/warranty"
)

// sheetOf returns a sheet with some rows, whose values end with a suffix.
func sheetOf(suffix string, from, to int) string {
	text := "external_id,product_name,start_date,end_date,category,customer_name,brand,price,currency\n"
	for i := from; i < to; i++ {
		text += fmt.Sprintf("X-%d,Pan%s,2026-01-0%d,2028-01-01,Home%s,Pat%s,Halden%s,%d.00,EUR\n",
			i, suffix, 1+len(suffix), suffix, suffix, suffix, 10+len(suffix))
	}
	return text
}

// startsImport starts an import that updates known records.
func (s shop) startsImport(p warranty.Principal, text string) warranty.Job {
	s.T.Helper()
	in := jobs.Import{Text: []byte(text), Update: true}
	j, err := s.Jobs.Start(s.T.Context(), p, jobs.ImportKind, in, int64(strings.Count(text, "\n")-1))
	if err != nil {
		s.T.Fatal(err)
	}
	return j
}

// imports imports a sheet and returns the closed job.
func (s shop) imports(p warranty.Principal, text string) (warranty.Job, jobs.ImportResult) {
	s.T.Helper()
	j := s.startsImport(p, text)
	s.runs()
	return s.imported(j.ID)
}

func (s shop) imported(id warranty.ID) (j warranty.Job, result jobs.ImportResult) {
	s.T.Helper()
	j = s.job(id)
	equal(s.T, "state", j.State, warranty.JobDone)
	if err := json.Unmarshal([]byte(j.Result), &result); err != nil {
		s.T.Fatal(err)
	}
	equal(s.T, "refused", result.Refused, 0)
	return j, result
}

// importUndone returns the result of undoing an import.
func (s shop) importUndone(j warranty.Job) (out jobs.Undone, changed int64) {
	s.T.Helper()
	done := s.job(j.ID)
	equal(s.T, "state", done.State, warranty.JobUndone)
	_, changed, err := s.Store.CountJobChanges(s.T.Context(), j.ID)
	if err == nil {
		err = json.Unmarshal([]byte(done.Result), &out)
	}
	if err != nil {
		s.T.Fatal(err)
	}
	return out, changed
}

// sheetRows returns what a sheet can change of all warranties that are not deleted.
func (s shop) sheetRows() []string {
	list := s.Rows(`SELECT external_id || ' ' || product_name || ' ' || CAST(start_date AS TEXT) || ' ' || CAST(end_date AS TEXT) || ' ' ||
		COALESCE(category, '-') || ' ' || COALESCE(customer_name, '-') || ' ' || COALESCE(brand, '-') || ' ' ||
		COALESCE(CAST(price AS TEXT), '-') || ' ' || COALESCE(currency, '-') || ' ' || CAST(standing AS TEXT) || ' ' ||
		CASE WHEN seller_id IS NULL THEN '-' ELSE 'confirmed' END || CASE WHEN customer_id IS NULL THEN ' -' ELSE ' customer' END
		FROM warranties WHERE deleted_at IS NULL AND external_id IS NOT NULL`)
	slices.Sort(list)
	return list
}

// recordOf returns the warranty with an external id.
func (s shop) recordOf(external string) warranty.Warranty {
	s.T.Helper()
	list, err := s.Service.ListWarranties(s.T.Context(), s.Principal, warranty.ListWarranties{
		WarrantyFilter: warranty.WarrantyFilter{ExternalID: external}, Paging: warranty.Paging{Page: 1, Limit: 1},
	})
	if err != nil || len(list.Data) != 1 {
		s.T.Fatalf("%s: %v, %v", external, list, err)
	}
	return list.Data[0]
}

// TestUndoAnImportThatUpdated: undoing an import gives the records that it updated their values back, with the
// confirmation of a seller, and deletes those that it created. Customers who own one are told nothing within ten minutes,
// and of both changes later.
func TestUndoAnImportThatUpdated(t *testing.T) {
	servertest.Each(t, func(t *testing.T, w *world) {
		s, kim := newShop(w, "Ann"), signedIn(w, w.Verified("Kim"))
		s.imports(s.Principal, sheetOf("", 0, 6))
		owned := s.recordOf("X-1")
		if _, err := w.Service.Take(t.Context(), kim, warranty.TakeHandover{Code: s.prints(owned.ID)}); err != nil {
			t.Fatal(err)
		}
		w.Exec(`UPDATE warranties SET seller_id = issuer_id WHERE external_id = 'X-2'`)
		w.Exec(`DELETE FROM mails`)
		w.Exec(`DELETE FROM mail_notices`)
		before := s.sheetRows()
		send := func(what string, want int) {
			t.Helper()
			w.Exec(`UPDATE mail_notices SET due_at = 0`)
			w.Exec(`DELETE FROM mail_log`)
			if err := w.Service.SendNotices(t.Context()); err != nil {
				t.Fatal(err)
			}
			equal(t, what, w.Count(`SELECT count(*) FROM mails WHERE address = 'kim@people.example'`), want)
			w.Exec(`DELETE FROM mails`)
		}
		undo := func(j warranty.Job) {
			t.Helper()
			w.Clock.Advance(time.Second)
			if err := w.Jobs.Undo(t.Context(), s.Principal, j.ID); err != nil {
				t.Fatal(err)
			}
			s.runs()
			out, changed := s.importUndone(j)
			equal(t, "undone", fmt.Sprint(out.Deleted, len(out.Kept), changed, len(out.KeptChanges)), "2 0 6 0")
			equal(t, "what is left", strings.Join(s.sheetRows(), "\n"), strings.Join(before, "\n"))
			err := w.Jobs.Undo(t.Context(), s.Principal, j.ID)
			equal(t, "again", warranty.AsError(err).Code, warranty.InvalidTransition)
		}
		j, result := s.imports(s.Principal, sheetOf(" 2", 0, 8))
		equal(t, "imported", fmt.Sprint(result.Created, result.Updated), "2 6")
		undo(j)
		send("at once, Kim", 0)

		j, _ = s.imports(s.Principal, sheetOf(" 3", 0, 8))
		send("of the import, Kim", 1)
		undo(j)
		send("of the undo, Kim", 1)
		faults, err := w.Store.CheckRecords(t.Context(), warranty.DateOf(w.Clock.Now()), func(string) {})
		if err != nil || len(faults) > 0 {
			t.Errorf("%v, %v", faults, err)
		}
	})
}

// TestUndoAnImportKeepsWhatChanged: what a colleague changed after an import, or a customer registered, stays as it is
// and is named. An undo that stopped because its person lost the role is continued by an administrator.
func TestUndoAnImportKeepsWhatChanged(t *testing.T) {
	servertest.Each(t, func(t *testing.T, w *world) {
		s, kim := newShop(w, "Ann"), signedIn(w, w.Verified("Kim"))
		bob := s.joins("Bob", warranty.Member)
		s.imports(s.Principal, sheetOf("", 0, 5))
		slip := s.prints(s.recordOf("X-3").ID)
		before := s.sheetRows()
		j, _ := s.imports(bob, sheetOf(" 2", 0, 5))
		renamed := s.recordOf("X-1")
		s.renames(renamed.ID)
		taken, err := w.Service.Take(t.Context(), kim, warranty.TakeHandover{Code: slip})
		if err != nil {
			t.Fatal(err)
		}
		after := s.sheetRows()

		if err := w.Jobs.Undo(t.Context(), bob, j.ID); err != nil {
			t.Fatal(err)
		}
		w.Exec(`UPDATE members SET role = 3 WHERE role = 2`) // viewer
		s.runs()
		equal(t, "stopped", s.job(j.ID).UndoStopped(), true)
		equal(t, "what is left", fmt.Sprint(s.sheetRows()), fmt.Sprint(after))
		if err := w.Jobs.Undo(t.Context(), s.Principal, j.ID); err != nil {
			t.Fatal(err)
		}
		s.runs()
		out, changed := s.importUndone(j)
		equal(t, "changed back", changed, int64(3))
		want := fmt.Sprintf("[{ It was changed since. 2 [%s %s]}]", renamed.ReferenceNumber, taken.ReferenceNumber)
		for i := range out.KeptChanges {
			out.KeptChanges[i].Parts = nil
		}
		equal(t, "kept", strings.ReplaceAll(fmt.Sprint(out.KeptChanges), " <nil>", ""), want)
		for i, row := range s.sheetRows() {
			if was := before[i]; i == 1 || i == 3 {
				was = after[i]
				equal(t, "kept", row, was)
			} else {
				equal(t, "given back", row, was)
			}
		}
	})
}

// TestAnImportDoesNotRepeatAnUpdate: an import that was interrupted changes no row again that someone changed
// meanwhile, and its undo knows what it did before.
func TestAnImportDoesNotRepeatAnUpdate(t *testing.T) {
	servertest.Each(t, func(t *testing.T, w *world) {
		s := newShop(w, "Ann")
		s.imports(s.Principal, sheetOf("", 0, 4))
		before := s.sheetRows()
		j := s.startsImport(s.Principal, sheetOf(" 2", 0, 4))
		first := warranty.CreateBatch{Existing: warranty.UpdateExisting, Items: []warranty.BatchItem{
			{Text: []byte(`{"external_id":"X-0","product_name":"Pan 2","start_date":"2026-01-03","end_date":"2028-01-01"}`)},
			{Text: []byte(`{"external_id":"X-1","product_name":"Pan 2","start_date":"2026-01-03","end_date":"2028-01-01"}`)},
		}}
		if _, err := w.Service.CreateBatchInJob(t.Context(), s.Principal, first, j.ID, []int64{2, 3}); err != nil {
			t.Fatal(err)
		}
		s.renames(s.recordOf("X-1").ID)
		s.runs()
		_, result := s.imported(j.ID)
		equal(t, "updated", fmt.Sprint(result.Updated, result.AlreadyImported), "4 0")
		equal(t, "what was renamed", s.recordOf("X-1").ProductName, "Renamed")
		if err := w.Jobs.Undo(t.Context(), s.Principal, j.ID); err != nil {
			t.Fatal(err)
		}
		s.runs()
		out, changed := s.importUndone(j)
		equal(t, "undone", fmt.Sprint(changed, len(out.KeptChanges)), "3 1")
		rows := s.sheetRows()
		equal(t, "the others", fmt.Sprint(rows[0], rows[2:]), fmt.Sprint(before[0], before[2:]))
	})
}

// TestImportsAndTheirUndoAtOnce: two workers of an import, and then of its undo, of which one lost its lease, change and
// give back every record once. A colleague's edit is never lost.
func TestImportsAndTheirUndoAtOnce(t *testing.T) {
	servertest.EachReplicas(t, func(t *testing.T, worlds []*world) {
		const rows = 60
		w, last := worlds[0], worlds[len(worlds)-1]
		s := newShop(w, "Ann")
		s.imports(s.Principal, sheetOf("", 0, rows))
		before := s.sheetRows()
		// two has two workers perform a job, the second once some records are as they should be.
		two := func(what, some string) {
			t.Helper()
			testenv.Together(2, func(i int) {
				if i == 1 {
					testenv.Wait(t, what, func() bool { return w.Count(some) > 3 })
					w.Exec(`UPDATE jobs SET leased_until = 0 WHERE state IN (1, 4)`)
				}
				_ = []*world{w, last}[i].Jobs.RunOpen(t.Context()) // a lost lease, or a change that was made
			})
			for _, replica := range worlds {
				replica.Clock.Advance(time.Minute)
			}
			s.runs()
		}
		j := s.startsImport(s.Principal, sheetOf(" 2", 0, rows+5))
		two("a change", `SELECT count(*) FROM job_changes`)
		_, result := s.imported(j.ID)
		equal(t, "imported", result.Updated+result.Created+result.AlreadyImported, rows+5)
		equal(t, "changes", w.Count(`SELECT count(*) FROM job_changes`), rows)
		if err := w.Jobs.Undo(t.Context(), s.Principal, j.ID); err != nil {
			t.Fatal(err)
		}
		two("a change back", `SELECT count(*) FROM job_changes WHERE undone_at IS NOT NULL`)
		out, changed := s.importUndone(j)
		equal(t, "undone", fmt.Sprint(changed, out.KeptChanges, out.Kept), fmt.Sprintf("%d [] []", rows))
		equal(t, "what is left", fmt.Sprint(s.sheetRows()), fmt.Sprint(before))

		j, _ = s.imports(s.Principal, sheetOf(" 2", 0, rows))
		ids := w.Rows(`SELECT external_id FROM warranties WHERE deleted_at IS NULL`)
		if err := w.Jobs.Undo(t.Context(), s.Principal, j.ID); err != nil {
			t.Fatal(err)
		}
		testenv.Together(2, func(i int) {
			if i == 0 {
				s.runs()
				return
			}
			for _, id := range ids[:10] {
				s.renames(s.recordOf(id).ID)
			}
		})
		_, changed = s.importUndone(j)
		kept := w.Count(`SELECT count(*) FROM warranties WHERE category = 'Home 2' AND deleted_at IS NULL`)
		equal(t, "given back or kept", int(changed)+kept, rows)
		equal(t, "no edit is lost", w.Count(`SELECT count(*) FROM warranties WHERE product_name = 'Renamed'`), 10)
	}, servertest.Busy)
}

// TestAnImportNotesOnlyWhatItChanged: the status that an import sets for a record that it creates is no change to undo,
// and one that it sets for a record that was there is.
func TestAnImportNotesOnlyWhatItChanged(t *testing.T) {
	servertest.Each(t, func(t *testing.T, w *world) {
		s := newShop(w, "Ann")
		const head = "reference_number,product_name,serial_number,start_date,end_date,verify_url,status\n"
		const pot, pan = ",Pot,S-1,2026-01-01,2028-01-01,,", ",Pan,S-2,2026-01-01,2028-01-01,,void\n"
		s.imports(s.Principal, head+pot+"active\n")
		j, result := s.imports(s.Principal, head+pot+"void\n"+pan)
		equal(t, "imported", fmt.Sprint(result.Created, result.AlreadyImported), "1 1")
		const void = `SELECT count(*) FROM warranties WHERE standing <> 1 AND deleted_at IS NULL`
		equal(t, "void", w.Count(void), 2)
		equal(t, "changes", w.Count(`SELECT count(*) FROM job_changes`), 1)
		w.Clock.Advance(time.Second)
		if err := w.Jobs.Undo(t.Context(), s.Principal, j.ID); err != nil {
			t.Fatal(err)
		}
		s.runs()
		out, changed := s.importUndone(j)
		equal(t, "undone", fmt.Sprint(out.Deleted, changed), "1 1")
		equal(t, "void", w.Count(void), 0)
	})
}
