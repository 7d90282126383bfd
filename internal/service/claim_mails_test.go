package service_test

import (
	"encoding/base64"
	"errors"
	"strings"
	"testing"
	"time"

	"warranty.example/svc/internal/mail"
	"warranty.example/svc/internal/servertest"
	"warranty.example/svc/internal/service"
	"warranty.example/svc/internal/store"
	"warranty.example/svc/warranty"
)

// claimDesk is a shop of Ann and Bob with a claim of its customer Kim.
type claimDesk struct {
	*world
	shop     issuer
	kim, bob person
	record   warranty.Warranty
	claim    warranty.Claim
	key      warranty.ClaimKey
	box      *outbox
}

func (w *world) claimDesk(t *testing.T) *claimDesk {
	t.Helper()
	d := &claimDesk{world: w, shop: w.issuer("Ann"), kim: w.person("Kim", true), bob: w.person("Bob", true)}
	w.join(d.shop.admin, d.shop.Organization, d.bob, warranty.Member)
	wants := true
	must[warranty.Organization](t)(w.Service.UpdateOrganization(ctx, d.bob.Principal, warranty.UpdateOrganization{ID: d.shop.ID, MailClaims: &wants}))
	d.record = d.shop.sells(warranty.CreateWarranty{})
	must[warranty.Warranty](t)(w.take(d.kim, d.shop.prints(d.record.ID)))
	d.box = w.mailbox()
	d.claim = w.claim(d.kim, d.record.ID)
	d.key = warranty.ClaimKey{ID: d.claim.ID}
	return d
}

// got sends everything that is due and returns who got an email, by the first part of the address.
func (d *claimDesk) got() (names []string) {
	d.T.Helper()
	for _, m := range d.mails() {
		name, _, _ := strings.Cut(m.To, ".")
		names = append(names, name)
	}
	return names
}

func (d *claimDesk) mails() []mail.Message {
	d.T.Helper()
	if err := errors.Join(d.Service.SendDigests(ctx), d.Service.SendNotices(ctx)); err != nil {
		d.T.Fatal(err)
	}
	d.deliver()
	list := d.box.sent
	d.box.take()
	return list
}

func (d *claimDesk) says(t *testing.T, by warranty.Principal, text string) {
	t.Helper()
	d.Exec(`DELETE FROM mail_log`) // as if ten minutes had passed
	must[warranty.Message](t)(d.Service.WriteMessage(ctx, by, warranty.WriteMessage{ID: d.key, Body: text}))
}

