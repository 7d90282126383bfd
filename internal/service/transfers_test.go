package service_test

import (
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"warranty.example/svc/internal/server"
	"warranty.example/svc/internal/servertest"
	"warranty.example/svc/internal/store"
	"warranty.example/svc/warranty"
)

func offering(id, session, email string, along ...string) request {
	return made("POST", "/api/warranties/"+id+"/transfer", session, fields{"email": email, "documents": along})
}

func accepting(session, code string) request {
	return made("POST", "/api/transfers/accept", session, fields{"code": code})
}

// offer offers a transfer and returns its code.
func (w *world) offer(id string, from servertest.Person, email string) string {
	w.T.Helper()
	var offer struct{ Code string }
	w.Must(201, offering(id, from.Session, email)).Into(w.T, &offer)
	return offer.Code
}

// rolesOn returns a person's roles on a record; none when they cannot see it.
func (w *world) rolesOn(id string, p servertest.Person) []string {
	w.T.Helper()
	a := w.Get("/api/v1/warranties/"+id, p.Session)
	if a.Status == http.StatusNotFound {
		return nil
	}
	var r servertest.Record
	a.Into(w.T, &r)
	return r.Roles
}

// TestPeopleTransferOwnership transfers a record several times and checks access: the
// new owner sees all of it, the old one what their other roles allow.
func TestPeopleTransferOwnership(t *testing.T) {
	eachStopped(t, func(t *testing.T, w *world, clock *stoppedClock) {
		maker, first, second, seller := w.Verified("Mara"), w.Verified("Finn"), w.Verified("Sofia"), w.Verified("Sami")
		record := w.Warranty(maker.Session, fields{"seller_email": seller.Email, "product_name": "Kettle"})
		w.Confirm(seller, record.ID)
		claim := w.Claim(maker.Session, record.ID)
		d := w.Upload(maker.Session, document(record.ID, "a.pdf", pdf)...) // files of claims stay the former owner's
		history := len(w.history(record.ID, maker.Session))

		a := w.Must(201, offering(record.ID, maker.Session, " Finn@People.Example ", d.ID))
		var offer struct {
			WarrantyID  string `json:"warranty_id"`
			Email, Code string
			ExpiresAt   time.Time `json:"expires_at"`
		}
		a.Into(t, &offer)
		equal(t, "the offer's warranty", offer.WarrantyID, record.ID)
		equal(t, "the offer's address", offer.Email, first.Email)
		equal(t, "the offer's end", offer.ExpiresAt, clock.Now().Add(7*24*time.Hour))
		if w.MailedCode(first.Email) == offer.Code {
			t.Error("the owner knows the code of the email, which signs in")
		}
		equal(t, "roles while it is offered", w.rolesOn(record.ID, maker), []string{"owner", "issuer"})
		equal(t, "roles of whom it is offered to", w.rolesOn(record.ID, first), []string(nil))

		// Codes are normalized: lower case, spaces, dashes, O and 0, I and 1.
		typed := strings.ToLower(strings.NewReplacer("-", " ", "0", "O", "1", "l").Replace(offer.Code))
		var got servertest.Record
		w.Must(200, accepting(first.Session, "  "+typed+" ")).Into(t, &got)
		equal(t, "the record of the new owner", []string{got.ID, got.ProductName, strings.Join(got.Roles, "+")}, []string{record.ID, "Kettle", "owner+issuer"})
		for _, c := range []struct {
			who   servertest.Person
			roles []string
		}{{maker, nil}, {first, []string{"owner", "issuer"}}, {seller, []string{"seller"}}, {second, nil}} {
			equal(t, "roles of "+c.who.Name, w.rolesOn(record.ID, c.who), c.roles)
		}
		w.seesAll(t, "the new owner", first, record.ID, claim, d.ID)
		w.seesNothing(t, maker, record, claim, d.ID)
		for code, why := range map[string]string{offer.Code: "taken", "0000-0000-0000-0000-0000": "invalid_code", "x": "invalid_code"} {
			a := w.Do(accepting(second.Session, code))
			refused(t, "a code that is used or none", a, warranty.ValidationFailed)
			equal(t, "field errors", wrongFields(t, a), []string{"code " + why})
		}

		// Sold on.
		mine := w.Upload(first.Session, document(record.ID, "first.pdf", pdf)...)
		w.Transfer(record.ID, first, second, d.ID, mine.ID)
		equal(t, "roles of the owner before", w.rolesOn(record.ID, first), []string(nil))
		equal(t, "roles of the new owner", w.rolesOn(record.ID, second), []string{"owner", "issuer"})
		w.seesNothing(t, first, record, claim, d.ID, mine.ID)
		w.seesAll(t, "the new owner", second, record.ID, claim, mine.ID, d.ID)
		w.Must(200, moving(claim, second.Session, moveTo("withdrawn")))
		w.Must(204, made("DELETE", "/api/documents/"+mine.ID, second.Session, nil))

		// To the seller and back to the issuer.
		w.Transfer(record.ID, second, seller)
		equal(t, "roles of a seller who owns", w.rolesOn(record.ID, seller), []string{"owner", "seller", "issuer"})
		w.Transfer(record.ID, seller, maker)
		equal(t, "roles of the maker again", w.rolesOn(record.ID, maker), []string{"owner", "issuer"})
		equal(t, "roles of the seller again", w.rolesOn(record.ID, seller), []string(nil))
		equal(t, "owners", w.Count(`SELECT count(*) FROM access WHERE kind = 1 AND roles % 2 = 1`), 1)

		var transfers []string
		for _, e := range slices.Backward(w.history(record.ID, maker.Session)[:len(w.history(record.ID, maker.Session))-history]) {
			if name, ok := strings.CutPrefix(e.Action, "transfer."); ok {
				transfers = append(transfers, e.Actor+" "+name)
			}
		}
		equal(t, "the history", transfers, []string{"Mara offered", "Finn accepted", "Finn offered", "Sofia accepted", "Sofia offered", "Sami accepted", "Sami offered", "Mara accepted"})
	}, busy)
}

