package web_test

import (
	"fmt"
	"html"
	"net/url"
	"regexp"
	"strings"
	"testing"
)

// TestAQueueOf44 decides 44 claims, one form each: after a decision the next claim is open, and at the end the list says
// that nothing waits. The conversation is in reading order, with the notes of the team.
func TestAQueueOf44(t *testing.T) {
	w := webWorld(t)
	nora, shop := w.Verified("Nora"), w.Verified("Shop")
	for i := range 44 {
		record := w.Warranty(shop.Session, fields{"product_name": fmt.Sprintf("Lamp %d", i), "start_date": "2020-01-01"})
		w.Issue(record.ID, shop, nora)
		w.Claim(nora.Session, record.ID)
	}
	b := w.SignedIn(t, shop)
	list := b.Get("/claims")
	list.Says(t, "the queue", 200, "44 claims wait for you", "Start with the oldest", "Nora", "Lamp 0", "1 minute")
	at := regexp.MustCompile(`href="(/claims/[^"?]+\?queue=[^"]+)"`).FindStringSubmatch(list.Body)[1]
	note := b.Send("POST", strings.Replace(at, "?", "/notes?", 1), url.Values{"account": {shop.ID}, "body": {"Look at the switch."}},
		"Sec-Fetch-Site", "same-origin")
	if !strings.Contains(note.Location, "done=noted") || !strings.Contains(note.Location, "queue=") {
		t.Fatalf("a note leads to %d %s", note.Status, note.Location)
	}
	b.Get(note.Location).Says(t, "the note", 200, "Note saved.", "Look at the switch.", "Note, only your team sees it")
	w.SignedIn(t, nora).Get(strings.Split(at, "?")[0]).Hides(t, "the note for the customer", "Look at the switch.")

	forms := 0
	for ; forms < 60; forms++ {
		page := b.Get(at)
		page.Says(t, "a claim", 200, "Your decision", "Coverage check", "No receipt", fmt.Sprintf("of %d", 44-forms))
		values := url.Values{"account": {shop.ID}, "from": {page.Value("from")}, "next": {"1"}}
		values.Set("action", []string{"approve", "ask", "reject"}[forms%3])
		if forms%3 > 0 {
			values.Set("body", "Because.")
		}
		if forms == 43 {
			values.Del("next") // there is none
		}
		sent := b.Send("POST", strings.Replace(at, "?", "/messages?", 1), values, "Sec-Fetch-Site", "same-origin")
		if strings.Contains(sent.Location, "done=moved") {
			break
		}
		if at = sent.Location; !strings.Contains(at, "done=decided_next") {
			t.Fatalf("form %d leads to %d %q", forms, sent.Status, at)
		}
		at = strings.Replace(at, "&done=decided_next", "", 1)
	}
	equal(t, "forms", forms+1, 44)
	after := b.Get("/claims")
	after.Says(t, "the end", 200, "Nothing is waiting for you")
	for lane, n := range map[string]int{"in_progress": 15, "waiting_for_them": 15, "done": 14} {
		b.Get("/claims?queue="+lane).Says(t, lane, 200, fmt.Sprintf("%d claims found", n))
	}
}

// TestALongQueue works on a queue of more claims than one answer has: the way from one to the next leads through all of
// them, and an action can be for the first of all pages.
func TestALongQueue(t *testing.T) {
	w := webWorld(t, busy)
	nora, shop := w.Verified("Nora"), w.Verified("Shop")
	const count = 105
	for i := range count {
		record := w.Warranty(shop.Session, fields{"product_name": fmt.Sprintf("Lamp %d.", i), "start_date": "2020-01-01"})
		w.Issue(record.ID, shop, nora)
		w.Claim(nora.Session, record.ID)
	}
	b := w.SignedIn(t, shop)
	list := b.Get("/claims?queue=waiting_for_us")
	list.Says(t, "the queue", 200, "First 100 of 105", `rel="next"`)
	link := regexp.MustCompile(`href="(/claims/[^"?]+\?queue=[^"]+)"`)
	at := link.FindStringSubmatch(b.Get("/claims?queue=waiting_for_us&page=2").Body)[1]
	for i := 51; i <= count; i++ {
		p := b.Get(at)
		p.Says(t, at, 200, fmt.Sprintf("%d of %d", i, count), fmt.Sprintf("Lamp %d.", i-1))
		if i == count {
			p.Hides(t, "the last one", `data-key="j"`)
			break
		}
		at = html.UnescapeString(regexp.MustCompile(`href="([^"]+)" data-key="j"`).FindStringSubmatch(p.Body)[1])
	}
	form := url.Values{"account": {shop.ID}, "action": {"approve"}, "all": {"1"}, "queue": {"waiting_for_us"}, "page": {"2"},
		"id": {list.Value("id")}}
	asked := b.Send("POST", "/claims/bulk", form, "Sec-Fetch-Site", "same-origin")
	asked.Says(t, "the first of all pages", 200, "100 selected", "Lamp 99.")
	asked.Hides(t, "the first of all pages", "Lamp 100.")
	form = url.Values{"account": {shop.ID}, "action": {"approve"}, "go": {"1"}, "once": {asked.Value("once")}, "queue": {"waiting_for_us"}}
	for _, m := range regexp.MustCompile(`name="id" value="([^"]+)" checked`).FindAllStringSubmatch(asked.Body, -1) {
		form.Add("id", m[1])
	}
	equal(t, "checked", len(form["id"]), 100)
	done := b.Send("POST", "/claims/bulk", form, "Sec-Fetch-Site", "same-origin")
	equal(t, "performed", done.Status, 303)
	rest := b.Get("/claims?queue=waiting_for_us")
	rest.Says(t, "the rest", 200, "5 claims wait for you", "Lamp 100.")
	rest.Hides(t, "the rest", "First 100")
}
