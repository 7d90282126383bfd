package data

import "warranty.example/svc/warranty"

// PageSize is how many records a measured page has.
const PageSize = 50

// mostPeople bounds who asks: enough that their records are spread over the file.
const mostPeople = 4000

// Person is a usual user, with all records that they see: a page and a little more.
type Person struct {
	User    int
	Records []Record
}

// Audience is who asks, and what the true answers are.
type Audience struct {
	// Readers only read, so that their totals stay; Writers do what changes records.
	Readers, Writers []Person
	// Extendable are records of all Writers whose end can be moved a little
	// without a change of their status, so that the totals of everybody stay.
	Extendable []Record
	// Totals of what Big sees: everything, the two categories, and what is active.
	All, Common, Rare, Active int
}

// Audience finds who asks for the set's records on a day.
func (s Set) Audience(today warranty.Date) Audience {
	var a Audience
	owned := make([][]Record, s.Users)
	for i := range s.Records {
		r := s.Record(i)
		owned[r.Owner] = append(owned[r.Owner], r)
		if r.Seller == Big {
			a.count(r, today)
		}
	}
	for user := s.Shops + 1; user < s.Users && len(a.Readers)+len(a.Writers) < mostPeople; user++ {
		if n := len(owned[user]); n < PageSize || n > PageSize*5/4 {
			continue
		}
		p := Person{User: user, Records: owned[user]}
		if user%2 == 0 {
			a.Readers = append(a.Readers, p)
			continue
		}
		a.Writers = append(a.Writers, p)
		a.extend(p, today)
	}
	return a
}

func (a *Audience) count(r Record, today warranty.Date) {
	a.All++
	switch r.Category {
	case Common:
		a.Common++
	case Rare:
		a.Rare++
	}
	if r.Status(today) == warranty.Active {
		a.Active++
	}
}

func (a *Audience) extend(p Person, today warranty.Date) {
	for _, r := range p.Records {
		if r.Status(today) == warranty.Active && r.End != warranty.Lifetime {
			a.Extendable = append(a.Extendable, r)
		}
	}
}
