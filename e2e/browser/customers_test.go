//go:build browser

package browser

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/chromedp/cdproto/page"
	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"

	"warranty.example/svc/e2e/lab"
)

// regulars makes a shop with the customers of the drawings: one with an open claim, a duplicate, and long names.
func (s *site) regulars(t testing.TB, name string) (b *tab, claim string) {
	t.Helper()
	f := s.front(t, name, "")
	email, session := s.buyer(t, "andrea")
	refrigerator := f.issue(t, "Brandt refrigerator BFC8610NX", "BF-86-20077", "Andrea Müller", email)
	code, err := s.Mailed(email, "Your warranty is ready to register")
	if err != nil {
		t.Fatal(err)
	}
	s.Want(t, 200, lab.Call{Method: "POST", Path: "/api/handovers/take", Secret: session, Body: map[string]string{"code": code}})
	f.gives(t, session, map[string]string{"product_name": "Dyson V15", "end_date": today(18), "start_date": today(-700), "customer_name": "Andrea Müller"})
	f.gives(t, session, map[string]string{"product_name": "Bosch kettle TWK3P420", "end_date": today(-20), "start_date": today(-800),
		"customer_name": "Andrea Müller"})
	claim = s.claims(t, session, refrigerator, "Freezer part is warm since yesterday evening; food is spoiled.")
	known := f.as(t, 200, "GET", "/api/v1/customers?q=andrea+m", nil)
	ids := map[string]string{}
	for i := range 2 {
		ids[known.Must(t, fmt.Sprintf("data.%d.email", i))] = known.Must(t, fmt.Sprintf("data.%d.id", i))
	}
	f.as(t, 200, "POST", "/api/customers/merge", map[string]string{"into_id": ids[email], "from_id": ids["null"]})
	f.issue(t, "De'Longhi Magnifica Evo", "DL-1", "A. Mueller", "")
	f.issue(t, "Sony WH-1000XM5", "S-1", "Dr. Friederike von Hohenstein-Möllersdorf",
		"friederike.von.hohenstein-moellersdorf@kanzlei-am-markt.example")
	f.issue(t, "Sony WH-1000XM5", "S-2", "Dr. Friederike von Hohenstein-Möllersdorf", "")
	f.issue(t, "Miele Complete C3", "M-1", "Müller & Söhne Bau GmbH", "einkauf@mueller-bau.example")
	f.issue(t, "Tessel induction hob", "T-1", "", strings.Repeat("x", 60)+"@post.example")
	b = f.keeps(t, name)
	return b, claim
}

