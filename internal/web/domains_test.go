package web_test

import (
	"context"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"warranty.example/svc/internal/server"
	"warranty.example/svc/internal/servertest"
	"warranty.example/svc/warranty"
)

// TestWebDomains adds a domain, checks it until its DNS record is there, loses the record and removes the
// domain. Members only read.
func TestWebDomains(t *testing.T) {
	var record []string
	w := webWorld(t, func(s *server.Server) {
		s.Service.LookupTXT = func(_ context.Context, name string) ([]string, error) {
			if record == nil {
				return nil, &net.DNSError{Err: "no such host", Name: name, IsNotFound: true}
			}
			return record, nil
		}
	})
	mara := w.Verified("Mara")
	b := w.SignedIn(t, mara)
	b.Get("/settings/domains").Leads(t, "a person", "/settings/organizations")
	halden := found(b, "Halden Electronics")
	b.Get("/settings/domains").Says(t, "none", 200, "Add your domain to get the seal.", `aria-current="page">Domains`)
	for domain, says := range map[string]string{"co.uk": "not a public suffix", "": "", "127.0.0.1": "not an IP address", "<b>": ""} {
		b.Post("/settings/domains", "account", halden, "domain", domain).Says(t, "the domain "+domain, 422, `aria-invalid="true"`, says)
	}
	b.Post("/settings/domains", "account", halden, "domain", "Halden.example").Leads(t, "adding", "/settings/domains?done=domain_added")
	b.Post("/settings/domains", "account", halden, "domain", "halden.example").Says(t, "adding it again", 422, "already has this domain")
	p := b.Get("/settings/domains")
	p.Says(t, "waiting", 200, "Waiting for DNS record", "_warranty.halden.example", "warranty-verification=", "Check now", "Not checked yet.",
		`data-copy="#n-`, `data-copy="#v-`)
	path := ""
	for n := range p.Node.Descendants() {
		if action := attr(n, "action"); strings.HasSuffix(action, "/check") {
			path = strings.TrimSuffix(action, "/check")
		}
		if strings.HasPrefix(attr(n, "id"), "v-") && record == nil {
			record = []string{textOf(n)}
		}
	}
	text := record
	check := func(want string) {
		t.Helper()
		b.Post(path+"/check", "account", halden).Leads(t, "checking", "/settings/domains?done="+want)
	}
	record = nil
	check("domain_checked")
	b.Get("/settings/domains?done=domain_checked").Says(t, "a record that was not found", 200,
		`<div class="flash error" role="alert">`, "The DNS record was not found.")
	b.Get("/settings/domains").Says(t, "not found", 200, "no TXT record.", "Waiting for DNS record")
	record = []string{"warranty-verification=other"}
	check("domain_checked")
	b.Get("/settings/domains").Says(t, "another text", 200, "a TXT record with another text.")
	record = text
	check("domain_verified")
	seen := b.Get("/settings/domains?done=domain_verified")
	seen.Says(t, "verified", 200, `<span class="pill active">Verified</span>`, "Keep the DNS record in place.", "Domain verified.")
	seen.Hides(t, "verified", "Check now", "_warranty.")
	record = nil
	w.Clock.Advance(25 * time.Hour)
	if err := w.Service.CheckDomains(context.Background()); err != nil {
		t.Fatal(err)
	}
	b.Get("/settings/domains").Says(t, "failing", 200, "Record missing", "Put the DNS record back by <b", "or the domain is no longer verified.", "_warranty.halden.example")
	b.Get("/").Says(t, "the overview", 200, "1 domain lost its DNS record", "halden.example, put it back by", `href="/settings/domains">Fix`)

	viewer := join(w, b, halden, w.Verified("Vic"), "viewer")
	viewer.Post("/switch", "account", halden)
	viewer.Get("/").Hides(t, "the overview of a viewer", ">Fix")
	read := viewer.Get("/settings/domains")
	read.Says(t, "a viewer", 200, "Record missing", "Only an admin of Halden Electronics can make changes here.")
	read.Hides(t, "a viewer", "Check now", "Remove domain", "Add domain")
	for _, form := range []string{path + "/check", path + "/remove", "/settings/domains"} {
		w.Unchanged(t, form, func() {
			if p := viewer.Post(form, "account", halden, "domain", "evil.example"); p.Status == http.StatusSeeOther && strings.Contains(p.Location, "done") {
				t.Errorf("a viewer sends %s", form)
			}
		})
	}
	b.Post("/confirm", "password", mara.Password).Leads(t, "confirming", "/") // a day has passed
	b.Post(path+"/remove", "account", halden).Leads(t, "removing", "/settings/domains?done=domain_removed")
	b.Get("/settings/domains").Says(t, "removed", 200, "Add your domain to get the seal.")
}

// TestWebDomainsAreThrottled shows the error of too many checks beside the domain.
func TestWebDomainsAreThrottled(t *testing.T) {
	w := webWorld(t, func(s *server.Server) { s.Service.SignInRate = 20 })
	b := w.SignedIn(t, w.Verified("Mara"))
	halden := found(b, "Halden Electronics")
	b.Post("/settings/domains", "account", halden, "domain", "halden.example")
	path := ""
	for n := range b.Get("/settings/domains").Node.Descendants() {
		if action := attr(n, "action"); strings.HasSuffix(action, "/check") {
			path = action
		}
	}
	for range 20 {
		b.Post(path, "account", halden).Says(t, "checking", http.StatusSeeOther)
	}
	b.Post(path, "account", halden).Says(t, "once too often", http.StatusTooManyRequests, "You have checked your domains too often.", "halden.example", "Check now")
}

