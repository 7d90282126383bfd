package service_test

import (
	"fmt"
	"strings"
	"sync"
	"testing"

	"warranty.example/svc/internal/store"
	"warranty.example/svc/warranty"
)

// desk is a shop, a customer, and a claim between them.
type desk struct {
	*world
	ann, kim person // the shop's admin, and the customer
	shop     person // ann, acting for the shop
	o        warranty.Organization
	record   warranty.Warranty
	claim    warranty.Claim
}

func (w *world) desk() desk {
	w.T.Helper()
	d := desk{world: w, ann: w.person("Ann", true), kim: w.person("Kim", true)}
	d.o = w.shop(d.ann)
	d.shop = person{Principal: w.acting(d.ann, d.o)}
	d.record = w.record(d.shop, "")
	w.write(func(tx *store.Tx) error { return tx.MoveOwner(d.record.ID, d.o.ID, d.kim.User.ID) })
	d.claim = w.claim(d.kim, d.record.ID)
	return d
}

func (d desk) key() warranty.ClaimKey { return warranty.ClaimKey{ID: d.claim.ID} }

func (d desk) say(p person, body string, documents ...string) error {
	_, err := d.Service.WriteMessage(ctx, p.Principal, warranty.WriteMessage{ID: d.key(), Body: body, Documents: documents})
	return err
}

func (d desk) move(p person, to warranty.ClaimStatus, reason string, documents ...string) error {
	_, err := d.Service.MoveClaim(ctx, p.Principal,
		warranty.MoveClaim{ID: d.key(), Status: to, Reason: reason, Documents: documents})
	return err
}

// attach uploads a file to the claim.
func (d desk) attach(p person, name string) warranty.Document {
	d.T.Helper()
	stored, err := d.Service.StoreFile(ctx, strings.NewReader("A photo, in plain text."))
	if err != nil {
		d.T.Fatal(err)
	}
	file, err := d.Service.UploadDocument(ctx, p.Principal, stored, warranty.UploadDocument{
		WarrantyID: warranty.WarrantyKey{ID: d.record.ID}, ClaimID: d.key(), Type: warranty.ClaimEvidence, FileName: name})
	if err != nil {
		d.T.Fatal(err)
	}
	return file
}

// talk returns the conversation as someone reads it, oldest first.
func (d desk) talk(p person) []string {
	d.T.Helper()
	page, err := d.Service.ListMessages(ctx, p.Principal, warranty.ListMessages{ID: d.key()})
	if err != nil {
		d.T.Fatal(err)
	}
	list := make([]string, len(page.Data))
	for i, m := range page.Data {
		text := fmt.Sprintf("%s (%s): %s", m.Author.Name, m.Author.Role, m.Body)
		for _, file := range m.Documents {
			text += " [" + file.FileName + "]"
		}
		list[len(list)-1-i] = text
	}
	equal(d.T, "total", page.Pagination.Total, int64(len(list)))
	return list
}

// read returns the claim with whom it waits for.
func (d desk) read(p person) (c warranty.Claim, waits string) {
	d.T.Helper()
	c, err := d.Service.GetClaim(ctx, p.Principal, warranty.GetClaim{ID: d.key()})
	if err != nil {
		d.T.Fatal(err)
	}
	if c.WaitingFor != nil {
		waits = c.WaitingFor.String()
	}
	return c, waits
}

func (d desk) must(err error) {
	d.T.Helper()
	if err != nil {
		d.T.Fatal(err)
	}
}