// TestMutedClaims: a recipient who mutes a claim gets no emails about it, not even gathered ones and decisions, and sees
// everything on the page. Nobody can mute it for others, with a link of another person or a changed one.
func TestMutedClaims(t *testing.T) {
	eachInTurn(t, func(t *testing.T, w *world) {
		d := w.claimDesk(t)
		links := map[string]string{}
		for _, m := range d.mails() {
			_, rest, _ := strings.Cut(m.Text, "Stop emails about this claim:")
			name, _, _ := strings.Cut(m.To, ".")
			links[name] = strings.TrimPrefix(strings.Fields(rest)[0], servertest.PublicURL+"/unsubscribe/")
		}
		equal(t, "emails", len(links), 2)
		mute := func(token string, muted bool) (service.Subscription, error) {
			return w.Service.Subscribe(ctx, warranty.Principal{}, token, !muted)
		}
		for range 2 { // sending it again changes nothing
			s, err := mute(links["bob"], true)
			if err != nil || s.Wanted || s.Claim != d.claim.ClaimNumber {
				t.Fatalf("muting: %+v, %v", s, err)
			}
		}
		d.says(t, d.kim.Principal, "It leaks.")
		equal(t, "after Bob muted it", d.got(), []string{"ann"})
		bob := w.acting(d.bob, d.shop.Organization)
		if muted, err := w.Service.Muted(ctx, bob, d.claim.ID); err != nil || !muted {
			t.Errorf("Bob's page: %v, %v", muted, err)
		}
		if muted, err := w.Service.Muted(ctx, d.shop.acting.Principal, d.claim.ID); err != nil || muted {
			t.Errorf("Ann's page: %v, %v", muted, err)
		}
		// Every changed byte is refused: a token is for one person, one account and one claim.
		raw, err := base64.RawURLEncoding.DecodeString(links["bob"])
		if err != nil {
			t.Fatal(err)
		}
		for i := range raw {
			changed := append([]byte{}, raw...)
			changed[i] ^= 1
			if _, err := mute(base64.RawURLEncoding.EncodeToString(changed), false); !errors.Is(err, warranty.ErrNotFound) {
				t.Fatalf("byte %d: %v", i, err)
			}
		}
		other := w.claim(d.kim, d.record.ID)
		d.mails()
		if muted, err := w.Service.Muted(ctx, bob, other.ID); err != nil || muted {
			t.Errorf("another claim: %v, %v", muted, err)
		}

		// By session, for oneself alone; a digest that was begun before says nothing either.
		must[warranty.Message](t)(w.Service.WriteMessage(ctx, d.shop.acting.Principal, warranty.WriteMessage{ID: d.key, Body: "Since when?"}))
		must[warranty.Message](t)(w.Service.WriteMessage(ctx, d.shop.acting.Principal, warranty.WriteMessage{ID: d.key, Body: "And where?"}))
		equal(t, "the first message", d.got(), []string{"kim"})
		yes, no := true, false
		must[warranty.ClaimMute](t)(w.Service.MuteClaim(ctx, d.kim.Principal, warranty.MuteClaim{ID: d.key, Muted: &yes}))
		w.execute(`UPDATE mail_digest SET due_at = 0`)
		equal(t, "the second one, muted", d.got(), []string(nil))
		w.Exec(`DELETE FROM mail_log`)
		must[warranty.Claim](t)(w.Service.MoveClaim(ctx, d.shop.acting.Principal, warranty.MoveClaim{ID: d.key, Status: warranty.Approved}))
		equal(t, "a decision, muted", d.got(), []string(nil))
		if seen, err := w.Service.GetClaim(ctx, d.kim.Principal, warranty.GetClaim{ID: d.key}); err != nil || seen.Status != warranty.Approved || len(seen.Messages) != 3 {
			t.Errorf("the page: %+v, %v", seen, err)
		}
		must[warranty.ClaimMute](t)(w.Service.MuteClaim(ctx, d.kim.Principal, warranty.MuteClaim{ID: d.key, Muted: &no}))
		d.says(t, d.shop.acting.Principal, "Come by.")
		equal(t, "with emails again", d.got(), []string{"kim"})

		// It ends with the membership and with the role.
		must[warranty.None](t)(w.Service.RemoveMember(ctx, d.shop.admin.Principal, warranty.RemoveMember{ID: d.shop.ID, UserID: d.bob.User.ID}))
		if _, err := mute(links["bob"], false); !errors.Is(err, warranty.ErrNotFound) {
			t.Errorf("a former member: %v", err)
		}
		must[warranty.ClaimMute](t)(w.Service.MuteClaim(ctx, d.kim.Principal, warranty.MuteClaim{ID: d.key, Muted: &yes}))
		offer := must[warranty.TransferOffer](t)(w.Service.OfferTransfer(ctx, d.kim.Principal,
			warranty.OfferTransfer{ID: warranty.WarrantyKey{ID: d.record.ID}, Email: d.bob.User.Email}))
		must[warranty.Warranty](t)(w.take(d.bob, offer.Code))
		equal(t, "what is muted", w.number(`SELECT count(*) FROM claim_mutes`), int64(0))
		if _, err := w.Service.MuteClaim(ctx, d.kim.Principal, warranty.MuteClaim{ID: d.key, Muted: &yes}); !errors.Is(err, warranty.ErrNotFound) {
			t.Errorf("a former owner: %v", err)
		}
	}, busy)
}

