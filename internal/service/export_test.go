package service

import "sync"

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
