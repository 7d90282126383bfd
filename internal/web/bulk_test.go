package web_test

import (
	"net/http"
	"regexp"
	"strings"
	"testing"

	"warranty.example/svc/internal/servertest"
	"warranty.example/svc/internal/testenv"
)

// hiddenSeen are the fields of the page of an action that name what it listed, and the form.
var hiddenSeen = regexp.MustCompile(`name="(seen|once)" value="([^"]+)"`)

// performs sends the form of an action on warranties and then that of its page.
func performs(browser *servertest.Browser, values ...string) servertest.Page {
	browser.T.Helper()
	var first []string
	value := ""
	for i := 0; i < len(values); i += 2 {
		if values[i] == "value" {
			value = values[i+1]
		} else {
			first = append(first, values[i:i+2]...)
		}
	}
	page := browser.Post("/warranties/bulk", first...)
	for _, found := range hiddenSeen.FindAllStringSubmatch(page.Body, 2) {
		first = append(first, found[1], found[2])
	}
	return browser.Post("/warranties/bulk", append(first, "value", value)...)
}

// TestWebBulk changes selected warranties: with a page for what the change needs, as a job with a result, and with
// an Undo for deletions. What cannot be changed is skipped and named.
func TestWebBulk(t *testing.T) {
	w := webWorld(t)
	olga, otto := w.Verified("Olga"), w.Verified("Otto")
	b, other := w.SignedIn(t, olga), w.SignedIn(t, otto)
	var records []servertest.Record
	for _, name := range []string{"Kettle", "Lamp", "Pan"} {
		records = append(records, w.Warranty(olga.Session, fields{"product_name": name, "category": "Home"}))
	}
	theirs := w.Warranty(otto.Session, fields{"product_name": "Secret pot"})
	w.Claim(olga.Session, records[1].ID)
	const path = "/warranties/bulk"
	ids := func(list ...servertest.Record) (values []string) {
		for _, r := range list {
			values = append(values, "id", r.ID)
		}
		return values
	}
	send := func(browser *servertest.Browser, action string, values ...string) string {
		t.Helper()
		sent := performs(browser, append([]string{"action", action}, values...)...)
		if sent.Status != http.StatusSeeOther || !strings.HasPrefix(sent.Location, "/jobs/") {
			t.Fatalf("%s: %d, leads to %s: %s", action, sent.Status, sent.Location, sent.Body)
		}
		if err := w.Jobs.RunOpen(t.Context()); err != nil {
			t.Fatal(err)
		}
		return sent.Location
	}
	b.Get("/warranties").Says(t, "the list", 200, `name="id" value="`+records[0].ID+`"`, `value="delete"`, `action="`+path+`"`)
	b.Post(path, "action", "delete").Says(t, "nothing selected", 422, "Select at least one warranty.")
	b.Post(path, "action", "burn", "id", records[0].ID).Says(t, "an unknown action", 400)
	b.Post(path, "action", "delete", "id", "x").Says(t, "an unknown id", 400)

	form := b.Post(path, append([]string{"action", "void"}, ids(records[0])...)...)
	form.Says(t, "the form", 200, "1 warranty will be void", "1 selected", `name="id" value="`+records[0].ID+`"`, ">Kettle<",
		records[0].ReferenceNumber, "You can undo this for 10 minutes.")
	performs(b, append([]string{"action", "void", "value", " "}, ids(records[0])...)...).Says(t, "no reason", 422, "Enter a reason.")
	b.Post(path, append([]string{"action", "void", "value", "Lost"}, ids(records[0])...)...).
		Says(t, "without its page", 409, "The selection has changed.", `value="Lost"`)
	claim := `href="/claims/new?warranty_id=` + records[0].ID
	b.Get("/warranties/"+records[0].ID).Says(t, "in force", 200, claim)
	b.Get(send(b, "void", append(ids(records[0]), "value", "Lost")...)).Says(t, "voided", 200, "1 of 1 warranties voided.")
	b.Get("/warranties/"+records[0].ID).Hides(t, "what it does not cover", claim)
	b.Get("/warranties/"+records[0].ID).Says(t, "the record", 200, "Void", "Lost")

	b.Get(send(b, "category", append(ids(records[0], theirs), "value", "Kitchen")...)).Says(t, "the category", 200,
		"Category set on 1 of 2 warranties.", "No longer in your account")
	kitchen := b.Get("/warranties?category=kitchen")
	kitchen.Says(t, "the category", 200, "Kettle")
	kitchen.Hides(t, "others", "Lamp", "Secret pot")

	exported := b.Post(path, append([]string{"action", "export"}, ids(records[0], theirs)...)...)
	exported.Says(t, "the export", 200, "Kettle")
	exported.Hides(t, "the export", "Lamp", "Secret pot")
	labels := b.Post(path, append([]string{"action", "labels"}, ids(records[1], records[2])...)...)
	labels.Says(t, "labels", 200, records[1].ReferenceNumber, records[2].ReferenceNumber)

	b.Post(path, append([]string{"action", "delete"}, ids(append(records, theirs)...)...)...).Says(t, "the page", 200,
		"2 warranties move to the trash", "A claim is open.", "/warranties/"+records[1].ReferenceNumber, "No longer in your account")
	deleted := send(b, "delete", ids(records...)...)
	b.Get(deleted).Says(t, "deleted", 200, "2 of 3 warranties moved to the trash.", "A claim is open.",
		"/warranties/"+records[1].ReferenceNumber, ">Undo<")
	b.Get("/warranties?job="+strings.TrimPrefix(deleted, "/jobs/")).Says(t, "above the list", 200, "2 of 3 warranties moved to the trash.")
	left := b.Get("/warranties")
	left.Says(t, "the list", 200, "Lamp")
	left.Hides(t, "the list", ">Kettle<", ">Pan<", "moved to the trash")
	other.Get("/warranties?job="+strings.TrimPrefix(deleted, "/jobs/")).Hides(t, "another's job", "moved to the trash")
	other.Post(deleted+"/undo").Says(t, "another's job", 404)
	restored := b.Post(deleted + "/undo")
	equal(t, "undo", restored.Status, http.StatusSeeOther)
	if err := w.Jobs.RunOpen(t.Context()); err != nil {
		t.Fatal(err)
	}
	b.Get(restored.Location).Says(t, "restored", 200, "2 of 2 warranties changed back.")
	b.Get("/warranties").Says(t, "the list", 200, "Lamp", "Kettle", "Pan")

	// Everything that matches the filter.
	b.Post(path, "action", "delete", "all", "1", "category", "home").Says(t, "all", 200, "2 selected", `name="all" value="1"`)
	b.Get(send(b, "delete", "all", "1", "category", "home", "value", "")).Says(t, "all", 200, "1 of 2 warranties moved to the trash.")
	left = b.Get("/warranties")
	left.Says(t, "the list", 200, "Lamp", "Kettle")
	left.Hides(t, "the list", ">Pan<")
}

