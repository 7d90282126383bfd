package service_test

import (
	"fmt"
	"sync/atomic"
	"testing"
	"time"

	"warranty.example/svc/warranty"
)

// digitsScene is a slip and what its page asked for.
type digitsScene struct {
	*world
	shop issuer
	made warranty.Warranty
	slip string
}

func newDigitsScene(w *world) digitsScene {
	w.T.Helper()
	shop := w.issuer("Ann")
	made := shop.sells(warranty.CreateWarranty{})
	return digitsScene{w, shop, made, shop.prints(made.ID)}
}

// asks asks for six digits and returns the flow of the page and the digits of the email.
func (s digitsScene) asks(email string) (flow, digits string) {
	s.T.Helper()
	asked, err := s.Service.EmailHandover(ctx, warranty.Principal{}, warranty.EmailHandover{Code: s.slip, Email: email})
	if err != nil {
		s.T.Fatal(err)
	}
	return asked.Flow, s.mailedDigits(email)
}

func (s digitsScene) enters(flow, digits string) error {
	_, err := s.Service.RegisterHandover(ctx, warranty.Principal{}, warranty.RegisterHandover{Code: digits, Flow: flow})
	return err
}

// differing returns other digits.
func differing(digits string, n int) string { return fmt.Sprintf("%06d", (intOf(digits)+n)%1_000_000) }

func intOf(digits string) (n int) {
	_, _ = fmt.Sscanf(digits, "%d", &n)
	return n
}

// TestSixDigits: they work once, only on the page that asked, for 10 minutes, for five tries, and not after another
// request for the address.
func TestSixDigits(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		s := newDigitsScene(w)
		old, first := s.asks("kim@people.example")
		flow, digits := s.asks("kim@people.example")
		elsewhere, others := s.asks("lia@people.example")
		refused := func(what, flow, digits, want string) {
			t.Helper()
			if err := s.enters(flow, digits); fieldCode(err) != "code "+want {
				t.Errorf("%s: %v", what, err)
			}
		}
		refused("a request before the last one", old, first, "invalid_code")
		refused("the digits of the last one on the page before", old, digits, "invalid_code")
		refused("another page", elsewhere, digits, "invalid_code")
		refused("the digits of another address", flow, others, "invalid_code")
		refused("an unknown page", flow+"0", digits, "invalid_code")
		refused("without the page", "", digits, "invalid_code")
		refused("five digits", flow, digits[1:], "invalid_length")
		if err := s.enters(flow, digits[:3]+"-"+digits[3:]); err != nil {
			t.Fatalf("the right ones: %v", err)
		}
		refused("a second time", flow, digits, "taken")

		s = newDigitsScene(w)
		flow, digits = s.asks("mia@people.example")
		for n := range warranty.ShortCodeTries {
			refused("a guess", flow, differing(digits, n+1), "invalid_code")
		}
		refused("after five guesses", flow, digits, "too_many_tries")
		flow, digits = s.asks("mia@people.example")
		w.Clock.Advance(warranty.ShortCodeLifetime - time.Second)
		if err := s.enters(flow, digits); err != nil {
			t.Errorf("within 10 minutes, with a new code: %v", err)
		}
		s = newDigitsScene(w)
		flow, digits = s.asks("mia@people.example")
		w.Clock.Advance(warranty.ShortCodeLifetime)
		refused("after 10 minutes", flow, digits, "expired")
		link := w.mailedCode("mia@people.example")
		if _, err := w.Service.RegisterHandover(ctx, warranty.Principal{}, warranty.RegisterHandover{Code: link}); fieldCode(err) != "code expired" {
			t.Errorf("the link after 10 minutes: %v", err)
		}
		checkAccess(t, w)
	}, busy)
}

// TestSixDigitsAreTriedFiveTimes: guesses that come together are counted one by one.
func TestSixDigitsAreTriedFiveTimes(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		s := newDigitsScene(w)
		flow, digits := s.asks("kim@people.example")
		var compared, refused atomic.Int64
		together(24, func(n int) {
			switch err := s.enters(flow, differing(digits, n+1)); fieldCode(err) {
			case "code invalid_code":
				compared.Add(1)
			case "code too_many_tries":
				refused.Add(1)
			default:
				t.Error(err)
			}
		})
		if compared.Load() != warranty.ShortCodeTries || refused.Load() != 24-warranty.ShortCodeTries {
			t.Errorf("%d were compared, %d refused", compared.Load(), refused.Load())
		}
		if err := s.enters(flow, digits); fieldCode(err) != "code too_many_tries" {
			t.Errorf("the right ones afterwards: %v", err)
		}
	}, busy)
}

