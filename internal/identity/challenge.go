package identity

import (
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/binary"
	"time"

	"warranty.example/svc/warranty"
)

// Ceremony is what a passkey is used for. A challenge of one is refused in another.
type Ceremony byte

// The ceremonies. Only SignIn is of nobody in particular.
const (
	Register   Ceremony = 1 + iota // adds a passkey to an account
	SignIn                         // signs in whoever the passkey belongs to
	SecondStep                     // the step after a password or a code
	Confirm                        // confirms the session of an account
)

// ChallengeLife is how long a challenge can be answered.
const ChallengeLife = 15 * time.Minute

// Bound is what a challenge belongs to.
type Bound struct {
	// Browser is a secret that only the browser with the page has: the value of its cookie.
	Browser string
	// Handle is the user handle of the account, and empty if, and only if, the ceremony is SignIn.
	Handle []byte
}

// Used is what to store when an answer is accepted: a second answer with the same hash is a replay.
type Used struct {
	Hash  warranty.Hash
	Until time.Time // when the challenge expires, and the row is no longer needed
}

// HandleSize is the length of a user handle.
const HandleSize = 32

// A challenge is its ceremony, its time in seconds, 16 random bytes and the HMAC-SHA-256 of these and of what it
// belongs to. The server needs no memory of it until it is used.
const (
	challengeHead  = 1 + 8 + 16
	challengeBytes = challengeHead + sha256.Size
)

// NewHandle returns a random user handle. An account has one, which never changes.
func NewHandle() []byte {
	handle := make([]byte, HandleSize)
	_, _ = rand.Read(handle) // never fails
	return handle
}

func (b Bound) check(c Ceremony) error {
	switch {
	case b.Browser == "":
		return reject("the browser has no cookie")
	case c == SignIn && len(b.Handle) != 0, c != SignIn && len(b.Handle) != HandleSize:
		return reject("the ceremony and the account do not fit")
	}
	return nil
}

func (rp *RelyingParty) newChallenge(c Ceremony, b Bound, now time.Time) ([]byte, error) {
	if err := b.check(c); err != nil {
		return nil, err
	}
	head := make([]byte, challengeHead, challengeBytes)
	head[0] = byte(c)
	binary.BigEndian.PutUint64(head[1:], uint64(now.Unix()))
	_, _ = rand.Read(head[1+8:]) // never fails
	return append(head, rp.challengeMAC(head, b)...), nil
}

func (rp *RelyingParty) challengeMAC(head []byte, b Bound) []byte {
	browser := sha256.Sum256([]byte(b.Browser))
	mac := hmac.New(sha256.New, rp.key)
	mac.Write([]byte("passkey challenge\x00"))
	mac.Write(head)
	mac.Write(browser[:])
	mac.Write(b.Handle) // the last part; all others have fixed lengths
	return mac.Sum(nil)
}

// checkChallenge verifies the challenge that an answer repeats.
func (rp *RelyingParty) checkChallenge(encoded string, c Ceremony, b Bound, now time.Time) (Used, error) {
	if err := b.check(c); err != nil {
		return Used{}, err
	}
	raw, err := base64.RawURLEncoding.DecodeString(encoded)
	if err != nil || len(raw) != challengeBytes {
		return Used{}, reject("not a challenge of this service")
	}
	head, sum := raw[:challengeHead], raw[challengeHead:]
	if !hmac.Equal(sum, rp.challengeMAC(head, b)) {
		return Used{}, reject("the challenge is forged, of another browser or of another account")
	}
	if Ceremony(head[0]) != c {
		return Used{}, reject("the challenge is of another ceremony")
	}
	issued := time.Unix(int64(binary.BigEndian.Uint64(head[1:])), 0)
	until := issued.Add(ChallengeLife)
	if !now.Before(until) || issued.Sub(now) > time.Minute { // clocks of replicas differ a little
		return Used{}, reject("the challenge is stale")
	}
	return Used{Hash: sha256.Sum256(raw), Until: until}, nil
}