// TestStoppedBulkDelete ends the session in the middle of a deletion: its page counts what was deleted of all, and Undo
// restores it.
func TestStoppedBulkDelete(t *testing.T) {
	w := webWorld(t)
	olga := w.Verified("Olga")
	b, again := w.SignedIn(t, olga), w.SignedIn(t, olga)
	sent := []string{"action", "delete", "value", ""}
	for range 4 {
		sent = append(sent, "id", w.Warranty(olga.Session, fields{"product_name": "Kettle"}).ID)
	}
	started := performs(b, sent...)
	equal(t, "started", started.Status, http.StatusSeeOther)
	running := b.Get(started.Location)
	running.Says(t, "running", 200, "0 of 4 warranties", "The change continues in the background, and you find it under Imports and exports. Signing out stops it.")
	running.Hides(t, "running", "The import continues in the background.")
	const left = `SELECT count(*) FROM warranties WHERE deleted_at IS NULL`
	signOutAt(t, w, left, 2)
	equal(t, "left", w.Count(left), 2)
	stopped := again.Get(started.Location)
	stopped.Says(t, "stopped", 200, "The change ended early. You signed out", "2 of 4 warranties moved to the trash.", ">Undo<")
	stopped.Hides(t, "stopped", `class="flash success"`)
	again.Accept = "de"
	above := again.Get("/warranties?job=" + strings.TrimPrefix(started.Location, "/jobs/"))
	above.Says(t, "in German", 200, "Sie haben sich abgemeldet", "2 von 4 Garantien in den Papierkorb verschoben.")
	again.Accept = ""
	restored := again.Post(started.Location + "/undo")
	equal(t, "undo", restored.Status, http.StatusSeeOther)
	if err := w.Jobs.RunOpen(t.Context()); err != nil {
		t.Fatal(err)
	}
	again.Get(restored.Location).Says(t, "restored", 200, "2 of 2 warranties changed back.")
	equal(t, "left", w.Count(left), 4)
}

// TestSlipsOutliveTheUndoOfABulkDelete prints a slip, deletes its warranty with others, and takes that back.
func TestSlipsOutliveTheUndoOfABulkDelete(t *testing.T) {
	w := webWorld(t)
	shop, kim := newShop(w, "Nordhaus Elektro", ""), w.Verified("Kim")
	made := shop.issues(nil)
	slip := shop.prints(made.ID)
	desk, b := w.SignedIn(t, shop.admin), w.SignedIn(t, kim)
	desk.Post("/switch", "account", shop.id)
	run := func(path string, values ...string) string {
		t.Helper()
		send := func(values ...string) servertest.Page { return desk.Post(path, values...) }
		if path == "/warranties/bulk" {
			send = func(values ...string) servertest.Page { return performs(desk, values...) }
		}
		sent := send(append(values, "account", shop.id)...)
		equal(t, path, sent.Status, http.StatusSeeOther)
		if err := w.Jobs.RunOpen(t.Context()); err != nil {
			t.Fatal(err)
		}
		return sent.Location
	}
	deleted := run("/warranties/bulk", "action", "delete", "value", "", "id", made.ID, "id", shop.issues(nil).ID)
	b.Post("/take", "code", slip).Says(t, "deleted", 422, "This warranty was withdrawn.")
	run(deleted + "/undo")
	b.Post("/take/confirm", "account", kim.ID, "code", slip).Leads(t, "after the undo", "/take/done/"+made.ID)
}