// TestADecisionSaysWhatWasGathered: a decision is mailed at once although a message was mailed a moment before, and has
// the messages that were still to be gathered.
func TestADecisionSaysWhatWasGathered(t *testing.T) {
	eachInTurn(t, func(t *testing.T, w *world) {
		d := w.claimDesk(t)
		d.mails()
		ann := d.shop.acting.Principal
		for _, text := range []string{"First.", "Second."} {
			must[warranty.Message](t)(w.Service.WriteMessage(ctx, ann, warranty.WriteMessage{ID: d.key, Body: text}))
		}
		must[warranty.Claim](t)(w.Service.MoveClaim(ctx, ann, warranty.MoveClaim{ID: d.key, Status: warranty.Rejected, Reason: "Worn out."}))
		var said []string
		for _, m := range d.mails() {
			if m.To == d.kim.User.Email {
				said = append(said, m.Subject+"\n"+m.Text)
			}
		}
		if len(said) != 2 || !strings.Contains(said[0], "> First.") || !strings.Contains(said[1], "> Worn out.") ||
			!strings.Contains(said[1], "> Second.") || !strings.Contains(said[1], "Decision: rejected") || strings.Contains(said[1], "First.") {
			t.Errorf("emails: %s", strings.Join(said, "\n-----\n"))
		}
		w.execute(`UPDATE mail_digest SET due_at = 0`)
		for _, m := range d.mails() {
			if m.To == d.kim.User.Email {
				t.Errorf("again: %s\n%s", m.Subject, m.Text)
			}
		}
	}, busy)
}

// TestNobodyIsMailedAboutTheirOwnAct walks everything that emails others, by every member of a shop that acts for it and
// by the owner, and finds no email to who did it. Ann is a member of the owner's organization too.
func TestNobodyIsMailedAboutTheirOwnAct(t *testing.T) {
	eachStopped(t, func(t *testing.T, w *world, clock *stoppedClock) {
		d := w.claimDesk(t)
		d.mails()
		club := w.shop(d.kim)
		w.join(d.kim, club, d.shop.admin, warranty.Admin)
		wants := true
		must[warranty.Organization](t)(w.Service.UpdateOrganization(ctx, d.shop.admin.Principal, warranty.UpdateOrganization{ID: club.ID, MailClaims: &wants}))
		owned := d.shop.sells(warranty.CreateWarranty{})
		must[warranty.Warranty](t)(w.take(person{Principal: w.acting(d.kim, club)}, d.shop.prints(owned.ID)))
		business := []warranty.Principal{d.shop.acting.Principal, w.acting(d.bob, d.shop.Organization)}
		owners := []warranty.Principal{w.acting(d.kim, club), w.acting(d.shop.admin, club)}
		in := func(id warranty.ID) warranty.ClaimKey { return warranty.ClaimKey{ID: id} }
		type act struct {
			what string
			do   func(p warranty.Principal, claim warranty.ID) error
		}
		say := act{"message", func(p warranty.Principal, c warranty.ID) error {
			_, err := w.Service.WriteMessage(ctx, p, warranty.WriteMessage{ID: in(c), Body: "Hello."})
			return err
		}}
		move := func(to warranty.ClaimStatus) act {
			return act{to.String(), func(p warranty.Principal, c warranty.ID) error {
				m := warranty.MoveClaim{ID: in(c), Status: to, Reason: "So."}
				if to == warranty.Resolved {
					m.Resolution = warranty.Repaired
				}
				_, err := w.Service.MoveClaim(ctx, p, m)
				return err
			}}
		}
		change := act{"change", func(p warranty.Principal, _ warranty.ID) error {
			name := "Pot " + w.Service.NewID().String()
			_, err := w.Service.UpdateWarranty(ctx, p, warranty.UpdateWarranty{ID: warranty.WarrantyKey{ID: owned.ID}, ProductName: &name})
			return err
		}}
		mails := 0
		try := func(a act, p warranty.Principal, claim warranty.ID) {
			t.Helper()
			w.execute(`UPDATE sessions SET expires_at = 9000000000000000`)
			w.Exec(`DELETE FROM mail_log`)
			if err := a.do(p, claim); err != nil {
				t.Fatalf("%s by %s: %v", a.what, p.User.Name, err)
			}
			clock.Set(clock.Now().Add(2 * time.Hour))
			for _, m := range d.mails() {
				mails++
				if m.To == p.User.Email {
					t.Errorf("%s by %s for %s: emailed %q", a.what, p.User.Name, p.Account.Name, m.Subject)
				}
			}
		}
		for i := range 2 {
			b, o := business[i], owners[i]
			var claim warranty.Claim
			try(act{"filing", func(p warranty.Principal, _ warranty.ID) (err error) {
				claim, err = w.Service.FileClaim(ctx, p, warranty.FileClaim{WarrantyID: warranty.WarrantyKey{ID: owned.ID}, Type: warranty.Repair,
					Description: "It leaks.", IncidentDate: warranty.DateOf(clock.Now())})
				return err
			}}, o, warranty.ID{})
			for _, step := range []struct {
				act
				by warranty.Principal
			}{
				{say, o}, {say, b}, {move(warranty.InfoRequested), b}, {say, o}, {move(warranty.Rejected), b}, {move(warranty.UnderReview), o},
				{move(warranty.Approved), b}, {move(warranty.InProgress), b}, {say, b}, {move(warranty.Resolved), b}, {change, b},
			} {
				try(step.act, step.by, claim.ID)
			}
		}
		try(act{"transfer to oneself", func(p warranty.Principal, _ warranty.ID) error {
			offer, err := w.Service.OfferTransfer(ctx, p, warranty.OfferTransfer{ID: warranty.WarrantyKey{ID: owned.ID}, Email: "x@people.example"})
			if err == nil {
				_, err = w.take(d.kim, offer.Code)
			}
			return err
		}}, owners[0], warranty.ID{})
		if mails < 30 {
			t.Errorf("only %d emails", mails)
		}
	}, busy)
}