// seesAll checks that a person's lists and single reads have the same records.
func (w *world) seesAll(t *testing.T, what string, p servertest.Person, record, claim string, documents ...string) {
	t.Helper()
	equal(t, what+": warranties", ids(t, w.Get("/api/v1/warranties", p.Session)), []string{record})
	equal(t, what+": claims", ids(t, w.Get("/api/v1/claims?warranty_id="+record, p.Session)), []string{claim})
	equal(t, what+": documents", ids(t, w.Get("/api/v1/documents?warranty_id="+record, p.Session)), newest(documents...))
	for _, path := range []string{"/api/v1/warranties/" + record, "/api/v1/claims/" + claim, "/api/v1/documents/" + documents[0], "/api/documents/" + documents[0] + "/file", "/api/warranties/" + record + "/history"} {
		want(t, what+": "+path, w.Get(path, p.Session), 200, "")
	}
}

// seesNothing checks that a person without a role can read and change nothing.
func (w *world) seesNothing(t *testing.T, p servertest.Person, record servertest.Record, claim string, documents ...string) {
	t.Helper()
	for _, list := range []string{"warranties", "claims", "documents", "claims?warranty_id=" + record.ID, "documents?warranty_id=" + record.ID} {
		equal(t, list+" without a role", ids(t, w.Get("/api/v1/"+list, p.Session)), []string{})
	}
	requests := []request{
		made("GET", "/api/v1/warranties/"+record.ID, p.Session, nil), made("GET", "/api/v1/claims/"+claim, p.Session, nil), made("GET", "/api/warranties/"+record.ID+"/history", p.Session, nil),
		made("PUT", "/api/v1/warranties/"+record.ID, p.Session, fields{"status": "void"}), made("DELETE", "/api/v1/warranties/"+record.ID, p.Session, nil),
		offering(record.ID, p.Session, p.Email), made("DELETE", "/api/warranties/"+record.ID+"/transfer", p.Session, nil),
		made("POST", "/api/claims", p.Session, claimOn(record.ID)), moving(claim, p.Session, moveTo("withdrawn")), uploading(p.Session, document(record.ID, "a.pdf", pdf)...),
	}
	for _, d := range documents {
		requests = append(requests, made("GET", "/api/v1/documents/"+d, p.Session, nil), made("GET", "/api/documents/"+d+"/file", p.Session, nil), made("DELETE", "/api/documents/"+d, p.Session, nil))
	}
	w.Unchanged(t, "attempts without a role", func() {
		for _, r := range requests {
			refused(t, r.Method+" "+r.Path+" without a role", w.Do(r), warranty.NotFound)
		}
	})
}

