package service

import (
	"context"
	"time"

	"warranty.example/svc/internal/mail"
	"warranty.example/svc/internal/store"
	"warranty.example/svc/warranty"
)

// How mails to other people are bounded. Whatever is not mailed at once is told in a
// digest, so nothing is lost and nobody is flooded.
const (
	perClaim     = 10 * time.Minute // at most one mail to a person about one claim
	perPair      = 20               // mails a day from one account to one person, beyond which there are digests
	digestDelay  = time.Hour        // until the digest of what is beyond a limit
	digestClaims = 20               // claims that a digest lists
	digestBatch  = 50
	digestEvery  = 15 * time.Second
)

// mailClaim tells everyone on the warranty but the one who acts what became of a
// claim. The actor's account is locked, so that its mails are counted exactly. Only
// verified addresses are written to, and only for accounts with a verified one.
func (s *Service) mailClaim(tx *store.Tx, actor store.Account, c warranty.Claim, now time.Time) error {
	if !actor.EmailVerified || s.Silent {
		return nil
	}
	people, err := tx.People(c.WarrantyID)
	if err != nil {
		return err
	}
	for _, to := range people {
		if to.ID == actor.ID || !to.Verified || !to.Mails.Claims {
			continue
		}
		sent, err := tx.CountMails(actor.ID, to.Email, c.ID, now)
		if err != nil {
			return err
		}
		if due := s.digestDue(sent, now); due.After(now) {
			err = tx.AddToDigest(to.ID, c.ID, actor.ID, due)
		} else {
			err = tx.InsertMailTo(s.outgoing(mail.ClaimMoved(to.Email, to.Name, c, s.PublicURL)), actor.ID, c.ID, now)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// digestDue is when a person may hear of a claim: now, or in a digest later on.
func (s *Service) digestDue(sent store.MailCounts, now time.Time) time.Time {
	due := now
	if next := sent.LastOnTopic.Add(perClaim); next.After(due) {
		due = next
	}
	if sent.ToRecipient >= perPair || s.overMailLimit(sent) {
		due = now.Add(digestDelay)
	}
	return due
}

func (s *Service) overMailLimit(sent store.MailCounts) bool {
	return s.MailLimit > 0 && sent.BySender >= int64(s.MailLimit)
}

// demandMail refuses one more mail to an address of a locked account's choice, when
// it has caused as many as it may in a day.
func (s *Service) demandMail(tx *store.Tx, actor store.Account, to string, topic warranty.ID, now time.Time) error {
	sent, err := tx.CountMails(actor.ID, to, topic, now)
	if err != nil || !s.overMailLimit(sent) {
		return err
	}
	return &warranty.Error{Code: warranty.RateLimited, Wait: digestDelay,
		Message: "Your account has sent as many emails to other people as it may in 24 hours. Try again later."}
}

// SendDigests puts the digests that are due into the outbox, each in a transaction
// of its own.
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
	to, err := tx.LockUser(id)
	if err != nil {
		return err
	}
	digest, err := tx.TakeDigest(id, digestClaims)
	if err != nil || len(digest.Claims) == 0 || !to.EmailVerified || to.Disabled || !to.Mails.Claims {
		return err
	}
	return tx.InsertDigest(s.outgoing(mail.ClaimDigest(to.Email, to.Name, digest.Claims, digest.More, s.PublicURL)), digest, now)
}
