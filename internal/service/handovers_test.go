package service_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"warranty.example/svc/internal/limit"
	"warranty.example/svc/internal/server"
	"warranty.example/svc/internal/servertest"
	"warranty.example/svc/internal/service"
	"warranty.example/svc/internal/store"
	"warranty.example/svc/warranty"
)

// issuer is an organization with an admin who acts for it.
type issuer struct {
	*world
	admin person
	warranty.Organization
	acting person
}

func (w *world) issuer(name string) issuer {
	w.T.Helper()
	admin := w.person(name, true)
	o := w.shop(admin)
	return issuer{w, admin, o, person{Principal: w.acting(admin, o), session: admin.session}}
}

// sells creates a warranty of the organization.
func (i issuer) sells(in warranty.CreateWarranty) warranty.Warranty {
	i.T.Helper()
	in.ProductName, in.StartDate, in.EndDate = "Pan", date("2020-01-01"), date("2099-12-31")
	made, err := i.Service.CreateWarranty(ctx, i.acting.Principal, in)
	if err != nil {
		i.T.Fatal(err)
	}
	return made
}

// prints returns the code of a slip.
func (i issuer) prints(id warranty.ID) string {
	i.T.Helper()
	offer, err := i.Service.OfferHandover(ctx, i.acting.Principal, warranty.OfferHandover{ID: warranty.WarrantyKey{ID: id}})
	if err != nil {
		i.T.Fatal(err)
	}
	if offer.Code == nil || offer.TakeURL == nil || !strings.HasSuffix(*offer.TakeURL, "/take#"+*offer.Code) || offer.Email != nil {
		i.T.Fatalf("the offer is %+v", offer)
	}
	return *offer.Code
}

func (w *world) take(p person, code string) (warranty.Warranty, error) {
	return w.Service.Take(ctx, p.Principal, warranty.TakeHandover{Code: code})
}

// seen returns a warranty as someone sees it.
func (w *world) seen(p person, id warranty.ID) (warranty.Warranty, error) {
	return w.Service.GetWarranty(ctx, p.Principal, warranty.GetWarranty{ID: warranty.WarrantyKey{ID: id}})
}

func fieldCode(err error) string {
	if refusal := warranty.AsError(err); refusal != nil && len(refusal.Fields) == 1 {
		return refusal.Fields[0].Field + " " + refusal.Fields[0].Code
	}
	return fmt.Sprint(err)
}