// TestCustomersInTheBrowser looks at the pages of customers beside the drawings: list, page, form, merge, the claim beside
// its customer, the search and the menu of a phone. Nothing overlaps with text twice as large.
func TestCustomersInTheBrowser(t *testing.T) {
	t.Parallel()
	s := openUndrawn(t)
	b, claim := s.regulars(t, "Halden Customers")
	b.look(t, "light", 1440)
	see := func(name string) {
		t.Helper()
		b.snap(t, name, homeWidths...)
		b.mustPassAxeAt(t, name, homeWidths...)
		b.look(t, "light", 1440)
	}
	b.mustOpen(t, "/customers")
	b.mustShow(t, "Customers", "Müller & Söhne Bau GmbH", "1 waits for you", "not registered")
	see("customers")
	b.fill(t, "#q", "mueller")
	b.until(t, `document.querySelector("#count").innerText.includes("match")`)
	b.until(t, `document.querySelectorAll("tbody mark").length > 0`)
	see("customers-found")
	b.fill(t, "#q", "nora berg")
	b.until(t, `document.querySelector("#rows").innerText.includes("No customers match")`)
	see("customers-none")
	b.leads(t, chromedp.Click(`//div[@id="rows"]//a[normalize-space()="Add customer"]`, chromedp.NodeVisible))
	b.mustShow(t, "Add customer", "The customer is not told.")
	b.fill(t, "#email", "einkauf@mueller-bau.example", "#phone", "+49 421 555 0199")
	b.press(t, "Add customer")
	b.mustShow(t, "This customer is already in your list.", "Müller & Söhne Bau GmbH")
	see("customer-known")
	b.fill(t, "#email", "nora.berg@post.example")
	see("customer-new")
	b.press(t, "Add customer")
	b.mustShow(t, "Customer added.", "nora berg", "+49 421 555 0199", "No registered warranties.")
	see("customer-added")
	b.mustOpen(t, "/customers")
	b.fill(t, "#q", "hohenstein kanzlei")
	b.until(t, `document.querySelectorAll("tbody tr").length === 1`)
	b.leads(t, chromedp.Click(chromedp.CSS("tbody .t1")))
	b.mustShow(t, "Dr. Friederike von Hohenstein-Möllersdorf", "Not yet registered", "New slip", "Same person?")
	see("customer-offered")
	b.press(t, "Compare: Dr. Friederike von Hohenstein-Möllersdorf")
	b.mustShow(t, "Merge these customers?", "You can undo this for 30 days.", "No email")
	see("customer-merge")
	b.press(t, "Merge customers")
	b.mustShow(t, "Customers merged.", "Merged into this customer")
	see("customer-merged")
	b.click(t, ".flash .btn")
	b.mustShow(t, "Merge undone.")

	b.mustOpen(t, "/claims/"+claim)
	b.mustShow(t, "Also bought here", "Dyson V15", "Bosch kettle")
	see("claim-customer")
	b.click(t, `section[aria-labelledby=h-customer] header a`)
	b.mustShow(t, "Waiting for you", "Freezer part is warm", "BF-86-20077", "Warranties", "Contact")
	see("customer")
	path := b.path(t)
	b.press(t, "Edit: Contact")
	b.fill(t, "#phone", "+49 4231 555 0188", "#note", "Call after 17:00.\nPrefers pick-up to shipping.")
	see("customer-form")
	b.press(t, "Save")
	b.mustShow(t, "Saved.", "+49 4231 555 0188", "Prefers pick-up to shipping.")
	b.press(t, "Merge with another customer")
	b.fill(t, "#q", "mueller")
	b.press(t, "Search")
	b.mustShow(t, "A. Mueller")
	see("customer-choose")

	b.mustOpen(t, "/")
	b.do(t, keys("/"))
	b.until(t, `document.querySelector("#palette").open`)
	b.do(t, keys("mueller"))
	b.until(t, `!!document.querySelector("#hit-customers-0")`)
	if n := eval[int](t, b, `document.querySelector("#palette-hits [role=group]").querySelectorAll("[id^=hit-customers]:not(.all)").length`); n != 3 {
		t.Errorf("the dialog shows %d customers", n)
	}
	see("search-customers")
	b.do(t, keys(kb.Escape))

	b.look(t, "light", 390)
	b.mustOpen(t, "/customers")
	b.do(t, chromedp.Click(chromedp.CSS(".nav button")))
	b.until(t, `document.querySelector("#more-places").matches(":popover-open")`)
	b.snap(t, "more", 390)
	b.mustPassAxeAt(t, "the menu of a phone", 390)
	b.look(t, "light", 390)
	b.leads(t, chromedp.Click(`//div[@id="more-places"]//a[normalize-space()="Documents"]`, chromedp.NodeVisible))
	b.mustShow(t, "Documents")

	b.mustBeQuiet(t, http.StatusUnprocessableEntity) // of the customer who is in the list already
	large := page.SetFontSizesParams{FontSizes: &page.FontSizes{Standard: 32, Fixed: 26}}
	if _, err := chromedp.Call(b.ctx, page.SetFontSizes, large); err != nil {
		t.Fatal(err)
	}
	for name, at := range map[string]string{"list": "/customers", "page": path, "form": path + "/edit", "new": "/customers/new", "claim": "/claims/" + claim, "merge": path + "/merge?q=mueller"} {
		b.mustOpen(t, at)
		if wrong := eval[[]string](t, b, largeTextFaults); len(wrong) > 0 {
			t.Errorf("%s with large text: %v", at, wrong)
		}
		b.snap(t, "large-customer-"+name, 390)
	}
}

