//go:build browser

package browser

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/chromedp/chromedp"

	"warranty.example/svc/e2e/lab"
)

// payloads run a script if they are not escaped. Most set window.hacked, so that a script that runs
// is detected.
var payloads = []string{
	`<script>hacked=1</script>`,
	`</title><script>hacked=1</script>`,
	`</textarea><script>hacked=1</script>`,
	`"><script>hacked=1</script>`,
	`'><img src=x onerror=hacked=1>`,
	`<img src=x onerror="alert(1)">`,
	`<svg onload=hacked=1>`,
	`<svg><script>alert(1)</script></svg>`,
	`<body onpageshow=hacked=1>`,
	`<details open ontoggle=hacked=1>`,
	`<input autofocus onfocus=hacked=1>`,
	`" autofocus onfocus="hacked=1" x="`,
	`' onmouseover='hacked=1`,
	`javascript:hacked=1//`,
	`<a href="javascript:hacked=1">x</a>`,
	`<iframe srcdoc="<script>top.hacked=1</script>">`,
	`<base href="//evil.example/">`,
	`<meta http-equiv=refresh content="0;url=//evil.example">`,
	`<style>body{display:none}</style>`,
	`<div hx-get="/sign-out" hx-trigger="load">x</div>`,
	`<b hx-on:load="hacked=1" data-hx-trigger=load>x</b>`,
	`{{.Who}} ${hacked=1} <%= 1 %>`,
	`--><script>hacked=1</script><!--`,
	`&lt;script&gt;hacked=1&lt;/script&gt;`,
}

