package web_test

import "testing"

// TestWebEditHasEverything edits a record in one form: price, currency and purchase date can be added later, all wrong
// fields are named at once, and a person's own record needs no reason. The history shows old and new.
func TestWebEditHasEverything(t *testing.T) {
	w := webWorld(t)
	nora, shop := w.Person("Nora"), w.Verified("Shop")
	b := w.SignedIn(t, nora)
	record := w.Warranty(nora.Session, fields{"product_name": "Kettle", "serial_number": "SN-12", "brand": "Tessel",
		"description": "One\nTwo", "seller_email": shop.Email})
	page := "/warranties/" + record.ID
	form := b.Get(page + "/edit")
	form.Says(t, "the form", 200, `value="SN-12"`, `value="Tessel"`, `value="`+shop.Email+`"`, "One\nTwo", `name="price"`,
		`name="purchase_date"`, `type="checkbox" name="lifetime"`)
	form.Hides(t, "a form of one's own record", `name="reason"`, "9999-12-31")
	values := func(more ...string) []string {
		return append([]string{"if_match", form.Value("if_match"), "product_name", "Kettle", "start_date", form.Value("start_date"),
			"end_date", form.Value("end_date"), "brand", "Tessel", "model", "", "gtin", "", "supplier", "", "category", "",
			"seller_name", "", "seller_email", shop.Email, "description", "One\r\nTwo"}, more...)
	}
	wrong := b.Post(page, "if_match", form.Value("if_match"), "product_name", "", "start_date", form.Value("start_date"),
		"end_date", "", "gtin", "123", "price", "499,00", "currency", "", "serial_number", "SN-21", "seller_email", "nobody")
	wrong.Says(t, "wrong fields", 422, "Fix 5 fields", `href="#product_name"`, `href="#end_date"`, `href="#gtin"`,
		`href="#currency"`, `href="#seller_email"`, "Choose a currency.", "Enter the last day, or choose Lifetime.", `value="SN-21"`,
		`value="499,00"`)
	b.Post(page, values("serial_number", "SN-12", "price", "", "currency", "EUR")...).
		Says(t, "a currency without a price", 422, "Fix 1 field<", "Enter a price, such as 1,299.00.")
	b.Post(page, values("serial_number", "SN-12", "price", "", "currency", "")...).Leads(t, "the same again", page+"?done=unchanged")
	b.Post(page, values("serial_number", "SN-21", "price", "1,299", "currency", "EUR")...).
		Says(t, "a price with two meanings", 422, "Enter a price, such as 1,299.00.")
	b.Get(page).Hides(t, "nothing is saved if a part is wrong", "SN-21")
	b.Post(page, values("serial_number", "SN-21", "price", "1.299,00", "currency", "eur", "purchase_date", "2026-01-02")...).
		Leads(t, "everything", page+"?done=corrected")
	b.Get(page).Says(t, "the record", 200, "corrected the warranty", "<bdi>SN-12</bdi> →", "1,299.00", "2 Jan 2026")
	form = b.Get(page + "/edit")
	b.Post(page, values("serial_number", "SN-21", "price", "", "currency", "", "purchase_date", "", "lifetime", "true")...).
		Leads(t, "removed", page+"?done=updated")
	b.Get(page).Hides(t, "what was removed", "1,299.00", "2 Jan 2026")
	b.Get(page+"/edit").Says(t, "a lifetime", 200, `name="lifetime" value="true" checked`)

	// The owner of an issued record changes what is theirs.
	issued := w.Warranty(shop.Session, fields{"product_name": "Lamp"})
	w.Issue(issued.ID, shop, nora)
	page = "/warranties/" + issued.ID
	form = b.Get(page + "/edit")
	form.Says(t, "its form", 200, `name="price"`, `name="category"`, "Only the issuer can change", "<bdi>Lamp</bdi>")
	form.Hides(t, "its form", `name="serial_number"`, `name="reason"`, `name="product_name"`, `name="customer_name"`)
	b.Post(page, "if_match", form.Value("if_match"), "price", "1,299.00", "currency", "EUR").Leads(t, "its price", page+"?done=updated")
	b.Post(page, "if_match", b.Get(page+"/edit").Value("if_match"), "serial_number", "SN-1", "reason", "Mine").Says(t, "its serial number", 422, "Only the issuer")
}

// TestWebEditReason: a correction needs a reason once someone else relies on the record.
func TestWebEditReason(t *testing.T) {
	w := webWorld(t)
	shop := newShop(w, "Nordhaus Elektro", "")
	made := shop.issues(nil)
	desk := w.SignedIn(t, shop.admin)
	desk.Post("/switch", "account", shop.id)
	page := "/warranties/" + made.ID
	desk.Get(page+"/edit").Hides(t, "a record that nobody was offered", `name="reason"`)
	desk.Post(page+"/handover", "account", shop.id, "once", "1")
	form := desk.Get(page + "/edit")
	form.Says(t, "the form", 200, `name="reason"`)
	sent := []string{"account", shop.id, "if_match", form.Value("if_match"), "serial_number", "SN-21"}
	desk.Post(page, sent...).Says(t, "without a reason", 422, "Fix 1 field<", `href="#reason"`, `value="SN-21"`)
	desk.Post(page, append(sent, "reason", "Two digits were swapped")...).Leads(t, "with a reason", page+"?done=corrected")
	desk.Get(page).Says(t, "the history", 200, "Two digits were swapped")
}

