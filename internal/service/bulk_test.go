package service_test

import (
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"warranty.example/svc/internal/mail"
	"warranty.example/svc/warranty"
)

// bulkDesk is a shop with claims of its customer Kim, whose emails were sent.
type bulkDesk struct {
	*claimDesk
	claims []warranty.Claim
}

func (w *world) bulkDesk(t *testing.T, n int) bulkDesk {
	t.Helper()
	d := bulkDesk{claimDesk: w.claimDesk(t)}
	d.claims = append(d.claims, d.claim)
	for range n - 1 {
		record := d.shop.sells(warranty.CreateWarranty{})
		must[warranty.Warranty](t)(w.take(d.kim, d.shop.prints(record.ID)))
		d.claims = append(d.claims, w.claim(d.kim, record.ID))
	}
	d.settle()
	return d
}

// settle sends everything, and forgets what was sent.
func (d bulkDesk) settle() {
	d.T.Helper()
	d.mails()
	d.execute(`DELETE FROM mail_digest`)
	d.execute(`DELETE FROM mail_log`)
}

func (d bulkDesk) items() (list []warranty.ClaimItem) {
	for _, c := range d.claims {
		c = d.seen(d.shop.acting, c.ID)
		list = append(list, warranty.ClaimItem{ID: c.ID, UpdatedAt: &c.UpdatedAt})
	}
	return list
}

func (d bulkDesk) seen(by person, id warranty.ID) warranty.Claim {
	d.T.Helper()
	c, err := d.Service.GetClaim(ctx, by.Principal, warranty.GetClaim{ID: warranty.ClaimKey{ID: id}})
	if err != nil {
		d.T.Fatal(err)
	}
	return c
}

// due sends the emails that are due and returns their texts.
func (d bulkDesk) due() (texts []string) {
	d.T.Helper()
	if err := d.Service.SendDigests(ctx); err != nil {
		d.T.Fatal(err)
	}
	if err := d.Service.SendAllMail(ctx); err != nil {
		d.T.Fatal(err)
	}
	for _, m := range d.box.sent {
		texts = append(texts, m.To[:3]+": "+m.Text)
	}
	d.box.take()
	return texts
}

func outcomes(b warranty.ClaimBulk) string {
	var list []string
	for _, r := range b.Results {
		text := r.Outcome.String()
		if r.Code != nil {
			text += " " + string(*r.Code)
		}
		if r.Change != nil && r.Change.Status != nil {
			text += fmt.Sprintf(" (%s: %s)", r.Change.By, *r.Change.Status)
		} else if r.Change != nil {
			text += fmt.Sprintf(" (%s: %s)", r.Change.By, r.Change.Action)
		}
		list = append(list, text)
	}
	return strings.Join(list, ", ")
}

func says(t *testing.T, what string, texts []string, parts ...string) {
	t.Helper()
	all := strings.Join(texts, "\n")
	for _, part := range parts {
		if !strings.Contains(all, part) {
			t.Errorf("%s does not say %q:\n%s", what, part, all)
		}
	}
}

