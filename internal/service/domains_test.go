package service_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"warranty.example/svc/internal/store"
	"warranty.example/svc/internal/testenv"
	"warranty.example/svc/warranty"
)

// newZone starts a DNS server that the service asks.
func newZone(t testing.TB, w *world) *testenv.Zone {
	t.Helper()
	z := testenv.NewZone(t)
	w.Service.LookupTXT = z.Resolver().LookupTXT
	return z
}

// TestDomainsByDNS: present, absent, wrong, beside other records, by CNAME, without an answer, and lost after
// three days.
func TestDomainsByDNS(t *testing.T) {
	eachStoppedInTurn(t, func(t *testing.T, w *world, clock *stoppedClock) {
		z := newZone(t, w)
		shop := w.issuer("Ann")
		add := func(i issuer, name string) (warranty.Domain, error) {
			return w.Service.AddDomain(ctx, i.admin.Principal, warranty.AddDomain{ID: i.ID, Domain: name})
		}
		check := func(i issuer, d warranty.Domain) warranty.Domain {
			t.Helper()
			got, err := w.Service.CheckDomain(ctx, i.admin.Principal, warranty.CheckDomain{ID: i.ID, DomainID: d.ID})
			if err != nil {
				t.Fatal(err)
			}
			return got
		}
		d, err := add(shop, " Halden.Example. ")
		if err != nil || d.Domain != "halden.example" || d.RecordName != "_warranty.halden.example" {
			t.Fatalf("%+v, %v", d, err)
		}
		expect := func(what string, got warranty.Domain, status warranty.DomainStatus, found string) {
			t.Helper()
			text := ""
			if got.Found != nil {
				text = *got.Found
			}
			if got.Status != status || text != found {
				t.Errorf("%s: %s, found %q; want %s and %q", what, got.Status, text, status, found)
			}
		}
		name := d.RecordName + "."
		expect("absent", check(shop, d), warranty.DomainWaiting, "no TXT record")
		z.SetTexts(name, "warranty-verification=someone-else", "v=spf1 -all")
		expect("wrong", check(shop, d), warranty.DomainWaiting, "a TXT record with another text")
		z.SetSilent(name, true)
		expect("no answer", check(shop, d), warranty.DomainWaiting, "no answer from DNS")
		z.SetSilent(name, false)
		z.SetTexts(name, "v=spf1 -all", strings.ToUpper(d.RecordText))
		expect("present", check(shop, d), warranty.DomainVerified, "")

		// Another organization: its own text is needed, and the domain is taken.
		other := w.issuer("Bob")
		copied, err := add(other, "halden.example")
		if err != nil {
			t.Fatal(err)
		}
		expect("with the text of another", check(other, copied), warranty.DomainWaiting, "a TXT record with another text")
		z.SetTexts(name, d.RecordText, copied.RecordText)
		_, err = w.Service.CheckDomain(ctx, other.admin.Principal, warranty.CheckDomain{ID: other.ID, DomainID: copied.ID})
		if codeOf(err) != warranty.AlreadyExists {
			t.Errorf("two organizations: %v", err)
		}
		// A CNAME leads to the record.
		moved, err := add(other, "moved.example")
		if err != nil {
			t.Fatal(err)
		}
		z.SetAlias("_warranty.moved.example.", "verify.elsewhere.example.")
		z.SetTexts("verify.elsewhere.example.", moved.RecordText)
		expect("by CNAME", check(other, moved), warranty.DomainVerified, "")

		// Checked daily, and lost once the record is missing for three days.
		z.SetTexts(name)
		seen := func() warranty.Domain {
			t.Helper()
			got, err := w.Store.Domain(ctx, shop.ID, d.ID)
			if err != nil {
				t.Fatal(err)
			}
			return got
		}
		daily := func() {
			t.Helper()
			clock.Set(clock.Now().Add(24 * time.Hour))
			if err := w.Service.CheckDomains(ctx); err != nil {
				t.Fatal(err)
			}
		}
		if err := w.Service.CheckDomains(ctx); err != nil || seen().Status != warranty.DomainVerified {
			t.Errorf("checked too early: %v", err)
		}
		for day := range 3 {
			daily()
			expect(fmt.Sprint("missing, day ", day), seen(), warranty.DomainFailing, "no TXT record")
		}
		z.SetTexts(name, d.RecordText)
		daily()
		expect("back", seen(), warranty.DomainVerified, "")
		z.SetTexts(name)
		for range 4 {
			daily()
		}
		expect("lost", seen(), warranty.DomainWaiting, "no TXT record")
		if n := w.number(`SELECT count(*) FROM history WHERE thread_id = $1 AND action = `+actionNumber(warranty.DomainLost), w.key(shop.ID)); n != 1 {
			t.Errorf("%d losses in the history", n)
		}
		w.execute(`UPDATE sessions SET expires_at = 9000000000000000, seen_at = 9000000000000000`)
		other.admin.ConfirmedAt = clock.Now()
		z.SetTexts(name, copied.RecordText)
		expect("free again", check(other, copied), warranty.DomainVerified, "")
	}, busy)
}

