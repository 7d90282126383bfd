package web_test

import (
	"encoding/json"
	"net/http"
	"slices"
	"strings"
	"testing"

	"warranty.example/svc/internal/servertest"
)

// promiseIn returns the JSON-LD of a page, or nil if it has none.
func promiseIn(t *testing.T, p page) map[string]any {
	t.Helper()
	for n := range p.Node.Descendants() {
		if n.Data != "script" || attr(n, "type") != "application/ld+json" {
			continue
		}
		var data map[string]any
		if err := json.Unmarshal([]byte(n.FirstChild.Data), &data); err != nil {
			t.Fatalf("%v: %s", err, n.FirstChild.Data)
		}
		return data
	}
	return nil
}

// TestWebVerifyStates shows each state of the public page. Green and the seal are for what a verified business
// says.
func TestWebVerifyStates(t *testing.T) {
	w := webWorld(t)
	halden, fake := newShop(w, "Halden Electronics", "halden.example"), newShop(w, "Halden Warranty Service", "")
	fake.isCalled("Hаlden Warranty Service") // a Cyrillic а
	nora := w.Verified("Nora")
	b := w.Browser(t)
	give := func(s shop, over fields) servertest.Record {
		t.Helper()
		record := s.issues(over)
		w.Must(200, servertest.NewRequest("POST", "/api/handovers/take", nora.Session, fields{"code": s.prints(record.ID)}))
		return record
	}
	today := w.Clock.Now().UTC()
	day := func(days int) string { return today.AddDate(0, 0, days).Format("2006-01-02") }
	long := func(days int) string { return today.AddDate(0, 0, days).Format("2 Jan 2006") }
	const green, seal, cell = `class="fact good"`, `class="seal"`, `class="fact"`
	untaken := halden.issues(nil)
	halden.prints(untaken.ID)
	voided := give(halden, nil)
	halden.send(200, "PUT", "/api/v1/warranties/"+voided.ID, fields{"status": "void"}, nil)
	early := halden.issues(nil)
	halden.prints(early.ID)
	halden.send(200, "PUT", "/api/v1/warranties/"+early.ID, fields{"status": "void"}, nil)
	for _, c := range []struct {
		what   string
		record servertest.Record
		greens int
		says   []string
		hides  []string
	}{
		{"verified issuer", give(halden, fields{"end_date": day(85), "serial_number": "TSL-64-Q8AY", "category": "Appliances"}), 2,
			[]string{"In force", "Until <b>" + long(85) + "</b>, 85 days left", "Issued by", `<p class="say"><bdi>halden.example</bdi></p>`, "A verified business that calls itself “Halden Electronics”.", seal, "Appliances", "Check the serial number"},
			[]string{"according to", "Ask for", "Ask the seller", "Not yet registered"}},
		{"lifetime", give(halden, fields{"end_date": "9999-12-31"}), 2, []string{"Lifetime warranty", seal}, []string{"9999"}},
		{"ends soon", give(halden, fields{"end_date": day(10)}), 1, []string{`class="fact soon"`, "In force, ends soon", "10 days left", seal}, nil},
		{"ended", give(halden, fields{"end_date": day(-200)}), 1, []string{"Ended", "On <b>" + long(-200) + "</b>, 6 months ago", cell, seal}, []string{"In force"}},
		{"not started", give(halden, fields{"start_date": day(5)}), 1, []string{"Not started", "From <b>" + long(5) + "</b>", cell, seal}, []string{"In force"}},
		{"void", voided, 1, []string{`<section class="alarm" role="alert"`, cell, "Void", "This warranty is not valid.", "halden.example withdrew it on " + long(0), "Since <b>" + long(0), "Have your receipt ready and ask halden.example.", seal},
			[]string{"31 Dec 2099", `class="cov`, "In force", `name="serial"`}},
		{"void before it was taken", early, 1, []string{`class="alarm"`, "It was withdrawn."}, []string{"Not yet registered", `href="/take"`, "Since"}},
		{"not yet registered", untaken, 2, []string{"Not yet registered", "Did you buy it?", `href="/take"`, "Enter the code", seal}, nil},
		{"unverified name", give(fake, fields{"end_date": day(10)}), 0,
			[]string{"Not ended yet, according to the issuer", "“Hаlden Warranty Service”", "has not verified its website. Anyone can use this name.", "mixes alphabets", `class="noseal"`, "Look up “Hаlden Warranty Service” yourself", "Verify your website"},
			[]string{seal, "fact good", "fact soon", "A verified business", "days left"}},
		{"owner only", w.Warranty(nora.Session, fields{"end_date": day(85)}), 0,
			[]string{"Not ended yet, according to its owner", "Recorded by", "Its owner", "No seller or manufacturer has confirmed it.", "Ask for the receipt"},
			[]string{seal, "fact good", "A verified business", "Nobody yet", "Nora", "days left"}},
	} {
		p := b.Get("/verify/" + c.record.ReferenceNumber)
		p.Says(t, c.what, 200, append(c.says, c.record.ReferenceNumber, "Checked ")...)
		p.Hides(t, c.what, append(c.hides, "Download certificate")...)
		equal(t, c.what+": green cells", strings.Count(p.Body, green), c.greens)
		equal(t, c.what+": cells", strings.Count(p.Body, `<section class="fact`), 2)
		data := promiseIn(t, p)
		if strings.HasPrefix(c.what, "void") {
			if data != nil {
				t.Errorf("a void warranty promises %v", data)
			}
			continue
		}
		equal(t, c.what+": its type", data["@type"], any("WarrantyPromise"))
		equal(t, c.what+": its identifier", data["identifier"], any(c.record.ReferenceNumber))
	}
	gone := b.Get("/verify/WR-0000-0000-0000-0000")
	gone.Says(t, "not found", http.StatusNotFound, "Warranty not found", "No warranty has this reference number.", "character by character", `action="/check"`)
	gone.Hides(t, "not found", `class="fact`, "ld+json")
}

