package service

import (
	"context"
	"crypto/subtle"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"runtime"
	"strings"
	"time"

	"golang.org/x/crypto/argon2"

	"warranty.example/svc/warranty"
)

// PasswordCost is the cost of an argon2id hash. Stored hashes include their cost.
type PasswordCost struct {
	Memory, Time uint32 // KiB, and passes over it
	Threads      uint8
}

// StrongCost is the cost recommended by OWASP and the default. Only tests use a lower one.
var StrongCost = PasswordCost{Memory: 19456, Time: 2, Threads: 1}

// Sizes in bytes.
const (
	argonSalt = 16
	argonKey  = 32
)

// passwords hashes passwords. It limits concurrency, so that many sign-ins exhaust
// neither memory nor CPUs.
type passwords struct {
	running chan struct{}
	waiting chan struct{}
	// derive is argon2id; tests replace it.
	derive func(password, salt []byte, cost PasswordCost, size uint32) []byte
}

const maxWaiting = 32

func newPasswords() *passwords {
	return &passwords{
		running: make(chan struct{}, max(1, runtime.GOMAXPROCS(0)-1)),
		waiting: make(chan struct{}, maxWaiting),
		derive:  argon2id,
	}
}

func argon2id(password, salt []byte, cost PasswordCost, size uint32) []byte {
	return argon2.IDKey(password, salt, cost.Time, cost.Memory, cost.Threads, size)
}

// acquire waits for a slot. It fails if too many callers are waiting.
func (p *passwords) acquire(ctx context.Context) (release func(), err error) {
	busy := &warranty.Error{
		Code:    warranty.Unavailable,
		Message: "Too many people are signing in right now. Try again in a moment.",
		Wait:    time.Second,
	}
	select {
	case p.waiting <- struct{}{}:
	default:
		return nil, busy
	}
	defer func() { <-p.waiting }()
	select {
	case p.running <- struct{}{}:
		return func() { <-p.running }, nil
	case <-ctx.Done():
		return nil, busy
	}
}

func (p *passwords) hash(ctx context.Context, cost PasswordCost, password string, random io.Reader) (string, error) {
	salt := make([]byte, argonSalt)
	if _, err := io.ReadFull(random, salt); err != nil {
		return "", err
	}
	release, err := p.acquire(ctx)
	if err != nil {
		return "", err
	}
	defer release()
	return encodePassword(cost, salt, p.derive([]byte(password), salt, cost, argonKey)), nil
}

// verify reports whether the password matches the hash. An empty hash, for an unknown
// account, never matches but takes as long as any other.
func (p *passwords) verify(ctx context.Context, cost PasswordCost, hash, password string) (bool, error) {
	exists := hash != ""
	if !exists {
		hash = encodePassword(cost, make([]byte, argonSalt), make([]byte, argonKey))
	}
	cost, salt, want, err := decodePassword(hash)
	if err != nil {
		return false, err
	}
	release, err := p.acquire(ctx)
	if err != nil {
		return false, err
	}
	defer release()
	got := p.derive([]byte(password), salt, cost, uint32(len(want)))
	return subtle.ConstantTimeCompare(got, want) == 1 && exists, nil
}

func encodePassword(cost PasswordCost, salt, key []byte) string {
	b64 := base64.RawStdEncoding
	return fmt.Sprintf("$argon2id$v=%d$m=%d,t=%d,p=%d$%s$%s", argon2.Version, cost.Memory, cost.Time, cost.Threads,
		b64.EncodeToString(salt), b64.EncodeToString(key))
}

func decodePassword(hash string) (cost PasswordCost, salt, key []byte, err error) {
	parts := strings.Split(hash, "$")
	if len(parts) != 6 || parts[1] != "argon2id" {
		return cost, nil, nil, errors.New("unknown type of password hash")
	}
	if _, err := fmt.Sscanf(parts[3], "m=%d,t=%d,p=%d", &cost.Memory, &cost.Time, &cost.Threads); err != nil {
		return cost, nil, nil, fmt.Errorf("malformed password hash: %w", err)
	}
	if salt, err = base64.RawStdEncoding.DecodeString(parts[4]); err != nil {
		return cost, nil, nil, err
	}
	key, err = base64.RawStdEncoding.DecodeString(parts[5])
	return cost, salt, key, err
}
