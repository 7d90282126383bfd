package web_test

import (
	"fmt"
	"net/http"
	"regexp"
	"strings"
	"sync"
	"testing"

	"warranty.example/svc/internal/servertest"
)

var (
	onetime     = regexp.MustCompile(`<span class="onetime">([0-9A-Z-]+)</span>`)
	productLink = regexp.MustCompile(`href="/issue\?product=([0-9a-f-]{36})"`)
	recordLink  = regexp.MustCompile(`href="/warranties/([0-9a-f-]{36})"`)
	tillFields  = regexp.MustCompile(`name="(once|product)" value="([^"]*)"`)
)

// first returns the first group of a match in a page.
func first(t *testing.T, re *regexp.Regexp, p page) string {
	t.Helper()
	m := re.FindStringSubmatch(p.Body)
	if m == nil {
		t.Fatalf("no %s in %s", re, p.Main())
	}
	return m[1]
}

// till is a browser with a form to issue a product.
type till struct {
	*browser
	t       *testing.T
	account string
}

// open returns the fields of a new form.
func (b till) open(path string) map[string]string {
	b.t.Helper()
	p := b.Get(path)
	p.Says(b.t, path, 200, "Serial number")
	fields := map[string]string{"account": b.account, "start_date": "2026-03-01"}
	for _, m := range tillFields.FindAllStringSubmatch(p.Body, -1) {
		fields[m[1]] = m[2]
	}
	return fields
}

func (b till) issue(fields map[string]string, pairs ...string) page {
	b.t.Helper()
	for i := 0; i < len(pairs); i += 2 {
		fields[pairs[i]] = pairs[i+1]
	}
	var list []string
	for name, value := range fields {
		list = append(list, name, value)
	}
	return b.Post("/issue", list...)
}

func newTill(t *testing.T) (*world, till, string) {
	t.Helper()
	w := webWorld(t)
	b := w.SignedIn(t, w.Verified("Nora"))
	b.Get("/issue").Says(t, "a personal account", 200, "Create organization")
	b.Post("/issue", "product", "typed", "product_name", "Hob", "length", "24", "start_date", "2026-03-01").
		Says(t, "a personal account", 422, "Create organization")
	halden := found(b, "Halden Electronics")
	b.Get("/issue").Says(t, "without products", 200, "Add what you sell first.", "Product", "Serial number")
	b.Post("/products", "account", halden, "name", "Tessel hob T64", "length", "2", "unit", "years", "gtin", "2000000064116").
		Leads(t, "a product", "/products?done=product_added")
	product := first(t, productLink, b.Get("/products"))
	return w, till{b, t, halden}, product
}

