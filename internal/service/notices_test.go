package service_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"warranty.example/svc/internal/server"
	"warranty.example/svc/internal/servertest"
	"warranty.example/svc/internal/store"
	"warranty.example/svc/warranty"
)

// about returns the subjects of new emails to a person.
func (w *world) about(o *outbox, p servertest.Person) []string {
	w.T.Helper()
	list := []string{}
	for _, line := range w.mailed(o) {
		if to, subject, _ := strings.Cut(line, ": "); to == p.Email {
			list = append(list, subject)
		}
	}
	return list
}

// TestAccountHolderIsTold expects emails about account changes that an intruder could
// have made (B12), and none about ordinary sign-ins.
func TestAccountHolderIsTold(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		olga := w.Verified("Olga")
		o := w.mailbox()
		sign := func(agent, address string) {
			t.Helper()
			r := made("POST", "/api/auth/sessions", "", fields{"email": olga.Email, "password": olga.Password}, "User-Agent", agent)
			if a := w.From(address, r); a.Status != 201 {
				t.Fatalf("sign-in: %d %s", a.Status, a.Body)
			}
		}
		sign("Go-http-client/1.1", "127.0.0.1")
		equal(t, "a sign-in from where they registered", w.about(o, olga), []string{})
		sign("Mozilla/5.0 (X11; Linux x86_64; rv:130.0) Gecko/20100101 Firefox/130.0", "203.0.113.77")
		w.deliver()
		if len(o.sent) != 1 || !strings.Contains(o.sent[0].Text, "Firefox on Linux") || !strings.Contains(o.sent[0].Text, "203.0.113.x") ||
			strings.Contains(o.sent[0].Text, "203.0.113.77") || !strings.Contains(o.sent[0].Text, servertest.PublicURL+"/not-me/") {
			t.Errorf("the email is %+v", o.sent)
		}
		equal(t, "a sign-in from elsewhere", w.about(o, olga), []string{"New sign-in to your account"})
		sign("Mozilla/5.0 (X11; Linux x86_64; rv:131.0) Gecko/20100101 Firefox/131.0", "203.0.113.78")
		equal(t, "the same network again", w.about(o, olga), []string{})

		// A browser is recognized by its cookie, from any address.
		b := w.SignedIn(t, olga)
		equal(t, "a new browser", w.about(o, olga), []string{"New sign-in to your account"})
		b.Post("/sign-out")
		b.Post("/sign-in", "email", olga.Email, "password", olga.Password).Leads(t, "the same browser", "/")
		equal(t, "the same browser", w.about(o, olga), []string{})

		w.Token(olga)
		equal(t, "a token", w.about(o, olga), []string{"New integration token"})
		w.Must(200, made("POST", "/api/auth/password", olga.Session, fields{"current_password": olga.Password, "new_password": passwordCanary}))
		equal(t, "a new password", w.about(o, olga), []string{"Your password was changed"})
		w.Must(202, made("POST", "/api/auth/password-reset", "", fields{"email": olga.Email}))
		w.deliver()
		w.Must(204, made("POST", "/api/auth/password-reset/confirm", "", fields{"code": o.sent[0].Code, "password": passwordCanary + " 2"}))
		equal(t, "a reset", w.about(o, olga), []string{"Reset your password", "Your password was reset"})
		w.SignIn(olga.Email, passwordCanary+" 2")
		equal(t, "the first sign-in after a reset", w.about(o, olga), []string{})
		if err := w.Service.SetPassword(t.Context(), olga.Email, passwordCanary+" 3", false); err != nil {
			t.Fatal(err)
		}
		equal(t, "the operator", w.about(o, olga), []string{"Your password was reset"})

		// An unverified address may belong to someone else.
		zoe := w.Person("Zoe")
		w.mailed(o)
		w.Token(zoe)
		w.Must(200, made("POST", "/api/auth/password", zoe.Session, fields{"current_password": zoe.Password, "new_password": passwordCanary}))
		w.From("203.0.113.79", made("POST", "/api/auth/sessions", "", fields{"email": zoe.Email, "password": passwordCanary}))
		equal(t, "an unverified address", w.about(o, zoe), []string{})
	}, behindProxy(t))
}