// edited is a page with a form.
type edited = page

// TestWebEditConflict: the record changed while its form was open. The page says what changed, keeps what was typed and
// takes over what was not touched; saving again works.
func TestWebEditConflict(t *testing.T) {
	w := webWorld(t)
	nora := w.Person("Nora")
	b := w.SignedIn(t, nora)
	record := w.Warranty(nora.Session, fields{"product_name": "Kettle", "category": "Kitchen", "brand": "Tessel"})
	page := "/warranties/" + record.ID
	fill := func(form edited, more ...string) []string {
		return append([]string{"if_match", form.Value("if_match"), "start_date", form.Value("start_date"), "end_date", form.Value("end_date"),
			"was.product_name", form.Value("was.product_name"), "was.category", form.Value("was.category"), "was.brand", form.Value("was.brand"),
			"was.start_date", form.Value("was.start_date"), "was.end_date", form.Value("was.end_date"), "was.lifetime", "",
			"was.status", form.Value("was.status")}, more...)
	}
	form := b.Get(page + "/edit")
	other := b.Get(page + "/edit")
	b.Post(page, fill(other, "product_name", "Kettle", "category", "Office", "brand", "Nordhaus")...).Leads(t, "another tab", page+"?done=updated")
	conflict := b.Post(page, fill(form, "product_name", "Blue kettle", "category", "Garden", "brand", "Tessel")...)
	conflict.Says(t, "the conflict", 422, "This warranty was changed while you edited it.", "<bdi>Kitchen</bdi> →", "<bdi>Office</bdi>",
		"<bdi>Tessel</bdi> →", `value="Blue kettle"`)
	equal(t, "what was typed", conflict.Value("category"), "Garden")
	equal(t, "what was not touched", conflict.Value("brand"), "Nordhaus")
	b.Post(page, fill(conflict, "product_name", "Blue kettle", "category", "Garden", "brand", "Nordhaus")...).Leads(t, "again", page+"?done=updated")
	b.Get(page).Says(t, "the record", 200, "Blue kettle", "Garden", "Nordhaus")
}

// TestWebEditAfterTheSessionEnded: what was typed waits for the sign-in, and is not saved before it is sent again.
func TestWebEditAfterTheSessionEnded(t *testing.T) {
	w := webWorld(t)
	nora := w.Person("Nora")
	b := w.SignedIn(t, nora)
	record := w.Warranty(nora.Session, fields{"product_name": "Kettle"})
	page := "/warranties/" + record.ID
	form := b.Get(page + "/edit")
	endSession(b)
	late := b.Post(page, "account", form.Value("account"), "if_match", form.Value("if_match"), "product_name", "Blue kettle", "price", "499,00", "currency", "EUR")
	late.Says(t, "the sign-in page", 401, "draft.product_name", "Blue kettle", "499,00")
}

// TestWebEditCustomer: an organization adds and changes the customer of a record that it issued.
func TestWebEditCustomer(t *testing.T) {
	w := webWorld(t)
	shop := newShop(w, "Nordhaus Elektro", "")
	made := shop.issues(nil)
	desk := w.SignedIn(t, shop.admin)
	desk.Post("/switch", "account", shop.id)
	page := "/warranties/" + made.ID
	form := desk.Get(page + "/edit")
	form.Says(t, "the form", 200, `name="customer_name"`)
	desk.Post(page, "account", shop.id, "if_match", form.Value("if_match"), "customer_name", "Kim Larsen").Leads(t, "the customer", page+"?done=updated")
	desk.Get(page+"/edit").Says(t, "the form", 200, "Kim Larsen")

	// A new name emails nobody, and the open offer stays with its address until it is offered again.
	desk.Post(page+"/handover", "account", shop.id, "by", "email", "customer_email", "kim@example.com", "customer_name", "Kim Larsen", "once", "1")
	offered := desk.Get(page + "/edit")
	offered.Says(t, "the form", 200, "Offered to kim@example.com.", `href="`+page+`/handover#email"`)
	mails := w.Count(`SELECT count(*) FROM mails`)
	desk.Post(page, "account", shop.id, "if_match", offered.Value("if_match"), "customer_name", "Kim Berg").Leads(t, "another name", page+"?done=updated")
	equal(t, "emails", w.Count(`SELECT count(*) FROM mails`), mails)
	desk.Get(page+"/edit").Says(t, "the offer", 200, "Kim Berg", "Offered to kim@example.com.")
	var seen struct {
		CustomerName string `json:"customer_name"`
	}
	shop.send(200, "PUT", "/api/v1/warranties/"+made.ID, fields{"customer_name": "Kim L."}, &seen)
	equal(t, "over the API", seen.CustomerName, "Kim L.")
}
