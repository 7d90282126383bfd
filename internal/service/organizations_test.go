package service_test

import (
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"warranty.example/svc/internal/server"
	"warranty.example/svc/internal/servertest"
	"warranty.example/svc/internal/service"
	"warranty.example/svc/internal/store"
	"warranty.example/svc/internal/testenv"
	"warranty.example/svc/warranty"
)

// shop creates an organization of a person.
func (w *world) shop(admin person) warranty.Organization {
	w.T.Helper()
	o, err := w.Service.CreateOrganization(w.T.Context(), admin.Principal, warranty.CreateOrganization{Name: "Halden"})
	if err != nil {
		w.T.Fatal(err)
	}
	return o
}

// join makes a person a member, through an invitation.
func (w *world) join(admin person, o warranty.Organization, who person, role warranty.MemberRole) {
	w.T.Helper()
	in := warranty.CreateInvitation{ID: o.ID, Email: who.User.Email, Role: role}
	if _, err := w.Service.CreateInvitation(w.T.Context(), admin.Principal, in); err != nil {
		w.T.Fatal(err)
	}
	if _, err := w.accept(who); err != nil {
		w.T.Fatal(err)
	}
}

// accept accepts the latest invitation of a person with the code of the email.
func (w *world) accept(who person) (warranty.Organization, error) {
	w.T.Helper()
	return w.Service.AcceptInvitation(w.T.Context(), who.Principal, warranty.AcceptInvitation{Code: w.mailedCode(who.User.Email)})
}

// mailedCode returns the code of the latest email to an address.
func (w *world) mailedCode(address string) string {
	w.T.Helper()
	codes := w.strings(`SELECT code FROM mails WHERE address = '` + address + `' AND code <> '' ORDER BY id DESC`)
	if len(codes) == 0 {
		w.T.Fatalf("no code was emailed to %s", address)
	}
	fields := strings.Fields(codes[0])
	return fields[len(fields)-1] // the link, if there are six digits, too
}

// mailedDigits returns the six digits of the latest email to an address.
func (w *world) mailedDigits(address string) string {
	w.T.Helper()
	codes := w.strings(`SELECT code FROM mails WHERE address = '` + address + `' AND code <> '' ORDER BY id DESC`)
	if len(codes) == 0 || len(codes[0]) < warranty.ShortCodeDigits {
		w.T.Fatalf("no digits were emailed to %s", address)
	}
	return codes[0][:warranty.ShortCodeDigits]
}

// acting returns the person acting for an organization.
func (w *world) acting(who person, o warranty.Organization) warranty.Principal {
	w.T.Helper()
	p, err := w.Service.ActFor(w.T.Context(), who.Principal, o.ID)
	if err != nil {
		w.T.Fatal(err)
	}
	return p
}

// TestAdminsRemoveEachOther lets two admins remove, demote or leave at once: one admin remains.
func TestAdminsRemoveEachOther(t *testing.T) {
	test := func(t *testing.T, worlds []*world) {
		w := worlds[0]
		for round := range 20 {
			a, b := w.person("Ann", true), w.person("Bob", true)
			o := w.shop(a)
			w.join(a, o, b, warranty.Admin)
			remove := func(s *service.Service, by, whom person) error {
				if round%3 == 0 {
					in := warranty.UpdateMember{ID: o.ID, UserID: whom.User.ID, Role: warranty.Member}
					_, err := s.UpdateMember(ctx, by.Principal, in)
					return err
				}
				_, err := s.RemoveMember(ctx, by.Principal, warranty.RemoveMember{ID: o.ID, UserID: whom.User.ID})
				return err
			}
			victims := [2]person{b, a}
			if round%2 == 0 { // both leave
				victims = [2]person{a, b}
			}
			var all sync.WaitGroup
			var errs [2]error
			for i, by := range []person{a, b} {
				all.Go(func() { errs[i] = remove(worlds[i%len(worlds)].Service, by, victims[i]) })
			}
			all.Wait()
			n := w.number(`SELECT count(*) FROM members WHERE account_id = $1 AND role = 1`, w.key(o.ID))
			if n != 1 || (errs[0] == nil) == (errs[1] == nil) {
				t.Errorf("round %d: %d admins, %v, %v", round, n, errs[0], errs[1])
			}
			for _, err := range errs {
				switch codeOf(err) {
				case "", warranty.LastAdmin, warranty.AccountNotAllowed, warranty.RoleNotAllowed, warranty.NotFound:
				default:
					t.Errorf("round %d: %v", round, err)
				}
			}
		}
	}
	t.Run("sqlite", func(t *testing.T) { t.Parallel(); test(t, []*world{newWorld(t, servertest.SQLite(t), busy)}) })
	t.Run("postgres", func(t *testing.T) { t.Parallel(); test(t, newReplicas(t, 2)) })
}

