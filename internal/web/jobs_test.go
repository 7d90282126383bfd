package web_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"warranty.example/svc/internal/servertest"
	"warranty.example/svc/warranty"
)

// TestWebImportJob imports a sheet with customers for an organization: the job runs without the browser, its
// page shows counts and grouped errors, and undoing deletes what nobody took.
func TestWebImportJob(t *testing.T) {
	w, b, _ := newTill(t)
	const rows = "product_name,start_date,end_date,serial_number,customer_email\n" +
		"Kettle,2026-01-02,2028-01-01,K-1,kim@people.example\nLamp,2026-01-02,2028-01-01,L-1,\n" +
		"Pan,2026-01-02,2025-01-01,P-1,\nPot,2026-01-02,2025-01-01,P-2,\n"
	preview := uploadSheet(b.browser, "sheet", rows, "do", "check", "account", b.account)
	preview.Says(t, "the preview", 200, "Kettle")
	started := uploadSheet(b.browser, "kept", preview.Value("kept"), "shown", preview.Value("shown"), "do", "import", "account", b.account)
	equal(t, "started", started.Status, http.StatusSeeOther)
	if !strings.HasPrefix(started.Location, "/jobs/") {
		t.Fatalf("leads to %s", started.Location)
	}
	b.Get(started.Location).Says(t, "running", 200, "You can close this page.", "0 of 4 rows", `hx-get="`+started.Location)
	run := func() {
		t.Helper()
		if err := w.Jobs.RunOpen(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	run()
	equal(t, "records", w.Count(`SELECT count(*) FROM warranties`), 2)
	w.MailedCode("kim@people.example")
	done := b.Get(started.Location)
	done.Says(t, "done", 200, "2 created", "2 not imported", "Rows that were not imported", "4, 5", "Undo this import")
	done.Hides(t, "done", "hx-get=")
	b.Get(started.Location, "HX-Request", "true", "X-Account", b.account).Says(t, "a part", 200, `id="job"`)
	eve := w.SignedIn(t, w.Verified("Eve"))
	eve.Get(started.Location).Says(t, "a stranger", http.StatusNotFound)
	eve.Post(started.Location+"/undo").Says(t, "a stranger", http.StatusNotFound)
	b.Post(started.Location+"/undo", "account", b.account).Leads(t, "undo", started.Location)
	b.Get(started.Location).Says(t, "undoing", 200, "Undoing")
	run()
	b.Get(started.Location).Says(t, "undone", 200, "Import undone. Warranties deleted: 2.")
	equal(t, "records", w.Count(`SELECT count(*) FROM warranties WHERE deleted_at IS NULL`), 0)
	b.Post(started.Location+"/undo", "account", b.account).Says(t, "undone twice", http.StatusConflict)
}

// TestStoppedImportCountsWhatItCreated ends the session in the middle of an import: its page counts every warranty that
// exists, and undoing deletes them. The undo is stopped in the same way: its page says so, and undoing again continues.
func TestStoppedImportCountsWhatItCreated(t *testing.T) {
	w, b, _ := newTill(t)
	var rows strings.Builder
	rows.WriteString("product_name,start_date,end_date,serial_number\n")
	for i := range 80 {
		fmt.Fprintf(&rows, "Kettle,2026-01-02,2028-01-01,K-%d\n", i)
	}
	preview := uploadSheet(b.browser, "sheet", rows.String(), "do", "check", "account", b.account)
	started := uploadSheet(b.browser, "kept", preview.Value("kept"), "shown", preview.Value("shown"), "do", "import", "account", b.account)
	other := w.SignedIn(t, servertest.Person{Email: "nora@people.example", Password: servertest.Password})
	other.Account = b.Account
	b.Get(started.Location).Says(t, "running", 200, "Signing out stops it.")
	signOutAt(t, w, `SELECT count(*) FROM warranties`, 50)
	equal(t, "created", w.Count(`SELECT count(*) FROM warranties`), 50)
	for range 2 { // the second time, as if the process had stopped before it stored its progress
		other.Get(started.Location).Says(t, "stopped", 200, "You signed out", "50 created", "import the same file again", "Undo this import")
		w.Exec(`UPDATE jobs SET result = ''`)
	}
	other.Post(started.Location+"/undo", "account", b.account).Leads(t, "undo", started.Location)
	undoing := other.Get(started.Location)
	undoing.Says(t, "undoing", 200, "0 of 50 warranties", "The undo continues in the background. Signing out stops it.")
	undoing.Hides(t, "undoing", "The import continues in the background.")
	signOutAt(t, w, `SELECT count(*) FROM warranties WHERE deleted_at IS NOT NULL`, 10)
	third := w.SignedIn(t, servertest.Person{Email: "nora@people.example", Password: servertest.Password})
	third.Account = b.Account
	stopped := third.Get(started.Location)
	stopped.Says(t, "the undo stopped", 200, "The undo stopped: You signed out", "10 of 50 new warranties were deleted.", `action="`+started.Location+`/undo"`)
	stopped.Hides(t, "the undo stopped", "The import stopped", "import the same file again")
	list := third.Get("/jobs")
	list.Says(t, "the list", 200, "Undo stopped", "10 of 50 warranties")
	list.Hides(t, "the list", ">Failed<")
	third.Post(started.Location+"/undo", "account", b.account).Leads(t, "undo again", started.Location)
	if err := w.Jobs.RunOpen(t.Context()); err != nil {
		t.Fatal(err)
	}
	third.Get(started.Location).Says(t, "undone", 200, "Import undone. Warranties deleted: 50.")
}

// signOutAt runs the jobs and ends the session of the open one as soon as a query counts n.
func signOutAt(t *testing.T, w *world, query string, n int) {
	t.Helper()
	newID := w.Service.NewID
	defer func() { w.Service.NewID = newID }()
	w.Service.NewID = func() warranty.ID {
		if w.Count(query) == n {
			w.Exec(`DELETE FROM sessions WHERE id = (SELECT session_id FROM jobs WHERE state IN (1, 4))`)
		}
		return newID()
	}
	if err := w.Jobs.RunOpen(t.Context()); err != nil {
		t.Fatal(err)
	}
}
