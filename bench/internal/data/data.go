// Package data makes the records that every server is filled with. A record is a
// pure function of its number, so nothing is kept and all servers hold the same.
package data

import (
	"fmt"
	"math/rand/v2"
	"time"

	"warranty.example/svc/warranty"
)

// Generation changes whenever the same size would give other records: what was
// filled before is then not used again.
const Generation = 2

const (
	// Big is the user who sells a fifth of all records.
	Big = 0
	// recordsPerUser keeps a usual person's list as long at every size.
	recordsPerUser = 50
	bigEvery       = 5   // every fifth record is sold by Big
	usersPerShop   = 100 // one in a hundred users is a shop that sells for others
)

// born and matured are when the first and the last record were made.
var (
	born    = time.Date(2023, time.July, 1, 0, 0, 0, 0, time.UTC)
	matured = time.Date(2026, time.July, 1, 0, 0, 0, 0, time.UTC)
)

// Set is a number of records and the users that they belong to.
type Set struct{ Records, Users, Shops int }

// Of is the set with so many records.
func Of(records int) Set {
	users := max(records/recordsPerUser, 4)
	return Set{Records: records, Users: users, Shops: max(users/usersPerShop, 1)}
}

// Record is what lists filter on; its texts are made when asked for.
type Record struct {
	Number        int
	Owner, Seller int // users; the owner is the issuer too, and NoSeller sells nothing here
	Category      string
	Start, End    warranty.Date
	Standing      warranty.Status
	Created       time.Time
}

// NoSeller is the seller of a record that no account sold.
const NoSeller = -1

// Record is the record with the number i.
func (s Set) Record(i int) Record {
	dice := dice(i, 'r')
	r := Record{Number: i, Owner: 1 + dice.IntN(s.Users-1), Seller: s.seller(i, dice), Category: category(dice), Standing: standing(dice)}
	r.Created = born.Add(matured.Sub(born) / time.Duration(s.Records) * time.Duration(i)).Truncate(time.Microsecond)
	r.Start, r.End = cover(r.Created, dice)
	return r
}

func (s Set) seller(i int, dice *rand.Rand) int {
	switch {
	case i%bigEvery == 0:
		return Big
	case dice.IntN(2) == 0:
		return 1 + dice.IntN(s.Shops)
	}
	return NoSeller
}

// cover is from the day of sale for one to five years; some is for life, and some
// begins in years.
func cover(created time.Time, dice *rand.Rand) (start, end warranty.Date) {
	start = warranty.DateOf(created)
	switch n := dice.IntN(100); {
	case n < 2:
		return start, warranty.Lifetime
	case n < 5:
		start = warranty.NewDate(2035, time.January, 1) + warranty.Date(dice.IntN(365))
	}
	return start, start.AddYears(1+dice.IntN(5)) - 1
}

func standing(dice *rand.Rand) warranty.Status {
	switch n := dice.IntN(100); {
	case n < 4:
		return warranty.Void
	case n < 8:
		return warranty.Cancelled
	}
	return warranty.Active
}

// Status is what the record shows on a day.
func (r Record) Status(today warranty.Date) warranty.Status {
	w := warranty.Warranty{Standing: r.Standing, StartDate: r.Start, EndDate: r.End}
	w.Show(today)
	return w.Status
}

// dice are the random choices for one thing: the same number and use, the same choices.
func dice(number int, use byte) *rand.Rand {
	return rand.New(rand.NewPCG(uint64(number), uint64(use)<<32|Generation)) //nolint:gosec // the same data every time is the aim
}

// Email is a user's address.
func Email(user int) string { return fmt.Sprintf("user%05d@bench.example", user) }

// Name is a user's name.
func Name(user int) string { return fmt.Sprintf("User %05d", user) }
