package service_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"warranty.example/svc/internal/service"
	"warranty.example/svc/internal/store"
	"warranty.example/svc/warranty"
)

// pretending are names that look verified or like another business.
var pretending = []string{
	// Marks.
	"✓ apple.com verified", "Apple ✓", "Apple ✔", "✅ Apple", "Apple ☑", "Apple 🗸", "Apple √", "Apple 🅥", "Apple ⓥ", "Ⓐⓟⓟⓛⓔ", "★ Apple ★", "Apple 🏅",
	"Apple 🔒", "Apple ⍻", "Apple ✔\ufe0f", "A\u20ddpple", "Apple ⚝", "Apple\u00ad Inc.", "App\u200dle", "𝐀𝐩𝐩𝐥𝐞", "ᴀᴘᴘʟᴇ", "Apple ⑴", "Apple ㊣", "Apple\u0338", "Ⅴerizon",
	// Claims.
	"Apple (verified)", "VERIFIED business: Apple", "Apple – verifiziert", "Verifizierter Händler", "Apple ver1fied", "Apple V.E.R.I.F.I.E.D",
	"Apple v e r i f i e d", "Apple vérifié", "Apple verificado", "issuer_verified", "Vеrified Apple", "Ｖｅｒｉｆｉｅｄ",
	// Alphabets.
	"Аpple", "Аррӏе", "Appӏe", "Αpple", "Ꭺpple", "Bоsch", "Sаmsung Electronics", "Gοogle", "Miеle", "Ѕіеmеnѕ", "ІКЕА", "Teslа", "Ηilti", "Ａｐｐｌｅ", "Lоgitech Schweiz",
	"Яндекс Go",
	// Domains.
	"apple.com", "www.apple.com", "https://apple.com", "Apple Inc. apple.com", "APPLE.COM", "apple．com", "apple。com", "apple․com", "apple·com", "apple .com",
	"apple . com", "apple[.]com", "apple(dot)com", "apple dot com", "info@apple.com", "Apple/apple.de/Garantie", "Apple (support.apple.com)", "bücher.de",
	"halden.example", "booking.com B.V.", "ａｐｐｌｅ.com", "apple.co.uk", "shop.apple", "www.apple", "apple.com.evil Ltd", "evil-apple.com", "xn--pple-43d.com",
}

// companies are names of real companies and shops.
var companies = []string{
	"Halden Electronics", "Müller & Söhne", "Müller & Söhne GmbH & Co. KG", "3M", "7-Eleven, Inc.", "1&1 AG", "4711", "O'Neill", "McDonald's", "L’Oréal S.A.",
	"Škoda Auto a.s.", "Ørsted A/S", "Åhléns AB", "Ćevabdžinica d.o.o.", "Işbank A.Ş.", "Fiat S.p.A.", "Philips N.V.", "Booking B.V.", "Dr. Oetker", "Dr.Oetker",
	"St. Gallen Sport", "St.Gallen Sport", "E.ON SE", "H&M Hennes & Mauritz", "AT&T", "Yahoo!", "Toys \"R\" Us", "C&A", "Peek & Cloppenburg*", "Procter + Gamble",
	"Samsung Electronics Co., Ltd.", "Samsung Electronics Co.,Ltd", "Hitachi Co.Ltd", "АО Рога и Копыта", "ООО «Восток»", "Росатом", "ПАО Сбербанк", "ΔΕΗ Α.Ε. Ελλάδα",
	"ソニー Sony", "ソニー株式会社", "ＮＴＴデータ", "日立製作所", "삼성전자", "삼성 Samsung", "华为技术有限公司", "小米 Xiaomi", "شركة الاتصالات", "مطعم KFC", "בנק הפועלים", "टाटा मोटर्स", "บริษัท ปตท.",
	"Xerox®", "Haribo™", "№ 1 Electronics", "Fahrrad-Müller (Inh. J. Schmidt)", "Elektro Maier e.K.", "TSV 1860 e.V.", "A.P. Møller – Mærsk A/S", "Bang & Olufsen",
	"Citroën", "Nestlé", "Häagen-Dazs", "Łódź Meble Sp. z o.o.", "Școala S.R.L.", "Vodafone Kft.", "100% Bike", "Jack Wolfskin GmbH & Co. KGaA", "Very Fine Shoes", "Verify Ltd",
	"Azərbaycan Hava Yolları", "Việt Nam Airlines", "Col·lecció Barcelona", "M² Möbel", "Dot Com Solutions", "Bed, Bath & Beyond", "Node.js Shop",
}

