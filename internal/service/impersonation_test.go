package service_test

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"

	"warranty.example/svc/internal/store"
	"warranty.example/svc/internal/testenv"
	"warranty.example/svc/warranty"
)

// impostors are names of organizations that have verified nothing.
var impostors = []string{
	"Apple", "Apple Inc.", "Apple Inc. Warranty Service", "APPLE", "apple.com", "www.apple.com", "https://apple.com", "Apple ✓", "Apple ✔ Verified",
	"Apple (verified)", "Verified business: Apple", "✅ Apple", "Apple 🅥", "Аpple", "Аррӏе", "Appӏe", "Αpple", "Ꭺpple", "Ａｐｐｌｅ", "𝐀𝐩𝐩𝐥𝐞", "Ⓐⓟⓟⓛⓔ", "App1e", "AppIe", "Appl\u00ade", "App\u200dle",
	"A p p l e", "Apple\u00a0Inc.", "Apple\u2009Inc.", "Bosch GmbH", "Bоsch", "Samsung Electronics Co., Ltd.", "Sаmsung", "Sony", "Sоny", "Microsoft", "Microsоft", "rnicrosoft",
	"Google LLC", "Gοogle", "G00gle", "Miele", "Miеle", "Dyson", "Dуson", "Siemens", "Ѕіеmеnѕ", "LG", "LG Еlectronics", "IKEA", "ІКЕА", "Tesla", "Teslа", "Nikon", "Nikоn", "Canon", "Cаnon",
	"Philips", "Phi1ips", "Hilti AG", "Ηilti", "issuer_verified", "null", "<b>Apple</b>", "Apple\" data-verified=\"1", "Warranty Records", "Administrator", "halden.example", "Halden Electronics, halden.example",
}

// marks are on the public page of a record that a verified business stands behind, and on no other.
var marks = []string{`class="fact good"`, `class="seal`}

// expectNoMark fails the test if the public answers about a record give any assurance.
func (w *world) expectNoMark(t *testing.T, what string, reference warranty.Reference) {
	t.Helper()
	path := "/verify/" + string(reference)
	var v warranty.Verification
	w.Must(200, request{Method: "GET", Path: path, Header: map[string]string{"Accept": "application/json"}}).Into(t, &v)
	if v.Assurance != warranty.Unverified || v.Issuer != nil && v.Issuer.Domain != nil || v.Seller != nil && v.Seller.Domain != nil {
		t.Errorf("%s: %+v", what, v)
	}
	page := w.Browser(t).Get(path)
	for _, mark := range slices.Concat(marks, looks) {
		if page.Status != http.StatusOK || strings.Contains(page.Body, mark) {
			t.Errorf("%s: the page (%d) has %s", what, page.Status, mark)
		}
	}
	if !strings.Contains(page.Body, "has not verified its website") && !strings.Contains(page.Body, "not a verified business") &&
		!strings.Contains(page.Body, "No seller or manufacturer has confirmed it") {
		t.Errorf("%s: the page does not say that nobody is verified", what)
	}
}

// TestImpostorsGetNoMark: whatever an organization calls itself, without a domain of its own nothing that it
// issues is verified.
func TestImpostorsGetNoMark(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		shop, kim, refused := w.issuer("Ann"), w.person("Kim", true), 0
		for _, name := range impostors {
			w.execute(`UPDATE users SET former_names = NULL WHERE id = $1`, w.key(shop.ID)) // as if it were 30 days later
			in := warranty.UpdateOrganization{ID: shop.ID, Name: &name}
			if _, err := w.Service.UpdateOrganization(ctx, shop.admin.Principal, in); err != nil {
				if refused++; codeOf(err) != warranty.ValidationFailed {
					t.Errorf("%q: %v", name, err)
				}
				continue
			}
			made := shop.sells(warranty.CreateWarranty{Brand: name, SellerName: name, Supplier: name})
			w.taken(kim, shop.prints(made.ID))
			w.expectNoMark(t, fmt.Sprintf("%q", name), made.ReferenceNumber)
		}
		t.Logf("%d names, %d refused", len(impostors), refused)
	}, busy)
}

