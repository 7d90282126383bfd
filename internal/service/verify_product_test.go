package service_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"warranty.example/svc/internal/servertest"
	"warranty.example/svc/warranty"
)

const linkedGTIN, linkedSerial = "4242005273881", "FD-1"

// links returns the JSON of the GS1 Digital Link of the product.
func (w *world) links(t *testing.T) (found warranty.ProductVerification) {
	t.Helper()
	w.Must(200, made("GET", "/01/0"+linkedGTIN+"/21/"+linkedSerial, "", nil)).Into(t, &found)
	return found
}

func domainsOf(list []warranty.Verification) (domains []string) {
	for _, v := range list {
		domains = append(domains, *v.Issuer.Domain)
	}
	return domains
}

// gives issues a warranty of the product to someone.
func (w *world) gives(o issuer, to person) warranty.Warranty {
	w.T.Helper()
	sold := o.sells(warranty.CreateWarranty{GTIN: linkedGTIN, SerialNumber: linkedSerial})
	w.taken(to, o.prints(sold.ID))
	return sold
}

// copies copies a warranty that was taken to an issuer.
func (w *world) copies(id warranty.ID, reference string, to any) {
	w.T.Helper()
	w.execute(`INSERT INTO warranties (id, reference, issuer_id, product_name, gtin, serial_number, start_date, end_date, standing,
			created_at, updated_at, folded_category, version)
		SELECT $1, $2, $3, product_name, gtin, serial_number, start_date, end_date, standing, created_at, updated_at,
			folded_category, version FROM warranties WHERE id = $4`, w.key(w.Service.NewID()), reference, to, w.key(id))
}

// TestADigitalLinkCannotBeTakenOver: neither 200 warranties of another verified business nor fakes hide the maker. Every
// issuer has one row, by domain, and those without a verified domain are apart.
func TestADigitalLinkCannotBeTakenOver(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		attacker, maker, fake, kim := w.issuer("Mallory"), w.issuer("Ann"), w.issuer("Fay"), w.person("Kim", true)
		w.verify(attacker, "aaa.example")
		w.verify(maker, "maker.example")
		first := w.gives(attacker, kim)
		for i := range 200 { // copies of a warranty that was taken
			w.copies(first.ID, fmt.Sprintf("WR-C0PY-0000-0000-%04d", i), w.key(attacker.ID))
		}
		made := w.gives(maker, kim)
		w.gives(fake, kim)
		found := w.links(t)
		equal(t, "verified issuers", domainsOf(found.Verified), []string{"aaa.example", "maker.example"})
		equal(t, "the maker's warranty", found.Verified[1].ReferenceNumber, made.ReferenceNumber)
		equal(t, "unverified issuers", len(found.Unverified), 1)
		equal(t, "more", found.More, false)
		for _, serial := range []string{"fd-1", "FD1", "fd%201"} { // as someone types it
			var typed warranty.ProductVerification
			w.Must(200, servertest.NewRequest("GET", "/01/0"+linkedGTIN+"/21/"+serial, "", nil)).Into(t, &typed)
			equal(t, serial, domainsOf(typed.Verified), domainsOf(found.Verified))
		}
		w.Must(404, servertest.NewRequest("GET", "/01/0"+linkedGTIN+"/21/-", "", nil))
		page := w.Browser(t).Get("/01/" + linkedGTIN + "/21/" + linkedSerial)
		for _, part := range []string{"aaa.example", "maker.example", string(made.ReferenceNumber), "Businesses that have not verified their website"} {
			if page.Status != 200 || !strings.Contains(page.Body, part) {
				t.Errorf("the page (%d) has no %q", page.Status, part)
			}
		}
		if strings.Contains(page.Body, `class="seal"`) || strings.Contains(page.Body, "fact good") {
			t.Error("the page prefers an issuer")
		}
	}, busy)
}

// TestADigitalLinkFindsItsSerialNumber: of two products whose serial numbers differ only in their dashes, each has the
// page of its own number.
func TestADigitalLinkFindsItsSerialNumber(t *testing.T) {
	eachInTurn(t, func(t *testing.T, w *world) {
		maker, kim := w.issuer("Ann"), w.person("Kim", true)
		w.verify(maker, "maker.example")
		of := map[string]warranty.Reference{}
		for _, serial := range []string{"AB-1234", "AB12-34", "ab 1234"} {
			sold := maker.sells(warranty.CreateWarranty{GTIN: linkedGTIN, SerialNumber: serial})
			w.taken(kim, maker.prints(sold.ID))
			of[serial] = sold.ReferenceNumber
		}
		of["ab-1-234"] = of["ab 1234"] // none has it: the newest that fits
		for serial, reference := range of {
			var found warranty.ProductVerification
			path := "/01/0" + linkedGTIN + "/21/" + strings.ReplaceAll(serial, " ", "%20")
			w.Must(200, servertest.NewRequest("GET", path, "", nil)).Into(t, &found)
			equal(t, serial, []warranty.Reference{found.Verified[0].ReferenceNumber}, []warranty.Reference{reference})
		}
	})
}

