package service_test

import (
	"strings"
	"testing"

	"warranty.example/svc/internal/mail"
	"warranty.example/svc/internal/store"
	"warranty.example/svc/warranty"
)

// speaks has a person choose a language and a time zone.
func (w *world) speaks(p person, language, zone string) person {
	w.T.Helper()
	if _, err := w.Service.UpdateAccount(ctx, p.Principal, warranty.UpdateAccount{Language: &language, TimeZone: &zone}); err != nil {
		w.T.Fatal(err)
	}
	p.Locale = warranty.Locale{Language: language, Zone: zone}
	return p
}

// TestMailsAreInTheLanguageOfTheReader: an email is in the language that its recipient chose, or else in that of the
// person who caused it. The language is that of the moment when the email was written.
func TestMailsAreInTheLanguageOfTheReader(t *testing.T) {
	eachStoppedInTurn(t, func(t *testing.T, w *world, clock *stoppedClock) {
		clock.SetTo(t, "2026-03-01T12:00:00Z")
		anna := w.speaks(w.person("Anna", true), "de", "Europe/Berlin")
		olga, sami := w.person("Olga", true), w.person("Sami", true)
		o := w.mailbox()
		expect := func(what string, to person, subject string, words ...string) {
			t.Helper()
			w.deliver()
			var found []mail.Message
			for _, m := range o.sent {
				if m.To == to.User.Email {
					found = append(found, m)
				}
			}
			o.take()
			if len(found) != 1 || !strings.Contains(found[0].Subject, subject) {
				t.Fatalf("%s: %+v", what, found)
			}
			for _, word := range words {
				if !strings.Contains(found[0].Text, word) {
					t.Errorf("%s: no %q in\n%s", what, word, found[0].Text)
				}
			}
			w.Exec(`DELETE FROM mail_log`) // as if ten minutes had passed
		}

		// Between people: the recipient's language, then the sender's, and never the sender's zone.
		record := w.record(olga, anna.User.Email)
		w.confirm(anna, record.ID)
		claim := w.claim(olga, record.ID)
		expect("filed by Olga", anna, "Neuer Garantiefall", "Guten Tag Anna,", "\nSolche E-Mails abbestellen:\n")
		move := func(to warranty.ClaimStatus, by person) {
			t.Helper()
			in := warranty.MoveClaim{ID: warranty.ClaimKey{ID: claim.ID}, Status: to}
			if to == warranty.Resolved {
				in.Resolution = warranty.Repaired
			}
			if _, err := w.Service.MoveClaim(ctx, by.Principal, in); err != nil {
				t.Fatal(err)
			}
		}
		move(warranty.UnderReview, anna)
		move(warranty.Approved, anna)
		expect("decided by Anna", olga, "Garantiefall anerkannt", "Guten Tag Olga,", "Solche E-Mails")
		w.speaks(olga, "en", "")
		move(warranty.InProgress, anna)
		move(warranty.Resolved, anna)
		expect("after Olga chose English", olga, "Claim resolved", "Hello Olga,", "Stop emails like this:")

		// An address without an account, and a token of Anna.
		w.Exec(`DELETE FROM mails`)
		newcomer := person{Principal: warranty.Principal{User: warranty.User{Email: "new@people.example"}}}
		if _, err := w.Service.OfferTransfer(ctx, anna.Principal, warranty.OfferTransfer{ID: keyOf(w.record(anna, "").ID), Email: newcomer.User.Email}); err != nil {
			t.Fatal(err)
		}
		expect("offered to an address", newcomer, "Ihnen wurde eine Garantie angeboten")
		shop := w.shop(anna)
		var token struct{ Secret string }
		w.Must(201, request{Method: "POST", Path: "/api/integration-tokens", Secret: anna.session, Header: map[string]string{"X-Account": shop.ID.String()},
			Body: fields{"name": "till", "scopes": []string{"warranties:write"}}}).Into(t, &token)
		expect("a new token", anna, "Neues Integrations-Token", "Wann: 1. März 2026, 13:00 MEZ")
		w.Must(201, made("POST", "/api/v1/warranties", token.Secret, fields{"product_name": "Pan", "start_date": "2020-01-01", "end_date": "2099-12-31", "customer_email": newcomer.User.Email}))
		expect("offered with a token", newcomer, "Ihre Garantie kann registriert werden")
		w.Must(201, made("POST", "/api/v1/warranties", token.Secret, fields{"product_name": "Pan", "start_date": "2020-01-01", "end_date": "2099-12-31", "customer_email": olga.User.Email}))
		expect("offered to Olga", olga, "Your warranty is ready to register")

		// Notices about an account never follow the language of someone who is not signed in to it.
		german := warranty.Principal{Door: warranty.DoorWeb, Locale: warranty.Locale{Language: "de"}}
		code := w.code(sami.User, store.ForReset)
		if _, err := w.Service.ResetPassword(ctx, german, warranty.ResetPassword{Code: code, Password: "a quite long passphrase"}); err != nil {
			t.Fatal(err)
		}
		expect("a reset by someone", sami, "Your password was reset")
		if _, err := w.Service.RequestPasswordReset(ctx, german, warranty.RequestPasswordReset{Email: sami.User.Email}); err != nil {
			t.Fatal(err)
		}
		expect("a code that someone asked for", sami, "Setzen Sie Ihr Passwort zurück")

		// Whoever registers on a German page gets German emails; on an English one, nothing is stored.
		for language, stored := range map[string]string{"de": "de", "en": "", "": ""} {
			in := warranty.Register{Name: "Kim", Email: "kim" + language + "@people.example", Password: "a quite long passphrase"}
			p := warranty.Principal{Door: warranty.DoorWeb, Locale: warranty.Locale{Language: language}}
			session, err := w.Service.Register(ctx, p, in)
			if err != nil {
				t.Fatal(err)
			}
			locale, err := w.Store.LocaleAt(ctx, session.User.Email)
			if err != nil || locale.Language != stored {
				t.Errorf("registered in %q: %+v, %v", language, locale, err)
			}
			subject := map[string]string{"de": "Bestätigen Sie"}[language]
			expect("registered in "+language, person{Principal: warranty.Principal{User: session.User}}, subject)
		}

		// A reminder is written in the language of its day, and stays as it is.
		if _, err := w.Service.CreateWarranty(ctx, anna.Principal, warranty.CreateWarranty{ProductName: "Pan", StartDate: date("2020-01-01"), EndDate: date("2026-03-06")}); err != nil {
			t.Fatal(err)
		}
		if err := w.Service.Remind(ctx); err != nil {
			t.Fatal(err)
		}
		w.speaks(anna, "en", "")
		expect("a reminder", anna, "Pan: Garantie endet am 6. März", "endet am 6. März 2026.", "Solche E-Mails abbestellen:")
	})
}