// TestEmailsInTheNameOfAnOrganization: the name is in front of the address only if the organization has a verified domain,
// and answers go to its verified address, but never those to an email with a code.
func TestEmailsInTheNameOfAnOrganization(t *testing.T) {
	eachInTurn(t, func(t *testing.T, w *world) {
		d := w.claimDesk(t)
		d.mails()
		ann := d.shop.acting.Principal
		about := func() (from, reply string) {
			t.Helper()
			d.says(t, ann, "Hello.")
			for _, m := range d.mails() {
				if m.To == d.kim.User.Email {
					return m.From, m.ReplyTo
				}
			}
			t.Fatal("no email")
			return "", ""
		}
		from, reply := about()
		equal(t, "without anything", []string{from, reply}, []string{"", ""})
		w.execute(`UPDATE organizations SET contact_email = 'service@shop.example'`)
		_, reply = about()
		equal(t, "with an address that is not verified", reply, "")
		w.execute(`INSERT INTO addresses (email, account_id, id, verified_at) SELECT 'service@shop.example', id, id, 1 FROM organizations`)
		from, reply = about()
		equal(t, "with a verified address", []string{from, reply}, []string{"", "service@shop.example"})
		w.verify(d.shop, "shop.example")
		from, reply = about()
		equal(t, "with a domain", []string{from, reply}, []string{d.shop.Name, "service@shop.example"})
		d.shop.sells(warranty.CreateWarranty{CustomerEmail: "new@people.example"})
		for _, m := range d.mails() {
			equal(t, "with a code", []string{m.From, m.ReplyTo}, []string{d.shop.Name, ""})
		}
		w.execute(`UPDATE users SET name = 'Warranty Records Support' WHERE id = ` + w.literal(d.shop.ID))
		from, _ = about()
		equal(t, "with the name of the service", from, "")
	}, busy)
}