// TestRemovalTakesEffectAtOnce removes members many times. The next request on every replica is refused: reads
// and writes by their sessions, and by the tokens that they made.
func TestRemovalTakesEffectAtOnce(t *testing.T) {
	t.Parallel()
	worlds := newReplicas(t, 3)
	w := worlds[0]
	admin := w.person("Ann", true)
	o := w.shop(admin)
	clerk := w.person("Ivo", true)
	for round := range testenv.Times(40, 200) {
		w.write(func(tx *store.Tx) error {
			return tx.InsertMember(o.ID, clerk.User.ID, warranty.Admin, warranty.MailChoices{}, w.Clock.Now())
		})
		by := w.acting(clerk, o)
		made, err := w.Service.CreateToken(ctx, by, warranty.CreateToken{Name: fmt.Sprint(round), Scopes: []string{"warranties:read"}})
		if err != nil {
			t.Fatal(err)
		}
		for _, each := range worlds {
			if _, err := each.Service.Authenticate(ctx, made.Secret, true); err != nil {
				t.Fatal(err)
			}
		}
		remover := worlds[round%3]
		_, err = remover.Service.RemoveMember(ctx, admin.Principal, warranty.RemoveMember{ID: o.ID, UserID: clerk.User.ID})
		if err != nil {
			t.Fatal(err)
		}
		for i, each := range worlds {
			_, acts := each.Service.ActFor(ctx, clerk.Principal, o.ID)
			_, writes := each.Service.CreateWarranty(ctx, by, pan) // a request that was authenticated before
			_, calls := each.Service.Authenticate(ctx, made.Secret, true)
			if codeOf(acts) != warranty.AccountNotAllowed || codeOf(writes) != warranty.AccountNotAllowed ||
				codeOf(calls) != warranty.TokenRevoked {
				t.Fatalf("round %d, replica %d: %v, %v, %v", round, i, acts, writes, calls)
			}
		}
	}
}

func TestInvitations(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		admin, ivo, other := w.person("Ann", true), w.person("Ivo", true), w.person("Mia", true)
		o := w.shop(admin)
		in := warranty.CreateInvitation{ID: o.ID, Email: ivo.User.Email, Role: warranty.Member}
		if _, err := w.Service.CreateInvitation(ctx, admin.Principal, in); err != nil {
			t.Fatal(err)
		}
		first := w.mailedCode(ivo.User.Email)
		accept := func(who person, code string) error {
			_, err := w.Service.AcceptInvitation(ctx, who.Principal, warranty.AcceptInvitation{Code: code})
			return err
		}
		if err := accept(other, first); codeOf(err) != warranty.RoleNotAllowed {
			t.Errorf("another address: %v", err)
		}
		// A second invitation replaces the first.
		if _, err := w.Service.CreateInvitation(ctx, admin.Principal, in); err != nil {
			t.Fatal(err)
		}
		second := w.mailedCode(ivo.User.Email)
		if err := accept(ivo, first); codeOf(err) != warranty.ValidationFailed {
			t.Errorf("a replaced code: %v", err)
		}
		w.Clock.Advance(warranty.InvitationLifetime)
		admin, ivo = w.session(admin.User, time.Hour), w.session(ivo.User, time.Hour)
		if err := accept(ivo, second); codeOf(err) != warranty.ValidationFailed {
			t.Errorf("an expired code: %v", err)
		}
		if _, err := w.Service.CreateInvitation(ctx, admin.Principal, in); err != nil {
			t.Fatal(err)
		}
		third := w.mailedCode(ivo.User.Email)
		var all sync.WaitGroup
		errs := make([]error, 8)
		for i := range errs {
			all.Go(func() { errs[i] = accept(ivo, third) })
		}
		all.Wait()
		won := 0
		for _, err := range errs {
			if err == nil {
				won++
			} else if codeOf(err) != warranty.ValidationFailed {
				t.Errorf("accepted twice: %v", err)
			}
		}
		if won != 1 {
			t.Errorf("%d of 8 accepted", won)
		}
		if _, err := w.Service.CreateInvitation(ctx, admin.Principal, in); codeOf(err) != warranty.AlreadyExists {
			t.Errorf("inviting a member: %v", err)
		}
	}, busy)
}

