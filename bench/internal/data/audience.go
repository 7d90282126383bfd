package data

import "warranty.example/svc/warranty"

// PageSize is the number of records on a measured page.
const PageSize = 50

// maxPeople limits the audience; it is enough that their records are spread over the file.
const maxPeople = 4000

// Person is an ordinary user with all visible records: a page and a little more.
type Person struct {
	User    int
	Records []Record
	Found   [len(Searches)]Found // only of readers
}

// Audience is the users who send requests, with the expected results.
type Audience struct {
	// Readers only read, so that their totals stay constant; Writers change records.
	Readers, Writers []Person
	// Extendable are the records of Writers whose end date can change a little without
	// changing their status, so that all totals stay constant.
	Extendable []Record
	// Totals of Big: all records, the two categories, and active records.
	All, Common, Rare, Active int
	// Found has the number of results of each search, for Big and for Giant.
	Found [len(Searches)]struct{ Big, Giant Found }
	// Claims and Documents are the numbers of results of each search in those of Big.
	Claims, Documents [len(Searches)]int
	// Records and Giant are those of the set.
	Records, Giant int
}

// Audience returns the audience of the set on a date.
func (s Set) Audience(today warranty.Date) Audience {
	a := Audience{Records: s.Records, Giant: s.GiantUser()}
	owned := make([][]Record, s.Users)
	for i := range s.Records {
		r := s.Record(i)
		owned[r.Owner] = append(owned[r.Owner], r)
		if r.Seller == Big {
			a.count(r, today)
		}
		a.search(r)
	}
	for user := s.Shops + 1; user < s.Users && len(a.Readers)+len(a.Writers) < maxPeople; user++ {
		if n := len(owned[user]); n < PageSize || n > PageSize*5/4 {
			continue
		}
		p := Person{User: user, Records: owned[user]}
		if user%2 == 0 {
			p.search()
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