// TestResetsDoNotLockOutSignIn floods an account with reset requests (B10): only a few
// emails are sent, and the correct password and the last code keep working.
func TestResetsDoNotLockOutSignIn(t *testing.T) {
	eachStopped(t, func(t *testing.T, w *world, clock *stoppedClock) {
		olga := w.Verified("Olga")
		o := w.mailbox()
		clock.Set(clock.Now().Add(time.Hour))
		outcomes := map[int]int{}
		for i := range 15 {
			a := w.From(fmt.Sprintf("198.51.100.%d", i), made("POST", "/api/auth/password-reset", "", fields{"email": olga.Email}))
			if outcomes[a.Status]++; a.Status == 429 && (a.Code() != "rate_limited" || !strings.Contains(a.Body, "Check the mailbox")) {
				t.Errorf("refused with %s", a.Body)
			}
		}
		equal(t, "15 requests", outcomes, map[int]int{202: 3, 429: 12})
		w.deliver()
		first := o.sent[0].Code
		equal(t, "mails", len(o.take()), 3)
		unknown := map[int]int{}
		for i := range 15 {
			unknown[w.From(fmt.Sprintf("198.51.100.%d", 20+i), made("POST", "/api/auth/password-reset", "", fields{"email": "nobody@people.example"})).Status]++
		}
		equal(t, "an address without an account", unknown, outcomes)
		in := made("POST", "/api/auth/sessions", "", fields{"email": olga.Email, "password": olga.Password})
		want(t, "the right password", w.From("203.0.113.1", in), 201, "")
		want(t, "from the network of the flood", w.From("198.51.100.1", in), 201, "")
		// Password guessing by others does not lock out the owner of the mailbox.
		for i := range 15 {
			w.From(fmt.Sprintf("198.51.100.%d", 40+i), made("POST", "/api/auth/sessions", "", fields{"email": olga.Email, "password": "not the password"}))
		}
		want(t, "the right password, from a new device", w.From("203.0.113.1", in), 429, "rate_limited")
		want(t, "a request for a code", w.From("203.0.113.1", made("POST", "/api/auth/codes", "", fields{"email": olga.Email})), 202, "")
		w.deliver()
		mailed := o.sent[0].Code // codes are sent first
		o.take()
		want(t, "the mailed code", w.From("203.0.113.1", made("POST", "/api/auth/sessions", "",
			fields{"email": olga.Email, "code": mailed})), 201, "")
		clock.Set(clock.Now().Add(warranty.CodeMailWindow - time.Second))
		want(t, "the first code, as long as no other is mailed",
			w.From("203.0.113.1", made("POST", "/api/auth/password-reset/confirm", "", fields{"code": first, "password": passwordCanary})), 204, "")
		clock.Set(clock.Now().Add(time.Second))
		want(t, "in the next window", w.From("203.0.113.1", made("POST", "/api/auth/password-reset", "", fields{"email": olga.Email})), 202, "")
	}, behindProxy(t), func(s *server.Server) { s.Service.SignInRate = 10 })
}

// TestKnownBrowserIsNotLockedOut uses up the sign-in attempts of an account: the
// owner's browser has separate attempts, which are limited too.
func TestKnownBrowserIsNotLockedOut(t *testing.T) {
	eachStopped(t, func(t *testing.T, w *world, clock *stoppedClock) {
		olga := w.Verified("Olga")
		clock.Set(clock.Now().Add(time.Minute))
		b := w.SignedIn(t, olga)
		b.Post("/sign-out")
		guess := made("POST", "/api/auth/sessions", "", fields{"email": olga.Email, "password": passwordCanary})
		for i := range 6 {
			w.From(fmt.Sprintf("198.51.100.%d", i), guess)
		}
		refused(t, "a stranger", w.From("198.51.100.9", guess), warranty.RateLimited)
		w.Browser(t).Post("/sign-in", "email", olga.Email, "password", olga.Password).Says(t, "a new browser", 429)
		forged := w.Browser(t)
		forged.Device = "__Host-svc_device=GUESSED"
		forged.Post("/sign-in", "email", olga.Email, "password", olga.Password).Says(t, "a made-up cookie", 429)
		b.Post("/sign-in", "email", olga.Email, "password", passwordCanary).Says(t, "a typing error", 422)
		b.Post("/sign-in", "email", olga.Email, "password", olga.Password).Leads(t, "the known browser", "/")
		b.Post("/sign-out")
		last := page{}
		for range 6 {
			last = b.Post("/sign-in", "email", olga.Email, "password", passwordCanary)
		}
		last.Says(t, "guesses with a stolen cookie", 429)
	}, behindProxy(t), func(s *server.Server) { s.Service.SignInRate = 5 })
}