// TestAPrintedCode: whoever has the code of a slip takes the warranty once; its issuer keeps the promise and
// the customer everything else.
func TestAPrintedCode(t *testing.T) {
	eachStopped(t, func(t *testing.T, w *world, clock *stoppedClock) {
		shop, kim, eve := w.issuer("Ann"), w.person("Kim", true), w.person("Eve", true)
		made := shop.sells(warranty.CreateWarranty{ExternalID: "order-1", CustomerName: "Kim Larsen", Brand: "Bosch", Price: "12.50", Currency: "eur"})
		if made.Handover == nil || made.Handover.Status != warranty.HandoverNone || *made.Currency != "EUR" {
			t.Fatalf("made %+v", made)
		}
		terms := w.document(shop.acting, made.ID)
		old := shop.prints(made.ID)
		code := shop.prints(made.ID)
		if _, err := w.take(kim, old); fieldCode(err) != "code cancelled" || !strings.Contains(err.Error(), shop.Name) {
			t.Errorf("an older slip: %v", err)
		}
		preview, err := w.Service.PreviewHandover(ctx, warranty.Principal{}, warranty.PreviewHandover{Code: strings.ToLower(code)})
		if err != nil || preview.ReferenceNumber != made.ReferenceNumber || preview.Issuer.Name != shop.Name || preview.Issuer.Domain != nil || preview.Email != nil {
			t.Errorf("the preview is %+v, %v", preview, err)
		}
		seen, err := w.seen(shop.acting, made.ID)
		if err != nil || seen.Handover.Status != warranty.HandoverOffered || seen.Handover.Email != nil ||
			!seen.Handover.ExpiresAt.Equal(seen.Handover.OfferedAt.Add(2*365*24*time.Hour)) {
			t.Errorf("offered: %+v, %v", seen.Handover, err)
		}
		if _, err := w.take(shop.acting, code); codeOf(err) != warranty.RoleNotAllowed {
			t.Errorf("taken by its issuer: %v", err)
		}
		if _, err := w.take(w.person("Una", false), code); codeOf(err) != warranty.EmailNotVerified {
			t.Errorf("taken by who has no verified address: %v", err)
		}
		if _, err := w.take(kim, string(made.ReferenceNumber)); fieldCode(err) != "code invalid_code" {
			t.Errorf("the reference took it: %v", err)
		}
		taken, err := w.take(kim, code)
		if err != nil || taken.Roles != warranty.NewRoles(warranty.Owner) || taken.Handover != nil || taken.CustomerName != nil ||
			taken.ExternalID != nil || taken.Brand == nil || *taken.Price != "12.50" {
			t.Fatalf("taken: %+v, %v", taken, err)
		}
		for _, p := range []person{kim, eve} {
			if _, err := w.take(p, code); fieldCode(err) != "code taken" {
				t.Errorf("taken again: %v", err)
			}
		}
		seen, err = w.seen(shop.acting, made.ID)
		if err != nil || seen.Roles != warranty.NewRoles(warranty.Issuer) || seen.Handover.Status != warranty.HandoverTaken ||
			seen.Handover.TakenAt == nil || *seen.CustomerName != "Kim Larsen" || *seen.ExternalID != "order-1" {
			t.Errorf("the issuer sees %+v, %v", seen, err)
		}
		if _, err := w.Service.GetDocument(ctx, kim.Principal, warranty.GetDocument{ID: terms.ID}); err != nil {
			t.Errorf("the terms: %v", err)
		}
		end := date("2099-12-30")
		in := warranty.UpdateWarranty{ID: warranty.WarrantyKey{ID: made.ID}, EndDate: &end}
		if _, err := w.Service.UpdateWarranty(ctx, kim.Principal, in); codeOf(err) != warranty.RoleNotAllowed {
			t.Errorf("the customer changes the promise: %v", err)
		}
		if _, err := w.Service.UpdateWarranty(ctx, shop.acting.Principal, in); err != nil {
			t.Errorf("the issuer changes its promise: %v", err)
		}
		offer := warranty.OfferHandover{ID: warranty.WarrantyKey{ID: made.ID}}
		if _, err := w.Service.OfferHandover(ctx, shop.acting.Principal, offer); codeOf(err) != warranty.RoleNotAllowed {
			t.Errorf("offered after it was taken: %v", err)
		}
		// A return: back at the shop, it can be sold again.
		w.transfer(made.ID, kim, shop.acting)
		if _, err := w.take(eve, shop.prints(made.ID)); err != nil {
			t.Errorf("sold again: %v", err)
		}
		// An expired slip, one of a void warranty, and a cancelled one.
		second := shop.sells(warranty.CreateWarranty{})
		late := shop.prints(second.ID)
		clock.Set(clock.Now().Add(2 * 365 * 24 * time.Hour))
		if _, err := w.Service.PreviewHandover(ctx, warranty.Principal{}, warranty.PreviewHandover{Code: late}); fieldCode(err) != "code expired" {
			t.Errorf("an expired slip: %v", err)
		}
		checkAccess(t, w)
	}, busy)
}