// crowd inserts organizations that issued a copy of a warranty of the product. member is their admin; a domain is verified
// if the pattern is not empty, before those of others.
func (w *world) crowd(t *testing.T, n int, of warranty.ID, member any, pattern string) (all []any) {
	t.Helper()
	for i := range n {
		organization, number := w.key(w.Service.NewID()), w.number(`SELECT count(*) FROM warranties`)
		w.execute(`INSERT INTO users (id, email, name, password_hash, kind, created_at) VALUES ($1, $2, 'Evil', '', 2, 1)`,
			organization, fmt.Sprintf("evil%d@deleted.invalid", number))
		if member != nil {
			w.execute(`INSERT INTO members (account_id, user_id, role, mail_choices, created_at) VALUES ($1, $2, 1, 0, 1)`,
				organization, member)
		}
		if pattern != "" {
			w.execute(`INSERT INTO domains (id, account_id, domain, token, by_operator, created_at, verified_at)
				VALUES ($1, $2, $3, 'x', 1, 1, 1)`, w.key(w.Service.NewID()), organization, fmt.Sprintf(pattern, i))
		}
		w.copies(of, fmt.Sprintf("WR-EV11-0000-0000-%04d", number), organization)
		all = append(all, organization)
	}
	return all
}

// TestCrowdsHideNoVerifiedIssuer: neither names below a provider's domain nor many domains of one person fill the list.
// The issuers that it does not have are found by their domain.
func TestCrowdsHideNoVerifiedIssuer(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		attacker, maker, late, kim := w.issuer("Mallory"), w.issuer("Ann"), w.issuer("Zoe"), w.person("Kim", true)
		w.verify(maker, "zz-maker.example")
		w.gives(maker, kim)
		first := w.gives(attacker, kim)
		w.crowd(t, 110, first.ID, nil, "a%d.dedyn.io")
		w.crowd(t, 110, first.ID, w.key(kim.User.ID), "b%d.example")
		w.verify(late, "zzz-late.example")
		w.gives(late, kim)
		found := w.links(t)
		equal(t, "verified issuers", len(found.Verified), 100)
		equal(t, "more", found.More, true)
		for _, domain := range []string{"zz-maker.example", "zzz-late.example"} {
			if !slices.Contains(domainsOf(found.Verified), domain) {
				t.Errorf("%s is hidden", domain)
			}
		}
		if !slices.IsSorted(domainsOf(found.Verified)) {
			t.Errorf("the order is not neutral: %v", domainsOf(found.Verified))
		}
		var only warranty.ProductVerification
		w.Must(200, made("GET", "/01/"+linkedGTIN+"/21/"+linkedSerial+"?issuer=B109.example", "", nil)).Into(t, &only)
		equal(t, "by domain", domainsOf(only.Verified), []string{"b109.example"})
		want(t, "an unknown domain", w.Get("/01/"+linkedGTIN+"/21/"+linkedSerial+"?issuer=c.example", ""), 404, warranty.NotFound)
		page := w.Browser(t).Get("/01/" + linkedGTIN + "/21/" + linkedSerial)
		if !strings.Contains(page.Body, `name="issuer"`) {
			t.Error("the page has no form for the other issuers")
		}
	}, busy)
}

// TestCrowdsHideNoUnverifiedIssuer: 40 organizations of one person, and 40 that recorded the product for themselves,
// leave room for a shop.
func TestCrowdsHideNoUnverifiedIssuer(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		attacker, kim := w.issuer("Mallory"), w.person("Kim", true)
		first := w.gives(attacker, kim)
		w.crowd(t, 40, first.ID, w.key(kim.User.ID), "")
		for _, self := range w.crowd(t, 40, first.ID, nil, "") {
			w.execute(`INSERT INTO access (user_id, kind, item_id, parent_id, roles, status, start_date, end_date, category)
				SELECT issuer_id, 1, id, id, 3, 1, start_date, end_date, '' FROM warranties WHERE issuer_id = $1`, self)
		}
		shop := w.issuer("Zoe")
		made := w.gives(shop, kim)
		found := w.links(t)
		equal(t, "unverified issuers", len(found.Unverified), 20)
		if !slices.ContainsFunc(found.Unverified, func(v warranty.Verification) bool { return v.ReferenceNumber == made.ReferenceNumber }) {
			t.Error("the shop is hidden")
		}
	}, busy)
}

// TestManyIssuersHideNoVerifiedIssuer: the verified one is found after more issuers than are looked at, and if there is
// nothing to show among them, the answer says that there may be more.
func TestManyIssuersHideNoVerifiedIssuer(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		attacker, kim := w.issuer("Mallory"), w.person("Kim", true)
		first := w.gives(attacker, kim)
		w.execute(`UPDATE users SET kind = 1 WHERE id = $1`, w.key(attacker.ID))
		w.crowd(t, 2005, first.ID, nil, "")
		w.execute(`UPDATE users SET kind = 1 WHERE name = 'Evil'`)
		found := w.links(t)
		equal(t, "more", found.More, true)
		equal(t, "shown", len(found.Verified)+len(found.Unverified), 0)
		maker := w.issuer("Zoe")
		w.verify(maker, "zz-maker.example")
		w.gives(maker, kim)
		equal(t, "the maker", domainsOf(w.links(t).Verified), []string{"zz-maker.example"})
	}, busy)
}
