package web_test

import (
	"strings"
	"testing"
)

// TestWebEditHasEverything edits a record in one form: what may change goes without a reason, corrections with one, and
// price, currency, purchase date and customer can be added later. The history shows corrected values.
func TestWebEditHasEverything(t *testing.T) {
	w := webWorld(t)
	nora, shop := w.Person("Nora"), w.Verified("Shop")
	b := w.SignedIn(t, nora)
	record := w.Warranty(nora.Session, fields{"product_name": "Kettle", "serial_number": "SN-12", "brand": "Tessel",
		"description": "One\nTwo", "seller_email": shop.Email})
	page := "/warranties/" + record.ID
	b.Get(page).Hides(t, "the record", page+"/correct")
	b.Get(page+"/correct").Leads(t, "the former form", page+"/edit")
	form := b.Get(page + "/edit")
	form.Says(t, "the form", 200, `value="SN-12"`, `value="Tessel"`, `value="`+shop.Email+`"`, "One\nTwo", `name="reason"`, `name="price"`, `name="purchase_date"`)
	values := func(more ...string) []string {
		return append([]string{"if_match", form.Value("if_match"), "product_name", "Kettle", "start_date", form.Value("start_date"),
			"end_date", form.Value("end_date"), "brand", "Tessel", "model", "", "gtin", "", "supplier", "", "category", "",
			"seller_name", "", "seller_email", shop.Email, "description", "One\r\nTwo"}, more...)
	}
	b.Post(page, values("serial_number", "SN-21", "price", "499,00", "currency", "eur")...).
		Says(t, "without a reason", 422, "This field is required.", `value="SN-21"`, `value="499,00"`)
	b.Post(page, values("serial_number", "SN-12", "price", "", "currency", "")...).Leads(t, "the same again", page+"?done=unchanged")
	b.Post(page, values("serial_number", "SN-21", "reason", "Two digits were swapped", "price", "1,299", "currency", "EUR")...).
		Says(t, "a price with two meanings", 422, "Enter a price, such as 1,299.00.")
	b.Get(page).Hides(t, "nothing is saved if a part is wrong", "SN-21")
	b.Post(page, values("serial_number", "SN-21", "reason", "Two digits were swapped", "price", "1.299,00", "currency", "eur",
		"purchase_date", "2026-01-02")...).Leads(t, "everything", page+"?done=corrected")
	b.Post(page, values("serial_number", "SN-22", "reason", "Again")...).
		Says(t, "an old form", 422, "The warranty has changed since you read it.")
	after := b.Get(page)
	after.Says(t, "the record", 200, "corrected the warranty", "<bdi>SN-12</bdi> →", "Two digits were swapped", "1,299.00", "2 Jan 2026")
	if strings.Contains(after.Body, "SN-22") {
		t.Error("an old form was saved")
	}
	form = b.Get(page + "/edit")
	b.Post(page, values("serial_number", "SN-21", "price", "", "currency", "", "purchase_date", "")...).Leads(t, "removed", page+"?done=updated")
	b.Get(page).Hides(t, "what was removed", "1,299.00", "2 Jan 2026")

	// The owner of an issued record changes what is theirs.
	issued := w.Warranty(shop.Session, fields{"product_name": "Lamp"})
	w.Issue(issued.ID, shop, nora)
	page = "/warranties/" + issued.ID
	form = b.Get(page + "/edit")
	form.Says(t, "its form", 200, `name="price"`, `name="category"`)
	form.Hides(t, "its form", `name="serial_number"`, `name="reason"`, `name="product_name"`, `name="customer_name"`)
	b.Post(page, "if_match", form.Value("if_match"), "price", "1,299.00", "currency", "EUR").Leads(t, "its price", page+"?done=updated")
	b.Post(page, "if_match", b.Get(page+"/edit").Value("if_match"), "serial_number", "SN-1", "reason", "Mine").Says(t, "its serial number", 422, "Only the issuer")
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
	var seen struct {
		CustomerName string `json:"customer_name"`
	}
	shop.send(200, "PUT", "/api/v1/warranties/"+made.ID, fields{"customer_name": "Kim L."}, &seen)
	equal(t, "over the API", seen.CustomerName, "Kim L.")
}
