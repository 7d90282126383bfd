package identity

import (
	"crypto/rand"

	"warranty.example/svc/warranty"
)

// RecoveryCodes is how many codes are made at once. They replace all earlier ones.
const RecoveryCodes = 10

// NewRecoveryCodes returns codes to show once, and their hashes to store.
func NewRecoveryCodes() (codes []string, hashes []warranty.Hash, err error) {
	for range RecoveryCodes {
		code, err := warranty.NewRecoveryCode(rand.Reader)
		if err != nil {
			return nil, nil, err
		}
		codes, hashes = append(codes, code), append(hashes, warranty.HashRecoveryCode(code))
	}
	return codes, hashes, nil
}
