package data

import (
	"bytes"
	"testing"

	"warranty.example/svc/warranty"
)

func TestTheAudienceIsWhatTheBenchmarkSays(t *testing.T) {
	set := Of(100_000)
	a := set.Audience(warranty.NewDate(2026, 11, 15))
	if set.Users != 2_000 || a.All != 20_000 {
		t.Errorf("%d users, the big seller has %d", set.Users, a.All)
	}
	if a.Rare < 5 || a.Rare > 50 || a.Common < 3_000 || a.Active < 5_000 || a.Active > 15_000 {
		t.Errorf("implausible totals: %+v", [...]int{a.Rare, a.Common, a.Active})
	}
	if len(a.Readers) < 300 || len(a.Writers) < 300 || len(a.Extendable) < 1_000 {
		t.Errorf("%d readers, %d writers, %d records to extend", len(a.Readers), len(a.Writers), len(a.Extendable))
	}
}

func TestRecordsAreSortedUniqueAndWellFormed(t *testing.T) {
	set := Of(10_000)
	var last warranty.ID
	seen := map[string]bool{}
	for i := range set.Records {
		r := set.Record(i)
		id, ref := r.ID(), Reference(i)
		if bytes.Compare(last[:], id[:]) >= 0 {
			t.Fatalf("record %d: id %s is not greater than %s", i, id, last)
		}
		if _, err := warranty.ParseReference(ref); err != nil || seen[ref] {
			t.Fatalf("record %d: reference %s: %v, or seen before", i, ref, err)
		}
		if r.End < r.Start || r.Owner == Big || r.Owner >= set.Users || r.Seller >= set.Users {
			t.Fatalf("record %d is invalid: %+v", i, r)
		}
		last, seen[ref] = id, true
	}
}

func TestASecretIsOne(t *testing.T) {
	one, again, other := Secret(7), Secret(7), Secret(8)
	if kind, ok := warranty.ParseSecret(one); kind != warranty.TokenSecret || !ok || one != again || one == other {
		t.Errorf("%s, %s, %s", one, again, other)
	}
}