// TestDomainsThatAreRefused: public suffixes, addresses and nonsense; names are kept in ASCII.
func TestDomainsThatAreRefused(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		shop := w.issuer("Ann")
		for _, name := range []string{"com", "co.uk", "github.io", "localhost", "127.0.0.1", "127.1", "0x7f.1", "::1", "a b.example", "-x.example", "*.example", "x..example", "ex\u200bample.com", strings.Repeat("a", 64) + ".example", strings.Repeat("a.", 125) + "example"} {
			if _, err := w.Service.AddDomain(ctx, shop.admin.Principal, warranty.AddDomain{ID: shop.ID, Domain: name}); codeOf(err) != warranty.ValidationFailed {
				t.Errorf("%q: %v", name, err)
			}
		}
		for name, ascii := range map[string]string{"bücher.example": "xn--bcher-kva.example", "Shop.Co.UK": "", "аpple.com": "xn--pple-43d.com"} {
			d, err := w.Service.AddDomain(ctx, shop.admin.Principal, warranty.AddDomain{ID: shop.ID, Domain: name})
			if err != nil || ascii != "" && d.Domain != ascii {
				t.Errorf("%q is %q, %v", name, d.Domain, err)
			}
		}
	}, busy)
}

// assurance returns what the public page says of a record.
func (w *world) assurance(reference warranty.Reference) warranty.Verification {
	w.T.Helper()
	v, err := w.Service.VerifyPublicly(ctx, warranty.Principal{}, warranty.VerifyWarranty{Reference: string(reference)})
	if err != nil {
		w.T.Fatal(err)
	}
	return v
}

// TestWhoStandsBehindARecord follows the public page from the shop to a neighbour.
func TestWhoStandsBehindARecord(t *testing.T) {
	eachInTurn(t, func(t *testing.T, w *world) {
		shop, kim, neighbour := w.issuer("Ann"), w.person("Kim", true), w.person("Nina", true)
		expect := func(what string, r warranty.Reference, want string) {
			t.Helper()
			v := w.assurance(r)
			text := fmt.Sprintf("%s registered=%t", v.Assurance, v.Registered)
			for role, p := range map[string]*warranty.Party{"issuer": v.Issuer, "seller": v.Seller} {
				if p != nil {
					text += " " + role + "=" + p.Name
					if p.Domain != nil {
						text += "/" + *p.Domain
					}
				}
			}
			if text != want {
				t.Errorf("%s: %s, want %s", what, text, want)
			}
		}
		own := w.record(kim, "")
		expect("a household's own", own.ReferenceNumber, "unverified registered=true")
		made := shop.sells(warranty.CreateWarranty{})
		expect("recorded by the shop for itself", made.ReferenceNumber, "unverified registered=true")
		code := shop.prints(made.ID)
		expect("not taken", made.ReferenceNumber, "unverified registered=false issuer="+shop.Name)
		if _, err := w.take(kim, code); err != nil {
			t.Fatal(err)
		}
		expect("taken", made.ReferenceNumber, "unverified registered=true issuer="+shop.Name)
		if _, err := w.Service.VerifyDomain(ctx, shop.ID, "halden.example"); err != nil {
			t.Fatal(err)
		}
		const good = "issuer_verified registered=true issuer=Halden/halden.example"
		expect("with a domain", made.ReferenceNumber, strings.Replace(good, "Halden", shop.Name, 1))
		w.transfer(made.ID, kim, neighbour)
		expect("sold on", made.ReferenceNumber, strings.Replace(good, "Halden", shop.Name, 1))
		expect("the household's own, still", own.ReferenceNumber, "unverified registered=true")

		// A seller who confirms gives assurance to what a household recorded.
		w.write(func(tx *store.Tx) error {
			return tx.InsertAddress(shop.ID, warranty.Address{ID: w.Service.NewID(), Email: "info@halden.example", VerifiedAt: w.Clock.Now()})
		})
		named := w.record(kim, "info@halden.example")
		expect("named, not confirmed", named.ReferenceNumber, "unverified registered=true")
		w.confirm(shop.acting, named.ID)
		expect("confirmed", named.ReferenceNumber, "seller_confirmed registered=true seller="+shop.Name+"/halden.example")
		if _, err := w.Service.LeaveWarranty(ctx, shop.acting.Principal, warranty.LeaveWarranty{ID: warranty.WarrantyKey{ID: named.ID}}); err != nil {
			t.Fatal(err)
		}
		expect("left", named.ReferenceNumber, "unverified registered=true")
		if _, err := w.Service.VerifyDomain(ctx, w.issuer("Bob").ID, "halden.example"); codeOf(err) != warranty.AlreadyExists {
			t.Errorf("a domain of another: %v", err)
		}
	}, busy)
}

