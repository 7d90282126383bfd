package web_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"warranty.example/svc/internal/servertest"
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

// TestFilesAreShownInASandbox opens files for display: images and PDFs by their content, everything else as a
// download, with headers under which nothing in them runs.
func TestFilesAreShownInASandbox(t *testing.T) {
	w := webWorld(t)
	olga, otto := w.Verified("Olga"), w.Verified("Otto")
	record := w.Warranty(olga.Session, nil).ID
	b := w.SignedIn(t, olga)
	const script = "<html><script>alert(1)</script>"
	for _, c := range []struct{ name, content, mediaType, disposition, policy string }{
		{"a.jpg", servertest.JPEG + script, "image/jpeg", "inline", "sandbox; default-src 'none'; script-src 'none'; "},
		{"a.png", servertest.PNG + script, "image/png", "inline", "sandbox; default-src 'none'; script-src 'none'; "},
		{"a.webp", servertest.WebP + script, "image/webp", "inline", "sandbox; default-src 'none'; script-src 'none'; "},
		{"a.pdf", pdf + script, "application/pdf", "inline", "default-src 'none'; script-src 'none'; "},
		{"a.txt", text + "x: " + script, "text/plain", "attachment", "sandbox; default-src 'none'"},
		{"إيصال – 保証書 (1) 100%.png", servertest.PNG, "image/png", "inline", "sandbox; "},
	} {
		got := w.Upload(olga.Session, document(record, c.name, c.content)...)
		for view, want := range map[string]string{"view": c.disposition, "file": "attachment"} {
			p := b.Get("/documents/" + got.ID + "/" + view)
			equal(t, c.name+": type", p.Header.Get("Content-Type"), c.mediaType)
			equal(t, c.name+": sniffing", p.Header.Get("X-Content-Type-Options"), "nosniff")
			equal(t, c.name+": other origins", p.Header.Get("Cross-Origin-Resource-Policy"), "same-origin")
			equal(t, c.name+": caching", p.Header.Get("Cache-Control"), "no-store")
			if at := p.Header.Get("Content-Disposition"); !strings.HasPrefix(at, want+"; ") {
				t.Errorf("%s: /%s is shown as %s", c.name, view, at)
			}
			policy := c.policy
			if view == "file" {
				policy = "sandbox; default-src 'none'"
			}
			if at := p.Header.Get("Content-Security-Policy"); !strings.HasPrefix(at, policy) {
				t.Errorf("%s: /%s has the policy %s", c.name, view, at)
			}
		}
		b.Get("/documents/"+got.ID).Says(t, c.name, 200, "Download", "Olga")
		other := w.SignedIn(t, otto)
		for _, page := range []string{"", "/view", "/file", "/thumbnail"} {
			equal(t, c.name+page+" to someone else", other.Get("/documents/"+got.ID+page).Status, http.StatusNotFound)
		}
	}
}

// TestDocumentPagesLeadToTheirNeighbours walks through the documents of a warranty.
func TestDocumentPagesLeadToTheirNeighbours(t *testing.T) {
	w := webWorld(t)
	olga := w.Verified("Olga")
	record, other := w.Warranty(olga.Session, nil).ID, w.Warranty(olga.Session, nil).ID
	var list []string
	for i := range 3 {
		list = append(list, w.Upload(olga.Session, document(record, fmt.Sprint(i, ".pdf"), pdf)...).ID)
		w.Upload(olga.Session, document(other, "other.pdf", pdf)...)
	}
	b := w.SignedIn(t, olga)
	b.Get("/documents/"+list[1]).Says(t, "the middle", 200, `rel="prev" href="/documents/`+list[2]+`"`, `rel="next" href="/documents/`+list[0]+`"`)
	if p := b.Get("/documents/" + list[2]); strings.Contains(p.Body, `rel="prev"`) || !strings.Contains(p.Body, `rel="next"`) {
		t.Error("the newest has a newer one, or no older one")
	}
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

// TestWebChangesDocuments renames and replaces a document on its page, restores the earlier file, and uploads a file
// twice.
func TestWebChangesDocuments(t *testing.T) {
	w := webWorld(t)
	olga := w.Verified("Olga")
	record := w.Warranty(olga.Session, nil).ID
	id := w.Upload(olga.Session, document(record, "scan.pdf", pdf)...).ID
	b := w.SignedIn(t, olga)
	at := "/documents/" + id
	send := func(path string, parts ...part) page {
		return b.SendBody("POST", path, `multipart/form-data; boundary="`+boundary+`"`,
			strings.NewReader(form(append(parts, field("account", olga.ID))...)), "Sec-Fetch-Site", "same-origin")
	}
	b.Post(at+"/rename", "account", olga.ID, "file_name", "a/b.pdf").Says(t, "a path", 422, "Rename the file.", `value="a/b.pdf"`)
	renamed := b.Post(at+"/rename", "account", olga.ID, "file_name", "receipt")
	b.Get(renamed.Location).Says(t, "renamed", 200, "Document renamed.", "receipt.pdf")

	again := send("/documents", field("warranty_id", record), field("type", "receipt"), file("copy.pdf", pdf))
	equal(t, "the same file", again.Location, at+"?done=duplicate")
	b.Get(again.Location).Says(t, "the same file", 200, "This file is already attached.", "receipt.pdf")
	equal(t, "files", len(w.Stored()), 1)

	send(at+"/replace").Says(t, "no file", 422, "Choose a file.")
	send(at+"/replace", file("a.exe", "MZ\x90\x00")).Says(t, "another type", 422, "Upload a PDF")
	replaced := send(at+"/replace", file("terms.txt", text))
	page := b.Get(replaced.Location)
	page.Says(t, "replaced", 200, "Document replaced.", "terms.txt", "receipt.pdf", "Restore")
	_, rest, _ := strings.Cut(page.Body, `/versions/`)
	restored := b.Post(at+"/versions/"+rest[:36]+"/restore", "account", olga.ID)
	equal(t, "restored", restored.Location, at+"?done=replaced")
	equal(t, "the file", b.Get(at+"/file").Body, pdf)

	b.Get("/documents").Says(t, "storage", 200, "Earlier versions of replaced files take", "The last one is erased on", `href="/documents/versions"`)
	list := b.Get("/documents/versions")
	list.Says(t, "earlier versions", 200, "terms.txt", "Erase now", at)
	_, rest, _ = strings.Cut(list.Body, `action="/documents/versions/`)
	erase := "/documents/versions/" + rest[:36] + "/erase"
	w.SignedIn(t, w.Verified("Otto")).Post(erase).Says(t, "someone else", 404)
	erased := b.Post(erase, "account", olga.ID)
	b.Get(erased.Location).Says(t, "erased", 200, "Earlier version erased.", "No earlier versions.")
	b.Get("/warranties/"+record).Says(t, "the history", 200, "erased an earlier version of a document")
	b.Get("/documents").Hides(t, "storage", "Earlier versions")
}