// TestAMailedOffer: only the address that got the email can take the offer, within 30 days, with or without an
// account.
func TestAMailedOffer(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		shop, eve, kim := w.issuer("Ann"), w.person("Eve", true), w.person("Kim", true)
		made := shop.sells(warranty.CreateWarranty{CustomerEmail: "Newcomer@People.Example", CustomerName: "New Comer"})
		if made.Handover.Status != warranty.HandoverOffered || *made.Handover.Email != "newcomer@people.example" {
			t.Fatalf("%+v", made.Handover)
		}
		code := w.mailedCode("newcomer@people.example")
		if _, err := w.take(eve, code); codeOf(err) != warranty.RoleNotAllowed {
			t.Errorf("taken by another address: %v", err)
		}
		taken, err := w.Service.RegisterHandover(ctx, warranty.Principal{Door: warranty.DoorAPI}, warranty.RegisterHandover{Code: code})
		if err != nil || taken.User.Email != "newcomer@people.example" || !taken.User.EmailVerified || taken.User.Name != "newcomer" ||
			taken.Warranty.ID != made.ID || !taken.Warranty.Roles.Has(warranty.Owner) {
			t.Fatalf("registered %+v, %v", taken, err)
		}
		w.Alive(t, "the new session", taken.AccessToken, true)
		if _, err := w.Service.RegisterHandover(ctx, warranty.Principal{}, warranty.RegisterHandover{Code: code}); fieldCode(err) != "code taken" {
			t.Errorf("registered twice: %v", err)
		}
		// The code also signs in to the account of its address, unless the email is too old.
		shop.sells(warranty.CreateWarranty{CustomerEmail: kim.User.Email})
		code = w.mailedCode(kim.User.Email)
		in, err := w.Service.RegisterHandover(ctx, warranty.Principal{}, warranty.RegisterHandover{Code: code})
		if err != nil || in.User.ID != kim.User.ID || !in.Warranty.Roles.Has(warranty.Owner) {
			t.Errorf("signed in: %+v, %v", in, err)
		}
		w.Alive(t, "the session by an email", in.AccessToken, true)
		shop.sells(warranty.CreateWarranty{CustomerEmail: kim.User.Email})
		code = w.mailedCode(kim.User.Email)
		w.Exec(`UPDATE offer_codes SET signs_in_until = 1 WHERE signs_in_until IS NOT NULL`)
		if _, err := w.Service.RegisterHandover(ctx, warranty.Principal{}, warranty.RegisterHandover{Code: code}); codeOf(err) != warranty.AlreadyExists {
			t.Errorf("registered over an account: %v", err)
		}
		if got, err := w.take(kim, code); err != nil || !got.Roles.Has(warranty.Owner) {
			t.Errorf("%+v, %v", got, err)
		}
		// An account that was never verified is set aside.
		squatter := w.person("Vic", false)
		shop.sells(warranty.CreateWarranty{CustomerEmail: squatter.User.Email})
		if _, err := w.Service.RegisterHandover(ctx, warranty.Principal{}, warranty.RegisterHandover{Code: w.mailedCode(squatter.User.Email)}); err != nil {
			t.Error(err)
		}
		w.Alive(t, "the squatter's session", squatter.session, false)

		// The slip first, then an address.
		slip := shop.prints(shop.sells(warranty.CreateWarranty{}).ID)
		if _, err := w.Service.RegisterHandover(ctx, warranty.Principal{}, warranty.RegisterHandover{Code: slip}); fieldCode(err) != "code address_required" {
			t.Errorf("registered with a slip: %v", err)
		}
		for _, email := range []string{"first@people.example", "second@people.example"} {
			if _, err := w.Service.EmailHandover(ctx, warranty.Principal{}, warranty.EmailHandover{Code: slip, Email: email}); err != nil {
				t.Fatal(err)
			}
		}
		codes := []string{w.mailedCode("first@people.example"), w.mailedCode("second@people.example")}
		if _, err := w.Service.RegisterHandover(ctx, warranty.Principal{}, warranty.RegisterHandover{Code: codes[1], Name: "Second"}); err != nil {
			t.Fatal(err)
		}
		if _, err := w.Service.RegisterHandover(ctx, warranty.Principal{}, warranty.RegisterHandover{Code: codes[0]}); codeOf(err) != warranty.ValidationFailed {
			t.Errorf("the code that came too late: %v", err)
		}
		if _, err := w.take(eve, slip); codeOf(err) != warranty.ValidationFailed {
			t.Errorf("the slip that came too late: %v", err)
		}
		checkAccess(t, w)
	}, busy)
}