// TestWebIssue issues from a product: the code is shown once, the product is kept, a form that is sent twice
// issues once, and a serial number that was issued before is a question.
func TestWebIssue(t *testing.T) {
	w, b, product := newTill(t)
	b.Get("/issue?product="+product).Says(t, "a product", 200, "Tessel hob T64", "2 years from today", "2000000064116", "Change product")
	form := b.open("/issue?product=" + product)
	p := b.issue(form, "serial_number", "T64-1", "customer_name", "Kim")
	p.Says(t, "issued", 200, "Give this to your customer", "Covered until", "29 Feb 2028", "T64-1", "Print slip", "Next sale", "Halden Electronics")
	p.Says(t, "until when the code works", 200, "Works once, until "+w.Clock.Now().AddDate(0, 0, 730).Format("2 Jan 2006"))
	code, record := first(t, onetime, p), first(t, recordLink, p)
	equal(t, "records", w.Count(`SELECT count(*) FROM warranties`), 1)
	equal(t, "requests", w.Count(`SELECT count(*) FROM idempotency WHERE operation = 'warranties.issue'`), 1)
	equal(t, "later changes of the record", w.Count(`SELECT count(*) FROM warranties WHERE version > 1`), 0)
	b.Get("/issue").Says(t, "the product is kept", 200, "Tessel hob T64", "Change product", "Issued today", "T64-1")
	b.Get("/issue?product=").Says(t, "another product", 200, "Choose a product", "Type a product", "Tessel hob T64")
	b.Get("/issue?product=&q=2000000064116").Says(t, "a scanned GTIN", 200, "Tessel hob T64")
	b.Get("/issue?product=&q=zebra").Says(t, "no product", 200, "No products match.")

	// It is printed as often as needed.
	print := func(pairs ...string) page {
		return b.Post("/warranties/"+record+"/slip.pdf", append([]string{"account", b.account}, pairs...)...)
	}
	for range 2 {
		slip := print("code", code, "size", "a6")
		equal(t, "the slip", []any{slip.Status, slip.Header.Get("Content-Type"), strings.HasPrefix(slip.Header.Get("Content-Disposition"), "inline"), slip.Body[:5]},
			[]any{200, "application/pdf", true, "%PDF-"})
	}
	print("code", "NCTF-CYJE-DWP9-HW60-0YHC").Says(t, "another code", 422, "This code no longer works. Print a new slip.")
	w.SignedIn(t, w.Verified("Eve")).Post("/warranties/"+record+"/slip.pdf", "code", code).Says(t, "a stranger", 404, "")
	if texts := printedText(t, print("code", code).Body); texts != "" {
		for _, want := range []string{"Halden Electronics", "Tessel hob T64", "Covered until 29 Feb 2028", "T64-1", code[:14], code[15:], "Keep this code private until you register."} {
			if !strings.Contains(texts, want) {
				t.Errorf("the slip does not say %q: %s", want, texts)
			}
		}
	}

	again := b.issue(form)
	again.Says(t, "sent twice", 200, "already sent", "New slip")
	if onetime.MatchString(again.Body) {
		t.Error("the code is shown twice")
	}
	equal(t, "records", w.Count(`SELECT count(*) FROM warranties`), 1)
	preview := func(code string) int {
		return w.Do(servertest.Request{Method: "POST", Path: "/api/handovers/preview", Body: fields{"code": code}}).Status
	}
	equal(t, "the code works", preview(code), 200)

	form = b.open("/issue")
	equal(t, "the kept product", form["product"], product)
	b.issue(form, "serial_number", "T64-1", "price", "649.00", "currency", "EUR").
		Says(t, "issued before", 409, "You issued this serial number on", "View", "Issue again", "649.00")
	equal(t, "records", w.Count(`SELECT count(*) FROM warranties`), 1)
	b.issue(form, "again", "true").Says(t, "issued again", 200, "Give this to your customer")
	equal(t, "records", w.Count(`SELECT count(*) FROM warranties`), 2)

	// The record's page.
	b.Get("/warranties/"+record).Says(t, "the record", 200, "Hand-over", "Not yet registered", "New slip", "Cancel offer", "The old slip stops working.", "Kim")
	slip := b.Post("/warranties/"+record+"/handover", "account", b.account, "once", "1")
	fresh := first(t, onetime, slip)
	equal(t, "the old slip", preview(code), 422)
	equal(t, "the new slip", preview(fresh), 200)
	print("code", code).Says(t, "printing the old slip", 422, "This code no longer works.")
	equal(t, "printing the new slip", print("code", fresh).Status, 200)
	b.Get("/warranties/"+record+"/handover").Says(t, "the hand-over", 200, "New slip", "Email it", "Not yet registered")
	b.Post("/warranties/"+record+"/handover", "account", b.account, "by", "email", "once", "2").
		Says(t, "no address", 422, "Enter the customer&#39;s email address.")
	b.Post("/warranties/"+record+"/handover", "account", b.account, "by", "email", "once", "3", "customer_email", "kim@").
		Says(t, "a wrong address", 422, `value="kim@"`)
	b.Post("/warranties/"+record+"/handover", "account", b.account, "by", "email", "once", "4", "customer_email", "kim@people.example").
		Says(t, "emailed", 200, "kim@people.example", "Next sale")
	equal(t, "the slip after the email", preview(fresh), 422)
	b.Post("/warranties/"+record+"/handover/cancel", "account", b.account).Leads(t, "cancelled", "/warranties/"+record+"?done=offer_cancelled")
	b.Get("/warranties/"+record).Says(t, "cancelled", 200, "Not handed over")
}