func TestOnePersonInFiftyOrganizations(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		ann := w.person("Ann", true)
		for i := range 50 {
			o := w.shop(ann)
			made, err := w.Service.CreateWarranty(ctx, w.acting(ann, o), pan)
			if err != nil {
				t.Fatal(i, err)
			}
			list, err := w.Service.ListWarranties(ctx, w.acting(ann, o), warranty.ListWarranties{})
			if err != nil || list.Pagination.Total != 1 || list.Data[0].ID != made.ID {
				t.Errorf("organization %d has %d records: %v", i, list.Pagination.Total, err)
			}
		}
		accounts, err := w.Service.Accounts(ctx, ann.Principal)
		if err != nil || len(accounts) != 51 || accounts[0].ID != ann.User.ID {
			t.Errorf("%d accounts: %v", len(accounts), err)
		}
		if list, err := w.Service.ListWarranties(ctx, ann.Principal, warranty.ListWarranties{}); err != nil ||
			list.Pagination.Total != 0 {
			t.Errorf("the own account has %d records: %v", list.Pagination.Total, err)
		}
	}, busy, func(s *server.Server) { s.Service.OrganizationLimit = 50 })
}

// TestAnAddressBelongsToOneAccount: two organizations and a new person want the same address at once.
func TestAnAddressBelongsToOneAccount(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		for round := range 5 {
			address := fmt.Sprintf("info%d@halden.example", round)
			var codes [2]string
			var admins [2]person
			var shops [2]warranty.Organization
			for i := range codes {
				admins[i] = w.person("Ann", true)
				shops[i] = w.shop(admins[i])
				if _, err := w.Service.AddAddress(ctx, admins[i].Principal, warranty.AddAddress{ID: shops[i].ID, Email: address}); err != nil {
					t.Fatal(err)
				}
				codes[i] = w.mailedCode(address)
			}
			var all sync.WaitGroup
			var errs [3]error
			for i := range codes {
				all.Go(func() {
					_, errs[i] = w.Service.VerifyAddress(ctx, admins[i].Principal, warranty.VerifyAddress{Code: codes[i]})
				})
			}
			all.Go(func() {
				_, errs[2] = w.Service.AddUser(ctx, warranty.Register{Name: "New", Email: address, Password: servertest.Password})
			})
			all.Wait()
			won := 0
			for _, err := range errs {
				if err == nil {
					won++
				} else if codeOf(err) != warranty.AlreadyExists {
					t.Errorf("round %d: %v", round, err)
				}
			}
			if n := w.number(`SELECT count(*) FROM addresses WHERE email = '` + address + `'`); won != 1 || n != 1 {
				t.Errorf("round %d: %d of 3 got the address, which is there %d times: %v", round, won, n, errs)
			}
		}
	}, busy)
}