// TestHandoverIsForOrganizations: a person gets the advice to create one. Nobody is emailed twice for one
// warranty, and only a limited number of people who never took anything.
func TestHandoverIsForOrganizations(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		olga := w.person("Olga", true)
		in := warranty.CreateWarranty{ProductName: "Pan", StartDate: date("2020-01-01"), EndDate: date("2099-12-31"), CustomerEmail: "kim@people.example"}
		if _, err := w.Service.CreateWarranty(ctx, olga.Principal, in); fieldCode(err) != "customer_email organization_required" {
			t.Errorf("a person offers: %v", err)
		}
		own := w.record(olga, "")
		if _, err := w.Service.OfferHandover(ctx, olga.Principal, warranty.OfferHandover{ID: warranty.WarrantyKey{ID: own.ID}}); codeOf(err) != warranty.RoleNotAllowed {
			t.Errorf("a person prints: %v", err)
		}
		shop := w.issuer("Ann")
		made := shop.sells(warranty.CreateWarranty{CustomerEmail: "one@people.example"})
		again := func(id warranty.ID, email string) error {
			_, err := w.Service.OfferHandover(ctx, shop.acting.Principal, warranty.OfferHandover{ID: warranty.WarrantyKey{ID: id}, CustomerEmail: email})
			return err
		}
		if err := again(made.ID, "one@people.example"); fieldCode(err) != "customer_email already_offered" {
			t.Errorf("offered twice: %v", err)
		}
		if err := again(made.ID, "two@people.example"); err != nil { // a typing error
			t.Error(err)
		}
		third := shop.sells(warranty.CreateWarranty{})
		before := w.snapshot()
		if err := again(third.ID, "three@people.example"); codeOf(err) != warranty.RateLimited {
			t.Errorf("one person too many: %v", err)
		}
		if tables := changed(before, w.snapshot()); tables != nil {
			t.Errorf("a refused offer changed %v", tables)
		}
		if _, err := w.Service.RegisterHandover(ctx, warranty.Principal{}, warranty.RegisterHandover{Code: w.mailedCode("two@people.example")}); err != nil {
			t.Fatal(err)
		}
		if err := again(third.ID, "two@people.example"); err != nil {
			t.Errorf("someone who took one: %v", err)
		}
		if _, err := w.Service.CancelHandover(ctx, shop.acting.Principal, warranty.CancelHandover{ID: warranty.WarrantyKey{ID: third.ID}}); err != nil {
			t.Error(err)
		}
		if seen, err := w.seen(shop.acting, third.ID); err != nil || seen.Handover.Status != warranty.HandoverNone {
			t.Errorf("cancelled: %+v, %v", seen.Handover, err)
		}
		if n := w.number(`SELECT count(*) FROM mails WHERE address LIKE 'three%'`); n != 0 {
			t.Error("a refused offer was mailed")
		}
		void := warranty.Void
		if _, err := w.Service.UpdateWarranty(ctx, shop.acting.Principal, warranty.UpdateWarranty{ID: warranty.WarrantyKey{ID: third.ID}, Status: &void}); err != nil {
			t.Fatal(err)
		}
		if err := again(third.ID, ""); codeOf(err) != warranty.InvalidTransition {
			t.Errorf("a void warranty is offered: %v", err)
		}
	}, busy, func(s *server.Server) { s.Service.MailLimit = 2 })
}

// TestTheCodeIsShownOnce: a repeated request does not repeat the code, and makes no second one.
func TestTheCodeIsShownOnce(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		shop := w.issuer("Ann")
		made := shop.sells(warranty.CreateWarranty{})
		key, _ := w.token(warranty.User{ID: shop.ID}, warranty.AllScopes, time.Hour, false)
		r := request{
			Method: "POST", Path: "/api/v1/warranties/" + made.ID.String() + "/handover", Secret: key,
			Header: map[string]string{"Idempotency-Key": "slip-1"}, Body: fields{},
		}
		var first, second warranty.HandoverOffer
		w.Must(201, r).Into(t, &first)
		again := w.Must(201, r)
		again.Into(t, &second)
		if first.Code == nil || second.Code != nil || second.TakeURL != nil || again.Header.Get("Idempotent-Replayed") != "true" {
			t.Errorf("%+v, then %+v", first, second)
		}
		if first.Note != nil || second.Note == nil || !strings.Contains(*second.Note, "new key") {
			t.Errorf("the response does not say why there is no code: %v, then %v", first.Note, second.Note)
		}
		for _, row := range w.rows("idempotency") {
			if strings.Contains(row, *first.Code) {
				t.Error("the code is stored")
			}
		}
		if _, err := w.take(w.person("Kim", true), *first.Code); err != nil {
			t.Error(err)
		}
	}, busy)
}

// TestOneOfManyTakesIt: of 100 people who use a slip at the same time, on three replicas, one gets the
// warranty.
func TestOneOfManyTakesIt(t *testing.T) {
	const takers = 100
	eachReplicas(t, func(t *testing.T, worlds []*world) {
		w := worlds[0]
		shop := w.issuer("Ann")
		people := make([]person, takers)
		for i := range people {
			people[i] = w.person(fmt.Sprint("P", i), true)
		}
		for range 3 {
			made := shop.sells(warranty.CreateWarranty{})
			code := shop.prints(made.ID)
			var won atomic.Int64
			together(takers, func(i int) {
				r := servertest.NewRequest("POST", "/api/handovers/take", people[i].session, fields{"code": code})
				switch a := worlds[i%len(worlds)].Do(r); {
				case a.Status == 200:
					won.Add(1)
				case a.Status != 422 || !strings.Contains(a.Body, "already registered"):
					t.Errorf("%d %s", a.Status, a.Body)
				}
			})
			if won.Load() != 1 {
				t.Errorf("%d took it", won.Load())
			}
			owners := w.number(`SELECT count(*) FROM access WHERE kind = 1 AND roles = 1 AND item_id = $1`, w.key(made.ID))
			events := w.number(`SELECT count(*) FROM history WHERE thread_id = $1 AND action = `+actionNumber(warranty.HandoverWasTaken), w.key(made.ID))
			if owners != 1 || events != 1 {
				t.Errorf("%d owners and %d events", owners, events)
			}
		}
		if n := w.number(`SELECT count(*) FROM access WHERE roles & 5 = 5`); n != 0 {
			t.Errorf("the shop still owns %d", n)
		}
		checkAccess(t, w)
	}, busy)
}

