package service_test

import (
	"strings"
	"testing"

	"warranty.example/svc/internal/server"
	"warranty.example/svc/internal/servertest"
	"warranty.example/svc/internal/store"
	"warranty.example/svc/warranty"
)

// TestAStolenSessionCannotConvertTheAccount: a session alone, also with a wrong password or another person's code, does
// not start to turn an account into an organization, and guessing the password is throttled. The holder of the account
// gets an email with a code that stops it, without a session; a reset and a change of the password stop it, too.
func TestAStolenSessionCannotConvertTheAccount(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		const thief = "thief@people.example"
		ask := func(session string, extra fields) servertest.Answer {
			body := fields{"organization_name": "Shop", "name": "Thief", "email": thief}
			for name, value := range extra {
				body[name] = value
			}
			return w.Send("POST", "/api/account/organization", session, body)
		}
		confirm := func(session, code string) servertest.Answer {
			return w.Send("POST", "/api/account/organization/confirm", session, fields{"code": code})
		}
		olga, zoe := w.Verified("Olga"), w.Verified("Zoe")
		w.Must(202, made("POST", "/api/auth/codes", "", fields{"email": olga.Email}))
		code := w.MailedCode(olga.Email)
		w.Unchanged(t, "a session", func() {
			refused(t, "a session", ask(olga.Session, nil), warranty.ValidationFailed)
			refused(t, "a wrong password", ask(olga.Session, fields{"password": passwordCanary}), warranty.InvalidCredential)
			refused(t, "a code instead of the password", ask(olga.Session, fields{"code": code}), warranty.ValidationFailed)
		})

		// The email to the present address stops it.
		want(t, "the password", ask(olga.Session, fields{"password": olga.Password}), 202, "")
		stop, conversion := w.MailedCode(olga.Email), w.MailedCode(thief)
		if body := w.strings(`SELECT body FROM mails WHERE address = '` + olga.Email + `'`); len(body) > 0 && !strings.Contains(body[0], thief) {
			t.Errorf("the email does not name the new address: %s", body)
		}
		refused(t, "another code", w.Send("POST", "/api/account/organization/cancel", "", fields{"code": conversion}), warranty.ValidationFailed)
		want(t, "stopping", w.Send("POST", "/api/account/organization/cancel", "", fields{"code": stop}), 204, "")
		refused(t, "stopping again", w.Send("POST", "/api/account/organization/cancel", "", fields{"code": stop}), warranty.ValidationFailed)
		w.Unchanged(t, "a stopped conversion", func() {
			refused(t, "a stopped conversion", confirm(olga.Session, conversion), warranty.ValidationFailed)
		})

		// So do a change and a reset of the password.
		want(t, "again", ask(olga.Session, fields{"password": olga.Password}), 202, "")
		conversion = w.MailedCode(thief)
		var changed warranty.Session
		w.Must(200, made("POST", "/api/auth/password", olga.Session, fields{"current_password": olga.Password, "new_password": passwordCanary})).Into(t, &changed)
		refused(t, "after a change of the password", confirm(changed.AccessToken, conversion), warranty.ValidationFailed)
		want(t, "again", ask(changed.AccessToken, fields{"password": passwordCanary}), 202, "")
		conversion = w.MailedCode(thief)
		session := w.ResetPassword(t, olga.Email, passwordCanary+" 2")
		refused(t, "after a reset", confirm(session, conversion), warranty.ValidationFailed)

		// Without a password, a code that was emailed to the present address takes its place.
		w.execute(`UPDATE users SET password_hash = '' WHERE email = '` + zoe.Email + `'`)
		kim := w.Verified("Kim")
		w.Must(202, made("POST", "/api/auth/codes", "", fields{"email": kim.Email}))
		others := w.MailedCode(kim.Email)
		w.Unchanged(t, "no password", func() {
			refused(t, "a session", ask(zoe.Session, nil), warranty.ValidationFailed)
			refused(t, "an empty password", ask(zoe.Session, fields{"password": ""}), warranty.ValidationFailed)
			refused(t, "any password", ask(zoe.Session, fields{"password": zoe.Password}), warranty.ValidationFailed)
			refused(t, "another person's code", ask(zoe.Session, fields{"code": others}), warranty.ValidationFailed)
			refused(t, "adding a password", w.Send("POST", "/api/auth/password", zoe.Session,
				fields{"current_password": zoe.Password, "new_password": passwordCanary}), warranty.InvalidCredential)
		})
		w.Must(202, made("POST", "/api/auth/codes", "", fields{"email": zoe.Email}))
		code = w.MailedCode(zoe.Email)
		want(t, "the code", ask(zoe.Session, fields{"code": code}), 202, "")
		want(t, "the code from the other address", confirm(zoe.Session, w.MailedCode(thief)), 200, "")
	})
}