// TestWebIssueRefused: refused forms come back with everything typed, and forms of other accounts issue
// nothing.
func TestWebIssueRefused(t *testing.T) {
	w, b, product := newTill(t)
	form := b.open("/issue?product=typed")
	typed := []string{"product", "typed", "product_name", "Lamp", "length", "36", "serial_number", "L-1", "customer_email", "kim@",
		"customer_name", "Kim L", "price", "12", "currency", "ZZZ", "external_id", "o-1", "brand", "Oak", "gtin", "123"}
	p := b.issue(form, typed...)
	p.Says(t, "refused", 422, `value="Lamp"`, `value="36" selected`, `value="L-1"`, `value="kim@"`, `value="Kim L"`, `value="12"`,
		`value="ZZZ"`, `value="o-1"`, `value="Oak"`, `value="123"`, "ISO 4217", "check digit", "email address")
	form = b.open("/issue?product=typed")
	b.issue(form, "product_name", "Lamp", "length", "nonsense").Says(t, "no length", 422, "Choose a length.")
	b.issue(form, "length", "12", "start_date", "soon").Says(t, "no date", 422, "Enter the date of the purchase.")
	b.issue(form, "start_date", "2026-03-01", "customer_email", "kim@people.example").Says(t, "emailed", 200, "Warranty issued", "kim@people.example")
	equal(t, "records", w.Count(`SELECT count(*) FROM warranties`), 1)
	form = b.open("/issue?product=" + product)
	b.issue(form, "external_id", "order-1", "customer_email", "").Says(t, "printed", 200, "Give this to your customer")
	form = b.open("/issue?product=" + product)
	b.issue(form, "external_id", "order-1", "serial_number", "T64-8").
		Says(t, "a used external id", 422, "Another warranty that you issued has this external id.", `value="order-1"`)
	equal(t, "records", w.Count(`SELECT count(*) FROM warranties`), 2)
	equal(t, "codes", w.Count(`SELECT count(*) FROM offer_codes`), 2)
	form = b.open("/issue?product=" + product)
	b.Post("/products/"+product+"/delete", "account", b.account).Leads(t, "deleted", "/products?done=product_deleted")
	b.issue(form, "serial_number", "T64-9").Says(t, "a deleted product", 422, "This product was deleted.", `value="T64-9"`)
	form = b.open("/issue?product=typed")
	form["account"] = ""
	b.issue(form, "product_name", "Lamp", "length", "12").Says(t, "of another account", http.StatusPreconditionFailed, "Nothing was saved.")
	b.Get("/issue?product=nonsense").Says(t, "no such product", 200, "Serial number")
	equal(t, "records", w.Count(`SELECT count(*) FROM warranties`), 2)

	watcher := w.Verified("Vera")
	v := join(w, b.browser, b.account, watcher, "viewer")
	for _, path := range []string{"/issue", "/products/new"} {
		v.Get(path).Says(t, "a viewer at "+path, http.StatusForbidden)
	}
	v.Get("/products").Says(t, "a viewer", 200, "Products")
	v.Post("/issue", "account", b.account, "product", "typed", "product_name", "Lamp", "length", "12", "start_date", "2026-03-01", "once", "9").
		Says(t, "a viewer", 422, "Viewers")
	equal(t, "records", w.Count(`SELECT count(*) FROM warranties`), 2)
}

// TestWebIssueOverTheLimit: an offer that is not emailed because of the limit is printed instead, and the page says so.
func TestWebIssueOverTheLimit(t *testing.T) {
	w, b, product := newTill(t)
	for n := range 4 {
		form := b.open("/issue?product=" + product)
		p := b.issue(form, "serial_number", fmt.Sprintf("L-%d", n), "customer_email", "kim@people.example")
		if n < 3 {
			p.Says(t, "emailed", 200, "We email kim@people.example")
			continue
		}
		p.Says(t, "not emailed", 200, "We did not email the offer", "Print slip", "Scan with your phone")
	}
	equal(t, "records", w.Count(`SELECT count(*) FROM warranties`), 4)
}

// TestWebIssueAtOnce sends one form many times at once.
func TestWebIssueAtOnce(t *testing.T) {
	w, b, product := newTill(t)
	form := b.open("/issue?product=" + product)
	form["serial_number"] = "T64-1"
	var list []string
	for name, value := range form {
		list = append(list, name, value)
	}
	codes := make([]string, 10)
	var wg sync.WaitGroup
	for i := range codes {
		wg.Go(func() {
			tab := *b.browser
			if m := onetime.FindStringSubmatch(tab.Post("/issue", list...).Body); m != nil {
				codes[i] = m[1]
			}
		})
	}
	wg.Wait()
	shown := strings.Fields(strings.Join(codes, " "))
	if len(shown) != 1 {
		t.Errorf("%d codes are shown", len(shown))
	}
	equal(t, "records", w.Count(`SELECT count(*) FROM warranties`), 1)
	equal(t, "codes", w.Count(`SELECT count(*) FROM offer_codes`), 1)
}