// TestOneOfManyRegisters is the same for people without an account, who all got a code by email.
func TestOneOfManyRegisters(t *testing.T) {
	const takers = 12
	each(t, func(t *testing.T, w *world) {
		shop := w.issuer("Ann")
		made := shop.sells(warranty.CreateWarranty{})
		codes := make([]string, takers)
		for i := range codes {
			codes[i] = w.newCode()
			email := fmt.Sprintf("taker%d@people.example", i/2) // two codes for each
			w.write(func(tx *store.Tx) error {
				return tx.InsertOfferCode(store.OfferCode{
					Hash: warranty.HashCode(codes[i]), Warranty: made.ID, Giver: shop.acting.Account.ID, By: shop.acting.User.ID,
					Email: &email, Expires: w.Clock.Now().Add(time.Hour),
				})
			})
		}
		var won atomic.Int64
		together(takers, func(i int) {
			_, err := w.Service.RegisterHandover(ctx, warranty.Principal{}, warranty.RegisterHandover{Code: codes[i]})
			switch codeOf(err) {
			case "":
				won.Add(1)
			case warranty.ValidationFailed, warranty.AlreadyExists:
			default:
				t.Error(err)
			}
		})
		people := w.number(`SELECT count(*) FROM users WHERE email LIKE 'taker%'`)
		if won.Load() != 1 || people != 1 {
			t.Errorf("%d registered, %d accounts", won.Load(), people)
		}
	}, busy)
}

// TestAnEmailedCodeEndsWithItsOffer asks for an email while the offer is cancelled or replaced: then the code of the email
// takes nothing.
func TestAnEmailedCodeEndsWithItsOffer(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		shop := w.issuer("Ann")
		for i := range 16 {
			made := shop.sells(warranty.CreateWarranty{})
			slip, email := shop.prints(made.ID), fmt.Sprintf("buyer%d@people.example", i)
			key := warranty.WarrantyKey{ID: made.ID}
			var asked, ended error
			together(2, func(n int) {
				switch {
				case n == 0:
					_, asked = w.Service.EmailHandover(ctx, warranty.Principal{}, warranty.EmailHandover{Code: slip, Email: email})
				case i%2 == 0:
					_, ended = w.Service.CancelHandover(ctx, shop.acting.Principal, warranty.CancelHandover{ID: key})
				default:
					_, ended = w.Service.OfferHandover(ctx, shop.acting.Principal, warranty.OfferHandover{ID: key})
				}
			})
			if ended != nil {
				t.Fatal(ended)
			}
			if asked != nil {
				continue // the offer had ended
			}
			in := warranty.RegisterHandover{Code: w.mailedCode(email)}
			if _, err := w.Service.RegisterHandover(ctx, warranty.Principal{}, in); !slices.Contains([]string{"code invalid_code", "code cancelled"}, fieldCode(err)) {
				t.Errorf("the code of an offer that ended: %v", err)
			}
		}
	}, busy)
}

// counting counts what is counted against a limit.
type counting struct {
	limit.Limiter
	taken map[service.Throttle]int
}

func (c counting) Take(ctx context.Context, key string, most int, period time.Duration) limit.Window {
	what, _, _ := strings.Cut(key, ":")
	c.taken[service.Throttle(what)]++
	return c.Limiter.Take(ctx, key, most, period)
}

// TestWrongCodesDoNotUseUpAnAddress: whoever asks for emails with codes that do not work keeps nobody from getting one.
func TestWrongCodesDoNotUseUpAnAddress(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		shop := w.issuer("Ann")
		slip := shop.prints(shop.sells(warranty.CreateWarranty{}).ID)
		w.Service.SignInRate = 100
		counts := counting{w.Service.Limits, map[service.Throttle]int{}}
		w.Service.Limits = counts
		for _, code := range []string{"wrong", w.newCode(), slip} {
			_, err := w.Service.EmailHandover(ctx, warranty.Principal{}, warranty.EmailHandover{Code: code, Email: "kim@people.example"})
			if (err == nil) != (code == slip) {
				t.Errorf("%s: %v", code, err)
			}
		}
		want := map[service.Throttle]int{service.CodeRequests: 3, service.PrintedCodeMails: 1, service.CodeMails: 1, service.CodeMailsOfDay: 1}
		equal(t, "counted", counts.taken, want)
	})
}
