package web_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"warranty.example/svc/warranty"
)

// TestWebViews saves the filters of the list under a name, shows them as chips, and remembers columns.
func TestWebViews(t *testing.T) {
	w := webWorld(t)
	olga, otto := w.Verified("Olga"), w.Verified("Otto")
	b, other := w.SignedIn(t, olga), w.SignedIn(t, otto)
	w.Warranty(olga.Session, fields{"product_name": "Kettle", "category": "Home", "supplier": "Berg & Co"})
	list := b.Get("/warranties?category=home&status=active&done=saved")
	list.Says(t, "chips", 200, "Category: home", "In force", `href="/warranties?status=active"`, `href="/warranties?category=home"`)

	b.Post("/warranties/views", "name", "At <home>", "category", "home", "sort", "end_date", "page", "9").
		Leads(t, "saved", "/warranties?category=home&done=view_saved&sort=end_date")
	const link = `href="/warranties?category=home&amp;sort=end_date"><bdi>At &lt;home&gt;<`
	b.Get("/warranties").Says(t, "the view", 200, link)
	b.Post("/warranties/views", "name", "at <HOME>", "q", "pot").Leads(t, "replaced", "/warranties?done=view_saved&q=pot")
	equal(t, "views", w.Count(`SELECT count(*) FROM views`), 1)
	b.Post("/warranties/views", "name", " ").Says(t, "no name", 422, "view-name-error", "<summary>Saved views")
	for i := range warranty.MaxViews - 1 {
		b.Post("/warranties/views", "name", fmt.Sprint("View ", i))
	}
	full := b.Post("/warranties/views", "name", "One more", "category", "home", "sort", "end_date")
	full.Says(t, "too many", 422, "saved too many views", "Category: home", `href="/warranties?sort=end_date"`, "Kettle", "<details open>")
	equal(t, "what was typed", full.Value("name"), "One more")
	w.Exec(`DELETE FROM views WHERE name LIKE 'View %'`)
	_, rest, _ := strings.Cut(b.Get("/warranties").Body, `action="/warranties/views/`)
	id, _, _ := strings.Cut(rest, "/")
	other.Get("/warranties").Hides(t, "another account", "HOME")
	other.Post("/warranties/views/"+id+"/delete").Says(t, "another account", 404)
	b.Post("/warranties/views/"+id+"/delete").Leads(t, "deleted", "/warranties?done=view_deleted")
	b.Get("/warranties").Hides(t, "the view", "HOME")

	b.Get("/warranties").Hides(t, "the usual columns", "Berg &amp; Co")
	chosen := b.Post("/warranties/columns", "column", "supplier", "column", "evil", "q", "kettle")
	chosen.Leads(t, "columns", "/warranties?q=kettle")
	equal(t, "the cookie", strings.HasSuffix(b.Columns, "=none.supplier"), true)
	page := b.Get("/warranties")
	page.Says(t, "the columns", http.StatusOK, "Berg &amp; Co")
	page.Hides(t, "the columns", "Reference, serial</th>")
}
