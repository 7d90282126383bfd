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
	digestBatch  = 50
	digestEvery  = 15 * time.Second
)

// mailClaim emails everyone on the warranty about a change of a claim, except the account that made it and the person,
// whichever accounts they belong to. Both the actor and the recipients need verified addresses. Without a text, the
// change is only progress, and waits for a digest or the next email about the claim.
func (s *Service) mailClaim(
	tx *store.Tx, p warranty.Principal, actor *sender, c warranty.Claim, text claimMail, now time.Time,
) error {
	// Whoever acts on a claim has seen what the digest would say.
	if err := tx.DropFromDigest(actor.ID, c.ID); err != nil || !actor.EmailVerified || s.Silent {
		return err
	}
	people, err := tx.People(c.WarrantyID)
	if err != nil {
		return err
	}
	emailed := map[string]bool{} // people can belong to several accounts
	people = slices.DeleteFunc(people, func(to store.Recipient) bool {
		if to.Account == actor.ID || to.User == actor.person || !to.Mails.Claims || emailed[to.Email] {
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
		if err := s.mailAccount(tx, p, actor, people[:other], c, text, now); err != nil {
			return err
		}
		people = people[other:]
	}
	return nil
}

// claimMail returns an email to a person about a claim.
type claimMail func(t mail.Texts, to, name string, c warranty.Claim, publicURL string) mail.Message

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
	tx *store.Tx, p warranty.Principal, actor *sender, recipients []store.Recipient, c warranty.Claim, text claimMail,
	now time.Time,
) error {
	// A digest that the worker is sending counts as sent.
	pending, err := tx.InDigest(recipients[0].Account, c.ID)
	if err != nil {
		return err
	}
	due := now
	if text == nil {
		due = now.Add(perClaim)
	}
	for _, to := range recipients {
		sent, err := tx.CountMails(actor.id(), to.Email, c.ID, now)
		if err != nil {
			return err
		}
		later, err := s.digestDue(tx, actor, sent, now)
		if err != nil {
			return err
		}
		if later.After(due) {
			due = later
		}
	}
	if due.After(now) {
		return tx.AddToDigest(recipients[0].Account, c.ID, actor.id(), due)
	}
	if pending { // this email says more
		if err := tx.DropFromDigest(recipients[0].Account, c.ID); err != nil {
			return err
		}
	}
	for _, to := range recipients {
		m := s.outgoingTo(to, store.ClaimMails, text(textsFor(to.Locale, p), to.Email, to.Name, c, s.PublicURL))
		if err := tx.InsertMailTo(m, actor.id(), c.ID, now); err != nil {
			return err
		}
	}
	return nil
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
	for {
		now := s.now()
		people, err := s.Store.DueDigests(ctx, now, digestBatch)
		if err != nil || len(people) == 0 {
			return err
		}
		for _, id := range people {
			if err := s.Store.Write(ctx, func(tx *store.Tx) error { return s.sendDigest(tx, id, now) }); err != nil {
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
	digest, err := tx.TakeDigest(id, digestClaims)
	if err != nil || len(digest.Claims) == 0 {
		return err
	}
	recipients, err := tx.Recipients(id)
	if err != nil {
		return err
	}
	for _, to := range recipients {
		claims := digest.For(to.User)
		if !to.Mails.Claims || len(claims)+digest.More == 0 {
			continue
		}
		m := s.outgoingTo(to, store.ClaimMails,
			mail.In(to.Locale).ClaimDigest(to.Email, to.Name, claims, digest.More, s.PublicURL))
		if err := tx.InsertDigest(m, digest, now); err != nil {
			return err
		}
	}
	return nil
}
