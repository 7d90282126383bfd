package web_test

import (
	"net/http"
	"regexp"
	"strings"
	"testing"

	"warranty.example/svc/internal/servertest"
)

// newWarranty sends the form of a new warranty with a file. No content means no file.
func newWarranty(b *browser, fileName, content string, pairs ...string) page {
	var parts []servertest.Part
	for i := 0; i+1 < len(pairs); i += 2 {
		parts = append(parts, servertest.Part{Name: pairs[i], Value: pairs[i+1]})
	}
	parts = append(parts, servertest.Part{Disposition: `form-data; name="photo"; filename=""`},
		servertest.Part{Disposition: `form-data; name="file"; filename="` + fileName + `"`, Value: content})
	return b.SendBody("POST", "/warranties", `multipart/form-data; boundary="`+boundary+`"`,
		strings.NewReader(form(parts...)), "Sec-Fetch-Site", "same-origin")
}

// TestNewWarrantyWithReceipt creates warranties with a length and a file in the same form. A form that is sent
// twice creates one record with one file. A refused file does not lose the record, and a refused form leaves no
// file behind.
func TestNewWarrantyWithReceipt(t *testing.T) {
	w := webWorld(t)
	olga := w.Verified("Olga")
	b := w.SignedIn(t, olga)
	opened := b.Get("/warranties/new")
	opened.Says(t, "the form", 200, `value="24" checked`, `enctype="multipart/form-data"`, `capture="environment"`)
	once := regexp.MustCompile(`name="once" value="([^"]+)"`).FindStringSubmatch(opened.Body)[1]
	sent := []string{"account", olga.ID, "once", once, "product_name", "Kettle", "start_date", "2026-11-15", "length", "24",
		"end_date", "", "category", "Kitchen", "price", "49.90", "currency", "EUR", "purchase_date", "2026-11-14"}
	made := newWarranty(b, "receipt.pdf", pdf, sent...)
	equal(t, "the status", made.Status, http.StatusSeeOther)
	equal(t, "sent twice", newWarranty(b, "receipt.pdf", pdf, sent...).Location, made.Location)
	equal(t, "records", w.Records(), 1)
	equal(t, "files", len(w.Stored()), 1)
	b.Get(made.Location).Says(t, "the record", 200, "14 Nov 2028", "receipt.pdf", "Kitchen", "49.90 EUR", "14 Nov 2026")
	b.Get("/warranties/new").Says(t, "suggestions", 200, `<option value="Kitchen">`)

	lifetime := newWarranty(b, "", "", "account", olga.ID, "product_name", "Pan", "start_date", "2026-11-15", "length", "lifetime")
	b.Get(lifetime.Location).Says(t, "lifetime", 200, "Lifetime", "Add the receipt")

	for name, refused := range map[string]struct{ file, content, says string }{
		"not a document": {"receipt.exe", "MZ\x90\x00", "Upload a PDF, a JPEG, PNG or WebP image"},
		"too large":      {"receipt.txt", strings.Repeat("a", 20<<20+1), "The file is too large"},
		"a HEIC photo":   {"IMG_1.HEIC", "\x00\x00\x00\x18ftypheic\x00\x00\x00\x00mif1heic", "HEIC"},
	} {
		p := newWarranty(b, refused.file, refused.content, "account", olga.ID, "product_name", name, "start_date", "2026-11-15", "length", "12")
		p.Says(t, name, 422, "The warranty is saved, but without this file.", refused.says, `action="/documents`)
		b.Get("/warranties?q="+strings.ReplaceAll(name, " ", "+")).Says(t, name, 200, "/warranties/0")
	}
	equal(t, "files after refused ones", len(w.Stored()), 1)

	wrong := []string{"account", olga.ID, "product_name", " ", "start_date", "2026-11-15", "length", "36", "category", "Garden"}
	newWarranty(b, "receipt.pdf", pdf, wrong...).Says(t, "a refused form", 422, "Choose the file again.", `value="36" checked`, `value="Garden"`)
	newWarranty(b, "", "", "account", olga.ID, "product_name", "Kettle", "start_date", "2026-11-15", "length", "-1").
		Says(t, "a strange length", 422, "Choose a length.")
	newWarranty(b, "", "", "account", olga.ID, "product_name", "Kettle", "start_date", "nonsense", "length", "12").
		Says(t, "a strange date", 422, "start_date-error")
	equal(t, "files after a refused form", len(w.Stored()), 1)

	// Signed out: nothing is stored, and what was typed is there after sign-in.
	endSession(b)
	asked := newWarranty(b, "receipt.pdf", pdf, "account", olga.ID, "product_name", "Toaster", "start_date", "2026-11-15", "length", "60")
	asked.Says(t, "signed out", http.StatusUnauthorized, "You were signed out.")
	equal(t, "files after that", len(w.Stored()), 1)
	again := signInFrom(b, asked, olga.Email, olga.Password)
	again.Says(t, "after sign-in", 200, `value="Toaster"`, `value="60" checked`)
}
