package web_test

import (
	"net/url"
	"regexp"
	"strings"
	"testing"

	"warranty.example/svc/internal/servertest"
)

// sale is a warranty that a shop issues to a customer: by email, or on a slip that may be taken.
type sale struct{ product, serial, name, email string }

// shopWithCustomers is an organization with a shopkeeper who acts for it.
func shopWithCustomers(t *testing.T, w *world, sales ...sale) (b *browser, owner servertest.Person, shop string) {
	t.Helper()
	owner = w.Verified("Halden")
	b = w.SignedIn(t, owner)
	shop = found(b, "Halden Electronics")
	for _, s := range sales {
		issue(b, shop, s)
	}
	return b, owner, shop
}

// issue sells a product at the till.
func issue(b *browser, shop string, s sale) page {
	b.T.Helper()
	p := b.Post("/issue", "account", shop, "product", "typed", "product_name", s.product, "length", "120", "start_date", "2020-01-02",
		"serial_number", s.serial, "customer_name", s.name, "customer_email", s.email)
	if p.Status != 200 {
		b.T.Fatalf("issuing %v: %d %s", s, p.Status, p.Main())
	}
	return p
}

// customerOf returns the address of the only customer that a search finds.
func customerOf(b *browser, q string) string {
	b.T.Helper()
	found := regexp.MustCompile(`href="(/customers/[0-9a-f-]{36})"`).FindAllStringSubmatch(b.Get("/customers?q="+url.QueryEscape(q)).Body, -1)
	if len(found) != 1 {
		b.T.Fatalf("%q finds %d customers", q, len(found))
	}
	return found[0][1]
}

// TestCustomersPage lists and searches the customers of an organization, with exact totals.
func TestCustomersPage(t *testing.T) {
	w := webWorld(t)
	b, _, shop := shopWithCustomers(t, w)
	b.Get("/customers").Says(t, "without customers", 200, "No customers yet", "Customers appear when you issue or import.")
	for _, s := range []sale{
		{"Oven", "BF-86-20077", "Andrea Müller", "a.mueller@post.example"},
		{"Dyson V15", "V15-2", "Andrea Müller", "a.mueller@post.example"},
		{"Kettle", "KET-1", "Anton Müller", ""},
		{"Lamp", "LMP-1", "", "zoe@post.example"},
	} {
		issue(b, shop, s)
	}
	b.Get("/").Says(t, "the navigation", 200, `href="/customers"`)
	b.Get("/customers").Says(t, "the list", 200, "3 customers", "Andrea Müller", "2 products", "2 not registered", "Anton Müller", "No email", "zoe@post.example")
	for q, want := range map[string]string{
		"mueller": "2 of 3 match", "MÜLLER and": "1 of 3 match", "a.mueller@post": "1 of 3 match", "20077": "1 of 3 match",
		"bf86": "1 of 3 match", "nobody": "0 of 3 match",
	} {
		b.Get("/customers?q="+url.QueryEscape(q)).Says(t, q, 200, want)
	}
	b.Get("/customers?q=mueller").Says(t, "what was found", 200, "<mark>Müller</mark>")
	b.Get("/customers?q=mueller&sort=name").Says(t, "the export of what was found", 200, `href="/customers/export.csv?q=mueller&amp;sort=name"`)
	file := b.Get("/customers/export.csv?q=mueller&sort=name&page=7")
	lines := strings.Split(strings.TrimSpace(file.Body), "\n")
	if file.Status != 200 || len(lines) != 3 || !strings.Contains(file.Header.Get("Content-Disposition"), `filename="customers-`) ||
		!strings.Contains(lines[0], "name,email,phone,warranties,open_claims") || !strings.Contains(lines[1], "Andrea Müller,a.mueller@post.example,,2,0") ||
		!strings.Contains(lines[2], "Anton Müller,,,1,0") {
		t.Errorf("the file: %d %v %q", file.Status, file.Header, lines)
	}
	b.Get("/customers?q=nobody").Says(t, "nothing", 200, "No customers match", "Clear search")
	b.Get("/customers?sort=name").Says(t, "by name", 200, `aria-sort="ascending"`)
	b.Get("/customers?sort=nonsense&page=x").Says(t, "nonsense", 200, "3 customers")
	b.Get("/customers/suggest?q=muel", "HX-Request", "true").Says(t, "suggestions", 200,
		`<option value="a.mueller@post.example" label="Andrea Müller">`, `<option value="Anton Müller" label="">`)
	b.Get("/customers?q=mueller", "HX-Request", "true").Hides(t, "a part", "<html")

	// Customers come before everything else in a search of the organization.
	found := b.Get("/search?q=andrea")
	found.Says(t, "the search", 200, "Customers", "<mark>Andrea</mark> Müller", "a.mueller@post.example · 2 products")
	if at, other := strings.Index(found.Body, "hitgroup\">Customers"), strings.Index(found.Body, "hitgroup\">Warranties"); at < 0 || other < at {
		t.Errorf("customers are at %d, warranties at %d", at, other)
	}

	// A person has no customers.
	own := w.SignedIn(t, w.Verified("Nora"))
	own.Get("/customers").Leads(t, "a person", "/")
	own.Get("/").Hides(t, "the navigation of a person", `href="/customers"`)
	own.Get("/search?q=andrea").Hides(t, "the search of a person", "Müller")
}