// TestAnOperatorsDomainNeedsNoRecord: checking a domain that the operator verified does not end it.
func TestAnOperatorsDomainNeedsNoRecord(t *testing.T) {
	eachStoppedInTurn(t, func(t *testing.T, w *world, clock *stoppedClock) {
		newZone(t, w)
		shop := w.issuer("Ann")
		d, err := w.Service.VerifyDomain(ctx, shop.ID, "halden.example")
		if err != nil {
			t.Fatal(err)
		}
		for range 2 {
			shop.admin.ConfirmedAt = clock.Now()
			got, err := w.Service.CheckDomain(ctx, shop.admin.Principal, warranty.CheckDomain{ID: shop.ID, DomainID: d.ID})
			if err != nil || got.Status != warranty.DomainVerified {
				t.Fatalf("%+v, %v", got, err)
			}
			clock.Set(clock.Now().Add(4 * 24 * time.Hour))
			w.execute(`UPDATE sessions SET expires_at = 9000000000000000, seen_at = 9000000000000000`)
		}
	}, busy)
}

// TestADeletedOrganizationFreesItsDomain: another organization can verify the domain of one that was deleted or
// disabled. If that comes back, its domain is verified again only if it is still free, and its history says so.
func TestADeletedOrganizationFreesItsDomain(t *testing.T) {
	eachInTurn(t, func(t *testing.T, w *world) {
		for name, c := range map[string]struct{ end, restore func(i issuer) error }{
			"deleted": {func(i issuer) error {
				_, err := w.Service.DeleteOrganization(ctx, i.admin.Principal, warranty.DeleteOrganization{ID: i.ID})
				return err
			}, func(i issuer) error {
				_, err := w.Service.RestoreOrganization(ctx, i.admin.Principal, warranty.RestoreOrganization{ID: i.ID})
				return err
			}},
			"deleted by the operator": {func(i issuer) error {
				_, err := w.Service.DeleteUser(ctx, i.ID.String())
				return err
			}, func(i issuer) error { return w.Service.EnableUser(ctx, i.ID.String()) }},
			"disabled": {
				func(i issuer) error { return w.Service.DisableUser(ctx, i.ID.String()) },
				func(i issuer) error { return w.Service.EnableUser(ctx, i.ID.String()) },
			},
		} {
			domain := strings.ReplaceAll(name, " ", "-") + ".example"
			verify := func(i issuer) error { _, err := w.Service.VerifyDomain(ctx, i.ID, domain); return err }
			verified := func(i issuer) bool {
				list, _, err := w.Store.Domains(ctx, i.ID, warranty.Paging{Page: 1, Limit: 10})
				if err != nil || len(list) != 1 {
					t.Fatal(name, list, err)
				}
				return list[0].VerifiedAt != nil
			}
			must := func(err error) {
				t.Helper()
				if err != nil {
					t.Fatal(name, err)
				}
			}
			first, second := w.issuer("Ann"), w.issuer("Eve")
			must(verify(first))
			if err := verify(second); codeOf(err) != warranty.AlreadyExists {
				t.Errorf("%s: a domain that is taken: %v", name, err)
			}
			must(c.end(first))
			if err := verify(first); codeOf(err) != warranty.InvalidTransition {
				t.Errorf("%s: the operator verifies it for an organization that has ended: %v", name, err)
			}
			must(c.restore(first))
			equal(t, name+": back while the domain is free", verified(first), true)
			must(c.end(first))
			must(verify(second))
			must(c.restore(first))
			equal(t, name+": back after another verified it", verified(first), false)
			equal(t, name+": the other one", verified(second), true)
			list, err := w.Service.OrganizationHistory(ctx, first.admin.Principal, first.ID)
			must(err)
			var actions []warranty.Action
			for _, e := range list {
				actions = append(actions, e.Action)
			}
			if !slices.Contains(actions, warranty.DomainLost) || !slices.Contains(actions, warranty.DomainWasVerified) {
				t.Errorf("%s: the history does not show what became of the domain: %v", name, actions)
			}
		}
	})
}