// TestWebVerifySeller shows a seller who confirmed a self-recorded warranty.
func TestWebVerifySeller(t *testing.T) {
	w := webWorld(t)
	halden := newShop(w, "Halden Electronics", "halden.example")
	halden.send(202, "POST", "/api/organizations/"+halden.id+"/addresses", fields{"email": "shop@halden.example"}, nil)
	halden.send(200, "POST", "/api/addresses/verify", fields{"code": w.MailedCode("shop@halden.example")}, nil)
	nora := w.Verified("Nora")
	record := w.Warranty(nora.Session, fields{"seller_email": "shop@halden.example", "serial_number": "NRV-55-88K2", "category": "TV"})
	b := w.Browser(t)
	b.Get("/verify/"+record.ReferenceNumber).Says(t, "before", 200, "Recorded by", "No seller or manufacturer has confirmed it.")
	halden.confirms(record.ID)
	p := b.Get("/verify/" + record.ReferenceNumber)
	p.Says(t, "confirmed", 200, "Confirmed by", "calls itself “Halden Electronics”", "halden.example", "Recorded by", "Its owner", `class="seal"`,
		"<dd>TV</dd>")
	p.Hides(t, "confirmed", "Issued by", "Nora", "Ask the seller")
	p = b.Get("/verify/" + record.ReferenceNumber + "?serial=nrv5588k2")
	p.Says(t, "the serial number", 200, `<p role="status">Matches this record.</p>`)
}

// TestASerialMismatchIsTheVerdict: if the reader's serial number is another one, the page says so first and in red, and
// nothing but the cell of a verified issuer is green.
func TestASerialMismatchIsTheVerdict(t *testing.T) {
	w := webWorld(t)
	halden, nora := newShop(w, "Halden Electronics", "halden.example"), w.Verified("Nora")
	issued := halden.issues(fields{"serial_number": "TSL-64-Q8AY"})
	w.Must(200, servertest.NewRequest("POST", "/api/handovers/take", nora.Session, fields{"code": halden.prints(issued.ID)}))
	own := w.Warranty(nora.Session, fields{"serial_number": "NRV-55-88K2"})
	b := w.Browser(t)
	for _, c := range []struct {
		what, reference, masked, ask string
		greens                       int
	}{
		{"issued", issued.ReferenceNumber, "••••Q8AY", "Ask halden.example.", 1},
		{"self-recorded", own.ReferenceNumber, "••••88K2", "Ask the seller for proof.", 0},
	} {
		p := b.Get("/verify/" + c.reference + "?serial=BD-55-19023")
		p.Says(t, c.what, 200, `<section class="alarm" role="alert"`, "This serial number does not belong to this warranty", "BD-55-19023",
			c.masked, c.ask, ", for another product", "for serial number "+c.masked, `aria-invalid="true"`)
		p.Hides(t, c.what, `class="cov`, "Matches this record", "ld+json", "certificate.pdf")
		equal(t, c.what+": green cells", strings.Count(p.Body, `class="fact good"`), c.greens)
		if strings.Index(p.Body, `class="alarm"`) > strings.Index(p.Body, `class="facts"`) {
			t.Errorf("%s: the verdict is not first", c.what)
		}
		b.Get("/verify/"+c.reference).Hides(t, c.what+" without a serial number", `class="alarm"`)
	}
}

