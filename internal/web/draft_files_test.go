package web_test

import (
	"net/http"
	"net/url"
	"strings"
	"testing"
)

// sendParts sends a form with files.
func sendParts(b *browser, path string, parts ...part) page {
	b.T.Helper()
	return b.SendBody("POST", path, `multipart/form-data; boundary="`+boundary+`"`, strings.NewReader(form(parts...)),
		"Sec-Fetch-Site", "same-origin")
}

// TestWebFilesOfAnotherAccount sends every form with files that was opened for another account of the same person:
// nothing is performed, and "Switch back and save" performs it with its files.
func TestWebFilesOfAnotherAccount(t *testing.T) {
	w := webWorld(t)
	nora := w.Verified("Nora")
	record := w.Warranty(nora.Session, nil)
	claim := w.Claim(nora.Session, record.ID)
	replaced := w.Upload(nora.Session, document(record.ID, "old.pdf", pdf)...).ID
	b := w.SignedIn(t, nora)
	halden := found(b, "Halden Electronics")
	account := field("account", nora.ID)
	for path, sent := range map[string][]part{
		"/claims": {account, field("warranty_id", record.ID), field("type", "repair"), field("incident_date", "2025-01-02"),
			field("description", "It flickers.")},
		"/claims/" + claim + "/messages?account=" + nora.ID: {field("action", "reply"), field("body", "It flickers.")},
		"/warranties":                         {account, field("product_name", "Lamp"), field("start_date", "2025-01-02"), field("length", "24")},
		"/documents?account=" + nora.ID:       {field("warranty_id", record.ID), field("type", "invoice")},
		"/documents":                          {field("warranty_id", record.ID), field("type", "invoice")},
		"/documents/" + replaced + "/replace": {account},
	} {
		b.Post("/switch", "account", halden)
		documents, files := w.Count(`SELECT count(*) FROM documents`), len(w.Stored())
		asked := sendParts(b, path, append(sent, file("evidence.pdf", pdf+path))...)
		asked.Says(t, path, http.StatusPreconditionFailed, "You switched to Halden Electronics. This form belongs to Nora.",
			"Nothing was saved.", "Switch back and save")
		asked.Hides(t, path, "The file was not kept.")
		equal(t, path+": drafts", w.Count(`SELECT count(*) FROM drafts WHERE account_id = user_id`), 1)
		equal(t, path+": documents", w.Count(`SELECT count(*) FROM documents`), documents)
		equal(t, path+": files", len(w.Stored()), files+1)

		done := sendAgain(b, asked)
		done.Says(t, path+": switching back", http.StatusSeeOther)
		equal(t, path+": the account", b.Account, "")
		equal(t, path+": drafts", w.Count(`SELECT count(*) FROM drafts`), 0)
		equal(t, path+": the file", w.Count(`SELECT count(*) FROM documents WHERE file_name = 'evidence.pdf'`) > 0, true)
		w.Exec(`UPDATE documents SET file_name = 'old.pdf'`)
	}
}

// TestWebFilesOfAnOrganization sends forms with files that were opened for an organization: other members do not get
// the files, and nothing is stored for those who cannot act for it or only look.
func TestWebFilesOfAnOrganization(t *testing.T) {
	w := webWorld(t)
	nora, ivo, vera := w.Verified("Nora"), w.Verified("Ivo"), w.Verified("Vera")
	admin := w.SignedIn(t, nora)
	halden := found(admin, "Halden Electronics")
	clerk, viewer := join(w, admin, halden, ivo, "member"), join(w, admin, halden, vera, "viewer")
	sent := []part{field("account", halden), field("product_name", "Lamp"), field("start_date", "2025-01-02"),
		field("length", "24"), file("evidence.pdf", pdf)}

	admin.Post("/switch", "account", nora.ID)
	asked := sendParts(admin, "/warranties", sent...)
	asked.Says(t, "an admin", http.StatusPreconditionFailed, "This form belongs to Halden Electronics.")
	equal(t, "files", len(w.Stored()), 1)
	values := url.Values{"account": {halden}, "product_name": {"Lamp"}, "start_date": {"2025-01-02"}, "length": {"24"},
		"documents": {asked.Value("documents")}}
	clerk.Send("POST", "/warranties", values, "Sec-Fetch-Site", "same-origin").
		Says(t, "another member", 422, "The warranty is saved, but without this file.", "Choose the file again.")
	values.Set("drop", asked.Value("documents"))
	clerk.Send("POST", "/warranties", values, "Sec-Fetch-Site", "same-origin").Says(t, "dropped by another member", 303)
	saved := sendAgain(admin, asked)
	admin.Get(saved.Location).Says(t, "saved", 200, "evidence.pdf")
	equal(t, "drafts", w.Count(`SELECT count(*) FROM drafts`), 0)

	viewer.Post("/switch", "account", vera.ID)
	clerk.Post("/switch", "account", ivo.ID)
	sendParts(viewer, "/warranties", sent...).Says(t, "a viewer", http.StatusPreconditionFailed, "The file was not kept.")
	admin.Post("/settings/members/"+ivo.ID+"/remove", "account", halden).
		Leads(t, "removing", "/settings/members?done=member_removed")
	gone := sendParts(clerk, "/warranties", sent...)
	gone.Says(t, "a former member", http.StatusPreconditionFailed, "This is what you typed.",
		`<dd class="lines">Lamp</dd>`)
	gone.Hides(t, "a former member", "<dt>Documents</dt>", `type="hidden" name="documents"`)
	equal(t, "files", len(w.Stored()), 1)
}

// TestWebFormWithFileSentTwice sends forms with a file twice, as a double click does: the file is attached once. The
// files of a form that leads to an error page are not kept.
func TestWebFormWithFileSentTwice(t *testing.T) {
	w := webWorld(t)
	olga, otto := w.Verified("Olga"), w.Verified("Otto")
	b := w.SignedIn(t, olga)
	sent := []part{field("account", olga.ID), field("product_name", "Lamp"), field("start_date", "2025-01-02"),
		field("length", "24"), field("once", b.Get("/warranties/new").Value("once")), file("receipt.pdf", pdf)}
	first, second := sendParts(b, "/warranties", sent...), sendParts(b, "/warranties", sent...)
	equal(t, "sent twice", second.Location, first.Location)
	equal(t, "documents", w.Count(`SELECT count(*) FROM documents`), 1)
	equal(t, "drafts", w.Count(`SELECT count(*) FROM drafts`), 0)
	other := w.Warranty(otto.Session, nil).ID
	sendParts(b, "/documents", field("warranty_id", other), field("type", "invoice"), file("a.pdf", pdf+"2")).
		Says(t, "someone else's warranty", http.StatusNotFound)
	equal(t, "drafts", w.Count(`SELECT count(*) FROM drafts`), 0)
	equal(t, "files", len(w.Stored()), 1)
}