// TestClaimsAreConversations goes through a claim: a question, a reply with a file that continues the review, a
// decision with a message, and the lists that show whom it waits for (contract §16).
func TestClaimsAreConversations(t *testing.T) {
	eachInTurn(t, func(t *testing.T, w *world) {
		d := w.desk()
		expect := func(what string, status warranty.ClaimStatus, waits string) {
			t.Helper()
			c, got := d.read(d.kim)
			equal(t, what+": status", c.Status, status)
			equal(t, what+": waits for", got, waits)
			for _, side := range []warranty.ClaimSide{warranty.OwnerSide, warranty.BusinessSide} {
				for _, p := range []person{d.kim, d.shop} {
					for _, sort := range []warranty.ClaimSort{"", warranty.ClaimsByWaiting} {
						page, err := d.Service.ListClaims(ctx, p.Principal, warranty.ListClaims{WaitingFor: side, Sort: sort})
						d.must(err)
						equal(t, fmt.Sprintf("%s: %s list, sort %q", what, side, sort), len(page.Data) == 1, side.String() == waits)
					}
				}
			}
			for p, side := range map[*person]string{&d.kim: "owner", &d.shop: "business"} {
				list, err := d.Store.WaitingClaims(ctx, p.Account.ID, 5)
				d.must(err)
				equal(t, what+": needs attention of the "+side, len(list) == 1, side == waits)
			}
			for i, accounts := range [][]int{{0, 1}, {1}} { // the shop is the second account of Ann
				who := []person{d.ann, d.kim}[i]
				list, err := d.Service.Accounts(ctx, who.Principal)
				d.must(err)
				equal(t, what+": figure of "+who.User.Name, list[len(accounts)-1].Waiting == 1, []string{"business", "owner"}[i] == waits)
			}
		}
		expect("filed", warranty.Submitted, "business")
		d.must(d.move(d.shop, warranty.InfoRequested, "Which plate?"))
		expect("asked at once", warranty.InfoRequested, "owner")
		photo := d.attach(d.kim, "plate.txt")
		d.must(d.say(d.kim, "This one.", photo.ID.String()))
		expect("replied", warranty.UnderReview, "business")
		d.must(d.say(d.shop, "We look at it."))
		expect("the shop wrote", warranty.UnderReview, "owner")
		d.must(d.say(d.kim, "Thanks."))
		expect("the owner wrote", warranty.UnderReview, "business")
		report := d.attach(d.shop, "report.txt")
		d.must(d.move(d.shop, warranty.Approved, "Bring it.", report.ID.String()))
		expect("approved", warranty.Approved, "") // out of what waits for the business (contract §22)
		d.must(d.move(d.shop, warranty.InProgress, ""))
		expect("in progress", warranty.InProgress, "")
		d.must(d.say(d.kim, "When?"))
		expect("asked meanwhile", warranty.InProgress, "business")
		want := []string{"Ann (business): Which plate?", "Kim (owner): This one. [plate.txt]", "Ann (business): We look at it.",
			"Kim (owner): Thanks.", "Ann (business): Bring it. [report.txt]", "Kim (owner): When?"}
		for _, p := range []person{d.kim, d.shop} {
			equal(t, "the conversation", d.talk(p), want)
		}
		// A token without documents:read gets no file names; the single claim has the messages too.
		token := w.tokenOf(d.kim)
		token.Scopes = warranty.Scopes{warranty.ClaimsRead}
		equal(t, "without files", d.talk(person{Principal: token})[1], "Kim (owner): This one.")
		c, _ := d.read(d.kim)
		equal(t, "messages of the claim", len(c.Messages), 6)
		equal(t, "the newest first", c.Messages[0].Body, "When?")
		d.must(func() error {
			_, err := d.Service.MoveClaim(ctx, d.shop.Principal, warranty.MoveClaim{ID: d.key(), Status: warranty.Resolved, Resolution: warranty.Repaired})
			return err
		}())
		expect("resolved", warranty.Resolved, "")
		equal(t, "a message to a closed claim", codeOf(d.say(d.kim, "Hello?")), warranty.InvalidTransition)
		// The review that was not recorded is in the history, and no text of anyone.
		page, err := d.Service.ListHistory(ctx, d.kim.Principal, warranty.ListHistory{ID: warranty.WarrantyKey{ID: d.record.ID}})
		d.must(err)
		var moves []string
		for _, e := range page.Data {
			for _, c := range e.Changes {
				if c.Field == "status_reason" {
					t.Error("the history has a text")
				}
				if e.Action == warranty.ClaimMoved {
					moves = append(moves, *c.To)
				}
			}
		}
		equal(t, "moves", strings.Join(moves, " "), "resolved in_progress approved under_review info_requested under_review")
	}, busy)
}

