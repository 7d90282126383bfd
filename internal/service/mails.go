package service

import (
	"context"
	"slices"
	"time"

	"warranty.example/svc/internal/mail"
	"warranty.example/svc/internal/store"
	"warranty.example/svc/warranty"
)

// Limits on emails to other people. Changes beyond a limit are sent in a digest.
const (
	perClaim     = 10 * time.Minute // between two emails to a person about a claim
	perPair      = 20               // emails per day from one account to one person
	digestDelay  = time.Hour        // before the digest of changes beyond a limit
	digestClaims = 20               // claims listed in a digest
	// digestMessages is the number of messages about a claim that are gathered in an email.
	digestMessages = 3
	digestBatch    = 50
	digestEvery    = 15 * time.Second
)

// claimMail is what an email about a claim says, and what it needs besides.
type claimMail struct {
	mail.ClaimNews
	message  warranty.ID // with the text in ClaimNews, if it is one
	progress bool        // it waits for a digest or the next email about the claim
	hold     *hold       // it can be undone and waits until then; nil otherwise
}

// hold makes what is emailed about a change wait, so that undoing the change can delete it. It notes what waits.
type hold struct {
	job     warranty.ID
	until   time.Time
	mails   int
	digests map[warranty.ID]bool // by account; true if it had one before
}

// mailClaim emails everyone on the warranty about a change of a claim, except the account that made it and the person,
// whichever accounts and addresses they have. Both the actor and the recipients need verified addresses.
func (s *Service) mailClaim(tx *store.Tx, p warranty.Principal, actor *sender, m claimMail, now time.Time) error {
	c := m.Claim
	if err := tx.ReleaseHeld(c.ID, actor.ID, now); err != nil {
		return err
	}
	// Whoever acts on a claim has seen what the digest would say.
	if err := tx.DropFromDigest(actor.ID, c.ID); err != nil || !actor.EmailVerified || s.Silent {
		return err
	}
	people, err := tx.People(c.WarrantyID)
	if err != nil {
		return err
	}
	muted, err := tx.Mutes(c.ID)
	if err != nil {
		return err
	}
	if m.By = p.User.Name; p.ActsForOrganization() {
		m.By = p.Account.Name
	}
	emailed := map[string]bool{} // people can belong to several accounts
	people = slices.DeleteFunc(people, func(to store.Recipient) bool {
		if to.Account == actor.ID || isOf(p, to) || !to.Mails.Claims || emailed[to.Email] || muted(to, c.ID) {
			return true
		}
		emailed[to.Email] = true
		return false
	})
	for len(people) > 0 {
		other := slices.IndexFunc(people, func(to store.Recipient) bool { return to.Account != people[0].Account })
		if other < 0 {
			other = len(people)
		}
		if err := s.mailAccount(tx, p, actor, people[:other], m, now); err != nil {
			return err
		}
		people = people[other:]
	}
	return nil
}

// isOf reports whether emails to a recipient go to the person who acts, who is not emailed about what they did.
func isOf(p warranty.Principal, to store.Recipient) bool {
	return to.User == p.User.ID || warranty.Mailbox(to.Email) == warranty.Mailbox(p.User.Email)
}

// textsFor returns the texts of an email to someone who chose a locale: in their language, or else in that of the
// person who causes the email. Times are in the recipient's zone, so that an email does not reveal another one.
func textsFor(to warranty.Locale, p warranty.Principal) mail.Texts {
	return mail.In(to.Or(warranty.Locale{Language: p.Locale.Language}))
}

// textsAt is textsFor the person with an email address, if it has an account.
func (s *Service) textsAt(ctx context.Context, email string, p warranty.Principal) (mail.Texts, error) {
	to, err := s.Store.LocaleAt(ctx, email)
	return textsFor(to, p), err
}

// mailAccount emails the recipients of one account about a change of a claim, now or in a digest.
func (s *Service) mailAccount(
	tx *store.Tx, p warranty.Principal, actor *sender, recipients []store.Recipient, m claimMail, now time.Time,
) error {
	account, c := recipients[0].Account, m.Claim
	// A digest that the worker is sending counts as sent.
	pending, err := tx.InDigest(account, c.ID)
	if err != nil {
		return err
	}
	due := now
	if m.progress {
		due = now.Add(perClaim)
	}
	// The owner waits for a decision.
	atOnce := m.Decides() && recipients[0].Roles.Has(warranty.Owner)
	for _, to := range recipients {
		sent, err := tx.CountMails(actor.id(), to.Email, c.ID, now)
		if err != nil {
			return err
		}
		if atOnce {
			sent.LastOnTopic = time.Time{}
		}
		later, err := s.digestDue(tx, actor, sent, now)
		if err != nil {
			return err
		}
		if later.After(due) {
			due = later
		}
	}
	if m.hold != nil {
		if due.After(m.hold.until) || pending != nil {
			return m.hold.digest(tx, account, c.ID, actor, due, now, pending != nil)
		}
	} else if due.After(now) {
		return tx.AddToDigest(account, c.ID, actor.id(), due, now)
	}
	news, author := m.ClaimNews, p.User.ID
	if pending != nil { // this email says it
		if news.Earlier, err = tx.MessagesSince(account, c.ID, *pending, m.message, digestMessages); err != nil {
			return err
		}
		if len(news.Earlier) > 0 {
			author = warranty.ID{}
		}
		if err := tx.DropFromDigest(account, c.ID); err != nil {
			return err
		}
	}
	for _, to := range recipients {
		text := textsFor(to.Locale, p).ClaimNews(to.Email, to.Name, to.Roles, news, s.PublicURL)
		out := s.outgoingTo(to, store.ClaimMails, text)
		if err := actor.sign(tx, &out); err != nil {
			return err
		}
		out.Claim, out.Author = &c.ID, &author
		if m.hold != nil {
			out.NotBefore, out.HeldBy, out.HeldFor = m.hold.until, &m.hold.job, &account
			m.hold.mails++
		}
		if err := tx.InsertMailTo(out, actor.id(), c.ID, now); err != nil {
			return err
		}
	}
	return nil
}

