package service_test

import (
	"time"

	"warranty.example/svc/warranty"
)

// trick makes a record that must get no mark.
type trick struct {
	name string
	make func(i *impersonation) warranty.Reference
}

// domainTricks are records of an organization that wants a domain.
var domainTricks = []trick{
	{"a domain without a record", func(i *impersonation) warranty.Reference { return i.wants("apple.com") }},
	{"the text at the domain itself", func(i *impersonation) warranty.Reference {
		return i.wants("one.example", "one.example.", "{text}")
	}},
	{"the text at the parent", func(i *impersonation) warranty.Reference {
		return i.wants("shop.two.example", "_warranty.two.example.", "{text}")
	}},
	{"the text at a subdomain", func(i *impersonation) warranty.Reference {
		return i.wants("three.example", "_warranty.www.three.example.", "{text}")
	}},
	{"the text below a wildcard", func(i *impersonation) warranty.Reference {
		return i.wants("four.example", "*.four.example.", "{text}")
	}},
	{"the text of another organization", func(i *impersonation) warranty.Reference {
		return i.wants("five.example", "_warranty.five.example.", i.haldenDomain.RecordText)
	}},
	{"the start of the text", func(i *impersonation) warranty.Reference {
		return i.wants("six.example", "_warranty.six.example.", warranty.DomainPrefix)
	}},
	{"more than the text", func(i *impersonation) warranty.Reference {
		return i.wants("seven.example", "_warranty.seven.example.", "{text}0")
	}},
	{"the text in quotes", func(i *impersonation) warranty.Reference {
		return i.wants("eight.example", "_warranty.eight.example.", `"{text}"`)
	}},
	{"a CNAME to nowhere", func(i *impersonation) warranty.Reference {
		i.zone.SetAlias("_warranty.nine.example.", "nowhere.example.")
		return i.wants("nine.example")
	}},
	{"a domain of another", func(i *impersonation) warranty.Reference {
		return i.wants("halden.example", "_warranty.halden.example.", "{text}")
	}},
	{"a domain of another, with a final dot", func(i *impersonation) warranty.Reference { return i.wants("halden.example.") }},
	{"a domain of another, in capitals", func(i *impersonation) warranty.Reference { return i.wants("HALDEN.EXAMPLE") }},
	{"a domain of another, in full width", func(i *impersonation) warranty.Reference { return i.wants("ｈａｌｄｅｎ．example") }},
	{"a domain of another, with a soft hyphen", func(i *impersonation) warranty.Reference { return i.wants("hal\u00adden.example") }},
	{"a domain of another, with an ideographic dot", func(i *impersonation) warranty.Reference { return i.wants("halden。example") }},
	{"a public suffix", func(i *impersonation) warranty.Reference { return i.wants("co.uk", "_warranty.co.uk.", "{text}") }},
	{"a top-level domain", func(i *impersonation) warranty.Reference { return i.wants("com", "_warranty.com.", "{text}") }},
	{"a private suffix", func(i *impersonation) warranty.Reference {
		return i.wants("github.io", "_warranty.github.io.", "{text}")
	}},
	{"a wildcard", func(i *impersonation) warranty.Reference { return i.wants("*.halden.example") }},
	{"an address of a page", func(i *impersonation) warranty.Reference { return i.wants("https://halden.example") }},
	{"an email address", func(i *impersonation) warranty.Reference { return i.wants("info@halden.example") }},
	{"a port", func(i *impersonation) warranty.Reference { return i.wants("halden.example:443") }},
	{"an IP address", func(i *impersonation) warranty.Reference { return i.wants("127.0.0.1") }},
	{"a right-to-left override", func(i *impersonation) warranty.Reference { return i.wants("\u202eelpmaxe.nedlah") }},
	{"a zero-width space", func(i *impersonation) warranty.Reference { return i.wants("hal\u200bden.example") }},
	{"the old text after removing the domain", func(i *impersonation) warranty.Reference {
		d := i.add(i.fake, "ten.example")
		i.zone.SetTexts("_warranty.ten.example.", d.RecordText)
		i.check(i.fake, d)
		i.remove(i.fake, d)
		return i.wants("ten.example")
	}},
	{"a domain that was removed", func(i *impersonation) warranty.Reference {
		d := i.add(i.fake, "eleven.example")
		i.zone.SetTexts("_warranty.eleven.example.", d.RecordText)
		i.check(i.fake, d)
		reference := i.issuedBy(i.fake)
		i.remove(i.fake, d)
		return reference
	}},
	{"a domain of the operator, removed", func(i *impersonation) warranty.Reference {
		d, err := i.Service.VerifyDomain(ctx, i.fake.ID, "twelve.example")
		if err != nil {
			i.t.Fatal(err)
		}
		reference := i.issuedBy(i.fake)
		i.remove(i.fake, d)
		return reference
	}},
}

