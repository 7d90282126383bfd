package web_test

import (
	"net/http"
	"strings"
	"testing"

	"warranty.example/svc/internal/servertest"
)

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
		sent := browser.Post(path, append([]string{"action", action}, values...)...)
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
	form.Says(t, "the form", 200, "Void", "1 selected", `name="id" value="`+records[0].ID+`"`)
	b.Post(path, append([]string{"action", "void", "value", " "}, ids(records[0])...)...).Says(t, "no reason", 422, "Enter a reason.")
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
	started := b.Post("/warranties/bulk", sent...)
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
		sent := desk.Post(path, append(values, "account", shop.id)...)
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