// TestWebProducts adds, finds, edits and refuses products.
func TestWebProducts(t *testing.T) {
	_, b, product := newTill(t)
	b.Post("/products", "account", b.account, "name", "tessel HOB t64", "length", "1", "unit", "months").
		Says(t, "the same name", 422, "Another product has this name.", `value="tessel HOB t64"`)
	for _, wrong := range []string{"", "0", "-3", "1.5", "99999999999", "101"} {
		b.Post("/products", "account", b.account, "name", "Lamp", "length", wrong, "unit", "years").
			Says(t, "the length "+wrong, 422, "Must be between 1 and 1200.", fmt.Sprintf(`value="%s"`, wrong))
	}
	b.Post("/products", "account", b.account, "name", "Lamp", "length", "", "unit", "lifetime").Leads(t, "a lifetime", "/products?done=product_added")
	b.Get("/products/new").Says(t, "the form of a new product", 200, `action="/products"`, "Add product")
	b.Get("/products?q=lamp").Says(t, "found", 200, "Lamp", "Lifetime")
	b.Get("/products/"+product).Says(t, "the form", 200, `value="Tessel hob T64"`, `value="2"`, `value="years" selected`)
	b.Post("/products/"+product, "account", b.account, "name", "Tessel hob T65", "length", "18", "unit", "months", "brand", "", "model", "",
		"gtin", "", "category", "", "terms", "Parts.").Leads(t, "saved", "/products?done=saved")
	b.Get("/issue?product="+product).Says(t, "changed", 200, "Tessel hob T65", "18 months from today")
}

// TestWebLabels prints labels for the outside and the inside, for one record and for many.
func TestWebLabels(t *testing.T) {
	w, b, product := newTill(t)
	var references []string
	for i := range 30 {
		p := b.issue(b.open("/issue?product="+product), "serial_number", fmt.Sprint("T64-", i))
		references = append(references, first(t, regexp.MustCompile(`(WR-[0-9A-Z-]{19})`), p))
	}
	b.Get("/labels?reference="+references[0]).Says(t, "the form", 200, references[0], "Roll, 62 × 29 mm", "24 (row 8, right)",
		"Older slips and emails of these warranties stop working.")
	fields := func(list []string, size, kind, once string, more ...string) []string {
		return append([]string{
			"account", b.account, "references", strings.Join(list, "\n"), "size", size, "kind", kind, "once", once,
		}, more...)
	}
	print := func(list []string, size, kind, once string, more ...string) page {
		return b.Post("/labels", fields(list, size, kind, once, more...)...)
	}
	one := print(references[:1], "62x29", "outside", "1")
	one.Says(t, "one label", 200, references[0], "Tessel hob T64", "T64-0", "1 label<", `<svg class="paper" viewBox="0 0 62.00 29.00"`)
	equal(t, "codes", w.Count(`SELECT count(*) FROM offer_codes`), 30)
	print(references, "a4", "outside", "1").Says(t, "sheets", 200, "30 labels, 2 sheets", "Page 1 of 2.", `viewBox="0 0 210.00 297.00"`)
	print(references, "a4-own", "outside", "1", "first", "24", "top", "10,5", "left", "5", "gap_x", "2.5").
		Says(t, "own margins", 200, "30 labels, 3 sheets", `value="10,5"`)
	file := b.Post("/labels.pdf", fields(references, "a4", "outside", "1", "first", "3")...)
	equal(t, "the file", []any{file.Status, file.Header.Get("Content-Type"), file.Header.Get("Content-Disposition"), file.Body[:5]},
		[]any{200, "application/pdf", `inline; filename="labels.pdf"`, "%PDF-"})
	saved := b.Post("/labels.pdf", fields(references, "a4", "outside", "1", "save", "true")...)
	equal(t, "to save", saved.Header.Get("Content-Disposition"), `attachment; filename="labels.pdf"`)

	before := w.Rows(`SELECT code_hash FROM offer_codes`)
	inside := print(references, "62x29", "inside", "1")
	inside.Says(t, "for the inside", 200, "The codes are on this page only.", "Register your warranty:")
	var codes, pairs []string
	for _, m := range regexp.MustCompile(`name="code" value="([0-9A-Z-]{24})"`).FindAllStringSubmatch(inside.Body, -1) {
		codes, pairs = append(codes, m[1]), append(pairs, "code", m[1])
	}
	equal(t, "codes", len(codes), 30)
	after := w.Rows(`SELECT code_hash FROM offer_codes`)
	equal(t, "codes in the database", len(after), 30)
	for _, code := range before {
		if strings.Contains(strings.Join(after, " "), code) {
			t.Error("an older slip still works")
		}
	}
	print(references, "62x29", "inside", "1").Says(t, "sent again", 200, "already shown", "0 labels")
	// On other paper they have the same codes.
	again := print(references, "a4", "inside", "", pairs...)
	again.Says(t, "on other paper", 200, "30 labels, 2 sheets", codes[0], codes[29])
	equal(t, "the file", b.Post("/labels.pdf", fields(references, "a4", "inside", "", pairs...)...).Header.Get("Content-Type"), "application/pdf")
	b.Post("/labels.pdf", fields(references, "a4", "inside", "")...).Says(t, "without codes", 400, "")
	b.Post("/labels.pdf", fields(references[:1], "a4", "inside", "", "code", codes[1])...).Says(t, "the code of another record", 422, "no longer works")
	b.Post("/labels.pdf", fields(references[:2], "a4", "inside", "", "code", codes[0])...).Says(t, "too few codes", 422, "")
	equal(t, "codes after all", strings.Join(w.Rows(`SELECT code_hash FROM offer_codes`), " "), strings.Join(after, " "))

	for name, wrong := range map[string]string{"nothing": " \n", "nonsense": "WR-1", "too many": strings.Repeat(references[0]+" ", 1001)} {
		equal(t, name, print([]string{wrong}, "62x29", "inside", "2").Status, 422)
	}
	for name, wrong := range map[string][]string{
		"a size":      {"size", "huge"},
		"a position":  {"size", "a4", "first", "25"},
		"no position": {"size", "a4", "first", "x"},
		"a kind":      {"size", "a4", "kind", "sideways"},
	} {
		p := b.Post("/labels", append(wrong, "account", b.account, "references", references[0], "kind", "outside")...)
		equal(t, name, p.Status, 422)
	}
	for name, wrong := range map[string][]string{"text": {"top", "wide"}, "negative": {"left", "-1"}, "NaN": {"gap_x", "NaN"}, "small labels": {"gap_y", "30"}} {
		equal(t, name, print(references[:1], "a4-own", "outside", "1", wrong...).Status, 422)
	}
	// Records of others do not exist.
	eve := w.SignedIn(t, w.Verified("Eve"))
	eve.Post("/labels", "references", references[0], "size", "62x29", "kind", "outside").Says(t, "a stranger", 422, "not reference numbers of your warranties")
	eve.Post("/labels.pdf", "references", references[0], "size", "62x29", "kind", "inside", "code", codes[0]).Says(t, "a stranger's file", 422, "")
	own := w.Warranty(w.Verified("Otto").Session, nil)
	b.Post("/labels", "account", b.account, "references", own.ReferenceNumber, "size", "62x29", "kind", "inside").Says(t, "someone else's", 422)
	equal(t, "codes", strings.Join(w.Rows(`SELECT code_hash FROM offer_codes`), " "), strings.Join(after, " "))
}

