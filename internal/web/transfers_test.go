package web_test

import (
	"testing"
)

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

// TestWebTakesTransfers takes over a warranty from its owner: with the link of the email, and with the code that the owner
// passed on, by someone without an account.
func TestWebTakesTransfers(t *testing.T) {
	w := webWorld(t)
	olga := w.Verified("Olga")
	owner := w.SignedIn(t, olga)
	record, other := w.Warranty(olga.Session, nil), w.Warranty(olga.Session, nil)
	receipt := w.Upload(olga.Session, document(record.ID, "receipt.pdf", pdf)...)
	w.Upload(olga.Session, document(record.ID, "contract.pdf", pdf)...)

	owner.Post("/warranties/"+record.ID+"/transfer", "email", "new@people.example", "documents", receipt.ID).
		Says(t, "the offer", 200, "We emailed a link to new@people.example")
	b := w.Browser(t)
	code := w.MailedCode("new@people.example")
	shown := b.Post("/take", "code", code)
	shown.Says(t, "the link", 200, record.ProductName, "“Olga” transfers this warranty to you", "A person, not a business", "receipt.pdf",
		"the previous owner no longer has it", "Works until", "Offered to new@people.example.")
	shown.Hides(t, "the link", "contract.pdf", "Your email")
	b.Post("/take/register", "code", code).Leads(t, "taking it over", "/take/done/"+record.ID)
	b.Get("/warranties/"+record.ID).Says(t, "the new owner", 200, "receipt.pdf")
	owner.Get("/warranties/"+record.ID).Says(t, "the former owner", 404)

	passed := owner.Post("/warranties/"+other.ID+"/transfer", "email", "else@people.example").Node
	code = ""
	for n := range passed.Descendants() {
		if n.Data == "code" && attr(n, "id") == "code" {
			code = n.FirstChild.Data
		}
	}
	buyer := w.Browser(t)
	buyer.Post("/take", "code", code).Says(t, "the code", 200, "“Olga”", "Your email")
	mailed := buyer.Post("/take/email", "code", code, "email", "buyer@people.example")
	mailed.Says(t, "the email", 200, "Check your email")
	buyer.Post("/take/register", "code", code, "flow", flowOf(mailed), "mail_code", w.MailedDigits("buyer@people.example")).
		Leads(t, "taking it over with a code", "/take/done/"+other.ID)
	owner.Get("/handed-over").Says(t, "what was handed over", 200, record.ProductName, other.ProductName, "Handed over on")
	buyer.Get("/handed-over").Says(t, "nothing", 200, "You haven’t handed over a warranty.")
	w.Browser(t).Post("/take", "code", code).Says(t, "again", 422, "already registered", "the person who gave you the code")
}