// digest adds a change to a digest that waits.
func (h *hold) digest(
	tx *store.Tx, account, claim warranty.ID, actor *sender, due, now time.Time, pending bool,
) error {
	if err := tx.AddToDigest(account, claim, actor.id(), due, now); err != nil {
		return err
	}
	if h.digests == nil {
		h.digests = map[warranty.ID]bool{}
	}
	h.digests[account] = pending
	return tx.HoldDigest(account, claim, h.until)
}

// digestDue returns when to email a person about a claim: now, or later in a digest.
func (s *Service) digestDue(tx *store.Tx, from *sender, sent store.MailCounts, now time.Time) (time.Time, error) {
	over, err := s.overMailLimit(tx, from, sent.ByAccount, sent.ByPerson)
	if err != nil {
		return now, err
	}
	if over || sent.ToRecipient >= perPair {
		return now.Add(digestDelay), nil
	}
	if next := sent.LastOnTopic.Add(perClaim); next.After(now) {
		return next, nil
	}
	return now, nil
}

// SendDigests puts the digests that are due into the outbox, one transaction each.
func (s *Service) SendDigests(ctx context.Context) error {
	return sendDue(ctx, s, digestBatch, s.Store.DueDigests, s.sendDigest)
}

// sendDue puts what is due into the outbox, in batches and with one transaction each, until nothing is.
func sendDue[T any](
	ctx context.Context, s *Service, batch int, due func(context.Context, time.Time, int) ([]T, error),
	send func(*store.Tx, T, time.Time) error,
) error {
	for {
		now := s.now()
		list, err := due(ctx, now, batch)
		if err != nil || len(list) == 0 {
			return err
		}
		for _, one := range list {
			if err := s.Store.Write(ctx, func(tx *store.Tx) error { return send(tx, one, now) }); err != nil {
				return err
			}
		}
		s.wakeMail()
	}
}

func (s *Service) sendDigest(tx *store.Tx, id warranty.ID, now time.Time) error {
	if _, err := tx.LockUser(id); err != nil {
		return err
	}
	digest, err := tx.TakeDigest(id, digestClaims, now)
	if err != nil || len(digest.Claims) == 0 {
		return err
	}
	recipients, err := tx.Recipients(id)
	if err != nil {
		return err
	}
	claims := make([]warranty.ID, len(digest.Claims))
	content := make(map[warranty.ID]mail.GatheredClaim, len(claims))
	for i, c := range digest.Claims {
		claims[i] = c.ID
		if content[c.ID], err = gatherClaim(tx, id, digest.Since(c.ID), c); err != nil {
			return err
		}
	}
	muted, err := tx.Mutes(claims...)
	if err != nil {
		return err
	}
	for _, to := range recipients {
		var list []mail.GatheredClaim
		for _, c := range digest.For(to.User) {
			if !muted(to, c.ID) {
				list = append(list, content[c.ID])
			}
		}
		if !to.Mails.Claims || len(list)+digest.More == 0 {
			continue
		}
		m := s.outgoingTo(to, store.ClaimMails,
			mail.In(to.Locale).ClaimDigest(to.Email, to.Name, list, digest.More, s.PublicURL))
		m.Author = &warranty.ID{}
		if len(list) == 1 {
			m.Claim = &list[0].Claim.ID
		}
		if err := tx.InsertDigest(m, digest, now); err != nil {
			return err
		}
	}
	return nil
}

// gatherClaim returns what a digest says about a claim: what others wrote, with the claim itself if it is new.
func gatherClaim(tx *store.Tx, account warranty.ID, since time.Time, c warranty.Claim) (g mail.GatheredClaim, err error) {
	g.Claim = c
	if g.Messages, err = tx.MessagesSince(account, c.ID, since, warranty.ID{}, digestMessages); err != nil {
		return g, err
	}
	if !c.CreatedAt.Before(since) && !c.Roles.Has(warranty.Owner) {
		filed := warranty.Message{Author: warranty.Author{Role: warranty.OwnerSide}, Body: c.Description}
		g.Messages = append([]warranty.Message{filed}, g.Messages...)
	}
	return g, nil
}
