package service_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"

	"warranty.example/svc/internal/server"
	"warranty.example/svc/internal/servertest"
	"warranty.example/svc/internal/service"
	"warranty.example/svc/warranty"
)

// --- who is emailed because of what someone else does -----------------------------

// orders returns a batch of items for one customer.
func orders(n int, email string) warranty.CreateBatch {
	var in warranty.CreateBatch
	for i := range n {
		text, _ := json.Marshal(fields{"product_name": fmt.Sprintf("Pan %d", i), "start_date": "2026-01-01",
			"end_date": "2099-12-31", "customer_email": email})
		in.Items = append(in.Items, warranty.BatchItem{Text: text})
	}
	return in
}

// results counts the results of a batch: created records, and those whose offer was not emailed.
func results(t *testing.T, out warranty.BatchResults, err error) (created, silent int) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range out.Results {
		if r.Status == warranty.BatchCreated && r.Problem == nil && r.ID != nil {
			created++
		}
		if r.NotEmailed != nil {
			silent++
		}
	}
	return created, silent
}

// TestABatchDoesNotFloodAnAddress: 500 records for one address create 500 records and three emails, with the
// offers gathered in them. The others say that they were not emailed. What the customer buys together comes in one email.
func TestABatchDoesNotFloodAnAddress(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		shop := w.issuer("Ann")
		o := w.mailbox()
		const victim = "victim@people.example"
		out, err := w.Service.CreateBatch(ctx, shop.acting.Principal, orders(5, "kim@people.example"))
		created, silent := results(t, out, err)
		equal(t, "five for a customer", []any{created, silent, w.mailed(o)},
			[]any{5, 0, []string{"kim@people.example: 5 warranties are ready to register"}})

		out, err = w.Service.CreateBatch(ctx, shop.acting.Principal, orders(500, victim))
		created, silent = results(t, out, err)
		w.deliver()
		equal(t, "created, not emailed, emails", []int{created, silent, len(o.sent)}, []int{500, 440, 3})
		code := strings.Fields(o.sent[0].Code)[0]
		o.take()
		for _, r := range out.Results[499:] {
			if !strings.Contains(*r.NotEmailed, "3 times in 24 hours") || !strings.Contains(*r.NotEmailed, "Print a code") {
				t.Errorf("the result says %q", *r.NotEmailed)
			}
			seen, err := w.seen(shop.acting, *r.ID)
			if err != nil || seen.Handover.Status != warranty.HandoverNone {
				t.Errorf("%+v, %v", seen.Handover, err)
			}
			shop.prints(*r.ID)
		}

		// One by one, and with a key: the response is repeated as it was.
		key := "sale-1"
		in := warranty.CreateWarranty{ProductName: "Pan", StartDate: date("2026-01-01"), EndDate: date("2099-12-31"), CustomerEmail: victim, IdempotencyKey: &key}
		for range 2 {
			made, err := w.Service.CreateWarranty(ctx, shop.acting.Principal, in)
			if err != nil || made.Handover == nil || made.Handover.NotEmailed == nil {
				t.Fatalf("%+v, %v", made.Handover, err)
			}
		}
		equal(t, "emails", w.mailed(o), []string{})

		// Once the customer took something, more may follow, but not without end.
		if _, err := w.Service.RegisterHandover(ctx, warranty.Principal{}, warranty.RegisterHandover{Code: code}); err != nil {
			t.Fatal(err)
		}
		out, err = w.Service.CreateBatch(ctx, shop.acting.Principal, orders(500, victim))
		created, silent = results(t, out, err)
		equal(t, "for a customer: created, not emailed, emails", []int{created, silent, len(w.mailed(o))}, []int{500, 160, 17})
	}, busy)
}

