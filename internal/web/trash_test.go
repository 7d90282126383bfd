package web_test

import (
	"strings"
	"testing"
)

// TestWebTrash deletes a warranty, undoes it, and restores it from the trash. With an open claim, its reference
// has to be typed.
func TestWebTrash(t *testing.T) {
	w := webWorld(t)
	olga, otto := w.Verified("Olga"), w.Verified("Otto")
	b, other := w.SignedIn(t, olga), w.SignedIn(t, otto)
	record := w.Warranty(olga.Session, fields{"product_name": "Kettle"})
	page, restore := "/warranties/"+record.ID, "/trash/"+record.ID+"/restore"
	b.Get(page).Hides(t, "no claim", `name="reference"`)
	deleted := b.Post(page + "/delete")
	equal(t, "deleted", deleted.Location, "/warranties?done=deleted&undo="+record.ID)
	b.Get(deleted.Location).Says(t, "undo", 200, "Warranty deleted.", `action="`+restore+`"`, ">Undo<")
	b.Get("/warranties?done=deleted&undo=x").Hides(t, "another undo", ">Undo<")
	b.Get(page).Says(t, "the deleted record", 404)
	b.Get("/trash").Says(t, "the trash", 200, "Kettle", record.ReferenceNumber, "Restore")
	other.Get("/trash").Hides(t, "another's trash", "Kettle")
	other.Post(restore).Says(t, "another's record", 404)
	b.Post(restore).Leads(t, "restored", page+"?done=undeleted")
	b.Get(page+"?done=undeleted").Says(t, "the restored record", 200, "Warranty restored.", "restored the warranty")
	b.Get("/trash").Says(t, "the trash", 200, "The trash is empty.")
	b.Post(restore).Says(t, "restored twice", 404)

	w.Claim(olga.Session, record.ID)
	b.Get(page).Says(t, "with a claim", 200, `name="reference"`, "type "+record.ReferenceNumber)
	b.Post(page+"/delete").Says(t, "without the reference", 422, "A claim is open.", "<details open")
	b.Post(page+"/delete", "reference", "WR-1").Says(t, "another reference", 422, "This is not the reference", `value="WR-1"`)
	typed := strings.ToLower(strings.ReplaceAll(record.ReferenceNumber, "-", " "))
	b.Post(page+"/delete", "reference", typed).Leads(t, "with the reference", "/warranties?done=deleted&undo="+record.ID)
}
