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
	return sendFile(b, "/warranties", fileName, content, pairs...)
}

func sendFile(b *browser, path, fileName, content string, pairs ...string) page {
	var parts []servertest.Part
	for i := 0; i+1 < len(pairs); i += 2 {
		parts = append(parts, servertest.Part{Name: pairs[i], Value: pairs[i+1]})
	}
	parts = append(parts, servertest.Part{Disposition: `form-data; name="photo"; filename=""`},
		servertest.Part{Disposition: `form-data; name="file"; filename="` + fileName + `"`, Value: content})
	return b.SendBody("POST", path, `multipart/form-data; boundary="`+boundary+`"`,
		strings.NewReader(form(parts...)), "Sec-Fetch-Site", "same-origin")
}

// TestNewWarrantyWithReceipt creates warranties with a length and a file in the same form. A form that is sent
// twice creates one record with one file. A refused file does not lose the record.
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
	newWarranty(b, "receipt.pdf", pdf, wrong...).Says(t, "a refused form", 422, keptText, `value="36" checked`, `value="Garden"`)
	newWarranty(b, "", "", "account", olga.ID, "product_name", "Kettle", "start_date", "2026-11-15", "length", "-1").
		Says(t, "a strange length", 422, "Choose a length.")
	newWarranty(b, "", "", "account", olga.ID, "product_name", "Kettle", "start_date", "nonsense", "length", "12").
		Says(t, "a strange date", 422, "start_date-error")
	equal(t, "files after a refused form", len(w.Stored()), 2) // one is kept

	// Signed out: nothing is stored, and what was typed is there after sign-in.
	endSession(b)
	asked := newWarranty(b, "receipt.pdf", pdf, "account", olga.ID, "product_name", "Toaster", "start_date", "2026-11-15", "length", "60")
	asked.Says(t, "signed out", http.StatusUnauthorized, "You were signed out.")
	equal(t, "files after that", len(w.Stored()), 2)
	again := signInFrom(b, asked, olga.Email, olga.Password)
	again.Says(t, "after sign-in", 200, `value="Toaster"`, `value="60" checked`)
}

const keptText = "receipt.pdf is kept. You don&#39;t need to choose it again."

// keptIn returns the id of the file that a form keeps.
func keptIn(t *testing.T, p page) string {
	t.Helper()
	_, rest, found := strings.Cut(p.Body, `name="documents" value="`)
	if !found {
		t.Fatalf("the form keeps no file: %s", p.Body)
	}
	id, _, _ := strings.Cut(rest, `"`)
	return id
}