// TestStoredDocumentsAreSent: an owner sends documents of the warranty with a claim and a message, without uploading them
// again. The businesses see these alone, as long as they are attached, and nobody sends the documents of another warranty or
// person.
func TestStoredDocumentsAreSent(t *testing.T) {
	eachInTurn(t, func(t *testing.T, w *world) {
		d := w.claimDesk(t)
		ann, stranger := d.shop.acting.Principal, w.person("Eve", true)
		receipt, manual := w.document(d.kim, d.record.ID), w.document(d.kim, d.record.ID)
		elsewhere := w.document(d.kim, w.record(d.kim, "").ID)
		evidence := must[warranty.Document](t)(w.upload(person{Principal: ann}, d.record.ID, "report.txt"))
		sees := func(p warranty.Principal, id warranty.ID) bool {
			_, err := w.Service.GetDocument(ctx, p, warranty.GetDocument{ID: id})
			if err != nil && !errors.Is(err, warranty.ErrNotFound) {
				t.Fatal(err)
			}
			return err == nil
		}
		file := func(p warranty.Principal, ids ...warranty.ID) (warranty.Claim, error) {
			in := warranty.FileClaim{WarrantyID: warranty.WarrantyKey{ID: d.record.ID}, Type: warranty.Repair, Description: "It leaks.",
				IncidentDate: warranty.DateOf(w.Clock.Now())}
			for _, id := range ids {
				in.DocumentIDs = append(in.DocumentIDs, id.String())
			}
			return w.Service.FileClaim(ctx, p, in)
		}
		before := w.number(`SELECT count(*) FROM claims`)
		for what, ids := range map[string][]warranty.ID{
			"of another warranty": {elsewhere.ID}, "unknown": {w.Service.NewID()}, "one of two": {receipt.ID, elsewhere.ID},
			"twice": {receipt.ID, receipt.ID}, "of a stranger": {w.document(stranger, w.record(stranger, "").ID).ID},
		} {
			_, err := file(d.kim.Principal, ids...)
			if refusal := warranty.AsError(err); len(refusal.Fields) != 1 || refusal.Fields[0].Field != "document_ids" {
				t.Errorf("%s: %v", what, err)
			}
		}
		equal(t, "claims filed", w.number(`SELECT count(*) FROM claims`), before)
		equal(t, "the shop sees it before", sees(ann, receipt.ID), false)
		c := must[warranty.Claim](t)(file(d.kim.Principal, receipt.ID, evidence.ID))
		key := warranty.ClaimKey{ID: c.ID}
		equal(t, "the shop sees", []bool{sees(ann, receipt.ID), sees(ann, manual.ID), sees(stranger.Principal, receipt.ID)}, []bool{true, false, false})
		documents, _, err := w.Service.ClaimThread(ctx, ann, c)
		if err != nil || len(documents) != 2 || !documents[0].Filed || !documents[0].Stored {
			t.Errorf("filed with the claim: %+v, %v", documents, err)
		}
		if _, err := w.Service.RenameDocument(ctx, d.kim.Principal, warranty.RenameDocument{ID: receipt.ID, FileName: "other.txt"}); err == nil {
			t.Error("what was sent got another name")
		}
		says := func(p warranty.Principal, id warranty.ID) (warranty.Message, error) {
			return w.Service.WriteMessage(ctx, p, warranty.WriteMessage{ID: key, Body: "Here.", DocumentIDs: []string{id.String()}})
		}
		if _, err := says(ann, evidence.ID); warranty.AsError(err).Code != warranty.ValidationFailed {
			t.Errorf("a business sent one: %v", err)
		}
		m := must[warranty.Message](t)(says(d.kim.Principal, manual.ID))
		if len(m.Documents) != 1 || m.Documents[0].ID != manual.ID || !sees(ann, manual.ID) {
			t.Errorf("sent with a message: %+v", m)
		}
		read := must[warranty.Claim](t)(w.Service.GetClaim(ctx, ann, warranty.GetClaim{ID: key}))
		equal(t, "the shop reads", len(read.Messages[0].Documents), 1)

		// Taken back, by the owner alone.
		detach := func(p warranty.Principal, id warranty.ID) error {
			_, err := w.Service.DetachDocument(ctx, p, warranty.DetachDocument{ID: key, DocumentID: id})
			return err
		}
		if err := detach(ann, receipt.ID); warranty.AsError(err).Code != warranty.RoleNotAllowed {
			t.Errorf("taken back by the shop: %v", err)
		}
		if err := detach(stranger.Principal, receipt.ID); !errors.Is(err, warranty.ErrNotFound) {
			t.Errorf("taken back by a stranger: %v", err)
		}
		if err := detach(d.kim.Principal, receipt.ID); err != nil {
			t.Fatal(err)
		}
		equal(t, "after it was taken back", []bool{sees(ann, receipt.ID), sees(d.kim.Principal, receipt.ID)}, []bool{false, true})
		if err := detach(d.kim.Principal, receipt.ID); !errors.Is(err, warranty.ErrNotFound) {
			t.Errorf("taken back twice: %v", err)
		}
		// Deleting a document takes it back, too.
		must[warranty.None](t)(w.Service.DeleteDocument(ctx, d.kim.Principal, warranty.DeleteDocument{ID: manual.ID}))
		equal(t, "attachments", w.number(`SELECT count(*) FROM claim_documents`), int64(1))
	}, busy)
}