// TestPeopleOffersEnd ends offers in every way; their codes are then invalid.
func TestPeopleOffersEnd(t *testing.T) {
	eachStoppedInTurn(t, func(t *testing.T, w *world, clock *stoppedClock) {
		owner, recipient := w.Person("Olga"), w.Verified("Hedi")
		dead := func(what, code, why string) {
			t.Helper()
			w.Unchanged(t, what, func() {
				a := w.Do(accepting(recipient.Session, code))
				refused(t, what, a, warranty.ValidationFailed)
				equal(t, what, wrongFields(t, a), []string{"code " + why})
			})
		}
		record := w.Warranty(owner.Session, nil)
		cancelled := made("DELETE", "/api/warranties/"+record.ID+"/transfer", owner.Session, nil)
		refused(t, "cancelling without an offer", w.Do(cancelled), warranty.NotFound)

		older := w.offer(record.ID, owner, recipient.Email)
		newer := w.offer(record.ID, owner, "else@people.example")
		dead("the older of two offers", older, "cancelled")
		w.Must(204, cancelled)
		dead("an offer that was called off", newer, "cancelled")
		dead("a code that never was", older[:len(older)-1]+map[bool]string{true: "1", false: "0"}[strings.HasSuffix(older, "0")], "invalid_code")
		refused(t, "calling off twice", w.Do(cancelled), warranty.NotFound)

		deleted := w.Warranty(owner.Session, nil)
		code := w.offer(deleted.ID, owner, recipient.Email)
		w.Must(204, made("DELETE", "/api/v1/warranties/"+deleted.ID, owner.Session, nil))
		dead("an offer of a deleted record", code, "withdrawn")
		refused(t, "a new offer of a deleted record", w.Do(offering(deleted.ID, owner.Session, recipient.Email)), warranty.NotFound)

		void := w.Warranty(owner.Session, nil)
		w.Must(200, made("PUT", "/api/v1/warranties/"+void.ID, owner.Session, fields{"status": "void"}))
		refused(t, "an offer of a void record", w.Do(offering(void.ID, owner.Session, recipient.Email)), warranty.InvalidTransition)

		inTime, tooLate := w.Warranty(owner.Session, nil), w.Warranty(owner.Session, nil)
		began := clock.Now()
		good, late := w.offer(inTime.ID, owner, recipient.Email), w.offer(tooLate.ID, owner, recipient.Email)
		clock.Set(began.Add(7*24*time.Hour - time.Microsecond))
		w.signInAgain(&owner, &recipient)
		w.Must(200, accepting(recipient.Session, good))
		clock.Set(began.Add(7 * 24 * time.Hour))
		dead("an offer of 7 days ago", late, "expired")
		refused(t, "calling off an offer that has ended", w.Send("DELETE", "/api/warranties/"+tooLate.ID+"/transfer", owner.Session, nil), warranty.NotFound)
		w.Transfer(tooLate.ID, owner, recipient)

		for what, c := range map[string]struct {
			request request
			wrong   string
		}{
			"no address":       {made("POST", "/api/warranties/"+record.ID+"/transfer", owner.Session, fields{}), "email required"},
			"a bad address":    {offering(record.ID, owner.Session, "nobody"), "email invalid_email"},
			"two addresses":    {offering(record.ID, owner.Session, "a@b.example,c@d.example"), "email invalid_email"},
			"a line break":     {offering(record.ID, owner.Session, "a@b.example\r\nBcc: c@d.example"), "email invalid_email"},
			"an unknown field": {made("POST", "/api/warranties/"+record.ID+"/transfer", owner.Session, fields{"email": "a@b.example", "code": "x"}), "code unknown_field"},
			"no code":          {made("POST", "/api/transfers/accept", owner.Session, fields{}), "code required"},
			"an empty code":    {accepting(owner.Session, " "), "code required"},
			"a long code":      {accepting(owner.Session, strings.Repeat("0", 101)), "code too_long"},
			"a new owner":      {made("POST", "/api/transfers/accept", owner.Session, fields{"code": "0", "user_id": recipient.ID}), "user_id unknown_field"},
		} {
			w.Unchanged(t, what, func() {
				a := w.Do(c.request)
				refused(t, what, a, warranty.ValidationFailed)
				equal(t, what, wrongFields(t, a), []string{c.wrong})
			})
		}
	}, busy)
}

