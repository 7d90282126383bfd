package web_test

import (
	"fmt"
	"strings"
	"testing"

	"warranty.example/svc/internal/servertest"
)

// TestWebListsSortAndPage checks the order of the list, the headings that change it, and the links to
// other pages, which keep the filters.
func TestWebListsSortAndPage(t *testing.T) {
	w := webWorld(t, busy)
	nora := w.Person("Nora")
	for i := range 120 {
		w.Warranty(nora.Session, fields{
			"product_name":  fmt.Sprintf("Lamp %03d", (i*7)%120),
			"start_date":    "2026-01-01",
			"end_date":      fmt.Sprintf("2030-%02d-%02d", 1+i%12, 1+i%28),
			"serial_number": fmt.Sprintf("SN-%04d", i),
		})
	}
	b := w.SignedIn(t, nora)
	first := b.Get("/warranties?q=lamp&sort=product_name")
	first.Says(t, "the first page", 200, "Lamp 000", "Lamp 049", "SN-0000", "Page 1 of 3, 120 records",
		`aria-sort="ascending"`, `href="/warranties?q=lamp&amp;sort=end_date"`,
		`href="/warranties?page=2&amp;q=lamp&amp;sort=product_name"`, `href="/warranties?page=3&amp;q=lamp&amp;sort=product_name"`,
		`<input type="hidden" name="sort" value="product_name">`)
	first.Hides(t, "the first page", "Lamp 050", `rel="first"`, `rel="prev"`)
	if text := first.Main(); strings.Index(text, "Lamp 001") > strings.Index(text, "Lamp 002") {
		t.Error("the list is not sorted by product")
	}
	b.Get("/warranties?q=lamp&sort=product_name&page=3").Says(t, "the last page", 200, "Lamp 119", `rel="first"`, `rel="prev"`)
	b.Get("/warranties?sort=end_date").Says(t, "by end", 200, `href="/warranties?sort=-end_date"`, `aria-sort="ascending"`)
	b.Get("/warranties?sort=-end_date").Says(t, "by end, latest first", 200, `href="/warranties?sort=end_date"`,
		`aria-sort="descending"`)
	b.Get("/warranties?page=900").Says(t, "past the end", 200, "No warranties match")
	b.Get("/warranties?sort=%22%3E%3Cscript%3E").Says(t, "an unknown order", 200, "Newest first")
}

// TestWebClaimsAreSearched finds a claim by its product, number and status.
func TestWebClaimsAreSearched(t *testing.T) {
	w := webWorld(t)
	nora := w.Person("Nora")
	lamp := w.Warranty(nora.Session, fields{"product_name": "Lumen lamp"})
	pump := w.Warranty(nora.Session, fields{"product_name": "Pool pump"})
	w.Claim(nora.Session, lamp.ID)
	w.Claim(nora.Session, pump.ID)
	b := w.SignedIn(t, nora)
	found := b.Get("/claims?q=pool")
	found.Says(t, "by product", 200, "Pool pump")
	found.Hides(t, "by product", "Lumen lamp")
	b.Get("/claims?q=pool&status=rejected").Says(t, "by status too", 200, "No claims match")
	part := b.Send("GET", "/claims?q=lumen", nil, "HX-Request", "true")
	part.Says(t, "a part", 200, "Lumen lamp", "1 claim found")
	part.Hides(t, "a part", "<h1>")
}

// TestWebForbiddenMoveOfAClaim sends a button of a page that is out of date: the page says why nothing changed.
func TestWebForbiddenMoveOfAClaim(t *testing.T) {
	w := webWorld(t)
	nora := w.Person("Nora")
	b := w.SignedIn(t, nora)
	record := w.Warranty(nora.Session, fields{"product_name": "Kettle", "brand": "Tessel"})
	claim := w.Claim(nora.Session, record.ID)
	b.Post("/claims/"+claim+"/status", "status", "withdrawn", "reason", "Found it").Leads(t, "withdrawn", "/claims/"+claim+"?done=moved")
	b.Post("/claims/"+claim+"/status", "status", "withdrawn", "reason", "Again").Says(t, "twice", 422, "and can no longer change status.", `role="alert"`)

	// The list of claims says whose turn it is, to each side in its own words.
	shop := w.Verified("Shop")
	sold := w.Warranty(shop.Session, fields{"product_name": "Lamp"})
	w.Issue(sold.ID, shop, nora)
	w.Claim(nora.Session, sold.ID)
	w.SignedIn(t, shop).Get("/claims").Says(t, "the business", 200, "1 claim waits for you", "Nora", "Lamp")
	b.Get("/claims").Says(t, "the owner", 200, "Nothing is waiting for you", "Waiting for the business", "Lamp")
}

// TestWebListShowsCustomers: the list of an organization names the customers of what it issued, and the search and the
// filter find them. The customer does not see what the shop calls them. Finding T8.
func TestWebListShowsCustomers(t *testing.T) {
	w, b, product := newTill(t)
	form := b.open("/issue?product=" + product)
	issued := b.issue(form, "serial_number", "T64-1", "customer_name", "Kim Larsen")
	b.issue(b.open("/issue?product="+product), "serial_number", "T64-2", "customer_email", "eva@people.example")
	all := b.Get("/warranties")
	all.Says(t, "the list", 200, "Kim Larsen", "eva@people.example", "Search products, numbers, customers and sellers",
		"Customer, name or email")
	for _, query := range []string{"q=larsen", "customer=larsen", "customer=Kim+Larsen&sort=end_date"} {
		p := b.Get("/warranties?" + query)
		p.Says(t, query, 200, "T64-1", "1 warranty found")
		p.Hides(t, query, "T64-2")
	}
	b.Get("/warranties?customer=eva@").Says(t, "a chip", 200, "T64-2", "Customer: eva@")
	b.Get("/warranties?purchased_from=2026-01-01&purchased_to=2026-01-02").Says(t, "by purchase", 200,
		"Bought from 1 Jan 2026", "Bought up to 2 Jan 2026")

	person := w.Verified("Kim")
	w.Must(200, servertest.Request{Method: "POST", Path: "/api/handovers/take", Secret: person.Session,
		Body: fields{"code": first(t, onetime, issued)}})
	kim := w.SignedIn(t, person)
	own := kim.Get("/warranties")
	own.Says(t, "the customer's list", 200, "T64-1")
	own.Hides(t, "the customer's list", "Larsen", "Customer")
	kim.Get("/warranties?q=larsen").Hides(t, "the customer's search", "T64-1")
	kim.Get("/warranties?customer=larsen").Hides(t, "the customer's filter", "T64-1")
}
