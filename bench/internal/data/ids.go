package data

import (
	"encoding/binary"
	"fmt"
	"math/rand/v2"
	"time"

	"warranty.example/svc/warranty"
)

// UserID returns a user's id. Ids increase with the number, like ids by time.
func UserID(user int) warranty.ID {
	return uuid(firstCreated.Add(time.Duration(user)*time.Second), user, 'u')
}

// TokenID returns the id of a user's integration token.
func TokenID(user int) warranty.ID {
	return uuid(firstCreated.Add(time.Duration(user)*time.Second), user, 'k')
}

// ID returns a record's id. Ids increase with the number.
func (r Record) ID() warranty.ID { return uuid(r.Created, r.Number, 'w') }

// EventID returns the id of the history event of the record's creation.
func (r Record) EventID() warranty.ID { return uuid(r.Created, r.Number, 'e') }

// ClaimID returns the id of the record's claim.
func (r Record) ClaimID() warranty.ID { return uuid(r.Created, r.Number, 'c') }

// DocumentID returns the id of the record's document.
func (r Record) DocumentID() warranty.ID { return uuid(r.Created, r.Number, 'd') }

// uuid returns a UUIDv7: 48 bits of milliseconds, then the number in place of a
// counter, then random bits.
func uuid(at time.Time, number int, use byte) (id warranty.ID) {
	binary.BigEndian.PutUint64(id[:8], uint64(at.UnixMilli())<<16|0x7000|uint64(number>>20)&0xFFF)
	noise := random(number, use).Uint64() & 0x3FF_FFFF_FFFF
	binary.BigEndian.PutUint64(id[8:], 2<<62|uint64(number&0xFFFFF)<<42|noise)
	return id
}

// PocketBaseID returns an id in PocketBase's format: fifteen characters, in ascending
// order.
func PocketBaseID(use byte, number int) string { return fmt.Sprintf("%c%014d", use, number) }

// Reference returns a record's reference number.
func Reference(number int) string { return reference(warranty.WarrantyPrefix, number, 'n') }

// ClaimNumber returns the number of a record's claim.
func ClaimNumber(number int) string { return reference(warranty.ClaimPrefix, number, 'm') }

func reference(prefix string, number int, use byte) string {
	ref, err := warranty.NewReference(prefix, stream(number, use))
	if err != nil {
		panic(err) // the stream never ends
	}
	return string(ref)
}

// Secret returns the secret of a user's integration token.
func Secret(user int) string {
	secret, err := warranty.NewSecret(warranty.TokenSecret, stream(user, 's'))
	if err != nil {
		panic(err) // the stream never ends
	}
	return secret
}

// Session returns the secret of a user's session.
func Session(user int) string {
	secret, err := warranty.NewSecret(warranty.SessionSecret, stream(user, 'l'))
	if err != nil {
		panic(err) // the stream never ends
	}
	return secret
}

func stream(number int, use byte) *rand.ChaCha8 {
	var seed [32]byte
	binary.BigEndian.PutUint64(seed[:], uint64(number))
	seed[8], seed[9] = use, Generation
	return rand.NewChaCha8(seed)
}