// TestWebKeepsTheFileOfARefusedForm sends forms with a mistake in another field: the file is there when they are sent
// again, for this person alone, unless they remove it or choose another one.
func TestWebKeepsTheFileOfARefusedForm(t *testing.T) {
	w := webWorld(t)
	olga, otto := w.Verified("Olga"), w.Verified("Otto")
	b, other := w.SignedIn(t, olga), w.SignedIn(t, otto)
	refuse := func(file, kept string, more ...string) string {
		t.Helper()
		values := append([]string{"account", olga.ID, "product_name", " ", "start_date", "2026-11-15", "length", "36", "documents", kept}, more...)
		p := newWarranty(b, file, pdf, values...)
		p.Says(t, "a refused form", 422, "receipt.pdf is kept.")
		return keptIn(t, p)
	}
	save := func(b *browser, who, file, kept string, more ...string) page {
		t.Helper()
		values := append([]string{"account", who, "product_name", "Kettle", "start_date", "2026-11-15", "length", "36", "documents", kept}, more...)
		return newWarranty(b, file, pdf, values...)
	}
	kept := refuse("receipt.pdf", "")
	equal(t, "refused again", refuse("", kept), kept)
	save(other, otto.ID, "", kept).Says(t, "another person", 422, "The warranty is saved, but without this file.", "Choose the file again.")
	saved := save(b, olga.ID, "", kept)
	b.Get(saved.Location).Says(t, "the record", 200, "receipt.pdf")
	equal(t, "files", len(w.Stored()), 1)

	kept = refuse("receipt.pdf", "")
	saved = save(b, olga.ID, "", kept, "drop", kept)
	if body := b.Get(saved.Location).Body; strings.Contains(body, "receipt.pdf") {
		t.Error("a removed file was attached")
	}
	replaced := refuse("receipt.pdf", refuse("receipt.pdf", ""))
	saved = save(b, olga.ID, "bill.pdf", replaced)
	if body := b.Get(saved.Location).Body; strings.Contains(body, "receipt.pdf") || !strings.Contains(body, "bill.pdf") {
		t.Error("the file that was chosen last was not attached alone")
	}
	equal(t, "files that wait", w.Count(`SELECT count(*) FROM drafts`), 0)

	// The form of a document.
	record := strings.TrimPrefix(strings.Split(saved.Location, "?")[0], "/warranties/")
	send := func(parts ...part) page {
		return b.SendBody("POST", "/documents", `multipart/form-data; boundary="`+boundary+`"`,
			strings.NewReader(form(parts...)), "Sec-Fetch-Site", "same-origin")
	}
	p := send(field("warranty_id", ""), field("type", "invoice"), file("receipt.pdf", pdf+"2"))
	p.Says(t, "no warranty", 422, keptText, `<option value="invoice" selected`)
	equal(t, "sent again", send(field("warranty_id", record), field("type", "invoice"), field("documents", keptIn(t, p))).Status, http.StatusSeeOther)
	b.Get("/warranties/"+record).Says(t, "the record", 200, "receipt.pdf", "Invoice")
	send(field("warranty_id", record), field("type", "invoice"), field("documents", keptIn(t, p)), field("drop", keptIn(t, p))).
		Says(t, "removed", 422, "Choose a file.")
}

// TestWebMessageFilesWait sends a message with a mistake: its files are kept for the writer, and others see them when it
// is sent.
func TestWebMessageFilesWait(t *testing.T) {
	w := webWorld(t)
	owner, seller := w.Verified("Olga"), w.Verified("Sven")
	record := w.Warranty(owner.Session, fields{"seller_email": seller.Email})
	w.Confirm(seller, record.ID)
	claim := w.Claim(owner.Session, record.ID)
	b, shop := w.SignedIn(t, owner), w.SignedIn(t, seller)
	send := func(parts ...part) page {
		return b.SendBody("POST", "/claims/"+claim+"/messages?account="+owner.ID, `multipart/form-data; boundary="`+boundary+`"`,
			strings.NewReader(form(append(parts, field("action", "reply"))...)), "Sec-Fetch-Site", "same-origin")
	}
	p := send(field("body", " "), file("plate.pdf", pdf), file("bill.pdf", pdf), file("virus.exe", "MZ\x90\x00"))
	p.Says(t, "no text", 422, "plate.pdf is kept.", "bill.pdf is kept.", "virus.exe: ")
	var kept []string
	for _, at := range strings.Split(p.Body, `name="documents" value="`)[1:] {
		kept = append(kept, at[:strings.IndexByte(at, '"')])
	}
	equal(t, "kept", len(kept), 2)
	unseen := func(name string) {
		t.Helper()
		for _, path := range []string{"/claims/" + claim, "/warranties/" + record.ID, "/documents"} {
			if strings.Contains(shop.Get(path).Body, name) {
				t.Errorf("the shop sees %s on %s", name, path)
			}
		}
	}
	unseen("plate.pdf")
	sent := send(field("body", "Here."), field("documents", kept[0]), field("documents", kept[1]), field("drop", kept[1]))
	equal(t, "sent", sent.Status, http.StatusSeeOther)
	shop.Get("/claims/"+claim).Says(t, "sent", 200, "plate.pdf", "Here.")
	unseen("bill.pdf")
	equal(t, "files that wait", w.Count(`SELECT count(*) FROM drafts`), 0)
}