// signInAgain signs people in whose sessions expired when the clock moved.
func (w *world) signInAgain(people ...*servertest.Person) {
	w.T.Helper()
	for _, p := range people {
		var session struct {
			AccessToken string `json:"access_token"`
		}
		w.Must(201, made("POST", "/api/auth/sessions", "", fields{"email": p.Email, "password": p.Password})).Into(w.T, &session)
		p.Session = session.AccessToken
	}
}

// TestPeopleAcceptAnOfferOnce uses one code many times concurrently.
func TestPeopleAcceptAnOfferOnce(t *testing.T) {
	eachReplicas(t, func(t *testing.T, worlds []*world) {
		w := worlds[0]
		owner := w.Person("Olga")
		heirs := []servertest.Person{w.Verified("Hedi"), w.Verified("Hugo"), w.Verified("Hanna"), w.Verified("Heiko")}
		for range 6 {
			record := w.Warranty(owner.Session, nil)
			code := w.offer(record.ID, owner, "new@people.example")
			events := w.Count(`SELECT count(*) FROM history`)
			count, answers := servertest.Flood(t, worlds, 32, func(i int) request { return accepting(heirs[i/2%4].Session, code) })
			equal(t, "32 concurrent acceptances", count, map[string]int{"200": 1, "422 validation_failed": 31})
			for i, a := range answers {
				if a.Status == 200 {
					roles := w.rolesOn(record.ID, heirs[i/2%4])
					if !slices.Contains(roles, "owner") {
						t.Errorf("the new owner has the roles %v", roles)
					}
				}
			}
			equal(t, "events", w.Count(`SELECT count(*) FROM history`), events+1)
			w.hasOneOwner(t, record.ID)
		}
	}, busy)
}

// hasOneOwner checks in the database that a record has one owner.
func (w *world) hasOneOwner(t *testing.T, id string) {
	t.Helper()
	owners := 0
	for _, row := range w.Rows(`SELECT roles FROM access WHERE kind = 1 AND item_id = ` + w.IDLiteral(id)) {
		if row == "1" || row == "3" || row == "5" || row == "7" {
			owners++
		}
	}
	equal(t, "owners of "+id, owners, 1)
}

