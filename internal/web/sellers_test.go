package web_test

import (
	"html"
	"regexp"
	"strings"
	"testing"
)

var shownConfirmation = regexp.MustCompile(`name="selected" value="([^"]+)"`)

// TestWebConfirmSeveral confirms selected warranties and a whole page. A warranty that changed since the page was
// opened is not confirmed, and the page shows what it says now.
func TestWebConfirmSeveral(t *testing.T) {
	w := webWorld(t)
	owner, seller := w.Verified("Nora"), w.Verified("Sami")
	b := w.SignedIn(t, seller)
	b.Get("/confirmations").Says(t, "nothing", 200, "Nothing is waiting for you.")
	for _, name := range []string{"Kettle", "Lamp", "Pan", "Pot"} {
		w.Warranty(owner.Session, fields{"product_name": name, "seller_email": seller.Email, "brand": "Bosch", "model": "M-" + name})
	}
	page := b.Get("/confirmations")
	page.Says(t, "the list", 200, "<bdi>Bosch</bdi> · <bdi>M-Kettle</bdi>", "Confirm selected", "Confirm all 4 on this page")
	values := shownConfirmation.FindAllStringSubmatch(page.Body, -1)
	for i := range values {
		values[i][1] = html.UnescapeString(values[i][1])
	}
	equal(t, "boxes", len(values), 4)
	b.Post("/confirmations", "which", "selected").Says(t, "none", 422, "Select at least one warranty.")
	b.Post("/confirmations", "which", "selected", "selected", "nonsense").Says(t, "nonsense", 400)
	confirmed := `SELECT count(*) FROM warranties WHERE seller_id IS NOT NULL`
	runs := func() {
		t.Helper()
		if err := w.Jobs.RunOpen(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	one := []string{"which", "selected", "selected", values[0][1], "once", w.Service.NewID().String()}
	job := b.Post("/confirmations", one...).Location
	equal(t, "sent twice", b.Post("/confirmations", one...).Location, job)
	equal(t, "jobs", w.Count(`SELECT count(*) FROM jobs`), 1)
	runs()
	equal(t, "confirmed", w.Count(confirmed), 1)
	shown := "/confirmations?job=" + strings.TrimPrefix(job, "/jobs/")
	b.Get(shown).Says(t, "the result", 200, "1 of 1 warranties confirmed.", "You can undo this until", ">Undo<")
	b.Post(job + "/undo")
	runs()
	b.Get(shown).Says(t, "the undo", 200, "1 of 1 warranties changed back.", "Confirm all 4 on this page")
	equal(t, "confirmed", w.Count(confirmed), 0)

	id := values[1][1][:36]
	w.Must(200, request{Method: "PUT", Path: "/api/v1/warranties/" + id, Secret: owner.Session, Body: fields{"end_date": "2090-01-01"}})
	b.Post("/confirmations/"+id, "decision", "confirm", "if_match", values[1][1][37:]).
		Says(t, "one that changed", 422, "has changed since you opened this page", "1 Jan 2090")
	job = b.Post("/confirmations", "which", "page", "shown", values[1][1], "shown", values[2][1]).Location
	runs()
	b.Get("/confirmations?job="+strings.TrimPrefix(job, "/jobs/")).Says(t, "the page", 200,
		"1 of 2 warranties confirmed.", "Changed since you opened the page. Check it again.", "1 Jan 2090")
	equal(t, "confirmed", w.Count(confirmed), 1)
	job = b.Post("/confirmations", "which", "decline", "selected", values[3][1]).Location
	runs()
	b.Get("/confirmations?job="+strings.TrimPrefix(job, "/jobs/")).Says(t, "declined", 200, "1 of 1 warranties declined.", ">Undo<")
	equal(t, "declined", w.Count(`SELECT count(*) FROM declined`), 1)
}
