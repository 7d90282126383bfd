package service

import "sync"

// MaxHashes is how many password hashes are computed at once.
func (s *Service) MaxHashes() int { return cap(s.passwords.running) }

// MaxWaiting is how many sign-ins wait for their hash.
const MaxWaiting = maxWaiting

// MailClaim is how long a replica has for the mails that it has claimed.
const MailClaim = mailClaim

// SentMails is how many mails this process has sent and could not remove yet.
func (s *Service) SentMails() int { return len(s.finished.list()) }

// HoldHashes stops every password hash as it begins, which started tells, until release is closed.
func (s *Service) HoldHashes() (started <-chan struct{}, release chan<- struct{}) {
	begun, held := make(chan struct{}, s.MaxHashes()+MaxWaiting), make(chan struct{})
	s.passwords.derive = func(password, salt []byte, cost PasswordCost, size uint32) []byte {
		begun <- struct{}{}
		<-held
		return argon2id(password, salt, cost, size)
	}
	return begun, held
}

// WatchHashes returns a function that lists the cost of each password hash computed since.
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