// TestMessagesTakeOwnDocuments checks which documents can be sent with a message.
func TestMessagesTakeOwnDocuments(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		d := w.desk()
		mine, theirs := d.attach(d.kim, "mine.txt"), d.attach(d.shop, "theirs.txt")
		plain := w.document(d.kim, d.record.ID)
		d.must(d.say(d.kim, "See.", mine.ID.String()))
		before := w.snapshot()
		for what, ids := range map[string][]string{
			"someone else's": {theirs.ID.String()}, "of the warranty": {plain.ID.String()},
			"sent already": {mine.ID.String()}, "twice": {plain.ID.String(), plain.ID.String()},
			"none": {"x"}, "of nobody": {d.record.ID.String()}, "too many": strings.Fields(strings.Repeat("x ", 11)),
		} {
			equal(t, what, codeOf(d.say(d.kim, "See.", ids...)), warranty.ValidationFailed)
			equal(t, what+", with a decision", codeOf(d.move(d.shop, warranty.Rejected, "No.", append(ids, mine.ID.String())...)), warranty.ValidationFailed)
		}
		equal(t, "what refused messages changed", w.snapshot(), before)
	}, busy)
}

// TestLaterOwnersDoNotReadEarlierConversations transfers a warranty with an open claim, twice.
func TestLaterOwnersDoNotReadEarlierConversations(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		d := w.desk()
		zoe, max := w.person("Zoe", true), w.person("Max", true)
		secret := d.attach(d.kim, "secretfile.txt")
		d.must(d.say(d.kim, "My secretword.", secret.ID.String()))
		d.must(d.move(d.shop, warranty.InfoRequested, "Old secretword."))
		equal(t, "the conversation", d.talk(d.kim), []string{"Kim (owner): My secretword. [secretfile.txt]", "Ann (business): Old secretword."})

		sees := func(p person, what string, want bool) {
			t.Helper()
			c, _ := d.read(p)
			text := fmt.Sprint(d.talk(p), c.Messages, c.StatusReason)
			if c.StatusReason != nil {
				text += *c.StatusReason
			}
			history, err := d.Service.ListHistory(ctx, p.Principal, warranty.ListHistory{ID: warranty.WarrantyKey{ID: d.record.ID}})
			d.must(err)
			activity, err := d.Store.Activity(ctx, p.Account.ID, nil, 50)
			d.must(err)
			thread, events, err := d.Service.ClaimThread(ctx, p.Principal, c)
			d.must(err)
			documents, err := d.Service.ListDocuments(ctx, p.Principal, warranty.ListDocuments{})
			d.must(err)
			for _, list := range [][]warranty.Event{history.Data, events} {
				for _, e := range list {
					for _, change := range e.Changes {
						text += fmt.Sprint(change.Field) + warrantyText(change.To)
					}
				}
			}
			for _, a := range activity {
				for _, change := range a.Changes {
					text += warrantyText(change.To)
				}
			}
			text += fmt.Sprint(thread, documents.Data)
			equal(t, what+": words", strings.Contains(text, "secretword"), want)
			equal(t, what+": files", strings.Contains(text, "secretfile"), want)
			_, err = d.Service.GetDocument(ctx, p.Principal, warranty.GetDocument{ID: secret.ID})
			equal(t, what+": the file", err == nil, want)
		}
		sees(d.kim, "the owner", true)
		w.transfer(d.record.ID, d.kim, zoe)
		sees(zoe, "the next owner", false)
		sees(d.shop, "the shop", true)
		handling, err := d.Service.GetClaimHandling(ctx, d.shop.Principal, warranty.GetClaimHandling{ID: d.key()})
		if err != nil || handling.Customer == nil || handling.Customer.Email != d.kim.User.Email {
			t.Errorf("the customer after a transfer: %+v, %v", handling.Customer, err)
		}
		photo := d.attach(zoe, "mine.txt")
		d.must(d.say(zoe, "It is mine now.", photo.ID.String()))
		d.must(d.say(d.shop, "Welcome."))
		equal(t, "the next owner's conversation", d.talk(zoe), []string{"Zoe (owner): It is mine now. [mine.txt]", "Ann (business): Welcome."})
		w.transfer(d.record.ID, zoe, max)
		sees(max, "the one after", false)
		equal(t, "the third owner's conversation", d.talk(max), []string{})
		equal(t, "documents of the third owner", w.number(`SELECT count(*) FROM access WHERE user_id = $1 AND kind = 3`, w.key(max.User.ID)), int64(0))
		equal(t, "the shop's conversation", len(d.talk(d.shop)), 4)
		_, err = d.Service.MoveClaim(ctx, d.shop.Principal, warranty.MoveClaim{
			ID: d.key(), From: warranty.InfoRequested, Status: warranty.Rejected, Reason: "No.",
		})
		equal(t, "a decision about what was not seen", codeOf(err), warranty.InvalidTransition)
		faults, err := d.Store.CheckRecords(ctx, date("2026-11-17"), func(string) {})
		if err != nil || len(faults) > 0 {
			t.Errorf("faults: %v, %v", faults, err)
		}
		w.transfer(d.record.ID, max, d.shop)
		equal(t, "a business that became the owner reads its own words", d.talk(d.shop),
			[]string{"Ann (business): Old secretword.", "Ann (business): Welcome."})
	}, busy)
}