// TestBulkAsk asks about many claims with one message. Each customer reads their own name and product, after ten minutes.
// What was changed meanwhile, and what the account does not decide, is skipped and named.
func TestBulkAsk(t *testing.T) {
	eachInTurn(t, func(t *testing.T, w *world) {
		d := w.bulkDesk(t, 3)
		stranger := w.claim(d.kim, w.record(d.kim, "").ID)
		in := warranty.BulkClaims{Action: warranty.AskClaims, AssignTo: "me", Message: "Hello {first name}, a photo of your {Produkt}? {your name}, {business}"}
		in.Items = append(d.items(), warranty.ClaimItem{ID: stranger.ID}, warranty.ClaimItem{ID: w.Service.NewID()})
		must[warranty.Claim](t)(w.Service.MoveClaim(ctx, w.acting(d.bob, d.shop.Organization),
			warranty.MoveClaim{ID: warranty.ClaimKey{ID: d.claims[1].ID}, Status: warranty.Approved}))
		d.settle()
		key := "ask-1"
		in.IdempotencyKey = &key
		done := must[warranty.ClaimBulk](t)(w.Service.BulkClaims(ctx, d.shop.acting.Principal, in))
		equal(t, "results", outcomes(done), "done, skipped precondition_failed (Bob: approved), done, skipped not_found, skipped not_found")
		again := must[warranty.ClaimBulk](t)(w.Service.BulkClaims(ctx, d.shop.acting.Principal, in))
		equal(t, "a repetition", []any{again.ID, again.Replay, outcomes(again)}, []any{done.ID, true, outcomes(done)})
		equal(t, "messages", w.number(`SELECT count(*) FROM claim_messages`), int64(2))
		equal(t, "nothing is sent yet", d.due(), []string(nil))
		c := d.seen(d.shop.acting, d.claims[0].ID)
		equal(t, "queue and assignee", []any{c.Queue, c.Assignee.Name, c.Status}, []any{warranty.WaitingForThem, "Ann", warranty.InfoRequested})
		equal(t, "message", c.LastMessage.Body, "Hello Kim, a photo of your Pan? Ann, Halden")

		w.Clock.Advance(warranty.BulkUndo)
		texts := d.due()
		equal(t, "emails", len(texts), 2)
		says(t, "the email", texts, "kim: ", "Hello Kim, a photo of your Pan? Ann, Halden")
		_, err := w.Service.UndoBulk(ctx, d.shop.acting.Principal, warranty.UndoBulk{ID: done.ID})
		equal(t, "too late", codeOf(err), warranty.InvalidTransition)
	})
}

// TestBulkResolve resolves claims of every open status in one step; history has each step. Rejected ones are skipped.
func TestBulkResolve(t *testing.T) {
	eachInTurn(t, func(t *testing.T, w *world) {
		d := w.bulkDesk(t, 6)
		shop := d.shop.acting.Principal
		for i, moves := range [][]warranty.ClaimStatus{nil, {warranty.UnderReview}, {warranty.InfoRequested},
			{warranty.Approved}, {warranty.Approved, warranty.InProgress}, {warranty.Rejected}} {
			for _, to := range moves {
				must[warranty.Claim](t)(w.Service.MoveClaim(ctx, shop, warranty.MoveClaim{ID: warranty.ClaimKey{ID: d.claims[i].ID}, Status: to, Reason: "Because."}))
			}
		}
		d.settle()
		in := warranty.BulkClaims{Action: warranty.ResolveClaims, Resolution: warranty.Repaired, ResolutionNote: "New pump.", Items: d.items()}
		done := must[warranty.ClaimBulk](t)(w.Service.BulkClaims(ctx, shop, in))
		equal(t, "results", outcomes(done), "done, done, done, done, done, skipped invalid_transition")
		for i := range 5 {
			c := d.seen(d.kim, d.claims[i].ID)
			equal(t, fmt.Sprint("claim ", i), []any{c.Status, *c.Resolution, *c.ResolutionNote, c.Queue}, []any{warranty.Resolved, warranty.Repaired, "New pump.", warranty.WorkDone})
		}
		_, events, err := w.Service.ClaimThread(ctx, shop, d.claims[0])
		if err != nil {
			t.Fatal(err)
		}
		var steps []string
		for _, e := range events {
			for _, change := range e.Changes {
				steps = append(steps, *change.To)
			}
		}
		equal(t, "steps", strings.Join(steps, " "), "resolved approved under_review")
		undone := must[warranty.ClaimBulk](t)(w.Service.UndoBulk(ctx, shop, warranty.UndoBulk{ID: done.ID}))
		equal(t, "undone", outcomes(undone), "undone, undone, undone, undone, undone, skipped invalid_transition")
		equal(t, "statuses", w.strings(`SELECT status FROM claims ORDER BY id`), []string{"1", "2", "3", "4", "6", "5"})
		w.Clock.Advance(time.Hour)
		equal(t, "emails", d.due(), []string(nil))
	})
}