// idOf returns the id in the address of a customer.
func idOf(path string) string { return strings.TrimPrefix(path, "/customers/") }

// TestCustomerPage shows a customer with what waits, what was sold and what is not registered, and the way there from
// records and claims. After a transfer the name and the history stay.
func TestCustomerPage(t *testing.T) {
	w := webWorld(t)
	b, _, shop := shopWithCustomers(t, w)
	andrea, eve := w.Verified("Andrea"), w.Verified("Eve")
	issue(b, shop, sale{"Refrigerator", "BF-86", "Andrea Müller", andrea.Email})
	w.Must(200, made("POST", "/api/handovers/take", andrea.Session, fields{"code": w.MailedCode(andrea.Email)}))
	issue(b, shop, sale{"Oven", "OVEN-1", "", andrea.Email})
	path := customerOf(b, andrea.Email)
	record := regexp.MustCompile(`/warranties/([0-9a-f-]{36})"><bdi>Refrigerator`).FindStringSubmatch(b.Get(path).Body)[1]
	claim := w.Claim(andrea.Session, record)
	first := b.Get(path)
	first.Says(t, "the customer", 200, "Andrea Müller", "Customer since", "2 products", "Waiting for you", "It broke.", "BF-86",
		"Not yet registered", "New slip", "mailto:"+andrea.Email, "No phone number", "No note.")
	if strings.Index(first.Main(), "Waiting for you") > strings.Index(first.Main(), ">Warranties<") {
		t.Error("what waits does not come first")
	}
	b.Get("/claims/"+claim).Says(t, "the claim", 200, path, "Also bought here", "Oven")
	b.Get("/customers?claim="+claim).Leads(t, "from the queue", path)
	b.Get("/claims").Says(t, "the queue", 200, "/customers?claim="+claim)
	b.Get("/warranties/"+record).Says(t, "the record", 200, path)
	b.Get("/customers?warranty="+record).Leads(t, "from the list", path)
	b.Get("/warranties?customer="+idOf(path)).Says(t, "their warranties", 200, "2 warranties found", "Customer: Andrea Müller")
	b.Get("/claims?customer="+idOf(path)).Says(t, "their claims", 200, "1 claim found", "Customer: Andrea Müller")
	b.Get("/issue?product=typed&customer="+idOf(path)).
		Says(t, "the till", 200, `value="Andrea Müller"`, `value="`+andrea.Email+`"`, `list="known-emails"`)
	b.Accept = "de"
	b.Get(path).Says(t, "in German", 200, "Wartet auf Sie", "Noch nicht registriert", "Kunde seit")
	b.Accept = ""

	w.Transfer(record, andrea, eve)
	b.Get(path).Says(t, "after the transfer", 200, "Andrea Müller", "Refrigerator", "Transferred on", "It broke.")
	w.SignedIn(t, eve).Get("/warranties/"+record).Hides(t, "the next owner", "Müller", "/customers/")
}

