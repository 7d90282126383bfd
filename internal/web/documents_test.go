package web_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
)

// TestWebRefusedUploadLosesNothing sends invalid uploads: the form is shown again with the other
// fields filled.
func TestWebRefusedUploadLosesNothing(t *testing.T) {
	w := webWorld(t)
	olga := w.Verified("Olga")
	chosen := w.Warranty(olga.Session, nil).ID
	claim := w.Claim(olga.Session, chosen)
	w.Warranty(olga.Session, nil)
	b := w.SignedIn(t, olga)
	send := func(parts ...part) page {
		return b.SendBody("POST", "/documents", `multipart/form-data; boundary="`+boundary+`"`,
			strings.NewReader(form(parts...)), "Sec-Fetch-Site", "same-origin")
	}
	kept := []string{`<option value="` + chosen + `" selected`, `<option value="invoice" selected`, `name="claim_id" value="` + claim + `"`}
	beside := []part{field("warranty_id", chosen), field("claim_id", claim), field("type", "invoice")}
	send(append(beside, file("invoice.exe", "MZ"))...).Says(t, "a file of another type", 422, kept...)
	send(append(beside, file("invoice.pdf", text))...).Says(t, "content that does not match the name", 422, kept...)
	send(beside...).Says(t, "no file", 422, kept...)
	send(file("invoice.pdf", pdf)).Says(t, "no other fields", 422, `name="warranty_id"`)
	equal(t, "a valid upload", send(append(beside, file("invoice.pdf", pdf))...).Status, http.StatusSeeOther)
}

// TestWebOffersTheNewest has more warranties than the form lists: it says so, and it lists the one of
// its warranty_id.
func TestWebOffersTheNewest(t *testing.T) {
	w := webWorld(t, busy)
	olga := w.Verified("Olga")
	const hint = "For an older one, start on its page."
	b := w.SignedIn(t, olga)
	oldest := w.Warranty(olga.Session, nil).ID
	for _, path := range []string{"/claims/new", "/documents/new"} {
		if strings.Contains(b.Get(path).Body, hint) {
			t.Errorf("%s has the hint without older warranties", path)
		}
	}
	for i := range 100 {
		w.Warranty(olga.Session, fields{"product_name": fmt.Sprint("Newer ", i)})
	}
	for _, path := range []string{"/claims/new", "/documents/new"} {
		p := b.Get(path)
		p.Says(t, path, 200, hint)
		equal(t, path+": choices", strings.Count(p.Body, "· WR-"), 100)
		b.Get(path+"?warranty_id="+oldest).Says(t, path+" from the oldest", 200, hint, `<option value="`+oldest+`" selected`)
	}
}