// TestSellersByAddress: records that name a verified address of an organization are its own as a seller,
// whether they were created before or after.
func TestSellersByAddress(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		ann, kim := w.person("Ann", true), w.person("Kim", true)
		o := w.shop(ann)
		in := pan
		in.SellerEmail = "info@halden.example"
		if _, err := w.Service.CreateWarranty(ctx, kim.Principal, in); err != nil {
			t.Fatal(err)
		}
		if _, err := w.Service.AddAddress(ctx, ann.Principal, warranty.AddAddress{ID: o.ID, Email: in.SellerEmail}); err != nil {
			t.Fatal(err)
		}
		code := w.mailedCode(in.SellerEmail)
		if _, err := w.Service.VerifyAddress(ctx, kim.Principal, warranty.VerifyAddress{Code: code}); codeOf(err) != warranty.ValidationFailed {
			t.Errorf("someone else used the code: %v", err)
		}
		if _, err := w.Service.VerifyAddress(ctx, ann.Principal, warranty.VerifyAddress{Code: code}); err != nil {
			t.Fatal(err)
		}
		if _, err := w.Service.CreateWarranty(ctx, kim.Principal, in); err != nil {
			t.Fatal(err)
		}
		waiting, err := w.Service.ListConfirmations(ctx, w.acting(ann, o), warranty.ListConfirmations{})
		if err != nil || len(waiting.Data) != 2 {
			t.Fatalf("%d records wait, %v", len(waiting.Data), err)
		}
		for _, c := range waiting.Data {
			w.confirm(person{Principal: w.acting(ann, o)}, c.WarrantyID)
		}
		list, err := w.Service.ListWarranties(ctx, w.acting(ann, o), warranty.ListWarranties{})
		if err != nil || list.Pagination.Total != 2 || !list.Data[0].Roles.Has(warranty.Seller) {
			t.Errorf("%d records, %v", list.Pagination.Total, err)
		}
		own, err := w.Service.CreateWarranty(ctx, w.acting(ann, o), in)
		if err != nil || !own.Roles.Has(warranty.Seller) {
			t.Errorf("the shop's own record: %v, %v", own.Roles.Names(), err)
		}
	}, busy)
}