// TestCustomersAreMerged merges two customers and undoes it: everything of both is on one page meanwhile.
func TestCustomersAreMerged(t *testing.T) {
	w := webWorld(t)
	b, _, shop := shopWithCustomers(t, w,
		sale{"Refrigerator", "BF-86", "Andrea Müller", "a.mueller@post.example"}, sale{"Oven", "OVEN-1", "Andrea Müller", ""},
		sale{"Lamp", "LMP-1", "A. Mueller", ""})
	path, same, third := customerOf(b, "a.mueller@post"), customerOf(b, "OVEN-1"), customerOf(b, "LMP-1")
	b.Get(path).Says(t, "a duplicate", 200, "Same person?", path+"/merge?from="+idOf(same))
	b.Get(same).Says(t, "the other one", 200, "Not yet registered", "Oven", "New slip", "#email")
	b.Get(path+"/merge?from="+idOf(same)).Says(t, "the question", 200, "Merge these customers?", "You can undo this for 30 days.",
		same+"/merge?from="+idOf(path))
	b.Get(path+"/merge?from="+idOf(path)).Leads(t, "with itself", path)
	b.Get(path+"/merge?from="+unknownID).Says(t, "with nobody", 404)
	b.Get(path+"/merge?q=muell").Says(t, "the others", 200, "Who is the same as Andrea Müller?", "from="+idOf(same), "from="+idOf(third))
	b.Get(path+"/merge").Says(t, "those that may be the same", 200, "from="+idOf(same))

	b.Post(path+"/merge", "account", shop, "from_id", idOf(same)).Leads(t, "merging", path+"?done=merged")
	b.Get(path+"?done=merged").Says(t, "merged", 200, "Customers merged.", "Merged into this customer", "Oven", "Refrigerator",
		`action="`+same+`/unmerge"`)
	b.Get(same).Leads(t, "the merged one", path)
	b.Get("/customers").Says(t, "the list", 200, "2 customers")
	b.Post(path+"/merge", "account", shop, "from_id", idOf(same)).Leads(t, "merging twice", path)
	b.Post(path+"/merge", "account", shop).Says(t, "without the other one", 422)
	b.Post(same+"/unmerge", "account", shop).Leads(t, "undoing", same+"?done=unmerged")
	b.Get(same+"?done=unmerged").Says(t, "undone", 200, "Merge undone.", "Oven")
	b.Get(path).Hides(t, "the other one", "Oven")

	// A message that was not earned has no button.
	b.Get(path+"?done=merged").Hides(t, "a link that says so", "/unmerge")
}

// TestCustomersBelongToTheOrganization: viewers read and change nothing, others learn nothing, and texts stay texts.
func TestCustomersBelongToTheOrganization(t *testing.T) {
	w := webWorld(t)
	const payload = `"><img src=x onerror=alert(1)><b>`
	b, _, shop := shopWithCustomers(t, w, sale{"Refrigerator", "BF-86", payload, "a@post.example"}, sale{"Oven", "OVEN-1", payload, ""})
	path, same := customerOf(b, "a@post.example"), customerOf(b, "OVEN-1")
	b.Post(path, "account", shop, "name", payload, "phone", "+49 421 "+payload[:9], "note", payload).Leads(t, "saving", path+"?done=saved")
	for _, page := range []string{
		"/customers", "/customers?q=a%40post", "/customers/suggest?q=post", path, path + "/edit", path + "/merge?from=" + idOf(same), path + "/merge",
		"/search?q=a%40post", "/issue?product=typed&customer=" + idOf(path), "/warranties?customer=" + idOf(path), "/claims?customer=" + idOf(path),
	} {
		p := b.Get(page)
		p.Says(t, page, 200, "img src=x")
		p.Hides(t, page, "<img src=x")
	}

	viewer := join(w, b, shop, w.Verified("Vera"), "viewer")
	viewer.Get("/customers").Says(t, "a viewer", 200, "2 customers")
	viewer.Get(path).Says(t, "a viewer", 200, "Refrigerator")
	viewer.Get(path).Hides(t, "a viewer", "/edit", "New slip", "/merge", `href="/issue?customer`)
	viewer.Get(path+"/edit").Says(t, "a viewer's form", 403)
	viewer.Get(path+"/merge?from="+idOf(same)).Says(t, "a viewer's merge", 403)
	viewer.Post(path, "account", shop, "note", "mine").Says(t, "a viewer who saves", 422, "cannot change anything")
	viewer.Post(path+"/merge", "account", shop, "from_id", idOf(same)).Says(t, "a viewer who merges", 422, "cannot change anything")

	other := w.SignedIn(t, w.Verified("Rival"))
	rivals := found(other, "Rival Ltd")
	person := w.SignedIn(t, w.Verified("Nora"))
	for _, stranger := range []*browser{other, person} {
		for _, page := range []string{path, path + "/edit", path + "/merge?from=" + idOf(same), "/customers/nonsense", "/customers/" + unknownID} {
			stranger.Get(page).Says(t, page, 404)
		}
		stranger.Get("/customers").Hides(t, "the list of a stranger", "img src=x")
		stranger.Get("/customers/suggest?q=post").Hides(t, "suggestions for a stranger", "a@post")
		stranger.Get("/issue?product=typed&customer="+idOf(path)).Hides(t, "the till of a stranger", "a@post")
	}
	record := regexp.MustCompile(`/warranties/([0-9a-f-]{36})"`).FindStringSubmatch(b.Get(path).Body)[1]
	other.Get("/customers?warranty="+record).Says(t, "a rival who follows a record", 404)
	other.Get("/customers?claim=nonsense").Says(t, "nonsense", 404)
	other.Post(path, "account", rivals, "note", "mine").Says(t, "a rival who saves", 404)
	other.Post(path+"/merge", "account", rivals, "from_id", idOf(same)).Says(t, "a rival who merges", 404)
	b.Get(path).Hides(t, "the note", "mine")
	w.Browser(t).Get(path).Says(t, "nobody", 303)
}