// TestAClaimIsFiledWithItsFiles: a claim whose form kept a file that is gone is not filed, and the other files are still
// there. The same file twice is sent once.
func TestAClaimIsFiledWithItsFiles(t *testing.T) {
	eachInTurn(t, func(t *testing.T, w *world) {
		d := w.claimDesk(t)
		keep := func(name, content string, use service.DraftFor) warranty.ID {
			t.Helper()
			return must[service.Draft](t)(w.keep(d.kim.Principal, name, content, use)).ID
		}
		in := warranty.FileClaim{WarrantyID: warranty.WarrantyKey{ID: d.record.ID}, Type: warranty.Repair, Description: "It leaks.",
			IncidentDate: warranty.DateOf(w.Clock.Now())}
		a, same, gone := keep("a.pdf", pdf, service.DraftFor{}), keep("b.pdf", pdf, service.DraftFor{}), keep("c.pdf", pdf+"c", service.DraftFor{})
		if err := w.Service.DropDrafts(ctx, d.kim.Principal, []string{gone.String()}); err != nil {
			t.Fatal(err)
		}
		before := w.number(`SELECT count(*) FROM claims`)
		_, err := w.Service.FileClaimWith(ctx, d.kim.Principal, in, []warranty.ID{a, gone})
		if refusal := warranty.AsError(err); len(refusal.Fields) != 1 || refusal.Fields[0].Field != "documents" {
			t.Errorf("a file is gone: %v", err)
		}
		equal(t, "claims", w.number(`SELECT count(*) FROM claims`), before)
		key := "form-1"
		in.IdempotencyKey = &key
		c := must[warranty.Claim](t)(w.Service.FileClaimWith(ctx, d.kim.Principal, in, []warranty.ID{a, same}))
		documents, _, err := w.Service.ClaimThread(ctx, d.kim.Principal, c)
		if err != nil || len(documents) != 1 || documents[0].ID != a || !documents[0].Filed {
			t.Errorf("documents: %+v, %v", documents, err)
		}
		again := must[warranty.Claim](t)(w.Service.FileClaimWith(ctx, d.kim.Principal, in, []warranty.ID{keep("a.pdf", pdf, service.DraftFor{})}))
		equal(t, "sent twice", []any{again.ID, w.number(`SELECT count(*) FROM drafts`)}, []any{c.ID, int64(0)})

		// A file that is uploaded a moment later was not filed.
		use := service.DraftFor{Claim: warranty.ClaimKey{ID: c.ID}}
		one, two := keep("photo.pdf", pdf+"1", use), keep("copy.pdf", pdf+"1", use)
		m := must[warranty.Message](t)(w.Service.WriteMessage(ctx, d.kim.Principal,
			warranty.WriteMessage{ID: warranty.ClaimKey{ID: c.ID}, Body: "Look.", Documents: []string{one.String(), two.String()}}))
		if len(m.Documents) != 1 || m.Documents[0].ID != one {
			t.Errorf("the same file twice: %+v", m.Documents)
		}
		equal(t, "filed", w.number(`SELECT count(*) FROM documents WHERE filed = 1 AND claim_id = `+w.literal(c.ID)), int64(1))
	}, busy)
}

// TestErasureRemovesEmails: an email that could not be sent does not keep what an erased person wrote.
func TestErasureRemovesEmails(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		d := w.claimDesk(t)
		d.mails()
		d.says(t, d.kim.Principal, "My secret.")
		equal(t, "emails", w.number(`SELECT count(*) FROM mails WHERE html LIKE '%My secret.%'`), int64(2))
		w.Exec(`DELETE FROM mail_log`)
		w.write(func(tx *store.Tx) error {
			_, err := tx.LockUser(d.kim.User.ID)
			if err == nil {
				err = tx.EraseUser(d.kim.User.ID, d.kim.User.Email, w.Clock.Now())
			}
			return err
		})
		equal(t, "after the erasure", w.number(`SELECT count(*) FROM mails WHERE html LIKE '%My secret.%'`), int64(0))
	}, busy)
}