// TestWebImportProducts adds products from a file. Rows with errors are grouped, and names that are known are
// skipped, so the fixed file can be sent again.
func TestWebImportProducts(t *testing.T) {
	w, b, _ := newTill(t)
	b.Get("/products").Says(t, "the list", 200, `href="/products/import"`)
	b.Get("/products/import").Says(t, "the form", 200, "Up to 1,000 rows")
	send := func(pairs ...string) page {
		return sheetTo(b.browser, "/products/import", "same-origin", append([]string{"account", b.account}, pairs...)...)
	}
	send("sheet", "colour\nred\n").Says(t, "other columns", 422, "The columns name and length are required.", "red")
	send().Says(t, "nothing", 422, "The file is empty.")
	const rows = "name,brand,length\nOven,Tessel,24\nTessel hob T64,,12\nPan,,never\nPot,,soon\n"
	send("sheet", rows).Says(t, "the result", 200, "Oven", "Rows that were not imported", "4, 5")
	equal(t, "products", w.Count(`SELECT count(*) FROM products`), 2)
	send("sheet", strings.NewReplacer("never", "2 years", "soon", "lifetime").Replace(rows)).Says(t, "the fixed file", 200, "Already there")
	equal(t, "products", w.Count(`SELECT count(*) FROM products`), 4)
	sheetTo(b.browser, "/products/import", "same-origin", "account", w.Verified("Eve").ID, "sheet", rows).Says(t, "for another account", 412)
	w.SignedIn(t, w.Verified("Zoe")).Get("/products/import").Leads(t, "a personal account", "/issue")
}