// TestPeopleAcceptWhileTheOfferEnds accepts an offer while it is cancelled or replaced,
// or its record deleted: only one of the two succeeds.
func TestPeopleAcceptWhileTheOfferEnds(t *testing.T) {
	eachReplicas(t, func(t *testing.T, worlds []*world) {
		w := worlds[0]
		owner, recipient := w.Person("Olga"), w.Verified("Hedi")
		for what, c := range map[string]struct {
			end     func(id string) request
			allowed []string // the possible statuses of both
		}{
			// The former owner keeps nothing.
			"cancelled": {func(id string) request { return made("DELETE", "/api/warranties/"+id+"/transfer", owner.Session, nil) }, []string{"200 404", "422 204"}},
			"replaced":  {func(id string) request { return offering(id, owner.Session, "x@people.example") }, []string{"200 404", "422 201"}},
			"deleted":   {func(id string) request { return made("DELETE", "/api/v1/warranties/"+id, owner.Session, nil) }, []string{"200 404", "422 204"}},
		} {
			for range 12 {
				record := w.Warranty(owner.Session, nil)
				code := w.offer(record.ID, owner, recipient.Email)
				_, answers := servertest.Flood(t, worlds, 2, func(i int) request {
					if i == 0 {
						return accepting(recipient.Session, code)
					}
					return c.end(record.ID)
				})
				heard := strings.Fields(outcome(answers[0]))[0] + " " + strings.Fields(outcome(answers[1]))[0]
				if !slices.Contains(c.allowed, heard) {
					t.Errorf("accepted and %s at once: %s and %s", what, outcome(answers[0]), outcome(answers[1]))
				}
				wanted := []string(nil)
				if answers[0].Status == 200 {
					wanted = []string{"owner", "issuer"}
				}
				equal(t, "accepted and "+what+" at once: roles of the recipient", w.rolesOn(record.ID, recipient), wanted)
				if what != "deleted" {
					w.hasOneOwner(t, record.ID)
				}
			}
		}
	}, busy)
}

// TestPeopleOffersAreThrottled checks the limit of offers, each of which sends an email
// to an address of the sender's choice.
func TestPeopleOffersAreThrottled(t *testing.T) {
	eachStopped(t, func(t *testing.T, w *world, clock *stoppedClock) {
		owner, other := w.Verified("Olga"), w.Verified("Otto")
		record, others := w.Warranty(owner.Session, nil), w.Warranty(other.Session, nil)
		mails := w.Count(`SELECT count(*) FROM mails`)
		for range 3 {
			w.Must(201, offering(record.ID, owner.Session, "new@people.example"))
		}
		w.Unchanged(t, "one offer too many", func() {
			a := w.Do(offering(record.ID, owner.Session, "new@people.example"))
			refused(t, "one offer too many", a, warranty.RateLimited)
			if wait := number(t, a.Header, "Retry-After"); wait < 1 || wait > 60 {
				t.Errorf("Retry-After is %d", wait)
			}
		})
		equal(t, "mails", w.Count(`SELECT count(*) FROM mails`), mails+3)
		w.Must(201, offering(others.ID, other.Session, "new@people.example"))
		clock.Set(clock.Now().Add(61 * time.Second))
		w.Must(201, offering(record.ID, owner.Session, "new@people.example"))
	}, busy, func(s *server.Server) { s.Service.SignInRate = 3 })
}

