package web_test

import (
	"net/http"
	"strings"
	"testing"
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
		if err := w.Service.RunJobs(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	run()
	equal(t, "records", w.Count(`SELECT count(*) FROM warranties`), 2)
	w.MailedCode("kim@people.example")
	done := b.Get(started.Location)
	done.Says(t, "done", 200, "Created", "Rows that were not imported", "4, 5", "Undo import")
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