// TestWebPromiseIsData: names cannot end the data block or change what it says.
func TestWebPromiseIsData(t *testing.T) {
	w := webWorld(t)
	nora := w.Verified("Nora")
	b := w.Browser(t)
	for _, name := range []string{`</script><script src="/x"></script>`, `<!--<script>`, `", "@type": "Offer`, `\u003c/script\u003e\`, `a & 'b' {{.}}`} {
		record := w.Warranty(nora.Session, fields{"product_name": name, "start_date": "2024-02-29", "end_date": "2026-02-27"})
		data := promiseIn(t, b.Get("/verify/"+record.ReferenceNumber))
		equal(t, "the name", data["name"], any("“"+name+"”")) // nobody has verified who wrote it
		equal(t, "the type", data["@type"], any("WarrantyPromise"))
	}
	for end, want := range map[string]string{
		"2027-01-14": `{"@type":"QuantitativeValue","unitCode":"ANN","value":3}`,
		"2025-07-14": `{"@type":"QuantitativeValue","unitCode":"MON","value":18}`,
		"2024-01-24": `{"@type":"QuantitativeValue","unitCode":"DAY","value":10}`,
		"9999-12-31": `null`,
	} {
		record := w.Warranty(nora.Session, fields{"start_date": "2024-01-15", "end_date": end})
		data := promiseIn(t, b.Get("/verify/"+record.ReferenceNumber))
		got, err := json.Marshal(data["durationOfWarranty"])
		if err != nil {
			t.Fatal(err)
		}
		equal(t, "until "+end, string(got), want)
		defined := strings.Fields("@context @type name identifier url description durationOfWarranty")
		for name := range data {
			if !slices.Contains(defined, name) {
				t.Errorf("schema.org does not define %s of a WarrantyPromise", name)
			}
		}
	}
}

// TestAnUnverifiedRecordSpeaksForItself: what an unverified issuer wrote is quoted, in the title, the heading, the data
// for machines and the lists, and says nothing that only the service says.
func TestAnUnverifiedRecordSpeaksForItself(t *testing.T) {
	w := webWorld(t)
	maker, fake := newShop(w, "Tessel", "tessel.example"), newShop(w, "Tessel Service", "")
	b := w.Browser(t)
	const link, gtin = "/01/4006381333931/21/", "4006381333931"
	over := func(serial string) fields {
		return fields{"gtin": gtin, "serial_number": serial, "category": "✓ Verified",
			"product_name": "✓ Verified by tessel.example” · Hob™ 60 cm², −5 ℃"}
	}
	for _, serial := range []string{"SN-1", "SN-2"} {
		fake.prints(fake.issues(over(serial)).ID)
	}
	maker.prints(maker.issues(over("SN-2")).ID)
	const quoted = "“Verified by tessel.example&#34; · Hob™ 60 cm², −5 ℃”"
	alone := b.Get(link + "SN-1")
	alone.Says(t, "alone", 200, "<title>Not verified: "+quoted, "The issuer wrote:", "<h1><bdi>"+quoted, "<dd>“Verified”</dd>")
	alone.Hides(t, "alone", "✓")
	equal(t, "for machines", promiseIn(t, alone)["name"], any("“Verified by tessel.example\" · Hob™ 60 cm², −5 ℃”"))
	both := b.Get(link + "SN-2")
	both.Says(t, "both", 200, "<h1><bdi>✓ Verified", quoted+"</bdi></a> · Not ended yet, according to the issuer")
	b.Get(link+"SN-3").Says(t, "nothing", 404, "No business issued a warranty for this product and serial number.")
}

// TestAcceptIsHonoured: JSON is sent to whom prefers it, and caches know that both exist.
func TestAcceptIsHonoured(t *testing.T) {
	w := webWorld(t)
	record := newShop(w, "Tessel", "tessel.example").issues(nil)
	for accept, html := range map[string]bool{
		"text/html,application/xhtml+xml,*/*;q=0.8": true, "text/html;q=0.1,application/json": false, "*/*": false,
		"text/html;q=0, */*": false, "application/json;q=0.5, text/html": true, "application/json": false, "text/html": true,
	} {
		a := w.Must(200, servertest.NewRequest("GET", "/verify/"+record.ReferenceNumber, "", nil, "Accept", accept))
		equal(t, accept, strings.HasPrefix(a.Header.Get("Content-Type"), "text/html"), html)
		if !slices.Contains(strings.Split(strings.Join(a.Header.Values("Vary"), ", "), ", "), "Accept") {
			t.Errorf("%s: Vary is %q", accept, a.Header.Values("Vary"))
		}
	}
}
