package service_test

import (
	"encoding/base64"
	"errors"
	"strings"
	"testing"

	"warranty.example/svc/internal/mail"
	"warranty.example/svc/internal/servertest"
	"warranty.example/svc/warranty"
)

// tokenOfMail returns the token of the address that an email unsubscribes with.
func tokenOfMail(t *testing.T, m mail.Message) string {
	t.Helper()
	token, found := strings.CutPrefix(m.Unsubscribe, servertest.PublicURL+"/unsubscribe/")
	if !found || strings.Count(m.Text, m.Unsubscribe) != 1 {
		t.Fatalf("the email to %s has no address to unsubscribe, or not in its text: %q\n%s", m.To, m.Unsubscribe, m.Text)
	}
	return token
}

// TestUnsubscribe turns off each kind of email with the token of one, and on again. Only the recipient of the
// email and only its kind are affected. Codes and notices about the account cannot be turned off.
func TestUnsubscribe(t *testing.T) {
	eachStoppedInTurn(t, func(t *testing.T, w *world, clock *stoppedClock) {
		clock.SetTo(t, "2026-03-01T12:00:00Z")
		owner, seller := w.Verified("Olga"), w.Verified("Sami")
		record := w.Warranty(owner.Session, fields{"start_date": "2020-01-01", "end_date": day(clock.Now(), 5), "seller_email": seller.Email})
		w.Confirm(seller, record.ID)
		o := w.mailbox()
		w.Claim(owner.Session, record.ID)
		w.Must(201, made("POST", "/api/integration-tokens", owner.Session, fields{"name": "till", "scopes": []string{"claims:read"}, "expires_at": clock.Now().AddDate(0, 0, 5)}))
		w.Must(202, made("POST", "/api/auth/password-reset", "", fields{"email": owner.Email}))
		if err := w.Service.Remind(ctx); err != nil {
			t.Fatal(err)
		}
		w.deliver()
		tokens := map[string]string{}
		for _, m := range o.sent {
			switch {
			case strings.Contains(m.Subject, "warranty ends"):
				tokens["warranty_end"] = tokenOfMail(t, m)
			case strings.Contains(m.Subject, "New claim"):
				tokens["claims"] = tokenOfMail(t, m)
			case strings.Contains(m.Subject, "expires"):
				tokens["token_expiry"] = tokenOfMail(t, m)
			default:
				if m.Unsubscribe != "" || strings.Contains(m.Text, "/unsubscribe/") {
					t.Errorf("the email %q can be turned off", m.Subject)
				}
			}
		}
		choices := func(p servertest.Person) string {
			var a struct{ Mails map[string]bool }
			w.Must(200, made("GET", "/api/account", p.Session, nil)).Into(t, &a)
			off := ""
			for _, kind := range []string{"warranty_end", "claims", "token_expiry"} {
				if !a.Mails[kind] {
					off += kind
				}
			}
			return off
		}
		anyone := warranty.Principal{}
		for kind, token := range tokens {
			who, other := owner, seller
			if kind == "claims" {
				who, other = seller, owner
			}
			if s, err := w.Service.Subscription(ctx, anyone, token); err != nil || !s.Wanted || s.Kind.String() != kind {
				t.Fatalf("%s: %+v, %v", kind, s, err)
			}
			equal(t, "after looking", choices(who), "")
			for range 2 {
				if s, err := w.Service.Subscribe(ctx, anyone, token, false); err != nil || s.Wanted {
					t.Fatalf("%s: %+v, %v", kind, s, err)
				}
				equal(t, "off for the recipient", choices(who), kind)
				equal(t, "off for others", choices(other), "")
			}
			if s, err := w.Service.Subscribe(ctx, anyone, token, true); err != nil || !s.Wanted {
				t.Fatalf("%s: %+v, %v", kind, s, err)
			}
			equal(t, "on again", choices(who), "")
		}
		equal(t, "kinds", len(tokens), 3)

		// Every changed byte is refused, and so is the token of one person with the name or kind of another.
		raw, err := base64.RawURLEncoding.DecodeString(tokens["warranty_end"])
		if err != nil {
			t.Fatal(err)
		}
		others, _ := base64.RawURLEncoding.DecodeString(tokens["claims"])
		forged := [][]byte{nil, raw[:len(raw)-1], append(raw[:len(raw):len(raw)], 0), append(append([]byte{}, raw[:33]...), others[33:]...),
			append(append([]byte{}, others[:33]...), raw[33:]...)}
		for i := range raw {
			changed := append([]byte{}, raw...)
			changed[i] ^= 1
			forged = append(forged, changed)
		}
		for _, b := range forged {
			for _, token := range []string{base64.RawURLEncoding.EncodeToString(b), base64.URLEncoding.EncodeToString(b) + "="} {
				if _, err := w.Service.Subscribe(ctx, anyone, token, false); !errors.Is(err, warranty.ErrNotFound) {
					t.Errorf("a forged token: %v", err)
				}
			}
		}
		equal(t, "after forged tokens", choices(owner)+choices(seller), "")

		// It survives the end of all sessions, and ends with the key.
		w.execute(`DELETE FROM sessions`)
		if _, err := w.Service.Subscribe(ctx, anyone, tokens["warranty_end"], false); err != nil {
			t.Error(err)
		}
		equal(t, "reminders of the owner", w.number(`SELECT mail_choices FROM users WHERE email = '`+owner.Email+`'`), int64(6))
	}, busy)
}