func (i *impersonation) remove(o issuer, d warranty.Domain) {
	i.t.Helper()
	in := warranty.RemoveDomain{ID: o.ID, DomainID: d.ID}
	if _, err := i.Service.RemoveDomain(ctx, o.admin.Principal, in); err != nil {
		i.t.Fatal(err)
	}
}

// recordTricks are records near a shop that is verified.
var recordTricks = []trick{
	{"a person with the name of the shop", func(i *impersonation) warranty.Reference {
		return i.record(i.person(i.halden.Name, true), "").ReferenceNumber
	}},
	{"a person who gave it away", func(i *impersonation) warranty.Reference {
		made := i.record(i.eve, "")
		i.issue(made.ID, i.eve, i.kim)
		return made.ReferenceNumber
	}},
	{"another organization with the same name", func(i *impersonation) warranty.Reference { return i.issuedBy(i.issuer("Bob")) }},
	{"a member of the shop for themselves", func(i *impersonation) warranty.Reference {
		return i.record(i.halden.admin, "").ReferenceNumber
	}},
	{"what the shop recorded for itself", func(i *impersonation) warranty.Reference {
		return i.halden.sells(warranty.CreateWarranty{}).ReferenceNumber
	}},
	{"what the shop recorded for itself and gave away", func(i *impersonation) warranty.Reference {
		made := i.halden.sells(warranty.CreateWarranty{})
		i.transfer(made.ID, i.halden.acting, i.eve)
		return made.ReferenceNumber
	}},
	{"a slip of the shop that was cancelled", func(i *impersonation) warranty.Reference {
		made := i.halden.sells(warranty.CreateWarranty{})
		i.halden.prints(made.ID)
		in := warranty.CancelHandover{ID: warranty.WarrantyKey{ID: made.ID}}
		if _, err := i.Service.CancelHandover(ctx, i.halden.acting.Principal, in); err != nil {
			i.t.Fatal(err)
		}
		return made.ReferenceNumber
	}},
	{"the shop as the supplier, brand and seller", func(i *impersonation) warranty.Reference {
		made, err := i.Service.CreateWarranty(ctx, i.eve.Principal, warranty.CreateWarranty{
			ProductName: "Pan by Halden, halden.example", StartDate: date("2020-01-01"), EndDate: date("2099-12-31"),
			Brand: "Halden", Supplier: "Halden, halden.example", SellerName: "Halden",
		})
		if err != nil {
			i.t.Fatal(err)
		}
		return made.ReferenceNumber
	}},
	{"the shop named as the seller", func(i *impersonation) warranty.Reference {
		return i.record(i.eve, i.haldenEmail).ReferenceNumber
	}},
	{"the shop declined", func(i *impersonation) warranty.Reference {
		made := i.record(i.eve, i.haldenEmail)
		if _, err := i.decide(i.halden.acting, made.ID, warranty.Decline, false); err != nil {
			i.t.Fatal(err)
		}
		return made.ReferenceNumber
	}},
	{"the shop left", func(i *impersonation) warranty.Reference {
		made := i.confirmed()
		in := warranty.LeaveWarranty{ID: warranty.WarrantyKey{ID: made.ID}}
		if _, err := i.Service.LeaveWarranty(ctx, i.halden.acting.Principal, in); err != nil {
			i.t.Fatal(err)
		}
		return made.ReferenceNumber
	}},
	{"the shop as its seller without its confirmation", func(i *impersonation) warranty.Reference {
		made := i.confirmed()
		i.execute(`UPDATE warranties SET seller_id = NULL WHERE id = $1`, i.key(made.ID))
		return made.ReferenceNumber
	}},
	{"a seller without a domain confirmed", func(i *impersonation) warranty.Reference {
		made := i.record(i.eve, i.fakesEmail)
		i.confirm(i.fake.acting, made.ID)
		return made.ReferenceNumber
	}},
	{"a person confirmed", func(i *impersonation) warranty.Reference {
		made := i.record(i.eve, i.kim.User.Email)
		i.confirm(i.kim, made.ID)
		return made.ReferenceNumber
	}},
	{"the shop confirmed, then it was extended", func(i *impersonation) warranty.Reference {
		end := date("2099-12-30")
		return i.changes(i.eve, i.confirmed(), warranty.UpdateWarranty{EndDate: &end})
	}},
	{"the shop confirmed, then it began earlier", func(i *impersonation) warranty.Reference {
		start := date("2019-12-31")
		return i.changes(i.eve, i.confirmed(), warranty.UpdateWarranty{StartDate: &start})
	}},
	{"the shop confirmed another product", func(i *impersonation) warranty.Reference {
		return i.changes(i.eve, i.confirmed(), warranty.UpdateWarranty{ProductName: warranty.Optional("A car")})
	}},
	{"the shop confirmed another brand", func(i *impersonation) warranty.Reference {
		return i.changes(i.eve, i.confirmed(), warranty.UpdateWarranty{Brand: warranty.Optional("Apple")})
	}},
	{"the shop confirmed another model", func(i *impersonation) warranty.Reference {
		return i.changes(i.eve, i.confirmed(), warranty.UpdateWarranty{Model: warranty.Optional("X1")})
	}},
	{"the shop confirmed another GTIN", func(i *impersonation) warranty.Reference {
		return i.changes(i.eve, i.confirmed(), warranty.UpdateWarranty{GTIN: warranty.Optional("4006381333931")})
	}},
	{"the shop confirmed another supplier", func(i *impersonation) warranty.Reference {
		return i.changes(i.eve, i.confirmed(), warranty.UpdateWarranty{Supplier: warranty.Optional("Halden")})
	}},
	{"the shop voided what it had confirmed, and the owner reinstated it", func(i *impersonation) warranty.Reference {
		made, void, active := i.confirmed(), warranty.Void, warranty.Active
		i.changes(i.halden.acting, made, warranty.UpdateWarranty{Status: &void})
		return i.changes(i.eve, made, warranty.UpdateWarranty{Status: &active})
	}},
}