// bulkState is everything that undoing an action has to give back.
func (d bulkDesk) bulkState() (state []string) {
	for _, table := range []string{
		`SELECT c.id || ' ' || c.status || ' ' || COALESCE(c.status_reason, '-') || ' ' || COALESCE(c.resolution, 0) || ' ' || c.spoke || ' ' || c.waiting_since
			|| ' ' || COALESCE(c.resolved_at, 0) FROM claims c ORDER BY c.id`,
		`SELECT a.status || ' ' || a.start_date FROM access a WHERE a.kind = 2 ORDER BY a.user_id, a.item_id`,
		`SELECT body FROM claim_messages ORDER BY id`,
		`SELECT user_id || ' ' || claim_id FROM claim_assignees ORDER BY claim_id`,
		`SELECT address || subject FROM mails ORDER BY id`,
		`SELECT recipient FROM mail_log ORDER BY mail_id`,
		`SELECT changes || ' ' || due_at || ' ' || held_until FROM mail_digest ORDER BY user_id, claim_id, sender_id`,
	} {
		if !d.postgres {
			table = strings.NewReplacer("c.id", "hex(c.id)", "user_id || ' ' || claim_id", "hex(user_id) || hex(claim_id)",
				"a.user_id", "hex(a.user_id)").Replace(table)
		}
		state = append(state, d.strings(table)...)
	}
	return state
}

// TestUndoBulk gives back status, assignee and messages exactly, and no email was sent. It works once, for who did it and
// administrators of the account, and not for claims that changed since: what a customer wrote meanwhile stays.
func TestUndoBulk(t *testing.T) {
	eachInTurn(t, func(t *testing.T, w *world) {
		d := w.bulkDesk(t, 3)
		shop, other, viewer := d.shop.acting.Principal, w.issuer("Eve"), w.person("Vic", true)
		w.join(d.shop.admin, d.shop.Organization, viewer, warranty.Viewer)
		must[warranty.ClaimHandling](t)(w.Service.AssignClaim(ctx, shop, warranty.AssignClaim{ID: warranty.ClaimKey{ID: d.claims[0].ID}, UserID: &d.bob.User.ID}))
		d.settle()
		for _, limit := range []int{0, 1} { // with a limit of one email, the others go to the digest
			w.Service.MailLimit = limit
			before := d.bulkState()
			for _, in := range []warranty.BulkClaims{
				{Action: warranty.AskClaims, Message: "A photo?", AssignTo: "me"},
				{Action: warranty.RejectClaims, Message: "Too old."},
				{Action: warranty.ApproveClaims},
				{Action: warranty.AssignClaims, AssignTo: "none"},
			} {
				in.Items = d.items()
				done := must[warranty.ClaimBulk](t)(w.Service.BulkClaims(ctx, shop, in))
				equal(t, "done", outcomes(done), "done, done, done")
				for _, who := range []warranty.Principal{other.acting.Principal, d.kim.Principal, d.bob.Principal} {
					_, err := w.Service.UndoBulk(ctx, who, warranty.UndoBulk{ID: done.ID})
					equal(t, "by "+who.User.Name, codeOf(err), warranty.NotFound)
				}
				_, err := w.Service.UndoBulk(ctx, w.acting(viewer, d.shop.Organization), warranty.UndoBulk{ID: done.ID})
				equal(t, "by a viewer", codeOf(err), warranty.RoleNotAllowed)
				_, err = w.Service.UndoBulk(ctx, w.acting(d.bob, d.shop.Organization), warranty.UndoBulk{ID: done.ID})
				equal(t, "by a colleague", codeOf(err), warranty.RoleNotAllowed)
				undone := must[warranty.ClaimBulk](t)(w.Service.UndoBulk(ctx, shop, warranty.UndoBulk{ID: done.ID}))
				equal(t, "undone", outcomes(undone), "undone, undone, undone")
				equal(t, in.Action.String()+" leaves", d.bulkState(), before)
				_, err = w.Service.UndoBulk(ctx, shop, warranty.UndoBulk{ID: done.ID})
				equal(t, "again", codeOf(err), warranty.InvalidTransition)
			}
		}
		w.Service.MailLimit = 0
		ask := warranty.BulkClaims{Action: warranty.AskClaims, Message: "A photo?", Items: d.items()}
		done := must[warranty.ClaimBulk](t)(w.Service.BulkClaims(ctx, shop, ask))
		must[warranty.Message](t)(w.Service.WriteMessage(ctx, d.kim.Principal, warranty.WriteMessage{ID: d.key, Body: "Here it is."}))
		undone := must[warranty.ClaimBulk](t)(w.Service.UndoBulk(ctx, shop, warranty.UndoBulk{ID: done.ID}))
		equal(t, "after a reply", outcomes(undone), "kept precondition_failed (Kim: under_review), undone, undone")
		equal(t, "messages", w.strings(`SELECT body FROM claim_messages ORDER BY id`), []string{"A photo?", "Here it is."})
		w.Clock.Advance(warranty.BulkUndo)
		texts := d.due()
		says(t, "to the shop", texts, "Here it is.")
		for _, text := range texts {
			if strings.HasPrefix(text, "kim: ") {
				t.Errorf("who replied is asked by email: %s", text)
			}
		}
	})
}