// TestWebDigitalLink answers a GS1 Digital Link with the page of the warranty of a verified issuer, and lets people
// choose if there are several: another business cannot hide the first one. Unknown and unverified products look
// the same.
func TestWebDigitalLink(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		halden, other := newShop(w, "Halden Electronics", "halden.example"), newShop(w, "Kessler", "kessler.example")
		fake, nora := newShop(w, "Fake", ""), w.Verified("Nora")
		give := func(s shop, gtin, serial string, over fields) servertest.Record {
			t.Helper()
			body := fields{"gtin": gtin, "serial_number": serial}
			for name, value := range over {
				body[name] = value
			}
			record := s.issues(body)
			w.Must(200, servertest.NewRequest("POST", "/api/handovers/take", nora.Session, fields{"code": s.prints(record.ID)}))
			return record
		}
		b := w.Browser(t)
		unknown := b.Get("/01/04242005273881/21/NOBODY")
		unknown.Says(t, "unknown", 404, "Warranty not found")
		mustMiss := func(what, path string) {
			t.Helper()
			p := b.Get(path)
			equal(t, what, p.Status, 404)
			equal(t, what, p.Main(), unknown.Main())
			servertest.Refused(t, what+" as JSON", w.Get(path, ""), "not_found")
		}
		mustFind := func(what, path string, record servertest.Record) {
			t.Helper()
			b.Get(path).Says(t, what, 200, record.ReferenceNumber, `class="seal"`, "halden.example", "ld+json")
			var got warranty.ProductVerification
			w.Must(200, request{Method: "GET", Path: path}).Into(t, &got)
			equal(t, what+": verified issuers", len(got.Verified), 1)
			equal(t, what, string(got.Verified[0].ReferenceNumber), record.ReferenceNumber)
		}
		one := give(halden, "4242005273881", "FD-1", nil)
		mustFind("with 14 digits", "/01/04242005273881/21/FD-1", one)
		mustFind("with 13 digits", "/01/4242005273881/21/FD-1", one)
		mustMiss("another serial number", "/01/04242005273881/21/FD-2")
		mustMiss("a prefix", "/01/04242005273881/21/FD-")
		mustMiss("a wildcard", "/01/04242005273881/21/%25")
		mustMiss("a wrong check digit", "/01/04242005273882/21/FD-1")
		mustMiss("no GTIN", "/01/nonsense/21/FD-1")
		for _, path := range []string{"/01/04242005273881/21/%00", "/01/04242005273881/21/" + strings.Repeat("9", 300), "/01/04242005273881/21/%FF"} {
			if p := b.Get(path); p.Status >= 500 || p.Status == 200 {
				t.Errorf("%s: %d", path, p.Status)
			}
		}
		unverified := give(fake, "4242005273881", "FD-3", nil)
		alone := b.Get("/01/04242005273881/21/FD-3")
		alone.Says(t, "an unverified issuer", 200, unverified.ReferenceNumber, "“Fake”", "has not verified its website")
		alone.Hides(t, "an unverified issuer", `class="seal"`, "fact good")
		w.Warranty(nora.Session, fields{"gtin": "4242005273881", "serial_number": "FD-4"})
		mustMiss("recorded by its owner", "/01/04242005273881/21/FD-4")

		// An ended one beside a new one; then two in force.
		give(halden, "4242005273881", "FD-5", fields{"end_date": "2021-01-01"})
		replaced := give(halden, "4242005273881", "FD-5", nil)
		mustFind("the one in force", "/01/04242005273881/21/FD-5", replaced)
		again := give(halden, "4242005273881", "FD-5", nil)
		mustFind("issued again", "/01/04242005273881/21/FD-5", again)
		foreign := give(other, "04242005273881", "FD-5", nil)
		p := b.Get("/01/04242005273881/21/FD-5")
		p.Says(t, "two issuers", 200, "Several businesses issued a warranty", `href="/verify/`+again.ReferenceNumber, "halden.example",
			`href="/verify/`+foreign.ReferenceNumber, "kessler.example")
		p.Hides(t, "two issuers", `class="seal"`, replaced.ReferenceNumber)
		var both warranty.ProductVerification
		w.Must(200, request{Method: "GET", Path: "/01/04242005273881/21/FD-5"}).Into(t, &both)
		if len(both.Verified) != 2 || *both.Verified[0].Issuer.Domain != "halden.example" || *both.Verified[1].Issuer.Domain != "kessler.example" {
			t.Errorf("two issuers as JSON: %+v", both)
		}
		ended := give(halden, "4242005273881", "FD-6", fields{"end_date": "2021-01-01"})
		mustFind("only an ended one", "/01/04242005273881/21/FD-6", ended)
		// An unverified issuer is shown below.
		below := give(fake, "4242005273881", "FD-1", nil)
		mustFind("beside an unverified one", "/01/04242005273881/21/FD-1", one)
		b.Get("/01/04242005273881/21/FD-1").Says(t, "beside an unverified one", 200, "also issued a warranty for this product",
			`href="/verify/`+below.ReferenceNumber, "“Fake”")
		// Serial numbers with a slash are escaped.
		slash := give(halden, "96385074", "A/1", nil)
		mustFind("a slash, and a GTIN of 8 digits", "/01/00000096385074/21/A%2F1", slash)
		id := strings.TrimSpace(one.ID)
		w.Must(204, request{Method: "DELETE", Path: "/api/v1/warranties/" + id, Secret: nora.Session})
		p = b.Get("/01/04242005273881/21/FD-1")
		p.Says(t, "removed from the account of its owner", p.Status)
	})
}