// TestConversion turns a shop's personal account into an organization. Its records, tokens, address and
// history stay, the person goes on with the same session and another address, and other sessions end.
func TestConversion(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		shop, kim := w.person("Halden", true), w.person("Kim", true)
		other := w.session(shop.User, time.Hour)
		record, err := w.Service.CreateWarranty(ctx, shop.Principal, pan)
		if err != nil {
			t.Fatal(err)
		}
		token, err := w.Service.CreateToken(ctx, shop.Principal, warranty.CreateToken{Name: "till", Scopes: []string{"warranties:read", "warranties:write"}})
		if err != nil {
			t.Fatal(err)
		}
		in := warranty.ConvertAccount{OrganizationName: "Halden Electronics", Name: "Nora", Email: shop.User.Email, Password: servertest.Password}
		if _, err := w.Service.ConvertAccount(ctx, shop.Principal, in); codeOf(err) != warranty.ValidationFailed {
			t.Errorf("the same address: %v", err)
		}
		in.Email = "nora@people.example"
		if _, err := w.Service.ConvertAccount(ctx, shop.Principal, in); err != nil {
			t.Fatal(err)
		}
		code := w.mailedCode(in.Email)
		if _, err := w.Service.ConfirmConversion(ctx, kim.Principal, warranty.ConfirmConversion{Code: code}); codeOf(err) != warranty.ValidationFailed {
			t.Errorf("someone else used the code: %v", err)
		}
		o, err := w.Service.ConfirmConversion(ctx, shop.Principal, warranty.ConfirmConversion{Code: code})
		if err != nil || o.ID != shop.User.ID || o.Role != warranty.Admin {
			t.Fatalf("%+v, %v", o, err)
		}
		nora, err := w.Service.Authenticate(ctx, shop.session, false)
		if err != nil || nora.User.Email != in.Email || nora.User.ID == shop.User.ID {
			t.Fatalf("the session is %+v, %v", nora.User, err)
		}
		if _, err := w.Service.Authenticate(ctx, other.session, false); err == nil {
			t.Error("another session still works")
		}
		byToken, err := w.Service.Authenticate(ctx, token.Secret, true)
		if err != nil || byToken.Account.ID != o.ID || byToken.User.ID != nora.User.ID || byToken.Account.Name != o.Name {
			t.Errorf("the token acts for %+v, %v", byToken.Account, err)
		}
		if _, err := w.Service.CreateWarranty(ctx, byToken, pan); err != nil {
			t.Error(err)
		}
		acting, err := w.Service.ActFor(ctx, nora, o.ID)
		if err != nil {
			t.Fatal(err)
		}
		if got, err := w.Service.GetWarranty(ctx, acting, warranty.GetWarranty{ID: warranty.WarrantyKey{ID: record.ID}}); err != nil || got.ID != record.ID {
			t.Errorf("the record: %v", err)
		}
		seller := pan
		seller.SellerEmail = shop.User.Email
		linked, err := w.Service.CreateWarranty(ctx, kim.Principal, seller)
		if err != nil {
			t.Fatal(err)
		}
		w.confirm(person{Principal: acting}, linked.ID)
		if _, err := w.Service.GetWarranty(ctx, acting, warranty.GetWarranty{ID: warranty.WarrantyKey{ID: linked.ID}}); err != nil {
			t.Errorf("a record that names the shop's address: %v", err)
		}
		signIn := warranty.SignIn{Email: shop.User.Email, Password: servertest.Password}
		if _, err := w.Service.SignIn(ctx, warranty.Principal{}, signIn); codeOf(err) != warranty.InvalidCredential {
			t.Errorf("signing in with the shop's address: %v", err)
		}
		if _, err := w.Service.ConfirmConversion(ctx, nora, warranty.ConfirmConversion{Code: code}); codeOf(err) != warranty.ValidationFailed {
			t.Errorf("the code again: %v", err)
		}
		events, err := w.Service.ListHistory(ctx, acting, warranty.ListHistory{ID: warranty.WarrantyKey{ID: record.ID}})
		if err != nil || len(events.Data) != 1 || events.Data[0].Actor != "Halden" || events.Data[0].Account != nil {
			t.Errorf("%+v, %v", events.Data, err)
		}
	}, busy)
}

// TestDeletedOrganizations: refused while it stands behind records of others, reversible for 30 days, and
// the issuer's name stays on its records.
func TestDeletedOrganizations(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		ann, kim := w.person("Ann", true), w.person("Kim", true)
		o := w.shop(ann)
		in := pan
		in.EndDate = date("2099-01-01")
		issued, err := w.Service.CreateWarranty(ctx, w.acting(ann, o), in)
		if err != nil {
			t.Fatal(err)
		}
		token, err := w.Service.CreateToken(ctx, w.acting(ann, o), warranty.CreateToken{Name: "till", Scopes: []string{"warranties:read"}})
		if err != nil {
			t.Fatal(err)
		}
		w.write(func(tx *store.Tx) error { return tx.MoveOwner(issued.ID, o.ID, kim.User.ID) })
		remove := func() error {
			_, err := w.Service.DeleteOrganization(ctx, ann.Principal, warranty.DeleteOrganization{ID: o.ID})
			return err
		}
		if err := remove(); codeOf(err) != warranty.InUse {
			t.Fatalf("it stands behind a record: %v", err)
		}
		cancelled := warranty.Cancelled
		if _, err := w.Service.UpdateWarranty(ctx, w.acting(ann, o), warranty.UpdateWarranty{ID: warranty.WarrantyKey{ID: issued.ID}, Status: &cancelled}); err != nil {
			t.Fatal(err)
		}
		if err := remove(); err != nil {
			t.Fatal(err)
		}
		if _, err := w.Service.ActFor(ctx, ann.Principal, o.ID); codeOf(err) != warranty.AccountNotAllowed {
			t.Errorf("acting for a deleted organization: %v", err)
		}
		if _, err := w.Service.Authenticate(ctx, token.Secret, true); err == nil {
			t.Error("its token works")
		}
		seen, err := w.Service.GetOrganization(ctx, ann.Principal, warranty.GetOrganization{ID: o.ID})
		if err != nil || seen.DeletedAt == nil || seen.ErasedAt == nil {
			t.Fatalf("%+v, %v", seen, err)
		}
		back, err := w.Service.RestoreOrganization(ctx, ann.Principal, warranty.RestoreOrganization{ID: o.ID})
		if err != nil || back.DeletedAt != nil {
			t.Fatalf("%+v, %v", back, err)
		}
		if _, err := w.Service.CreateWarranty(ctx, w.acting(ann, o), pan); err != nil {
			t.Error(err)
		}
		if err := remove(); err != nil {
			t.Fatal(err)
		}
		w.Clock.Advance(31 * 24 * time.Hour)
		if err := w.Service.EraseUsers(ctx); err != nil {
			t.Fatal(err)
		}
		ann = w.session(ann.User, time.Hour)
		if _, err := w.Service.RestoreOrganization(ctx, ann.Principal, warranty.RestoreOrganization{ID: o.ID}); !errors.Is(err, warranty.ErrNotFound) {
			t.Errorf("restoring after the erasure: %v", err)
		}
		shown, err := w.Service.VerifyPublicly(ctx, warranty.Principal{}, warranty.VerifyWarranty{Reference: string(issued.ReferenceNumber)})
		if err != nil || shown.Issuer == nil || shown.Issuer.Name != "Halden" {
			t.Errorf("the issuer's name: %+v, %v", shown, err)
		}
	}, busy)
}