// TestGuessesInASessionAreThrottled: the password that a conversion asks for can be tried as often as a sign-in, and not
// more often by changing the password in between.
func TestGuessesInASessionAreThrottled(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		olga := w.Verified("Olga")
		for i := range 3 {
			r := made("POST", "/api/account/organization", olga.Session,
				fields{"organization_name": "Shop", "name": "Thief", "email": "thief@people.example", "password": passwordCanary})
			if i == 1 {
				r = made("POST", "/api/auth/password", olga.Session, fields{"current_password": passwordCanary, "new_password": passwordCanary + " 2"})
			}
			refused(t, "a guess", w.Do(r), warranty.InvalidCredential)
		}
		refused(t, "one guess too many", w.Send("POST", "/api/account/organization", olga.Session,
			fields{"organization_name": "Shop", "name": "Thief", "email": "thief@people.example", "password": olga.Password}), warranty.RateLimited)
	}, func(s *server.Server) { s.Service.SignInRate = 3 })
}

// TestPrintedCodesOfRemovedMembersAreListed: a printed code outlives the membership of who made it, because a customer
// has it. As long as it works, the organization lists it with its maker, and an admin can end it, when the member is
// removed or later.
func TestPrintedCodesOfRemovedMembersAreListed(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		ann, ivo, kim := w.person("Ann", true), w.person("Ivo", true), w.person("Kim", true)
		o := w.shop(ann)
		w.join(ann, o, ivo, warranty.Member)
		print := func(by person) string {
			p := w.acting(by, o)
			record := w.record(person{Principal: p}, "")
			offer, err := w.Service.OfferHandover(ctx, p, warranty.OfferHandover{ID: warranty.WarrantyKey{ID: record.ID}})
			if err != nil {
				t.Fatal(err)
			}
			return *offer.Code
		}
		listed := func(by *warranty.ID) (list []string) {
			t.Helper()
			page, err := w.Service.ListPrintedCodes(ctx, ann.Principal,
				warranty.ListPrintedCodes{Paging: warranty.Paging{Page: 1, Limit: 10}, ID: o.ID, MadeBy: by})
			if err != nil || page.Pagination.Total != int64(len(page.Data)) {
				t.Fatal(page.Pagination, err)
			}
			for _, c := range page.Data {
				state := c.MadeBy
				if !c.Member {
					state += ", left"
				}
				list = append(list, state)
			}
			return list
		}
		works := func(what, code string, want bool) {
			t.Helper()
			_, err := w.Service.PreviewHandover(ctx, kim.Principal, warranty.PreviewHandover{Code: code})
			if (err == nil) != want {
				t.Errorf("%s: %v", what, err)
			}
		}
		hers, his, more := print(ann), print(ivo), print(ivo)
		equal(t, "all", len(listed(nil)), 3)
		equal(t, "his", listed(&ivo.User.ID), []string{"Ivo", "Ivo"})
		w.remove(ann, o, ivo, false)
		works("his code after his removal", his, true)
		equal(t, "his after his removal", listed(&ivo.User.ID), []string{"Ivo, left", "Ivo, left"})
		if _, err := w.Service.Take(ctx, kim.Principal, warranty.TakeHandover{Code: more}); err != nil {
			t.Fatal(err)
		}
		equal(t, "his after a customer took one", listed(&ivo.User.ID), []string{"Ivo, left"})
		end := warranty.EndPrintedCodes{ID: o.ID, MadeBy: ivo.User.ID}
		if _, err := w.Service.EndPrintedCodes(ctx, kim.Principal, end); codeOf(err) != warranty.NotFound {
			t.Errorf("a stranger ends them: %v", err)
		}
		if _, err := w.Service.EndPrintedCodes(ctx, ann.Principal, end); err != nil {
			t.Fatal(err)
		}
		works("his code after the end", his, false)
		works("her code", hers, true)
		equal(t, "all after the end", listed(nil), []string{"Ann"})

		w.join(ann, o, ivo, warranty.Member)
		again, yes := print(ivo), true
		in := warranty.RemoveMember{ID: o.ID, UserID: ivo.User.ID, EndPrintedCodes: &yes}
		if _, err := w.Service.RemoveMember(ctx, ann.Principal, in); err != nil {
			t.Fatal(err)
		}
		works("a code that ends with the membership", again, false)
		works("her code after that", hers, true)
		equal(t, "all after that", listed(nil), []string{"Ann"})
	}, busy)
}