func warrantyText(s *string) string {
	if s == nil {
		return ""
	}
	return *s
}

// TestClaimsAreAssigned checks who sees the customer, who can be assigned, and that it ends with the membership.
func TestClaimsAreAssigned(t *testing.T) {
	eachInTurn(t, func(t *testing.T, w *world) {
		d := w.desk()
		ivo, vera, eve := w.person("Ivo", true), w.person("Vera", true), w.person("Eve", true)
		w.join(d.ann, d.o, ivo, warranty.Member)
		w.join(d.ann, d.o, vera, warranty.Viewer)
		assign := func(p warranty.Principal, user *warranty.ID) (warranty.ClaimHandling, error) {
			return d.Service.AssignClaim(ctx, p, warranty.AssignClaim{ID: d.key(), UserID: user})
		}
		h, err := assign(d.shop.Principal, &ivo.User.ID)
		d.must(err)
		equal(t, "assigned", h.AssignedTo.Name, "Ivo")
		equal(t, "customer", *h.Customer, warranty.Customer{Name: "Kim", Email: d.kim.User.Email})
		equal(t, "assignable", len(h.Assignable), 2)
		mine := func() int {
			page, err := d.Service.ListClaims(ctx, w.acting(ivo, d.o), warranty.ListClaims{Assignee: warranty.AssignedToMe})
			d.must(err)
			return len(page.Data)
		}
		equal(t, "Ivo's list", mine(), 1)
		for _, stranger := range []person{vera, eve, d.kim} {
			_, err := assign(d.shop.Principal, &stranger.User.ID)
			equal(t, "assigning "+stranger.User.Name, codeOf(err), warranty.ValidationFailed)
		}
		for who, want := range map[*person]warranty.Code{&d.kim: warranty.RoleNotAllowed, &eve: warranty.NotFound} {
			_, err := d.Service.GetClaimHandling(ctx, who.Principal, warranty.GetClaimHandling{ID: d.key()})
			equal(t, "handling for "+who.User.Name, codeOf(err), want)
			_, err = assign(who.Principal, nil)
			equal(t, "assigning by "+who.User.Name, codeOf(err), want)
		}
		_, err = assign(w.acting(vera, d.o), nil)
		equal(t, "assigning by a viewer", codeOf(err), warranty.RoleNotAllowed)
		_, err = d.Service.RemoveMember(ctx, d.ann.Principal, warranty.RemoveMember{ID: d.o.ID, UserID: ivo.User.ID})
		d.must(err)
		w.join(d.ann, d.o, ivo, warranty.Member) // the work does not come back
		equal(t, "Ivo's list after he left", mine(), 0)
		equal(t, "rows", w.number(`SELECT count(*) FROM claim_assignees`), int64(0))
	}, busy)
}

