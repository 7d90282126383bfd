package web_test

import (
	"regexp"
	"strings"
	"testing"
)

// TestWebFormIsSentOnce sends the form of a new warranty twice, as a double click or a reload does: it
// creates one record. A changed or a new form creates another.
func TestWebFormIsSentOnce(t *testing.T) {
	w := webWorld(t)
	olga := w.Verified("Olga")
	b := w.SignedIn(t, olga)
	number := func() string {
		found := regexp.MustCompile(`name="once" value="([^"]+)"`).FindStringSubmatch(b.Get("/warranties/new").Body)
		if found == nil {
			t.Fatal("the form has no once field")
		}
		return found[1]
	}
	send := func(once, product string) string {
		t.Helper()
		sent := b.Post("/warranties", "once", once, "product_name", product, "start_date", "2026-01-01", "end_date", "2028-01-01")
		equal(t, "the status", sent.Status, 303)
		return sent.Location
	}
	once := number()
	first := send(once, "Kettle")
	equal(t, "the same again", send(once, "Kettle"), first)
	equal(t, "records", w.Records(), 1)
	if send(once, "Toaster") == first || send(number(), "Kettle") == first {
		t.Error("another form returned the first record")
	}
	equal(t, "records in the end", w.Records(), 3)

	again := b.Post("/warranties", "once", once, "product_name", " ", "start_date", "2026-01-01", "end_date", "2028-01-01")
	again.Says(t, "an invalid form", 422, `name="once" value="`+once+`"`)

	// A record that was deleted is not created again by a reload, only by a new form.
	w.Must(204, made("DELETE", "/api/v1/warranties/"+strings.TrimSuffix(strings.TrimPrefix(first, "/warranties/"), "?done=created"), olga.Session, nil))
	gone := b.Post("/warranties", "once", once, "product_name", "Kettle", "start_date", "2026-01-01", "end_date", "2028-01-01")
	gone.Says(t, "a form whose record is gone", 422, "Save again to create another one.", `value="Kettle"`)
	equal(t, "the same once value", strings.Contains(gone.Body, once), false)
	equal(t, "records after that", w.Records(), 3)
}

// TestNumbersLeadToPages opens pages by the reference number of a warranty and the number of a claim.
func TestNumbersLeadToPages(t *testing.T) {
	w := webWorld(t)
	olga := w.Verified("Olga")
	b := w.SignedIn(t, olga)
	record := w.Warranty(olga.Session, fields{"product_name": "Kettle"})
	var claim struct {
		ClaimNumber string `json:"claim_number"`
	}
	w.Must(200, made("GET", "/api/v1/claims/"+w.Claim(olga.Session, record.ID), olga.Session, nil)).Into(t, &claim)
	typed := strings.ToLower(strings.ReplaceAll(record.ReferenceNumber, "-", ""))
	for _, path := range []string{"/warranties/" + typed, "/warranties/" + typed + "/edit"} {
		b.Get(path).Says(t, path, 200, "Kettle")
	}
	b.Get("/claims/"+claim.ClaimNumber).Says(t, "a claim", 200, claim.ClaimNumber, "Kettle")
	for _, path := range []string{"/claims/new?warranty_id=" + typed, "/documents/new?warranty_id=" + typed} {
		b.Get(path).Says(t, path, 200, `<option value="`+record.ID+`" selected`)
	}
	sent := b.Post("/warranties/"+typed, "product_name", "Toaster", "start_date", "2026-01-01", "end_date", "2028-01-01")
	equal(t, "after a change", sent.Location, "/warranties/"+record.ID+"?done=updated")
	w.SignedIn(t, w.Verified("Zoe")).Get("/warranties/"+typed).Says(t, "another user's", 404, "Not found")
	equal(t, "after deleting", b.Post("/warranties/"+typed+"/delete", "reference", typed).Location,
		"/warranties?done=deleted&undo="+record.ID)
}