// TestEveryMailToOthersIsCounted walks everything that emails someone because of another person's act. Every email
// is counted once, for its recipient, the account and the person. An address that the sender chose gets three
// emails a day from a person, whichever organization they act for.
func TestEveryMailToOthersIsCounted(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		for name, s := range mailSenders {
			ann := w.person("Ann", true)
			var shops []issuer
			for range 2 {
				o := w.shop(ann)
				shops = append(shops, issuer{w, ann, o, person{Principal: w.acting(ann, o), session: ann.session}})
			}
			address := fmt.Sprintf("%x@people.example", ann.User.ID[8:])
			w.deliver()
			w.Exec(`DELETE FROM mail_log`)
			act := func(i int) error {
				err := s.act(shops[i%2], address)
				w.flush()
				return err
			}
			if err := act(0); err != nil {
				t.Fatalf("%s: %v", name, err)
			}
			emails := w.Count(`SELECT count(*) FROM mails`)
			if name == "conversion" {
				emails-- // the notice to Ann's own address
			}
			equal(t, name+": emails, and those that are counted", []int{emails, w.Count(`SELECT count(DISTINCT mail_id) FROM mail_log
				WHERE mail_id IN (SELECT id FROM mails) AND recipient IN (SELECT address FROM mails) AND person_id IS NOT NULL`)}, []int{s.emails, s.emails})
			if s.refusal == nil {
				continue
			}
			for i := 1; i < 3; i++ {
				if err := act(i); err != nil {
					t.Fatalf("%s: email %d: %v", name, i+1, err)
				}
			}
			for i := 3; i < 5; i++ {
				if err := act(i); !s.refusal(err) {
					t.Errorf("%s: email %d for organization %d: %v", name, i+1, i%2, err)
				}
			}
			equal(t, name+": emails to one address", w.Count(`SELECT count(*) FROM mails WHERE address = '`+address+`'`), 3)
		}
	}, busy)
}

// mailSender is something that emails others. act does it once for an organization; address is new. refusal
// recognizes what happens at the limit; nil if the email is about a record and only waits for a digest.
type mailSender struct {
	emails  int
	act     func(shop issuer, address string) error
	refusal func(error) bool
}

func tooManyMails(err error) bool { return codeOf(err) == warranty.RateLimited }

var mailSenders = map[string]mailSender{
	"offer of a new warranty": {1, func(shop issuer, to string) error {
		made := shop.sells(warranty.CreateWarranty{CustomerEmail: to})
		if made.Handover.NotEmailed != nil {
			return warranty.Refuse(warranty.RateLimited, "%s", *made.Handover.NotEmailed)
		}
		return nil
	}, tooManyMails},
	"offer in a batch": {1, func(shop issuer, to string) error {
		out, err := shop.Service.CreateBatch(ctx, shop.acting.Principal, orders(2, to))
		if err == nil && out.Results[0].NotEmailed != nil {
			err = warranty.Refuse(warranty.RateLimited, "%s", *out.Results[0].NotEmailed)
		}
		return err
	}, tooManyMails},
	"offer of a warranty": {1, func(shop issuer, to string) error {
		made := shop.sells(warranty.CreateWarranty{})
		_, err := shop.Service.OfferHandover(ctx, shop.acting.Principal, warranty.OfferHandover{ID: warranty.WarrantyKey{ID: made.ID}, CustomerEmail: to})
		return err
	}, tooManyMails},
	"transfer": {1, func(shop issuer, to string) error {
		made := shop.sells(warranty.CreateWarranty{})
		offer, err := shop.Service.OfferTransfer(ctx, shop.acting.Principal, warranty.OfferTransfer{ID: warranty.WarrantyKey{ID: made.ID}, Email: to})
		if err == nil && !offer.Mailed {
			err = warranty.Refuse(warranty.RateLimited, "The code is in the response.")
		}
		return err
	}, tooManyMails},
	"invitation": {1, func(shop issuer, to string) error {
		_, err := shop.Service.CreateInvitation(ctx, shop.acting.Principal, warranty.CreateInvitation{ID: shop.ID, Email: to, Role: warranty.Member})
		return err
	}, tooManyMails},
	"code for an address": {1, func(shop issuer, to string) error {
		_, err := shop.Service.AddAddress(ctx, shop.acting.Principal, warranty.AddAddress{ID: shop.ID, Email: to})
		return err
	}, tooManyMails},
	"conversion": {1, func(shop issuer, to string) error {
		shop.Exec(`DELETE FROM members WHERE user_id IN (SELECT user_id FROM sessions WHERE id = ` + shop.literal(shop.admin.CredentialID) + `)`)
		_, err := shop.Service.ConvertAccount(ctx, shop.admin.Principal, warranty.ConvertAccount{OrganizationName: "Halden", Name: "Ann", Email: to, Password: servertest.Password})
		return err
	}, tooManyMails},
	// The shop also hears that its customer registered.
	"change of a promise": {2, func(shop issuer, _ string) error {
		id := shop.held(shop.person("Kim", true))
		return put(func(in *warranty.UpdateWarranty) { in.EndDate = new(date("2026-11-30")) })(shop, id)
	}, nil},
	"claim filed": {2, func(shop issuer, _ string) error {
		_, err := shop.filed(warranty.Approved)
		return err
	}, nil},
	"claim decided": {2, func(shop issuer, _ string) error {
		claim, err := shop.filed("")
		if err != nil {
			return err
		}
		_, err = shop.Service.MoveClaim(ctx, shop.acting.Principal, warranty.MoveClaim{ID: warranty.ClaimKey{ID: claim.ID}, Status: warranty.Approved})
		return err
	}, nil},
	"message about a claim": {2, func(shop issuer, _ string) error {
		claim, err := shop.filed("")
		if err != nil {
			return err
		}
		_, err = shop.Service.WriteMessage(ctx, shop.acting.Principal, warranty.WriteMessage{ID: warranty.ClaimKey{ID: claim.ID}, Body: "Hello"})
		return err
	}, nil},
}