// TestTheGiverChoosesWhatGoesAlong: a receipt goes along with a transfer only if its owner says so, and the texts of
// claims never do. The giver is emailed, and gets back what stayed when the warranty comes back. The shop keeps the
// contact of whoever filed the claim. Finding T10.
func TestTheGiverChoosesWhatGoesAlong(t *testing.T) {
	eachInTurn(t, func(t *testing.T, w *world) {
		kim, lea, shop := w.Verified("Kim"), w.Verified("Lea"), w.Verified("Sami")
		record := w.Warranty(kim.Session, fields{"seller_email": shop.Email})
		w.Confirm(shop, record.ID)
		receipt := w.Upload(kim.Session, document(record.ID, "receipt.pdf", pdf)...)
		manual := w.Upload(kim.Session, document(record.ID, "manual.pdf", pdf)...)
		claim := w.Claim(kim.Session, record.ID)
		evidence := w.Upload(kim.Session, append(document(record.ID, "photo.pdf", pdf), field("claim_id", claim))...)
		other := w.Upload(kim.Session, document(w.Warranty(kim.Session, nil).ID, "other.pdf", pdf)...)
		for name, d := range map[string]string{"of a claim": evidence.ID, "of another warranty": other.ID, "nobody's": record.ID} {
			a := w.Do(offering(record.ID, kim.Session, lea.Email, manual.ID, d))
			refused(t, "a document "+name, a, warranty.ValidationFailed)
			equal(t, name, wrongFields(t, a), []string{"documents not_yours"})
		}
		refused(t, "the same twice", w.Do(offering(record.ID, kim.Session, lea.Email, manual.ID, manual.ID)), warranty.ValidationFailed)

		description := func(who servertest.Person) string {
			t.Helper()
			var got struct{ Description string }
			w.Must(200, made("GET", "/api/v1/claims/"+claim, who.Session, nil)).Into(t, &got)
			return got.Description
		}
		text := description(kim)
		word, _, _ := strings.Cut(text, " ")
		w.Transfer(record.ID, kim, lea, manual.ID)
		equal(t, "documents of the new owner", ids(t, w.Get("/api/v1/documents", lea.Session)), []string{manual.ID})
		for _, d := range []string{receipt.ID, evidence.ID} {
			refused(t, "a document that stayed", w.Get("/api/v1/documents/"+d, lea.Session), warranty.NotFound)
			refused(t, "its file", w.Get("/api/documents/"+d+"/file", lea.Session), warranty.NotFound)
		}
		// What stayed is the giver's: they see, download and delete it, and nothing else of the warranty.
		equal(t, "documents of the giver", ids(t, w.Get("/api/v1/documents", kim.Session)), newest(other.ID, receipt.ID))
		equal(t, "the kept file", w.Get("/api/documents/"+receipt.ID+"/file", kim.Session).Body, pdf)
		refused(t, "the warranty, for the giver", w.Get("/api/v1/warranties/"+record.ID, kim.Session), warranty.NotFound)
		page := w.SignedIn(t, kim).Get("/documents/" + receipt.ID)
		if page.Status != 200 || !strings.Contains(page.Body, "You kept this document") || strings.Contains(page.Body, "/warranties/"+record.ID) {
			t.Errorf("the page of a kept document: %d %s", page.Status, page.Body)
		}
		renamed := w.SignedIn(t, kim).Post("/documents/"+receipt.ID+"/rename", "file_name", "x.pdf")
		renamed.Says(t, "renaming a kept document", 422, "You transferred the warranty of this document.")
		equal(t, "the claim, for the new owner", description(lea), "")
		equal(t, "the claim, for the shop", description(shop), text)
		equal(t, "claims of the new owner", ids(t, w.Get("/api/v1/claims", lea.Session)), []string{claim})
		equal(t, "claims that the new owner finds by the text", ids(t, w.Get("/api/v1/claims?q="+word, lea.Session)), []string{})
		equal(t, "claims that the shop finds by the text", ids(t, w.Get("/api/v1/claims?q="+word, shop.Session)), []string{claim})
		if events := w.Get("/api/warranties/"+record.ID+"/history", lea.Session).Body; strings.Contains(events, "receipt.pdf") || strings.Contains(events, text) {
			t.Errorf("the history shows what stayed: %s", events)
		}
		var handling struct{ Customer *struct{ Email string } }
		w.Must(200, made("GET", "/api/claims/"+claim+"/handling", shop.Session, nil)).Into(t, &handling)
		if handling.Customer == nil || handling.Customer.Email != kim.Email {
			t.Errorf("the shop's customer is %v", handling.Customer)
		}
		equal(t, "emails to the giver", w.Count(`SELECT count(*) FROM mails WHERE address = '`+kim.Email+`' AND subject = 'Your warranty has a new owner'`), 1)
		checkAccess(t, w)

		w.Transfer(record.ID, lea, kim)
		equal(t, "documents of the first owner again", ids(t, w.Get("/api/v1/documents?warranty_id="+record.ID, kim.Session)), newest(receipt.ID, manual.ID, evidence.ID))
		equal(t, "the claim, for the first owner again", description(kim), text)
		checkAccess(t, w)

		// Deleting what stayed frees the giver's storage, and leaves no name in the history of others.
		w.Transfer(record.ID, kim, lea)
		checkAccess(t, w)
		w.Must(200, moving(claim, lea.Session, moveTo("withdrawn")))
		w.Must(204, made("DELETE", "/api/v1/warranties/"+record.ID, lea.Session, nil))
		equal(t, "documents while it is deleted", ids(t, w.Get("/api/v1/documents", kim.Session)), []string{other.ID})
		checkAccess(t, w)
		w.Must(200, made("POST", "/api/warranties/"+record.ID+"/restore", lea.Session, nil))
		equal(t, "documents after it was restored", ids(t, w.Get("/api/v1/documents", kim.Session)), newest(other.ID, receipt.ID))
		checkAccess(t, w)
		w.Must(204, made("DELETE", "/api/documents/"+receipt.ID, kim.Session, nil))
		equal(t, "documents after deleting", ids(t, w.Get("/api/v1/documents", kim.Session)), []string{other.ID})
		if events := w.Get("/api/warranties/"+record.ID+"/history", lea.Session).Body; strings.Contains(events, "receipt.pdf") {
			t.Errorf("the history names a deleted document: %s", events)
		}
		checkAccess(t, w)
	}, busy)
}