// TestClaimMailsAreGathered files 150 claims (B2): the seller gets a few emails and one
// digest of all others.
func TestClaimMailsAreGathered(t *testing.T) {
	eachStoppedInTurn(t, func(t *testing.T, w *world, clock *stoppedClock) {
		owner, seller := w.Verified("Olga"), w.Verified("Sami")
		record := w.Warranty(owner.Session, fields{"seller_email": seller.Email})
		w.Confirm(seller, record.ID)
		o := w.mailbox()
		const claims, mails = 150, 20
		for range claims {
			w.Claim(owner.Session, record.ID)
		}
		equal(t, "waiting", w.Count(`SELECT count(*) FROM mails`), mails)
		equal(t, "immediate emails", len(w.mailed(o)), mails)
		digests := func() []string {
			t.Helper()
			if err := w.Service.SendDigests(t.Context()); err != nil {
				t.Fatal(err)
			}
			return w.mailed(o)
		}
		equal(t, "before the digest is due", digests(), []string{})
		clock.Set(clock.Now().Add(time.Hour))
		if err := w.Service.SendDigests(t.Context()); err != nil {
			t.Fatal(err)
		}
		w.deliver()
		if len(o.sent) != 1 || !strings.Contains(o.sent[0].Text, "and 110 more") || strings.Count(o.sent[0].Text, "CL-") != 20 {
			t.Errorf("the digest is %+v", o.sent)
		}
		equal(t, "the digest", o.take(), []string{seller.Email + ": 130 claims were updated"})
		equal(t, "once", digests(), []string{})
		equal(t, "nothing is lost in the app", w.total("/api/v1/claims", seller.Session), claims)
	}, busy)
}

// total returns the total of a list.
func (w *world) total(path, secret string) int {
	w.T.Helper()
	a := w.Must(200, made("GET", path, secret, nil))
	_, rest, _ := strings.Cut(a.Body, `"total":`)
	n := 0
	if _, err := fmt.Sscanf(rest, "%d", &n); err != nil {
		w.T.Fatal(err)
	}
	return n
}

// TestOneMailAClaimInTenMinutes changes the status of one claim repeatedly (B2, contract §16).
func TestOneMailAClaimInTenMinutes(t *testing.T) {
	eachStoppedInTurn(t, func(t *testing.T, w *world, clock *stoppedClock) {
		owner, seller := w.Verified("Olga"), w.Verified("Sami")
		record := w.Warranty(owner.Session, fields{"seller_email": seller.Email})
		w.Confirm(seller, record.ID)
		o := w.mailbox()
		claim := w.Claim(owner.Session, record.ID)
		digest := func(after time.Duration) []string {
			t.Helper()
			clock.Set(clock.Now().Add(after))
			if err := w.Service.SendDigests(t.Context()); err != nil {
				t.Fatal(err)
			}
			list := w.mailed(o)
			for i := range list {
				list[i], _, _ = strings.Cut(list[i], ": ")
			}
			return list
		}
		equal(t, "filed", digest(0), []string{seller.Email})
		w.Must(200, moving(claim, seller.Session, moveTo("under_review")))
		equal(t, "under review, which is only progress", digest(0), []string{})
		w.Must(200, moving(claim, seller.Session, moveTo("info_requested")))
		equal(t, "a question, at once", digest(0), []string{owner.Email})
		w.Must(200, moving(claim, owner.Session, moveTo("under_review")))
		w.Must(200, moving(claim, seller.Session, moveTo("approved")))
		equal(t, "a decision, at once, without the seller who made it", digest(0), []string{owner.Email})
		equal(t, "ten minutes after", digest(10*time.Minute), []string{})
		w.Must(200, moving(claim, seller.Session, moveTo("in_progress")))
		equal(t, "right after a digest", digest(0), []string{})
		w.Must(200, made("PUT", "/api/account", owner.Session, fields{"mail_claims": false}))
		equal(t, "a digest after opting out", digest(10*time.Minute), []string{})
		equal(t, "pending entries", w.Count(`SELECT count(*) FROM mail_digest`), 0)
	}, busy)
}