// TestNamesThatPretendAreRefused: a name cannot have marks, say that it is verified, mix alphabets that look alike or
// contain a domain of someone else. Names of real companies are accepted.
func TestNamesThatPretendAreRefused(t *testing.T) {
	check := func(name string, own ...string) error {
		in := warranty.CreateOrganization{Name: name}
		return errors.Join(in.Check(), service.CheckNamedDomains("name", strings.TrimSpace(name), own))
	}
	for _, name := range pretending {
		if err := check(name); codeOf(err) != warranty.ValidationFailed {
			t.Errorf("%q: %v", name, err)
		}
	}
	for _, name := range companies {
		if err := check(name); err != nil {
			t.Errorf("%q: %v", name, err)
		}
	}
	for _, c := range []struct {
		name, own string
		ok        bool
	}{
		{"booking.com B.V.", "booking.com", true}, {"Booking.com", "booking.com", true}, {"www.booking.com", "booking.com", true},
		{"bücher.de", "xn--bcher-kva.de", true}, {"booking.com B.V.", "shop.booking.com", false}, {"booking.com", "ooking.com", false},
		{"booking.com and apple.com", "booking.com", false}, {"evilbooking.com", "booking.com", false},
	} {
		if err := check(c.name, c.own); (err == nil) != c.ok {
			t.Errorf("%q of %s: %v", c.name, c.own, err)
		}
	}
	t.Logf("%d refused, %d accepted", len(pretending), len(companies))
}

// TestEveryDoorChecksTheName: creating, renaming and converting refuse the same names, and a domain is accepted in the
// name of the organization that has verified it.
func TestEveryDoorChecksTheName(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		shop, sole := w.issuer("Ann"), w.person("Sole", true)
		for i, name := range []string{"✓ Apple", "Аpple", "Apple, apple.com", "Apple (verified)"} {
			doors := map[string]request{
				"create": made("POST", "/api/organizations", shop.admin.session, fields{"name": name}),
				"rename": made("PUT", "/api/organizations/"+shop.ID.String(), shop.admin.session, fields{"name": name}),
				"convert": made("POST", "/api/account/organization", sole.session,
					fields{"organization_name": name, "name": "Sole", "email": fmt.Sprintf("sole%d@people.example", i)}),
			}
			for door, r := range doors {
				if a := w.Do(r); a.Code() != string(warranty.ValidationFailed) || !strings.Contains(a.Body, `"errors":[{"field":"`) {
					t.Errorf("%s %q: %d %s", door, name, a.Status, a.Body)
				}
			}
		}
		rename := made("PUT", "/api/organizations/"+shop.ID.String(), shop.admin.session, fields{"name": "booking.com B.V."})
		equal(t, "before it is verified", w.Do(rename).Status, 422)
		w.verify(shop, "booking.com")
		equal(t, "after it is verified", w.Do(rename).Status, 200)
	}, busy)
}

func (w *world) verify(o issuer, domain string) {
	w.T.Helper()
	if _, err := w.Service.VerifyDomain(ctx, o.ID, domain); err != nil {
		w.T.Fatal(err)
	}
}

// TestARenameAfterVerificationIsShownAndMailed: all admins get an email, and the public answers have the former names for
// 30 days. There are so few renames that none is hidden by later ones.
func TestARenameAfterVerificationIsShownAndMailed(t *testing.T) {
	eachStopped(t, func(t *testing.T, w *world, clock *stoppedClock) {
		shop, kim, ivo := w.issuer("Ann"), w.person("Kim", true), w.person("Ivo", true)
		w.write(func(tx *store.Tx) error {
			return tx.InsertMember(shop.ID, ivo.User.ID, warranty.Admin, warranty.MailChoices{}, clock.Now())
		})
		before := shop.Name
		w.verify(shop, "halden.example")
		sold := shop.sells(warranty.CreateWarranty{})
		w.taken(kim, shop.prints(sold.ID))
		mails := func(to person) int64 {
			return w.number(`SELECT count(*) FROM mails WHERE address = $1 AND subject = 'Your organization has a new name'`, to.User.Email)
		}
		w.renames(shop, "Apple Inc.")
		equal(t, "emails to the admin who renamed it", mails(shop.admin), int64(1))
		equal(t, "emails to the other admin", mails(ivo), int64(1))
		page := func() string { return w.Browser(t).Get("/verify/" + string(sold.ReferenceNumber)).Body }
		was := "this business called itself “" + before + "”."
		if p := page(); !strings.Contains(p, was) || !strings.Contains(p, `<p class="say"><bdi>halden.example</bdi></p>`) {
			t.Errorf("the page does not say what it was called: %s", p)
		}
		for i := range warranty.MaxRenames - 1 {
			w.renames(shop, fmt.Sprintf("Apple Inc. %d", i))
		}
		one := "One more"
		_, err := w.Service.UpdateOrganization(ctx, shop.admin.Principal, warranty.UpdateOrganization{ID: shop.ID, Name: &one})
		equal(t, "another rename", codeOf(err), warranty.InUse)
		var v warranty.Verification
		w.Must(200, made("GET", "/verify/"+string(sold.ReferenceNumber), "", nil)).Into(t, &v)
		equal(t, "former names", len(v.Issuer.FormerNames), warranty.MaxRenames)
		if p := page(); !strings.Contains(p, was) {
			t.Error("later renames hide the first one")
		}
		clock.Set(clock.Now().Add(warranty.RenameShown + 1))
		if p := page(); strings.Contains(p, "called itself “"+before) {
			t.Error("it is still shown after 30 days")
		}
	})
}

func (w *world) renames(o issuer, name string) {
	w.T.Helper()
	in := warranty.UpdateOrganization{ID: o.ID, Name: &name}
	if _, err := w.Service.UpdateOrganization(ctx, o.admin.Principal, in); err != nil {
		w.T.Fatalf("%q: %v", name, err)
	}
}
