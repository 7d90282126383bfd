package service

import (
	"context"
	"strings"
	"sync"
	"time"

	"warranty.example/svc/internal/mail"
	"warranty.example/svc/internal/store"
	"warranty.example/svc/warranty"
)

// UnsubscribeLink returns the path of the link in an email of a kind to an address.
func (s *Service) UnsubscribeLink(ctx context.Context, u store.Unsubscribe, email string) (string, error) {
	m, err := s.finish(ctx, mail.Message{To: email}, &u, nil)
	return strings.TrimPrefix(m.Unsubscribe, s.PublicURL), err
}

// NewPictureSlots returns a function that waits for the turn of an account to make a small picture.
func NewPictureSlots() func(context.Context, warranty.ID) (done func(), err error) {
	return newPictureSlots().wait
}

// WaitForPapers sets how long a request waits for its turn to make a PDF.
func (s *Service) WaitForPapers(d time.Duration) { s.paperWait = d }

// DecodeWith replaces the decoder of small pictures.
func (s *Service) DecodeWith(small func(context.Context, []byte, string) ([]byte, error)) {
	s.pictures.small = small
}

// MaxHashes is the number of password hashes computed concurrently.
func (s *Service) MaxHashes() int { return cap(s.passwords.running) }

// MaxWaiting is the number of sign-ins that can wait for a hash.
const MaxWaiting = maxWaiting

// MailClaim is how long a replica holds claimed emails.
const MailClaim = mailClaim

// SentMails is the number of emails that this process has sent but not yet removed.
func (s *Service) SentMails() int { return len(s.finished.list()) }

// HoldHashes blocks every password hash until release is closed. started receives one
// value per blocked hash.
func (s *Service) HoldHashes() (started <-chan struct{}, release chan<- struct{}) {
	begun, held := make(chan struct{}, s.MaxHashes()+MaxWaiting), make(chan struct{})
	s.passwords.derive = func(password, salt []byte, cost PasswordCost, size uint32) []byte {
		begun <- struct{}{}
		<-held
		return argon2id(password, salt, cost, size)
	}
	return begun, held
}

// WatchHashes returns a function that returns the cost of each hash computed since its
// last call.
func (s *Service) WatchHashes() func() []PasswordCost {
	var mu sync.Mutex
	var costs []PasswordCost
	s.passwords.derive = func(password, salt []byte, cost PasswordCost, size uint32) []byte {
		mu.Lock()
		costs = append(costs, cost)
		mu.Unlock()
		return argon2id(password, salt, cost, size)
	}
	return func() []PasswordCost {
		mu.Lock()
		defer mu.Unlock()
		taken := costs
		costs = nil
		return taken
	}
}

// CheckNamedDomains is exported for tests.
var CheckNamedDomains = checkNamedDomains