func (w *world) taken(p person, code string) {
	w.T.Helper()
	if _, err := w.take(p, code); err != nil {
		w.T.Fatal(err)
	}
}

// impersonation is what an impostor has to work with: the shop Halden, which has verified halden.example, its zone, and
// an organization and people of their own.
type impersonation struct {
	*world
	t                       *testing.T
	clock                   *stoppedClock
	zone                    *testenv.Zone
	halden, fake            issuer
	eve, kim                person
	haldenDomain            warranty.Domain
	haldenEmail, fakesEmail string
}

func newImpersonation(t *testing.T, w *world, clock *stoppedClock) *impersonation {
	t.Helper()
	i := &impersonation{
		world: w, t: t, clock: clock, zone: newZone(t, w), halden: w.issuer("Ann"), fake: w.issuer("Mallory"),
		eve: w.person("Eve", true), kim: w.person("Kim", true), haldenEmail: "info@halden.example", fakesEmail: "info@fake.example",
	}
	i.haldenDomain = i.add(i.halden, "halden.example")
	i.zone.SetTexts("_warranty.halden.example.", i.haldenDomain.RecordText)
	i.check(i.halden, i.haldenDomain)
	logo := squares(t, 64, 64, none, navy)
	if _, err := i.brands(i.halden, warranty.UpdateBrand{Logo: &logo, Color: new("#c8102e")}); err != nil {
		t.Fatal(err)
	}
	for email, owner := range map[string]warranty.ID{i.haldenEmail: i.halden.ID, i.fakesEmail: i.fake.ID} {
		w.write(func(tx *store.Tx) error {
			return tx.InsertAddress(owner, warranty.Address{ID: w.Service.NewID(), Email: email, VerifiedAt: w.Clock.Now()})
		})
	}
	return i
}

func (i *impersonation) add(o issuer, name string) warranty.Domain {
	i.t.Helper()
	d, err := i.Service.AddDomain(ctx, o.admin.Principal, warranty.AddDomain{ID: o.ID, Domain: name})
	if err != nil {
		i.t.Fatal(err)
	}
	return d
}

func (i *impersonation) check(o issuer, d warranty.Domain) {
	i.t.Helper()
	_, err := i.Service.CheckDomain(ctx, o.admin.Principal, warranty.CheckDomain{ID: o.ID, DomainID: d.ID})
	if err != nil && codeOf(err) != warranty.AlreadyExists {
		i.t.Fatal(err)
	}
}

// wants lets the impostor add a domain and set TXT records, {text} being the text that it needs, and check. It
// returns what the impostor issued.
func (i *impersonation) wants(domain string, records ...string) warranty.Reference {
	d, err := i.Service.AddDomain(ctx, i.fake.admin.Principal, warranty.AddDomain{ID: i.fake.ID, Domain: domain})
	if err == nil {
		for n := 0; n < len(records); n += 2 {
			i.zone.SetTexts(records[n], strings.ReplaceAll(records[n+1], "{text}", d.RecordText))
		}
		i.check(i.fake, d)
	} else if codeOf(err) != warranty.ValidationFailed && codeOf(err) != warranty.AlreadyExists {
		i.t.Error(domain, err)
	}
	return i.issuedBy(i.fake)
}

// issuedBy returns a warranty that an organization handed over.
func (i *impersonation) issuedBy(o issuer) warranty.Reference {
	made := o.sells(warranty.CreateWarranty{})
	i.taken(i.kim, o.prints(made.ID))
	return made.ReferenceNumber
}

