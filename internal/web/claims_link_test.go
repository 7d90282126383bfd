package web_test

import (
	"net/url"
	"strings"
	"testing"

	"warranty.example/svc/internal/servertest"
)

// TestALinkFillsInAClaim checks that the link of a claim fills in the form, through the sign-in, that a wrong value is
// shown as one, and that opening a link files nothing.
func TestALinkFillsInAClaim(t *testing.T) {
	w := webWorld(t)
	nora := w.Verified("Nora")
	record := w.Warranty(nora.Session, fields{"product_name": "Lamp", "start_date": "2020-01-01"})
	var one struct {
		ClaimURL string `json:"claim_url"`
	}
	w.Must(200, servertest.NewRequest("GET", "/api/v1/warranties/"+record.ID, nora.Session, nil)).Into(t, &one)
	filled, err := url.Parse(one.ClaimURL)
	if err != nil || filled.Query().Get("warranty_id") != record.ID {
		t.Fatalf("claim_url is %q: %v", one.ClaimURL, err)
	}
	const text = `It "flickers" & hums. <script>alert(1)</script> Größe: 3 €`
	link := filled.Path + "?" + filled.RawQuery + "&" + url.Values{"type": {"refund"}, "incident_date": {"2026-01-02"},
		"description": {text}}.Encode()

	b := w.Browser(t)
	asked := b.Get(link)
	asked.Leads(t, "without a session", "/sign-in?"+url.Values{"next": {link}}.Encode())
	signedIn := b.Post("/sign-in", "email", nora.Email, "password", nora.Password, "next", b.Get(asked.Location).Value("next"))
	form := b.Get(signedIn.Location)
	form.Says(t, "the form", 200, `<option value="refund" selected>`, `<option value="`+record.ID+`" selected>`,
		"&lt;script&gt;alert(1)&lt;/script&gt; Größe: 3 €")
	form.Hides(t, "the form", "<script>alert", `-error"`)
	equal(t, "date", form.Value("incident_date"), "2026-01-02")
	equal(t, "claims", w.Count(`SELECT count(*) FROM claims`), 0)

	wrong := b.Get("/claims/new?type=explosion&incident_date=tomorrow&description=" + strings.Repeat("x", 5001))
	wrong.Says(t, "wrong values", 200, `id="type-error"`, `id="incident_date-error"`, `id="description-error"`)
	b.Get("/claims/new?incident_date=tomorrow").Hides(t, "what the link leaves out", `id="description-error"`, `id="type-error"`)
	b.Get("/claims/new").Hides(t, "an empty form", `-error"`)
	equal(t, "claims", w.Count(`SELECT count(*) FROM claims`), 0)
}