// TestOrganizationMails: claims of customers reach the members who chose them, and otherwise the contact
// address if it is verified.
func TestOrganizationMails(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		w.Service.Silent = false
		ann, ivo, kim := w.person("Ann", true), w.person("Ivo", true), w.person("Kim", true)
		o := w.shop(ann)
		w.join(ann, o, ivo, warranty.Viewer)
		const contact = "service@halden.example"
		address := contact
		if _, err := w.Service.UpdateOrganization(ctx, ann.Principal, warranty.UpdateOrganization{ID: o.ID, ContactEmail: &address}); err != nil {
			t.Fatal(err)
		}
		in := pan
		in.EndDate = date("2099-01-01")
		issued, err := w.Service.CreateWarranty(ctx, w.acting(ann, o), in)
		if err != nil {
			t.Fatal(err)
		}
		w.write(func(tx *store.Tx) error { return tx.MoveOwner(issued.ID, o.ID, kim.User.ID) })
		chooses := func(who person, wants bool) {
			t.Helper()
			if _, err := w.Service.UpdateOrganization(ctx, who.Principal, warranty.UpdateOrganization{ID: o.ID, MailClaims: &wants}); err != nil {
				t.Fatal(err)
			}
		}
		to := func() string {
			t.Helper()
			w.execute(`DELETE FROM mails`)
			w.execute(`DELETE FROM mail_log`)
			w.claim(kim, issued.ID)
			return strings.Join(w.strings(`SELECT address FROM mails ORDER BY address`), " ")
		}
		if got := to(); got != ann.User.Email {
			t.Errorf("at first, emails go to %s", got)
		}
		chooses(ivo, true)
		if got := to(); got != ann.User.Email+" "+ivo.User.Email {
			t.Errorf("with two members, emails go to %s", got)
		}
		chooses(ann, false)
		chooses(ivo, false)
		if got := to(); got != "" {
			t.Errorf("an address that is not verified gets an email: %s", got)
		}
		if _, err := w.Service.AddAddress(ctx, ann.Principal, warranty.AddAddress{ID: o.ID, Email: contact}); err != nil {
			t.Fatal(err)
		}
		if _, err := w.Service.VerifyAddress(ctx, ann.Principal, warranty.VerifyAddress{Code: w.mailedCode(contact)}); err != nil {
			t.Fatal(err)
		}
		if got := to(); got != contact {
			t.Errorf("with nobody who chose them, emails go to %s", got)
		}
	}, busy)
}