// TestUnsubscribeMembers: a member turns off the emails of one organization, and the contact address its own. A
// token works only while the address is the recipient's.
func TestUnsubscribeMembers(t *testing.T) {
	eachInTurn(t, func(t *testing.T, w *world) {
		ann := w.person("Ann", true)
		o := w.shop(ann)
		box := &outbox{}
		w.Service.Mail = box
		today := warranty.DateOf(w.Clock.Now())
		remind := func() (list []mail.Message) {
			t.Helper()
			in := pan
			in.StartDate, in.EndDate = today-10, today+5
			if _, err := w.Service.CreateWarranty(ctx, w.acting(ann, o), in); err != nil {
				t.Fatal(err)
			}
			w.execute(`DELETE FROM mails`)
			w.execute(`DELETE FROM milestones`)
			if err := errors.Join(w.Service.Remind(ctx), w.Service.SendAllMail(ctx)); err != nil {
				t.Fatal(err)
			}
			list, box.sent = box.sent, nil
			return list
		}
		sent := remind()
		equal(t, "emails", len(sent), 1)
		token := tokenOfMail(t, sent[0])
		s, err := w.Service.Subscribe(ctx, warranty.Principal{}, token, false)
		if err != nil || s.Account == "" {
			t.Fatalf("%+v, %v", s, err)
		}
		equal(t, "emails after", len(remind()), 0)
		equal(t, "the person's own", w.number(`SELECT mail_choices FROM users WHERE email = '`+ann.User.Email+`'`), int64(7))

		// Now the contact address gets them.
		const contact = "service@shop.example"
		w.execute(`INSERT INTO addresses (email, account_id, id, verified_at) SELECT '` + contact + `', id, id, 1 FROM organizations`)
		w.execute(`UPDATE organizations SET contact_email = '` + contact + `'`)
		sent = remind()
		if len(sent) != 1 || sent[0].To != contact {
			t.Fatalf("emails: %+v", sent)
		}
		atContact := tokenOfMail(t, sent[0])
		if _, err := w.Service.Subscribe(ctx, warranty.Principal{}, atContact, false); err != nil {
			t.Fatal(err)
		}
		equal(t, "emails to the contact", len(remind()), 0)
		w.execute(`UPDATE addresses SET email = 'new@shop.example' WHERE email = '` + contact + `'`)
		w.execute(`UPDATE organizations SET contact_email = 'new@shop.example'`)
		if _, err := w.Service.Subscribe(ctx, warranty.Principal{}, atContact, true); !errors.Is(err, warranty.ErrNotFound) {
			t.Errorf("the token of a former contact address: %v", err)
		}
		w.execute(`DELETE FROM members`)
		if _, err := w.Service.Subscribe(ctx, warranty.Principal{}, token, true); !errors.Is(err, warranty.ErrNotFound) {
			t.Errorf("the token of a former member: %v", err)
		}
	}, busy)
}
