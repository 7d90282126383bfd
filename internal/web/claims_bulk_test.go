package web_test

import (
	"fmt"
	"net/http"
	"net/url"
	"regexp"
	"strings"
	"testing"

	"warranty.example/svc/internal/servertest"
	"warranty.example/svc/warranty"
)

// TestWebBulkClaims works on a queue of 44 claims with boxes: asks ten, resolves ten, undoes one of both, and counts the
// forms. The pages list what is selected, fill in an example, and name each result.
func TestWebBulkClaims(t *testing.T) {
	w := webWorld(t)
	nora, shop, eve := w.Verified("Nora"), w.Verified("Shop"), w.Verified("Eve")
	for i := range 44 {
		record := w.Warranty(shop.Session, fields{"product_name": fmt.Sprintf("Lamp %02d", i), "start_date": "2020-01-01"})
		w.Issue(record.ID, shop, nora)
		w.Claim(nora.Session, record.ID)
	}
	b := w.SignedIn(t, shop)
	box := regexp.MustCompile(`name="id" value="([^"]+)"`)
	selected := func(page servertest.Page, n int) []string {
		t.Helper()
		var values []string
		for _, found := range box.FindAllStringSubmatch(page.Body, n) {
			values = append(values, "id", found[1])
		}
		if len(values) != 2*n {
			t.Fatalf("%d boxes, want %d", len(values)/2, n)
		}
		return values
	}
	b.Post("/claims/bulk", "action", "ask").Says(t, "nothing selected", 422, "Select 1 to 100 claims.")
	b.Post("/claims/bulk", "action", "burn", "id", "x").Says(t, "an unknown action", 400)
	b.Post("/claims/bulk", "action", "ask", "id", "x").Says(t, "an unknown id", 400)
	list := b.Get("/claims")
	list.Says(t, "the queue", 200, "44 claims wait for you", `action="/claims/bulk"`, `value="ask"`, `value="reject"`)
	ten := selected(list, 10)
	form := b.Post("/claims/bulk", append([]string{"action", "ask", "queue", "waiting_for_us"}, ten...)...)
	form.Says(t, "the form", 200, "Ask 10 customers for information", "Nora", "Lamp 09", "{first name}")
	wrong := b.Post("/claims/bulk", append([]string{"action", "ask", "go", "1", "message", "Hello {nickname}"}, ten...)...)
	wrong.Says(t, "an unknown placeholder", 422, "{nickname} is not a placeholder.", "Hello {nickname}")
	b.Post("/claims/bulk", append([]string{"action", "ask", "message", "Hello {Vorname}, your {product}?"}, ten...)...).
		Says(t, "the example", 200, "For Nora: “Hello Nora, your Lamp 00?”")
	asked := b.Post("/claims/bulk", append([]string{"action", "ask", "go", "1", "once", "1", "message", "Hello {first name}"}, ten...)...)
	equal(t, "asked", asked.Status, http.StatusSeeOther)
	again := b.Post("/claims/bulk", append([]string{"action", "ask", "go", "1", "once", "1", "message", "Hello {first name}"}, ten...)...)
	equal(t, "sent twice", again.Location, asked.Location)
	b.Get(asked.Location).Says(t, "the result", 200, "10 customers asked.", "Lamp 09", ">Undo<", "You can undo this until")
	w.SignedIn(t, eve).Post(asked.Location+"/undo").Says(t, "another's", 404)
	stale := b.Post("/claims/bulk", append([]string{"action", "reject", "go", "1", "message", "No."}, ten[:4]...)...)
	b.Get(stale.Location).Says(t, "stale", 200, "0 claims rejected.", "2 were left as they are.", "Shop asked for information")

	rest := b.Get("/claims")
	rest.Says(t, "the queue", 200, "34 claims wait for you")
	resolved := b.Post("/claims/bulk", append([]string{"action", "resolve", "go", "1", "resolution", "repaired"}, selected(rest, 10)...)...)
	b.Get(resolved.Location).Says(t, "resolved", 200, "10 claims resolved.")
	b.Post("/claims/bulk", append([]string{"action", "resolve", "go", "1"}, selected(rest, 1)...)...).Says(t, "no resolution", 422, "Mark 1 claim as resolved")
	equal(t, "undo", b.Post(resolved.Location+"/undo").Status, http.StatusSeeOther)
	b.Get(resolved.Location).Says(t, "undone", 200, "10 claims changed back.", "Change and repeat", `name="resolution" value="repaired"`)
	equal(t, "again", b.Post(resolved.Location+"/undo").Location, resolved.Location+"?done=undo_late")
	b.Get("/claims").Says(t, "the queue", 200, "34 claims wait for you")
	german := w.SignedIn(t, shop)
	german.Accept = "de"
	german.Get(asked.Location).Says(t, "in German", 200, "10 Kunden gefragt.", "Rückgängig")
	german.Post("/claims/bulk", append([]string{"action", "approve"}, selected(rest, 3)...)...).Says(t, "in German", 200, "3 Garantiefälle anerkennen")
}

