package web_test

import (
	"html"
	"regexp"
	"testing"
)

var shownConfirmation = regexp.MustCompile(`name="selected" value="([^"]+)"`)

// TestWebConfirmSeveral confirms selected warranties and a whole page. A warranty that changed since the page was
// opened is not confirmed, and the page shows what it says now.
func TestWebConfirmSeveral(t *testing.T) {
	w := webWorld(t)
	owner, seller := w.Verified("Nora"), w.Verified("Sami")
	b := w.SignedIn(t, seller)
	b.Get("/confirmations").Says(t, "nothing", 200, "Nothing is waiting for you.")
	for _, name := range []string{"Kettle", "Lamp", "Pan", "Pot"} {
		w.Warranty(owner.Session, fields{"product_name": name, "seller_email": seller.Email, "brand": "Bosch", "model": "M-" + name})
	}
	page := b.Get("/confirmations")
	page.Says(t, "the list", 200, "<bdi>Bosch</bdi> · <bdi>M-Kettle</bdi>", "Confirm selected", "Confirm all 4 on this page")
	values := shownConfirmation.FindAllStringSubmatch(page.Body, -1)
	for i := range values {
		values[i][1] = html.UnescapeString(values[i][1])
	}
	equal(t, "boxes", len(values), 4)
	b.Post("/confirmations", "which", "selected").Says(t, "none", 422, "Select at least one warranty.")
	b.Post("/confirmations", "which", "selected", "selected", "nonsense").Says(t, "nonsense", 400)
	b.Post("/confirmations", "which", "selected", "selected", values[0][1]).Leads(t, "one", "/confirmations?done=confirmed_several")
	confirmed := `SELECT count(*) FROM warranties WHERE seller_id IS NOT NULL`
	equal(t, "confirmed", w.Count(confirmed), 1)
	id := values[1][1][:36]
	w.Must(200, request{Method: "PUT", Path: "/api/v1/warranties/" + id, Secret: owner.Session, Body: fields{"end_date": "2090-01-01"}})
	b.Post("/confirmations/"+id, "decision", "confirm", "if_match", values[1][1][37:]).
		Says(t, "one that changed", 422, "has changed since you opened this page", "1 Jan 2090")
	b.Post("/confirmations", "which", "page", "shown", values[1][1], "shown", values[2][1], "shown", values[3][1]).
		Says(t, "the page", 409, "Confirmed: 2. Changed or withdrawn since you opened this page: 1.", "1 Jan 2090")
	equal(t, "confirmed", w.Count(confirmed), 3)
}