// TestMailLimit checks the daily limit of emails that an account may send to others (B2).
func TestMailLimit(t *testing.T) {
	eachStopped(t, func(t *testing.T, w *world, clock *stoppedClock) {
		olga, zoe := w.Verified("Olga"), w.Verified("Zoe")
		record, others := w.Warranty(olga.Session, nil), w.Warranty(zoe.Session, nil)
		o := w.mailbox()
		offer := func(session, id string, n int) answer {
			return w.Send("POST", "/api/warranties/"+id+"/transfer", session, fields{"email": fmt.Sprintf("stranger%d@people.example", n)})
		}
		for n := range 3 {
			want(t, "an offer", offer(olga.Session, record.ID, n), 201, "")
		}
		var unmailed warranty.TransferOffer
		w.Must(201, made("POST", "/api/warranties/"+record.ID+"/transfer", olga.Session, fields{"email": "stranger4@people.example"})).Into(t, &unmailed)
		if unmailed.Mailed || unmailed.Code == "" {
			t.Errorf("one too many: %+v", unmailed)
		}
		want(t, "another user", offer(zoe.Session, others.ID, 5), 201, "")
		equal(t, "mails", len(w.mailed(o)), 4)
		w.Exec(`UPDATE sessions SET expires_at = 9000000000000000`)
		clock.Set(clock.Now().Add(24 * time.Hour))
		want(t, "a day later", offer(olga.Session, record.ID, 6), 201, "")
	}, func(s *server.Server) { s.Service.MailLimit = 3 })
}

// TestUnverifiedAccountsMailNobody files a claim with an unverified account.
func TestUnverifiedAccountsMailNobody(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		owner, seller := w.Person("Olga"), w.Verified("Sami")
		record := w.Warranty(owner.Session, fields{"seller_email": seller.Email})
		w.Confirm(seller, record.ID)
		o := w.mailbox()
		claim := w.Claim(owner.Session, record.ID)
		w.offerTo(owner.Session, record.ID, "stranger@people.example")
		equal(t, "mails", w.mailed(o), []string{})
		equal(t, "the claim in the app", w.Get("/api/v1/claims/"+claim, seller.Session).Status, 200)
	})
}