// TestUndoAfterATransfer: what was said to the former owner is not told to the next one by undoing a decision.
func TestUndoAfterATransfer(t *testing.T) {
	eachInTurn(t, func(t *testing.T, w *world) {
		d := w.bulkDesk(t, 1)
		shop, lia, claim := d.shop.acting.Principal, w.person("Lia", true), d.claims[0]
		must[warranty.Claim](t)(w.Service.MoveClaim(ctx, shop, warranty.MoveClaim{
			ID: warranty.ClaimKey{ID: claim.ID}, Status: warranty.InfoRequested, Reason: "Kim, your street?"}))
		d.settle()
		done := must[warranty.ClaimBulk](t)(w.Service.BulkClaims(ctx, shop,
			warranty.BulkClaims{Action: warranty.RejectClaims, Message: "No.", Items: d.items()}))
		equal(t, "results", outcomes(done), "done")
		w.transfer(claim.WarrantyID, d.kim, lia)
		undone := must[warranty.ClaimBulk](t)(w.Service.UndoBulk(ctx, shop, warranty.UndoBulk{ID: done.ID}))
		equal(t, "undone", outcomes(undone), "kept precondition_failed")
		if c := d.seen(lia, claim.ID); c.StatusReason != nil || c.Status != warranty.Rejected {
			t.Errorf("the next owner sees %s, %q", c.Status, *c.StatusReason)
		}
	})
}

// TestAChangeReleasesHeldEmails: what a colleague decides about a claim makes an earlier action final, and its email comes first.
func TestAChangeReleasesHeldEmails(t *testing.T) {
	eachInTurn(t, func(t *testing.T, w *world) {
		d := w.bulkDesk(t, 1)
		shop := d.shop.acting.Principal
		done := must[warranty.ClaimBulk](t)(w.Service.BulkClaims(ctx, shop, warranty.BulkClaims{Action: warranty.AskClaims, Message: "A photo?", Items: d.items()}))
		must[warranty.Claim](t)(w.Service.MoveClaim(ctx, w.acting(d.bob, d.shop.Organization), warranty.MoveClaim{ID: d.key, Status: warranty.Rejected, Reason: "Too old."}))
		texts := d.due()
		equal(t, "emails", len(texts), 2)
		says(t, "first", texts[:1], "A photo?")
		says(t, "second", texts[1:], "Too old.")
		undone := must[warranty.ClaimBulk](t)(w.Service.UndoBulk(ctx, shop, warranty.UndoBulk{ID: done.ID}))
		equal(t, "undo", outcomes(undone), "kept precondition_failed (Bob: rejected)")
	})
}