// confirmed returns a warranty of an impostor that the shop has confirmed as its seller.
func (i *impersonation) confirmed() warranty.Warranty {
	made := i.record(i.eve, i.haldenEmail)
	i.confirm(i.halden.acting, made.ID)
	if v := i.assurance(made.ReferenceNumber); v.Assurance != warranty.SellerConfirmed {
		i.t.Fatalf("confirmed: %+v", v)
	}
	return made
}

// changes lets someone change a warranty.
func (i *impersonation) changes(p person, made warranty.Warranty, in warranty.UpdateWarranty) warranty.Reference {
	i.t.Helper()
	in.ID = warranty.WarrantyKey{ID: made.ID}
	if _, err := i.Service.UpdateWarranty(ctx, p.Principal, in); err != nil {
		i.t.Fatal(err)
	}
	return made.ReferenceNumber
}

// TestTricksGetNoMark tries to get the mark of a verified business without being one.
func TestTricksGetNoMark(t *testing.T) {
	if n := len(impostors) + len(domainTricks) + len(recordTricks) + len(endTricks); n < 120 {
		t.Fatalf("only %d names and tricks", n)
	}
	eachStopped(t, func(t *testing.T, w *world, clock *stoppedClock) {
		i := newImpersonation(t, w, clock)
		// The marks are there for the shop, so that their absence means something.
		good := i.issuedBy(i.halden)
		if v := w.assurance(good); v.Assurance != warranty.IssuerVerified || v.Issuer == nil || *v.Issuer.Domain != "halden.example" {
			t.Fatalf("the shop: %+v", v)
		}
		page := w.Browser(t).Get("/verify/" + string(good))
		for _, mark := range marks {
			if !strings.Contains(page.Body, mark) {
				t.Fatalf("the page of the shop has no %s", mark)
			}
		}
		for _, x := range append(domainTricks, recordTricks...) {
			i.fake = w.issuer("Mallory") // a domain of an earlier trick must not help
			i.fakesEmail = fmt.Sprintf("info@%s.example", i.fake.ID)
			w.write(func(tx *store.Tx) error {
				return tx.InsertAddress(i.fake.ID, warranty.Address{ID: w.Service.NewID(), Email: i.fakesEmail, VerifiedAt: w.Clock.Now()})
			})
			w.expectNoMark(t, x.name, x.make(i))
		}
		if v := w.assurance(good); v.Assurance != warranty.IssuerVerified {
			t.Errorf("the shop, afterwards: %+v", v)
		}
		// A domain of one's own is shown as it is, in ASCII.
		for name, shown := range map[string]string{
			"hаlden.example":         "xn--hlden-4ve.example",
			"halden.example.co.uk":   "halden.example.co.uk",
			"halden-example.example": "halden-example.example",
		} {
			i.fake = w.issuer("Mallory")
			v := w.assurance(i.wants(name, "_warranty."+shown+".", "{text}"))
			if v.Issuer == nil || v.Issuer.Domain == nil || *v.Issuer.Domain != shown {
				t.Errorf("%s is shown as %+v", name, v.Issuer)
			}
		}
	}, busy)
}

// TestEndedVerificationsGetNoMark: the mark ends with what it stands for.
func TestEndedVerificationsGetNoMark(t *testing.T) {
	eachStopped(t, func(t *testing.T, w *world, clock *stoppedClock) {
		start := clock.Now()
		for n, x := range endTricks {
			clock.Set(start)
			w.execute(`DELETE FROM domains`)
			w.execute(`DELETE FROM addresses WHERE email LIKE 'info@%'`)
			i := newImpersonation(t, w, clock)
			if n == 0 {
				w.expectMark(t, i.issuedBy(i.halden))
			}
			w.expectNoMark(t, x.name, x.make(i))
		}
	}, busy)
}

func (w *world) expectMark(t *testing.T, reference warranty.Reference) {
	t.Helper()
	if v := w.assurance(reference); v.Assurance != warranty.IssuerVerified {
		t.Fatalf("%+v", v)
	}
}
