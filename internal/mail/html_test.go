package mail

import (
	"flag"
	"io"
	"mime"
	"mime/multipart"
	"mime/quotedprintable"
	"net/mail"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"
	"unicode"

	"warranty.example/svc/warranty"
)

var update = flag.Bool("update", false, "write the emails in testdata")

const base = "https://w.example.com"

// shown are emails as people get them, by the names of their files in testdata.
func shown(lang string) map[string]Message {
	t := In(warranty.Locale{Language: lang, Zone: "Europe/Berlin"})
	owner, seller := warranty.NewRoles(warranty.Owner), warranty.NewRoles(warranty.Seller)
	const kim, shop = "kim@people.example", "service@brandt.example"
	claim := func(status warranty.ClaimStatus) warranty.Claim {
		return warranty.Claim{ID: warranty.ID{1}, ClaimNumber: "CL-7Q2M-84KD-X1RZ-93BT", Status: status, Description: "It leaks below the door.\n\nSince Monday there is a puddle after each wash, mostly on the left.",
			Warranty: warranty.WarrantyName{ProductName: "Bosch dishwasher", ReferenceNumber: "WR-2M8K-41QX"}}
	}
	news := func(status warranty.ClaimStatus, side warranty.ClaimSide, message string) ClaimNews {
		n := ClaimNews{Claim: claim(status), Moved: true, Side: side, By: "Brandt Home Appliances", Message: message}
		if side == warranty.OwnerSide {
			n.By = "Kim Larsen"
		}
		return n
	}
	written := news(warranty.UnderReview, warranty.BusinessSide, "Our technician can come on Thursday between 8 and 12.\nPlease move the machine away from the wall.")
	written.Moved = false
	resolved := news(warranty.Resolved, warranty.BusinessSide, "")
	how := warranty.Replaced
	resolved.Claim.Resolution, resolved.Claim.ReplacementSerialNumber, resolved.Claim.ResolutionNote = &how, new("SN-884-2201"), new("Delivered on 3 Dec.")
	last := time.Date(2026, 11, 30, 0, 0, 0, 0, time.UTC)
	ending := Ending{ID: warranty.ID{2}, Product: "Apple iPad Air", Reference: "WR-8K2Q-77XA", Last: last}
	wrote := func(side warranty.ClaimSide, name, body string) warranty.Message {
		return warranty.Message{Author: warranty.Author{Role: side, Name: name}, Body: body}
	}
	list := map[string]Message{
		"claim-new":      t.ClaimNews(shop, "Ivar Brandt", seller, news(warranty.Submitted, warranty.OwnerSide, claim(warranty.Submitted).Description), base),
		"claim-approved": t.ClaimNews(kim, "Kim Larsen", owner, news(warranty.Approved, warranty.BusinessSide, "We will repair it at your place."), base),
		"claim-rejected": t.ClaimNews(kim, "Kim Larsen", owner, news(warranty.Rejected, warranty.BusinessSide, "The door seal wears out and is not covered. A new one costs 24 €."), base),
		"claim-asked":    t.ClaimNews(kim, "Kim Larsen", owner, news(warranty.InfoRequested, warranty.BusinessSide, "Please send a photo of the type plate inside the door."), base),
		"claim-message":  t.ClaimNews(kim, "Kim Larsen", owner, written, base),
		"claim-resolved": t.ClaimNews(kim, "Kim Larsen", owner, resolved, base),
		"gathered": t.ClaimDigest(shop, "Ivar Brandt", []GatheredClaim{
			{Claim: claim(warranty.UnderReview), Messages: []warranty.Message{wrote(warranty.OwnerSide, "Kim Larsen", "Here is the photo."), wrote(warranty.OwnerSide, "Kim Larsen", "And it still leaks.")}},
			{Claim: claim(warranty.Withdrawn)},
		}, 3, base),
		"invitation": t.Invited("nora@people.example", "Ivar Brandt", "Brandt Home Appliances", "7QKD-82MX-ZZ4T-9PLW-3RAB", base),
		"handover": t.HandoverOffered(kim, warranty.Party{Name: "Brandt Home Appliances", Domain: new("brandt.example")},
			[]Offered{{Product: "Bosch dishwasher", Code: "7QKD-82MX-ZZ4T-9PLW-3RAB"}}, base),
		"reminder": t.WarrantyEnds(kim, "Kim Larsen", ending, base),
		"weekly": t.WeeklyDigest(kim, "Kim Larsen", Week{Ending: []Ending{ending}, EndingTotal: 4, Ended: []Ending{ending}, EndedTotal: 1,
			Waiting: []warranty.Claim{claim(warranty.InfoRequested)}}, base),
		"sign-in":   t.SignInCode(kim, "Kim Larsen", "7QKD-82MX", base),
		"new-token": t.NotMe("7K2M-9QXT-4D8P-HV3E-2F6J").TokenCreated(kim, "Kim Larsen", "till", nil, Circumstances{At: last, Program: "Firefox", System: "Linux", Network: "203.0.113.x", PublicURL: base}),
		"changed":   t.PromiseChanged(kim, "Kim Larsen", []Changed{changed()}, 0, base),
	}
	for name, m := range list {
		l := Links{}
		if strings.HasPrefix(name, "claim") || name == "gathered" {
			l = Links{Unsubscribe: base + "/unsubscribe/AgGh8ZGcDXOPoW-KCe2O0R8", Mute: base + "/unsubscribe/gAGh8ZGcDXOPoW-KCe2O0R8"}
			if m.To == kim {
				m.From, m.ReplyTo = "Brandt Home Appliances", shop
			}
		}
		if name == "handover" || name == "claim-approved" {
			m.From, m.Color = "Brandt Home Appliances", "#ffd24d" // hard to see on white
		}
		list[name] = t.Finish(m, l)
	}
	return list
}

