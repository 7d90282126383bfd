// Package data generates the records of all servers. A record is a pure function of its
// number, so that all servers have the same records.
package data

import (
	"fmt"
	"math/rand/v2"
	"time"

	"warranty.example/svc/warranty"
)

// Generation is the version of the generated records. Databases of other generations
// are not reused.
const Generation = 3

const (
	// Big is the seller of a fifth of all records.
	Big = 0
	// recordsPerUser is the average length of a user's list, for sets of any size.
	recordsPerUser = 50
	bigEvery       = 5   // every fifth record is sold by Big
	usersPerShop   = 100 // one in a hundred users is a shop
)

// firstCreated and lastCreated are the creation times of the first and last record.
var (
	firstCreated = time.Date(2023, time.July, 1, 0, 0, 0, 0, time.UTC)
	lastCreated  = time.Date(2026, time.July, 1, 0, 0, 0, 0, time.UTC)
)

// maxUnchanged is the maximum time between the creation of a record and its last change.
const maxUnchanged = 120 * 24 * time.Hour

// Set is a number of records and of users that they belong to.
type Set struct {
	Records, Users, Shops int
	// Giant adds a user who sees all records, and a claim and a document of each record that Big sells.
	// A change of any record then also changes this user's lists, so the figures of other users are
	// measured without it.
	Giant bool
}

// Claimed reports whether a record has a claim and a document.
func (s Set) Claimed(r Record) bool { return s.Giant && r.Seller == Big }

// People returns the number of users, including Giant.
func (s Set) People() int {
	if s.Giant {
		return s.Users + 1
	}
	return s.Users
}

// GiantUser returns the user who sees all records.
func (s Set) GiantUser() int { return s.Users }

// Of returns the set with this number of records.
func Of(records int) Set {
	users := max(records/recordsPerUser, 4)
	return Set{Records: records, Users: users, Shops: max(users/usersPerShop, 1)}
}

// Record has the fields that lists filter on; Texts generates the others.
type Record struct {
	Number        int
	Owner, Seller int // users; the owner is also the issuer, and the seller may be NoSeller
	Category      string
	Start, End    warranty.Date
	Standing      warranty.Status
	Created       time.Time
	Updated       time.Time
}

// NoSeller is the seller of a record without a seller account.
const NoSeller = -1

// Record returns the record with the number i.
func (s Set) Record(i int) Record {
	rng := random(i, 'r')
	r := Record{Number: i, Owner: 1 + rng.IntN(s.Users-1), Seller: s.seller(i, rng), Category: category(rng), Standing: standing(rng)}
	r.Created = firstCreated.Add(lastCreated.Sub(firstCreated) / time.Duration(s.Records) * time.Duration(i)).Truncate(time.Microsecond)
	r.Start, r.End = cover(r.Created, rng)
	r.Updated = r.Created.Add(time.Duration(rng.Int64N(int64(maxUnchanged)))).Truncate(time.Microsecond)
	return r
}

func (s Set) seller(i int, rng *rand.Rand) int {
	switch {
	case i%bigEvery == 0:
		return Big
	case rng.IntN(2) == 0:
		return 1 + rng.IntN(s.Shops)
	}
	return NoSeller
}

// cover returns the dates of a warranty: one to five years from the sale; some are for
// life, and some start years later.
func cover(created time.Time, rng *rand.Rand) (start, end warranty.Date) {
	start = warranty.DateOf(created)
	switch n := rng.IntN(100); {
	case n < 2:
		return start, warranty.Lifetime
	case n < 5:
		start = warranty.NewDate(2035, time.January, 1) + warranty.Date(rng.IntN(365))
	}
	return start, start.AddYears(1+rng.IntN(5)) - 1
}

func standing(rng *rand.Rand) warranty.Status {
	switch n := rng.IntN(100); {
	case n < 4:
		return warranty.Void
	case n < 8:
		return warranty.Cancelled
	}
	return warranty.Active
}

// Status returns the status of the record on a date.
func (r Record) Status(today warranty.Date) warranty.Status {
	w := warranty.Warranty{Standing: r.Standing, StartDate: r.Start, EndDate: r.End}
	w.Show(today)
	return w.Status
}

// random returns a random source that is determined by a number and a purpose.
func random(number int, use byte) *rand.Rand {
	return rand.New(rand.NewPCG(uint64(number), uint64(use)<<32|Generation)) //nolint:gosec // the data must be reproducible
}

// Email returns a user's email address.
func Email(user int) string { return fmt.Sprintf("user%05d@bench.example", user) }

// Name returns a user's name.
func Name(user int) string { return fmt.Sprintf("User %05d", user) }
