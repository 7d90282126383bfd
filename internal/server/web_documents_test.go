package server_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
)

// TestWebRefusedUploadLosesNothing sends a file that is not taken: the form comes
// back with what was chosen beside it.
func TestWebRefusedUploadLosesNothing(t *testing.T) {
	w := webWorld(t)
	olga := w.Verified("Olga")
	chosen := w.Warranty(olga.Session, nil).ID
	claim := w.claim(olga.Session, chosen)
	w.Warranty(olga.Session, nil)
	b := w.signedIn(t, olga)
	send := func(parts ...part) page {
		return b.sendBody("POST", "/documents", `multipart/form-data; boundary="`+boundary+`"`, strings.NewReader(form(parts...)), "Sec-Fetch-Site", "same-origin")
	}
	kept := []string{`<option value="` + chosen + `" selected`, `<option value="invoice" selected`, `name="claim_id" value="` + claim + `"`}
	beside := []part{field("warranty_id", chosen), field("claim_id", claim), field("type", "invoice")}
	send(append(beside, file("invoice.exe", "MZ"))...).says(t, "a file of another kind", 422, kept...)
	send(append(beside, file("invoice.pdf", text))...).says(t, "a file of another name", 422, kept...)
	send(beside...).says(t, "no file", 422, kept...)
	send(file("invoice.pdf", pdf)).says(t, "nothing beside it", 422, `name="warranty_id"`)
	equal(t, "the answer in the end", send(append(beside, file("invoice.pdf", pdf))...).Status, http.StatusSeeOther)
}

// TestWebOffersTheNewest adds something to one of more warranties than a form
// offers: it says so, and offers the one that the person came from.
func TestWebOffersTheNewest(t *testing.T) {
	w := webWorld(t, busy)
	olga := w.Verified("Olga")
	const hint = "For an older one, begin on its own page."
	b := w.signedIn(t, olga)
	oldest := w.Warranty(olga.Session, nil).ID
	for _, path := range []string{"/claims/new", "/documents/new"} {
		if strings.Contains(b.get(path).Body, hint) {
			t.Errorf("%s speaks of older ones, and there are none", path)
		}
	}
	for i := range 100 {
		w.Warranty(olga.Session, fields{"product_name": fmt.Sprint("Newer ", i)})
	}
	for _, path := range []string{"/claims/new", "/documents/new"} {
		p := b.get(path)
		p.says(t, path, 200, hint)
		equal(t, path+": choices", strings.Count(p.Body, "· WR-"), 100)
		b.get(path+"?warranty_id="+oldest).says(t, path+" from the oldest", 200, hint, `<option value="`+oldest+`" selected`)
	}
}