// TestTheTillKnowsCustomers: typing a name or an address suggests customers, and one that is chosen fills both fields.
func TestTheTillKnowsCustomers(t *testing.T) {
	t.Parallel()
	s := openSite(t)
	f := s.front(t, "Till Customers", "")
	f.issue(t, "Oven", "O-1", "Andrea Müller", "a.mueller@post.example")
	b := f.keeps(t, "Till Customers")
	b.mustOpen(t, "/issue?product=typed")
	b.fill(t, "#product_name", "Dyson V15", "#customer_email", "muell")
	b.until(t, `[...document.querySelector("#customer_email").list.options].some(o => o.value === "a.mueller@post.example")`)
	b.fill(t, "#customer_email", "a.mueller@post.example")
	b.until(t, `document.querySelector("#customer_name").value === "Andrea Müller"`)
	if status := b.press(t, "Issue warranty"); status != http.StatusOK {
		t.Fatalf("got %d\n%s", status, b.describe())
	}
	b.mustOpen(t, "/customers")
	b.mustShow(t, "1 customer", "Andrea Müller")

	plain := b.withoutScript(t)
	plain.mustOpen(t, "/issue?product=typed")
	if n := eval[int](t, plain, `document.querySelector("#customer_email").list.options.length`); n != 1 {
		t.Errorf("without scripts the field suggests %d customers", n)
	}
	plain.mustOpen(t, "/customers?q=mueller")
	plain.mustShow(t, "1 of 1 match “mueller”", "Andrea Müller")
	b.mustBeQuiet(t)
}

// TestStoredReceiptGoesWithAClaim: the owner attaches the receipt that is stored with the warranty, to a new claim and to a
// reply, without uploading it again, and takes it back.
func TestStoredReceiptGoesWithAClaim(t *testing.T) {
	t.Parallel()
	s := openUndrawn(t)
	f := s.front(t, "Receipts", "")
	email, session := s.buyer(t, "receipts")
	id, _ := f.gives(t, session, map[string]string{"product_name": "Oven"})
	b := s.visitor(t)
	b.signIn(t, email, lab.Password)
	b.mustOpen(t, "/documents/new?warranty_id="+id)
	b.fill(t, "#file", receipt(t, "receipt.pdf"))
	b.leads(t, chromedp.Click(chromedp.CSS(`main form .btn.primary`)))
	b.mustOpen(t, "/warranties/"+id)
	b.click(t, `a[href^="/claims/new"]`)
	b.fill(t, "#description", "It does not heat.", "#incident_date", today(0), `[name=document_ids]`, "true")
	b.snap(t, "claim-stored", homeWidths...)
	b.mustPassAxeAt(t, "a claim with a stored document", homeWidths...)
	b.look(t, "light", 1280)
	if status := b.press(t, "File claim"); status != http.StatusOK {
		t.Fatalf("got %d\n%s", status, b.describe())
	}
	b.mustShow(t, "Claim filed.", "It does not heat.", "receipt.pdf")
	path := b.path(t)
	claim, _, _ := strings.Cut(path, "?")
	shop := f.keeps(t, "Receipts")
	shop.mustOpen(t, claim)
	shop.mustShow(t, "receipt.pdf", "Receipt is there")
	b.openDetails(t, "Sent from your documents")
	b.press(t, "Take back receipt.pdf")
	b.mustShow(t, "Taken back.")
	shop.mustOpen(t, claim)
	if strings.Contains(shop.text(t), "receipt.pdf") {
		t.Errorf("the shop still sees the receipt\n%s", shop.describe())
	}
	b.mustOpen(t, claim)
	eval[bool](t, b, `!!document.querySelector(".reply") && (document.querySelector(".reply").closest("details") ? document.querySelector(".reply").closest("details").open = true : true)`)
	b.fill(t, "#body", "Here is the receipt.", `[name=document_ids]`, "true")
	b.press(t, "Send reply")
	b.mustShow(t, "Here is the receipt.", "receipt.pdf")
	shop.mustOpen(t, claim)
	shop.mustShow(t, "Here is the receipt.", "receipt.pdf")
	b.mustBeQuiet(t)
}