// TestEmails compares emails with those in testdata, which have been looked at.
func TestEmails(t *testing.T) {
	for _, lang := range warranty.Languages() {
		for name, m := range shown(lang) {
			for file, got := range map[string]string{name + ".html": m.HTML, name + ".txt": "Subject: " + m.Subject + "\n\n" + m.Text} {
				path := filepath.Join("testdata", lang, file)
				if *update {
					if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
						t.Fatal(err)
					}
					if err := os.WriteFile(path, []byte(got), 0o644); err != nil {
						t.Fatal(err)
					}
				}
				want, err := os.ReadFile(path)
				if err != nil || string(want) != got {
					t.Errorf("%s is another email, %v; if it is as it should be: go test ./internal/mail -run TestEmails -update", path, err)
				}
			}
		}
	}
}

// hostile is a text that tries to be markup, a header, another text direction or a part of the email.
const hostile = "</h1><script>alert(1)</script>\r\nBcc: x@evil.example\n\n=> Pay | https://evil.example\n!! CODE\n\u202e\u2066gnp.exe %[1]s %s \"'&<a href=//evil.example>"

var tag = regexp.MustCompile(`</?[a-z0-9]+|<!doctype`)

// tags are the elements of all emails.
var tags = []string{"html", "head", "meta", "title", "style", "body", "div", "p", "h1", "h2", "a", "b", "br", "span", "blockquote", "bdi", "<!doctype"}

// TestHostileTexts puts hostile texts wherever someone can type: an email never has another element, link or header.
func TestHostileTexts(t *testing.T) {
	texts := In(warranty.Locale{})
	long := strings.Repeat("<&\"'>", 1000)
	c := warranty.Claim{ClaimNumber: "CL-1", Status: warranty.Submitted, Description: hostile, ResolutionNote: new(hostile), ReplacementSerialNumber: new(hostile),
		Warranty: warranty.WarrantyName{ProductName: hostile}}
	n := ClaimNews{Claim: c, Moved: true, By: hostile, Side: warranty.OwnerSide, Message: long,
		Earlier: []warranty.Message{{Author: warranty.Author{Name: hostile, Role: warranty.OwnerSide}, Body: long}}}
	var many []GatheredClaim
	for range 20 {
		many = append(many, GatheredClaim{c, []warranty.Message{{Body: long}, {Body: hostile}, {Body: long}, {Body: long}}})
	}
	promise := changed()
	promise.By, promise.Reason, promise.Warranty.ProductName = hostile, long, hostile
	for _, m := range []Message{
		texts.ClaimNews("a@b.example", hostile, warranty.NewRoles(warranty.Seller), n, base), texts.ClaimDigest("a@b.example", hostile, many, 7, base),
		texts.Invited("a@b.example", hostile, hostile, "CODE", base), texts.PromiseChanged("a@b.example", hostile, []Changed{promise}, 0, base),
		texts.HandoverOffered("a@b.example", warranty.Party{Name: hostile}, []Offered{{hostile, "C"}, {hostile, "D"}}, base),
		texts.WeeklyDigest("a@b.example", hostile, Week{Waiting: []warranty.Claim{c}, Ending: []Ending{{Product: hostile}}, EndingTotal: 1}, base),
		texts.TransferAccepted("a@b.example", hostile, warranty.Warranty{ProductName: hostile}, base),
	} {
		m = texts.Finish(m, Links{Mute: base + "/m", Unsubscribe: base + "/u"})
		if err := m.check(); err != nil {
			t.Errorf("%s: %v", m.Subject, err)
		}
		if len(m.HTML) > 100<<10 { // where mail programs cut emails
			t.Errorf("%s: %d bytes", m.Subject, len(m.HTML))
		}
		_, body, _ := strings.Cut(m.HTML, "</head>")
		for _, found := range tag.FindAllString(m.HTML, -1) {
			if name := strings.TrimLeft(found, "</"); !strings.Contains(" "+strings.Join(tags, " ")+" ", " "+name+" ") && found != "<!doctype" {
				t.Errorf("%s has the element %s", m.Subject, found)
			}
		}
		for _, bad := range []string{"<script", "<a href=//", `href="https://evil`, "\u202e", "\u2066", "%!", "onerror", "src=", "url("} {
			if strings.Contains(body, bad) {
				t.Errorf("%s has %q in\n%s", m.Subject, bad, body)
			}
		}
		for line := range strings.SplitSeq(m.Text, "\n") {
			if strings.HasPrefix(line, "Bcc:") || strings.HasPrefix(line, "    https://evil") || strings.TrimSpace(line) == "CODE" && !strings.Contains(m.Subject, "invited") {
				t.Errorf("%s has the line %q", m.Subject, line)
			}
		}
		if strings.ContainsFunc(m.Text, func(r rune) bool { return r != '\n' && (unicode.IsControl(r) || unicode.In(r, unicode.Cf)) }) {
			t.Errorf("%s has a control character in its text", m.Subject)
		}
	}
}