// TestAReplyAndARejectionAtOnce: the owner replies while the business rejects. Either the reply came first, and
// the rejection, which is about the earlier status, is refused; or the claim is rejected and the reply is refused.
func TestAReplyAndARejectionAtOnce(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		d := w.desk()
		outcomes := map[warranty.ClaimStatus]int{}
		for range 12 {
			d.claim = w.claim(d.kim, d.record.ID)
			d.must(d.move(d.shop, warranty.InfoRequested, "Which plate?"))
			var replied, rejected error
			var both sync.WaitGroup
			both.Go(func() { replied = d.say(d.kim, "This one.") })
			both.Go(func() {
				_, rejected = d.Service.MoveClaim(ctx, d.shop.Principal, warranty.MoveClaim{ID: d.key(), Status: warranty.Rejected,
					From: warranty.InfoRequested, Reason: "Too late."})
			})
			both.Wait()
			c, _ := d.read(d.kim)
			outcomes[c.Status]++
			talk := strings.Join(d.talk(d.shop), "; ")
			switch c.Status {
			case warranty.UnderReview:
				equal(t, "replied first", talk, "Ann (business): Which plate?; Kim (owner): This one.")
				equal(t, "the rejection", codeOf(rejected), warranty.InvalidTransition)
				equal(t, "the reply", replied, nil)
			case warranty.Rejected:
				equal(t, "rejected first", talk, "Ann (business): Which plate?; Ann (business): Too late.")
				equal(t, "the reply", codeOf(replied), warranty.InvalidTransition)
				equal(t, "the rejection", rejected, nil)
			default:
				t.Errorf("the claim is %s: %v, %v", c.Status, replied, rejected)
			}
		}
		t.Log(outcomes)
	}, busy)
}

// TestSavedReplies checks that saved replies belong to one account and are limited.
func TestSavedReplies(t *testing.T) {
	eachInTurn(t, func(t *testing.T, w *world) {
		d := w.desk()
		in := warranty.CreateReply{Title: "Plate", Body: "Please send a photo of the plate."}
		r, err := w.Service.CreateReply(ctx, d.shop.Principal, in)
		d.must(err)
		for _, p := range []person{d.ann, d.kim} { // Ann's own account is another one
			page, err := w.Service.ListReplies(ctx, p.Principal, warranty.ListReplies{})
			d.must(err)
			equal(t, "another account's replies", len(page.Data), 0)
			_, err = w.Service.UpdateReply(ctx, p.Principal, warranty.UpdateReply{ID: r.ID, Title: new("Mine")})
			equal(t, "another account's update", codeOf(err), warranty.NotFound)
			_, err = w.Service.DeleteReply(ctx, p.Principal, warranty.DeleteReply{ID: r.ID})
			equal(t, "another account's delete", codeOf(err), warranty.NotFound)
		}
		changed, err := w.Service.UpdateReply(ctx, d.shop.Principal, warranty.UpdateReply{ID: r.ID, Title: new("Type plate")})
		if err != nil || changed.Title != "Type plate" || changed.Body != in.Body {
			t.Errorf("changed: %+v, %v", changed, err)
		}
		w.execute(`INSERT INTO saved_replies (id, account_id, title, body, created_at, updated_at)
			SELECT t.id, $1, 'T', 'B', 1, 1 FROM history t LIMIT 1`, w.key(d.o.ID))
		_, err = w.Service.DeleteReply(ctx, d.shop.Principal, warranty.DeleteReply{ID: r.ID})
		d.must(err)
	}, busy)
}

// TestErasureKnowsMessages erases the customer and then the record: names go first, and then the texts.
func TestErasureKnowsMessages(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		d := w.desk()
		d.must(d.say(d.kim, "It smells."))
		d.must(d.say(d.shop, "We look at it."))
		d.must(w.Service.EraseUser(ctx, d.kim.User.Email))
		equal(t, "the conversation of an erased customer", d.talk(d.shop),
			[]string{"Deleted account (owner): It smells.", "Ann (business): We look at it."})
		w.write(func(tx *store.Tx) error {
			record, err := tx.LockWarranty(d.o.ID, warranty.WarrantyKey{ID: d.record.ID})
			if err != nil {
				return err
			}
			return tx.LeaveWarranty(d.o.ID, record, w.Clock.Now())
		})
		equal(t, "messages of an erased record", w.number(`SELECT count(*) FROM claim_messages`), int64(0))
	}, busy)
}