// TestSixDigitsAreLimitedPerAddress: new pages do not give someone any number of guesses for an address.
func TestSixDigitsAreLimitedPerAddress(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		limited := 0
		for i := range 5 {
			w.Service.SignInRate = 0
			s := newDigitsScene(w) // nobody emails one address any number of codes
			flow, digits := s.asks("kim@people.example")
			w.Service.SignInRate = 1000
			for n := range warranty.ShortCodeTries {
				if err := s.enters(flow, differing(digits, 1+n)); codeOf(err) == warranty.RateLimited {
					limited++
				}
			}
			if (i == 4) != (limited == warranty.ShortCodeTries) {
				t.Errorf("page %d: %d were limited", i, limited)
			}
		}
	})
}

// TestSixDigitsAreLimitedPerSender: who has digits emailed to many addresses guesses a limited number of them in a day, also
// at the same moment, for all of their offers. Right ones do not count. Others are not affected, and the link still works.
func TestSixDigitsAreLimitedPerSender(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		w.Service.SignInRate, w.Service.MailLimit = 0, 0
		s, other := newDigitsScene(w), newDigitsScene(w)
		type page struct{ email, flow, digits string }
		ask := func(s *digitsScene, n int) page {
			made := s.shop.sells(warranty.CreateWarranty{})
			s.slip = s.shop.prints(made.ID)
			email := fmt.Sprintf("kim.%d@people.example", n)
			flow, digits := s.asks(email)
			return page{email, flow, digits}
		}
		var pages []page
		for n := range warranty.WrongDigits/warranty.ShortCodeTries + 3 {
			pages = append(pages, ask(&s, n))
		}
		last, first := pages[len(pages)-1], pages[0]
		if err := s.enters(first.flow, first.digits); err != nil {
			t.Fatalf("right digits: %v", err)
		}
		pages = pages[1 : len(pages)-1]
		var compared, refused atomic.Int64
		together(len(pages), func(i int) {
			for n := range warranty.ShortCodeTries {
				switch err := s.enters(pages[i].flow, differing(pages[i].digits, n+1)); {
				case fieldCode(err) == "code invalid_code":
					compared.Add(1)
				case codeOf(err) == warranty.RateLimited:
					refused.Add(1)
				default:
					t.Error(err)
				}
			}
		})
		if compared.Load() != warranty.WrongDigits || refused.Load() != warranty.ShortCodeTries {
			t.Errorf("%d were compared, %d refused", compared.Load(), refused.Load())
		}
		if err := s.enters(last.flow, last.digits); codeOf(err) != warranty.RateLimited {
			t.Errorf("the right ones afterwards: %v", err)
		}
		theirs := ask(&other, 1000)
		if err := other.enters(theirs.flow, theirs.digits); err != nil {
			t.Errorf("those of another shop: %v", err)
		}
		link := w.mailedCode(last.email)
		if _, err := w.Service.RegisterHandover(ctx, warranty.Principal{}, warranty.RegisterHandover{Code: link}); err != nil {
			t.Errorf("the link: %v", err)
		}
		w.execute(`UPDATE wrong_digits SET day = day - 1`)
		again := ask(&s, 1001)
		if err := s.enters(again.flow, again.digits); err != nil {
			t.Errorf("the next day: %v", err)
		}
	}, busy)
}

// TestWhoHearsOfATake: the shop hears gathered that customers registered and that a warranty moved on; the former owner
// keeps a line.
func TestWhoHearsOfATake(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		shop, kim, lia := w.issuer("Ann"), w.person("Kim", true), w.person("Lia", true)
		made := shop.sells(warranty.CreateWarranty{CustomerName: "Kim Larsen"})
		if _, err := w.take(kim, shop.prints(made.ID)); err != nil {
			t.Fatal(err)
		}
		offer, err := w.Service.OfferTransfer(ctx, kim.Principal,
			warranty.OfferTransfer{ID: warranty.WarrantyKey{ID: made.ID}, Email: lia.User.Email})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := w.take(lia, offer.Code); err != nil {
			t.Fatal(err)
		}
		o := w.mailbox()
		w.Clock.Advance(2 * time.Hour)
		if err := w.Service.SendNotices(ctx); err != nil {
			t.Fatal(err)
		}
		w.deliver()
		subjects := map[string]bool{}
		for _, m := range o.sent {
			subjects[m.Subject] = true
		}
		for _, want := range []string{"A customer registered a warranty", "A warranty has a new owner"} {
			if !subjects[want] {
				t.Errorf("no email %q: %v", want, subjects)
			}
		}
		kept, err := w.Service.HandedOver(ctx, kim.Principal)
		if err != nil || len(kept) != 1 || kept[0].ProductName != made.ProductName {
			t.Errorf("what Kim handed over: %+v, %v", kept, err)
		}
		for name, p := range map[string]warranty.Principal{"Lia": lia.Principal, "the shop": shop.acting.Principal} {
			if list, err := w.Service.HandedOver(ctx, p); err != nil || len(list) != 0 {
				t.Errorf("what %s handed over: %+v, %v", name, list, err)
			}
		}
		seen, err := w.seen(shop.acting, made.ID)
		if err != nil || seen.CustomerName == nil || *seen.CustomerName != "Kim Larsen" {
			t.Errorf("the contact of the shop: %+v, %v", seen.CustomerName, err)
		}
	})
}
