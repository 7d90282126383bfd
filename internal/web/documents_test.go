package web_test

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"image"
	"image/jpeg"
	"io"
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
		{"a.jpg", "\xFF\xD8\xFF\xDA\x00\x02" + script, "image/jpeg", "inline", "sandbox; default-src 'none'; script-src 'none'; "},
		{"a.png", "\x89PNG\r\n\x1a\n\x00\x00\x00\xffIDAT" + script, "image/png", "inline", "sandbox; default-src 'none'; script-src 'none'; "},
		{"a.webp", "RIFF\xff\x00\x00\x00WEBPVP8 \xf0\x00\x00\x00" + script, "image/webp", "inline", "sandbox; default-src 'none'; script-src 'none'; "},
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
	id := w.Upload(olga.Session, document(record, "invoice.pdf", pdf)...).ID
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

// photoWithPlace returns a photo whose Exif data says where it was taken.
func photoWithPlace(t *testing.T, shade uint8) (content string, place []byte) {
	t.Helper()
	var plain bytes.Buffer
	m := image.NewGray(image.Rect(0, 0, 8, 8))
	m.Pix[0] = shade
	if err := jpeg.Encode(&plain, m, nil); err != nil {
		t.Fatal(err)
	}
	place = []byte("52.5163 N 13.3777 E")
	exif := append([]byte("Exif\x00\x00MM\x00*\x00\x00\x00\x08\x00\x00"), place...)
	segment := append([]byte{0xff, 0xe1, 0, byte(len(exif) + 2)}, exif...)
	return string(plain.Bytes()[:2]) + string(segment) + string(plain.Bytes()[2:]), place
}

// TestNoUploadKeepsThePlaceOfAPhoto sends photos through every form and call that takes files, also such that are kept
// for later: no stored file says where it was taken, and checksum and size are those of the stored file.
func TestNoUploadKeepsThePlaceOfAPhoto(t *testing.T) {
	w := webWorld(t)
	shop, nora := w.Verified("Shop"), w.Verified("Nora")
	record := w.Warranty(shop.Session, fields{"product_name": "Lamp", "start_date": "2020-01-01"})
	w.Issue(record.ID, shop, nora)
	b := w.SignedIn(t, nora)
	sent, place := 0, []byte(nil)
	photo := func(name string) part {
		content, at := photoWithPlace(t, uint8(16*sent))
		sent, place = sent+1, at
		return part{Name: name, FileName: fmt.Sprintf("%d.jpg", sent), Value: content}
	}
	post := func(path string, parts ...part) page {
		return b.SendBody("POST", path, `multipart/form-data; boundary="`+boundary+`"`,
			strings.NewReader(form(append(parts, field("account", nora.ID))...)), "Sec-Fetch-Site", "same-origin")
	}
	of := []part{field("warranty_id", record.ID), field("type", "photo")}
	claim := []part{field("warranty_id", record.ID), field("type", "repair"), field("incident_date", "2026-01-02")}

	d := w.Upload(nora.Session, append(of, photo("file"))...)
	equal(t, "the page of documents", post("/documents", append(of, photo("file"))...).Status, http.StatusSeeOther)
	equal(t, "a new version", post("/documents/"+d.ID+"/replace", photo("file")).Status, http.StatusSeeOther)
	post("/claims", append(claim, photo("file"))...).Says(t, "kept for a form", 422, "is kept.")
	filed := post("/claims", append(claim, field("description", "It flickers."), photo("file"), photo("photo"))...)
	equal(t, "a claim", filed.Status, http.StatusSeeOther)
	at, _, _ := strings.Cut(filed.Location, "?")
	draft := w.Upload(nora.Session, append(of, field("draft", "true"), field("claim_id", strings.TrimPrefix(at, "/claims/")), photo("file"))...)
	equal(t, "a message", post(at+"/messages", field("action", "reply"), field("body", "Look."), photo("file")).Status, 303)
	added := post("/warranties", field("product_name", "Pan"), field("start_date", "2026-01-01"), field("end_date", "2028-01-01"), photo("photo"))
	equal(t, "a new warranty", added.Status, http.StatusSeeOther)

	stored := w.Stored()
	equal(t, "files", len(stored), sent)
	for _, key := range stored {
		content, err := w.Service.Files.Get(t.Context(), strings.TrimPrefix(key, "complete/"), "")
		if err != nil {
			t.Fatal(err)
		}
		text, err := io.ReadAll(content)
		if err != nil || bytes.Contains(text, place) || bytes.Contains(text, []byte("Exif")) {
			t.Errorf("the stored file: %q, %v", text, err)
		}
		if err := content.Close(); err != nil {
			t.Error(err)
		}
	}
	got := b.Get("/documents/" + d.ID + "/file").Body
	sum := sha256.Sum256([]byte(got))
	shown := w.Must(200, servertest.NewRequest("GET", "/api/v1/documents/"+d.ID, nora.Session, nil))
	for _, want := range []string{hex.EncodeToString(sum[:]), fmt.Sprintf(`"size_bytes":%d`, len(got))} {
		if !strings.Contains(shown.Body, want) {
			t.Errorf("without %s: %s", want, shown.Body)
		}
	}
	if draft.SHA256 == d.SHA256 {
		t.Error("two photos have one checksum")
	}
	post("/documents", append(of, part{Name: "file", FileName: "a.jpg", Value: "\xff\xd8\xff\xe1\x00\x00"})...).
		Says(t, "a damaged photo", 422, "This picture is damaged.")
}
