package web_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"
)

// TestWebExportJob imports a long sheet and exports the list as jobs. The export has the filters, the order and the
// columns of the list, its file is for the person who started it, and it ends after a day.
func TestWebExportJob(t *testing.T) {
	w := webWorld(t)
	nora := w.Person("Nora")
	b, other := w.SignedIn(t, nora), w.SignedIn(t, w.Person("Otto"))
	const rows = 1100
	var text strings.Builder
	text.WriteString("product_name,category,start_date,end_date\n")
	for i := range rows {
		day := time.Date(2027, 1, 1, 0, 0, 0, 0, time.UTC).AddDate(0, 0, (i*7)%rows)
		fmt.Fprintf(&text, "=Kettle u%d,%s,2026-01-01,%s\n", i, []string{"Kitchen", "Garden"}[i/(rows-50)], day.Format("2006-01-02"))
	}
	run := func(path string) {
		t.Helper()
		if !strings.HasPrefix(path, "/jobs/") {
			t.Fatalf("leads to %q", path)
		}
		if err := w.Jobs.RunOpen(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	preview := uploadSheet(b, "file", text.String())
	imported := uploadSheet(b, "kept", preview.Value("kept"), "shown", preview.Value("shown"), "do", "import")
	run(imported.Location)
	b.Get(imported.Location).Says(t, "the import", 200, "Undo this import")

	const path = "/warranties/export"
	short := b.Post(path, "category", "garden", "sort", "end_date")
	short.Says(t, "a short export", 200)
	equal(t, "rows", len(cells(t, short.Body)), 51)

	b.Post("/warranties/columns", "column", "ends", "column", "export").Leads(t, "columns", "/warranties")
	started := b.Post(path, "q", "kettle", "sort", "end_date")
	running := b.Get(started.Location)
	running.Says(t, "running", 200, "0 of 1,100 rows", `http-equiv="refresh"`, `hx-get="`+started.Location+`"`)
	b.Get(started.Location+"/file").Says(t, "not ready", http.StatusNotFound)
	run(started.Location)
	b.Get(started.Location).Says(t, "done", 200, "1,100 warranties exported.", started.Location+"/file")
	b.Get("/jobs").Says(t, "the list", 200, started.Location, imported.Location)
	file := b.Get(started.Location + "/file")
	equal(t, "the type", file.Header.Get("Content-Type"), "text/csv; charset=utf-8")
	list := cells(t, file.Body)
	equal(t, "the columns", strings.Join(list[0], ","), "product_name,category,seller_name,end_date")
	equal(t, "rows", len(list), rows+1)
	seen := map[string]bool{}
	for i, row := range list[1:] {
		seen[row[0]] = true
		if !strings.HasPrefix(row[0], "'=") || i > 0 && row[3] < list[i][3] {
			t.Fatalf("row %d: %v after %v", i, row, list[i])
		}
	}
	equal(t, "different rows", len(seen), rows)

	everything := b.Post("/warranties/bulk", "action", "export", "all", "1", "account", "")
	run(everything.Location)
	equal(t, "everything", len(cells(t, b.Get(everything.Location+"/file").Body)), rows+1)

	other.Get(started.Location).Says(t, "another person", http.StatusNotFound)
	other.Get(started.Location+"/file").Says(t, "another person", http.StatusNotFound)
	other.Get("/jobs").Hides(t, "another person", started.Location)
	w.Clock.Advance(25 * time.Hour)
	b.Get(started.Location).Says(t, "a day later", 200, "The file was deleted")
	b.Get(started.Location+"/file").Says(t, "a day later", http.StatusNotFound)

	stopped := b.Post(path, "q", "kettle")
	now := w.Service.Now
	w.Service.Now = func() time.Time {
		if w.Count(`SELECT count(*) FROM jobs WHERE state = 1 AND done BETWEEN 1 AND 900`) == 1 {
			w.Exec(`DELETE FROM sessions WHERE id = (SELECT session_id FROM jobs WHERE state = 1)`)
		}
		return now()
	}
	run(stopped.Location)
	w.Service.Now = now
	w.SignedIn(t, nora).Get(stopped.Location).Says(t, "signed out", 200, "The export stopped: You signed out")
}