// TestClumsyBulk: forms that are sent twice, with the ids of others, too many ids, a selection that changed, or the job of
// someone else change nothing that the person did not see, and lose nothing.
func TestClumsyBulk(t *testing.T) {
	w := webWorld(t)
	olga, otto := w.Verified("Olga"), w.Verified("Otto")
	b, other := w.SignedIn(t, olga), w.SignedIn(t, otto)
	const path, void = "/warranties/bulk", `SELECT count(*) FROM warranties WHERE standing <> 1`
	var ids []string
	for range 12 {
		ids = append(ids, "id", w.Warranty(olga.Session, fields{"product_name": "Kettle", "category": "Home"}).ID)
	}
	theirs := w.Warranty(otto.Session, fields{"product_name": "Secret pot"})
	hidden := func(page servertest.Page) (list []string) {
		for _, found := range hiddenSeen.FindAllStringSubmatch(page.Body, 2) {
			list = append(list, found[1], found[2])
		}
		return list
	}
	form := b.Post(path, append([]string{"action", "void"}, ids...)...)
	form.Says(t, "the page", 200, "12 warranties will be void", "and 2 more")
	values := append([]string{"action", "void", "value", "Lost"}, append(hidden(form), ids...)...)

	// Others, with what is not theirs.
	other.Post(path, values...).Says(t, "another account", 409, "No longer in your account")
	other.Post(path, "action", "void", "id", theirs.ID, "id", ids[1]).Hides(t, "the page", ">Kettle<")
	b.Post(path, append(values, "id", theirs.ID)...).Says(t, "one more than was listed", 409, "The selection has changed.", `value="Lost"`)
	equal(t, "void", w.Count(void), 0)
	many := []string{"action", "void"}
	for range 10_000 {
		many = append(many, "id", w.Service.NewID().String())
	}
	b.Post(path, many...).Says(t, "10,000 ids", 400)
	b.Post(path, many[:2+2*101]...).Says(t, "101 ids", 422, "Select at most 100 warranties.")

	// The same form twice, also at once.
	var locations [3]string
	testenv.Together(len(locations), func(i int) {
		sent := w.SignedIn(t, olga).Post(path, values...)
		locations[i] = sent.Location
	})
	for _, location := range locations {
		equal(t, "leads to", location, locations[0])
	}
	equal(t, "jobs", w.Count(`SELECT count(*) FROM jobs`), 1)
	if err := w.Jobs.RunOpen(t.Context()); err != nil {
		t.Fatal(err)
	}
	equal(t, "void", w.Count(void), 12)
	job := locations[0]
	squat := append([]string{"action", "void", "value", "Lost", "once", strings.TrimPrefix(job, "/jobs/")}, "id", theirs.ID)
	for i, v := range hidden(other.Post(path, "action", "void", "id", theirs.ID)) {
		if i == 1 {
			squat = append(squat, "seen", v)
		}
	}
	other.Post(path, squat...).Says(t, "the id of another one's job", 400)

	// Undo, twice and by others.
	other.Post(job+"/undo").Says(t, "another account", 404)
	other.Get(job).Says(t, "another account", 404)
	b.Get(job).Says(t, "the result", 200, "12 of 12 warranties voided.", ">Undo<", "You can undo this until")
	equal(t, "undo", b.Post(job+"/undo").Status, http.StatusSeeOther)
	b.Post(job+"/undo").Says(t, "twice", 409)
	if err := w.Jobs.RunOpen(t.Context()); err != nil {
		t.Fatal(err)
	}
	undone := b.Get(job)
	undone.Says(t, "undone", 200, "12 of 12 warranties changed back.")
	undone.Hides(t, "undone", ">Undo<")
	b.Post(job+"/undo").Says(t, "again", 409, "This was undone before.")
	equal(t, "void", w.Count(void), 0)
	b.Post("/jobs/x/undo").Says(t, "an unknown job", 404)

	// What the filter selects changed since the page was shown.
	form = b.Post(path, "action", "delete", "all", "1", "category", "home")
	form.Says(t, "all", 200, "12 warranties move to the trash")
	w.Warranty(olga.Session, fields{"product_name": "New", "category": "Home"})
	values = append([]string{"action", "delete", "all", "1", "category", "home", "value", ""}, hidden(form)...)
	b.Post(path, values...).Says(t, "one more", 409, "The selection has changed.", "13 warranties move to the trash")
	equal(t, "deleted", w.Count(`SELECT count(*) FROM warranties WHERE deleted_at IS NOT NULL`), 0)
}