// TestTransfersAndHandoversAreTakenAlike takes the codes of both with both operations, by email without an account, and with
// the code of an email only at its address.
func TestTransfersAndHandoversAreTakenAlike(t *testing.T) {
	eachInTurn(t, func(t *testing.T, w *world) {
		shop, olga, kim, eve := w.issuer("Ann"), w.person("Olga", true), w.person("Kim", true), w.person("Eve", true)
		posted := func(path, code string) (int, string) {
			a := w.Send("POST", path, kim.session, fields{"code": code})
			return a.Status, a.Code()
		}
		offer := func(email string) warranty.TransferOffer {
			own := w.record(olga, "")
			in := warranty.OfferTransfer{ID: warranty.WarrantyKey{ID: own.ID}, Email: email}
			return must[warranty.TransferOffer](t)(w.Service.OfferTransfer(ctx, olga.Principal, in))
		}
		slip := shop.prints(shop.sells(warranty.CreateWarranty{}).ID)
		if status, code := posted("/api/transfers/accept", slip); status != 200 {
			t.Errorf("a slip, accepted: %d %s", status, code)
		}
		if status, code := posted("/api/handovers/take", offer("nobody@people.example").Code); status != 200 {
			t.Errorf("a transfer, taken: %d %s", status, code)
		}
		// What someone with the code sees.
		shown := offer(kim.User.Email)
		preview := must[warranty.HandoverPreview](t)(w.Service.PreviewHandover(ctx, warranty.Principal{}, warranty.PreviewHandover{Code: shown.Code}))
		if !preview.Transfer || preview.Business || preview.From.Name != olga.User.Name || preview.Issuer != nil || preview.Email != nil {
			t.Errorf("%+v", preview)
		}
		// The code of the email works only at its address, where it also signs in; then neither code works.
		mailed := w.mailedCode(kim.User.Email)
		if _, err := w.take(eve, mailed); codeOf(err) != warranty.RoleNotAllowed {
			t.Errorf("taken by another address: %v", err)
		}
		in, err := w.Service.RegisterHandover(ctx, warranty.Principal{}, warranty.RegisterHandover{Code: mailed})
		if err != nil || in.User.ID != kim.User.ID || in.Warranty.ID != shown.WarrantyID {
			t.Fatalf("signed in: %+v, %v", in, err)
		}
		for _, code := range []string{mailed, shown.Code} {
			if _, err := w.take(eve, code); fieldCode(err) != "code taken" {
				t.Errorf("taken twice: %v", err)
			}
		}
		// Someone without an account gets one. With the code of the owner, they ask for an email first.
		if _, err := w.Service.RegisterHandover(ctx, warranty.Principal{}, warranty.RegisterHandover{Code: offer("new@people.example").Code}); fieldCode(err) != "code address_required" {
			t.Errorf("registered without an address: %v", err)
		}
		mailed = w.mailedCode("new@people.example")
		if in, err = w.Service.RegisterHandover(ctx, warranty.Principal{}, warranty.RegisterHandover{Code: mailed}); err != nil || in.User.Email != "new@people.example" {
			t.Errorf("a newcomer: %+v, %v", in, err)
		}
		passed := offer("else@people.example").Code
		if _, err := w.Service.EmailHandover(ctx, warranty.Principal{}, warranty.EmailHandover{Code: passed, Email: "buyer@people.example"}); err != nil {
			t.Fatal(err)
		}
		in, err = w.Service.RegisterHandover(ctx, warranty.Principal{}, warranty.RegisterHandover{Code: w.mailedCode("buyer@people.example")})
		if err != nil || in.User.Email != "buyer@people.example" || !in.Warranty.Roles.SelfRecorded() {
			t.Errorf("a buyer: %+v, %v", in, err)
		}
		// An owner cannot take from themselves.
		if _, err := w.take(olga, offer(eve.User.Email).Code); codeOf(err) != warranty.RoleNotAllowed {
			t.Errorf("taken by its owner: %v", err)
		}
		checkAccess(t, w)
	}, busy)
}