// TestADecisionIsMailedAtOnce: the customer gets a decision at once, although the review began a moment before. The
// one who decides is not emailed about it, not even as a member of another business on the warranty, and what the
// customer wrote before the decision does not come back as a digest of it.
func TestADecisionIsMailedAtOnce(t *testing.T) {
	eachStopped(t, func(t *testing.T, w *world, clock *stoppedClock) {
		kim := w.person("Kim", true)
		shop := w.issuer("Ann")
		maker := issuer{w, shop.admin, w.shop(shop.admin), person{}}
		maker.acting = person{Principal: w.acting(shop.admin, maker.Organization)}
		bob := w.person("Bob", true)
		w.join(shop.admin, maker.Organization, bob, warranty.Member)
		wants := true
		if _, err := w.Service.UpdateOrganization(ctx, bob.Principal, warranty.UpdateOrganization{ID: maker.ID, MailClaims: &wants}); err != nil {
			t.Fatal(err)
		}
		// The shop issued the warranty, and the maker is its seller.
		w.write(func(tx *store.Tx) error {
			return tx.InsertAddress(maker.ID, warranty.Address{ID: w.Service.NewID(), Email: "maker@halden.example", VerifiedAt: clock.Now()})
		})
		made := shop.sells(warranty.CreateWarranty{SellerEmail: "maker@halden.example"})
		if _, err := w.take(kim, shop.prints(made.ID)); err != nil {
			t.Fatal(err)
		}
		w.confirm(maker.acting, made.ID)
		o := w.mailbox()
		who := func(after time.Duration) []string {
			t.Helper()
			clock.Set(clock.Now().Add(after))
			if err := w.Service.SendDigests(ctx); err != nil {
				t.Fatal(err)
			}
			list := w.mailed(o)
			for i := range list {
				list[i], _, _ = strings.Cut(list[i], ".")
			}
			return list
		}
		claim := w.claim(kim, made.ID)
		key := warranty.ClaimKey{ID: claim.ID}
		equal(t, "filed", who(0), []string{"ann", "bob"}) // Ann belongs to both
		if _, err := w.Service.WriteMessage(ctx, kim.Principal, warranty.WriteMessage{ID: key, Body: "It leaks."}); err != nil {
			t.Fatal(err)
		}
		move := func(to warranty.ClaimStatus) {
			t.Helper()
			if _, err := w.Service.MoveClaim(ctx, shop.acting.Principal, warranty.MoveClaim{ID: key, Status: to}); err != nil {
				t.Fatal(err)
			}
		}
		move(warranty.UnderReview)
		equal(t, "the review began", who(0), []string{})
		move(warranty.Approved)
		equal(t, "approved", who(0), []string{"kim"})
		equal(t, "ten minutes later, for those who did not decide", who(10*time.Minute), []string{"bob"})
	}, busy)
}

// TestApprovedClaimsDoNotWait: an approved claim waits for nobody, until its owner writes.
func TestApprovedClaimsDoNotWait(t *testing.T) {
	eachInTurn(t, func(t *testing.T, w *world) {
		kim, shop := w.person("Kim", true), w.issuer("Ann")
		made := shop.sells(warranty.CreateWarranty{})
		if _, err := w.take(kim, shop.prints(made.ID)); err != nil {
			t.Fatal(err)
		}
		claim := w.claim(kim, made.ID)
		key := warranty.ClaimKey{ID: claim.ID}
		waits := func(what string, want int64) {
			t.Helper()
			for name, in := range map[string]warranty.ListClaims{
				"waiting for us": {Queue: warranty.WaitingForUs}, "waiting for a business": {WaitingFor: warranty.BusinessSide},
			} {
				page, err := w.Service.ListClaims(ctx, shop.acting.Principal, in)
				if err != nil || page.Pagination.Total != want {
					t.Errorf("%s: %s has %d claims, want %d: %v", what, name, page.Pagination.Total, want, err)
				}
			}
			accounts, err := w.Service.Accounts(ctx, shop.admin.Principal)
			if err != nil || accounts[1].Waiting != want {
				t.Errorf("%s: %+v, %v", what, accounts, err)
			}
			seen, err := w.Service.GetClaim(ctx, shop.acting.Principal, warranty.GetClaim{ID: key})
			if err != nil || (seen.WaitingFor != nil) != (want == 1) {
				t.Errorf("%s: waiting_for is %v, %v", what, seen.WaitingFor, err)
			}
		}
		waits("filed", 1)
		if _, err := w.Service.MoveClaim(ctx, shop.acting.Principal, warranty.MoveClaim{ID: key, Status: warranty.Approved}); err != nil {
			t.Fatal(err)
		}
		waits("approved", 0)
		if _, err := w.Service.WriteMessage(ctx, kim.Principal, warranty.WriteMessage{ID: key, Body: "When?"}); err != nil {
			t.Fatal(err)
		}
		waits("approved, and the owner asks", 1)
		if _, err := w.Service.WriteMessage(ctx, shop.acting.Principal, warranty.WriteMessage{ID: key, Body: "Tomorrow."}); err != nil {
			t.Fatal(err)
		}
		waits("answered", 0)
	}, busy)
}
