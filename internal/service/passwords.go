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

// The cost of a password: argon2id with 19 MiB, as OWASP advises.
const (
	argonMemory  = 19456 // KiB
	argonTime    = 2
	argonThreads = 1
	argonSalt    = 16
	argonKey     = 32
)

// passwords hashes passwords, a few at a time: a flood of sign-ins may neither
// take all memory nor all cores.
type passwords struct {
	running chan struct{}
	waiting chan struct{}
	// dummy is verified for addresses that have no account, so that they take as long.
	dummy string
}

const maxWaiting = 32

func newPasswords() *passwords {
	salt := make([]byte, argonSalt)
	return &passwords{running: make(chan struct{}, max(1, runtime.GOMAXPROCS(0)-1)), waiting: make(chan struct{}, maxWaiting),
		dummy: encodePassword(salt, make([]byte, argonKey))}
}

// enter waits for a turn, or says that there is none to be had soon.
func (p *passwords) enter(ctx context.Context) (leave func(), err error) {
	busy := &warranty.Error{Code: warranty.Unavailable, Message: "Too many people are signing in right now; try again in a moment.", Wait: time.Second}
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

func (p *passwords) hash(ctx context.Context, password string, random io.Reader) (string, error) {
	salt := make([]byte, argonSalt)
	if _, err := io.ReadFull(random, salt); err != nil {
		return "", err
	}
	leave, err := p.enter(ctx)
	if err != nil {
		return "", err
	}
	defer leave()
	return encodePassword(salt, argon2.IDKey([]byte(password), salt, argonTime, argonMemory, argonThreads, argonKey)), nil
}

// verify tells whether the password is the one of the hash. An empty hash is an
// account that does not exist: the work is done all the same.
func (p *passwords) verify(ctx context.Context, hash, password string) (bool, error) {
	exists := hash != ""
	if !exists {
		hash = p.dummy
	}
	cost, salt, want, err := decodePassword(hash)
	if err != nil {
		return false, err
	}
	leave, err := p.enter(ctx)
	if err != nil {
		return false, err
	}
	defer leave()
	got := argon2.IDKey([]byte(password), salt, cost.time, cost.memory, cost.threads, uint32(len(want)))
	return subtle.ConstantTimeCompare(got, want) == 1 && exists, nil
}

// argonCost is the cost that a stored hash was made with; it may be an older one.
type argonCost struct {
	memory, time uint32
	threads      uint8
}

func encodePassword(salt, key []byte) string {
	b64 := base64.RawStdEncoding
	return fmt.Sprintf("$argon2id$v=%d$m=%d,t=%d,p=%d$%s$%s", argon2.Version, argonMemory, argonTime, argonThreads, b64.EncodeToString(salt), b64.EncodeToString(key))
}

func decodePassword(hash string) (cost argonCost, salt, key []byte, err error) {
	parts := strings.Split(hash, "$")
	if len(parts) != 6 || parts[1] != "argon2id" {
		return cost, nil, nil, errors.New("a stored password hash is of an unknown kind")
	}
	if _, err := fmt.Sscanf(parts[3], "m=%d,t=%d,p=%d", &cost.memory, &cost.time, &cost.threads); err != nil {
		return cost, nil, nil, fmt.Errorf("a stored password hash is damaged: %w", err)
	}
	if salt, err = base64.RawStdEncoding.DecodeString(parts[4]); err != nil {
		return cost, nil, nil, err
	}
	key, err = base64.RawStdEncoding.DecodeString(parts[5])
	return cost, salt, key, err
}