// filed files a claim of a customer. The email about it is removed, unless kept.
func (i issuer) filed(keep warranty.ClaimStatus) (warranty.Claim, error) {
	kim := i.person("Kim", true)
	made := i.sells(warranty.CreateWarranty{})
	if _, err := i.take(kim, i.prints(made.ID)); err != nil {
		return warranty.Claim{}, err
	}
	in := warranty.FileClaim{WarrantyID: warranty.WarrantyKey{ID: made.ID}, Type: warranty.Repair, Description: "It broke", IncidentDate: date("2026-01-02")}
	c, err := i.Service.FileClaim(ctx, kim.Principal, in)
	if keep == "" {
		i.deliver()
		i.Exec(`DELETE FROM mail_log`)
	}
	return c, err
}

// flush puts everything that waits to be gathered into the outbox.
func (w *world) flush() {
	w.T.Helper()
	w.Exec(`UPDATE mail_digest SET due_at = 0`)
	w.Exec(`UPDATE mail_notices SET due_at = 0`)
	if err := errors.Join(w.Service.SendDigests(ctx), w.Service.SendNotices(ctx)); err != nil {
		w.T.Fatal(err)
	}
}

// literal returns an id in SQL.
func (w *world) literal(id warranty.ID) string {
	if w.postgres {
		return "'" + id.String() + "'"
	}
	return fmt.Sprintf("x'%x'", id[:])
}

// TestOrganizationsDoNotMultiplyLimits: a person who emails new people for several organizations at the same
// time, on several replicas, reaches the limit of one person, and emails one address three times.
func TestOrganizationsDoNotMultiplyLimits(t *testing.T) {
	eachReplicas(t, func(t *testing.T, worlds []*world) {
		w := worlds[0]
		ann := w.person("Ann", true)
		var shops []warranty.Principal
		for range 6 {
			shops = append(shops, w.acting(ann, w.shop(ann)))
		}
		sell := func(s *service.Service, p warranty.Principal, to string) {
			in := warranty.CreateWarranty{ProductName: "Pan", StartDate: date("2026-01-01"), EndDate: date("2099-12-31"), CustomerEmail: to}
			if _, err := s.CreateWarranty(ctx, p, in); err != nil {
				t.Error(err)
			}
		}
		together(12, func(i int) { sell(worlds[i%len(worlds)].Service, shops[i%len(shops)], "victim@people.example") })
		equal(t, "emails to one address", w.Count(`SELECT count(*) FROM mails WHERE address = 'victim@people.example'`), 3)
		together(24, func(i int) {
			sell(worlds[i%len(worlds)].Service, shops[i%len(shops)], fmt.Sprintf("new%d@people.example", i))
		})
		equal(t, "people who were emailed", w.Count(`SELECT count(DISTINCT address) FROM mails WHERE address LIKE 'new%' OR address LIKE 'victim%'`), 10)
		equal(t, "warranties", w.Count(`SELECT count(*) FROM warranties`), 36)
	}, busy, func(s *server.Server) { s.Service.MailLimit = 10 })
}

// TestVerifiedOrganizationsEmailMore: the limit of new people is 50 times higher for an organization with a verified domain,
// and what is emailed for it does not count for the person's other accounts.
func TestVerifiedOrganizationsEmailMore(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		shop := w.issuer("Ann")
		if _, err := w.Service.VerifyDomain(ctx, shop.ID, "halden.example"); err != nil {
			t.Fatal(err)
		}
		other := issuer{w, shop.admin, w.shop(shop.admin), person{}}
		other.acting = person{Principal: w.acting(shop.admin, other.Organization)}
		offered := func(i issuer, n int) bool {
			return i.sells(warranty.CreateWarranty{CustomerEmail: fmt.Sprintf("new%d@people.example", n)}).Handover.NotEmailed == nil
		}
		for n := range 50 {
			if !offered(shop, n) {
				t.Fatalf("offer %d was not emailed", n)
			}
		}
		equal(t, "one too many", offered(shop, 50), false)
		equal(t, "for another organization", []bool{offered(other, 51), offered(other, 52)}, []bool{true, false})
	}, busy, func(s *server.Server) { s.Service.MailLimit = 1 })
}