// TestTextStaysText puts payloads into every text field and checks every page that shows them.
func TestTextStaysText(t *testing.T) {
	t.Parallel()
	s := openSite(t)
	email := fmt.Sprintf("mallory%d@people.example", time.Now().UnixNano())
	mallory := s.visitor(t)
	mallory.mustOpen(t, "/register")
	mallory.fill(t, "#name", payloads[4], "#email", email, "#password", lab.Password)
	mallory.press(t, "Create account")
	mallory.mustBeText(t, payloads[4])
	code, err := s.Mailed(email, "Confirm your email address")
	if err != nil {
		t.Fatal(err)
	}
	mallory.fill(t, "#code", code)
	mallory.press(t, "Verify")
	session := s.Want(t, 201, lab.Call{Method: "POST", Path: "/api/auth/sessions",
		Body: map[string]string{"email": email, "password": lab.Password}}).Must(t, "data.access_token")

	// Each payload gets a warranty with the payload in every field, and a claim.
	type planted struct{ payload, record, claim, reference string }
	var garden []planted
	for _, payload := range payloads {
		a := s.Want(t, 201, lab.Call{Method: "POST", Path: "/api/v1/warranties", Secret: session, Body: map[string]string{
			"product_name": payload, "category": payload, "supplier": payload, "serial_number": payload, "seller_name": payload,
			"description": payload, "seller_email": haldenSells, "start_date": "2024-01-01", "end_date": "2099-12-31"}})
		id := a.Must(t, "data.id")
		c := s.Want(t, 201, lab.Call{Method: "POST", Path: "/api/claims", Secret: session, Body: map[string]string{
			"warranty_id": id, "type": "repair", "incident_date": "2025-01-01", "description": payload}})
		garden = append(garden, planted{payload, "/warranties/" + id, "/claims/" + c.Must(t, "data.id"), a.Must(t, "data.reference_number")})
	}
	// Other texts are sent with forms: token names, a file name, the reason of a decision.
	for i, payload := range payloads {
		if i%4 == 0 {
			mallory.mustOpen(t, "/settings/api/new")
			mallory.fill(t, "#name", payload)
			mallory.press(t, "Generate token")
			mallory.mustBeText(t, payload)
		}
	}
	file := filepath.Join(t.TempDir(), `' onerror=hacked=1 &lt;script&gt; ${hacked=1} {{.Who}}.txt`)
	if err := os.WriteFile(file, []byte("Bought in May.\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	mallory.mustOpen(t, "/documents/new?warranty_id="+strings.TrimPrefix(garden[0].record, "/warranties/"))
	mallory.fill(t, "#file", file)
	mallory.press(t, "Upload")
	mallory.mustBeText(t, filepath.Base(file))

	seller, stranger := s.person(t, halden), s.visitor(t)
	seller.mustOpen(t, "/confirmations")
	seller.mustBeText(t, payloads[len(payloads)-1])
	shop := s.Want(t, 201, lab.Call{Method: "POST", Path: "/api/auth/sessions",
		Body: map[string]string{"email": halden, "password": s.passwords[halden]}}).Must(t, "data.access_token")
	account := s.Want(t, 200, lab.Call{Method: "GET", Path: "/api/organizations", Secret: shop}).Must(t, "data.0.id") // by name
	for _, p := range garden {
		s.Want(t, 200, lab.Call{Method: "POST", Path: "/api/v1/confirmations/" + p.reference, Secret: shop,
			Body: map[string]string{"decision": "confirm"}, Header: map[string]string{"If-Match": `"1"`, "X-Account": account}})
	}
	seller.mustOpen(t, garden[0].claim)
	seller.fill(t, "#body", strings.Join(payloads, " "))
	seller.press(t, "Ask for information")
	seller.mustBeText(t, payloads...)

	// Pages that show many payloads.
	mallory.mustOpen(t, "/settings/profile")
	mallory.mustBeText(t)
	for _, path := range []string{"/", "/settings/api", "/settings/calendar", "/documents", "/claims/new", "/documents/new",
		"/claims", "/claims?page=2", "/warranties", "/warranties?page=2"} {
		mallory.mustOpen(t, path)
		mallory.mustBeText(t)
	}
	for _, path := range []string{"/", "/claims", "/warranties"} {
		seller.mustOpen(t, path)
		seller.mustBeText(t)
	}
	// Payloads in query parameters and in rows that htmx swaps in.
	for _, payload := range payloads {
		query := eval[string](t, mallory, fmt.Sprintf("encodeURIComponent(%q)", payload))
		mallory.mustOpen(t, "/warranties?status="+query+"&category="+query+"&q="+query)
		mallory.mustBeText(t)
		if got := eval[string](t, mallory, `document.querySelector("#q").value`); got != payload {
			t.Errorf("the search shows %q for %q", got, payload)
		}
	}
	mallory.mustOpen(t, "/warranties")
	mallory.do(t, chromedp.SendKeys(chromedp.CSS("#q"), "hacked"))
	mallory.until(t, `location.search.includes("hacked") && document.querySelectorAll("#rows tbody tr").length > 10`)
	mallory.mustBeText(t, payloads[0])

	// The pages of each record.
	queue := make(chan planted, len(garden))
	for _, p := range garden {
		queue <- p
	}
	close(queue)
	var wg sync.WaitGroup
	for range 2 {
		wg.Go(func() {
			owner, anyone := mallory.another(t), stranger.another(t)
			for p := range queue {
				t.Run(p.payload, func(t *testing.T) {
					for _, path := range []string{p.record, p.claim} {
						owner.mustOpen(t, path)
						owner.mustBeText(t, p.payload)
					}
					owner.mustOpen(t, p.record+"/edit")
					owner.mustBeText(t)
					got := eval[[]string](t, owner, `["product_name", "category", "supplier"].map(n => document.querySelector("#" + n).value)`)
					if slices.ContainsFunc(got, func(v string) bool { return v != p.payload }) {
						t.Errorf("the form has %q", got)
					}
					anyone.mustOpen(t, "/verify/"+p.reference)
					anyone.mustBeText(t, p.payload)
				})
			}
		})
	}
	wg.Wait()
}

// mustBeText fails if the page contains elements or attributes of a payload, or does not show the
// wanted texts.
func (b *tab) mustBeText(t testing.TB, wanted ...string) {
	t.Helper()
	found := eval[[]string](t, b, `[
		...("hacked" in window ? ["a payload ran"] : []),
		...[...document.scripts].filter(s => !s.src.startsWith(location.origin + "/static/") &&
			!(s.type === "application/ld+json" && s.attributes.length === 1 && !s.text.includes("<"))).map(s => s.outerHTML),
		...[...document.querySelectorAll("iframe, object, embed, base, style, img:not([src^='/documents/'][src$='/thumbnail']), meta[http-equiv]")].map(e => e.outerHTML),
		...[...document.querySelectorAll("*")]
			.filter(e => [...e.attributes].some(a =>
				/^on|^(data-)?hx-on/.test(a.name) || /^\s*javascript:/i.test(a.value) && a.name !== "value"))
			.map(e => e.outerHTML.slice(0, 200))]`)
	for _, s := range found {
		t.Errorf("%s: %s", b.path(t), s)
	}
	if len(wanted) > 0 {
		b.mustShow(t, wanted...)
	}
	b.mustBeQuiet(t)
}