// TestUndoADecisionOnItsPage decides a claim, sees it on the next one with what is left, and undoes it. Whoever decides what
// a colleague decided is told so, and the text is not lost.
func TestUndoADecisionOnItsPage(t *testing.T) {
	w := webWorld(t)
	nora, shop := w.Verified("Nora"), w.Verified("Shop")
	var ids []string
	for i := range 3 {
		record := w.Warranty(shop.Session, fields{"product_name": fmt.Sprintf("Lamp %d", i), "start_date": "2020-01-01"})
		w.Issue(record.ID, shop, nora)
		ids = append(ids, w.Claim(nora.Session, record.ID))
	}
	b := w.SignedIn(t, shop)
	decide := func(id string, values ...string) servertest.Page {
		sent := url.Values{"account": {shop.ID}, "from": {"submitted"}, "next": {"1"}}
		for i := 0; i < len(values); i += 2 {
			sent.Set(values[i], values[i+1])
		}
		return b.Send("POST", "/claims/"+id+"/messages?queue=waiting_for_us&sort=waiting", sent, "Sec-Fetch-Site", "same-origin")
	}
	page := b.Get("/claims/" + ids[0] + "?queue=waiting_for_us")
	page.Says(t, "the claim", 200, `class="dock"`, `form="decide"`, "1 of 3")
	next := decide(ids[0], "action", "reject", "body", "Too old.").Location
	if !strings.HasPrefix(next, "/claims/"+ids[1]) {
		t.Fatalf("leads to %s", next)
	}
	banner := b.Get(next)
	banner.Says(t, "the next claim", 200, "Rejected: Lamp 0", "Nora", "2 left.", "The email is sent in half a minute.", ">Undo<")
	undo := regexp.MustCompile(`action="(/jobs/[^"]+)"`).FindStringSubmatch(banner.Body)[1]
	undone := b.Send("POST", strings.ReplaceAll(undo, "&amp;", "&"), url.Values{"account": {shop.ID}}, "Sec-Fetch-Site", "same-origin")
	b.Get(undone.Location).Says(t, "undone", 200, "Undone.", "Your decision", "Lamp 0", "1 of 3", ">Too old.</textarea>")
	_, which, _ := strings.Cut(undone.Location, "undone=")
	b.Get("/claims/"+ids[1]+"?undone="+which).Hides(t, "another claim", "Too old.")
	next = decide(ids[0], "action", "approve").Location
	w.Clock.Advance(warranty.DecisionUndo)
	late := b.Get(next)
	late.Says(t, "late", 200, "Approved: Lamp 0", "Email sent.")
	late.Hides(t, "late", ">Undo<")
	meanwhile := decide(ids[0], "action", "reject", "body", "My long reason.")
	meanwhile.Says(t, "meanwhile", 422, "Shop approved this (", "My long reason.", "Your message was not sent:")
	meanwhile.Hides(t, "meanwhile", "Your decision", `id="decide"`)
}