// TestADemotedAdminKeepsNoToken: tokens that an admin made end when the admin is demoted, unless the other admin keeps
// them; the calendar feed and invitations always do, and transfer offers if a viewer could not make them.
func TestADemotedAdminKeepsNoToken(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		for _, keep := range []bool{false, true} {
			for _, role := range []warranty.MemberRole{warranty.Member, warranty.Viewer} {
				ann, ivo, eve := w.person("Ann", true), w.person("Ivo", true), w.person("Eve", true)
				o := w.shop(ann)
				w.join(ann, o, ivo, warranty.Admin)
				by := w.acting(ivo, o)
				token, err := w.Service.CreateToken(ctx, by, warranty.CreateToken{Name: "till", Scopes: []string{"warranties:write"}})
				if err != nil {
					t.Fatal(err)
				}
				feed, err := w.Service.NewCalendar(ctx, by)
				if err != nil {
					t.Fatal(err)
				}
				record := w.record(person{Principal: by}, "")
				offer, err := w.Service.OfferTransfer(ctx, by, warranty.OfferTransfer{ID: warranty.WarrantyKey{ID: record.ID}, Email: eve.User.Email})
				if err != nil {
					t.Fatal(err)
				}
				invite := warranty.CreateInvitation{ID: o.ID, Email: eve.User.Email, Role: warranty.Admin}
				if _, err := w.Service.CreateInvitation(ctx, ivo.Principal, invite); err != nil {
					t.Fatal(err)
				}
				invitation := w.mailedCode(eve.User.Email)
				w.Must(200, made("PUT", "/api/organizations/"+o.ID.String()+"/members/"+ivo.User.ID.String(), ann.session,
					fields{"role": role.String(), "keep_tokens": keep}))
				works := func(what string, want bool, err error) {
					t.Helper()
					if (err == nil) != want {
						t.Errorf("%s, keep %v: %s: %v", role, keep, what, err)
					}
				}
				_, err = w.Service.Authenticate(ctx, token.Secret, true)
				works("the token", keep, err)
				_, err = w.Service.Calendar(ctx, feed)
				works("the feed", false, err)
				_, err = w.Service.AcceptInvitation(ctx, eve.Principal, warranty.AcceptInvitation{Code: invitation})
				works("the invitation", false, err)
				_, err = w.Service.Take(ctx, eve.Principal, warranty.TakeHandover{Code: offer.Code})
				works("the transfer offer", role == warranty.Member, err)
				// A promotion ends nothing.
				w.Must(200, made("PUT", "/api/organizations/"+o.ID.String()+"/members/"+ivo.User.ID.String(), ann.session, fields{"role": "admin"}))
				_, err = w.Service.Authenticate(ctx, token.Secret, true)
				works("the token after a promotion", keep, err)
			}
		}
	}, busy)
}

// TestTransferCodesEndWithTheirAccount: transfer codes of disabled accounts and organizations do not work, also not after
// they are enabled again, nor while only the account is marked as disabled.
func TestTransferCodesEndWithTheirAccount(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		ann, eve := w.person("Ann", true), w.person("Eve", true)
		o := w.shop(ann)
		for _, p := range []warranty.Principal{w.acting(ann, o), ann.Principal} {
			name, who := "an organization", p.Account.ID.String()
			if !p.ActsForOrganization() {
				name, who = "a person", ann.User.Email
			}
			offer := func() string {
				record := w.record(person{Principal: p}, "")
				offer, err := w.Service.OfferTransfer(ctx, p, warranty.OfferTransfer{ID: warranty.WarrantyKey{ID: record.ID}, Email: eve.User.Email})
				if err != nil {
					t.Fatal(err)
				}
				return offer.Code
			}
			accept := func(what, code string) {
				t.Helper()
				if _, err := w.Service.Take(ctx, eve.Principal, warranty.TakeHandover{Code: code}); codeOf(err) != warranty.ValidationFailed {
					t.Errorf("%s: %s: %v", name, what, err)
				}
			}
			code := offer()
			w.write(func(tx *store.Tx) error { return tx.DisableUser(p.Account.ID, w.Clock.Now()) })
			accept("marked as disabled", code)
			w.write(func(tx *store.Tx) error { return tx.EnableUser(p.Account.ID) })
			if err := w.Service.DisableUser(ctx, who); err != nil {
				t.Fatal(err)
			}
			accept("disabled", code)
			if err := w.Service.EnableUser(ctx, who); err != nil {
				t.Fatal(err)
			}
			accept("enabled again", code)
		}
	}, busy)
}
