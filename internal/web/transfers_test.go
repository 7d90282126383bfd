package web_test

import "testing"

// TestWebCancelsOnlyWhatIsOffered: the button that cancels a transfer is there only while one is open.
func TestWebCancelsOnlyWhatIsOffered(t *testing.T) {
	w := webWorld(t)
	olga := w.Verified("Olga")
	b := w.SignedIn(t, olga)
	page := "/warranties/" + w.Warranty(olga.Session, nil).ID
	const cancel = "/transfer/cancel"
	b.Get(page).Hides(t, "nothing is offered", cancel)
	b.Post(page+"/transfer", "email", "kim@people.example").Says(t, "the offer", 200)
	b.Get(page).Says(t, "offered", 200, cancel)
	b.Post(page+cancel).Leads(t, "cancelled", page+"?done=called_off")
	b.Get(page).Hides(t, "cancelled", cancel)
}