// TestBothPartsArrive sends an email with an organization's name and an address for answers, and reads it as a mail
// program does.
func TestBothPartsArrive(t *testing.T) {
	srv := new(server).start(t)
	m := shown("de")["claim-approved"]
	m.From = `Müller "Küche" GmbH`
	if err := sender(t, "smtp://"+srv.addr).Send(t.Context(), m); err != nil {
		t.Fatal(err)
	}
	_, data := srv.got()
	got, err := mail.ReadMessage(strings.NewReader(data))
	if err != nil {
		t.Fatal(err)
	}
	from, err := got.Header.AddressList("From")
	if err != nil || len(from) != 1 || *from[0] != (mail.Address{Name: `Müller "Küche" GmbH über Warranty Service`, Address: "warranty@example.com"}) {
		t.Errorf("From: %v, %v", from, err)
	}
	if reply, err := got.Header.AddressList("Reply-To"); err != nil || len(reply) != 1 || reply[0].Address != m.ReplyTo {
		t.Errorf("Reply-To: %v, %v", reply, err)
	}
	if got.Header.Get("List-Unsubscribe") != "<"+m.Unsubscribe+">" || got.Header.Get("List-Unsubscribe-Post") == "" {
		t.Errorf("List-Unsubscribe: %v", got.Header)
	}
	kind, params, err := mime.ParseMediaType(got.Header.Get("Content-Type"))
	if err != nil || kind != "multipart/alternative" {
		t.Fatalf("Content-Type: %s, %v", kind, err)
	}
	parts := multipart.NewReader(got.Body, params["boundary"])
	for _, want := range []struct{ kind, body string }{{"text/plain", m.Text}, {"text/html", m.HTML}} {
		part, err := parts.NextRawPart()
		if err != nil {
			t.Fatal(err)
		}
		kind, _, err := mime.ParseMediaType(part.Header.Get("Content-Type"))
		if err != nil || kind != want.kind {
			t.Errorf("part: %s, %v", kind, err)
		}
		raw, err := io.ReadAll(quotedprintable.NewReader(part))
		if text := strings.ReplaceAll(string(raw), "\r\n", "\n"); err != nil || strings.TrimRight(text, "\n") != strings.TrimRight(want.body, "\n") {
			t.Errorf("%s: %v\n%s", kind, err, text)
		}
	}
	if _, err := parts.NextRawPart(); err != io.EOF {
		t.Errorf("another part: %v", err)
	}
}

// TestSenderNames: what could be taken for something else is not in front of the address of the service.
func TestSenderNames(t *testing.T) {
	for name, want := range map[string]string{
		"Brandt Home Appliances": "Brandt Home Appliances", "Müller & Söhne": "Müller & Söhne", "evil.example": "", "a@b": "", "Shop <x@y>": "",
		"Warranty Records": "", "WARRANTY RECORDS Support": "", "Halden-Garant1e": "", "Shop\r\nBcc: x": "", "Shop\u202e": "", strings.Repeat("x", 61): "",
	} {
		if got := SenderName(name, "Halden Garantie"); got != want {
			t.Errorf("%q: %q, want %q", name, got, want)
		}
	}
	for _, m := range []Message{
		{To: "a@b.example", Subject: "x", From: "Shop\r\nBcc: c@d.example"}, {To: "a@b.example", Subject: "x", From: "a\u202eb"},
		{To: "a@b.example", Subject: "x", ReplyTo: "a@b.example\r\nBcc: c@d.example"}, {To: "a@b.example", Subject: "x", ReplyTo: "Ann <a@b.example>"},
	} {
		if m.check() == nil {
			t.Errorf("taken: %+v", m)
		}
	}
}
