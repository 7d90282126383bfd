package web_test

import (
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
	refused.Says(t, "without a description", 422, "fault.pdf is kept.", `name="kept"`)
	equal(t, "claims", w.Count(`SELECT count(*) FROM claims`), 0)

	filed := sendFile(b, "/claims", "", "", append(values, "kept", refused.Value("kept"))...)
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
}