// TestUndoADecision: the email of a decision on the page of a claim waits half a minute.
func TestUndoADecision(t *testing.T) {
	eachInTurn(t, func(t *testing.T, w *world) {
		d := w.bulkDesk(t, 1)
		shop, before := d.shop.acting.Principal, d.bulkState()
		reject := warranty.MoveClaim{ID: d.key, From: warranty.Submitted, Status: warranty.Rejected, Reason: "Too old."}
		id := *must[*warranty.ID](t)(w.Service.DecideClaim(ctx, shop, reject))
		equal(t, "held", d.due(), []string(nil))
		must[warranty.ClaimBulk](t)(w.Service.UndoBulk(ctx, shop, warranty.UndoBulk{ID: id}))
		equal(t, "after the undo", d.bulkState(), before)
		id = *must[*warranty.ID](t)(w.Service.DecideClaim(ctx, shop, reject))
		w.Clock.Advance(warranty.DecisionUndo)
		says(t, "the email", d.due(), "Too old.")
		_, err := w.Service.UndoBulk(ctx, shop, warranty.UndoBulk{ID: id})
		equal(t, "too late", codeOf(err), warranty.InvalidTransition)
		_, err = w.Service.DecideClaim(ctx, d.kim.Principal, warranty.MoveClaim{ID: d.key, Status: warranty.UnderReview, Reason: "No."})
		equal(t, "by the customer", codeOf(err), warranty.RoleNotAllowed)
	})
}

// TestUndoOrEmail lets three replicas send emails that are due while an action is undone: of each claim, either the email
// was sent or the undo worked.
func TestUndoOrEmail(t *testing.T) {
	eachReplicas(t, func(t *testing.T, worlds []*world) {
		w := worlds[0]
		d := w.bulkDesk(t, 6)
		var mu sync.Mutex
		sent := map[string]int{}
		for _, replica := range worlds {
			replica.Service.Mail = &outbox{before: func(m mail.Message) error {
				mu.Lock()
				defer mu.Unlock()
				for _, c := range d.claims {
					if strings.Contains(m.Text, string(c.ClaimNumber)) {
						sent[string(c.ClaimNumber)]++
					}
				}
				return nil
			}}
		}
		both := map[warranty.ClaimOutcome]int{}
		for range 12 {
			d.execute(`DELETE FROM mail_log`)
			clear(sent)
			done := must[warranty.ClaimBulk](t)(w.Service.BulkClaims(ctx, d.shop.acting.Principal, warranty.BulkClaims{
				Action: warranty.AskClaims, Message: "A photo?", Items: d.items()}))
			equal(t, "done", done.Count(warranty.ClaimDone), int64(6))
			d.execute(`UPDATE mails SET claimed_until = 0`) // due, though it can still be undone
			var all sync.WaitGroup
			for _, replica := range worlds {
				all.Go(func() { _ = replica.Service.SendMail(ctx) })
			}
			undone, err := w.Service.UndoBulk(ctx, d.shop.acting.Principal, warranty.UndoBulk{ID: done.ID})
			all.Wait()
			if err != nil {
				t.Fatal(err)
			}
			if err := w.Service.SendAllMail(ctx); err != nil {
				t.Fatal(err)
			}
			for _, r := range undone.Results {
				want := map[warranty.ClaimOutcome]int{warranty.ClaimKept: 1}[r.Outcome]
				if got := sent[string(r.Claim.ClaimNumber)]; got != want {
					t.Errorf("%s and %d emails", r.Outcome, got)
				}
				both[r.Outcome]++
				status := d.seen(d.shop.acting, r.ClaimID).Status
				if (status == warranty.InfoRequested) != (r.Outcome == warranty.ClaimKept) {
					t.Errorf("%s, but the claim is %s", r.Outcome, status)
				}
				if r.Outcome == warranty.ClaimKept { // for the next round
					must[warranty.Message](t)(w.Service.WriteMessage(ctx, d.kim.Principal, warranty.WriteMessage{ID: warranty.ClaimKey{ID: r.ClaimID}, Body: "Here."}))
				}
			}
			if err := w.Service.SendAllMail(ctx); err != nil {
				t.Fatal(err)
			}
			d.execute(`DELETE FROM mail_digest`)
		}
		t.Logf("%v", both)
	})
}