// TestCustomerChangedMeanwhile keeps what was typed when someone else saved first.
func TestCustomerChangedMeanwhile(t *testing.T) {
	w := webWorld(t)
	b, _, shop := shopWithCustomers(t, w, sale{"Refrigerator", "BF-86", "Andrea Müller", "a@post.example"})
	path := customerOf(b, "andrea")
	opened := b.Get(path + "/edit")
	values := url.Values{"account": {shop}}
	for _, name := range []string{"name", "phone", "if_match", "was.name", "was.phone", "was.note"} {
		values.Set(name, opened.Value(name))
	}
	b.Post(path, "account", shop, "name", "Andrea Meier", "phone", "0421 1", "note", "Call\nlater.").Leads(t, "someone else", path+"?done=saved")

	values.Set("phone", "0421 2")
	values.Set("note", "Prefers pick-up.")
	send := func() page { return b.Send("POST", path, values, "Sec-Fetch-Site", "same-origin") }
	refused := send()
	refused.Says(t, "the conflict", 422, "This customer was changed while you edited it.", "Andrea Müller</bdi> →", "Andrea Meier",
		`value="Andrea Meier"`, `value="0421 2"`, "Prefers pick-up.</textarea>")
	for _, name := range []string{"name", "phone", "if_match", "was.name", "was.phone", "was.note"} {
		values.Set(name, refused.Value(name))
	}
	send().Leads(t, "again", path+"?done=saved")
	b.Get(path).Says(t, "afterwards", 200, "Andrea Meier", "0421 2", "Prefers pick-up.", "tel:04212")

	long := b.Post(path, "account", shop, "name", strings.Repeat("x", 201), "phone", strings.Repeat("1", 41), "note", "kept")
	long.Says(t, "too long", 422, "Fix 2 fields", "kept</textarea>")
	b.Post(path, "account", shop, "name", "").Leads(t, "without a name", path+"?done=saved")
	b.Get(path).Says(t, "called by the address", 200, "<bdi>a@post.example</bdi></h1>")
}

// TestACustomerIsAddedOnce adds a customer by hand. A form that is sent twice leads to the same customer, and one with an address
// that is known to the customer who has it.
func TestACustomerIsAddedOnce(t *testing.T) {
	w := webWorld(t)
	b, _, shop := shopWithCustomers(t, w, sale{"Oven", "BF-86", "Andrea Müller", "a.mueller@post.example"})
	known := customerOf(b, "a.mueller@post.example")
	b.Get("/customers/new?q=Nora+Berg").Says(t, "a name", 200, `value="Nora Berg"`)
	b.Get("/customers/new?q=nora%40post.example").Says(t, "an address", 200, `name="email" type="email" value="nora@post.example"`)
	b.Get("/customers/new?q=0421+555+0188").Says(t, "a number", 200, `name="phone" type="tel" value="0421 555 0188"`)
	form := []string{"account", shop, "name", "Nora Berg", "email", "Nora@post.example", "phone", "0421 555 0188", "note", "Call\r\nlater."}
	if p := b.Post("/customers", form...); p.Status != 303 {
		t.Fatalf("got %d %s", p.Status, p.Main())
	}
	added := customerOf(b, "nora@post.example")
	b.Get(added+"?done=customer_added").Says(t, "added", 200, "Customer added.", "Nora Berg", "0421 555 0188")
	b.Post("/customers", form...).Leads(t, "sent twice", added+"?done=customer_added")
	b.Post("/customers", "account", shop, "name", "Someone", "email", "a.mueller@post.example").
		Says(t, "known", 422, "This customer is already in your list.", known, "Andrea Müller", `value="Someone"`)
	b.Post("/customers", "account", shop, "name", "", "email", "x").Says(t, "wrong", 422, "Fix 2 fields", "This field is required.")
	b.Get("/customers").Says(t, "the list", 200, "2 customers")
	own := w.SignedIn(t, w.Verified("Nora"))
	own.Get("/customers/new").Leads(t, "a person", "/")
	own.Post("/customers", "name", "Kim").Says(t, "the form of a person", 422, "Only organizations have customers.")
	eve := w.SignedIn(t, w.Verified("Eve"))
	if p := eve.Post("/customers", "account", shop, "name", "Planted"); p.Status == 200 {
		t.Errorf("a form for another organization: %d", p.Status)
	}
	b.Get("/customers").Hides(t, "the list", "Planted")
}
