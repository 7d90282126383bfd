package web_test

import (
	"html"
	"strings"
	"testing"

	"warranty.example/svc/internal/servertest"
)

// TestOneAnswerAtEveryDoor: JSON, the page of the record and its public page say the same about who stands behind it.
// Finding T5.
func TestOneAnswerAtEveryDoor(t *testing.T) {
	w := webWorld(t)
	kim, sami := w.Verified("Kim"), w.Verified("Sami")
	known, unknown := newShop(w, "Halden Electronics", "halden.example"), newShop(w, "Corner Shop", "")
	b := w.SignedIn(t, kim)
	check := func(what, id, reference, want string) {
		t.Helper()
		var got struct{ Statement string }
		w.Get("/verify/"+reference, "").Into(t, &got)
		equal(t, what+": JSON", got.Statement, want)
		if page := html.UnescapeString(b.Get("/warranties/" + id).Body); !strings.Contains(page, want) {
			t.Errorf("%s: the record does not say %q", what, want)
		}
		// The public page says it in two lines.
		page := html.UnescapeString(b.Get("/verify/" + reference).Body)
		lead, rest, _ := strings.Cut(want, " by ")
		who, note, _ := strings.Cut(rest, ", ")
		if strings.HasPrefix(rest, "its owner") {
			who, note = "Its owner", "No seller or manufacturer has confirmed it."
		}
		for _, part := range []string{lead + " by", who, strings.TrimPrefix(note, "which ")} {
			if !strings.Contains(strings.ToLower(page), strings.ToLower(strings.TrimSuffix(part, "."))) {
				t.Errorf("%s: the public page does not say %q", what, part)
			}
		}
	}
	own := w.Warranty(kim.Session, fields{"seller_email": sami.Email})
	check("recorded by its owner", own.ID, own.ReferenceNumber, "Recorded by its owner. No seller or manufacturer has confirmed it.")
	w.Confirm(sami, own.ID)
	check("confirmed by a person", own.ID, own.ReferenceNumber, "Confirmed by its seller, who is not a verified business.")
	for _, c := range []struct {
		shop shop
		want string
	}{
		{known, "Issued by halden.example, a verified business that calls itself “Halden Electronics”."},
		{unknown, "Issued by “Corner Shop”, which has not verified its website."},
	} {
		made := c.shop.issues(nil)
		w.Must(200, servertest.NewRequest("POST", "/api/handovers/take", kim.Session, fields{"code": c.shop.prints(made.ID)}))
		check(c.want, made.ID, made.ReferenceNumber, c.want)
	}
}

// TestTheSlipNamesTheDomain: the domain of a verified business is first on the slip, and its name second.
func TestTheSlipNamesTheDomain(t *testing.T) {
	w := webWorld(t)
	known := newShop(w, "Halden Electronics", "halden.example")
	b := w.SignedIn(t, known.admin)
	b.Post("/switch", "account", known.id)
	made := known.issues(nil)
	p := b.Post("/warranties/"+made.ID+"/handover", "account", known.id, "once", "1")
	p.Says(t, "the slip", 200, `>halden.example</text><text class="paper-sans"`, ">Halden Electronics</text>")
}
