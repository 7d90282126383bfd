package web_test

import (
	"strings"
	"testing"
)

// TestWebCorrections corrects a typing error: with a reason, only by those who may, and only if the record has not
// changed since. The history shows the old and the new value.
func TestWebCorrections(t *testing.T) {
	w := webWorld(t)
	nora, shop := w.Person("Nora"), w.Verified("Shop")
	b := w.SignedIn(t, nora)
	record := w.Warranty(nora.Session, fields{"product_name": "Kettle", "serial_number": "SN-12", "brand": "Tessel",
		"description": "One\nTwo", "seller_email": shop.Email})
	page := "/warranties/" + record.ID
	b.Get(page).Says(t, "the record", 200, `href="`+page+`/correct"`)
	b.Get(page+"/edit").Hides(t, "the form of changes", `name="brand"`)
	form := b.Get(page + "/correct")
	form.Says(t, "the form", 200, `value="SN-12"`, `value="Tessel"`, `value="`+shop.Email+`"`, "One\nTwo", `name="reason"`)
	values := func(more ...string) []string {
		return append([]string{"if_match", form.Value("if_match"), "brand", "Tessel", "model", "", "gtin", "",
			"seller_name", "", "seller_email", shop.Email, "description", "One\r\nTwo"}, more...)
	}
	b.Post(page+"/correct", values("serial_number", "SN-21")...).
		Says(t, "without a reason", 422, "This field is required.", `value="SN-21"`)
	b.Post(page+"/correct", values("serial_number", "SN-12", "reason", "None")...).
		Leads(t, "the same again", page+"?done=unchanged")
	b.Post(page+"/correct", values("serial_number", "SN-21", "reason", "Two digits were swapped")...).
		Leads(t, "corrected", page+"?done=corrected")
	b.Post(page+"/correct", values("serial_number", "SN-22", "reason", "Again")...).
		Says(t, "an old form", 422, "The warranty has changed since you read it.")
	after := b.Get(page)
	after.Says(t, "the record", 200, "corrected the warranty", "<bdi>SN-12</bdi> →", "Two digits were swapped")
	if strings.Contains(after.Body, "SN-22") {
		t.Error("an old form was saved")
	}

	// The owner of an issued record cannot correct it.
	issued := w.Warranty(shop.Session, fields{"product_name": "Lamp"})
	w.Issue(issued.ID, shop, nora)
	b.Get("/warranties/"+issued.ID).Hides(t, "the page of an issued record", "/correct")
	b.Get("/warranties/"+issued.ID+"/correct").Says(t, "its form", 403, "Only the issuer")
	b.Post("/warranties/"+issued.ID+"/correct", "serial_number", "SN-1", "reason", "Mine").Says(t, "its form, sent", 422, "Only the issuer")
}
