package web_test

import (
	"regexp"
	"slices"
	"strings"
	"testing"
)

// TestNewClaimWithPhoto files a claim with a file: whoever decides it sees the file, a file that is refused files
// nothing, and a form that is refused keeps its file.
func TestNewClaimWithPhoto(t *testing.T) {
	w := webWorld(t)
	nora, shop := w.Verified("Nora"), w.Verified("Shop")
	record := w.Warranty(shop.Session, fields{"product_name": "Lamp", "start_date": "2020-01-01"})
	w.Issue(record.ID, shop, nora)
	b := w.SignedIn(t, nora)
	b.Get("/claims/new?warranty_id="+record.ID).Says(t, "the form", 200, `enctype="multipart/form-data"`, `capture="environment"`)
	values := []string{"account", nora.ID, "warranty_id", record.ID, "type", "repair", "incident_date", "2026-01-02", "description", "It flickers."}
	sendFile(b, "/claims", "fault.exe", "MZ\x90\x00", values...).
		Says(t, "not a document", 422, "Upload a PDF, a JPEG, PNG or WebP image", "It flickers.")
	refused := sendFile(b, "/claims", "fault.pdf", pdf, append(values[:8:8], "description", " ")...)
	refused.Says(t, "without a description", 422, "fault.pdf is kept.", `name="documents"`)
	equal(t, "claims", w.Count(`SELECT count(*) FROM claims`), 0)

	filed := sendFile(b, "/claims", "", "", append(values, "documents", refused.Value("documents"))...)
	if !strings.HasSuffix(filed.Location, "?done=filed") {
		t.Fatalf("%d %s", filed.Status, filed.Location)
	}
	b.Get(filed.Location).Says(t, "the claim", 200, "fault.pdf", "It flickers.")
	w.SignedIn(t, shop).Get(strings.TrimSuffix(filed.Location, "?done=filed")).Says(t, "for the business", 200, "fault.pdf")
	second := sendFile(b, "/claims", "more.pdf", pdf+"\n", values...)
	b.Get(second.Location).Says(t, "with a file at once", 200, "more.pdf")
	third := sendFile(b, "/claims", "", "", values...)
	b.Get(third.Location).Says(t, "without a file", 200, "It flickers.")
	equal(t, "files", len(w.Stored()), 2)

	// Several files: what is refused does not lose the others, and all of them come with the claim.
	send := func(names []string, more ...string) page {
		var parts []part
		for pair := range slices.Chunk(append(values, more...), 2) {
			parts = append(parts, field(pair[0], pair[1]))
		}
		for i, name := range names {
			parts = append(parts, file(name, pdf+strings.Repeat("\n", i)))
		}
		return b.SendBody("POST", "/claims", `multipart/form-data; boundary="`+boundary+`"`, strings.NewReader(form(parts...)), "Sec-Fetch-Site", "same-origin")
	}
	send([]string{"1.pdf", "2.pdf", "3.pdf", "4.pdf", "5.pdf", "6.pdf"}).Says(t, "six files", 422, "at most 5 files", "It flickers.")
	equal(t, "files after six", len(w.Stored()), 2)
	b.Accept = "de"
	sendFile(b, "/claims", "fault.exe", "MZ\x90\x00", values...).Says(t, "in German", 422, "fault.exe: Laden Sie")
	b.Accept = ""
	both := send([]string{"../b.pdf", "c.pdf", "../d.pdf"})
	both.Says(t, "two are refused", 422, "../b.pdf: ", "\n../d.pdf: ", "c.pdf is kept.")
	huge := func(name string) part { return file(name, pdf+strings.Repeat("\n", 20<<20)) }
	post := func(path string, parts ...part) page {
		return b.SendBody("POST", path, `multipart/form-data; boundary="`+boundary+`"`, strings.NewReader(form(parts...)), "Sec-Fetch-Site", "same-origin")
	}
	typed := []part{field("account", nora.ID), field("warranty_id", record.ID), field("type", "repair"), field("incident_date", "2026-01-02"), field("description", "It flickers.")}
	post("/claims", append(typed, huge("huge.pdf"), file("small.pdf", pdf))...).
		Says(t, "too large", 422, "huge.pdf: The file is too large. The limit is 20 MiB.", "small.pdf is kept.", "It flickers.")
	messages := strings.TrimSuffix(filed.Location, "?done=filed") + "/messages?account=" + nora.ID
	post(messages, field("action", "reply"), field("body", "See."), huge("huge.pdf"), file("small.pdf", pdf), file("../d.pdf", pdf)).
		Says(t, "a message", 422, "huge.pdf: The file is too large. The limit is 20 MiB.\n../d.pdf: ", "small.pdf is kept.", "See.")
	w.Exec(`DELETE FROM drafts`)
	some := send([]string{"a.pdf", "../b.pdf", "c.pdf"})
	some.Says(t, "one is refused", 422, "a.pdf is kept.", "c.pdf is kept.", "../b.pdf: ", "It flickers.")
	var kept []string
	for _, found := range regexp.MustCompile(`name="documents" value="([^"]+)"`).FindAllStringSubmatch(some.Body, -1) {
		kept = append(kept, "documents", found[1])
	}
	equal(t, "kept", len(kept), 4)
	// A file that was chosen twice is in the claim once.
	whole := send([]string{"again.pdf", "d.pdf"}, append(kept, "drop", kept[3])...)
	b.Get(whole.Location).Says(t, "several files", 200, "Claim filed.", "a.pdf", "d.pdf")
	b.Get(whole.Location).Hides(t, "what was removed or is the same", "c.pdf", "again.pdf")
	equal(t, "kept files", w.Count(`SELECT count(*) FROM drafts`), 0)

	// Sent twice: one claim with its files. Their ids in another form file nothing, because those files are gone from it.
	once := field("once", b.Get("/claims/new").Value("once"))
	claims := w.Count(`SELECT count(*) FROM claims`)
	first := post("/claims", append(typed, once, file("new.pdf", pdf))...)
	equal(t, "sent twice", post("/claims", append(typed, once, file("new.pdf", pdf))...).Location, first.Location)
	equal(t, "claims", w.Count(`SELECT count(*) FROM claims`), claims+1)
	equal(t, "documents", w.Count(`SELECT count(*) FROM documents WHERE file_name = 'new.pdf'`), 1)
	equal(t, "kept files", w.Count(`SELECT count(*) FROM drafts`), 0)
	typed = append(typed, once, field("documents", kept[1]))
	post("/claims", typed...).Says(t, "a file of another claim", 422, "no longer here", "It flickers.")
	equal(t, "claims", w.Count(`SELECT count(*) FROM claims`), claims+1)

	// A message that is sent twice is one message with its file; a changed one is another.
	reply := []part{field("action", "reply"), field("body", "Look."), field("once", b.Get(filed.Location).Value("once")), file("look.pdf", pdf)}
	for _, part := range [][]part{reply, reply, append(slices.Clone(reply), file("more.pdf", pdf))} {
		if got := post(messages, part...); !strings.HasSuffix(got.Location, "?done=sent") {
			t.Errorf("a message: %d %s", got.Status, got.Location)
		}
	}
	equal(t, "messages", w.Count(`SELECT count(*) FROM claim_messages WHERE body = 'Look.'`), 2)
	gone := post(messages, field("action", "reply"), field("body", "Gone."), field("documents", nora.ID), file("stays.pdf", pdf))
	gone.Says(t, "a kept file that is gone", 422, "no longer here", "stays.pdf is kept.", "Gone.")
	gone.Hides(t, "the file that is gone", `value="`+nora.ID+`" name="documents"`, `name="documents" value="`+nora.ID)
	equal(t, "a file in another field", post(messages, field("action", "reply"), field("body", "Lost."), part{Name: "files", FileName: "x.pdf", Value: pdf}).Status, 400)
	equal(t, "messages", w.Count(`SELECT count(*) FROM claim_messages WHERE body IN ('Gone.', 'Lost.')`), 0)
	w.Exec(`DELETE FROM drafts`)
	equal(t, "documents", w.Count(`SELECT count(*) FROM documents WHERE file_name = 'look.pdf'`), 2)
	equal(t, "kept files", w.Count(`SELECT count(*) FROM drafts`), 0)
}
