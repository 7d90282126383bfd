package web_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"warranty.example/svc/internal/servertest"
	"warranty.example/svc/internal/testenv"
	"warranty.example/svc/warranty"
)

// printedText returns the text of a PDF as another program reads it, in one line.
func printedText(t *testing.T, pdf string) string {
	t.Helper()
	path := savedPDF(t, pdf)
	read, err := exec.Command(filepath.Join(filepath.Dir(testenv.Pdftoppm(t)), "pdftotext"), "-raw", path, "-").Output()
	if err != nil {
		t.Fatal(err)
	}
	if pages := strings.Count(string(read), "\f"); pages != 1 {
		t.Errorf("%d pages", pages)
	}
	return strings.Join(strings.Fields(string(read)), " ")
}

func savedPDF(t *testing.T, pdf string) string {
	t.Helper()
	if !strings.HasPrefix(pdf, "%PDF-") {
		t.Fatalf("not a PDF: %.200q", pdf)
	}
	path := filepath.Join(t.TempDir(), "printed.pdf")
	if err := os.WriteFile(path, []byte(pdf), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// raw are values that people must not see on paper: codes of states, hashes, dates of machines, commands.
var raw = regexp.MustCompile(`_|[0-9a-f]{20}|\d{4}-\d\d-\d\d|\b(active|void|expired|null|svc|jwks|SHA-?256|unverified)\b|%!|\b(certificate|paper|slip|labels)\.[a-z]`)

// TestCertificatesOnPaper prints certificates for those who have the warranty and for everyone, before and after the
// issuer verified its domain, in every language.
func TestCertificatesOnPaper(t *testing.T) {
	w, b, product := newTill(t)
	issued := b.issue(b.open("/issue?product="+product), "serial_number", "T64-900017", "customer_name", "Kim Larsen")
	code, id := first(t, onetime, issued), first(t, recordLink, issued)
	reference := first(t, regexp.MustCompile(`(WR-[0-9A-Z-]{19})`), issued)
	kim := w.SignedIn(t, w.Verified("Kim"))
	person := w.Verified("Olga")
	w.Must(200, servertest.Request{Method: "POST", Path: "/api/handovers/take", Secret: person.Session, Body: fields{"code": code}})
	olga := w.SignedIn(t, person)
	page, file := "/warranties/"+id+"/certificate", "/warranties/"+id+"/certificate.pdf"
	kim.Get(page).Says(t, "a stranger", 404, "")
	kim.Get(file).Says(t, "a stranger", 404, "")
	kim.Get("/verify/"+reference+"/certificate.pdf").Says(t, "for everyone, unverified", 404, "")
	olga.Get("/warranties/"+id).Says(t, "the record", 200, `href="`+page+`"`)
	olga.Get(page).Says(t, "the page", 200, "Guarantee certificate", `<svg class="paper"`, "certificate.pdf?download")
	own := w.Warranty(person.Session, nil)
	olga.Get("/warranties/"+own.ID+"/certificate").Says(t, "what nobody issued", 404, "")

	read := func(b *browser, lang string) string {
		t.Helper()
		p := b.Get(file)
		equal(t, "the file", []string{p.Header.Get("Content-Type"), p.Header.Get("Content-Disposition")},
			[]string{"application/pdf", `inline; filename="` + reference + `.pdf"`})
		text := printedText(t, p.Body)
		if m := raw.FindString(text); m != "" {
			t.Errorf("%s: the raw value %q is in %s", lang, m, text)
		}
		return text
	}
	says := func(what, text string, want ...string) {
		t.Helper()
		for _, s := range want {
			if !strings.Contains(text, s) {
				t.Errorf("%s: no %q in %s", what, s, text)
			}
		}
	}
	text := read(olga, "en")
	says("unverified", text, "“Halden Electronics”", "Not a verified business", "T64-900017", reference, "Given to Olga", "Whole product 1 Mar 2026 29 Feb 2028",
		"which has not verified its website", "Your rights by law stay.", "File a claim")
	if strings.Contains(text, "Signed electronically") {
		t.Errorf("an unverified issuer signs: %s", text)
	}

	organization, err := warranty.ParseID(b.account)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := w.Service.VerifyDomain(t.Context(), organization, "halden.example"); err != nil {
		t.Fatal(err)
	}
	for lang, want := range map[string][]string{
		"en": {"GUARANTEE CERTIFICATE", "Verified business: halden.example", "Signed electronically by"},
		"de": {"GARANTIEURKUNDE", "Verifiziertes Unternehmen: halden.example", "Elektronisch signiert von", "29. Feb. 2028", "Ihre gesetzlichen Rechte bleiben bestehen."},
	} {
		olga.Post("/language", "language", lang, "next", "/")
		says(lang, read(olga, lang), append(want, "T64-900017", reference)...)
	}
	says("the issuer's own", read(b.browser, "en"), "Given to Kim Larsen")
	everyone := printedText(t, w.Browser(t).Get("/verify/"+reference+"/certificate.pdf").Body)
	says("for everyone", everyone, "••••0017", "Verified business: halden.example", reference)
	for _, private := range []string{"T64-900017", "Kim", "Olga", "Bought"} {
		if strings.Contains(everyone, private) {
			t.Errorf("everyone reads %q: %s", private, everyone)
		}
	}

	// The signed certificate comes out of the file and verifies.
	path := savedPDF(t, olga.Get(file).Body)
	dir := filepath.Dir(path)
	if out, err := exec.Command(filepath.Join(filepath.Dir(testenv.Pdftoppm(t)), "pdfdetach"), "-saveall", "-o", dir, path).CombinedOutput(); err != nil {
		t.Fatalf("pdfdetach: %v: %s", err, out)
	}
	signed, err := os.ReadFile(filepath.Join(dir, reference+".jwt"))
	if err != nil {
		t.Fatal(err)
	}
	keys, err := warranty.ParseKeySet([]byte(w.Browser(t).Get("/.well-known/jwks.json").Body))
	if err != nil {
		t.Fatal(err)
	}
	if claims, err := keys.Verify(string(signed)); err != nil || claims.SerialSHA256 == nil || *claims.SerialSHA256 != warranty.SerialHash("T64-900017") {
		t.Errorf("the attached certificate says %+v: %v", claims, err)
	}

	// A warranty that is not valid says so.
	w.Exec(`UPDATE warranties SET standing = 2`)
	olga.Post("/language", "language", "en", "next", "/")
	says("void", printedText(t, olga.Get(file).Body), "Void. This warranty is not valid.")
}