// TestOneOfferAtATime: a hand-over ends a transfer and a transfer a hand-over, and both are in the history.
func TestOneOfferAtATime(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		shop, kim := w.issuer("Ann"), w.person("Kim", true)
		made := shop.sells(warranty.CreateWarranty{})
		key := warranty.WarrantyKey{ID: made.ID}
		transfer := func() string {
			in := warranty.OfferTransfer{ID: key, Email: kim.User.Email}
			return must[warranty.TransferOffer](t)(w.Service.OfferTransfer(ctx, shop.acting.Principal, in)).Code
		}
		slip := shop.prints(made.ID)
		first := transfer()
		if _, err := w.take(kim, slip); fieldCode(err) != "code cancelled" {
			t.Errorf("the slip before the transfer: %v", err)
		}
		got := must[warranty.Warranty](t)(w.Service.GetWarranty(ctx, shop.acting.Principal, warranty.GetWarranty{ID: key}))
		equal(t, "the hand-over", got.Handover.Status, warranty.HandoverNone)
		slip = shop.prints(made.ID)
		if _, err := w.take(kim, first); fieldCode(err) != "code cancelled" {
			t.Errorf("the transfer before the slip: %v", err)
		}
		if _, err := w.take(kim, slip); err != nil {
			t.Error(err)
		}
		ended := []warranty.Action{}
		for _, e := range must[warranty.Page[warranty.Event]](t)(w.Service.ListHistory(ctx, shop.acting.Principal,
			warranty.ListHistory{ID: key})).Data {
			if e.Action == warranty.HandoverCancelled || e.Action == warranty.TransferCancelled {
				ended = append(ended, e.Action)
			}
		}
		equal(t, "ended", ended, []warranty.Action{warranty.TransferCancelled, warranty.HandoverCancelled})
	}, busy)
}

// TestEmailsOfOffersStopSigningIn: what ends the credentials of an account also ends that the code of an emailed offer
// signs in to it. The code still takes the warranty.
func TestEmailsOfOffersStopSigningIn(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		shop, kim := w.issuer("Ann"), w.person("Kim", true)
		shop.sells(warranty.CreateWarranty{CustomerEmail: kim.User.Email})
		code := w.mailedCode(kim.User.Email)
		w.write(func(tx *store.Tx) error { return tx.DeleteCodes(kim.User.ID) })
		if _, err := w.Service.RegisterHandover(ctx, warranty.Principal{}, warranty.RegisterHandover{Code: code}); codeOf(err) != warranty.AlreadyExists {
			t.Errorf("signed in: %v", err)
		}
		if _, err := w.take(kim, code); err != nil {
			t.Error(err)
		}
	}, busy)
}