// endTricks end the shop's verification.
var endTricks = []trick{
	{"the shop is disabled", func(i *impersonation) warranty.Reference {
		reference := i.issuedBy(i.halden)
		i.execute(`UPDATE users SET disabled_at = 1 WHERE id = $1`, i.key(i.halden.ID))
		return reference
	}},
	{"the seller is disabled", func(i *impersonation) warranty.Reference {
		made := i.confirmed()
		i.execute(`UPDATE users SET disabled_at = 1 WHERE id = $1`, i.key(i.halden.ID))
		return made.ReferenceNumber
	}},
	{"the seller is deleted", func(i *impersonation) warranty.Reference {
		reference := i.confirmed().ReferenceNumber
		in := warranty.DeleteOrganization{ID: i.halden.ID}
		if _, err := i.Service.DeleteOrganization(ctx, i.halden.admin.Principal, in); err != nil {
			i.t.Fatal(err)
		}
		return reference
	}},
	{"the domain is lost", func(i *impersonation) warranty.Reference {
		reference := i.issuedBy(i.halden)
		i.zone.SetTexts("_warranty.halden.example.")
		for range 5 {
			i.clock.Set(i.clock.Now().Add(24 * time.Hour))
			if err := i.Service.CheckDomains(ctx); err != nil {
				i.t.Fatal(err)
			}
		}
		return reference
	}},
	{"the seller's domain is lost", func(i *impersonation) warranty.Reference {
		made := i.confirmed()
		i.zone.SetTexts("_warranty.halden.example.", "another text")
		for range 5 {
			i.clock.Set(i.clock.Now().Add(24 * time.Hour))
			if err := i.Service.CheckDomains(ctx); err != nil {
				i.t.Fatal(err)
			}
		}
		return made.ReferenceNumber
	}},
}