// TestOrganizationLimit: a person is a member of 20 organizations at most, unless the operator allows more.
func TestOrganizationLimit(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		ann := w.person("Ann", true)
		for range 20 {
			w.shop(ann)
		}
		in := warranty.CreateOrganization{Name: "One more"}
		if _, err := w.Service.CreateOrganization(ctx, ann.Principal, in); codeOf(err) != warranty.InUse || !strings.Contains(err.Error(), "20 organizations") {
			t.Errorf("one more: %v", err)
		}
		w.Service.OrganizationLimit = 21
		if _, err := w.Service.CreateOrganization(ctx, ann.Principal, in); err != nil {
			t.Errorf("with a higher limit: %v", err)
		}
	}, busy)
}

// TestSpellingsOfAnAddressAreOneMailbox: tags after a plus sign do not multiply the emails to a mailbox.
func TestSpellingsOfAnAddressAreOneMailbox(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		shop := w.issuer("Ann")
		o := w.mailbox()
		var in warranty.CreateBatch
		for i := range 100 {
			in.Items = append(in.Items, orders(1, fmt.Sprintf("victim+%d@people.example", i)).Items...)
		}
		for range 2 {
			out, err := w.Service.CreateBatch(ctx, shop.acting.Principal, in)
			if created, _ := results(t, out, err); created != 100 {
				t.Errorf("%d created", created)
			}
		}
		w.deliver()
		equal(t, "emails", len(o.sent), 3)
	})
}

// TestSendersDoNotAddUp: accounts without a verified domain email an address nine times a day together. One with a
// verified domain still can.
func TestSendersDoNotAddUp(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		o := w.mailbox()
		const victim = "victim@people.example"
		for i := range 5 {
			if _, err := w.Service.CreateBatch(ctx, w.issuer(fmt.Sprint("Shop ", i)).acting.Principal, orders(100, victim)); err != nil {
				t.Fatal(err)
			}
		}
		w.deliver()
		equal(t, "emails of five accounts", len(o.sent), 9)
		known := w.issuer("Known")
		if _, err := w.Service.VerifyDomain(ctx, known.ID, "known.example"); err != nil {
			t.Fatal(err)
		}
		if _, err := w.Service.CreateBatch(ctx, known.acting.Principal, orders(1, victim)); err != nil {
			t.Fatal(err)
		}
		w.deliver()
		equal(t, "with one of a verified domain", len(o.sent), 10)
	})
}

// TestPrintedCodesDoNotEmailStrangers: whoever has a printed code can have codes emailed, and they count as the issuer's.
func TestPrintedCodesDoNotEmailStrangers(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		w.Service.MailLimit = 4
		shop := w.issuer("Ann")
		code := shop.prints(shop.sells(warranty.CreateWarranty{}).ID)
		o := w.mailbox()
		sent := 0
		for i := range 10 {
			_, err := w.Service.EmailHandover(ctx, warranty.Principal{}, warranty.EmailHandover{Code: code, Email: fmt.Sprintf("stranger%d@people.example", i)})
			switch codeOf(err) {
			case "":
				sent++
			case warranty.RateLimited:
			default:
				t.Fatal(err)
			}
		}
		w.deliver()
		equal(t, "accepted and sent", []int{sent, len(o.sent)}, []int{4, 4})
	})
}

// TestCodesAreNotHeldUp: a code that someone waits for is sent before the hundreds of emails that wait.
func TestCodesAreNotHeldUp(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		shop, kim := w.issuer("Ann"), w.person("Kim", true)
		var in warranty.CreateBatch
		for i := range 150 {
			in.Items = append(in.Items, orders(1, fmt.Sprintf("customer%d@people.example", i)).Items...)
		}
		if _, err := w.Service.CreateBatch(ctx, shop.acting.Principal, in); err != nil {
			t.Fatal(err)
		}
		o := w.mailbox()
		if _, err := w.Service.RequestSignInCode(ctx, warranty.Principal{}, warranty.RequestSignInCode{Email: kim.User.Email}); err != nil {
			t.Fatal(err)
		}
		if err := w.Service.SendCodes(ctx); err != nil {
			t.Fatal(err)
		}
		if len(o.sent) != 1 || o.sent[0].To != kim.User.Email {
			t.Errorf("sent first: %+v", o.sent)
		}
	}, busy)
}
